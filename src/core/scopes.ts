/** GitLab's scopes of what there is not here: tokens can have them, and they open nothing. */
const SCOPES_OF_NOTHING = ["k8s_proxy", "admin_mode", "ai_features", "read_service_ping"] as const;

/** The scopes a token can have. */
export const SCOPES = [
  "api",
  "read_api",
  "read_user",
  "read_repository",
  "write_repository",
  "create_runner",
  "manage_runner",
  "sudo",
  "self_rotate",
  "read_registry",
  "write_registry",
  ...SCOPES_OF_NOTHING,
] as const;

/** The scopes of tokens that users may make for themselves by the API: all they can do is to replace themselves. */
export const OWN_SCOPES = ["k8s_proxy", "self_rotate"] as const satisfies readonly Scope[];

/** A token scope. */
export type Scope = (typeof SCOPES)[number];

/** The scopes a deploy token can have. */
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

/** The scopes of routes about runners, one of which is needed. */
export const RUNNER_SCOPES = {
  create: ["api", "create_runner"],
  read: ["api", "read_api", "manage_runner"],
  change: ["api", "manage_runner"],
} as const satisfies Record<string, readonly Scope[]>;

/** The scopes of OpenID Connect, which applications may ask for. */
const IDENTITY_SCOPES = {
  openid: "Know who you are: your name, your public profile, and the groups you belong to",
  profile: "Read your public profile",
  email: "Read your e-mail address",
} as const;
type IdentityScope = keyof typeof IDENTITY_SCOPES;

/**
 * The scopes that pages offer for applications, as the consent page explains them; for tokens, all but those of OpenID Connect. Programs
 * may ask for {@link SCOPES}, too.
 */
export const APPLICATION_SCOPES: Readonly<Record<string, string>> = {
  api: "Everything you may do: read and change all that you can",
  read_api: "Read everything that you can read",
  read_user: "Read who you are, and your activity",
  read_repository: "Fetch from the repositories that you can read",
  write_repository: "Fetch from and push to the repositories that you can use",
  create_runner: "Create runners where you may",
  manage_runner: "Read, change and remove the runners that you manage",
  sudo: "Act as any user, if you are an administrator",
  ...IDENTITY_SCOPES,
} satisfies Record<Exclude<Scope, keyof typeof OTHERS> | IdentityScope, string>;

const OTHERS = {
  self_rotate: "Replace the token itself",
  // Of no use to applications: the registry takes no OAuth2 tokens.
  read_registry: "Pull container images that you can read, with a personal token",
  write_registry: "Push container images where you may, with a personal token",
  ...(Object.fromEntries(
    SCOPES_OF_NOTHING.map((scope) => [scope, "Nothing on this server"]),
  ) as Record<(typeof SCOPES_OF_NOTHING)[number], string>),
};

/** What a scope allows. */
export const meaningOf = (scope: string): string =>
  APPLICATION_SCOPES[scope] ?? OTHERS[scope as keyof typeof OTHERS];

/** Whether an application may be registered with a scope. */
export const isApplicationScope = (scope: string): boolean =>
  Object.hasOwn(APPLICATION_SCOPES, scope) || Object.hasOwn(OTHERS, scope);
