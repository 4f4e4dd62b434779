import * as audit from "../audit/log.ts";
import { unavailable } from "../core/errors.ts";
import { networkOf } from "../core/http/network.ts";
import { type Directory, ProviderError, type Told } from "../core/providers.ts";
import type { PrepareContext } from "../core/resource.ts";
import { type Account, findByIdentity, findByLogin, providersOf } from "./credentials.ts";
import { verifyPassword } from "./passwords.ts";
import { isFamiliar } from "./sessions.ts";
import { type Allowance, attempt, refund, reset } from "./throttle.ts";
import { digestOf } from "./token-secrets.ts";

const WINDOW = 10 * 60_000;

/**
 * Checks a user name or e-mail address and a password, before the transaction opens. Attempts are counted per account and
 * per address first; an unknown account, or one without a password, takes as long as a wrong password. A user whose
 * password is not one of this server may have one of an LDAP server, if they have signed in with it before.
 *
 * Addresses where the account is signed in are counted separately, so strangers can't lock its owner out there.
 *
 * @param asksDirectories whether passwords of LDAP servers count, which have a form of their own
 * @returns the user, whatever their state; `undefined` if name and password don't match
 * @throws ApiError 429 after too many failures, 503 if too many passwords are waiting to be checked, or an LDAP server does
 *   not answer
 */
export async function checkPassword(
  preparing: PrepareContext,
  login: string,
  password: string,
  { asksDirectories = true }: { asksDirectories?: boolean } = {},
): Promise<Account | undefined> {
  const found = await findByLogin(preparing.store, login);
  // An account is counted by its id, whichever of its names was typed.
  const account = found ? `#${found.id}` : digestOf(login.toLowerCase());
  return counted(preparing, { account, found }, async () => {
    if (await verifyPassword(password, found?.password_hash ?? null)) return found;
    return asksDirectories ? inDirectories(preparing, found, login, password) : undefined;
  });
}

/**
 * Checks a name and a password at an LDAP server, before the transaction opens. Attempts are counted like those of
 * {@link checkPassword}.
 *
 * @returns who it is; `undefined` if name and password don't match
 * @throws ApiError 429 after too many failures; ProviderError if the server can't be asked
 */
export function checkInDirectory(
  preparing: PrepareContext,
  directory: Directory,
  login: string,
  password: string,
): Promise<Told | undefined> {
  const account = digestOf(`${directory.name} ${login.toLowerCase()}`);
  return counted(preparing, { account, found: undefined }, () => directory.signIn(login, password));
}

/** The account of somebody whom an LDAP server knows, as GitLab looks for it: of names that only it may know. */
async function inDirectories(
  { store, providers }: PrepareContext,
  found: Account | undefined,
  login: string,
  password: string,
): Promise<Account | undefined> {
  const { directories } = providers;
  if (directories.length === 0) return undefined;
  const known = found && (await providersOf(store, found.id));
  for (const directory of directories) {
    if (known && !known.includes(directory.name)) continue;
    const told = await directory.signInAgain(login, password).catch((error) => {
      throw error instanceof ProviderError ? unavailable() : error;
    });
    if (told) return findByIdentity(store, directory.name, told.uid);
  }
  return undefined;
}

/** Counts an attempt before it is made, and forgets it unless it fails. */
async function counted<T>(
  { store, request, signIns, now }: PrepareContext,
  { account: name, found }: { account: string; found: Account | undefined },
  check: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const { ip } = request;
  const isKnownAddress = await isFamiliar(store, found?.id ?? null, ip, now);
  // Input that is no account's name may be a password: none is stored.
  const account = `sign-in of ${name}${isKnownAddress ? ` from ${ip}` : ""}`;
  const address = `sign-in from ${networkOf(ip)}`;
  const allowances: Allowance[] = [];
  const count = (key: string, max: number | false) => {
    if (max !== false) allowances.push({ key, name: "sign_ins", max, window: WINDOW });
  };
  if (ip !== "") count(address, signIns.signInsPerAddress);
  count(account, signIns.signInsPerAccount);
  if (allowances.length > 0) await attempt(store, allowances, now);
  const checked = await check().catch(async (error) => {
    // The password was not checked.
    await store.transaction(
      async (db) => {
        for (const { key } of allowances) await refund(db, key);
      },
      { shared: true },
    );
    throw error;
  });
  await store.transaction(
    async (db) => {
      if (checked !== undefined) {
        // In the order of counting, so that two sign-ins cannot deadlock.
        await refund(db, address);
        await reset(db, account);
      } else {
        // The name that was typed may be a password.
        const by = { id: found?.id ?? null, name: found?.username ?? "unknown", ip };
        await audit.log({ db, by, now }, "sign-in failed");
      }
    },
    { shared: true },
  );
  return checked;
}
