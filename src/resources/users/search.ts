import type { SearchIndex } from "../../store/search.ts";

/** The index of names of users. */
export const USER_SEARCH: SearchIndex = {
  name: "user_search",
  table: "users",
  columns: ["name", "username"],
};
