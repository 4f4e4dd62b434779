/** The scopes a token can have. */
export const SCOPES = [
  "api",
  "read_api",
  "read_user",
  "read_repository",
  "write_repository",
  "sudo",
  "self_rotate",
  "k8s_proxy",
] as const;

/** The scopes of tokens that users may make for themselves by the API: all they can do is to replace themselves. */
export const OWN_SCOPES = ["k8s_proxy", "self_rotate"] as const satisfies readonly Scope[];

/** A token scope. */
export type Scope = (typeof SCOPES)[number];

/** The scopes a deploy token can have. There are no container images here, so those of registries reach nothing. */
export const DEPLOY_SCOPES = [
  "read_repository",
  "read_registry",
  "write_registry",
  "read_package_registry",
  "write_package_registry",
] as const;

/** A scope of deploy tokens. */
export type DeployScope = (typeof DEPLOY_SCOPES)[number];

/** The scopes of routes that read users and their activity, one of which is needed. */
export const USER_SCOPES: readonly Scope[] = ["api", "read_api", "read_user"];

/**
 * The scopes an application can have, as the consent page explains them. Tokens can have all but `profile`, and
 * {@link OWN_SCOPES}.
 */
export const APPLICATION_SCOPES: Readonly<Record<string, string>> = {
  api: "Everything you may do: read and change all that you can",
  read_api: "Read everything that you can read",
  read_user: "Read who you are, and your activity",
  read_repository: "Fetch from the repositories that you can read",
  write_repository: "Fetch from and push to the repositories that you can use",
  sudo: "Act as any user, if you are an administrator",
  profile: "Read your public profile",
} satisfies Record<Exclude<Scope, (typeof OWN_SCOPES)[number]> | "profile", string>;
