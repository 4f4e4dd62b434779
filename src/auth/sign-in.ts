import * as audit from "../audit/log.ts";
import { networkOf } from "../core/http/network.ts";
import type { PrepareContext } from "../core/resource.ts";
import { type Account, findByLogin } from "./credentials.ts";
import { verifyPassword } from "./passwords.ts";
import { isFamiliar } from "./sessions.ts";
import { type Allowance, attempt, refund, reset } from "./throttle.ts";
import { digestOf } from "./token-secrets.ts";

const WINDOW = 10 * 60_000;

/**
 * Checks a user name or e-mail address and a password, before the transaction opens. Attempts are counted per account and
 * per address first; an unknown account, or one without a password, takes as long as a wrong password.
 *
 * Addresses where the account is signed in are counted separately, so strangers can't lock its owner out there.
 *
 * @returns the user, whatever their state; `undefined` if name and password don't match
 * @throws ApiError 429 after too many failures, 503 if too many passwords are waiting to be checked
 */
export async function checkPassword(
  { store, request, signIns, now }: PrepareContext,
  login: string,
  password: string,
): Promise<Account | undefined> {
  const found = await findByLogin(store, login);
  const { ip } = request;
  const isKnownAddress = await isFamiliar(store, found?.id ?? null, ip, now);
  // An account is counted by its id, whichever of its names was typed. Other input may be a password: none is stored.
  const name = found ? `#${found.id}` : digestOf(login.toLowerCase());
  const account = `sign-in of ${name}${isKnownAddress ? ` from ${ip}` : ""}`;
  const address = `sign-in from ${networkOf(ip)}`;
  const counted: Allowance[] = [];
  const count = (key: string, max: number | false) => {
    if (max !== false) counted.push({ key, name: "sign_ins", max, window: WINDOW });
  };
  if (ip !== "") count(address, signIns.signInsPerAddress);
  count(account, signIns.signInsPerAccount);
  if (counted.length > 0) await attempt(store, counted, now);
  const isRight = await verifyPassword(password, found?.password_hash ?? null).catch(
    async (error) => {
      // The password was not checked.
      await store.transaction(
        async (db) => {
          for (const { key } of counted) await refund(db, key);
        },
        { shared: true },
      );
      throw error;
    },
  );
  await store.transaction(
    async (db) => {
      if (isRight) {
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
  return isRight ? found : undefined;
}
