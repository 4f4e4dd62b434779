import { BlockedError } from "../../auth/authenticators/user-row.ts";
import { unavailable } from "../../core/errors.ts";
import {
  type Directory,
  type DirectoryEntry,
  ProviderError,
  type Told,
} from "../../core/providers.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
import { changeState } from "../users/changes.ts";
import * as identities from "../users/identities.ts";
import * as users from "../users/queries.ts";

/** How long it counts that a directory knows somebody, in milliseconds. */
const HOUR = 3_600_000;
/** After a directory did not answer, it is not asked again for so long, in milliseconds. */
const PAUSE = 10_000;
/** People who are remembered at once. */
const MOST_KNOWN = 10_000;

const byOf = ({ name }: Directory) => ({ id: null, name, ip: "" });

/**
 * Makes what is asked about each caller: whether the LDAP server that they come from still knows them. It asks the server at
 * most hourly for each of them; those who are gone are blocked.
 *
 * @returns throws BlockedError for somebody who is gone, ApiError 503 while the server does not answer
 */
export function standingIn(
  directories: readonly Directory[],
  store: Store,
  now: () => number,
): (userId: number) => Promise<void> {
  const until = new Map<number, number>();
  const asking = new Map<number, Promise<void>>();
  const away = new Map<Directory, number>();
  const remember = (userId: number, instant: number) => {
    until.delete(userId);
    until.set(userId, instant);
    const oldest = until.size > MOST_KNOWN ? until.keys().next().value : undefined;
    if (oldest !== undefined) until.delete(oldest);
  };
  const ask = async (userId: number): Promise<void> => {
    for (const { directory, uid, checkedAt } of await entriesOf(store, directories, userId)) {
      if (checkedAt > now() - HOUR) {
        remember(userId, checkedAt + HOUR);
        return;
      }
      if ((away.get(directory) ?? 0) > now()) throw unavailable();
      const isThere = await directory.isThere(uid).catch((error) => {
        if (!(error instanceof ProviderError)) throw error;
        away.set(directory, now() + PAUSE);
        throw unavailable();
      });
      if (!isThere) {
        await store.transaction((db) => leave(db, directory, userId, now()));
        throw new BlockedError("ldap_blocked");
      }
      await store.transaction((db) => identities.setChecked(db, userId, directory.name, now()), {
        shared: true,
      });
    }
    remember(userId, now() + HOUR);
  };
  return async (userId) => {
    // Tokens of groups and the like are no user's.
    if (userId === 0 || (until.get(userId) ?? 0) > now()) return;
    const asked = asking.get(userId) ?? ask(userId).finally(() => asking.delete(userId));
    asking.set(userId, asked);
    await asked;
  };
}

/** People of a directory who are looked up at once in the database. */
const AT_ONCE = 500;

/**
 * Asks directories about everybody who is active and was not asked about within the hour: those who are gone are blocked,
 * also if they do not use the server. A directory that does not answer is asked no further.
 */
export async function checkAll(
  directories: readonly Directory[],
  store: Store,
  now: () => number,
): Promise<void> {
  for (const directory of directories) {
    for (let last = 0; ; ) {
      const since = now() - HOUR;
      const asked = { last, since, most: AT_ONCE };
      const found = await identities.uncheckedAfter(store.reader(), directory.name, asked);
      try {
        for (const { user_id: userId, extern_uid: uid } of found) {
          last = userId;
          const isThere = await directory.isThere(uid);
          await store.transaction(
            (db) =>
              isThere
                ? identities.setChecked(db, userId, directory.name, now())
                : leave(db, directory, userId, now()),
            { shared: isThere },
          );
        }
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        break;
      }
      if (found.length < AT_ONCE) break;
    }
  }
}

/** A user's entries in directories, as they are known here. */
async function entriesOf(db: Reader, directories: readonly Directory[], userId: number) {
  const own = await identities.checksOf(db, userId);
  return directories.flatMap((directory) => {
    const found = own.find(({ provider }) => provider === directory.name);
    return found ? [{ directory, uid: found.extern_uid, checkedAt: found.checked_at ?? 0 }] : [];
  });
}

/** Blocks who is in a directory no more, unless somebody has blocked them already. */
async function leave(db: Database, directory: Directory, userId: number, now: number) {
  const found = await users.find(db, userId);
  if (found?.state !== "active") return;
  // The last administrator is let in no more than others, but stays one.
  if (found.admin === 1 && (await users.countAdmins(db)) === 1) return;
  await changeState(db, byOf(directory), found, "ldap_blocked", now);
}

/**
 * Notes that a directory knows somebody, who is no longer blocked because it did not.
 *
 * @returns their account as it is now
 */
export async function welcome(
  db: Database,
  directory: Directory,
  found: users.User,
  now: number,
): Promise<users.User> {
  await identities.setChecked(db, found.id, directory.name, now);
  if (found.state !== "ldap_blocked") return found;
  await changeState(db, byOf(directory), found, "active", now);
  return { ...found, state: "active" };
}

/**
 * Looks for somebody from another provider in directories. Nobody is looked for who is known to come from that provider.
 *
 * @param uid their id at that provider
 * @throws ProviderError if one of them can't be asked: somebody might get a second account
 */
export async function entryOf(
  db: Reader,
  directories: readonly Directory[],
  provider: string,
  uid: string,
): Promise<DirectoryEntry | undefined> {
  if ((await identities.findUser(db, { provider, extern_uid: uid })) !== undefined)
    return undefined;
  for (const directory of directories) {
    const told = await directory.find(uid);
    if (told) return { directory, told };
  }
  return undefined;
}

/**
 * What a directory has told about somebody, with what it called them before: an account here with their address, which
 * the directory no longer knows by its old name, is of somebody who has moved in it.
 *
 * @throws ProviderError if the server can't be asked
 */
export async function withFormerUid(db: Reader, directory: Directory, told: Told): Promise<Told> {
  const provider = directory.name;
  if (told.email === undefined) return told;
  if ((await identities.findUser(db, { provider, extern_uid: told.uid })) !== undefined)
    return told;
  const account = await users.findByEmail(db, told.email);
  const own = account ? await identities.ofUser(db, account.id) : [];
  const formerUid = own.find((one) => one.provider === provider)?.extern_uid;
  if (formerUid === undefined || (await directory.isThere(formerUid))) return told;
  return { ...told, formerUid };
}
