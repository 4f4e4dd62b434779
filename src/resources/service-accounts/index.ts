import { randomBytes } from "node:crypto";
import { actorOf } from "../../audit/log.ts";
import type { Caller } from "../../core/access/caller.ts";
import type { Source } from "../../core/access/source.ts";
import { ApiError, badRequest, conflict, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { unsupportedFlag } from "../../core/kept.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, type Route, routes } from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import * as tokenChanges from "../tokens/changes.ts";
import { tokenFilter, tokenListInput } from "../tokens/filters.ts";
import { secretField, tokenFields } from "../tokens/json.ts";
import * as tokens from "../tokens/queries.ts";
import { expiryAfterRotation } from "../tokens/rules.ts";
import { changeUser, createUser, deleteUser } from "../users/changes.ts";
import * as users from "../users/queries.ts";
import * as accounts from "./queries.ts";
import { migrations } from "./table.ts";

const account = presenter({
  id: field.integer("u.id"),
  name: field.text("u.name"),
  username: field.text("u.username"),
  email: field.text("u.email"),
});
const token = presenter(tokenFields);
const createdToken = presenter({ ...tokenFields, token: secretField });

/** Service accounts that a group or project has at most. */
const MOST = 100;

const changeable = {
  name: param.optional(param.text()),
  username: param.optional(param.text()),
  email: param.optional(param.text()),
};
const order = {
  order_by: param.optional(param.choice(["id", "username"])),
  sort: param.optional(param.choice(["asc", "desc"])),
};
const userId = { user_id: param.recordId() };
const tokenId = { ...userId, token_id: param.recordId() };

type In = Pick<Context, "request" | "now" | "presenter" | "view"> & {
  db: Database;
  caller: Caller;
};

const listed = (
  {
    db,
    presenter,
    page,
    input,
  }: Pick<Context, "presenter" | "page"> & {
    db: Reader;
    input: param.Input<typeof order>;
  },
  place: accounts.Place,
) => {
  const { order_by: orderBy = "id", sort = "desc" } = input;
  return accounts.list(db, presenter, page, place, { orderBy, sort });
};

/** What is refused with 409 elsewhere is 400 here, as in GitLab. */
async function orBadRequest<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== conflict().status) throw error;
    throw badRequest(String((error.body as { message: unknown }).message));
  }
}

async function create(
  context: In & { input: param.Input<typeof changeable> },
  place: accounts.Place,
): Promise<Value[]> {
  const { db, input, presenter, view, now } = context;
  const by = actorOf(context);
  if (place && (await accounts.count(db, place)) >= MOST) {
    throw badRequest("No more seats are available to create Service Account User");
  }
  const where = place ? `${place.kind}_${place.id}_` : "";
  const username = input.username ?? `service_account_${where}${randomBytes(16).toString("hex")}`;
  const user = {
    username,
    name: input.name ?? "Service account user",
    email: input.email ?? `${username}@noreply.${new URL(view.base).hostname}`,
    // As the users of access tokens: it works where it is a member.
    projects_limit: 0,
    can_create_group: false,
  };
  const id = await orBadRequest(createUser(db, by, user, now));
  await accounts.insert(db, place, id, by.id);
  return (await users.row(db, presenter, id)) as Value[];
}

/** A service account of a place. @throws ApiError 404 */
async function accountOf(db: Reader, place: accounts.Place, id: number): Promise<users.User> {
  const found = (await accounts.isOf(db, place, id)) ? await users.find(db, id) : undefined;
  if (!found) throw notFound("User");
  return found;
}

async function change(
  context: In & { input: param.Input<typeof changeable> & { user_id: number } },
  place: accounts.Place,
): Promise<Value[]> {
  const { db, input, presenter, now } = context;
  const found = await accountOf(db, place, input.user_id);
  const { name, username, email } = input;
  const account = { name, username, email, admin: undefined };
  await orBadRequest(changeUser(db, actorOf(context), found, account, now));
  return (await users.row(db, presenter, found.id)) as Value[];
}

/** A token of a service account. @throws ApiError 404 */
async function tokenOf(
  { db, input }: { db: Reader; input: { user_id: number; token_id: number } },
  place: Source,
): Promise<tokens.Token> {
  const { id } = await accountOf(db, place, input.user_id);
  const found = await tokens.find(db, input.token_id);
  if (found?.user_id !== id || found.impersonation === 1) throw notFound("Personal Access Token");
  return found;
}

/** The row of a new token, with its secret. */
async function rowWithSecret(
  { db, presenter }: Pick<In, "db" | "presenter">,
  { id, secret }: tokenChanges.CreatedToken,
): Promise<Value[]> {
  const row = await tokens.row(db, presenter, id);
  row[presenter.at("token")] = JSON.stringify(secret);
  return row;
}

const instance = routes({ path: "/service_accounts" });

function routesOf(kind: "group" | "project"): Route[] {
  const { del, list, patch, post } = routes({ source: kind, path: "/service_accounts" });
  const role = kind === "group" ? "owner" : "maintainer";
  const requireTopmost = ({ fullPath }: Source) => {
    if (kind === "group" && fullPath.includes("/")) {
      throw badRequest("Service accounts belong to topmost groups");
    }
  };
  return [
    list("", {
      summary: `List the service accounts of a ${kind}`,
      role,
      input: order,
      presenter: account,
      handle: (context) => listed(context, context.source),
    }),
    post("", {
      summary: `Create a service account of a ${kind}`,
      role,
      concurrency: "alone",
      input: changeable,
      presenter: account,
      handle: (context) => {
        requireTopmost(context.source);
        return create(context, context.source);
      },
    }),
    patch("/:user_id", {
      summary: `Change a service account of a ${kind}`,
      role,
      concurrency: "alone",
      input: { ...userId, ...changeable },
      presenter: account,
      handle: (context) => change(context, context.source),
    }),
    del("/:user_id", {
      summary: `Delete a service account of a ${kind}; the ghost user gets what it wrote`,
      role,
      concurrency: "alone",
      input: { ...userId, hard_delete: unsupportedFlag() },
      handle: async (context) => {
        const { db, source, input, now } = context;
        const found = await accountOf(db, source, input.user_id);
        context.requireUnmodified(found.updated_at);
        await deleteUser(db, actorOf(context), found, now);
        return undefined;
      },
    }),
    list("/:user_id/personal_access_tokens", {
      summary: `List the access tokens of a service account of a ${kind}`,
      role,
      input: { ...userId, ...tokenListInput },
      presenter: token,
      handle: async ({ db, presenter, page, source, input, viewer }) => {
        const { id } = await accountOf(db, source, input.user_id);
        const filter = tokenFilter(input, viewer.today);
        return tokens.list(db, presenter, page, { ...filter, userId: id, impersonation: false });
      },
    }),
    post("/:user_id/personal_access_tokens", {
      summary: `Create an access token of a service account of a ${kind}; only this response has its secret`,
      role,
      concurrency: "alone",
      input: {
        ...userId,
        name: param.text(),
        description: param.clearable(param.anyText()),
        scopes: param.noted(param.commaSeparated(), { minLength: 1 }),
        expires_at: param.clearable(param.date()),
      },
      presenter: createdToken,
      handle: async (context) => {
        const { db, source, input, now } = context;
        const { id: user_id } = await accountOf(db, source, input.user_id);
        const { name, description, scopes, expires_at } = input;
        const values = { user_id, name, description, scopes, impersonation: false, expires_at };
        const change = { db, by: actorOf(context), now };
        return rowWithSecret(context, await tokenChanges.createToken(change, values));
      },
    }),
    post("/:user_id/personal_access_tokens/:token_id/rotate", {
      summary: `Rotate an access token of a service account of a ${kind}; only this response has the new secret`,
      role,
      concurrency: "alone",
      input: { ...tokenId, expires_at: param.optional(param.date()) },
      status: 200,
      presenter: createdToken,
      onRevoked: tokenChanges.revokeReused,
      handle: async (context) => {
        const { db, source, input, now } = context;
        const found = await tokenOf(context, source);
        const expiresAt = input.expires_at ?? expiryAfterRotation(found, dayOf(now));
        const change = { db, by: actorOf(context), now };
        const created = await tokenChanges.rotateToken(change, found, expiresAt);
        if (!created) throw badRequest("Token already revoked");
        return rowWithSecret(context, created);
      },
    }),
    del("/:user_id/personal_access_tokens/:token_id", {
      summary: `Revoke an access token of a service account of a ${kind}`,
      role,
      concurrency: "alone",
      input: tokenId,
      handle: async (context) => {
        const { db, source, now } = context;
        const found = await tokenOf(context, source);
        context.requireUnmodified(found.updated_at);
        await tokenChanges.revokeToken({ db, by: actorOf(context), now }, found);
        return undefined;
      },
    }),
  ];
}

/** Users that programs are, of the instance, of groups and of projects. */
export const serviceAccountResource: Resource = {
  name: "Service accounts",
  migrations,
  routes: [
    instance.list("", {
      summary: "List all service accounts",
      access: "admin",
      input: order,
      presenter: account,
      handle: (context) => listed(context, undefined),
    }),
    instance.post("", {
      summary: "Create a service account of the instance",
      access: "admin",
      input: changeable,
      presenter: account,
      handle: (context) => create(context, undefined),
    }),
    instance.patch("/:user_id", {
      summary: "Change a service account",
      access: "admin",
      input: { ...userId, ...changeable },
      presenter: account,
      handle: (context) => change(context, undefined),
    }),
    ...routesOf("group"),
    ...routesOf("project"),
  ],
};
