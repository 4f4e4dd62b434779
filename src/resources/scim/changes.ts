import { randomUUID } from "node:crypto";
import * as audit from "../../audit/log.ts";
import { newSecret } from "../../auth/token-secrets.ts";
import { conflict } from "../../core/errors.ts";
import type { Attributes } from "../../scim/attributes.ts";
import { refused } from "../../scim/errors.ts";
import { areEqual } from "../../scim/patch.ts";
import { elementsIn } from "../../scim/values.ts";
import type { Reader } from "../../store/port.ts";
import { changeAccount, createAccount as register } from "../accounts/changes.ts";
import { addMember, changeMember, type MemberChange, removeFromGroup } from "../members/changes.ts";
import * as members from "../members/queries.ts";
import { freeUsername } from "../namespaces/free-names.ts";
import * as users from "../users/queries.ts";
import * as scim from "./queries.ts";

/** The context of a change to the users of a group's identity provider. */
export interface ScimChange extends MemberChange {
  /** The access level of new members. */
  accessLevel: number;
}

/** A new token's id and its secret, of which only a digest is stored. */
export interface CreatedToken {
  id: number;
  secret: string;
}

/** A group, as changes to its tokens need it. */
type Group = Pick<MemberChange["source"], "id" | "fullPath">;

/** Creates a SCIM token of a group. */
export async function createToken(
  context: audit.AuditContext,
  group: Group,
  token: Omit<scim.NewScimToken, "digest">,
): Promise<CreatedToken> {
  const { secret, digest } = newSecret("pmst");
  const id = await scim.insertToken(context.db, group.id, { ...token, digest }, context.now);
  await audit.log(context, "SCIM token made", { target: `${group.fullPath} (${token.name})` });
  return { id, secret };
}

/** Revokes a SCIM token for good, unless it already was; its record stays. */
export async function revokeToken(
  context: audit.AuditContext,
  group: Group,
  found: scim.ScimToken,
): Promise<void> {
  if (await scim.revokeToken(context.db, found.id, context.now)) {
    await audit.log(context, "SCIM token revoked", { target: `${group.fullPath} (${found.name})` });
  }
}

/**
 * Adds a user of the identity provider: an account is created, or joined if one has the e-mail address. If the user is
 * active, the account becomes a member of the group.
 *
 * @returns the id for clients
 * @throws ApiError 409 `uniqueness` if the group already has the user, 400 for an invalid e-mail address
 */
export async function addUser(change: ScimChange, given: Attributes): Promise<string> {
  const { db, source, now } = change;
  const attributes = withActive(given, true);
  const { userName, email } = namesOf(attributes);
  await requireFree(db, source.id, attributes, 0);
  const uid = randomUUID();
  const known = await users.findByEmail(db, email);
  if (known && (!users.isAccount(known) || (await scim.isUser(db, source.id, known.id)))) {
    throw taken("An e-mail address");
  }
  const userId = known?.id ?? (await createAccount(change, attributes, uid));
  const user = { uid, groupId: source.id, userId, isProvisioned: known === undefined };
  await scim.insert(db, user, attributes, now);
  await logChange(change, "SCIM user added", userId, userName);
  if (attributes.get("active") === true) await join(change, userId);
  return uid;
}

/**
 * Replaces the attributes of a user. Their account follows if it was created for them and has no part in anything else
 * since (docs/decisions/0021). Nothing is written if nothing changes.
 *
 * @throws ApiError 409 if a name or e-mail address is taken, or a group would be left without an owner; 400
 */
export async function changeUserTo(
  change: ScimChange,
  found: scim.ScimUser,
  given: Attributes,
): Promise<void> {
  const { db, source, now } = change;
  const before = found.attributes;
  const attributes = withActive(given, before.get("active") === true);
  if (areEqual(before, attributes)) return;
  await requireFree(db, source.id, attributes, found.id);
  await scim.update(db, source.id, found.id, attributes, now);
  const active = attributes.get("active") === true;
  const isSwitched = active !== (before.get("active") === true);
  if (isSwitched && active) await join(change, found.userId);
  if (isSwitched && !active) await removeFromGroup(change, found.userId);
  await followWithAccount(change, found, attributes);
  const action = isSwitched ? (active ? "reactivated" : "deactivated") : "changed";
  await logChange(change, `SCIM user ${action}`, found.userId, namesOf(attributes).userName);
}

/**
 * Removes a user of the identity provider, and their memberships of the group and below. The account stays.
 *
 * @throws ApiError 409 if a group would be left without an owner
 */
export async function removeUser(change: ScimChange, found: scim.ScimUser): Promise<void> {
  await removeFromGroup(change, found.userId);
  await unlink(change, found);
}

/** Forgets what the identity provider said about a user; the account and its memberships stay. */
export async function unlink(
  change: Pick<ScimChange, "db" | "source" | "by" | "now">,
  found: scim.ScimUser,
): Promise<void> {
  await scim.remove(change.db, found.id);
  await logChange(change, "SCIM user removed", found.userId, namesOf(found.attributes).userName);
}

/**
 * Changes the id that the identity provider has for a user.
 *
 * @throws ApiError 409 if another user has it
 */
export async function changeExternalId(
  change: Pick<ScimChange, "db" | "source" | "by" | "now">,
  found: scim.ScimUser,
  externalId: string,
): Promise<void> {
  const { db, source, now } = change;
  const { userName } = namesOf(found.attributes);
  if (await scim.taken(db, source.id, { userName, externalId }, found.id)) {
    throw conflict({ extern_uid: ["has already been taken"] });
  }
  await scim.setExternalId(db, found.id, externalId, now);
  await logChange(change, "SCIM user changed", found.userId, userName);
}

/** Whoever is not said to be inactive or active is as before. */
function withActive(given: Attributes, before: boolean): Attributes {
  return given.has("active") ? given : new Map([...given, ["active", before]]);
}

const taken = (what: string) =>
  refused("uniqueness", `${what} belongs to another user of the group.`);

async function requireFree(
  db: Reader,
  groupId: number,
  attributes: Attributes,
  exceptId: number,
): Promise<void> {
  const { userName } = namesOf(attributes);
  const externalId = textOf(attributes, "externalId");
  const found = await scim.taken(db, groupId, { userName, externalId }, exceptId);
  if (found) throw taken(`The ${found}`);
}

/** Makes an account a member of the group, unless it is one or inherits as much from a group above. */
async function join(change: ScimChange, userId: number): Promise<void> {
  const { db, source, accessLevel: access_level, today } = change;
  const found = await members.find(db, source, userId);
  if (found && (found.expires_at === null || found.expires_at > today)) return;
  const inherited = await members.inherited(db, source, userId, today);
  if (inherited && inherited.access_level >= access_level) return;
  if (found) await changeMember(change, found, { access_level, expires_at: null });
  else await addMember(change, userId, { access_level });
}

async function createAccount(
  { db, by, now }: ScimChange,
  attributes: Attributes,
  uid: string,
): Promise<number> {
  const { userName, name, email } = namesOf(attributes);
  const username = await freeUsername(db, userName, uid);
  return register(db, by, { username, name, email }, now);
}

/** Gives an account the name and e-mail address of its user where these have changed. The user name stays, as in GitLab. */
async function followWithAccount(
  { db, source, by, now }: ScimChange,
  found: scim.ScimUser,
  attributes: Attributes,
): Promise<void> {
  const [before, after] = [namesOf(found.attributes), namesOf(attributes)];
  const name = after.name === before.name ? undefined : after.name;
  const email = after.email === before.email ? undefined : after.email;
  if (!found.isProvisioned || (name === undefined && email === undefined)) return;
  if (await scim.belongsElsewhere(db, source.id, found.userId)) return;
  const account = await users.find(db, found.userId);
  if (!account) return;
  if (email !== undefined && (await users.isEmailTaken(db, email, account.id))) {
    throw refused("uniqueness", "The e-mail address belongs to another account.");
  }
  const changed = { name, email, username: undefined, admin: undefined };
  await changeAccount(db, by, account, changed, now);
}

/** Maximum characters of an account's name. */
const MAX_NAME = 255;

/** The names an account gets: its e-mail address is the primary one, else one for work, else the first, else `userName`. */
function namesOf(attributes: Attributes): { userName: string; name: string; email: string } {
  const userName = textOf(attributes, "userName") ?? "";
  const emails = elementsIn(attributes, { key: "emails" });
  const main =
    emails.find(({ primary }) => primary === true) ??
    emails.find(({ type }) => String(type).toLowerCase() === "work") ??
    emails[0];
  const parts = ["name.givenName", "name.familyName"].map((key) => textOf(attributes, key));
  const joined = parts.filter((part) => part !== undefined).join(" ");
  const name =
    textOf(attributes, "displayName") ??
    textOf(attributes, "name.formatted") ??
    (joined || userName);
  return {
    userName,
    name: [...name].slice(0, MAX_NAME).join(""),
    email: String(main?.["value"] ?? userName),
  };
}

function textOf(attributes: Attributes, key: string): string | undefined {
  const value = attributes.get(key);
  return typeof value === "string" ? value : undefined;
}

function logChange(
  change: Pick<ScimChange, "db" | "source" | "by" | "now">,
  action: audit.AuditAction & `SCIM user ${string}`,
  userId: number,
  userName: string,
): Promise<void> {
  return audit.log(change, action, { userId, target: `${change.source.fullPath} (${userName})` });
}
