import type { Resource } from "../../core/resource.ts";
import { migrations } from "./table.ts";

/** Notes. */
export const noteResource: Resource = { name: "Notes", migrations, routes: [] };
