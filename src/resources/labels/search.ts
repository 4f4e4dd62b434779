import type { SearchIndex } from "../../core/lists/search-index.ts";

/** The index of names and descriptions of labels. */
export const LABEL_SEARCH: SearchIndex = {
  name: "label_search",
  table: "labels",
  columns: ["name", "description"],
  owners: ["project_id", "namespace_id"],
};
