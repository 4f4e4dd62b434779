import type { Resource } from "../../core/resource.ts";
import { migrations } from "./table.ts";

/** Issues. */
export const issueResource: Resource = { name: "Issues", migrations, routes: [] };
