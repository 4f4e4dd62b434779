import * as audit from "../../audit/log.ts";
import type { Caller } from "../../core/access/caller.ts";
import { invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, Json, type Resource, routes } from "../../core/resource.ts";
import { USER_SCOPES } from "../../core/scopes.ts";
import { readPublicKey } from "../../signatures/openpgp.ts";
import type { Database, Reader } from "../../store/port.ts";
import { requireUser } from "../users/rules.ts";
import * as keys from "./queries.ts";
import { migrations } from "./table.ts";

const gpgKey = presenter({
  id: field.integer("gk.id"),
  key: field.text("gk.key"),
  created_at: field.instant("gk.created_at"),
});

const BEGIN = "-----BEGIN PGP PUBLIC KEY BLOCK-----";
const END = "-----END PGP PUBLIC KEY BLOCK-----";

/** Keys that a user has at most. */
const MOST_KEYS = 100;

const newKey = { key: param.anyText({ max: 100_000 }) };
const keyId = { gpg_key_id: param.recordId() };
const userId = { user_id: param.recordId() };

type Changing = Pick<Context, "now" | "request"> & { db: Database; caller: Caller };

/** A user's key by its id. @throws ApiError 404 */
async function keyOf(db: Reader, ownerId: number, id: number): Promise<keys.Key> {
  const found = await keys.find(db, id);
  if (found?.user_id !== ownerId) throw notFound("GPG Key");
  return found;
}

/** Adds a key. @throws ApiError 400, worded as in GitLab, if it is none, or somebody has it already */
async function addKey(
  context: Changing & { presenter: Context["presenter"]; input: param.Input<typeof newKey> },
  ownerId: number,
) {
  const { db, input, presenter, now } = context;
  const text = input.key.trim();
  const [first, last] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (first !== 0 || last !== text.length - END.length || text.lastIndexOf(BEGIN) > 0) {
    throw invalid({
      key: [
        ...(text === "" ? ["can't be blank"] : []),
        `is invalid. A valid public GPG key begins with '${BEGIN}' and ends with '${END}'`,
      ],
    });
  }
  const key = readPublicKey(text);
  const refused = (problem: string) =>
    invalid({ fingerprint: [problem], primary_keyid: [problem] });
  if (!key) throw refused("can't be blank");
  const same = await keys.findSame(db, key);
  if (same?.key === text) throw invalid({ key: ["has already been taken"] });
  if (same) throw refused("has already been taken");
  if ((await keys.count(db, ownerId)) >= MOST_KEYS) {
    throw invalid({ key: [`is one too many: a user has at most ${MOST_KEYS}`] });
  }
  const id = await keys.insert(db, ownerId, text, key, now);
  await audit.log(context, "GPG key added", { userId: ownerId, target: key.keyId });
  return keys.row(db, presenter, id);
}

async function removeKey(
  context: Changing & Pick<Context, "requireUnmodified">,
  ownerId: number,
  id: number,
) {
  const found = await keyOf(context.db, ownerId, id);
  context.requireUnmodified(found.updated_at);
  await keys.remove(context.db, found, context.now);
  const about = { userId: ownerId, target: found.primary_keyid };
  await audit.log(context, "GPG key removed", about);
  return undefined;
}

async function revokeKey(context: Changing, ownerId: number, id: number) {
  const found = await keyOf(context.db, ownerId, id);
  await keys.revoke(context.db, found.id);
  const about = { userId: ownerId, target: found.primary_keyid };
  await audit.log(context, "GPG key revoked", about);
  return ACCEPTED;
}

const ACCEPTED = new Json({ message: "202 Accepted" });
const revoking = { status: 202, examples: [{ message: "202 Accepted" }] };

const own = routes({ path: "/user/gpg_keys" });
const ofUser = routes({ path: "/users/:user_id/gpg_keys" });

/** GPG keys of users, by which signatures of commits and tags are verified. */
export const gpgKeyResource: Resource = {
  name: "GPG keys",
  migrations,
  routes: [
    own.list("", {
      summary: "List the caller's GPG keys",
      scopes: USER_SCOPES,
      presenter: gpgKey,
      handle: ({ db, presenter, page, caller }) => keys.listOfUser(db, presenter, page, caller.id),
    }),
    own.get("/:gpg_key_id", {
      summary: "Get a GPG key of the caller",
      scopes: USER_SCOPES,
      input: keyId,
      presenter: gpgKey,
      handle: async ({ db, presenter, caller, input }) => {
        const { id } = await keyOf(db, caller.id, input.gpg_key_id);
        return keys.row(db, presenter, id);
      },
    }),
    own.post("", {
      summary: "Add a GPG key of the caller",
      input: newKey,
      presenter: gpgKey,
      handle: (context) => addKey(context, context.caller.id),
    }),
    own.post("/:gpg_key_id/revoke", {
      summary: "Revoke a GPG key of the caller: what it has signed is no longer verified",
      ...revoking,
      input: keyId,
      handle: (context) => revokeKey(context, context.caller.id, context.input.gpg_key_id),
    }),
    own.del("/:gpg_key_id", {
      summary: "Remove a GPG key of the caller: what it has signed so far stays verified",
      input: keyId,
      handle: (context) => removeKey(context, context.caller.id, context.input.gpg_key_id),
    }),
    ofUser.list("", {
      summary: "List the GPG keys of a user",
      access: "anyone",
      scopes: USER_SCOPES,
      input: userId,
      presenter: gpgKey,
      handle: async ({ db, presenter, page, input }) => {
        const { id } = await requireUser(db, input.user_id);
        return keys.listOfUser(db, presenter, page, id);
      },
    }),
    ofUser.get("/:gpg_key_id", {
      summary: "Get a GPG key of a user",
      access: "anyone",
      scopes: USER_SCOPES,
      input: { ...userId, ...keyId },
      presenter: gpgKey,
      handle: async ({ db, presenter, input }) => {
        const user = await requireUser(db, input.user_id);
        const { id } = await keyOf(db, user.id, input.gpg_key_id);
        return keys.row(db, presenter, id);
      },
    }),
    ofUser.post("", {
      summary: "Add a GPG key of a user",
      access: "admin",
      input: { ...userId, ...newKey },
      presenter: gpgKey,
      handle: async (context) => {
        const { id } = await requireUser(context.db, context.input.user_id);
        return addKey(context, id);
      },
    }),
    ofUser.post("/:gpg_key_id/revoke", {
      summary: "Revoke a GPG key of a user: what it has signed is no longer verified",
      access: "admin",
      ...revoking,
      input: { ...userId, ...keyId },
      handle: async (context) => {
        const { id } = await requireUser(context.db, context.input.user_id);
        return revokeKey(context, id, context.input.gpg_key_id);
      },
    }),
    ofUser.del("/:gpg_key_id", {
      summary: "Remove a GPG key of a user: what it has signed so far stays verified",
      access: "admin",
      input: { ...userId, ...keyId },
      handle: async (context) => {
        const { id } = await requireUser(context.db, context.input.user_id);
        return removeKey(context, id, context.input.gpg_key_id);
      },
    }),
  ],
};
