import * as sessions from "../../auth/sessions.ts";
import type { UserState } from "../../core/access/caller.ts";
import { NOT_DELETED_USER } from "../../core/access/visibility.ts";
import { startOf } from "../../core/lists/index-start.ts";
import { paginateFrom } from "../../core/lists/paginate.ts";
import { searchStart } from "../../core/lists/search-index.ts";
import type { Page, RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import {
  type AttributeFilter,
  embedAttributes,
  haveAttributes,
  withAttributes,
} from "../custom-attributes/queries.ts";
import * as namespaces from "../namespaces/queries.ts";
import { embedIdentities, type Identity } from "./identities.ts";
import { USER_SEARCH } from "./search.ts";

/** A user as stored. */
export interface User {
  id: number;
  username: string;
  name: string;
  email: string;
  /**
   * `"ghost"`: the user that owns deleted users' contributions; `"placeholder"`: one that stands for somebody who did what was
   * imported. Nobody signs in as these; they are shown as active. `"removed"`: nobody sees them any more, and a worker removes them.
   */
  state: UserState | "ghost" | "placeholder" | "removed";
  admin: number;
  can_create_group: number;
  projects_limit: number;
  private_profile: number;
  /** Whether how much they do where others see nothing is counted for everybody. */
  include_private_contributions: number;
  updated_at: number;
}

/** Whether a user is a person: no ghost or placeholder, and neither of an access token nor a service account. */
export async function isPerson(db: Reader, user: Pick<User, "id" | "state">): Promise<boolean> {
  if (!isAccount(user)) return false;
  const [bot] = await db.rows(`select 1 from (${BOTS}) b where b.user_id = ?`, [user.id]);
  return bot === undefined;
}

/** The values of a new user; the password is already hashed. */
export interface NewUser {
  username: string;
  name: string;
  email: string;
  password_hash?: string | null | undefined;
  admin?: boolean | undefined;
  external?: boolean | undefined;
  projects_limit?: number | undefined;
  can_create_group?: boolean | undefined;
  /** Whether users of access tokens of groups and projects are left out. */
  withoutBots?: boolean | undefined;
  state?: User["state"] | undefined;
}

/** The filters and order of a list of users. */
export interface UserFilter {
  username?: string | undefined;
  search?: string | undefined;
  /** The address that their profile shows. */
  publicEmail?: string | undefined;
  /** The caller, whose own e-mail address a search may find; administrators find all. */
  searcher?: { id: number; admin: boolean } | undefined;
  active?: boolean | undefined;
  blocked?: boolean | undefined;
  deactivated?: boolean | undefined;
  twoFactor?: boolean | undefined;
  external?: boolean | undefined;
  /** Whether users of access tokens of groups and projects are left out. */
  withoutBots?: boolean | undefined;
  /** Whether users of LDAP servers are left out. */
  withoutLdap?: boolean | undefined;
  /** Only who is this at another provider of identities. */
  identity?: Identity | undefined;
  /** Only people, or only users of access tokens and service accounts. */
  humans?: boolean | undefined;
  /** No active users. */
  inactive?: boolean | undefined;
  /** Only administrators. */
  admins?: boolean | undefined;
  /** Only users who work on no project. */
  withoutProjects?: boolean | undefined;
  createdAfter?: number | undefined;
  createdBefore?: number | undefined;
  /** A further condition on a row `u`. */
  among?: Condition | undefined;
  /** Which custom attributes they must have, and whether these are shown. */
  custom?: AttributeFilter | undefined;
  orderBy: "id" | "name" | "username" | "created_at" | "updated_at";
  sort: "asc" | "desc";
}

/** A query for the ids of users that no person is. */
const BOTS = `select user_id from resource_bots union all select user_id from service_accounts
  union all select id from users where state = 'placeholder'`;

/** Whether a user is an account: neither the ghost nor a placeholder, who have none. */
export const isAccount = ({ state }: Pick<User, "state">): boolean =>
  state !== "ghost" && state !== "placeholder";

const BELOW = (group: string) => `exists (select 1 from namespace_ancestors a
  join projects p on p.namespace_id = a.namespace_id where a.ancestor_id = ${group})`;

/** The condition that a user `u` has no project, belongs to none, and to no group that has one below it. */
const WITHOUT_PROJECTS = `not exists (select 1 from members m where m.user_id = u.id
    and (m.project_id is not null or ${BELOW("m.namespace_id")}))
  and not exists (select 1 from members m cross join group_link_sources s cross join group_links l
    where m.user_id = u.id and s.namespace_id = m.namespace_id and l.id = s.link_id
      and (l.project_id is not null or ${BELOW("l.namespace_id")}))
  and not exists (select 1 from namespaces n join projects p on p.namespace_id = n.id where n.owner_id = u.id)`;

/** The users that match a filter. */
export async function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  filter: UserFilter,
): Promise<RowPage> {
  const { search, searcher, twoFactor, external, custom = {} } = filter;
  const hasTwoFactor = `u.id ${twoFactor ? "in" : "not in"}
    (select user_id from two_factor where enabled_at is not null)`;
  const where = all([
    when(NOT_DELETED_USER),
    when("lower(u.username) = lower(?)", filter.username),
    search ? searched(search, searcher) : undefined,
    when("u.public_email is not null and lower(u.public_email) = lower(?)", filter.publicEmail),
    filter.active ? when("u.state = 'active'") : undefined,
    filter.blocked ? when("u.state in ('blocked', 'ldap_blocked')") : undefined,
    filter.deactivated ? when("u.state = 'deactivated'") : undefined,
    twoFactor === undefined ? undefined : when(hasTwoFactor),
    when("u.external = ?", external === undefined ? undefined : Number(external)),
    filter.withoutBots ? when("u.id not in (select user_id from resource_bots)") : undefined,
    filter.humans === undefined
      ? undefined
      : when(`u.id ${filter.humans ? "not " : ""}in (${BOTS})`),
    filter.inactive ? when("u.state <> 'active'") : undefined,
    filter.admins ? when("u.admin = 1") : undefined,
    filter.withoutProjects ? when(WITHOUT_PROJECTS) : undefined,
    filter.withoutLdap
      ? when("u.id not in (select user_id from identities where provider like 'ldap%')")
      : undefined,
    filter.identity && {
      sql: "u.id in (select user_id from identities where provider = ? and extern_uid = ?)",
      values: [filter.identity.provider, filter.identity.extern_uid],
    },
    when("u.created_at >= ?", filter.createdAfter),
    when("u.created_at < ?", filter.createdBefore),
    filter.among,
    ...haveAttributes("user_id", "u.id", custom),
  ]);
  const { orderBy, sort } = filter;
  const start = await startOf(db, "u", withAttributes("user_id", custom), () =>
    searchStart(db, USER_SEARCH, "u", search, { also: withAddress(search ?? "") }),
  );
  const listed = await paginateFrom(db, presenter, page, start, {
    alias: "u",
    tables: "users u",
    presented: { sql: "users u", values: [] },
    where,
    order: orderBy === "id" ? `u.id ${sort}` : `u.${orderBy} ${sort}, u.id ${sort}`,
  });
  await embedAttributes(db, listed.rows, presenter, "user_id", custom);
  await embedIdentities(db, listed.rows, presenter);
  return listed;
}

/** A query for the users with an e-mail address. */
function withAddress(email: string): Condition {
  return {
    sql: `select id from users where lower(email) = lower(?)
      union all select id from users where public_email is not null and lower(public_email) = lower(?)`,
    values: [email, email],
  };
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

/**
 * One user as a row of its presenter, or `undefined`.
 *
 * @param caller who may follow them
 */
export async function row(
  db: Reader,
  presenter: Presenter,
  userId: number,
  caller?: { readonly id: number },
): Promise<Value[] | undefined> {
  const [[found], followed] = await Promise.all([
    db.rows(`select ${presenter.columns} from users u where u.id = ? and ${NOT_DELETED_USER}`, [
      userId,
    ]),
    caller && caller.id !== userId
      ? db.rows("select 1 from user_follows where follower_id = ? and followed_id = ?", [
          caller.id,
          userId,
        ])
      : [],
  ]);
  if (found && "is_followed" in presenter.fields) {
    found[presenter.at("is_followed")] = String(followed.length > 0);
  }
  if (found) await embedIdentities(db, [found], presenter);
  return found;
}

const USER =
  "select id, username, name, email, state, admin, can_create_group, projects_limit, private_profile, include_private_contributions, updated_at from users u";

/** A user by id, or `undefined`. */
export async function find(db: Reader, userId: number): Promise<User | undefined> {
  return db.one<User>(`${USER} where id = ? and ${NOT_DELETED_USER}`, [userId]);
}

/** A user by user name, ignoring case, or `undefined`. */
export async function findByUsername(db: Reader, username: string): Promise<User | undefined> {
  return db.one<User>(`${USER} where lower(username) = lower(?) and ${NOT_DELETED_USER}`, [
    username,
  ]);
}

/** A user by e-mail address, ignoring case, or `undefined`. */
export async function findByEmail(db: Reader, email: string): Promise<User | undefined> {
  return db.one<User>(`${USER} where lower(email) = lower(?) and ${NOT_DELETED_USER}`, [email]);
}

/** Whether another user than `exceptId` has this e-mail address, also as a confirmed further one, ignoring case. */
export async function isEmailTaken(db: Reader, email: string, exceptId = 0): Promise<boolean> {
  const found = await db.rows(
    `select 1 from users where lower(email) = lower(?) and id <> ?
     union all select 1 from user_emails where lower(email) = lower(?) and confirmed_at is not null and user_id <> ?`,
    [email, exceptId, email, exceptId],
  );
  return found.length > 0;
}

/** The e-mail addresses that are known to be somebody's, by columns `user_id` and `email`, in small letters. */
export const CONFIRMED_ADDRESSES = `select id as user_id, lower(email) as email from users
  union all select user_id, lower(email) from user_emails where confirmed_at is not null`;

/** Whether an address is a user's own and confirmed, ignoring case. */
export async function hasAddress(db: Reader, userId: number, email: string): Promise<boolean> {
  const found = await db.rows(
    `select 1 from (${CONFIRMED_ADDRESSES}) a where a.user_id = ? and a.email = lower(?)`,
    [userId, email],
  );
  return found.length > 0;
}

/** A user's confirmed addresses, in small letters. */
export async function addresses(db: Reader, userId: number): Promise<ReadonlySet<string>> {
  const found = await db.rows(
    `select a.email from (${CONFIRMED_ADDRESSES}) a where a.user_id = ?`,
    [userId],
  );
  return new Set(found.map(([email]) => String(email)));
}

/** Sets whether what somebody does where others see nothing is counted for everybody. */
export function setPrivateContributions(
  db: Database,
  id: number,
  include_private_contributions: number,
  now: number,
): Promise<void> {
  return updateRow(db, "users", id, { include_private_contributions }, now);
}

/** The addresses of administrators who can sign in, by their ids. @param most of them */
export async function addressesOfAdmins(db: Reader, most: number): Promise<string[]> {
  const found = await db.rows(
    "select email from users where admin = 1 and state = 'active' order by id limit ?",
    [most],
  );
  return found.map(([email]) => String(email));
}

/** The ids of the users who have these confirmed addresses, by address in small letters. */
export async function idsByAddresses(
  db: Reader,
  emails: readonly string[],
): Promise<Map<string, number>> {
  const given = [...new Set(emails.map((email) => email.toLowerCase()))];
  if (given.length === 0) return new Map();
  const among = placeholders(given);
  const found = await db.rows(
    `select id, lower(email) from users where lower(email) in (${among.sql})
     union all select user_id, lower(email) from user_emails
       where lower(email) in (${among.sql}) and confirmed_at is not null`,
    [...among.values, ...among.values],
  );
  return new Map(found.map(([id, email]) => [email as string, id as number]));
}

/** The id of the user whose confirmed address this is, ignoring case, or `undefined`. */
export async function idByAddress(db: Reader, email: string): Promise<number | undefined> {
  const [found] = await db.rows(
    `select u.id from (${CONFIRMED_ADDRESSES}) a join users u on u.id = a.user_id and ${NOT_DELETED_USER}
     where a.email = lower(?) and u.state not in ('ghost', 'placeholder')`,
    [email],
  );
  return found?.[0] as number | undefined;
}

/** The id of the user whose profile shows an address, ignoring case, or `undefined`. */
export async function idByPublicEmail(db: Reader, email: string): Promise<number | undefined> {
  const [found] = await db.rows(
    `select u.id from users u where u.public_email is not null and lower(u.public_email) = lower(?)
       and ${NOT_DELETED_USER} order by u.id limit 1`,
    [email],
  );
  return found?.[0] as number | undefined;
}

/** Adds a user with their personal namespace, and returns their id. */
export async function insert(db: Database, user: NewUser, now: number): Promise<number> {
  const id = await insertRow(db, "users", {
    username: user.username,
    name: user.name,
    email: user.email,
    password_hash: user.password_hash ?? null,
    admin: user.admin ? 1 : 0,
    external: user.external ? 1 : 0,
    projects_limit: user.projects_limit ?? 100_000,
    can_create_group: Number(user.can_create_group ?? true),
    state: user.state ?? "active",
    created_at: now,
    updated_at: now,
  });
  await namespaces.insert(
    db,
    { kind: "user", name: user.name, path: user.username, owner_id: id, visibility: 20 },
    now,
  );
  return id;
}

/**
 * Changes whether an account can be used. While it can't be, its sessions and tokens get 403; afterwards its user has to sign
 * in again. Deactivated users can do so at once, hence without a session that is refused.
 */
export async function setState(
  db: Database,
  user: User,
  state: User["state"],
  now: number,
): Promise<void> {
  if (state === "active" || state === "deactivated") await sessions.endAll(db, user.id);
  await updateRow(db, "users", user.id, { state }, now);
}

/** The number of active administrators. */
export async function countAdmins(db: Reader): Promise<number> {
  const [found] = await db.rows("select count(*) from users where admin = 1 and state = 'active'");
  return found?.[0] as number;
}

/** Whether there is any user. */
export async function exist(db: Reader): Promise<boolean> {
  return (await db.rows("select 1 from users limit 1")).length > 0;
}

/** All users except the ghost and placeholders, in the order they were created. */
export function listAll(db: Reader): Awaitable<User[]> {
  return db.all<User>(
    `${USER} where state not in ('ghost', 'placeholder') and ${NOT_DELETED_USER} order by id`,
  );
}
