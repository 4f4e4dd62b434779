import type { SearchIndex } from "../../core/lists/search-index.ts";

/** The index of names and paths of groups and of users' own namespaces. */
export const NAMESPACE_SEARCH: SearchIndex = {
  name: "namespace_search",
  table: "namespaces",
  columns: ["name", "path"],
};
