import { tokensAsApiKeys } from "../auth/authenticators/api-key.ts";
import { onlyTokensAsPasswords } from "../auth/authenticators/basic.ts";
import { deployToken } from "../auth/authenticators/deploy.ts";
import { hostSignIn } from "../auth/authenticators/host.ts";
import { jobToken } from "../auth/authenticators/job.ts";
import { accessToken } from "../auth/authenticators/oauth.ts";
import { personalToken } from "../auth/authenticators/personal.ts";
import { sessionCookie } from "../auth/authenticators/session.ts";
import { sudo } from "../auth/sudo.ts";
import { ApiError, unknownRoute } from "../core/errors.ts";
import type { Mount } from "../core/http/mount.ts";

/** The REST API, without its resources. It also answers paths of version 3, which GitLab has removed. */
export const API: Omit<Mount, "resources"> = {
  name: "REST API",
  base: "/api/v4",
  owns: (path) => /^\/api\/v[34](\/|$)/.test(path),
  unknown: (path) =>
    /^\/api\/v3(\/|$)/.test(path)
      ? new ApiError(410, { error: "API V3 is no longer supported. Use API V4 instead." })
      : unknownRoute(),
  authenticators: [personalToken, accessToken, jobToken, deployToken, hostSignIn, sessionCookie],
  basicAuthenticators: [...onlyTokensAsPasswords, ...tokensAsApiKeys],
  impersonation: sudo,
  allowsOrigins: true,
  takesFormat: true,
  declaresParameters: true,
  showsRuntime: true,
  countsRequests: true,
};
