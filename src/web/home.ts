import { type Resource, routes } from "../core/resource.ts";
import { homeOf, mountOf } from "../pages/navigation.ts";
import { redirect } from "../pages/page.ts";

const { get } = routes();

/** A standalone server's `/`, which people open first. It redirects to the first page that they may see. */
export const home: Resource = {
  name: "Home",
  migrations: [],
  routes: [
    get("/", {
      summary: "Redirect to the start page",
      access: "anyone",
      handle: ({ caller, site, view }) => {
        const isOpen = !caller && site.pages.includes("projects");
        return redirect(mountOf(view) + (isOpen ? "/explore/projects" : homeOf({ site })));
      },
    }),
  ],
};
