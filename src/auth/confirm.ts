import type { Caller } from "../core/access/caller.ts";
import type { PrepareContext } from "../core/resource.ts";
import { passwordHash } from "./credentials.ts";
import { verifyPassword } from "./passwords.ts";
import { beginning } from "./sessions.ts";
import { attempt, reset } from "./throttle.ts";

/** How often a signed-in user may try their password or code, from any address. */
const ALLOWANCE = { max: 10, window: 10 * 60_000 };

/**
 * Checks that a signed-in user knows their password, before actions a stolen session must not do. Attempts are counted.
 *
 * @throws ApiError 429 after too many failures
 */
export async function confirmPassword(
  { store, caller, now }: PrepareContext<Caller>,
  password: string,
): Promise<boolean> {
  const key = `password of ${caller.id}`;
  await attempt(store, [{ ...ALLOWANCE, key }], now);
  const isRight = await verifyPassword(password, await passwordHash(store, caller.id));
  if (isRight) await store.transaction((db) => reset(db, key), { shared: true });
  return isRight;
}

/** For how long after signing in somebody without a password of this server has confirmed who they are. */
const RECENT = 10 * 60_000;

/**
 * {@link confirmPassword}; users without a password here, who sign in elsewhere, must have signed in a moment ago.
 *
 * @throws ApiError 429 after too many failures
 */
export async function confirmPerson(
  preparing: PrepareContext<Caller>,
  password: string,
): Promise<boolean> {
  const { store, caller, now } = preparing;
  if ((await passwordHash(store, caller.id)) !== null) return confirmPassword(preparing, password);
  if (caller.by.kind !== "session") return false;
  const began = await beginning(store, caller.by.id);
  return began !== undefined && began > now - RECENT;
}

/**
 * Counts an attempt at a user's second factor before it is made; a correct code resets {@link codeKey}.
 *
 * @throws ApiError 429 after too many failures
 */
export function countCode(
  { store, now }: Pick<PrepareContext, "store" | "now">,
  userId: number,
): Promise<void> {
  return attempt(store, [{ ...ALLOWANCE, key: codeKey(userId) }], now);
}

/** The key {@link countCode} counts under. */
export function codeKey(userId: number): string {
  return `two-factor of ${userId}`;
}
