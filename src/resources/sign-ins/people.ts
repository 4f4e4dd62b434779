import { randomUUID } from "node:crypto";
import type * as audit from "../../audit/log.ts";
import type { DirectoryEntry, ProviderRules, Told } from "../../core/providers.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { createAccount } from "../accounts/changes.ts";
import { setIdentity } from "../accounts/identities.ts";
import { freeUsername } from "../namespaces/free-names.ts";
import * as scim from "../scim/queries.ts";
import { changeUser } from "../users/changes.ts";
import * as identities from "../users/identities.ts";
import * as users from "../users/queries.ts";
import { isAddress } from "../users/rules.ts";
import { welcome } from "./directories.ts";

/** Why nobody is signed in. */
export type Refusal =
  /** They are in none of the required groups. */
  | "groups"
  /** They have no account here, and get none. */
  | "unknown";

/** Somebody who has signed in at a provider. */
interface SigningIn {
  readonly db: Database;
  readonly rules: ProviderRules;
  readonly told: Told;
  /** Who they are in a directory, if it has the provider's id of them. */
  readonly entry?: DirectoryEntry | undefined;
  /** The client's address. */
  readonly ip: string;
  readonly now: number;
}

/**
 * Finds the account of somebody who has signed in at a provider, or makes it, in GitLab's order: by their identity; by the
 * `externalId` of SCIM; by an address that the provider has verified; by their identity in a directory; else they get one, if the
 * provider may make any, or as the directory's if they are in one. Then their groups at the provider say whether they are administrators or external.
 *
 * @returns the account, in whatever state, or why there is none
 */
export async function personOf(signingIn: SigningIn): Promise<users.User | Refusal> {
  const { db, rules, told } = signingIn;
  if (!isAdmitted(rules, told)) return "groups";
  const { entry } = signingIn;
  const found = (await known(signingIn)) ?? (await newcomer(signingIn));
  if (!found) return "unknown";
  const inDirectory = entry && { ...signingIn, rules: entry.directory, told: entry.told };
  if (inDirectory && (await link(inDirectory, found))) {
    await welcome(db, entry.directory, found, signingIn.now);
  }
  await applyGroups(signingIn, found);
  return (await users.find(db, found.id)) as users.User;
}

/**
 * Gives somebody who is signed in here the identity with which they have signed in at a provider.
 *
 * @returns whether they have it: nobody else does, and it is their only one there
 */
export async function link(signingIn: SigningIn, user: users.User): Promise<boolean> {
  const { db, rules, told } = signingIn;
  if (!isAdmitted(rules, told)) return false;
  const identity = { provider: rules.name, extern_uid: told.uid };
  const owner = await identities.findUser(db, identity);
  if (owner !== undefined) return owner === user.id;
  if (await hasOther(db, user.id, rules)) return false;
  await setIdentity(db, actorOf(signingIn), user.id, identity, signingIn.now);
  return true;
}

const isIn = (told: Told, groups: readonly string[]) =>
  told.groups?.some((group) => groups.includes(group)) ?? false;

/** Whether somebody is in a required group. Groups that could not be told count as none. */
const isAdmitted = ({ requiredGroups }: ProviderRules, told: Told) =>
  requiredGroups.length === 0 || isIn(told, requiredGroups);

const actorOf = ({ rules, ip }: SigningIn): audit.Actor => ({ id: null, name: rules.name, ip });

async function hasOther(db: Reader, userId: number, { name }: ProviderRules): Promise<boolean> {
  return (await identities.ofUser(db, userId)).some(({ provider }) => provider === name);
}

async function known(signingIn: SigningIn): Promise<users.User | undefined> {
  const { db, rules, told, now } = signingIn;
  const identity = { provider: rules.name, extern_uid: told.uid };
  const owner = (await identities.findUser(db, identity)) ?? (await moved(signingIn));
  if (owner !== undefined) return users.find(db, owner);
  const userId =
    (await provisioned(signingIn)) ?? (await byAddress(signingIn)) ?? (await byEntry(signingIn));
  const found = userId === undefined ? undefined : await users.find(db, userId);
  // Who they are at the provider is already said: it is somebody else.
  if (!found || (await hasOther(db, found.id, rules))) return undefined;
  await setIdentity(db, actorOf(signingIn), found.id, identity, now);
  return found;
}

/** The account of who was called otherwise before: the identity follows them. */
async function moved(signingIn: SigningIn): Promise<number | undefined> {
  const { db, rules, told, now } = signingIn;
  if (told.formerUid === undefined) return undefined;
  const former = { provider: rules.name, extern_uid: told.formerUid };
  const owner = await identities.findUser(db, former);
  if (owner === undefined) return undefined;
  const identity = { ...former, extern_uid: told.uid };
  await setIdentity(db, actorOf(signingIn), owner, identity, now);
  return owner;
}

/** Their account, if it was made by the SCIM of the group that the provider belongs to. */
async function provisioned({ db, rules, told }: SigningIn): Promise<number | undefined> {
  const { scimGroup } = rules;
  return scimGroup === undefined ? undefined : scim.provisionedAccount(db, scimGroup, told.uid);
}

/** No person has these accounts: nobody signs in to them. */
const NO_PERSON = `select 1 from resource_bots where user_id = ?
  union all select 1 from service_accounts where user_id = ?`;

/**
 * The account with their address. Whoever may say at a provider which address is theirs would get it, so only an address
 * counts that the provider has verified and is trusted for; and never is it that of an administrator, or one that a group's
 * identity provider has said is somebody's.
 */
async function byAddress({ db, rules, told }: SigningIn): Promise<number | undefined> {
  const { email, mayLinkByEmail } = told;
  if (!rules.autoLinkUser || !mayLinkByEmail || email === undefined) return undefined;
  const found = await users.findByEmail(db, email);
  if (!found || found.admin === 1 || !users.isAccount(found)) return undefined;
  if (await scim.isProvisioned(db, found.id)) return undefined;
  const isPerson = (await db.rows(NO_PERSON, [found.id, found.id])).length === 0;
  return isPerson ? found.id : undefined;
}

/** Whose account it is that somebody has by a directory. */
async function ownerOf(db: Reader, { directory, told }: DirectoryEntry) {
  return identities.findUser(db, { provider: directory.name, extern_uid: told.uid });
}

/** The account of who is in a directory; never an administrator's, since the provider alone says who it is. */
async function byEntry({ db, entry }: SigningIn): Promise<number | undefined> {
  const owner = entry && (await ownerOf(db, entry));
  const found = owner === undefined ? undefined : await users.find(db, owner);
  return found?.admin === 1 ? undefined : found?.id;
}

/** Characters of an e-mail address (RFC 5321). */
const MOST_ADDRESS = 254;

/** Makes an account for who has none, if the provider may; not if their address, or their place in a directory, is another account's. */
async function newcomer(signingIn: SigningIn): Promise<users.User | undefined> {
  const { db, entry, now } = signingIn;
  if (entry && (await ownerOf(db, entry)) !== undefined) return undefined;
  // People in a directory get what it gives to its people.
  const rules = entry?.directory ?? signingIn.rules;
  const told = entry?.told ?? signingIn.told;
  if (!rules.allowSingleSignOn) return undefined;
  const by = actorOf(signingIn);
  const wanted = told.username ?? told.email ?? rules.name;
  const username = await freeUsername(db, wanted, told.uid.replace(/[^a-zA-Z0-9]/g, ""));
  const { email: said = "", isEmailVerified } = told;
  const isOurs = isEmailVerified && said.length <= MOST_ADDRESS && isAddress(said);
  // What anybody may have written there is no address of theirs: invitations to it are not for them.
  const placeholder = `temp-email-for-oauth-${username}-${randomUUID().slice(0, 8)}@gitlab.localhost`;
  const email = isOurs ? said : placeholder;
  // Answered like everybody without an account, so that nobody learns which addresses have one.
  if (await users.isEmailTaken(db, email)) return undefined;
  const id = await createAccount(
    db,
    by,
    {
      ...{ username, email, name: [...(told.name ?? username)].slice(0, 255).join("") },
      ...(rules.external && { external: true }),
      state: rules.blockAutoCreatedUsers ? "blocked_pending_approval" : "active",
    },
    now,
  );
  const identity = { provider: signingIn.rules.name, extern_uid: signingIn.told.uid };
  await setIdentity(db, by, id, identity, now);
  return users.find(db, id);
}

/** Makes somebody an administrator or external, or takes it away, by their groups at the provider. */
async function applyGroups(signingIn: SigningIn, found: users.User): Promise<void> {
  const { db, rules, told, now } = signingIn;
  if (told.groups === undefined) return;
  const by = actorOf(signingIn);
  if (rules.adminGroups.length > 0) {
    const admin = isIn(told, rules.adminGroups);
    const isLast = !admin && found.admin === 1 && (await users.countAdmins(db)) === 1;
    if (admin !== (found.admin === 1) && !isLast) {
      const unchanged = { email: undefined, name: undefined, username: undefined };
      await changeUser(db, by, found, { ...unchanged, admin }, now);
    }
  }
  if (rules.externalGroups.length > 0) {
    const external = Number(isIn(told, rules.externalGroups));
    await updateRow(db, "users", found.id, { external }, now);
  }
}
