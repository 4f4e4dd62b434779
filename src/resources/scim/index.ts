import { actorOf } from "../../audit/log.ts";
import type { Caller } from "../../core/access/caller.ts";
import { ROLES } from "../../core/access/roles.ts";
import { notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import type { Database, Reader } from "../../store/port.ts";
import { secretField } from "../tokens/json.ts";
import { provisionedUser } from "../users/json.ts";
import * as changes from "./changes.ts";
import { scimPath } from "./mount.ts";
import * as scim from "./queries.ts";
import { migrations } from "./table.ts";

const tokenFields = {
  id: field.integer("st.id"),
  name: field.text("st.name"),
  access_level: field.integer("st.access_level"),
  revoked: field.flag("st.revoked"),
  active: field.derived(
    ["st.revoked", "st.expires_at"],
    "boolean",
    ([revoked, expires], { now }) =>
      revoked === 0 && (expires === null || String(expires) > dayOf(now)),
  ),
  created_at: field.instant("st.created_at"),
  last_used_at: field.instant("st.last_used_at"),
  expires_at: field.date("st.expires_at"),
  scim_url: field.url("n.full_path", scimPath),
};
const token = presenter(tokenFields);
const createdToken = presenter({ ...tokenFields, token: secretField });

const identity = presenter({
  id: field.text("su.uid"),
  extern_uid: field.text("su.external_id"),
  user_id: field.integer("su.user_id"),
  active: field.flag("su.active"),
});

const uid = { uid: param.anyText() };
const shared = { tier: "premium", role: "owner" } as const;

async function findIdentity({
  db,
  source,
  input,
}: Pick<Context, "source"> & { db: Reader; input: { uid: string } }) {
  const found = await scim.findByAnyId(db, source.id, input.uid);
  if (!found) throw notFound();
  return found;
}

const changeOf = (
  context: Pick<Context, "source" | "now" | "request"> & { db: Database; caller: Caller },
) => ({ db: context.db, source: context.source, by: actorOf(context), now: context.now });

const tokens = routes({ source: "group", path: "/scim_tokens" });
const identities = routes({ source: "group", path: "/scim" });

/** The SCIM tokens of groups, and the accounts of their identity providers, for owners. */
export const scimResource: Resource = {
  name: "SCIM tokens and identities",
  migrations,
  routes: [
    routes({ source: "group" }).list("/provisioned_users", {
      tier: "premium",
      summary: "List the users that the identity provider of a group has made",
      role: "owner",
      input: {
        username: param.optional(param.text()),
        search: param.optional(param.anyText()),
        active: param.optional(param.boolean()),
        blocked: param.optional(param.boolean()),
        created_after: param.optional(param.looseInstant()),
        created_before: param.optional(param.looseInstant()),
      },
      presenter: provisionedUser,
      handle: ({ db, presenter, page, source, viewer, input }) =>
        scim.listProvisioned(db, presenter, page, source.id, viewer, input),
    }),
    tokens.list("", {
      ...shared,
      summary: "List the SCIM tokens of a group",
      presenter: token,
      handle: ({ db, presenter, page, source }) => scim.listTokens(db, presenter, page, source.id),
    }),
    tokens.post("", {
      ...shared,
      summary:
        "Create a SCIM token, with the access level of the people it adds; only this answer has its secret",
      input: {
        name: param.text(),
        access_level: param.optional(param.accessLevel()),
        expires_at: param.clearable(param.date()),
      },
      presenter: createdToken,
      handle: async (context) => {
        const { db, source, input, presenter } = context;
        const { name, access_level = "guest", expires_at } = input;
        const values = { name, access_level: ROLES[access_level], expires_at };
        const { id, secret } = await changes.createToken(context, source, values);
        const row = await scim.tokenRow(db, presenter, id);
        row[presenter.at("token")] = JSON.stringify(secret);
        return row;
      },
    }),
    tokens.del("/:scim_token_id", {
      ...shared,
      summary: "Revoke a SCIM token",
      input: { scim_token_id: param.recordId() },
      handle: async (context) => {
        const { db, source, input } = context;
        const found = await scim.findToken(db, source.id, input.scim_token_id);
        if (!found) throw notFound();
        context.requireUnmodified(found.updated_at);
        await changes.revokeToken(context, source, found);
        return undefined;
      },
    }),
    identities.list("/identities", {
      ...shared,
      summary: "List the accounts of a group's identity provider",
      presenter: identity,
      handle: ({ db, presenter, page, source }) =>
        scim.listIdentities(db, presenter, page, source.id),
    }),
    identities.get("/:uid", {
      ...shared,
      summary: "Get an account of a group's identity provider, by either id",
      input: uid,
      presenter: identity,
      handle: async (context) =>
        scim.identityRow(context.db, context.presenter, (await findIdentity(context)).id),
    }),
    identities.patch("/:uid", {
      ...shared,
      summary: "Change the id that the identity provider has for an account",
      input: { ...uid, extern_uid: param.text() },
      presenter: identity,
      handle: async (context) => {
        const found = await findIdentity(context);
        await changes.changeExternalId(changeOf(context), found, context.input.extern_uid);
        return scim.identityRow(context.db, context.presenter, found.id);
      },
    }),
    identities.del("/:uid", {
      ...shared,
      summary: "Unlink an account from a group's identity provider; its memberships stay",
      input: uid,
      handle: async (context) => {
        const found = await findIdentity(context);
        context.requireUnmodified(Number(found.attributes.get("meta.lastModified")));
        await changes.unlink(changeOf(context), found);
        return undefined;
      },
    }),
  ],
};
