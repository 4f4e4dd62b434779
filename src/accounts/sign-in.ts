import { verifyPassword } from "../core/passwords.ts";
import type { Preparing } from "../core/resource.ts";
import * as users from "../resources/users/queries.ts";
import { attempt, forgive } from "./attempts.ts";
import { record } from "./audit.ts";

const WINDOW = 10 * 60_000;
const TRIES_PER_ACCOUNT = 10;
const TRIES_PER_ADDRESS = 100;

/**
 * Checks a user name, or e-mail address, and a password, before the transaction opens. Tries are counted per account
 * and per address first; an account that does not exist, or has no password, takes as long as a wrong password.
 *
 * @returns the user, whatever their state; `undefined` where name and password don't fit
 * @throws ApiError 429 after too many failures
 */
export async function checkPassword(
  { store, asked, now }: Preparing,
  login: string,
  password: string,
): Promise<users.User | undefined> {
  const account = { key: `sign-in of ${login.toLowerCase()}`, most: TRIES_PER_ACCOUNT };
  const address = { key: `sign-in from ${asked.ip}`, most: TRIES_PER_ADDRESS };
  const counted = asked.ip === "" ? [account] : [account, address];
  await attempt(
    store,
    counted.map((allowance) => ({ ...allowance, window: WINDOW })),
    now,
  );
  const found = await users.findByLogin(store, login);
  const fits = await verifyPassword(password, found?.password_hash ?? null);
  await store.transaction(async (db) => {
    if (fits) {
      await forgive(db, account.key);
    } else {
      const author = { id: found?.id ?? null, name: found?.username ?? login };
      await record(db, { action: "sign-in failed", author, ip: asked.ip }, now);
    }
  });
  return fits ? found : undefined;
}
