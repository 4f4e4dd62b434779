import type { Owner } from "../../core/access/owner.ts";
import { type Source, sourcesById } from "../../core/access/source.ts";
import {
  BEING_DELETED,
  isOpenTo,
  type Viewer,
  visibleGroups,
} from "../../core/access/visibility.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import { belowGroup, type Condition } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { isMember } from "../members/abilities.ts";
import { spreadLink } from "../namespaces/link-sources.ts";
import { removeGrantsByLink } from "../protected-refs/grants.ts";
import { SHARED_GROUP } from "./json.ts";

/** A group that is invited to a group or project, as stored. */
export interface Link {
  readonly id: number;
  readonly namespace_id: number | null;
  readonly project_id: number | null;
  readonly group_id: number;
  readonly access_level: number;
  /** The day on which it ends, `YYYY-MM-DD`, or `null`. */
  readonly expires_at: string | null;
  readonly updated_at: number;
}

const COLUMNS = "id, namespace_id, project_id, group_id, access_level, expires_at, updated_at";

/** The link of a group or project to an invited group, or `undefined`. */
export function find(db: Reader, owner: Owner, groupId: number): Awaitable<Link | undefined> {
  return db.one<Link>(
    `select ${COLUMNS} from group_links where ${owner.column} = ? and group_id = ?`,
    [owner.id, groupId],
  );
}

/** A link as a row of its presenter. */
export const row = rowReader("group_links l where l.id = ?");

/** How many groups are invited to a group or project itself. */
export async function count(db: Reader, owner: Owner): Promise<number> {
  const sql = `select count(*) from group_links where ${owner.column} = ?`;
  return Number((await db.rows(sql, [owner.id]))[0]?.[0]);
}

/** Invites a group, and returns the id of the link. */
export async function insert(
  db: Database,
  owner: Owner,
  link: Pick<Link, "group_id" | "access_level" | "expires_at">,
  now: number,
): Promise<number> {
  const { group_id, access_level, expires_at } = link;
  const given = { [owner.column]: owner.id, group_id, access_level, expires_at };
  const id = await insertRow(db, "group_links", { ...given, created_at: now, updated_at: now });
  await spreadLink(db, id);
  return id;
}

/** Ends links, and what the members of their groups may do by name: those that a condition on their columns names. */
async function removeWhere(db: Database, { sql, values }: Condition): Promise<Link[]> {
  const removed = await db.all<Link>(
    `delete from group_links where ${sql} returning ${COLUMNS}`,
    values,
  );
  for (const link of removed) await removeGrantsByLink(db, link);
  return removed;
}

/** Ends a link. */
export async function remove(db: Database, { id }: Link): Promise<void> {
  await removeWhere(db, { sql: "id = ?", values: [id] });
}

/** Ends links that have expired on a day, at most `batch` of them, and returns them. */
export const removeExpired = (db: Database, today: string, batch: number): Promise<Link[]> =>
  removeWhere(db, {
    sql: "id in (select id from group_links where expires_at <= ? order by expires_at, id limit ?)",
    values: [today, batch],
  });

/** Ends all links to a group that is deleted, and to those below it. Nobody may do more by name than by their level. */
export async function removeOfGroups(db: Database, groupId: number): Promise<void> {
  const { sql, values } = belowGroup("group_id", groupId);
  await db.run(`delete from group_links where ${sql}`, values);
}

/** The full path of the group or project that a link is of, and of its group. */
export async function pathsOf(db: Reader, link: Link): Promise<[place: string, group: string]> {
  const [row] = await db.rows(
    `select coalesce((select full_path from projects where id = ?), (select full_path from namespaces where id = ?)),
       (select full_path from namespaces where id = ?)`,
    [link.project_id, link.namespace_id, link.group_id],
  );
  return [String(row?.[0]), String(row?.[1])];
}

/**
 * Fills in the groups that are invited to groups or projects, as far as the viewer may see them, in rows that have some: with
 * one query for all.
 *
 * @param presenter of the rows, which may have `sharedWithGroups`
 */
export async function embedShared(
  db: Reader,
  rows: readonly Value[][],
  presenter: Presenter,
  column: Owner["column"],
  viewer: Viewer,
): Promise<void> {
  if (!("shared_with_groups" in presenter.fields)) return;
  const [at, idAt] = [presenter.at("shared_with_groups"), presenter.at("id")];
  const missing = rows.filter((row) => row[at] === null);
  if (missing.length === 0) return;
  const among = placeholders(missing.map((row) => row[idAt] as Value));
  const found = await db.all<{ owner_id: number; group_id: number } & Record<string, Value>>(
    `select l.${column} as owner_id, ${SHARED_GROUP.join(", ")}
     from group_links l join namespaces n on n.id = l.group_id
     where l.${column} in (${among.sql}) order by l.id`,
    among.values,
  );
  const visible = await visibleAmong(
    db,
    found.map(({ group_id }) => group_id),
    viewer,
  );
  const shared = new Map<Value, object[]>();
  for (const { owner_id: owner, ...group } of found) {
    if (!visible.has(group.group_id)) continue;
    shared.set(owner, [...(shared.get(owner) ?? []), group]);
  }
  for (const row of missing) row[at] = JSON.stringify(shared.get(row[idAt] as Value) ?? []);
}

/** Those of some groups that the viewer may see: mostly by their visibility or level, and few by what is below them. */
async function visibleAmong(
  db: Reader,
  groupIds: readonly number[],
  viewer: Viewer,
): Promise<Set<Value>> {
  const sources = [...(await sourcesById(db, "group", [...new Set(groupIds)], viewer)).values()];
  const living = sources.filter(({ visibility }) => visibility > BEING_DELETED);
  const isOpen = (group: Source) => isMember(group) || isOpenTo(viewer, group);
  const [open, other] = [living.filter(isOpen), living.filter((group) => !isOpen(group))];
  const seen = new Set<Value>(open.map(({ id }) => id));
  if (other.length === 0 || !viewer.caller) return seen;
  const among = placeholders(other.map(({ id }) => id));
  const { sql, values } = visibleGroups(viewer);
  const below = await db.rows(
    `select n.id from namespaces n where n.id in (${among.sql}) and ${sql}`,
    [...among.values, ...values],
  );
  for (const [id] of below) seen.add(id as Value);
  return seen;
}
