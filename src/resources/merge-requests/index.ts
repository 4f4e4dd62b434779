import type { Resource } from "../../core/resource.ts";
import { migrations } from "./table.ts";

/** Merge requests. */
export const mergeRequestResource: Resource = { name: "Merge requests", migrations, routes: [] };
