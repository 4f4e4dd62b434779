import { record } from "../audit/log.ts";
import { checkPassword } from "../auth/sign-in.ts";
import * as twoFactor from "../auth/two-factor.ts";
import { type RawReply, type Resource, routes } from "../core/resource.ts";
import { APPLICATION_SCOPES } from "../core/scopes.ts";
import * as users from "../resources/users/queries.ts";
import type { Database } from "../store/port.ts";
import type { Application } from "./applications.ts";
import { authenticateClient, clientInput } from "./client.ts";
import { answer, missing, type Problem, problem, refusal, refusalAnswer } from "./errors.ts";
import * as grants from "./grants.ts";
import { answers } from "./pkce.ts";
import { type Flows, grantableScopes, parameter } from "./rules.ts";

const { post } = routes();

const input = {
  ...clientInput,
  grant_type: parameter,
  code: parameter,
  redirect_uri: parameter,
  code_verifier: parameter,
  refresh_token: parameter,
  username: parameter,
  password: parameter,
  scope: parameter,
};

type Sent = { [K in keyof typeof input]?: string | undefined };

/** The request a grant is decided by. */
interface Request {
  db: Database;
  sent: Sent;
  client: Application | undefined;
  /** The user with the name and password of a password grant. */
  user: users.User | undefined;
  ip: string;
  now: number;
}

/** Issues tokens: RFC 6749 §4.1.3, §4.3 and §6. */
export function tokenEndpoint(flows: Flows): Resource {
  const grantTypes: Record<string, (request: Request) => Promise<RawReply>> = {
    authorization_code: redeemCode,
    refresh_token: refresh,
    ...(flows.password ? { password: grantByPassword } : {}),
  };
  return {
    name: "OAuth2 tokens",
    migrations: [],
    routes: [
      post("/oauth/token", {
        summary: "Get an access token for a code, a refresh token or a password",
        access: "anyone",
        status: 200,
        input,
        prepare: async (sent, preparing) => {
          if (!sent.grant_type) throw refusal(missing("grant_type"));
          const grant = Object.hasOwn(grantTypes, sent.grant_type)
            ? grantTypes[sent.grant_type]
            : undefined;
          if (!grant) throw refusal(problem("unsupported_grant_type"));
          const client = await authenticateClient(preparing, sent);
          if (grant !== grantByPassword) return { grant, client, user: undefined };
          if (!sent.username) throw refusal(missing("username"));
          if (!sent.password) throw refusal(missing("password"));
          return {
            grant,
            client,
            user: await checkPassword(preparing, sent.username, sent.password),
          };
        },
        handle: ({ db, input: sent, prepared, request, now }) => {
          const { grant, client, user } = prepared;
          return grant({ db, sent, client, user, ip: request.ip, now });
        },
      }),
    ],
  };
}

/**
 * A code works once, and even a failed request uses it up. Reusing a code revokes the tokens it gave (RFC 6749 §4.1.2).
 * Errors are returned, not thrown, so that this is committed.
 */
async function redeemCode({ db, sent, client, ip, now }: Request): Promise<RawReply> {
  if (!client) throw refusal(problem("invalid_client"));
  if (!sent.code) throw refusal(missing("code"));
  if (!sent.redirect_uri) throw refusal(missing("redirect_uri"));
  const grant = await grants.findByCode(db, sent.code);
  if (!grant) throw refusal(problem("invalid_grant"));
  if (grant.ends_at <= now) throw refusal(problem("invalid_grant"));
  const wrong =
    grant.code_used === 1 ? problem("invalid_grant") : problemOfRedemption(grant, client, sent);
  if (wrong === undefined && (await isActive(db, grant.user_id))) {
    return answerOf(await grants.redeem(db, grant, now));
  }
  if (grant.code_used === 1) {
    await recordReuse(db, "reuse of a code detected", { grant, client, ip }, now);
  }
  await grants.revoke(db, grant.id, now);
  return refusalAnswer(wrong ?? problem("invalid_grant"));
}

function problemOfRedemption(
  grant: grants.Grant,
  client: Application,
  { redirect_uri, code_verifier }: Sent,
): Problem | undefined {
  const isIts = grant.application_id === client.id && grant.redirect_uri === redirect_uri;
  if (!isIts) return problem("invalid_grant");
  const { code_challenge: value, code_challenge_method: method } = grant;
  if (value === null || method === null) {
    // A client with a verifier did send a challenge: the request was tampered with (RFC 9700 §2.1.1).
    return code_verifier ? problem("invalid_grant") : undefined;
  }
  if (!code_verifier) return missing("code_verifier");
  return answers({ method, value }, code_verifier) ? undefined : problem("invalid_grant");
}

/**
 * Reusing a refresh token revokes the whole family, since one of its two holders must have stolen it (RFC 9700 §4.14).
 * If an application with a secret does so within a moment, it counts as a retry and is only refused.
 */
async function refresh({ db, sent, client, ip, now }: Request): Promise<RawReply> {
  if (!client) throw refusal(problem("invalid_client"));
  if (!sent.refresh_token) throw refusal(missing("refresh_token"));
  const found = await grants.findByRefreshToken(db, sent.refresh_token);
  if (!found || found.grant.application_id !== client.id) throw refusal(problem("invalid_grant"));
  const { grant, token } = found;
  if (grant.ends_at <= now) throw refusal(problem("invalid_grant"));
  if (token.replaced === 1) {
    const isRetry = client.confidential === 1 && (await grants.isJustReplaced(db, token, now));
    if (isRetry) throw refusal(problem("invalid_grant"));
    await recordReuse(db, "reuse of a refresh token detected", { grant, client, ip }, now);
    await grants.revoke(db, grant.id, now);
    return refusalAnswer(problem("invalid_grant"));
  }
  if (!(await isActive(db, grant.user_id))) throw refusal(problem("invalid_grant"));
  const allowed = stillAllowed(grant, client);
  const scopes = grantableScopes(sent.scope || allowed, allowed);
  if (scopes === undefined) throw refusal(problem("invalid_scope"));
  return answerOf(await grants.rotate(db, token, scopes, now));
}

/** The user is unknown here, so the audit log names the application. */
function recordReuse(
  db: Database,
  action: "reuse of a code detected" | "reuse of a refresh token detected",
  { grant, client, ip }: { grant: grants.Grant; client: Application; ip: string },
  now: number,
): Promise<void> {
  const author = { id: null, name: client.name };
  return record(db, { action, author, userId: grant.user_id, target: client.name, ip }, now);
}

/** The scopes the user allowed that the application is still registered with. */
function stillAllowed({ scopes }: grants.Grant, client: Application): string {
  const may = client.scopes.split(" ");
  return scopes
    .split(" ")
    .filter((scope) => may.includes(scope))
    .join(" ");
}

/** The password grant. The application need not authenticate (docs/oauth.md). */
async function grantByPassword({ db, sent, client, user, ip, now }: Request): Promise<RawReply> {
  // Users with a second factor use a personal access token instead (docs/oauth.md).
  if (user?.state !== "active" || (await twoFactor.isOn(db, user.id))) {
    throw refusal(problem("invalid_grant"));
  }
  const allowed = client?.scopes ?? Object.keys(APPLICATION_SCOPES).join(" ");
  const scopes = grantableScopes(sent.scope, allowed);
  if (scopes === undefined) throw refusal(problem("invalid_scope"));
  const grant = { applicationId: client?.id ?? null, userId: user.id, scopes };
  const issued = await grants.insertWithToken(db, grant, now);
  const target = `password grant${client ? ` to ${client.name}` : ""}`;
  const author = { id: user.id, name: user.username };
  await record(db, { action: "token made", author, target, ip }, now);
  return answerOf(issued);
}

async function isActive(db: Database, userId: number): Promise<boolean> {
  return (await users.find(db, userId))?.state === "active";
}

function answerOf({ accessToken, refreshToken, scopes, createdAt }: grants.Issued): RawReply {
  return answer({
    access_token: accessToken,
    token_type: "bearer",
    expires_in: grants.TOKEN_LIFETIME / 1000,
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    scope: scopes,
    created_at: Math.floor(createdAt / 1000),
  });
}
