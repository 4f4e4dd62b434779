import type { Caller } from "../../core/access/caller.ts";
import { ApiError, invalid, notFound, unauthorized } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import { OWN_SCOPES, SCOPES, type Scope, USER_SCOPES } from "../../core/scopes.ts";
import { DAY, dayOf } from "../../core/time.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import * as users from "../users/queries.ts";
import { requireUser } from "../users/rules.ts";
import * as changes from "./changes.ts";
import { tokenFilter, tokenListInput } from "./filters.ts";
import { impersonationFields, secretField, tokenFields } from "./json.ts";
import * as tokens from "./queries.ts";
import { expiryAfterRotation, MOST_DAYS } from "./rules.ts";
import { migrations } from "./table.ts";

export { accessTokenResource } from "./access-tokens.ts";

const token = presenter(tokenFields);
const createdToken = presenter({ ...tokenFields, token: secretField });
const impersonationToken = presenter(impersonationFields);
const createdImpersonationToken = presenter({ ...impersonationFields, token: secretField });

const userId = { user_id: param.recordId() };
const tokenId = { ...userId, token_id: param.recordId() };
const ownId = { token_id: param.untypedId() };

const newToken = {
  ...userId,
  name: param.text(),
  description: param.clearable(param.anyText()),
  scopes: param.noted(param.optional(param.commaSeparated()), { demanded: true, minLength: 1 }),
  expires_at: param.clearable(param.date()),
};
const rotation = { expires_at: param.optional(param.date()) };

/** Every token may read and revoke itself, whatever its scopes. */
const ANY_SCOPE: readonly Scope[] = SCOPES;

/** 400 with the message of GitLab's services. */
const badRequest = (reason?: string) =>
  new ApiError(400, { message: reason ? `400 Bad request - ${reason}` : "400 Bad request" });

/** 404 without the name of a resource. */
const noRecord = () => new ApiError(404, { message: "404 Not Found" });

async function findImpersonationToken(context: {
  db: Reader;
  input: { user_id: number; token_id: number };
}) {
  const user = await requireUser(context.db, context.input.user_id);
  const found = await tokens.find(context.db, context.input.token_id);
  if (!found || found.user_id !== user.id || found.impersonation !== 1) {
    throw notFound("Impersonation Token");
  }
  return found;
}

/**
 * The token with this id, and whether the caller may manage it: it is their own and not an impersonation token, or
 * they are an administrator.
 */
export async function findManaged(
  db: Reader,
  caller: Caller,
  id: number,
): Promise<{ found: tokens.Token | undefined; mayManage: boolean }> {
  const found = await tokens.find(db, id);
  const isOwn = found?.user_id === caller.id && found.impersonation === 0;
  return { found, mayManage: found !== undefined && (caller.admin || isOwn) };
}

/** @throws ApiError 401 for other users' and missing tokens alike; administrators get 404 for missing ones */
async function requireManaged({
  db,
  caller,
  input,
}: {
  db: Reader;
  caller: Caller;
  input: { token_id: number };
}): Promise<tokens.Token> {
  const { found, mayManage } = await findManaged(db, caller, input.token_id);
  if (found && mayManage) return found;
  throw caller.admin ? noRecord() : unauthorized();
}

/** The personal access token of the request. @throws ApiError 400 if it used other credentials */
async function findSelf({ db, caller: { by } }: { db: Reader; caller: Caller }) {
  const found =
    by.kind === "token" || by.kind === "impersonation" ? await tokens.find(db, by.id) : undefined;
  if (!found) throw badRequest("This endpoint requires token type to be a personal access token");
  return found;
}

/** The part of a handler's context that changing tokens needs. */
type Change = Pick<Context, "request" | "now" | "presenter"> & { db: Database; caller: Caller };

async function revoke(
  context: Omit<Change, "presenter"> & Pick<Context, "requireUnmodified">,
  found: tokens.Token,
) {
  context.requireUnmodified(found.updated_at);
  await changes.revokeToken(context, found);
  return undefined;
}

/** The row of a new token, with its secret. */
async function rowWithSecret(
  { db, presenter }: Pick<Change, "db" | "presenter">,
  { id, secret }: changes.CreatedToken,
): Promise<Value[]> {
  const row = await tokens.row(db, presenter, id);
  row[presenter.at("token")] = JSON.stringify(secret);
  return row;
}

async function create(
  context: Change & { input: param.Input<typeof newToken> },
  impersonation: boolean,
) {
  const user = await requireUser(context.db, context.input.user_id);
  const { name, description, scopes = [], expires_at } = context.input;
  const values = { user_id: user.id, name, description, scopes, impersonation, expires_at };
  return rowWithSecret(context, await changes.createToken(context, values));
}

async function rotate(
  context: Change & { input: param.Input<typeof rotation> },
  found: tokens.Token,
) {
  const expiresAt = context.input.expires_at ?? expiryAfterRotation(found, dayOf(context.now));
  const created = await changes.rotateToken(context, found, expiresAt);
  if (!created) throw badRequest("Token already revoked");
  return rowWithSecret(context, created);
}

const { post } = routes();
const personal = routes({ path: "/personal_access_tokens" });
const impersonation = routes({ path: "/users/:user_id/impersonation_tokens" });

/** Personal access tokens. */
export const personalTokenResource: Resource = {
  name: "Personal access tokens",
  migrations: [],
  routes: [
    personal.list("", {
      summary: "List personal access tokens: the caller's own; administrators see all",
      input: {
        user_id: param.optional(param.integer()),
        ...tokenListInput,
      },
      presenter: token,
      handle: async ({ db, presenter, page, input, viewer, caller }) => {
        const { admin } = caller;
        if (!admin && input.user_id !== undefined && input.user_id !== caller.id) {
          throw unauthorized();
        }
        if (admin && input.user_id !== undefined && !(await users.find(db, input.user_id))) {
          throw noRecord();
        }
        return tokens.list(db, presenter, page, {
          userId: admin ? input.user_id : caller.id,
          // Only administrators see impersonation tokens.
          impersonation: admin ? undefined : false,
          ...tokenFilter(input, viewer.today),
        });
      },
    }),
    personal.get("/self", {
      summary: "Get the token that authenticates the request",
      scopes: ANY_SCOPE,
      presenter: token,
      handle: async (context) =>
        tokens.row(context.db, context.presenter, (await findSelf(context)).id),
    }),
    personal.get("/:token_id", {
      summary: "Get a personal access token",
      input: ownId,
      presenter: token,
      handle: async (context) =>
        tokens.row(context.db, context.presenter, (await requireManaged(context)).id),
    }),
    personal.post("/self/rotate", {
      scopes: ["api", "self_rotate"],
      summary:
        "Rotate the token that authenticates the request; only this response has the new secret",
      input: rotation,
      status: 200,
      presenter: createdToken,
      onRevoked: changes.revokeReused,
      handle: async (context) => {
        const { kind } = context.caller.by;
        if (kind !== "token" && kind !== "impersonation") {
          throw new ApiError(405, { message: "405 Method Not Allowed" });
        }
        return rotate(context, await findSelf(context));
      },
    }),
    personal.post("/:token_id/rotate", {
      summary: "Rotate a personal access token; only this response has the new secret",
      input: { ...ownId, ...rotation },
      status: 200,
      presenter: createdToken,
      onRevoked: changes.revokeReused,
      handle: async (context) => rotate(context, await requireManaged(context)),
    }),
    personal.del("/self", {
      summary: "Revoke the token that authenticates the request",
      scopes: ANY_SCOPE,
      handle: async (context) => revoke(context, await findSelf(context)),
    }),
    personal.del("/:token_id", {
      summary: "Revoke a personal access token",
      input: ownId,
      handle: async (context) => {
        const { db, caller, input } = context;
        const { found, mayManage } = await findManaged(db, caller, input.token_id);
        if (!found) throw notFound();
        if (!mayManage) throw badRequest();
        return revoke(context, found);
      },
    }),
    post("/user/personal_access_tokens", {
      summary:
        "Create a personal access token that can only replace itself; only this response has its secret",
      input: {
        name: param.text(),
        description: param.clearable(param.anyText()),
        scopes: param.noted(param.arrayOf(param.choice(OWN_SCOPES)), { minItems: 1 }),
        expires_at: param.clearable(param.date()),
      },
      presenter: createdToken,
      handle: async (context) => {
        const { caller, input, now } = context;
        const expires_at = input.expires_at ?? dayOf(now + DAY);
        const latest = dayOf(now + MOST_DAYS * DAY);
        if (expires_at > latest) throw invalid({ expires_at: [`must be before ${latest}`] });
        const token = { ...input, expires_at, user_id: caller.id, impersonation: false };
        return rowWithSecret(context, await changes.createToken(context, token));
      },
    }),
    post("/users/:user_id/personal_access_tokens", {
      summary: "Create a personal access token for a user; only this response has its secret",
      access: "admin",
      input: newToken,
      presenter: createdToken,
      handle: (context) => create(context, false),
    }),
  ],
};

/** Impersonation tokens, for administrators. */
export const impersonationTokenResource: Resource = {
  name: "Impersonation tokens",
  migrations,
  routes: [
    impersonation.list("", {
      summary: "List the impersonation tokens of a user",
      access: "admin",
      scopes: USER_SCOPES,
      input: { ...userId, state: param.optional(param.choice(["all", "active", "inactive"])) },
      presenter: impersonationToken,
      handle: async (context) => {
        const { db, presenter, page, input, viewer } = context;
        const state = input.state === "all" ? undefined : input.state;
        const { id } = await requireUser(db, input.user_id);
        return tokens.list(db, presenter, page, {
          userId: id,
          impersonation: true,
          state,
          today: viewer.today,
        });
      },
    }),
    impersonation.get("/:token_id", {
      summary: "Get an impersonation token",
      access: "admin",
      scopes: USER_SCOPES,
      input: tokenId,
      presenter: impersonationToken,
      handle: async (context) =>
        tokens.row(context.db, context.presenter, (await findImpersonationToken(context)).id),
    }),
    impersonation.post("", {
      summary: "Create an impersonation token; only this response has its secret",
      access: "admin",
      input: newToken,
      presenter: createdImpersonationToken,
      handle: (context) => create(context, true),
    }),
    impersonation.del("/:token_id", {
      summary: "Revoke an impersonation token",
      access: "admin",
      input: tokenId,
      handle: async (context) => revoke(context, await findImpersonationToken(context)),
    }),
  ],
};
