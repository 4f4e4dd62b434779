import * as audit from "../../audit/log.ts";
import { invalid, notFound } from "../../core/errors.ts";
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
import { DEPLOY_SCOPES } from "../../core/scopes.ts";
import type { Reader } from "../../store/port.ts";
import * as tokens from "./queries.ts";
import { migrations } from "./table.ts";

const fields = {
  id: field.integer("dt.id"),
  name: field.text("dt.name"),
  username: field.text("coalesce(dt.username, 'gitlab+deploy-token-' || dt.id)"),
  expires_at: field.instant("dt.expires_at"),
  scopes: field.derived(["dt.scopes"], "array of string", ([scopes]) => String(scopes).split(" ")),
  // A token that is revoked is removed.
  revoked: field.constant(false),
  expired: field.derived(
    ["dt.expires_at"],
    "boolean",
    ([expires], { now }) => expires !== null && Number(expires) <= now,
  ),
};
const deployToken = presenter(fields);
const createdToken = presenter({ ...fields, token: field.embedded("token", "string", "null") });

const id = { token_id: param.recordId() };
const filter = { active: param.optional(param.boolean()) };

/** @throws ApiError 404 */
async function findOne({
  db,
  source,
  input,
}: Pick<Context, "source"> & {
  db: Reader;
  input: { token_id: number };
}): Promise<tokens.DeployToken> {
  const found = await tokens.find(db, source, input.token_id);
  if (!found) throw notFound();
  return found;
}

const targetOf = ({ source }: Pick<Context, "source">, name: string) => ({
  target: `${name} of ${source.fullPath}`,
});

function routesOf(kind: SourceKind): Route[] {
  const { del, get, list, post } = routes({ source: kind, path: "/deploy_tokens" });
  const changing = kind === "group" ? "owner" : "maintainer";
  return [
    list("", {
      summary: `List the deploy tokens of a ${kind}`,
      role: "maintainer",
      input: filter,
      presenter: deployToken,
      handle: ({ db, presenter: shown, page, source, input, now }) =>
        tokens.list(db, shown, page, source, input.active, now),
    }),
    get("/:token_id", {
      summary: "Get a deploy token",
      role: "maintainer",
      input: id,
      presenter: deployToken,
      handle: async (context) =>
        tokens.row(context.db, context.presenter, (await findOne(context)).id),
    }),
    post("", {
      summary: "Create a deploy token; only this response has its secret",
      role: changing,
      input: {
        name: param.text(),
        scopes: param.noted(param.arrayOf(param.choice(DEPLOY_SCOPES)), { minItems: 1 }),
        username: param.clearable(param.text()),
        expires_at: param.clearable(param.instant()),
      },
      presenter: createdToken,
      handle: async (context) => {
        const { db, source, input, presenter: shown, now } = context;
        const { username, scopes } = input;
        if (username && !/^[\w.+-]+$/.test(username)) {
          const rule = "can contain only letters, digits, '_', '-', '+', and '.'";
          throw invalid({ username: [rule] });
        }
        if (scopes.length === 0) throw invalid({ scopes: ["can't be blank"] });
        const values = { ...input, scopes: [...new Set(scopes)] };
        const created = await tokens.insert(db, source, values, now);
        await audit.log(context, "deploy token made", targetOf(context, input.name));
        const row = await tokens.row(db, shown, created.id);
        row[shown.at("token")] = JSON.stringify(created.secret);
        return row;
      },
    }),
    del("/:token_id", {
      summary: "Revoke a deploy token: it stops working, and is gone",
      role: changing,
      input: id,
      handle: async (context) => {
        const found = await findOne(context);
        context.requireUnmodified(found.updated_at);
        await tokens.remove(context.db, found.id);
        await audit.log(context, "deploy token removed", targetOf(context, found.name));
        return undefined;
      },
    }),
  ];
}

const { list: listAll } = routes({ path: "/deploy_tokens" });

/** Deploy tokens: credentials of groups and projects for Git and packages, which belong to no user. */
export const deployTokenResource: Resource = {
  name: "Deploy tokens",
  migrations,
  routes: [
    listAll("", {
      summary: "List all deploy tokens",
      access: "admin",
      input: filter,
      presenter: deployToken,
      handle: ({ db, presenter: shown, page, input, now }) =>
        tokens.list(db, shown, page, undefined, input.active, now),
    }),
    ...routesOf("group"),
    ...routesOf("project"),
  ],
};
