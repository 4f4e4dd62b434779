import type { Caller } from "../../core/access/caller.ts";
import { isWritable } from "../../core/access/features.ts";
import { type Source, sourcesById } from "../../core/access/source.ts";
import type { Viewer } from "../../core/access/visibility.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database } from "../../store/port.ts";
import { mayUpdate } from "../issuables/abilities.ts";
import { change, stateColumns } from "../issuables/change.ts";
import type { Cause } from "../issuables/changed.ts";
import { ISSUE } from "../issuables/issue.ts";
import * as issuables from "../issuables/queries.ts";

/** Who closes issues, from where. */
interface Closing {
  readonly db: Database;
  /** The project with the text that closes them; the transaction has its lock. */
  readonly project: Pick<Source, "id">;
  readonly caller: Caller;
  readonly viewer: Viewer;
  readonly now: number;
}

/** An issue that is to be closed, and by what. */
export interface ClosedIssue extends Pick<Cause, "commit" | "mergeRequestId"> {
  readonly iid: number;
  readonly projectId: number;
}

/**
 * Closes issues that a text says it closes: in other projects, too, if the caller may change them there. Those that the
 * caller may not close stay open, and so do those of projects that have switched this off and of the project that this
 * one was forked from.
 */
export async function closeIssues(
  { db, project, caller, viewer, now }: Closing,
  issues: readonly ClosedIssue[],
): Promise<void> {
  const projects = await closableProjects(db, project.id, issues);
  const sources = await sourcesById(db, "project", projects, viewer);
  // Always in the same order: fewer of these wait for each other.
  for (const id of projects) if (id !== project.id) db.lock(id);
  for (const { iid, projectId, ...cause } of issues) {
    const source = sources.get(projectId);
    if (!source || !isWritable(source, "issues")) continue;
    const issue = await issuables.find(db, ISSUE, projectId, iid, viewer);
    const writing = { db, source, caller, viewer, now };
    if (issue?.state !== "opened" || !mayUpdate(ISSUE)(issue, writing)) continue;
    const columns = stateColumns(writing, issue, "close");
    await change(writing, ISSUE, issue, { columns }, cause);
  }
}

/** The projects of issues whose issues texts of another project can close, in ascending order. */
async function closableProjects(
  db: Database,
  projectId: number,
  issues: readonly ClosedIssue[],
): Promise<number[]> {
  if (issues.length === 0) return [];
  const among = placeholders([...new Set(issues.map((issue) => issue.projectId))]);
  const found = await db.rows(
    `select p.id from projects p where p.id in (${among.sql}) and p.autoclose_referenced_issues = 1
       and not exists (select 1 from projects f where f.id = ? and f.forked_from_project_id = p.id)
     order by p.id`,
    [...among.values, projectId],
  );
  return found.map(([id]) => id as number);
}
