import { SCOPES } from "../../core/auth.ts";
import { invalid } from "../../core/errors.ts";

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
