import * as audit from "../../audit/log.ts";
import * as credentials from "../../auth/credentials.ts";
import type { UserState } from "../../core/access/caller.ts";
import { conflict, forbidden } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { requireFullPath } from "../../core/paths.ts";
import { recordUser } from "../../hooks/records.ts";
import { queueLetter } from "../../jobs/mails.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as settings from "../application-settings/queries.ts";
import * as namespaces from "../namespaces/queries.ts";
import * as users from "./queries.ts";
import { remove } from "./removal.ts";
import { requireFree } from "./rules.ts";

/** Required parameters of a new user. */
export const newUserInput = { email: param.text(), name: param.text(), username: param.text() };

/** Changeable parameters of a user's account. */
export const userInput = {
  email: param.optional(param.text()),
  name: param.optional(param.text()),
  username: param.optional(param.text()),
  admin: param.optional(param.boolean()),
};

/**
 * Creates a user. What is not given is as the settings of the application say.
 *
 * @param user users without a `password_hash` cannot sign in
 * @returns the user's id
 * @throws ApiError 400 if the user name or address is malformed, 409 if it is taken
 */
export async function createUser(
  db: Database,
  by: audit.Actor,
  user: users.NewUser,
  now: number,
): Promise<number> {
  await requireFree(db, user);
  const defaults = await settings.find(db);
  const {
    external = defaults.user_default_external === 1,
    projects_limit = defaults.default_projects_limit,
    can_create_group = defaults.can_create_group === 1,
  } = user;
  const id = await users.insert(db, { ...user, external, projects_limit, can_create_group }, now);
  await audit.log({ db, by, now }, "user created", { userId: id });
  if (user.admin) await audit.log({ db, by, now }, "administrator added", { userId: id });
  await recordUser({ db, now }, "create", { id, userId: by.id });
  return id;
}

/**
 * Changes a user's account, and renames their personal namespace with it.
 *
 * @throws ApiError 400 if the user name or address is malformed, 403 for the last administrator, 409 if it is taken
 */
export async function changeUser(
  db: Database,
  by: audit.Actor,
  found: users.User,
  { email, name, username, admin }: Partial<param.Input<typeof userInput>>,
  now: number,
): Promise<void> {
  await requireFree(db, { email, username }, found);
  if (admin === false) await requireAnotherAdmin(db, found);
  const flag = admin === undefined ? undefined : Number(admin);
  await updateRow(db, "users", found.id, { email, name, username, admin: flag }, now);
  if (flag !== undefined && flag !== found.admin) {
    const action = admin ? "administrator added" : "administrator removed";
    await audit.log({ db, by, now }, action, { userId: found.id });
  }
  if (username !== undefined && username !== found.username) {
    const about = { userId: found.id, target: `from ${found.username}` };
    await audit.log({ db, by, now }, "user renamed", about);
    const old = { old_username: found.username };
    await recordUser({ db, now }, "rename", { id: found.id, userId: by.id }, old);
  }
  await renamePersonal(db, found, { username, name }, now);
}

/** Changes a user's password, which ends their sessions. @param hash of the new password */
export async function changePassword(
  db: Database,
  by: audit.Actor,
  found: users.User,
  hash: string,
  now: number,
): Promise<void> {
  await credentials.setPassword(db, found.id, hash, now);
  await audit.log({ db, by, now }, "password changed", { userId: found.id });
}

/** What the audit log says of an account that leaves a state for being active. */
const LEFT: Readonly<Partial<Record<users.User["state"], audit.AuditAction>>> = {
  blocked: "user unblocked",
  deactivated: "user activated",
  banned: "user unbanned",
  blocked_pending_approval: "user approved",
  ldap_blocked: "user unblocked",
};

/** What the audit log says of an account that gets into a state. */
const ENTERED: Readonly<Record<Exclude<UserState, "active">, audit.AuditAction>> = {
  blocked: "user blocked",
  deactivated: "user deactivated",
  banned: "user banned",
  blocked_pending_approval: "user blocked",
  ldap_blocked: "user blocked",
};

/** Changes whether an account can be used. @throws ApiError 403 for the last administrator */
export async function changeState(
  db: Database,
  by: audit.Actor,
  found: users.User,
  state: UserState,
  now: number,
): Promise<void> {
  if (state !== "active") await requireAnotherAdmin(db, found);
  await users.setState(db, found, state, now);
  const action = state === "active" ? LEFT[found.state] : ENTERED[state];
  if (action) await audit.log({ db, by, now }, action, { userId: found.id });
  if (found.state === "blocked_pending_approval" && state === "active") {
    await queueLetter(db, { signUpApproved: found.id }, now);
  }
}

/** Makes a deactivated user active, because they sign in. Others stay as they are. */
export async function reactivate(
  db: Database,
  by: audit.Actor,
  userId: number,
  now: number,
): Promise<void> {
  const found = await users.find(db, userId);
  if (found?.state === "deactivated") await changeState(db, by, found, "active", now);
}

/** Deletes a user whose account waits for approval. @throws ApiError 409 for another user */
export async function rejectUser(
  db: Database,
  by: audit.Actor,
  found: users.User,
  now: number,
): Promise<void> {
  if (found.state !== "blocked_pending_approval") {
    throw conflict("This user does not have a pending request");
  }
  await audit.log({ db, by, now }, "user rejected", { userId: found.id, target: found.username });
  await deleteUser(db, by, found, now);
}

/**
 * Deletes a user with their personal projects; the ghost user gets their other contributions.
 *
 * @returns whether it was done at once; otherwise a worker does it
 * @throws ApiError 403 for the last administrator
 */
export async function deleteUser(
  db: Database,
  by: audit.Actor,
  found: users.User,
  now: number,
): Promise<boolean> {
  await requireAnotherAdmin(db, found);
  await audit.log({ db, by, now }, "user deleted", { userId: found.id, target: found.username });
  await recordUser({ db, now }, "destroy", { id: found.id, userId: by.id });
  return remove(db, found.id, now);
}

async function requireAnotherAdmin(db: Reader, found: users.User): Promise<void> {
  const counts = found.admin === 1 && found.state === "active";
  if (counts && (await users.countAdmins(db)) === 1) {
    throw forbidden("The last administrator cannot be removed.");
  }
}

/** Renames a user's personal namespace with them. */
async function renamePersonal(
  db: Database,
  before: users.User,
  after: { username: string | undefined; name: string | undefined },
  now: number,
): Promise<void> {
  const namespace = await namespaces.findPersonal(db, before.id);
  if (!namespace || (after.username === undefined && after.name === undefined)) return;
  const path = after.username ?? namespace.path;
  const name = after.name ?? namespace.name;
  await updateRow(db, "namespaces", namespace.id, { path, name }, now);
  await namespaces.renameBelow(db, namespace.id, namespace, { full_path: path, full_name: name });
  requireFullPath(await namespaces.longestPath(db, namespace.id), "username");
}
