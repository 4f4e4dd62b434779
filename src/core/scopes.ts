/** What a token can allow. */
export const SCOPES = ["api", "read_api", "read_user", "sudo"] as const;

/** A scope of tokens. */
export type Scope = (typeof SCOPES)[number];

/** What an application can be given, and what that means to the user who is asked; tokens can be given all but `profile`. */
export const APPLICATION_SCOPES: Readonly<Record<string, string>> = {
  api: "Everything you may do: read and change all that you can",
  read_api: "Read everything that you can read",
  read_user: "Read who you are, and your activity",
  sudo: "Act as any user, if you are an administrator",
  profile: "Read your public profile",
} satisfies Record<Scope | "profile", string>;
