import { bearerOf } from "../auth/request-tokens.ts";
import { type Resource, routes } from "../core/resource.ts";
import * as users from "../resources/users/queries.ts";
import type { Reader } from "../store/port.ts";
import * as applications from "./applications.ts";
import { authenticateClient, clientInput } from "./client.ts";
import { jsonReply, missing, problem, refusal } from "./errors.ts";
import * as grants from "./grants.ts";
import { parameter } from "./rules.ts";

const { get, post } = routes();

const tokenInput = {
  ...clientInput,
  token: parameter,
  token_type_hint: parameter,
};

/** Token info, introspection and revocation. */
export const tokenInspection: Resource = {
  name: "OAuth2 token inspection",
  migrations: [],
  routes: [
    get("/oauth/token/info", {
      summary: "Get an access token's scopes, expiry and application",
      access: "anyone",
      input: { access_token: parameter },
      examples: [
        {
          resource_owner_id: 1,
          scope: ["read_user"],
          expires_in: 7200,
          application: { uid: "…" },
          created_at: 1_700_000_000,
          scopes: ["read_user"],
          expires_in_seconds: 7200,
        },
        {
          resource_owner_id: 1,
          scope: ["api"],
          expires_in: 7200,
          application: { uid: null },
          created_at: 1_700_000_000,
          scopes: ["api"],
          expires_in_seconds: 7200,
        },
      ],
      handle: async ({ db, input, request, now }) => {
        const bearer = bearerOf(request.header("authorization"));
        if (bearer && input.access_token) {
          const description = "Both Authorization header and payload includes access token.";
          throw refusal(problem("invalid_request", description));
        }
        const found = await findActive(db, bearer ?? input.access_token ?? "", now);
        if (!found) throw refusal(problem("invalid_token"));
        const { grant, token, application } = found;
        const scopes = token.scopes.split(" ");
        const seconds = Math.floor((token.expires_at - now) / 1000);
        return jsonReply({
          resource_owner_id: grant.user_id,
          scope: scopes,
          expires_in: seconds,
          application: { uid: application?.uid ?? null },
          created_at: Math.floor(token.created_at / 1000),
          // Their names in GitLab 11.
          scopes,
          expires_in_seconds: seconds,
        });
      },
    }),
    post("/oauth/revoke", {
      summary: "Revoke a token and all others of the same grant (RFC 7009)",
      access: "anyone",
      status: 200,
      examples: [{}],
      input: tokenInput,
      prepare: (input, preparing) => authenticateClient(preparing, input),
      handle: async ({ db, input, prepared: client, now }) => {
        if (!input.token) throw refusal(missing("token"));
        const found =
          (await grants.findByRefreshToken(db, input.token)) ??
          (await grants.findByAccessToken(db, input.token));
        if (!found) return jsonReply({});
        const { grant } = found;
        // A token of no application can be revoked by anybody who holds it.
        if (grant.application_id !== null && grant.application_id !== client?.id) {
          throw refusal(
            client
              ? problem("unauthorized_client", "You are not authorized to revoke this token")
              : problem("invalid_client"),
          );
        }
        await grants.revoke(db, grant.id, now);
        return jsonReply({});
      },
    }),
    post("/oauth/introspect", {
      summary: "Check whether a token of the calling application is active (RFC 7662)",
      access: "anyone",
      status: 200,
      examples: [
        { active: false },
        {
          active: true,
          scope: "api",
          client_id: "f4c2…",
          username: "ada",
          exp: 1767232800,
          iat: 1767225600,
          sub: "1",
          iss: "https://pm.example.com",
        },
        {
          active: true,
          scope: "api",
          client_id: "f4c2…",
          username: "ada",
          token_type: "bearer",
          exp: 1767232800,
          iat: 1767225600,
          sub: "1",
          iss: "https://pm.example.com",
        },
      ],
      input: tokenInput,
      prepare: (input, preparing) => authenticateClient(preparing, input),
      handle: async ({ db, input, prepared: client, view, now }) => {
        // Unauthenticated callers could use this endpoint to guess tokens (RFC 7662 §4).
        if (client?.confidential !== 1) throw refusal(problem("invalid_client"));
        if (!input.token) throw refusal(missing("token"));
        const access = await findActive(db, input.token, now);
        const found = access ?? (await findRefreshable(db, input.token, now));
        if (!found || found.application?.id !== client.id) return jsonReply({ active: false });
        const { grant, token, user } = found;
        return jsonReply({
          active: true,
          scope: access ? token.scopes : grant.scopes,
          client_id: client.uid,
          username: user.username,
          ...(access ? { token_type: "bearer" } : {}),
          exp: Math.floor((access ? token.expires_at : grant.ends_at) / 1000),
          iat: Math.floor(token.created_at / 1000),
          sub: String(user.id),
          iss: view.base,
        });
      },
    }),
  ],
};

/** The description of an active token. */
export interface ActiveToken {
  grant: grants.Grant;
  token: grants.Token;
  application: applications.Application | undefined;
  user: users.User;
}

/** An access token the API would accept. */
export async function findActive(
  db: Reader,
  accessToken: string,
  now: number,
): Promise<ActiveToken | undefined> {
  const found = await grants.findByAccessToken(db, accessToken);
  return found && found.token.expires_at > now ? complete(db, found) : undefined;
}

/** A refresh token the token endpoint would accept. */
async function findRefreshable(
  db: Reader,
  token: string,
  now: number,
): Promise<ActiveToken | undefined> {
  const found = await grants.findByRefreshToken(db, token);
  return found && found.grant.ends_at > now ? complete(db, found) : undefined;
}

async function complete(
  db: Reader,
  { grant, token }: { grant: grants.Grant; token: grants.Token },
): Promise<ActiveToken | undefined> {
  const user = await users.find(db, grant.user_id);
  if (token.replaced === 1 || user?.state !== "active") return undefined;
  const { application_id: id } = grant;
  const application = id === null ? undefined : await applications.find(db, id);
  return { grant, token, application, user };
}
