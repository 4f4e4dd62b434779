import { get, type Resource } from "../core/resource.ts";
import { PAGES } from "./door.ts";
import { redirect } from "./page.ts";
import { homeOf, mountOf } from "./places.ts";

/** Where a server's bare address leads, which people open first. A page that needs it asks them to sign in. */
export const home: Resource = {
  name: "Home",
  door: PAGES,
  migrations: [],
  routes: [
    get("/", {
      summary: "To the first of the pages",
      access: "anyone",
      handle: (context) => redirect(mountOf(context.view) + homeOf(context)),
    }),
  ],
};
