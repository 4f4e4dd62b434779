import { BEING_DELETED } from "../../core/access/visibility.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { sealerFor } from "../../core/sealed.ts";
import type { Secrets } from "../../core/secrets.ts";
import { add } from "../../jobs/outbox.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import type { Place } from "../exports/format.ts";
import type { SourceType } from "./dialects.ts";
import { purposeOf } from "./table.ts";

/** The name of the worker that imports from other servers. */
export const BULK_IMPORT_WORKER = "bulk-imports";

/** What the worker is to do, with the id of the import. */
export interface BulkImportTask {
  readonly bulkImport: number;
}

/** Where an import or one of its entities is. */
export type Status = "created" | "started" | "finished" | "failed" | "canceled";
/** Where one is that has not ended. */
export const OPEN: readonly Status[] = ["created", "started"];

/** What an import has: a group or a project. */
export type EntityType = "group_entity" | "project_entity";

/** An import. */
export interface BulkImport {
  readonly id: number;
  readonly user_id: number | null;
  readonly status: Status;
  readonly source_type: SourceType;
  readonly source_url: string;
  readonly source_user_id: number;
  readonly token: string | null;
}

/** A group or project of an import, as it is asked for. */
export interface NewEntity {
  readonly entity_type: EntityType;
  readonly source_full_path: string;
  /** Its path here. */
  readonly destination_slug: string;
  /** The full path of the group that it is put into; `""` for none. */
  readonly destination_namespace: string;
  readonly migrate_projects: number;
  readonly migrate_memberships: number;
}

/** {@link NewEntity} of an import that has begun. */
export interface Entity extends NewEntity {
  readonly id: number;
  readonly bulk_import_id: number;
  readonly source_id: number | null;
  readonly namespace_id: number | null;
  readonly project_id: number | null;
  readonly status: Status;
  /** JSON of what has been done, by its name. */
  readonly progress: string;
}

/** How many records of a kind there are on the other server, and how many of them are here. */
export interface Count {
  readonly source: number;
  readonly fetched: number;
  readonly imported: number;
}

/** What has been done of a group or project. */
interface Progress {
  readonly done?: string[];
  /** The pages that lists are at. */
  readonly pages?: Record<string, number>;
  readonly stats?: Record<string, Count>;
}

/** Reads {@link Entity.progress}. */
export const progressOf = (progress: string): Progress => JSON.parse(progress);

/** An import that is asked for. */
export interface NewImport {
  readonly userId: number;
  readonly sourceType: SourceType;
  readonly sourceUrl: string;
  /** The id there of the user who has the token. */
  readonly sourceUserId: number;
  readonly token: string;
  readonly entities: readonly NewEntity[];
}

/** How many imports a user has begun since an instant, in epoch milliseconds. */
export async function countSince(db: Reader, userId: number, since: number): Promise<number> {
  const [row] = await db.rows(
    "select count(*) from bulk_imports where user_id = ? and created_at > ?",
    [userId, since],
  );
  return Number(row?.[0]);
}

/** Notes an import, and returns its id. @throws SecretKeyError if there is no key for its token */
export async function insert(
  db: Database,
  secrets: Secrets,
  { userId, sourceType, sourceUrl, sourceUserId, token, entities }: NewImport,
  now: number,
): Promise<number> {
  const at = { created_at: now, updated_at: now };
  const id = await insertRow(db, "bulk_imports", {
    ...{ user_id: userId, status: "created", source_type: sourceType, source_url: sourceUrl },
    ...{ source_user_id: sourceUserId, ...at },
  });
  const sealed = (await sealerFor(db, secrets))(token, purposeOf(id));
  await db.run("update bulk_imports set token = ? where id = ?", [sealed, id]);
  for (const entity of entities) await addEntity(db, id, entity, null, now);
  return id;
}

/**
 * Takes up an import that was interrupted, and that no worker will go on with.
 *
 * @returns its id; `undefined` if there is none
 */
export async function takeUp(
  db: Database,
  secrets: Secrets,
  { userId, sourceType, sourceUrl, sourceUserId, token, entities }: NewImport,
): Promise<number | undefined> {
  const [first] = entities;
  if (!first) return undefined;
  const [row] = await db.rows(
    `select b.id from bulk_imports b join bulk_import_entities e on e.bulk_import_id = b.id
     where b.user_id = ? and b.source_type = ? and b.source_url = ? and b.source_user_id = ? and b.status in ('created', 'started')
       and e.parent_id is null and e.entity_type = ? and e.source_full_path = ? and e.destination_slug = ?
       and e.destination_namespace = ?
       and not exists (select 1 from outbox o where o.worker = ? and o.order_key = b.id)
     order by b.id desc limit 1`,
    [
      ...[userId, sourceType, sourceUrl, sourceUserId],
      ...[first.entity_type, first.source_full_path],
      ...[first.destination_slug, first.destination_namespace, BULK_IMPORT_WORKER],
    ],
  );
  if (!row) return undefined;
  const id = row[0] as number;
  const sealed = (await sealerFor(db, secrets))(token, purposeOf(id));
  await db.run("update bulk_imports set token = ? where id = ?", [sealed, id]);
  return id;
}

/** Has an import done by the worker. */
export const queue = (db: Database, importId: number, now: number): Promise<void> =>
  add<BulkImportTask>(
    db,
    BULK_IMPORT_WORKER,
    [{ bulkImport: importId }],
    now,
    ({ bulkImport }) => bulkImport,
  );

/** Adds a group or project to an import, unless it is in it. */
export async function addEntity(
  db: Database,
  importId: number,
  entity: NewEntity,
  parentId: number | null,
  now: number,
): Promise<void> {
  const row = {
    ...{ bulk_import_id: importId, parent_id: parentId, ...entity },
    ...{ status: "created", progress: "{}", created_at: now, updated_at: now },
  };
  const columns = Object.keys(row);
  await db.run(
    `insert into bulk_import_entities (${columns.join(", ")}) values (${columns.map(() => "?").join(", ")})
     on conflict do nothing`,
    Object.values(row),
  );
}

/** An import, or `undefined`. */
export const find = (db: Reader, id: number): Awaitable<BulkImport | undefined> =>
  db.one<BulkImport>(
    "select id, user_id, status, source_type, source_url, source_user_id, token from bulk_imports where id = ?",
    [id],
  );

const ENTITY = `select e.id, e.bulk_import_id, e.entity_type, e.source_full_path, e.source_id, e.destination_slug,
  e.destination_namespace, e.migrate_projects, e.migrate_memberships, e.namespace_id, e.project_id, e.status, e.progress
  from bulk_import_entities e`;

/** The next group or project of an import that is not done: groups in the order of their parents. */
export const nextEntity = (db: Reader, importId: number): Awaitable<Entity | undefined> =>
  db.one<Entity>(
    `${ENTITY} where e.bulk_import_id = ? and e.status in ('created', 'started') order by e.id limit 1`,
    [importId],
  );

/** The full path here of a group or project of an import. */
export const pathOf = ({ destination_namespace: above, destination_slug: slug }: NewEntity) =>
  above === "" ? slug : `${above}/${slug}`;

/** How many groups and projects an import has, and how many of them are done. */
export async function countEntities(
  db: Reader,
  importId: number,
): Promise<{ done: number; total: number }> {
  const [row] = await db.rows(
    `select count(*), coalesce(sum(case when status in ('created', 'started') then 0 else 1 end), 0)
     from bulk_import_entities where bulk_import_id = ?`,
    [importId],
  );
  return { total: Number(row?.[0]), done: Number(row?.[1]) };
}

/** A failure, with the path there of what it is in. */
interface Reported {
  readonly source: string;
  readonly relation: string;
  readonly title: string | null;
  readonly reason: string;
}

/** The groups and projects of an import, and what could not be brought. */
export async function report(
  db: Reader,
  importId: number,
): Promise<{ entities: Entity[]; failures: Reported[] }> {
  const entities = await db.all<Entity>(`${ENTITY} where e.bulk_import_id = ? order by e.id`, [
    importId,
  ]);
  const failures = await db.all<Reported>(
    `select e.source_full_path as source, f.relation, f.source_title as title, f.message as reason
     from bulk_import_failures f join bulk_import_entities e on e.id = f.entity_id
     where e.bulk_import_id = ? order by f.id limit ${MOST_FAILURES}`,
    [importId],
  );
  return { entities, failures };
}

/** Notes where an import is. Its token is forgotten once it has ended. */
export async function setStatus(
  db: Database,
  importId: number,
  status: Status,
  now: number,
): Promise<void> {
  const token = OPEN.includes(status) ? "token" : "null";
  await db.run(
    `update bulk_imports set status = ?, token = ${token}, updated_at = ?
     where id = ? and status in ('created', 'started')`,
    [status, now, importId],
  );
}

/** Where an import of a repository is, which is shown with its project. */
type ProjectStatus = "started" | "finished" | "failed" | "canceled";

/** Notes with a project that it is being imported from a server of repositories. @param url of its repository */
export async function noteProject(
  db: Database,
  { source_type: kind, user_id }: Pick<BulkImport, "source_type" | "user_id">,
  projectId: number,
  url: string,
  now: number,
): Promise<void> {
  await db.run(
    `insert into project_imports (project_id, user_id, status, url, kind, created_at) values (?, ?, 'scheduled', ?, ?, ?)
     on conflict (project_id) do update set user_id = excluded.user_id, status = excluded.status, url = excluded.url,
       kind = excluded.kind, error = null, created_at = excluded.created_at`,
    [projectId, user_id, url, kind, now],
  );
}

/** Notes with a project where its import from a server of repositories is. @param error why it failed */
export async function setProjectStatus(
  db: Database,
  { kind, id }: Place,
  status: ProjectStatus,
  error: string | null,
): Promise<void> {
  if (kind !== "project") return;
  await db.run(
    "update project_imports set status = ?, error = ? where project_id = ? and kind is not null",
    [status, error, id],
  );
}

/** Notes which project an import fills. @param told the repository, as the other server shows it */
export async function beginIn(
  db: Database,
  importId: number,
  { id }: Place,
  told: Readonly<Record<string, unknown>>,
): Promise<void> {
  await db.run(
    "update bulk_import_entities set project_id = ?, source_id = ? where bulk_import_id = ?",
    [id, Number(told["id"]), importId],
  );
}

/** The last import from GitHub that has filled a project; `undefined` if there is none. */
export function importOf(db: Reader, projectId: number): Awaitable<BulkImport | undefined> {
  return db.one<BulkImport>(
    `select b.id, b.user_id, b.status, b.source_type, b.source_url, b.source_user_id, b.token
     from bulk_import_entities e join bulk_imports b on b.id = e.bulk_import_id
     where e.project_id = ? and b.source_type = 'github' order by b.id desc limit 1`,
    [projectId],
  );
}

/** Ends what of an import has not ended. */
export async function cancel(db: Database, importId: number, now: number): Promise<void> {
  await setStatus(db, importId, "canceled", now);
  await db.run(
    `update bulk_import_entities set status = 'canceled', updated_at = ?
     where bulk_import_id = ? and status in ('created', 'started')`,
    [now, importId],
  );
}

/** How an import has ended, by how its groups and projects have. */
export async function resultOf(db: Reader, importId: number): Promise<Status> {
  const rows = await db.rows(
    "select distinct status from bulk_import_entities where bulk_import_id = ?",
    [importId],
  );
  const statuses = rows.map(([status]) => status);
  return statuses.includes("finished") || statuses.length === 0 ? "finished" : "failed";
}

/** Notes changes of a group or project of an import, unless that was canceled. */
export async function change(
  db: Database,
  entityId: number,
  columns: Partial<Record<"status" | "progress", string>> &
    Partial<Record<"source_id" | "namespace_id" | "project_id", number>>,
  now: number,
): Promise<void> {
  await updateRow(db, "bulk_import_entities", entityId, columns, now);
}

/** Whether an import was canceled, or is gone. */
export async function isOver(db: Reader, importId: number): Promise<boolean> {
  const found = await find(db, importId);
  return found === undefined || !OPEN.includes(found.status);
}

/** Whether a group or project is there, and not about to be deleted. */
export async function isThere(db: Reader, { kind, id }: Place): Promise<boolean> {
  const table = kind === "project" ? "projects" : "namespaces";
  const [row] = await db.rows(
    `select 1 from ${table} where id = ? and visibility > ${BEING_DELETED}`,
    [id],
  );
  return row !== undefined;
}

/** What could not be brought. */
export interface NewFailure {
  /** What kind of thing it is, such as `issues`. */
  readonly relation: string;
  readonly title?: string | null | undefined;
  readonly url?: string | undefined;
  readonly message: string;
}

/** Failures that are noted of a group or project. */
const MOST_FAILURES = 10_000;
const MOST_CHARACTERS = 255;

/** Notes what could not be brought, unless too much of it is noted. */
export async function fail(
  db: Database,
  entityId: number,
  { relation, title, url, message }: NewFailure,
  now: number,
): Promise<void> {
  const short = (text: string | null | undefined) =>
    text == null ? null : [...text.replaceAll("\0", "")].slice(0, MOST_CHARACTERS).join("");
  const [row] = await db.rows(
    "select 1 from bulk_import_failures where entity_id = ? order by id limit 1 offset ?",
    [entityId, MOST_FAILURES - 1],
  );
  if (row) return;
  await insertRow(db, "bulk_import_failures", {
    ...{ entity_id: entityId, relation, source_title: short(title), source_url: short(url) },
    ...{ message: short(message) ?? "", created_at: now },
  });
}

/** What was brought before to the place with a full path from the same place of the same server; `undefined` if nothing. */
export async function earlier(
  db: Reader,
  { id, user_id, source_url }: BulkImport,
  { entity_type, source_full_path }: NewEntity,
  fullPath: string,
): Promise<number | undefined> {
  const isGroup = entity_type === "group_entity";
  const [table, column] = isGroup ? ["namespaces", "namespace_id"] : ["projects", "project_id"];
  const [row] = await db.rows(
    `select o.id from bulk_import_entities e join bulk_imports b on b.id = e.bulk_import_id
     join ${table} o on o.id = e.${column}
     where lower(o.full_path) = lower(?) and b.source_url = ? and b.user_id = ? and b.id <> ?
       and e.source_full_path = ? and e.entity_type = ? limit 1`,
    [fullPath, source_url, user_id, id, source_full_path, entity_type],
  );
  return row?.[0] as number | undefined;
}

/** The project here that one of the other server was brought to by the same user; `undefined` if none. */
export async function projectOf(
  db: Reader,
  { user_id, source_url }: BulkImport,
  sourceId: number,
): Promise<number | undefined> {
  const [row] = await db.rows(
    `select e.project_id from bulk_imports b join bulk_import_entities e on e.bulk_import_id = b.id
     where b.user_id = ? and b.source_url = ? and e.source_id = ? and e.entity_type = 'project_entity'
       and e.project_id is not null order by e.id desc limit 1`,
    [user_id, source_url, sourceId],
  );
  return row?.[0] as number | undefined;
}

const columnOf = ({ kind }: Place) => (kind === "project" ? "project_id" : "namespace_id");

/** The ids here of records by their keys on the other server: `null` for those without an id. */
export async function recordsOf(
  db: Reader,
  place: Place,
  kind: string,
  keys: readonly string[],
): Promise<Map<string, number | null>> {
  if (keys.length === 0) return new Map();
  const among = placeholders(keys);
  const rows = await db.rows(
    `select source_key, local_id from bulk_import_records
     where ${columnOf(place)} = ? and kind = ? and source_key in (${among.sql})`,
    [place.id, kind, ...among.values],
  );
  return new Map(rows as [string, number | null][]);
}

/** Notes that a record is here. @returns whether it was not noted before */
export async function note(
  db: Database,
  place: Place,
  kind: string,
  key: string,
  localId: number | null,
): Promise<boolean> {
  const added = await db.run(
    `insert into bulk_import_records (${columnOf(place)}, kind, source_key, local_id) values (?, ?, ?, ?)
     on conflict do nothing`,
    [place.id, kind, key, localId],
  );
  return added === 1;
}

/** How many records of a kind a group or project has of the other server. */
export async function countRecords(db: Reader, place: Place, kind: string): Promise<number> {
  const [row] = await db.rows(
    `select count(*) from bulk_import_records where ${columnOf(place)} = ? and kind = ?`,
    [place.id, kind],
  );
  return Number(row?.[0]);
}

/** Which imports or entities a list has: those of a user. */
export interface Filter {
  readonly userId: number;
  readonly importId?: number | undefined;
  readonly status?: Status | undefined;
}

/** Lists have what was brought from GitLab: where others are is shown with their projects. */
const DIRECT: Condition = { sql: "bi.source_type = 'gitlab'", values: [] };
const IMPORTS = "bulk_imports bi";
const ENTITIES = "bulk_import_entities bie join bulk_imports bi on bi.id = bie.bulk_import_id";

/** A page of a user's imports. */
export const list = (
  db: Reader,
  presenter: Presenter,
  page: Page,
  { userId, status }: Filter,
  sort: "asc" | "desc",
): Promise<RowPage> =>
  paged(
    db,
    presenter,
    page,
    IMPORTS,
    [DIRECT, { sql: "bi.user_id = ?", values: [userId] }, when("bi.status = ?", status)],
    `bi.created_at ${sort}, bi.id ${sort}`,
  );

/** A page of the groups and projects of a user's imports, or of one. */
export const listEntities = (
  db: Reader,
  presenter: Presenter,
  page: Page,
  { userId, importId, status }: Filter,
  sort: "asc" | "desc",
): Promise<RowPage> =>
  paged(
    db,
    presenter,
    page,
    ENTITIES,
    [
      DIRECT,
      { sql: "bi.user_id = ?", values: [userId] },
      when("bie.bulk_import_id = ?", importId),
      when("bie.status = ?", status),
    ],
    `bie.created_at ${sort}, bie.id ${sort}`,
  );

/** A page of what could not be brought of a group or project. */
export const listFailures = (
  db: Reader,
  presenter: Presenter,
  page: Page,
  entityId: number,
): Promise<RowPage> =>
  paged(
    db,
    presenter,
    page,
    "bulk_import_failures bf",
    [{ sql: "bf.entity_id = ?", values: [entityId] }],
    "bf.id",
  );

function paged(
  db: Reader,
  presenter: Presenter,
  page: Page,
  tables: string,
  conditions: readonly (Condition | undefined)[],
  order: string,
): Promise<RowPage> {
  const where = all(conditions);
  return paginate(db, presenter, page, {
    from: `${tables} where ${where.sql}`,
    values: where.values,
    order,
  });
}

/** A user's import as a row of its presenter, or `undefined`. */
export async function row(db: Reader, presenter: Presenter, userId: number, id: number) {
  const rows = await db.rows(
    `select ${presenter.columns} from ${IMPORTS} where bi.id = ? and bi.user_id = ? and ${DIRECT.sql}`,
    [id, userId],
  );
  return rows[0];
}

/** A group or project of a user's import as a row of its presenter, or `undefined`. */
export async function entityRow(
  db: Reader,
  presenter: Presenter,
  { userId, importId }: Filter,
  id: number,
) {
  const rows = await db.rows(
    `select ${presenter.columns} from ${ENTITIES} where bie.id = ? and bie.bulk_import_id = ? and bi.user_id = ? and ${DIRECT.sql}`,
    [id, importId ?? 0, userId],
  );
  return rows[0];
}
