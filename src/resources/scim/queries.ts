import type { Secret } from "../../auth/token-secrets.ts";
import { NOT_DELETED_USER, type Viewer } from "../../core/access/visibility.ts";
import { type Page, pageReader, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import {
  type Attributes,
  type Element,
  LEAVES,
  type Leaf,
  LISTS,
  type List,
  type Scalar,
} from "../../scim/attributes.ts";
import { elementsIn } from "../../scim/values.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import * as users from "../users/queries.ts";

/** A token as stored; the secret is not. */
export interface ScimToken {
  id: number;
  name: string;
  access_level: number;
  revoked: number;
  /** `YYYY-MM-DD` */
  expires_at: string | null;
  /** Epoch milliseconds. */
  last_used_at: number | null;
  updated_at: number;
}

const TOKEN =
  "select id, name, access_level, revoked, expires_at, last_used_at, updated_at from scim_tokens";

/** The tokens of a group, in the order they were created. */
export const listTokens = pageReader({
  from: "scim_tokens st join namespaces n on n.id = st.namespace_id where st.namespace_id = ?",
  order: "st.id",
});

/** One token as a row of its presenter. */
export const tokenRow = rowReader(
  "scim_tokens st join namespaces n on n.id = st.namespace_id where st.id = ?",
);

/** A token of a group, or `undefined`. */
export function findToken(
  db: Reader,
  groupId: number,
  id: number,
): Awaitable<ScimToken | undefined> {
  return db.one<ScimToken>(`${TOKEN} where namespace_id = ? and id = ?`, [groupId, id]);
}

/** All tokens of a group, in the order they were created. */
export function allTokens(db: Reader, groupId: number): Awaitable<ScimToken[]> {
  return db.all<ScimToken>(`${TOKEN} where namespace_id = ? order by id`, [groupId]);
}

/** The values of a new token. */
export interface NewScimToken {
  name: string;
  access_level: number;
  /** See {@link Secret}. */
  digest: Secret["digest"];
  expires_at?: string | null | undefined;
}

/** Adds a token and returns its id. */
export function insertToken(
  db: Database,
  groupId: number,
  { expires_at = null, ...token }: NewScimToken,
  now: number,
): Promise<number> {
  return insertRow(db, "scim_tokens", {
    namespace_id: groupId,
    ...token,
    expires_at,
    created_at: now,
    updated_at: now,
  });
}

/** Revokes a token for good; its record stays. @returns `false` if it was already revoked */
export async function revokeToken(db: Database, id: number, now: number): Promise<boolean> {
  const sql = "update scim_tokens set revoked = 1, updated_at = ? where id = ? and revoked = 0";
  return (await db.run(sql, [now, id])) > 0;
}

/** A user of a group's identity provider as stored. */
export interface ScimUser {
  id: number;
  /** The id for clients. */
  uid: string;
  /** The account. */
  userId: number;
  /** Whether the account was created for it. */
  isProvisioned: boolean;
  version: number;
  attributes: Attributes;
}

const COLUMNED = LEAVES.filter((leaf) => leaf.column !== undefined);
const OWN = ["id", "user_id", "provisioned", "version"];
const COLUMNS = [...OWN, ...COLUMNED.map(({ column }) => column)]
  .map((column) => `s.${column}`)
  .join(", ");

function userOf(row: readonly Value[]): ScimUser {
  const [id, userId, provisioned, version] = row as number[];
  const attributes: Attributes = new Map([["meta.resourceType", "User"]]);
  COLUMNED.forEach((leaf, index) => {
    const value = row[OWN.length + index] ?? null;
    if (value !== null) attributes.set(leaf.key, read(leaf, value));
  });
  return {
    id: id as number,
    uid: attributes.get("id") as string,
    userId: userId as number,
    isProvisioned: provisioned === 1,
    version: version as number,
    attributes,
  };
}

const read = ({ type }: Leaf, value: Value): Scalar =>
  type === "boolean" ? value === 1 : type === "dateTime" ? Number(value) : String(value);

const stored = (value: Scalar | readonly Element[] | undefined): Value =>
  typeof value === "boolean" ? Number(value) : ((value ?? null) as Value);

/** The columns that clients set, from a user's attributes. */
function columnsOf(attributes: Attributes): Record<string, Value> {
  const settable = COLUMNED.filter(({ isReadOnly }) => !isReadOnly);
  return Object.fromEntries(
    settable.map(({ column, key }) => [column as string, stored(attributes.get(key))]),
  );
}

const PARTS = [
  ...new Set(LISTS.flatMap(({ parts }) => parts.map(({ column }) => column as string))),
];

/** Adds the values of multi-valued attributes to users, with one statement. */
async function withValues(db: Reader, users: ScimUser[]): Promise<ScimUser[]> {
  if (users.length === 0) return users;
  const ids = placeholders(users.map(({ id }) => id));
  const rows = await db.rows(
    `select scim_user_id, attribute, ${PARTS.join(", ")} from scim_values
     where scim_user_id in (${ids.sql}) order by scim_user_id, attribute, position`,
    ids.values,
  );
  const byId = new Map(users.map((user) => [user.id, user.attributes]));
  const lists = new Map(LISTS.map((list) => [list.key, list]));
  for (const [id, key, ...values] of rows) {
    const attributes = byId.get(id as number);
    const list = lists.get(key as string);
    if (!attributes || !list) continue;
    attributes.set(list.key, [...elementsIn(attributes, list), elementOf(list, values)]);
  }
  return users;
}

function elementOf(list: List, values: readonly Value[]): Element {
  const element: Record<string, Scalar> = {};
  for (const part of list.parts) {
    const value = values[PARTS.indexOf(part.column as string)] ?? null;
    if (value !== null) element[part.name] = read(part, value);
  }
  return element;
}

/** A page of users, and how many there are in all. */
export interface ScimPage {
  users: ScimUser[];
  total: number;
}

/**
 * Lists users of a group.
 *
 * @param where limits them; `undefined` for all
 * @param order everything after `order by`
 * @param window how many, after how many others
 */
export async function list(
  db: Reader,
  groupId: number,
  where: Condition | undefined,
  order: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<ScimPage> {
  const matching = all([when("s.namespace_id = ?", groupId), where]);
  const from = `from scim_users s where ${matching.sql}`;
  const rows =
    limit === 0
      ? []
      : await db.rows(`select ${COLUMNS} ${from} order by ${order} limit ? offset ?`, [
          ...matching.values,
          limit,
          offset,
        ]);
  const users = await withValues(db, rows.map(userOf));
  const isLast = rows.length < limit && (rows.length > 0 || offset === 0);
  if (isLast) return { users, total: offset + rows.length };
  const counted = await db.one<{ total: number }>(
    `select count(*) as total ${from}`,
    matching.values,
  );
  return { users, total: Number(counted?.total) };
}

/** A user of a group by a condition on `s`, or `undefined`. */
async function findBy(db: Reader, groupId: number, by: Condition): Promise<ScimUser | undefined> {
  const [row] = await db.rows(
    `select ${COLUMNS} from scim_users s where s.namespace_id = ? and ${by.sql}`,
    [groupId, ...by.values],
  );
  const [found] = row ? await withValues(db, [userOf(row)]) : [];
  return found;
}

/** A user of a group by the id for clients, or `undefined`. */
export function find(db: Reader, groupId: number, uid: string): Promise<ScimUser | undefined> {
  return findBy(db, groupId, { sql: "s.uid = ?", values: [uid] });
}

/** A user of a group by the id of the identity provider, else by our own, or `undefined`. */
export async function findByAnyId(
  db: Reader,
  groupId: number,
  id: string,
): Promise<ScimUser | undefined> {
  const external = await findBy(db, groupId, { sql: "s.external_id = ?", values: [id] });
  return external ?? find(db, groupId, id);
}

/** Which of these another user of the group has. */
export async function taken(
  db: Reader,
  groupId: number,
  { userName, externalId }: { userName: string; externalId: string | undefined },
  exceptId: number,
): Promise<"userName" | "externalId" | undefined> {
  const [found] = await db.rows(
    `select 'userName' from scim_users where namespace_id = ? and lower(user_name) = lower(?) and id <> ?
     union all
     select 'externalId' from scim_users where namespace_id = ? and external_id = ? and id <> ? limit 1`,
    [groupId, userName, exceptId, groupId, externalId ?? "", exceptId],
  );
  return found?.[0] as "userName" | "externalId" | undefined;
}

/** Whether an account is one of the group's users. */
export async function isUser(db: Reader, groupId: number, userId: number): Promise<boolean> {
  const sql = "select 1 from scim_users where namespace_id = ? and user_id = ?";
  return (await db.rows(sql, [groupId, userId])).length > 0;
}

/**
 * Whether an account has a part in anything but a group and what is below it: as a member, as a user of another group's
 * identity provider, as administrator, or by a password of its own.
 */
export async function belongsElsewhere(
  db: Reader,
  groupId: number,
  userId: number,
): Promise<boolean> {
  const below = "select namespace_id from namespace_ancestors where ancestor_id = ?";
  const found = await db.rows(
    `select 1 from users where id = ? and (admin = 1 or password_hash is not null)
     union all
     select 1 from scim_users where user_id = ? and namespace_id <> ?
     union all
     select 1 from members m where m.user_id = ? and m.namespace_id is not null and m.namespace_id not in (${below})
     union all
     select 1 from members m join projects p on p.id = m.project_id
     where m.user_id = ? and p.namespace_id not in (${below})
     limit 1`,
    [userId, userId, groupId, userId, groupId, userId, groupId],
  );
  return found.length > 0;
}

/**
 * The account that a group's identity provider has made and calls by this id; `undefined` if it has a part in anything else,
 * of which the owners of the group must not decide who it is.
 */
export async function provisionedAccount(
  db: Reader,
  groupPath: string,
  externalId: string,
): Promise<number | undefined> {
  const [found] = await db.rows(
    `select s.user_id, s.namespace_id from scim_users s join namespaces n on n.id = s.namespace_id
     where lower(n.full_path) = lower(?) and n.kind = 'group' and s.external_id = ? and s.provisioned = 1 and s.active = 1`,
    [groupPath, externalId],
  );
  if (!found) return undefined;
  const [userId, groupId] = found as [number, number];
  return (await belongsElsewhere(db, groupId, userId)) ? undefined : userId;
}

/** Whether the identity provider of a group has made an account, whose address it says. */
export async function isProvisioned(db: Reader, userId: number): Promise<boolean> {
  const sql = "select 1 from scim_users where user_id = ? and provisioned = 1";
  return (await db.rows(sql, [userId])).length > 0;
}

/** Adds a user of a group. */
export async function insert(
  db: Database,
  user: { uid: string; groupId: number; userId: number; isProvisioned: boolean },
  attributes: Attributes,
  now: number,
): Promise<void> {
  const id = await insertRow(db, "scim_users", {
    uid: user.uid,
    namespace_id: user.groupId,
    user_id: user.userId,
    provisioned: Number(user.isProvisioned),
    ...columnsOf(attributes),
    created_at: now,
    updated_at: now,
  });
  await insertValues(db, user.groupId, id, attributes);
}

/** Replaces the attributes that clients set, and counts the version. */
export async function update(
  db: Database,
  groupId: number,
  id: number,
  attributes: Attributes,
  now: number,
): Promise<void> {
  const columns = columnsOf(attributes);
  const set = Object.keys(columns).map((column) => `${column} = ?, `);
  await db.run(
    `update scim_users set ${set.join("")}version = version + 1, updated_at = ? where id = ?`,
    [...Object.values(columns), now, id],
  );
  await db.run("delete from scim_values where scim_user_id = ?", [id]);
  await insertValues(db, groupId, id, attributes);
}

async function insertValues(
  db: Database,
  groupId: number,
  id: number,
  attributes: Attributes,
): Promise<void> {
  for (const list of LISTS) {
    for (const [position, element] of elementsIn(attributes, list).entries()) {
      const columns = list.parts.map(({ column, name }) => [column, stored(element[name])]);
      await insertRow(db, "scim_values", {
        scim_user_id: id,
        namespace_id: groupId,
        attribute: list.key,
        position,
        ...Object.fromEntries(columns),
      });
    }
  }
}

/** Sets the id of the identity provider. */
export async function setExternalId(
  db: Database,
  id: number,
  externalId: string,
  now: number,
): Promise<void> {
  await db.run(
    "update scim_users set external_id = ?, version = version + 1, updated_at = ? where id = ?",
    [externalId, now, id],
  );
}

/** Removes a user of a group; the account stays. */
export async function remove(db: Database, id: number): Promise<void> {
  await db.run("delete from scim_users where id = ?", [id]);
}

/** The accounts of a group's identity provider, in the order they were added. */
export const listIdentities = pageReader({
  from: "scim_users su where su.namespace_id = ?",
  order: "su.id",
});

/** Which of the users that a group has provisioned a list has. */
interface ProvisionedFilter {
  readonly username?: string | undefined;
  /** A part of their names. */
  readonly search?: string | undefined;
  readonly active?: boolean | undefined;
  readonly blocked?: boolean | undefined;
  /** Epoch milliseconds. */
  readonly created_after?: number | undefined;
  readonly created_before?: number | undefined;
}

/** The users that a group's identity provider has made, in the order they were added. */
export function listProvisioned(
  db: Reader,
  presenter: Presenter,
  page: Page,
  groupId: number,
  { caller }: Viewer,
  filter: ProvisionedFilter,
): Promise<RowPage> {
  const { username, search, active, blocked, created_after, created_before } = filter;
  const where = all([
    when("su.namespace_id = ?", groupId),
    when("su.provisioned = 1"),
    when("lower(u.username) = lower(?)", username),
    search ? users.searched(search, caller) : undefined,
    active ? when("u.state = 'active'") : undefined,
    blocked ? when("u.state = 'blocked'") : undefined,
    when("u.created_at > ?", created_after),
    when("u.created_at < ?", created_before),
  ]);
  return paginate(db, presenter, page, {
    from: `scim_users su join users u on u.id = su.user_id and ${NOT_DELETED_USER} where ${where.sql}`,
    values: where.values,
    order: "su.id",
  });
}

/** One of them as a row of its presenter. */
export const identityRow = rowReader("scim_users su where su.id = ?");
