import { digestOf } from "../core/auth.ts";
import { verifyPassword } from "../core/passwords.ts";
import type { Preparing } from "../core/resource.ts";
import * as users from "../resources/users/queries.ts";
import { type Allowance, attempt, forgive, networkOf, takeBack } from "./attempts.ts";
import { record } from "./audit.ts";
import { isFamiliar } from "./sessions.ts";

const WINDOW = 10 * 60_000;

/**
 * Checks a user name, or e-mail address, and a password, before the transaction opens. Tries are counted per account
 * and per address first; an account that does not exist, or has no password, takes as long as a wrong password.
 *
 * An address where the account is signed in is counted by itself: strangers who try passwords lock out nobody there.
 *
 * @returns the user, whatever their state; `undefined` where name and password don't fit
 * @throws ApiError 429 after too many failures, 503 where too many passwords wait to be checked
 */
export async function checkPassword(
  { store, asked, signIns, now }: Preparing,
  login: string,
  password: string,
): Promise<users.User | undefined> {
  const found = await users.findByLogin(store, login);
  const { ip } = asked;
  const familiar = await isFamiliar(store, found?.id ?? 0, ip, now);
  // An account is counted by its id, whichever of its names is typed. Other texts may be passwords: none is kept.
  const name = found ? `#${found.id}` : digestOf(login.toLowerCase());
  const account = `sign-in of ${name}${familiar ? ` from ${ip}` : ""}`;
  const address = `sign-in from ${networkOf(ip)}`;
  const counted: Allowance[] = [];
  const count = (key: string, most: number | false) => {
    if (most !== false) counted.push({ key, name: "sign_ins", most, window: WINDOW });
  };
  if (ip !== "") count(address, signIns.signInsPerAddress);
  count(account, signIns.signInsPerAccount);
  if (counted.length > 0) await attempt(store, counted, now);
  const fits = await verifyPassword(password, found?.password_hash ?? null).catch(async (error) => {
    // It was not tried.
    await store.transaction(async (db) => {
      for (const { key } of counted) await takeBack(db, key);
    });
    throw error;
  });
  await store.transaction(async (db) => {
    if (fits) {
      await forgive(db, account);
      await takeBack(db, address);
    } else {
      // People type their password where the name belongs.
      const author = { id: found?.id ?? null, name: found?.username ?? "unknown" };
      await record(db, { action: "sign-in failed", author, ip }, now);
    }
  });
  return fits ? found : undefined;
}
