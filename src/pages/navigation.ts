import type { PageContext } from "../core/resource.ts";

/** The page's name, by which projects, groups and people have pages. */
const PROJECTS = "projects";

const item = (page: string, path: string, title: string, about: string) =>
  ({ page, path, title, about }) as const;

/** The pages of signed-in users, in navigation order, with the names by which they are enabled and what they are about. */
const ITEMS = [
  item("profile", "/-/profile", "Account", ""),
  item(PROJECTS, "/-/user_settings/profile", "Profile", "What others see of you"),
  item(PROJECTS, "/-/profile/emails", "E-mails", "Your addresses"),
  item(PROJECTS, "/-/user_settings/ssh_keys", "SSH keys", "Let your computers in"),
  item(PROJECTS, "/-/user_settings/gpg_keys", "GPG keys", "What you sign commits with"),
  item(PROJECTS, "/-/profile/notifications", "Notifications", "Which mails you get"),
  item(
    "personal_access_tokens",
    "/-/user_settings/personal_access_tokens",
    "Access tokens",
    "Let programs use the API as you",
  ),
  item(
    "applications",
    "/-/user_settings/applications",
    "Applications",
    "Your own applications, and those that may act as you",
  ),
  item(
    "active_sessions",
    "/-/user_settings/active_sessions",
    "Sessions",
    "Where you are signed in",
  ),
  item("password", "/-/user_settings/password/edit", "Password", "Change it"),
  item(
    "two_factor",
    "/-/profile/two_factor_auth",
    "Two-factor",
    "Ask for a code beside the password",
  ),
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
