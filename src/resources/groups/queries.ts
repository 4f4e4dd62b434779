import type { Role } from "../../core/access/roles.ts";
import { memberGroups, type Viewer, visibleGroups } from "../../core/access/visibility.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import type { Condition } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";

/** The columns of a namespace that handlers use. */
export interface Namespace {
  id: number;
  kind: "group" | "user";
  name: string;
  path: string;
  full_name: string;
  full_path: string;
  visibility: number;
  parent_id: number | null;
  owner_id: number | null;
  updated_at: number;
}

/** A namespace to insert. */
export interface NewNamespace {
  kind: Namespace["kind"];
  name: string;
  path: string;
  parent?: Pick<Namespace, "id" | "full_name" | "full_path"> | undefined;
  owner_id?: number | undefined;
  description?: string | null | undefined;
  visibility: number;
  lfs_enabled?: boolean | undefined;
  request_access_enabled?: boolean | undefined;
}

/** Filters and order of a list of groups. */
export interface GroupFilter {
  /** Only direct subgroups of this group; `null` for top-level groups. */
  parentId?: number | null | undefined;
  search?: string | undefined;
  skip?: readonly number[] | undefined;
  /** Only groups in which the caller has at least this role. */
  role?: Role | undefined;
  /** Only groups the caller belongs to. */
  member?: boolean | undefined;
  orderBy: "name" | "path" | "id";
  sort: "asc" | "desc";
}

/** The groups the caller may read. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  filter: GroupFilter,
): Promise<RowPage> {
  const conditions: Condition[] = [{ sql: "n.kind = 'group'", values: [] }];
  if (filter.role) conditions.push(memberGroups(viewer, filter.role));
  else if (filter.member) conditions.push(memberGroups(viewer));
  else conditions.push(visibleGroups(viewer));
  if (filter.parentId === null) conditions.push({ sql: "n.parent_id is null", values: [] });
  else if (filter.parentId !== undefined) {
    conditions.push({ sql: "n.parent_id = ?", values: [filter.parentId] });
  }
  if (filter.search) conditions.push(contains(["n.name", "n.path"], filter.search));
  if (filter.skip && filter.skip.length > 0) {
    const skipped = placeholders(filter.skip);
    conditions.push({ sql: `n.id not in (${skipped.sql})`, values: skipped.values });
  }
  const { orderBy, sort } = filter;
  return paginate(db, presenter, page, {
    from: `namespaces n where ${conditions.map(({ sql }) => sql).join(" and ")}`,
    values: conditions.flatMap(({ values }) => values),
    order: orderBy === "id" ? `n.id ${sort}` : `n.${orderBy} ${sort}, n.id ${sort}`,
  });
}

/** One group as a row of its presenter. */
export async function row(db: Reader, presenter: Presenter, groupId: number): Promise<Value[]> {
  const [found] = await db.rows(`select ${presenter.columns} from namespaces n where n.id = ?`, [
    groupId,
  ]);
  return found as Value[];
}

const NAMESPACE =
  "select id, kind, name, path, full_name, full_path, visibility, parent_id, owner_id, updated_at from namespaces";

/** A namespace by its id, or `undefined`. */
export async function find(db: Reader, namespaceId: number): Promise<Namespace | undefined> {
  const found = await db.one<Namespace>(`${NAMESPACE} where id = ?`, [namespaceId]);
  return found;
}

/** A namespace by its full path, ignoring case, or `undefined`. */
export async function findByPath(db: Reader, fullPath: string): Promise<Namespace | undefined> {
  const found = await db.one<Namespace>(`${NAMESPACE} where lower(full_path) = lower(?)`, [
    fullPath,
  ]);
  return found;
}

/** The namespace of a user's own projects. */
export async function findPersonal(db: Reader, userId: number): Promise<Namespace | undefined> {
  const found = await db.one<Namespace>(`${NAMESPACE} where owner_id = ?`, [userId]);
  return found;
}

/** A user's highest level in a namespace: as a member of it or of a group above, or as its owner; 0 if none. */
export async function levelIn(
  db: Reader,
  namespaceId: number,
  userId: number,
  today: string,
): Promise<number> {
  const [found] = await db.rows(
    `select max(level) from (
       select m.access_level as level from members m
       join namespace_ancestors a on a.ancestor_id = m.namespace_id
       where a.namespace_id = ? and m.user_id = ? and (m.expires_at is null or m.expires_at > ?)
       union all
       select 50 from namespaces where id = ? and owner_id = ?) as levels`,
    [namespaceId, userId, today, namespaceId, userId],
  );
  return (found?.[0] as number | null) ?? 0;
}

/** Whether a namespace or project has this full path, ignoring case. */
export async function isTaken(db: Reader, fullPath: string): Promise<boolean> {
  const found = await db.rows(
    `select 1 from namespaces where lower(full_path) = lower(?)
     union all select 1 from projects where lower(full_path) = lower(?) limit 1`,
    [fullPath, fullPath],
  );
  return found.length > 0;
}

/** Whether any direct subgroups or projects of a group are more visible than a level. */
export async function moreVisible(
  db: Reader,
  groupId: number,
  level: number,
): Promise<{ groups: boolean; projects: boolean }> {
  const found = await db.rows(
    `select 'group' where exists (select 1 from namespaces where parent_id = ? and visibility > ?)
     union all
     select 'project' where exists (select 1 from projects where namespace_id = ? and visibility > ?)`,
    [groupId, level, groupId, level],
  );
  const kinds = found.map(([kind]) => kind);
  return { groups: kinds.includes("group"), projects: kinds.includes("project") };
}

/** Whether a direct subgroup of a group has this name. */
export async function isNameTaken(db: Reader, parentId: number, name: string): Promise<boolean> {
  const found = await db.rows(
    "select 1 from namespaces where kind = 'group' and name = ? and parent_id = ? limit 1",
    [name, parentId],
  );
  return found.length > 0;
}

/** Adds a namespace with its rows of ancestors, and returns its id. */
export async function insert(db: Database, namespace: NewNamespace, now: number): Promise<number> {
  const { parent } = namespace;
  const [inserted] = await db.rows(
    `insert into namespaces (kind, name, path, full_name, full_path, description, visibility, parent_id,
       owner_id, lfs_enabled, request_access_enabled, created_at, updated_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id`,
    [
      namespace.kind,
      namespace.name,
      namespace.path,
      parent ? `${parent.full_name} / ${namespace.name}` : namespace.name,
      parent ? `${parent.full_path}/${namespace.path}` : namespace.path,
      namespace.description ?? "",
      namespace.visibility,
      parent?.id ?? null,
      namespace.owner_id ?? null,
      namespace.lfs_enabled === false ? 0 : 1,
      namespace.request_access_enabled ? 1 : 0,
      now,
      now,
    ],
  );
  const id = inserted?.[0] as number;
  await db.run(
    `insert into namespace_ancestors (namespace_id, ancestor_id, depth)
     select ?, ancestor_id, depth + 1 from namespace_ancestors where namespace_id = ?`,
    [id, parent?.id ?? 0],
  );
  await db.run(
    "insert into namespace_ancestors (namespace_id, ancestor_id, depth) values (?, ?, 0)",
    [id, id],
  );
  return id;
}

/** Updates the full paths and names of a namespace and everything below it. */
export async function renameBelow(
  db: Database,
  namespaceId: number,
  from: Pick<Namespace, "full_path" | "full_name">,
  to: Pick<Namespace, "full_path" | "full_name">,
): Promise<void> {
  await db.run(
    `update namespaces set full_path = cast(? as text) || substr(full_path, ?),
       full_name = cast(? as text) || substr(full_name, ?)
     where id in (select namespace_id from namespace_ancestors where ancestor_id = ?)`,
    [
      to.full_path,
      [...from.full_path].length + 1,
      to.full_name,
      [...from.full_name].length + 1,
      namespaceId,
    ],
  );
  await db.run(
    `update projects set full_path = cast(? as text) || substr(full_path, ?)
     where namespace_id in (select namespace_id from namespace_ancestors where ancestor_id = ?)`,
    [to.full_path, [...from.full_path].length + 1, namespaceId],
  );
}

/** The longest full path of a namespace and everything below it. */
export async function longestPath(db: Reader, namespaceId: number): Promise<string> {
  const below = "select namespace_id from namespace_ancestors where ancestor_id = ?";
  const [found] = await db.rows(
    `select full_path from (select full_path from namespaces where id in (${below})
       union all select full_path from projects where namespace_id in (${below})) as paths
     order by length(full_path) desc limit 1`,
    [namespaceId, namespaceId],
  );
  return found?.[0] as string;
}

/** Removes a namespace and everything below it. */
export async function remove(db: Database, namespaceId: number): Promise<void> {
  await db.run("delete from namespaces where id = ?", [namespaceId]);
}

/** Every group, by full path. */
export function all(db: Reader): Awaitable<Namespace[]> {
  return db.all<Namespace>(`${NAMESPACE} where kind = 'group' order by lower(full_path), id`);
}
