import type { PageContext } from "../core/resource.ts";

/** The pages of signed-in users, in navigation order. */
const ITEMS = [
  { page: "profile", path: "/-/profile", title: "Account" },
  {
    page: "personal_access_tokens",
    path: "/-/user_settings/personal_access_tokens",
    title: "Access tokens",
  },
  { page: "applications", path: "/-/user_settings/applications", title: "Applications" },
  { page: "active_sessions", path: "/-/user_settings/active_sessions", title: "Sessions" },
  { page: "password", path: "/-/user_settings/password/edit", title: "Password" },
  { page: "two_factor", path: "/-/profile/two_factor_auth", title: "Two-factor" },
] as const;

export type NavigationItem = (typeof ITEMS)[number];

/** The navigation's enabled pages. */
export function navigationOf({ site }: Pick<PageContext, "site">): NavigationItem[] {
  return ITEMS.filter(({ page }) => site.pages.includes(page));
}

/** Whether a start page is enabled. @param pages the names of the enabled pages */
export function hasHome(pages: readonly string[]): boolean {
  return pages.includes(PROJECTS) || ITEMS.some(({ page }) => pages.includes(page));
}

/** The page's name, by which projects, groups and people have pages. */
const PROJECTS = "projects";

/** The start page of signed-in users: a path below the mount. */
export function homeOf({ site }: Pick<PageContext, "site">): string {
  if (site.pages.includes(PROJECTS)) return "/dashboard/projects";
  return navigationOf({ site })[0]?.path ?? "/";
}

const EVERYBODYS = [
  ["/explore/projects", "Explore"],
  ["/search", "Search"],
] as const;
const OWN = [
  ["/dashboard/projects", "Projects"],
  ["/dashboard/groups", "Groups"],
  ["/dashboard/issues", "Issues"],
  ["/dashboard/merge_requests", "Merge requests"],
  ["/dashboard/todos", "To-do list"],
  ...EVERYBODYS,
] as const;

/** What is on top of every page: paths below the mount, with their titles. */
export function siteItems({
  site,
  caller,
}: Pick<PageContext, "site" | "caller">): readonly (readonly [path: string, title: string])[] {
  if (!site.pages.includes(PROJECTS)) return [];
  if (!caller) return EVERYBODYS;
  return caller.admin ? [...OWN, ["/admin", "Administration"]] : OWN;
}

/**
 * The prefix of this site's paths, `""` if it is mounted at the root. Links are paths without a host, since a proxy that
 * terminates TLS may not say so.
 */
export function mountOf({ base }: PageContext["view"]): string {
  return new URL(base).pathname.replace(/^\/+/, "/").replace(/\/$/, "");
}
