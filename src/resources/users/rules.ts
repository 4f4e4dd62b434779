import type { Viewer } from "../../core/access/visibility.ts";
import { conflict, forbidden, invalid, notFound, requireAll } from "../../core/errors.ts";
import { requirePath } from "../../core/paths.ts";
import type { Reader } from "../../store/port.ts";
import * as namespaces from "../namespaces/queries.ts";
import * as users from "./queries.ts";

/** A user by id. @throws ApiError 404 */
export async function requireUser(db: Reader, userId: number): Promise<users.User> {
  const found = await users.find(db, userId);
  if (!found) throw notFound("User");
  return found;
}

/** A user whose account is to be changed. As in GitLab, the ghost user and placeholders cannot be. @throws ApiError 404, 403 */
export async function requireChangeable(db: Reader, userId: number): Promise<users.User> {
  const found = await requireUser(db, userId);
  if (!users.isAccount(found)) throw forbidden();
  return found;
}

/** The user that a path names: by id if it is all digits, otherwise by user name. @throws ApiError 404 */
export async function requireUserNamed(db: Reader, idOrName: string): Promise<users.User> {
  const found = /^\d{1,15}$/.test(idOrName)
    ? await users.find(db, Number(idOrName))
    : await users.findByUsername(db, idOrName);
  if (!found) throw notFound("User");
  return found;
}

/** Whether a text has the form of an e-mail address. */
export function isAddress(text: string): boolean {
  return /^[^\s@]+@[^\s@]+$/.test(text);
}

/**
 * Checks the user name and e-mail address of a new or changed user.
 *
 * @param except the changed user, whose current values are allowed
 * @param options `isSeeded`: whether it is a user of a seed, who may be called `admin`
 * @throws ApiError 400 if one is malformed, 409 if one is taken
 */
export async function requireFree(
  db: Reader,
  user: { username?: string | undefined; email?: string | undefined },
  except?: users.User,
  { isSeeded = false } = {},
): Promise<void> {
  const { email } = user;
  const isOwn = user.username?.toLowerCase() === except?.username.toLowerCase();
  const username = isOwn ? undefined : user.username;
  requireAll(
    () => {
      if (email !== undefined && !isAddress(email)) throw invalid({ email: ["is invalid"] });
    },
    () => {
      if (username !== undefined && !(isSeeded && username === "admin")) {
        requirePath(username, { attribute: "username", top: true });
      }
    },
  );
  if (email !== undefined && (await users.isEmailTaken(db, email, except?.id))) {
    throw conflict("Email has already been taken");
  }
  if (username !== undefined && (await namespaces.isTaken(db, username))) {
    throw conflict("Username has already been taken");
  }
}

/**
 * Whether a profile hides its creation date and its user's activity from the caller. Nothing is hidden from that user
 * and administrators.
 */
export function isHidden(
  { id, private_profile }: Pick<users.User, "id" | "private_profile">,
  { caller }: Viewer,
): boolean {
  return private_profile === 1 && id !== caller?.id && caller?.admin !== true;
}
