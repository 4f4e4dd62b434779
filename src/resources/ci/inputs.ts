import * as v from "valibot";
import type { Json } from "../../ci/index.ts";
import { ApiError } from "../../core/errors.ts";
import * as param from "../../core/input.ts";

/** Values of the inputs that a configuration declares (`spec:inputs`), by name. */
export type PipelineInputs = Readonly<Record<string, Json>>;

/** Inputs that a pipeline is given at most, as in GitLab. */
export const MOST_INPUTS = 20;
/** Characters of a value as JSON. */
const MOST_LENGTH = 64 * 1024;

const VALUE = v.pipe(
  v.union([v.string(), v.number(), v.boolean(), v.pipe(v.array(v.any()), v.maxLength(1000))]),
  v.check((value) => JSON.stringify(value).length <= MOST_LENGTH),
  v.transform((value) => value as Json),
);
const INPUTS = v.pipe(
  v.record(v.pipe(v.string(), v.regex(/^[\w-]{1,255}$/)), VALUE),
  v.check((inputs) => Object.keys(inputs).length <= MOST_INPUTS),
);

/** Values of inputs for a pipeline, by name. */
export const pipelineInputs = param.optional(param.json("values by name"));

/** Reads the inputs of a request. @throws ApiError 400 */
export function readInputs(sent: unknown): PipelineInputs | undefined {
  if (sent === undefined) return undefined;
  const read = v.safeParse(INPUTS, sent);
  if (read.success && !Array.isArray(sent)) return read.output;
  throw new ApiError(400, { error: "inputs is invalid" });
}
