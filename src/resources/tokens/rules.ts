import { SCOPES } from "../../core/auth.ts";
import { invalid } from "../../core/errors.ts";
import { dayOf } from "../../core/time.ts";

const DAY = 86_400_000;
/** How long a rotated token lasts, where its request says nothing and the one before had an end. */
const DAYS_AFTER_ROTATION = 7;

/**
 * Checks the scopes of a token that is made: at least one, each known.
 *
 * @throws ApiError 400
 */
export function requireScopes(scopes: readonly string[]): void {
  if (scopes.length === 0) throw invalid({ scopes: ["can't be blank"] });
  if (scopes.some((scope) => !(SCOPES as readonly string[]).includes(scope))) {
    throw invalid({ scopes: ["can only contain available scopes"] });
  }
}

/**
 * The day from which on a token is refused that takes the place of another: in a week, as GitLab has it; never, where
 * the other had no such day.
 *
 * @param today `YYYY-MM-DD`
 */
export function expiryAfterRotation(
  before: { expires_at: string | null },
  today: string,
): string | null {
  if (before.expires_at === null) return null;
  return dayOf(Date.parse(`${today}T00:00:00Z`) + DAYS_AFTER_ROTATION * DAY);
}
