import { newSecret } from "../../core/auth.ts";
import { notFound } from "../../core/errors.ts";
import * as is from "../../core/input.ts";
import * as show from "../../core/present.ts";
import { del, get, post, type Resource, under } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import * as users from "../users/queries.ts";
import { tokenFields } from "./json.ts";
import * as tokens from "./queries.ts";
import { requireScopes } from "./rules.ts";
import { migrations } from "./table.ts";

const token = show.shape(tokenFields);

/** The only answer that has the secret. */
const createdToken = show.shape({
  ...tokenFields,
  token: show.embedded("token", "string", "null"),
});

const userId = { user_id: is.recordId() };
const tokenId = { ...userId, token_id: is.recordId() };

async function findUser({ db, input }: { db: Reader; input: { user_id: number } }) {
  const found = await users.find(db, input.user_id);
  if (!found) throw notFound("User");
  return found;
}

async function findToken(context: { db: Reader; input: { user_id: number; token_id: number } }) {
  const user = await findUser(context);
  const found = await tokens.find(context.db, context.input.token_id);
  if (!found || found.user_id !== user.id || found.impersonation !== 1) {
    throw notFound("Impersonation Token");
  }
  return found;
}

/** Impersonation tokens, for administrators: contract §5, gitlab-facts §9. */
export const tokenResource: Resource = {
  name: "Impersonation tokens",
  migrations,
  routes: under("/users/:user_id/impersonation_tokens", [
    get("", {
      summary: "List the impersonation tokens of a user",
      access: "admin",
      input: { ...userId, state: is.optional(is.choice(["all", "active", "inactive"])) },
      present: token,
      handle: async (context) => {
        const { db, shape, page, input, viewer } = context;
        const state = input.state === "all" ? undefined : input.state;
        const { id } = await findUser(context);
        return tokens.list(db, shape, page, {
          userId: id,
          impersonation: true,
          state,
          today: viewer.today,
        });
      },
    }),
    get("/:token_id", {
      summary: "Get an impersonation token",
      access: "admin",
      input: tokenId,
      present: token,
      handle: async (context) =>
        tokens.row(context.db, context.shape, (await findToken(context)).id),
    }),
    post("", {
      summary: "Create an impersonation token; only this answer has its secret",
      access: "admin",
      input: {
        ...userId,
        name: is.text(),
        scopes: is.optional(is.commaSeparated()),
        expires_at: is.clearable(is.date()),
      },
      present: createdToken,
      handle: async (context) => {
        const { db, shape, input, now } = context;
        const user = await findUser(context);
        const scopes = input.scopes ?? [];
        requireScopes(scopes);
        const { secret, digest } = newSecret();
        const id = await tokens.insert(
          db,
          {
            user_id: user.id,
            name: input.name,
            digest,
            scopes,
            impersonation: true,
            expires_at: input.expires_at,
          },
          now,
        );
        const row = await tokens.row(db, shape, id);
        row[shape.at("token")] = JSON.stringify(secret);
        return row;
      },
    }),
    del("/:token_id", {
      summary: "Revoke an impersonation token",
      access: "admin",
      input: tokenId,
      handle: async (context) => {
        const found = await findToken(context);
        context.requireUnmodified(found.updated_at);
        await tokens.revoke(context.db, found.id, context.now);
        return undefined;
      },
    }),
  ]),
};
