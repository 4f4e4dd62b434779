import type { SearchIndex } from "../../core/lists/search-index.ts";

/** The index of titles and file names of snippets. */
export const SNIPPET_SEARCH: SearchIndex = {
  name: "snippet_search",
  table: "snippets",
  columns: ["title", "file_name"],
};
