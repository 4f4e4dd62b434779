import * as param from "../../core/input.ts";
import { fixed } from "../../core/kept.ts";

const isEmpty = (sent: unknown) =>
  typeof sent === "object" && sent !== null && Object.keys(sent).length === 0;

/** Values of `spec:inputs` for a pipeline. Configurations have no inputs here, and GitLab refuses those they don't have, too. */
export const pipelineInputs = fixed(param.json("values by name"), {}, isEmpty).attribute;
