import type { Visit } from "../core/resource.ts";

/** The pages of who is signed in, in the order of the navigation. */
const PLACES = [
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

export type Place = (typeof PLACES)[number];

/** The pages there are for a visitor. */
export function placesOf({ site }: Pick<Visit, "site">): Place[] {
  return PLACES.filter(({ page }) => site.pages.includes(page));
}

/** Whether there is a page to start at. @param pages the names of those there are */
export function hasHome(pages: readonly string[]): boolean {
  return PLACES.some(({ page }) => pages.includes(page));
}

/** Where who is signed in starts: a path below the mount. */
export function homeOf(visit: Pick<Visit, "site">): string {
  return placesOf(visit)[0]?.path ?? "/";
}

/**
 * What paths of this site begin with, `""` where it is mounted at the root. Links are paths and no addresses: a proxy
 * that ends the encryption may have said nothing of it.
 */
export function mountOf({ base }: Visit["view"]): string {
  return new URL(base).pathname.replace(/^\/+/, "/").replace(/\/$/, "");
}
