import * as field from "../../core/field.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, presenter, rowReader } from "../../core/presenter.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { idOf } from "../notes/discussions.ts";
import { positionFields } from "../notes/json.ts";
import type { Place } from "../notes/queries.ts";

/** The position of a draft that has none, as in GitLab. */
const NOWHERE = JSON.stringify({
  base_sha: null,
  start_sha: null,
  head_sha: null,
  old_path: null,
  new_path: null,
  position_type: "text",
  old_line: null,
  new_line: null,
  line_range: null,
});

/** A draft. */
export const draft = presenter({
  id: field.integer("dn.id"),
  author_id: field.integer("dn.author_id"),
  merge_request_id: field.integer("dn.merge_request_id"),
  resolve_discussion: field.flag("dn.resolve_discussion"),
  discussion_id: field.derived(["dn.thread_id"], "string", ([number]) =>
    number === null ? null : idOf(Number(number)),
  ),
  note: field.text("dn.body"),
  commit_id: field.text("dn.commit_id"),
  line_code: field.text("dn.line_code"),
  position: field.json(`coalesce(dn.position, '${NOWHERE}')`, "object", {
    fields: positionFields,
  }),
});

/** Whose drafts on what. */
export interface Of {
  readonly merge_request_id: number;
  readonly author_id: number;
}

const OWN = "dn.merge_request_id = ? and dn.author_id = ?";

/** The drafts of a user on a merge request, the oldest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  { merge_request_id, author_id }: Of,
): Promise<RowPage> {
  return paginate(db, presenter, page, {
    from: `draft_notes dn where ${OWN}`,
    values: [merge_request_id, author_id],
    order: "dn.id",
  });
}

/** One draft as a row of its presenter. */
export const row = rowReader("draft_notes dn where dn.id = ?");

/** A draft as stored. */
export interface Draft {
  id: number;
  body: string;
  thread_id: number | null;
  resolve_discussion: number;
  /** Null if it is not on a changed file, like the rest of its place. */
  path: string | null;
  line: number | null;
  line_type: Place["line_type"];
  line_code: string | null;
  position: string | null;
  commit_id: string | null;
}

const COLUMNS =
  "dn.id, dn.body, dn.thread_id, dn.resolve_discussion, dn.path, dn.line, dn.line_type, dn.line_code, dn.position, dn.commit_id";

/** A draft of a user on a merge request, or `undefined`. */
export async function find(
  db: Reader,
  { merge_request_id, author_id }: Of,
  id: number,
): Promise<Draft | undefined> {
  return db.one<Draft>(`select ${COLUMNS} from draft_notes dn where ${OWN} and dn.id = ?`, [
    merge_request_id,
    author_id,
    id,
  ]);
}

/** The ids of the drafts of a user on a merge request, the oldest first: there are few. */
export async function idsOf(db: Reader, { merge_request_id, author_id }: Of): Promise<number[]> {
  const found = await db.rows(`select dn.id from draft_notes dn where ${OWN} order by dn.id`, [
    merge_request_id,
    author_id,
  ]);
  return found.map(([id]) => id as number);
}

/** The values of a new draft. */
interface NewDraft extends Of {
  readonly project_id: number;
  readonly body: string;
  readonly thread_id: number | null;
  readonly resolve_discussion: boolean;
  readonly place: Place | undefined;
  readonly commit_id: string | null;
}

/** Adds a draft and returns its id. */
export function insert(
  db: Database,
  { place, resolve_discussion, ...draft }: NewDraft,
  now: number,
): Promise<number> {
  return insertRow(db, "draft_notes", {
    ...draft,
    resolve_discussion: resolve_discussion ? 1 : 0,
    ...placed(place),
    created_at: now,
    updated_at: now,
  });
}

/** Changes the text or the place of a draft: what is undefined stays as it is. */
export async function update(
  db: Database,
  id: number,
  { body, place }: { body: string | undefined; place: Place | undefined },
  now: number,
): Promise<void> {
  await updateRow(db, "draft_notes", id, { body, ...placed(place) }, now);
}

/** Removes a draft. */
export async function remove(db: Database, id: number): Promise<void> {
  await db.run("delete from draft_notes where id = ?", [id]);
}

function placed(place: Place | undefined) {
  if (!place) return {};
  const { path, line, line_type, line_code = null, position = null } = place;
  return { path, line, line_type, line_code, position };
}
