import * as audit from "../audit/log.ts";
import type { Account } from "../auth/credentials.ts";
import { checkPassword } from "../auth/sign-in.ts";
import { type Sign, signerOf } from "../auth/signing-keys.ts";
import * as twoFactor from "../auth/two-factor.ts";
import type { View } from "../core/field.ts";
import { type RawReply, type Resource, routes } from "../core/resource.ts";
import { APPLICATION_SCOPES } from "../core/scopes.ts";
import * as users from "../resources/users/queries.ts";
import type { Database } from "../store/port.ts";
import type { Application } from "./applications.ts";
import { idTokenClaims } from "./claims.ts";
import { authenticateClient, clientInput } from "./client.ts";
import * as devices from "./devices.ts";
import { errorReply, jsonReply, missing, type Problem, problem, refusal } from "./errors.ts";
import * as grants from "./grants.ts";
import { verifies } from "./pkce.ts";
import { DEVICE_GRANT, type Flows, grantableScopes, parameter } from "./rules.ts";

const { post } = routes();

const input = {
  ...clientInput,
  grant_type: parameter,
  code: parameter,
  redirect_uri: parameter,
  code_verifier: parameter,
  refresh_token: parameter,
  device_code: parameter,
  username: parameter,
  password: parameter,
  scope: parameter,
};

type Params = { [K in keyof typeof input]?: string | undefined };

/** The request a grant is decided by. */
interface Request {
  db: Database;
  params: Params;
  client: Application | undefined;
  /** The user with the name and password of a password grant. */
  user: Account | undefined;
  /** Signs id_tokens, if the client may get any. */
  sign: Sign | undefined;
  view: View;
  ip: string;
  now: number;
}

/** Issues tokens: RFC 6749 §4.1.3, §4.3 and §6. */
export function tokenEndpoint(flows: Flows): Resource {
  const grantTypes: Record<string, (request: Request) => Promise<RawReply>> = {
    authorization_code: redeemCode,
    refresh_token: refresh,
    [DEVICE_GRANT]: grantToDevice,
    ...(flows.password ? { password: grantByPassword } : {}),
  };
  return {
    name: "OAuth2 tokens",
    migrations: [],
    routes: [
      post("/oauth/token", {
        summary: "Get an access token for a code, a refresh token, a device or a password",
        access: "anyone",
        status: 200,
        examples: [
          {
            access_token: "5f6b…",
            token_type: "bearer",
            expires_in: 7200,
            refresh_token: "0b1c…",
            scope: "openid",
            created_at: 1767225600,
            id_token: "eyJ0…",
          },
          {
            access_token: "5f6b…",
            token_type: "bearer",
            expires_in: 7200,
            scope: "api",
            created_at: 1767225600,
          },
        ],
        input,
        prepare: async (params, preparing) => {
          if (!params.grant_type) throw refusal(missing("grant_type"));
          const grant = Object.hasOwn(grantTypes, params.grant_type)
            ? grantTypes[params.grant_type]
            : undefined;
          if (!grant) throw refusal(problem("unsupported_grant_type"));
          const client = await authenticateClient(preparing, params);
          if (grant !== grantByPassword) {
            const isOpenId = client?.scopes.split(" ").includes("openid");
            // Before anything is redeemed: without a key for secrets there are no id_tokens.
            const sign = isOpenId ? await signerOf(preparing) : undefined;
            return { grant, client, user: undefined, sign };
          }
          if (!params.username) throw refusal(missing("username"));
          if (!params.password) throw refusal(missing("password"));
          return {
            grant,
            client,
            user: await checkPassword(preparing, params.username, params.password),
            sign: undefined,
          };
        },
        handle: ({ db, input: params, prepared, request, view, now }) => {
          const { grant, ...others } = prepared;
          return grant({ db, params, ...others, view, ip: request.ip, now });
        },
      }),
    ],
  };
}

/**
 * A code works once, and even a failed request uses it up. Reusing a code revokes the tokens it gave (RFC 6749 §4.1.2).
 * Errors are returned, not thrown, so that this is committed.
 */
async function redeemCode(request: Request): Promise<RawReply> {
  const { db, params, client, ip, now } = request;
  if (!client) throw refusal(problem("invalid_client"));
  if (!params.code) throw refusal(missing("code"));
  if (!params.redirect_uri) throw refusal(missing("redirect_uri"));
  const grant = await grants.findByCode(db, params.code);
  if (!grant) throw refusal(problem("invalid_grant"));
  if (grant.ends_at <= now) throw refusal(problem("invalid_grant"));
  const wrong =
    grant.code_used === 1 ? problem("invalid_grant") : problemOfRedemption(grant, client, params);
  if (wrong === undefined && (await isActive(db, grant.user_id))) {
    const issued = await grants.redeem(db, grant, now);
    return tokenReply(issued, await idToken(request, client, grant, issued.scopes));
  }
  if (grant.code_used === 1) {
    await recordReuse(db, "reuse of a code detected", { grant, client, ip }, now);
  }
  await grants.revoke(db, grant.id, now);
  return errorReply(wrong ?? problem("invalid_grant"));
}

function problemOfRedemption(
  grant: grants.Grant,
  client: Application,
  { redirect_uri, code_verifier }: Params,
): Problem | undefined {
  const isBound = grant.application_id === client.id && grant.redirect_uri === redirect_uri;
  if (!isBound) return problem("invalid_grant");
  const { code_challenge: value, code_challenge_method: method } = grant;
  if (value === null || method === null) {
    // A client with a verifier did send a challenge: the request was tampered with (RFC 9700 §2.1.1).
    return code_verifier ? problem("invalid_grant") : undefined;
  }
  if (!code_verifier) return missing("code_verifier");
  return verifies({ method, value }, code_verifier) ? undefined : problem("invalid_grant");
}

/**
 * Reusing a refresh token revokes the whole family, since one of its two holders must have stolen it (RFC 9700 §4.14).
 * If an application with a secret does so within a moment, it counts as a retry and is only refused.
 */
async function refresh(request: Request): Promise<RawReply> {
  const { db, params, client, ip, now } = request;
  if (!client) throw refusal(problem("invalid_client"));
  if (!params.refresh_token) throw refusal(missing("refresh_token"));
  const found = await grants.findByRefreshToken(db, params.refresh_token);
  if (!found || found.grant.application_id !== client.id) throw refusal(problem("invalid_grant"));
  const { grant, token } = found;
  if (grant.ends_at <= now) throw refusal(problem("invalid_grant"));
  if (token.replaced === 1) {
    const isRetry = client.confidential === 1 && (await grants.isJustReplaced(db, token, now));
    if (isRetry) throw refusal(problem("invalid_grant"));
    await recordReuse(db, "reuse of a refresh token detected", { grant, client, ip }, now);
    await grants.revoke(db, grant.id, now);
    return errorReply(problem("invalid_grant"));
  }
  if (!(await isActive(db, grant.user_id))) throw refusal(problem("invalid_grant"));
  const allowed = stillAllowed(grant, client);
  const scopes = grantableScopes(params.scope || allowed, allowed);
  if (scopes === undefined) throw refusal(problem("invalid_scope"));
  const issued = await grants.rotate(db, token, scopes, now);
  // The nonce was for the first one (OpenID Connect Core 1.0 §12.2).
  return tokenReply(issued, await idToken(request, client, { ...grant, nonce: null }, scopes));
}

/** Says who has signed in, if the application asked for that. */
async function idToken(
  { db, view, sign }: Request,
  client: Application,
  {
    user_id: userId,
    nonce,
    auth_time: authTime,
  }: Pick<grants.Grant, "user_id" | "nonce" | "auth_time">,
  scopes: string,
): Promise<string | undefined> {
  if (!sign || !scopes.split(" ").includes("openid")) return undefined;
  const telling = { db, view, userId, scopes };
  return sign(await idTokenClaims(telling, client.uid, { authTime, nonce }));
}

/**
 * A device asks until somebody has let it in or turned it away (RFC 8628 §3.5). Errors are returned, not thrown, so that what
 * is noted of it is committed.
 */
async function grantToDevice(request: Request): Promise<RawReply> {
  const { db, params, client, now } = request;
  if (!client) throw refusal(problem("invalid_client"));
  if (!params.device_code) throw refusal(missing("device_code"));
  const device = await devices.findByDeviceCode(db, params.device_code);
  if (device?.application_id !== client.id) throw refusal(problem("invalid_grant"));
  const { user_id: userId, polled_at: last, auth_time } = device;
  if (device.expires_at <= now || device.denied === 1) {
    await devices.forget(db, device);
    return errorReply(problem(device.denied === 1 ? "access_denied" : "expired_token"));
  }
  if (userId === null) {
    await devices.polled(db, device, now);
    const isTooSoon = last !== null && now - last < devices.POLL_INTERVAL;
    return errorReply(problem(isTooSoon ? "slow_down" : "authorization_pending"));
  }
  await devices.forget(db, device);
  // The application may have lost scopes since.
  const scopes = grantableScopes(device.scopes, client.scopes);
  if (scopes === undefined || !(await isActive(db, userId))) {
    return errorReply(problem("invalid_grant"));
  }
  const grant = { applicationId: client.id, userId, scopes, authTime: auth_time ?? undefined };
  const issued = await grants.insertForDevice(db, grant, now);
  return tokenReply(
    issued,
    await idToken(request, client, { user_id: userId, nonce: null, auth_time }, scopes),
  );
}

/** The user is unknown here, so the audit log names the application. */
function recordReuse(
  db: Database,
  action: "reuse of a code detected" | "reuse of a refresh token detected",
  { grant, client, ip }: { grant: grants.Grant; client: Application; ip: string },
  now: number,
): Promise<void> {
  const by = { id: null, name: client.name, ip };
  return audit.log({ db, by, now }, action, { userId: grant.user_id, target: client.name });
}

/** The scopes the user allowed that the application is still registered with. */
function stillAllowed({ scopes }: grants.Grant, client: Application): string {
  const allowed = client.scopes.split(" ");
  return scopes
    .split(" ")
    .filter((scope) => allowed.includes(scope))
    .join(" ");
}

/** The password grant. The application need not authenticate (docs/oauth.md). */
async function grantByPassword({ db, params, client, user, ip, now }: Request): Promise<RawReply> {
  // Users with a second factor use a personal access token instead (docs/oauth.md).
  if (user?.state !== "active" || (await twoFactor.isOn(db, user.id))) {
    throw refusal(problem("invalid_grant"));
  }
  const allowed = client?.scopes ?? Object.keys(APPLICATION_SCOPES).join(" ");
  const scopes = grantableScopes(params.scope, allowed);
  if (scopes === undefined) throw refusal(problem("invalid_scope"));
  const grant = { applicationId: client?.id ?? null, userId: user.id, scopes };
  const issued = await grants.insertWithToken(db, grant, now);
  const target = `password grant${client ? ` to ${client.name}` : ""}`;
  await audit.log({ db, by: { id: user.id, name: user.username, ip }, now }, "token made", {
    target,
  });
  return tokenReply(issued);
}

async function isActive(db: Database, userId: number): Promise<boolean> {
  return (await users.find(db, userId))?.state === "active";
}

function tokenReply(
  { accessToken, refreshToken, scopes, createdAt }: grants.Issued,
  idToken?: string,
): RawReply {
  return jsonReply({
    access_token: accessToken,
    token_type: "bearer",
    expires_in: grants.TOKEN_LIFETIME / 1000,
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    scope: scopes,
    created_at: Math.floor(createdAt / 1000),
    ...(idToken === undefined ? {} : { id_token: idToken }),
  });
}
