import * as audit from "../audit/log.ts";
import type { SealedColumn } from "../core/sealed.ts";
import { placeholders } from "../store/placeholders.ts";
import type { Database, Reader, Value } from "../store/port.ts";

/** The purpose a user's second factor is encrypted for; it can't be decrypted for another one. */
export const purposeOf = (userId: number) => `two_factor ${userId}`;

/** Where the secrets of second factors are. */
export const TWO_FACTOR_SECRETS: SealedColumn = {
  table: "two_factor",
  id: "user_id",
  column: "secret",
  purpose: "'two_factor ' || user_id",
  wasPlain: true,
};

/** The names of some users, sorted. */
export async function usernamesOf(db: Reader, ids: readonly Value[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const among = placeholders(ids);
  const found = await db.rows(
    `select username from users where id in (${among.sql}) order by username`,
    among.values,
  );
  return found.map(([username]) => String(username));
}

/** Disables two-factor sign-in for a user whose secret can't be read. */
export async function removeSecondFactor(
  db: Database,
  userId: number,
  by: audit.Actor,
  now: number,
): Promise<void> {
  await db.run("delete from recovery_codes where user_id = ?", [userId]);
  await db.run("delete from two_factor where user_id = ?", [userId]);
  await audit.log({ db, by, now }, "two-factor disabled", { userId });
}
