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
  return ITEMS.some(({ page }) => pages.includes(page));
}

/** The start page of signed-in users: a path below the mount. */
export function homeOf(visit: Pick<PageContext, "site">): string {
  return navigationOf(visit)[0]?.path ?? "/";
}

/**
 * The prefix of this site's paths, `""` if it is mounted at the root. Links are paths without a host, since a proxy that
 * terminates TLS may not say so.
 */
export function mountOf({ base }: PageContext["view"]): string {
  return new URL(base).pathname.replace(/^\/+/, "/").replace(/\/$/, "");
}
