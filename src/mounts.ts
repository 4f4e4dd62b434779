import { PROGRAM_ADDRESSES } from "./addresses/index.ts";
import { hostSignIn } from "./auth/authenticators/host.ts";
import { accessToken } from "./auth/authenticators/oauth.ts";
import { personalToken } from "./auth/authenticators/personal.ts";
import { sessionCookie } from "./auth/authenticators/session.ts";
import { FEED_TOKENS } from "./auth/feed-tokens.ts";
import { SIGNING_KEYS } from "./auth/signing-keys.ts";
import { migrations } from "./auth/table.ts";
import { TWO_FACTOR_SECRETS } from "./auth/two-factor-secrets.ts";
import { BROWSE } from "./browse/index.ts";
import type { Mount } from "./core/http/mount.ts";
import type { Resource } from "./core/resource.ts";
import { migrations as storedFiles } from "./files/table.ts";
import { GIT } from "./git-http/index.ts";
import { GRAPHQL, graphqlResource } from "./graphql/index.ts";
import { LFS } from "./lfs/index.ts";
import { metricsResource } from "./metrics/index.ts";
import { applicationApi } from "./oauth/api.ts";
import { authorizationEndpoint } from "./oauth/authorize.ts";
import { devicePages } from "./oauth/device.ts";
import { discovery } from "./oauth/discovery.ts";
import { OAUTH } from "./oauth/errors.ts";
import { oauthResources } from "./oauth/index.ts";
import type { Flows } from "./oauth/rules.ts";
import { WEB } from "./pages/mount.ts";
import { REGISTRY } from "./registry/index.ts";
import { REGISTRY_TOKENS } from "./registry/sign-in.ts";
import { appearanceAddresses } from "./resources/appearance/index.ts";
import { avatarAddresses } from "./resources/avatars/addresses.ts";
import { resources } from "./resources/index.ts";
import { healthResource } from "./resources/meta/index.ts";
import { metricImageAddresses } from "./resources/metric-images/index.ts";
import { API } from "./resources/mount.ts";
import { SCIM } from "./resources/scim/mount.ts";
import { scimUserResource } from "./resources/scim/users.ts";
import { SITE_HOSTS } from "./resources/sites/addresses.ts";
import { uploadAddresses } from "./resources/uploads/addresses.ts";
import { SSH_HOST_KEYS } from "./ssh/host-keys.ts";
import { migrations as hostKeys } from "./ssh/table.ts";
import { PAGE_NAMES, type PageName, pages } from "./web/index.ts";

/** Which optional pages and OAuth flows are enabled. */
export interface MountOptions {
  flows: Flows;
  pages: readonly PageName[];
}

/** What anyone may call: health checks, and what clients look up before they know anything else. */
const OPEN: Omit<Mount, "resources"> = {
  name: "Operation",
  base: "",
  authenticators: [],
  allowsOrigins: true,
};

/** Files at addresses that texts have. */
const ADDRESSES: Omit<Mount, "resources"> = {
  name: "Addresses",
  base: "",
  authenticators: [personalToken, accessToken, hostSignIn, sessionCookie],
};

/** What administrators read with a token. */
const METRICS: Omit<Mount, "resources"> = {
  name: "Metrics",
  base: "",
  authenticators: [personalToken, accessToken],
};

/** The GraphQL sides of all resources are only loaded if GraphQL is used. */
const GRAPHQL_RESOURCE = graphqlResource(
  async () => (await import("./resources/graphql.ts")).modules,
);

/** The tables of sign-in, which all mounts share. */
const AUTHENTICATION: Resource = {
  name: "Authentication",
  migrations,
  sealed: [TWO_FACTOR_SECRETS, FEED_TOKENS, SIGNING_KEYS],
  routes: [],
};

/** The keys of the SSH server. */
const HOST_KEYS: Resource = {
  name: "SSH host keys",
  migrations: hostKeys,
  sealed: [SSH_HOST_KEYS],
  routes: [],
};

/** The files that records of all resources have. */
const STORED_FILES: Resource = { name: "Stored files", migrations: storedFiles, routes: [] };

/** Everything that answers requests or has tables, and where. A new mount is added here. */
export function mounts(chosen: MountOptions): readonly Mount[] {
  return [
    { ...API, resources: [...resources, AUTHENTICATION, HOST_KEYS, STORED_FILES, applicationApi] },
    { ...GRAPHQL, resources: [GRAPHQL_RESOURCE] },
    { ...SCIM, resources: [scimUserResource] },
    { ...OPEN, resources: [healthResource, discovery(chosen.flows)] },
    {
      ...ADDRESSES,
      resources: [appearanceAddresses, avatarAddresses, metricImageAddresses, uploadAddresses],
    },
    { ...METRICS, resources: [metricsResource] },
    { ...OAUTH, resources: oauthResources(chosen.flows) },
    GIT,
    LFS,
    REGISTRY,
    REGISTRY_TOKENS,
    PROGRAM_ADDRESSES,
    ...(chosen.pages.includes("projects") ? BROWSE : []),
    SITE_HOSTS,
    {
      ...WEB,
      resources: [authorizationEndpoint(chosen.flows), devicePages, ...pages(chosen.pages)],
    },
  ];
}

/** {@link mounts} with all optional parts enabled. */
export const allMounts: readonly Mount[] = mounts({
  flows: { implicit: true, password: true },
  pages: PAGE_NAMES,
});

/** All resources, of all mounts: they have the same tables whatever is enabled. */
export const allResources: readonly Resource[] = allMounts.flatMap(({ resources: own }) => own);
