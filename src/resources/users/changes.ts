import { type Actor, type AuditAction, record } from "../../audit/log.ts";
import { forbidden } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { requireFullPath } from "../../core/paths.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
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

function audit(db: Database, by: Actor, action: AuditAction, userId: number, now: number) {
  return record(db, { action, author: by, userId, ip: by.ip }, now);
}

/**
 * Creates a user.
 *
 * @param user users without a `password_hash` cannot sign in
 * @returns the user's id
 * @throws ApiError 400 if the user name or address is malformed, 409 if it is taken
 */
export async function createUser(
  db: Database,
  by: Actor,
  user: users.NewUser,
  now: number,
): Promise<number> {
  await requireFree(db, user);
  const id = await users.insert(db, user, now);
  await audit(db, by, "user created", id, now);
  if (user.admin) await audit(db, by, "administrator added", id, now);
  return id;
}

/**
 * Changes a user's account, and renames their personal namespace with it.
 *
 * @throws ApiError 400 if the user name or address is malformed, 403 for the last administrator, 409 if it is taken
 */
export async function changeUser(
  db: Database,
  by: Actor,
  found: users.User,
  { email, name, username, admin }: param.Input<typeof userInput>,
  now: number,
): Promise<void> {
  await requireFree(db, { email, username }, found);
  if (admin === false) await requireAnotherAdmin(db, found);
  const flag = admin === undefined ? undefined : Number(admin);
  await updateRow(db, "users", found.id, { email, name, username, admin: flag }, now);
  if (flag !== undefined && flag !== found.admin) {
    await audit(db, by, admin ? "administrator added" : "administrator removed", found.id, now);
  }
  if (username !== undefined && username !== found.username) {
    const target = `from ${found.username}`;
    const renamed = { action: "user renamed", author: by, userId: found.id, target } as const;
    await record(db, { ...renamed, ip: by.ip }, now);
  }
  await renamePersonal(db, found, { username, name }, now);
}

/** Changes a user's password, which ends their sessions. @param hash of the new password */
export async function changePassword(
  db: Database,
  by: Actor,
  found: users.User,
  hash: string,
  now: number,
): Promise<void> {
  await users.setPassword(db, found.id, hash, now);
  await audit(db, by, "password changed", found.id, now);
}

/** Blocks or unblocks a user. @throws ApiError 403 for the last administrator */
export async function changeState(
  db: Database,
  by: Actor,
  found: users.User,
  state: "active" | "blocked",
  now: number,
): Promise<void> {
  if (state === "blocked") await requireAnotherAdmin(db, found);
  await users.setState(db, found, state, now);
  await audit(db, by, state === "blocked" ? "user blocked" : "user unblocked", found.id, now);
}

/**
 * Deletes a user with their personal projects; the ghost user gets their other contributions.
 *
 * @throws ApiError 403 for the last administrator
 */
export async function deleteUser(
  db: Database,
  by: Actor,
  found: users.User,
  now: number,
): Promise<void> {
  await requireAnotherAdmin(db, found);
  const deleted = {
    action: "user deleted",
    author: by,
    target: found.username,
    ip: by.ip,
  } as const;
  await record(db, { ...deleted, userId: found.id }, now);
  await remove(db, found.id, now);
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
