import type * as audit from "../../audit/log.ts";
import type { Database } from "../../store/port.ts";
import { acceptInvitations } from "../members/invitations.ts";
import { changeUser, createUser } from "../users/changes.ts";
import * as users from "../users/queries.ts";
import * as emails from "./queries.ts";

/**
 * Creates a user, who becomes a member wherever their e-mail address was invited.
 *
 * @param user users without a `password_hash` cannot sign in
 * @returns the user's id
 * @throws ApiError 400 if the user name or address is malformed, 409 if it is taken
 */
export async function createAccount(
  db: Database,
  by: audit.Actor,
  user: users.NewUser,
  now: number,
): Promise<number> {
  const id = await createUser(db, by, user, now);
  await acceptInvitations(db, id, user.email, now);
  return id;
}

/**
 * Changes a user's account; with another e-mail address they become a member wherever that was invited.
 *
 * @throws ApiError 400 if the user name or address is malformed, 403 for the last administrator, 409 if it is taken
 */
export async function changeAccount(
  db: Database,
  by: audit.Actor,
  found: users.User,
  change: Parameters<typeof changeUser>[3],
  now: number,
): Promise<void> {
  await changeUser(db, by, found, change, now);
  const { email } = change;
  if (email === undefined || email.toLowerCase() === found.email.toLowerCase()) return;
  await emails.removeOwn(db, found.id, email);
  await emails.unchoose(db, found.id, found.email);
  await acceptInvitations(db, found.id, email, now);
}

/**
 * Makes an address its user's, who becomes a member wherever it was invited.
 *
 * @returns whether it is still free: it may have become somebody else's since it was added
 */
export async function confirmAddress(
  db: Database,
  { id, user_id: userId, email }: emails.Unconfirmed,
  now: number,
): Promise<boolean> {
  if (await users.isEmailTaken(db, email)) return false;
  await emails.setConfirmed(db, id, now);
  await acceptInvitations(db, userId, email, now);
  return true;
}
