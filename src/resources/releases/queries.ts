import { usesFeature, type Viewer, visibleCode } from "../../core/access/visibility.ts";
import { offsetOf, type Page, pageReader, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { all, belowGroup, firstOfProjects, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { link, storedRelease } from "./json.ts";

/** A release as stored. */
export interface Release {
  readonly id: number;
  readonly tag: string;
}

const RELEASES =
  "releases r join projects p on p.id = r.project_id left join users u on u.id = r.author_id";

/** The orders of releases. */
export const ORDERS = ["released_at", "created_at"] as const;

/** A page of the releases of a project, as rows of {@link storedRelease}. */
export function list(
  db: Reader,
  page: Page,
  projectId: number,
  {
    order_by,
    sort,
    updated_after,
    updated_before,
  }: {
    readonly order_by: (typeof ORDERS)[number];
    readonly sort: "asc" | "desc";
    readonly updated_after?: number | undefined;
    readonly updated_before?: number | undefined;
  },
): Promise<RowPage> {
  const { sql, values } = all([
    when("r.project_id = ?", projectId),
    when("r.updated_at >= ?", updated_after),
    when("r.updated_at <= ?", updated_before),
  ]);
  return paginate(db, storedRelease, page, {
    from: `${RELEASES} where ${sql}`,
    values,
    order: `r.${order_by} ${sort}, r.id ${sort}`,
    countFrom: `releases r where ${sql}`,
  });
}

/** The first releases of a group, up to this one, are collected from the first ones of each project. */
const LOOK_AHEAD = 250;
const ANY = { sql: "1 = 1", values: [] };

/**
 * A page of the releases of the projects in a group and below it whose code the viewer may read.
 *
 * @param shown what the rows are selected for
 */
export function listInGroup(
  db: Reader,
  page: Page,
  groupId: number,
  viewer: Viewer,
  sort: "asc" | "desc",
  shown: Presenter = storedRelease,
): Promise<RowPage> {
  const projects = all([
    belowGroup("p.namespace_id", groupId),
    usesFeature(viewer, "releases"),
    visibleCode(viewer),
  ]);
  const order = `r.released_at ${sort}, r.id ${sort}`;
  const most = offsetOf(page) + page.size + 1;
  const { sql, values } =
    most <= LOOK_AHEAD
      ? firstOfProjects(db, { alias: "r", table: "releases" }, projects, ANY, order, most)
      : projects;
  return paginate(db, shown, page, {
    from: `${RELEASES} where ${sql}`,
    values,
    order,
    countFrom: `releases r join projects p on p.id = r.project_id where ${projects.sql}`,
    countValues: projects.values,
  });
}

/** A release by its tag, or `undefined`. */
export function find(db: Reader, projectId: number, tag: string): Awaitable<Release | undefined> {
  return db.one<Release>("select id, tag from releases where project_id = ? and tag = ?", [
    projectId,
    tag,
  ]);
}

/** The tag of the release that was released last, if there is one. @param now epoch milliseconds */
export async function latestTag(
  db: Reader,
  projectId: number,
  now: number,
): Promise<string | undefined> {
  const [found] = await db.rows(
    `select tag from releases where project_id = ? and released_at <= ?
     order by released_at desc, id desc limit 1`,
    [projectId, now],
  );
  return found?.[0] as string | undefined;
}

/** A release as a row of {@link storedRelease}, or `undefined`. */
export async function stored(db: Reader, releaseId: number): Promise<Value[] | undefined> {
  const [found] = await db.rows(`select ${storedRelease.columns} from ${RELEASES} where r.id = ?`, [
    releaseId,
  ]);
  return found;
}

/** What webhooks are told of a release: rows of {@link storedRelease} and {@link link}. */
export interface ToldRelease {
  readonly row: readonly Value[];
  readonly links: readonly (readonly Value[])[];
}

/** What webhooks are told of a release, or `undefined` if it is gone. */
export async function told(db: Reader, releaseId: number): Promise<ToldRelease | undefined> {
  const row = await stored(db, releaseId);
  const links = (await linksOf(db, link.columns, [releaseId])).get(releaseId) ?? [];
  return row && { row, links };
}

/** Rows of some releases, each beginning with the release's id. */
async function ofReleases(
  db: Reader,
  columns: string,
  from: string,
  column: string,
  ids: readonly number[],
  order: string,
): Promise<Map<number, Value[][]>> {
  const rows = new Map<number, Value[][]>(ids.map((id) => [id, []]));
  if (ids.length === 0) return rows;
  const { sql, values } = placeholders(ids);
  const found = await db.rows(
    `select ${column}, ${columns} from ${from} where ${column} in (${sql}) order by ${order}`,
    values,
  );
  for (const [id, ...row] of found) rows.get(id as number)?.push(row);
  return rows;
}

/** The links of some releases, the newest first. @param columns of `rk` and `r` */
export const linksOf = (db: Reader, columns: string, ids: readonly number[]) =>
  ofReleases(
    db,
    columns,
    "release_links rk join releases r on r.id = rk.release_id",
    "rk.release_id",
    ids,
    "rk.id desc",
  );

/** The evidences of some releases. @param columns of `evd`, `r` and `p` */
export const evidencesOf = (db: Reader, columns: string, ids: readonly number[]) =>
  ofReleases(
    db,
    columns,
    `release_evidences evd join releases r on r.id = evd.release_id
     join projects p on p.id = r.project_id`,
    "evd.release_id",
    ids,
    "evd.id",
  );

/** The milestones of some releases. @param columns of `m`, `mp` and `mn` */
export const milestonesOf = (db: Reader, columns: string, ids: readonly number[]) =>
  ofReleases(
    db,
    columns,
    `release_milestones rm join milestones m on m.id = rm.milestone_id and m.removed = 0
     left join projects mp on mp.id = m.project_id left join namespaces mn on mn.id = m.namespace_id`,
    "rm.release_id",
    ids,
    "m.id",
  );

/** The descriptions of releases by their tags. */
export async function notesOf(
  db: Reader,
  projectId: number,
  tags: readonly string[],
): Promise<Map<string, string | null>> {
  if (tags.length === 0) return new Map();
  const { sql, values } = placeholders(tags);
  const found = await db.rows(
    `select tag, description from releases where project_id = ? and tag in (${sql})`,
    [projectId, ...values],
  );
  return new Map(found as [string, string | null][]);
}

/** A new release. */
export interface NewRelease {
  project_id: number;
  tag: string;
  name: string | null;
  description: string | null;
  sha: string | null;
  author_id: number | null;
  released_at: number;
}

/** Adds a release, and returns its id. */
export function insert(db: Database, release: NewRelease, now: number): Promise<number> {
  return insertRow(db, "releases", { ...release, created_at: now, updated_at: now });
}

/** Replaces the milestones of a release. */
export async function setMilestones(
  db: Database,
  releaseId: number,
  milestoneIds: readonly number[],
): Promise<void> {
  await db.run("delete from release_milestones where release_id = ?", [releaseId]);
  for (const id of new Set(milestoneIds)) {
    await db.run("insert into release_milestones (release_id, milestone_id) values (?, ?)", [
      releaseId,
      id,
    ]);
  }
}

/** Deletes a release with its links; its tag stays. */
export async function remove(db: Database, projectId: number, tag: string): Promise<void> {
  await db.run("delete from releases where project_id = ? and tag = ?", [projectId, tag]);
}

/** A link as stored. */
export interface Link {
  readonly name: string;
  readonly url: string;
  readonly filepath: string | null;
  readonly link_type: string;
}

/** A page of the links of a release, the newest first. */
export const pageOfLinks = pageReader({
  from: "release_links rk join releases r on r.id = rk.release_id where rk.release_id = ?",
  order: "rk.id desc",
});

/** A link of a release in a presenter's columns, or `undefined`. */
export async function linkRow(
  db: Reader,
  columns: string,
  releaseId: number,
  linkId: number,
): Promise<Value[] | undefined> {
  const [found] = await db.rows(
    `select ${columns} from release_links rk join releases r on r.id = rk.release_id
     where rk.release_id = ? and rk.id = ?`,
    [releaseId, linkId],
  );
  return found;
}

/** A link of a release, or `undefined`. */
export function findLink(
  db: Reader,
  releaseId: number,
  linkId: number,
): Awaitable<Link | undefined> {
  return db.one<Link>(
    "select name, url, filepath, link_type from release_links where release_id = ? and id = ?",
    [releaseId, linkId],
  );
}

/** Which of a link's attributes another link of the release has. */
export async function takenBy(
  db: Reader,
  releaseId: number,
  link: Link,
  exceptId: number,
): Promise<(keyof Link)[]> {
  const others = await db.all<Link>(
    `select name, url, filepath from release_links
     where release_id = ? and id <> ? and (name = ? or url = ? or filepath = ?)`,
    [releaseId, exceptId, link.name, link.url, link.filepath],
  );
  return (["url", "name", "filepath"] as const).filter(
    (key) => link[key] !== null && others.some((other) => other[key] === link[key]),
  );
}

/** Adds a link to a release, and returns its id. */
export function insertLink(
  db: Database,
  releaseId: number,
  { name, url, filepath, link_type }: Link,
  now: number,
): Promise<number> {
  const row = { release_id: releaseId, name, url, filepath, link_type, updated_at: now };
  return insertRow(db, "release_links", row);
}
