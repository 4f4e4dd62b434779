import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import type { Condition } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as namespaces from "../namespaces/queries.ts";

/** A user as stored. */
export interface User {
  id: number;
  username: string;
  name: string;
  email: string;
  /** `"ghost"`: the placeholder that owns deleted users' contributions. Nobody signs in as it; it is shown as active. */
  state: "active" | "blocked" | "ghost";
  admin: number;
  can_create_group: number;
  projects_limit: number;
  private_profile: number;
  updated_at: number;
}

/** The values of a new user; the password is already hashed. */
export interface NewUser {
  username: string;
  name: string;
  email: string;
  password_hash?: string | null | undefined;
  admin?: boolean | undefined;
  external?: boolean | undefined;
  state?: User["state"] | undefined;
}

/** The filters and order of a list of users. */
export interface UserFilter {
  username?: string | undefined;
  search?: string | undefined;
  /** The caller, whose own e-mail address a search may find; administrators find all. */
  searcher?: { id: number; admin: boolean } | undefined;
  active?: boolean | undefined;
  blocked?: boolean | undefined;
  twoFactor?: boolean | undefined;
  external?: boolean | undefined;
  /** Only users with an external identity, which nobody has. */
  identified?: boolean | undefined;
  createdAfter?: number | undefined;
  createdBefore?: number | undefined;
  orderBy: "id" | "name" | "username" | "created_at" | "updated_at";
  sort: "asc" | "desc";
}

/** The users that match a filter. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  filter: UserFilter,
): Promise<RowPage> {
  const where = ["1 = 1"];
  const values: Value[] = [];
  const add = (sql: string, ...more: Value[]) => {
    where.push(sql);
    values.push(...more);
  };
  if (filter.username !== undefined) add("lower(u.username) = lower(?)", filter.username);
  if (filter.search) {
    const search = searched(filter.search, filter.searcher);
    add(search.sql, ...search.values);
  }
  if (filter.active) add("u.state = 'active'");
  if (filter.blocked) add("u.state = 'blocked'");
  if (filter.twoFactor !== undefined) {
    const enabled = "select user_id from two_factor where enabled_at is not null";
    add(`u.id ${filter.twoFactor ? "in" : "not in"} (${enabled})`);
  }
  if (filter.external !== undefined) add("u.external = ?", filter.external ? 1 : 0);
  if (filter.identified) add("1 = 0");
  if (filter.createdAfter !== undefined) add("u.created_at >= ?", filter.createdAfter);
  if (filter.createdBefore !== undefined) add("u.created_at < ?", filter.createdBefore);
  const { orderBy, sort } = filter;
  return paginate(db, presenter, page, {
    from: `users u where ${where.join(" and ")}`,
    values,
    order: orderBy === "id" ? `u.id ${sort}` : `u.${orderBy} ${sort}, u.id ${sort}`,
  });
}

/**
 * The condition under which a text finds a user `u`: by a part of their names or by an exact e-mail address. Only
 * owners and administrators find addresses that are not public; anonymous callers find none.
 */
export function searched(
  text: string,
  searcher: { id: number; admin: boolean } | undefined,
): Condition {
  const names = contains(["u.name", "u.username"], text);
  if (!searcher) return names;
  const whose = searcher.admin ? "" : " and u.id = ?";
  return {
    sql: `(${names.sql} or lower(u.public_email) = lower(?) or (lower(u.email) = lower(?)${whose}))`,
    values: [...names.values, text, text, ...(searcher.admin ? [] : [searcher.id])],
  };
}

/** One user as a row of its presenter, or `undefined`. */
export async function row(
  db: Reader,
  presenter: Presenter,
  userId: number,
): Promise<Value[] | undefined> {
  const [found] = await db.rows(`select ${presenter.columns} from users u where u.id = ?`, [
    userId,
  ]);
  return found;
}

const USER =
  "select id, username, name, email, state, admin, can_create_group, projects_limit, private_profile, updated_at from users";

/** A user by id, or `undefined`. */
export async function find(db: Reader, userId: number): Promise<User | undefined> {
  const found = await db.one<User>(`${USER} where id = ?`, [userId]);
  return found;
}

/** A user by user name, ignoring case, or `undefined`. */
export async function findByUsername(db: Reader, username: string): Promise<User | undefined> {
  const found = await db.one<User>(`${USER} where lower(username) = lower(?)`, [username]);
  return found;
}

/** A user by e-mail address, ignoring case, or `undefined`. */
export async function findByEmail(db: Reader, email: string): Promise<User | undefined> {
  const found = await db.one<User>(`${USER} where lower(email) = lower(?)`, [email]);
  return found;
}

/** A user by user name or e-mail address, ignoring case, with the password's hash; or `undefined`. */
export async function findByLogin(
  db: Reader,
  login: string,
): Promise<(User & { password_hash: string | null }) | undefined> {
  const column = login.includes("@") ? "email" : "username";
  const found = await db.one<User & { password_hash: string | null }>(
    `${USER.replace(" from", ", password_hash from")} where lower(${column}) = lower(?)`,
    [login],
  );
  return found;
}

/** Whether another user than `exceptId` has this e-mail address, ignoring case. */
export async function isEmailTaken(db: Reader, email: string, exceptId = 0): Promise<boolean> {
  const found = await db.rows("select 1 from users where lower(email) = lower(?) and id <> ?", [
    email,
    exceptId,
  ]);
  return found.length > 0;
}

/** Adds a user with their personal namespace, and returns their id. */
export async function insert(db: Database, user: NewUser, now: number): Promise<number> {
  const [inserted] = await db.rows(
    `insert into users (username, name, email, password_hash, admin, external, state, created_at, updated_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?) returning id`,
    [
      user.username,
      user.name,
      user.email,
      user.password_hash ?? null,
      user.admin ? 1 : 0,
      user.external ? 1 : 0,
      user.state ?? "active",
      now,
      now,
    ],
  );
  const id = inserted?.[0] as number;
  await namespaces.insert(
    db,
    { kind: "user", name: user.name, path: user.username, owner_id: id, visibility: 20 },
    now,
  );
  return id;
}

/** The hash of a user's password; `null` if they have none. */
export async function passwordHash(db: Reader, userId: number): Promise<string | null> {
  const [found] = await db.rows("select password_hash from users where id = ?", [userId]);
  return (found?.[0] ?? null) as string | null;
}

/** Changes a user's password. Their sessions end, and links to set one stop working. */
export async function setPassword(
  db: Database,
  userId: number,
  hash: string,
  now: number,
): Promise<void> {
  await updateRow(db, "users", userId, { password_hash: hash }, now);
  await db.run("delete from invitations where user_id = ?", [userId]);
  await endSessions(db, userId);
}

/**
 * Blocks or unblocks a user. While they are blocked, their sessions and tokens get 403; afterwards they have to sign in
 * again.
 */
export async function setState(
  db: Database,
  user: User,
  state: User["state"],
  now: number,
): Promise<void> {
  if (user.state === "blocked" && state === "active") await endSessions(db, user.id);
  await updateRow(db, "users", user.id, { state }, now);
}

/** Ends a user's sessions, and their sign-ins that wait for a second factor. */
async function endSessions(db: Database, userId: number): Promise<void> {
  await db.run("delete from sessions where user_id = ?", [userId]);
  await db.run("delete from half_sign_ins where user_id = ?", [userId]);
}

/** The number of active administrators. */
export async function countAdmins(db: Reader): Promise<number> {
  const [found] = await db.rows("select count(*) from users where admin = 1 and state = 'active'");
  return found?.[0] as number;
}

/** Whether there is any user. */
export async function isAnybody(db: Reader): Promise<boolean> {
  return (await db.rows("select 1 from users limit 1")).length > 0;
}

/** All users except the ghost, in the order they were created. */
export function all(db: Reader): Awaitable<User[]> {
  return db.all<User>(`${USER} where state <> 'ghost' order by id`);
}
