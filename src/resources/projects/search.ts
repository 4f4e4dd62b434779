import type { SearchIndex } from "../../core/lists/search-index.ts";

/** The index of names, paths and descriptions of projects. */
export const PROJECT_SEARCH: SearchIndex = {
  name: "project_search",
  table: "projects",
  columns: ["name", "path", "description"],
};
