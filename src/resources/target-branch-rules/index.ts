import type { Resource } from "../../core/resource.ts";
import { migrations } from "./table.ts";

/** Rules about the targets of merge requests. REST has none in GitLab: GraphQL performs the routes. */
export const targetBranchRuleResource: Resource = {
  name: "Target branch rules",
  migrations,
  routes: [],
};
