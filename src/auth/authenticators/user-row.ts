import type { Caller, Proof } from "../../core/access/caller.ts";
import { ApiError } from "../../core/errors.ts";
import type { Scope } from "../../core/scopes.ts";

/** The columns of a user that {@link callerOf} needs, of the table's alias `u`. */
export const USER_COLUMNS = "u.id, u.username, u.admin, u.external, u.state";

/** A row of them. */
export interface UserRow {
  id: number;
  username: string;
  admin: number;
  external: number;
  state: string;
}

/** Signed-in users may do everything but act as others; so may CI jobs on routes that accept their tokens. */
export const SESSION_SCOPES: readonly Scope[] = ["api"];

/** What somebody whose account can't be used is told. @param state of the account; not `"active"` */
export function refusalOf(state: string): string {
  if (state === "deactivated") {
    return "Your account has been deactivated by your administrator. Please log back in from a web browser to reactivate your account.";
  }
  return state === "blocked_pending_approval"
    ? "Your account is pending approval from your administrator and hence blocked."
    : "Your account has been blocked.";
}

/** 403 for a user whose account can't be used. */
export class BlockedError extends ApiError {
  /** @param state of the account */
  constructor(state: string) {
    super(403, { message: `403 Forbidden - ${refusalOf(state)}` });
  }
}

/**
 * The caller whose credential was found.
 *
 * @throws BlockedError for a user who is not active
 */
export function callerOf(row: UserRow, scopes: readonly string[], by: Proof): Caller {
  if (row.state !== "active") throw new BlockedError(row.state);
  // Not spread: spreading a row takes longer than finding it.
  const { id, username, admin, external } = row;
  return { id, username, admin: admin === 1, external: external === 1, scopes, by };
}
