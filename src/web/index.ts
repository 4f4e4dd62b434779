import type { Resource, Site } from "../core/resource.ts";
import { hasHome } from "../pages/navigation.ts";
import { providersNamed } from "../providers/index.ts";
import type { SignInOptions } from "../providers/options.ts";
import { applicationPages } from "./applications.ts";
import { home } from "./home.ts";
import { passwordPages } from "./password.ts";
import { profilePages } from "./profile.ts";
import { sessionPages } from "./sessions.ts";
import { signInPages } from "./sign-in.ts";
import { invitePages } from "./sign-up.ts";
import { tokenPages } from "./tokens.ts";
import { twoFactorPages } from "./two-factor.ts";

/** The name of a page. */
export type PageName =
  | "sign_in"
  | "profile"
  | "personal_access_tokens"
  | "applications"
  | "active_sessions"
  | "password"
  | "two_factor"
  | "projects";

/** The pages by the names of the option `pages`. */
const PAGES_BY_NAME: Readonly<Record<PageName, Resource | undefined>> = {
  sign_in: signInPages,
  profile: profilePages,
  personal_access_tokens: tokenPages,
  applications: applicationPages,
  active_sessions: sessionPages,
  password: passwordPages,
  two_factor: twoFactorPages,
  // A mount of its own: see src/browse.
  projects: undefined,
};

/** Pages that only make sense with our own sign-in. */
const OWN_SIGN_IN_PAGES: readonly PageName[] = [
  "sign_in",
  "active_sessions",
  "password",
  "two_factor",
];

/** The names of all pages. */
export const PAGE_NAMES = Object.keys(PAGES_BY_NAME) as readonly PageName[];

/** The resources of the named pages, and the redirect from `/` if one of them is a start page. */
export function pages(names: readonly PageName[]): readonly Resource[] {
  return [
    ...names.flatMap((name) => PAGES_BY_NAME[name] ?? []),
    ...(hasHome(names) ? [home, invitePages] : []),
  ];
}

/** Options: which pages are enabled, and where sign-in happens. */
export interface SiteOptions {
  /** `false` for none, or names. Default: all; with `authenticate`, those that are not about our own sign-in. */
  pages?: false | readonly PageName[] | undefined;
  /** The embedding app's own sign-in page. */
  signInUrl?: string | undefined;
}

/** The enabled pages. */
interface ChosenSite extends Site {
  readonly pages: readonly PageName[];
}

/**
 * Works out which pages are enabled.
 *
 * @param ownSignIn whether sign-in is ours and not the embedding app's
 * @throws TypeError for an unknown name, or a page that is not available, or providers without the page they need
 */
export function siteOf(
  { pages: chosen, signInUrl, signIn }: SiteOptions & { signIn?: SignInOptions | undefined },
  ownSignIn: boolean,
): ChosenSite {
  const available = PAGE_NAMES.filter((name) => ownSignIn || !OWN_SIGN_IN_PAGES.includes(name));
  const enabled = chosen === false ? [] : (chosen ?? available);
  const wrong = enabled.find((name) => !available.includes(name));
  if (wrong !== undefined) {
    const reason = PAGE_NAMES.includes(wrong)
      ? "is ours alone, and `authenticate` is yours"
      : "is not a page";
    throw new TypeError(`pages: ${wrong} ${reason}. There are ${available.join(", ")}.`);
  }
  const providers = providersNamed(signIn ?? {});
  // LDAP serves Git and applications without pages, too.
  const needPage = providers.some(({ kind }) => kind === "openid");
  if (needPage && !enabled.includes("sign_in")) {
    throw new TypeError(
      "signIn.providers: people sign in there from the page sign_in, which is not enabled.",
    );
  }
  return { pages: enabled, signInUrl, providers };
}
