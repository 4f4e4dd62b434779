import type { SearchIndex } from "../../core/lists/search-index.ts";

/** The index of titles and descriptions of milestones. */
export const MILESTONE_SEARCH: SearchIndex = {
  name: "milestone_search",
  table: "milestones",
  columns: ["title", "description"],
  owners: ["project_id", "namespace_id"],
};
