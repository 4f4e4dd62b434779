import { type Resource, routes } from "../core/resource.ts";
import { homeOf, mountOf } from "../pages/navigation.ts";
import { redirect } from "../pages/page.ts";

const { get } = routes();

/** A standalone server's `/`, which people open first. It redirects to the first page. */
export const home: Resource = {
  name: "Home",
  migrations: [],
  routes: [
    get("/", {
      summary: "Redirect to the start page",
      access: "anyone",
      handle: (context) => redirect(mountOf(context.view) + homeOf(context)),
    }),
  ],
};
