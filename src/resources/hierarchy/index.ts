import type { Resource } from "../../core/resource.ts";
import { migrations } from "./table.ts";

/** Issues below others: only GraphQL, quick actions and seeds put them there. */
export const hierarchyResource: Resource = { name: "Hierarchy", migrations, routes: [] };
