import { linkedLevel } from "../../core/access/memberships.ts";
import { BEING_DELETED } from "../../core/access/visibility.ts";
import { belowGroup } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import { spreadBelow } from "./link-sources.ts";
import { keepPaths, releasePaths } from "./redirects.ts";

/** A group, or the namespace of a user's own projects. */
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

/** The values of a new namespace. */
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

const NAMESPACE =
  "select id, kind, name, path, full_name, full_path, visibility, parent_id, owner_id, updated_at from namespaces";
const BY_ID = `${NAMESPACE} where id = ? and visibility > ${BEING_DELETED}`;
const BY_PATH = `${NAMESPACE} where lower(full_path) = lower(?) and visibility > ${BEING_DELETED}`;
const BY_OWNER = `${NAMESPACE} where owner_id = ?`;
const GROUPS = `${NAMESPACE} where kind = 'group' and visibility > ${BEING_DELETED} order by lower(full_path), id`;

/** A namespace by its id, or `undefined`. */
export function find(db: Reader, namespaceId: number): Awaitable<Namespace | undefined> {
  return db.one<Namespace>(BY_ID, [namespaceId]);
}

/** A namespace by its full path, ignoring case, or `undefined`. */
export function findByPath(db: Reader, fullPath: string): Awaitable<Namespace | undefined> {
  return db.one<Namespace>(BY_PATH, [fullPath]);
}

/** A namespace by its id, if the name is all digits, or else by its full path, or `undefined`. */
export function findNamed(db: Reader, name: string): Awaitable<Namespace | undefined> {
  return /^\d{1,15}$/.test(name) ? find(db, Number(name)) : findByPath(db, name);
}

/** The namespace of a user's own projects, or `undefined`. */
export function findPersonal(db: Reader, userId: number): Awaitable<Namespace | undefined> {
  return db.one<Namespace>(BY_OWNER, [userId]);
}

/** Every group, by full path. */
export function allGroups(db: Reader): Awaitable<Namespace[]> {
  return db.all<Namespace>(GROUPS);
}

const LINKED = linkedLevel("?");

/** A user's highest level in a namespace: as they belong to it or to a group above, or as its owner; 0 if none. */
export async function levelIn(
  db: Reader,
  namespaceId: number,
  userId: number,
  today: string,
): Promise<number> {
  const found = await db.one<{ level: number | null }>(
    `select max(level) as level from (
       select m.access_level as level from members m
       join namespace_ancestors a on a.ancestor_id = m.namespace_id
       where a.namespace_id = ? and m.user_id = ? and (m.expires_at is null or m.expires_at > ?)
       union all
       ${LINKED}
       union all
       select 50 from namespaces where id = ? and owner_id = ?) as levels`,
    [namespaceId, userId, today, namespaceId, userId, today, today, namespaceId, userId],
  );
  return found?.level ?? 0;
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

/** Adds a namespace with its rows of ancestors, and returns its id. */
export async function insert(db: Database, namespace: NewNamespace, now: number): Promise<number> {
  const { parent } = namespace;
  const full_path = parent ? `${parent.full_path}/${namespace.path}` : namespace.path;
  await releasePaths(db, full_path);
  const id = await insertRow(db, "namespaces", {
    kind: namespace.kind,
    name: namespace.name,
    path: namespace.path,
    full_name: parent ? `${parent.full_name} / ${namespace.name}` : namespace.name,
    full_path,
    description: namespace.description ?? "",
    visibility: namespace.visibility,
    parent_id: parent?.id ?? null,
    owner_id: namespace.owner_id ?? null,
    lfs_enabled: namespace.lfs_enabled === false ? 0 : 1,
    request_access_enabled: namespace.request_access_enabled === false ? 0 : 1,
    created_at: now,
    updated_at: now,
  });
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
  const [namespaces, projects] = [
    belowGroup("id", namespaceId),
    belowGroup("namespace_id", namespaceId),
  ];
  if (to.full_path !== from.full_path) {
    await releasePaths(db, to.full_path);
    await keepPaths(db, projects);
  }
  await db.run(
    `update namespaces set full_path = cast(? as text) || substr(full_path, ?),
       full_name = cast(? as text) || substr(full_name, ?)
     where ${namespaces.sql}`,
    [
      to.full_path,
      [...from.full_path].length + 1,
      to.full_name,
      [...from.full_name].length + 1,
      ...namespaces.values,
    ],
  );
  await db.run(
    `update projects set full_path = cast(? as text) || substr(full_path, ?) where ${projects.sql}`,
    [to.full_path, [...from.full_path].length + 1, ...projects.values],
  );
}

/** The longest full path of a namespace and everything below it. */
export async function longestPath(db: Reader, namespaceId: number): Promise<string> {
  const [namespaces, projects] = [
    belowGroup("id", namespaceId),
    belowGroup("namespace_id", namespaceId),
  ];
  const longest = await db.one<{ full_path: string }>(
    `select full_path from (select full_path from namespaces where ${namespaces.sql}
       union all select full_path from projects where ${projects.sql}) as paths
     order by length(full_path) desc limit 1`,
    [...namespaces.values, ...projects.values],
  );
  return longest?.full_path ?? "";
}

/** Whether a namespace is a group or below it. */
export async function isBelow(db: Reader, namespaceId: number, groupId: number): Promise<boolean> {
  const found = await db.rows(
    "select 1 from namespace_ancestors where namespace_id = ? and ancestor_id = ?",
    [namespaceId, groupId],
  );
  return found.length > 0;
}

/** Puts a group, with everything below it, into another group, which is not below it, or to the top level. */
export async function setParent(
  db: Database,
  groupId: number,
  parentId: number | null,
): Promise<void> {
  await db.run("update namespaces set parent_id = ? where id = ?", [parentId, groupId]);
  await db.run(
    `delete from namespace_ancestors
     where namespace_id in (select namespace_id from namespace_ancestors where ancestor_id = ?)
       and ancestor_id in (select ancestor_id from namespace_ancestors where namespace_id = ? and depth > 0)`,
    [groupId, groupId],
  );
  await db.run(
    `insert into namespace_ancestors (namespace_id, ancestor_id, depth)
     select below.namespace_id, above.ancestor_id, below.depth + above.depth + 1
     from namespace_ancestors below cross join namespace_ancestors above
     where below.ancestor_id = ? and above.namespace_id = ?`,
    [groupId, parentId ?? 0],
  );
  await spreadBelow(db, groupId);
}

/** Makes a group, and everything below it, no more visible than a level. */
export async function lowerVisibility(db: Database, groupId: number, level: number): Promise<void> {
  const [namespaces, projects] = [belowGroup("id", groupId), belowGroup("namespace_id", groupId)];
  await db.run(`update namespaces set visibility = ? where ${namespaces.sql} and visibility > ?`, [
    level,
    ...namespaces.values,
    level,
  ]);
  await db.run(`update projects set visibility = ? where ${projects.sql} and visibility > ?`, [
    level,
    ...projects.values,
    level,
  ]);
}
