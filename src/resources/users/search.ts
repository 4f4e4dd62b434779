import type { SearchIndex } from "../../core/lists/search-index.ts";

/** The index of names of users. */
export const USER_SEARCH: SearchIndex = {
  name: "user_search",
  table: "users",
  columns: ["name", "username"],
};
