import type { StoredFile } from "../../files/write.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import type { Kind, Place } from "./format.ts";

/** Objects in a batch, as in GitLab. */
export const BATCH = 1000;

const EVENTS = ["resource_label_events", "resource_milestone_events", "resource_state_events"];
const ABOUT = ["notes", "award_emoji", "timelogs", ...EVENTS];
const OF_BOARDS = ["boards", "board_labels", "board_lists"];

/**
 * What can be exported apart, with the tables that it has: first that of its objects, then those of their parts. `self` is
 * the group or the settings of the project.
 */
export const RELATIONS: Readonly<Record<Kind, Readonly<Record<string, readonly string[]>>>> = {
  group: {
    badges: ["badges"],
    boards: OF_BOARDS,
    epics: [
      ...["issues", "epic_details", "issue_labels", "issue_subscriptions", "work_item_parents"],
      ...["issue_links", "notes", "award_emoji", "resource_label_events", "resource_state_events"],
    ],
    labels: ["labels"],
    members: ["members"],
    milestones: ["milestones"],
    self: ["namespaces"],
  },
  project: {
    boards: OF_BOARDS,
    issues: [
      ...["issues", "issue_assignees", "issue_labels", "issue_subscriptions", "issue_links"],
      ...["work_item_parents", "resource_weight_events", ...ABOUT],
    ],
    labels: ["labels"],
    merge_requests: [
      ...["merge_requests", "merge_request_assignees", "merge_request_reviewers"],
      ...["merge_request_labels", "merge_request_subscriptions", "merge_request_versions"],
      ...["approvals", ...ABOUT, "note_positions", "suggestions"],
    ],
    milestones: ["milestones"],
    project_badges: ["badges"],
    project_members: ["members"],
    protected_branches: ["protected_branches", "protection_grants"],
    protected_tags: ["protected_tags", "protection_grants"],
    releases: ["releases", "release_links"],
    self: [],
    snippets: ["snippets", "snippet_files", "notes", "award_emoji"],
  },
};

const COLUMNS = { project: "project_id", group: "namespace_id" } as const;

/** Where the export of a relation is, with GitLab's numbers. */
export const STATUSES = { failed: -1, started: 0, finished: 1 } as const;

/** The export of a relation. */
export interface RelationExport {
  readonly id: number;
  readonly relation: string;
  readonly status: number;
  readonly batched: number;
  readonly error: string | null;
  /** Objects in all files together. */
  readonly total: number;
  readonly updated_at: number;
}

const EXPORTS =
  "select id, relation, status, batched, error, total, updated_at from relation_exports";

/** The exports of a project's or group's relations that were asked for last, by name. */
export function list(db: Reader, { kind, id }: Place): Awaitable<RelationExport[]> {
  return db.all<RelationExport>(`${EXPORTS} where ${COLUMNS[kind]} = ? order by relation`, [id]);
}

/** Notes that all relations are to be exported. What was exported before is gone. */
export async function queue(
  db: Database,
  { kind, id }: Place,
  batched: boolean,
  now: number,
): Promise<void> {
  const column = COLUMNS[kind];
  await db.run(`delete from relation_exports where ${column} = ?`, [id]);
  for (const relation of Object.keys(RELATIONS[kind])) {
    const row = { [column]: id, relation, batched: Number(batched), total: 0 };
    await insertRow(db, "relation_exports", { ...row, status: STATUSES.started, updated_at: now });
  }
}

/** Notes how the export of a relation has ended. */
export async function end(
  db: Database,
  exportId: number,
  { error = null, total = 0 }: { error?: string | null; total?: number },
  now: number,
): Promise<void> {
  const status = error === null ? STATUSES.finished : STATUSES.failed;
  await db.run(
    "update relation_exports set status = ?, error = ?, total = ?, updated_at = ? where id = ?",
    [status, error, total, now, exportId],
  );
}

/** The file of one batch, or of a whole relation. */
export interface BatchFile {
  readonly number: number;
  readonly objects: number;
  readonly updated_at: number;
}

/** The files of an export, in their order. */
export function filesOf(db: Reader, exportId: number): Awaitable<BatchFile[]> {
  return db.all<BatchFile>(
    "select number, objects, updated_at from relation_export_files where export_id = ? order by number",
    [exportId],
  );
}

/** Forgets the files of an export, which is to be written again. */
export async function removeFiles(db: Database, exportId: number): Promise<void> {
  await db.run("delete from relation_export_files where export_id = ?", [exportId]);
}

/** Adds a file to an export, unless that was asked for again meanwhile. */
export async function addFile(
  db: Database,
  exportId: number,
  { number, objects, updated_at }: BatchFile,
  file: StoredFile,
): Promise<void> {
  const [found] = await db.rows("select 1 from relation_exports where id = ?", [exportId]);
  if (!found) return;
  await db.run(
    `insert into relation_export_files (export_id, number, objects, file_id, updated_at)
     values (?, ?, ?, ?, ?)`,
    [exportId, number, objects, file.id, updated_at],
  );
}

/** The file of a batch; without a number, that of the whole relation. */
export function findFile(
  db: Reader,
  exportId: number,
  number = 1,
): Awaitable<StoredFile | undefined> {
  return db.one<StoredFile>(
    `select f.id, f.size, f.sha256 from relation_export_files r join stored_files f on f.id = r.file_id
     where r.export_id = ? and r.number = ?`,
    [exportId, number],
  );
}

/** Forgets exports of relations that were written before an instant, in epoch milliseconds. */
export async function removeBefore(db: Database, before: number): Promise<number> {
  return db.run("delete from relation_exports where updated_at < ?", [before]);
}
