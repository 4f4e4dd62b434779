import { invalid } from "../../core/errors.ts";
import { SCOPES } from "../../core/scopes.ts";
import { DAY, dayOf } from "../../core/time.ts";

/** Days for which the tokens work at most that users make for themselves by the API or a command. */
export const MOST_DAYS = 365;
/** The lifetime of a rotated token, if the request names no date and the previous token had one. */
const DAYS_AFTER_ROTATION = 7;

/**
 * Checks the scopes of a new token: at least one, all of them known.
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
 * The default expiry date of a rotated token: in a week, as in GitLab, or none if the previous token had none.
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
