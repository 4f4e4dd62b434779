import { ROLES } from "../../core/access/roles.ts";
import { badRequest, notFound, unauthorized } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import {
  type Context,
  type Resource,
  type Route,
  routes,
  type SourceKind,
} from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import type { Reader, Value } from "../../store/port.ts";
import { addMember, changeOf, removeMember } from "../members/changes.ts";
import * as members from "../members/queries.ts";
import * as bots from "./bots.ts";
import * as changes from "./changes.ts";
import { tokenFilter, tokenListInput } from "./filters.ts";
import { secretField, tokenFields } from "./json.ts";
import type { Token } from "./queries.ts";
import { expiryAfterRotation, requireScopes } from "./rules.ts";

const fields = {
  ...tokenFields,
  access_level: field.integer("m.access_level"),
  resource_type: field.text("case when rb.project_id is null then 'group' else 'project' end"),
  resource_id: field.integer("coalesce(rb.project_id, rb.namespace_id)"),
};
const token = presenter(fields);
const createdToken = presenter({ ...fields, token: secretField });

const id = { token_id: param.recordId() };

/** As in GitLab, those who may not manage tokens get 401 where they read. @throws ApiError 401 */
function requireManager({ source, mayCall }: Pick<Context, "source" | "mayCall">): void {
  if (!mayCall(`POST /${source.kind}s/:id/access_tokens`, source)) throw unauthorized();
}

async function findToken({
  db,
  source,
  input,
}: Pick<Context, "source"> & { db: Reader; input: { token_id: number } }): Promise<Token> {
  const found = await bots.find(db, source, input.token_id);
  if (!found) throw notFound();
  return found;
}

/** The row of a new token, with its secret. */
async function rowWithSecret(
  { db, presenter }: Pick<Context, "presenter"> & { db: Reader },
  { id, secret }: changes.CreatedToken,
): Promise<Value[]> {
  const row = await bots.row(db, presenter, id);
  row[presenter.at("token")] = JSON.stringify(secret);
  return row;
}

function routesOf(source: SourceKind): Route[] {
  const { del, get, list, post } = routes({ source, path: "/access_tokens" });
  const role = source === "group" ? "owner" : "maintainer";
  return [
    list("", {
      summary: `List the access tokens of a ${source}`,
      input: tokenListInput,
      presenter: token,
      handle: (context) => {
        const { db, presenter, page, source, input, viewer } = context;
        requireManager(context);
        return bots.list(db, presenter, page, source, tokenFilter(input, viewer.today));
      },
    }),
    get("/:token_id", {
      summary: "Get an access token",
      input: id,
      presenter: token,
      handle: async (context) => {
        requireManager(context);
        return bots.row(context.db, context.presenter, (await findToken(context)).id);
      },
    }),
    post("", {
      summary: "Create an access token: a user that is a member; only this response has its secret",
      role,
      input: {
        name: param.text(),
        description: param.clearable(param.anyText()),
        scopes: param.noted(param.commaSeparated(), { minLength: 1 }),
        access_level: param.optional(param.integer()),
        expires_at: param.clearable(param.date()),
      },
      presenter: createdToken,
      handle: async (context) => {
        const { source, input, view } = context;
        const { name, description, scopes, expires_at, access_level = ROLES.maintainer } = input;
        requireScopes(scopes);
        const change = changeOf(context);
        const user_id = await bots.create(change, source, name, view.host);
        await addMember(change, user_id, { access_level });
        const values = { user_id, name, description, scopes, impersonation: false, expires_at };
        return rowWithSecret(context, await changes.createToken(change, values));
      },
    }),
    post("/:token_id/rotate", {
      summary: "Rotate an access token; only this response has the new secret",
      role,
      input: { ...id, expires_at: param.optional(param.date()) },
      status: 200,
      presenter: createdToken,
      onRevoked: changes.revokeReused,
      handle: async (context) => {
        const { input, now } = context;
        const found = await findToken(context);
        const expiresAt = input.expires_at ?? expiryAfterRotation(found, dayOf(now));
        const created = await changes.rotateToken(changeOf(context), found, expiresAt);
        if (!created) throw badRequest("Token already revoked");
        return rowWithSecret(context, created);
      },
    }),
    del("/:token_id", {
      summary: "Revoke an access token: its user is no longer a member",
      role,
      input: id,
      handle: async (context) => {
        const { db, source, requireUnmodified } = context;
        const found = await findToken(context);
        requireUnmodified(found.updated_at);
        const change = changeOf(context);
        await changes.revokeToken(change, found);
        const membership = await members.find(db, source, found.user_id);
        if (membership) await removeMember(change, membership);
        return undefined;
      },
    }),
  ];
}

/** Access tokens of groups and projects. */
export const accessTokenResource: Resource = {
  name: "Group and project access tokens",
  migrations: [],
  routes: [...routesOf("group"), ...routesOf("project")],
};
