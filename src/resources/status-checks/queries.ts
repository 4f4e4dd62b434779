import * as field from "../../core/field.ts";
import { type Page, pageOf, type RowPage } from "../../core/pagination.ts";
import { type Presenter, presenter } from "../../core/presenter.ts";
import type { Context } from "../../core/resource.ts";
import { among } from "../../store/conditions.ts";
import { insertMany } from "../../store/insert.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { purposeOf } from "../hooks/queries.ts";

/** A protected branch that a check is for. */
export const BRANCH = presenter({
  id: field.integer("pr.id"),
  project_id: field.integer("pr.project_id"),
  name: field.text("pr.name"),
  created_at: field.instant("pr.created_at"),
  updated_at: field.instant("pr.updated_at"),
  code_owner_approval_required: field.flag("pr.code_owner_approval_required"),
});

/** What presenting checks depends on. */
type Presenting = Pick<Context, "presenter" | "view" | "source"> & { readonly db: Reader };

const OF_PROJECT = "h.project_id = ? and h.check_name is not null";

/** The ids of the checks of a project, the oldest first. */
export async function idsOf(db: Reader, projectId: number): Promise<number[]> {
  const rows = await db.rows(`select h.id from hooks h where ${OF_PROJECT} order by h.id`, [
    projectId,
  ]);
  return rows.map(([id]) => id as number);
}

/** A page of the checks of a project, the oldest first: there are a hundred at most. */
export async function list(presenting: Presenting, page: Page): Promise<RowPage> {
  const ids = await idsOf(presenting.db, presenting.source.id);
  return pageOf(page, ids.length, (from, to) => rowsOf(presenting, ids.slice(from, to)));
}

/**
 * The rows of checks, with their addresses and branches, in three statements.
 *
 * @param ids of checks of the project
 */
export async function rowsOf(
  { db, presenter: shown, view }: Presenting,
  ids: readonly number[],
): Promise<Value[][]> {
  if (ids.length === 0) return [];
  const wanted = among("h.id", ids);
  const rows = await db.rows(
    `select ${shown.columns} from hooks h where ${wanted.sql} order by h.id`,
    wanted.values,
  );
  const urls = await addressesOf(db, ids, view.open);
  for (const row of rows) {
    const id = row[shown.at("id")] as number;
    row[shown.at("external_url")] = urls.get(id) as string;
  }
  await fillInBranches({ db, view }, shown, ids, rows);
  return rows;
}

/** The addresses of checks: those that may have secrets in them are encrypted. */
export async function addressesOf(
  db: Reader,
  ids: readonly number[],
  open: (sealed: string, purpose: string) => string,
): Promise<Map<number, string>> {
  const wanted = among("h.id", ids);
  const found = await db.rows(
    `select h.id, h.url, s.value from hooks h
     left join hook_secrets s on s.hook_id = h.id and s.kind = 'url' where ${wanted.sql}`,
    wanted.values,
  );
  return new Map(
    found.map(([id, url, sealed]) => [
      id as number,
      sealed === null ? String(url) : open(String(sealed), purposeOf(id as number, "url", "")),
    ]),
  );
}

async function fillInBranches(
  { db, view }: Pick<Presenting, "db" | "view">,
  shown: Presenter,
  ids: readonly number[],
  rows: readonly Value[][],
): Promise<void> {
  const at = shown.at("protected_branches");
  const wanted = among("x.hook_id", ids);
  const found = await db.rows(
    `select ${BRANCH.columns}, x.hook_id from status_check_branches x
     join protected_branches pr on pr.id = x.branch_id where ${wanted.sql} order by pr.id`,
    wanted.values,
  );
  for (const row of rows) {
    const own = found.filter((branch) => branch.at(-1) === row[shown.at("id")]);
    row[at] = `[${own.map((branch) => BRANCH.write(branch, view)).join(",")}]`;
  }
}

/** Lets a check be for some protected branches of its project; for all branches without any. */
export async function setBranches(
  db: Database,
  checkId: number,
  branchIds: readonly number[],
): Promise<void> {
  await db.run("delete from status_check_branches where hook_id = ?", [checkId]);
  const rows = branchIds.map((id) => [checkId, id]);
  await insertMany(db, "status_check_branches", ["hook_id", "branch_id"], rows);
}

/** What was said of a commit. */
export interface Response {
  readonly requestId: number;
  readonly checkId: number;
  readonly sha: string;
  readonly status: string;
}

/** Records what a service says of a merge request, in place of what it said before. @returns the id of the record */
export async function respond(
  db: Database,
  { requestId, checkId, sha, status }: Response,
  now: number,
): Promise<number> {
  const [row] = await db.rows(
    `insert into status_check_responses (merge_request_id, hook_id, sha, status, created_at)
     values (?, ?, ?, ?, ?)
     on conflict (merge_request_id, hook_id) do update
       set sha = excluded.sha, status = excluded.status, created_at = excluded.created_at
     returning id`,
    [requestId, checkId, sha, status, now],
  );
  return (row as [number])[0];
}
