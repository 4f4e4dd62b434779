import type { PrepareContext } from "../core/resource.ts";
import * as users from "../resources/users/queries.ts";
import { verifyPassword } from "./passwords.ts";
import { attempt, reset } from "./throttle.ts";

/** How often a signed-in user may try their password or code, from any address. */
const ALLOWANCE = { max: 10, window: 10 * 60_000 };

/**
 * Checks that a signed-in user knows their password, before actions a stolen session must not do. Attempts are counted.
 *
 * @throws ApiError 429 after too many failures
 */
export async function confirmPassword(
  { store, caller, now }: PrepareContext,
  password: string,
): Promise<boolean> {
  const userId = caller?.id ?? 0;
  const key = `password of ${userId}`;
  await attempt(store, [{ ...ALLOWANCE, key }], now);
  const fits = await verifyPassword(password, await users.passwordHash(store, userId));
  if (fits) await store.transaction((db) => reset(db, key), { shared: true });
  return fits;
}

/**
 * Counts an attempt at a user's second factor before it is made; a correct code resets {@link codeKey}.
 *
 * @throws ApiError 429 after too many failures
 */
export function countCode({ store, now }: PrepareContext, userId: number): Promise<void> {
  return attempt(store, [{ ...ALLOWANCE, key: codeKey(userId) }], now);
}

/** The key {@link countCode} counts under. */
export function codeKey(userId: number): string {
  return `two-factor of ${userId}`;
}
