import type { SearchIndex } from "../../store/search.ts";

/** The index of names and paths of groups. */
export const GROUP_SEARCH: SearchIndex = {
  name: "namespace_search",
  table: "namespaces",
  columns: ["name", "path"],
};
