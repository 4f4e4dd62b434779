import { findSource } from "../../core/access/source.ts";
import { ApiError } from "../../core/errors.ts";
import * as hierarchy from "../hierarchy/queries.ts";
import { mayAdminIssues, mayPlan } from "../issuables/abilities.ts";
import { columnsOf } from "../issuables/attributes.ts";
import { change, created, stateColumns } from "../issuables/change.ts";
import { ISSUE } from "../issuables/issue.ts";
import * as issuables from "../issuables/queries.ts";
import type { Writing } from "../issuables/type.ts";
import * as links from "../issue-links/queries.ts";
import * as iterations from "../iterations/queries.ts";
import * as labels from "../labels/queries.ts";
import * as milestones from "../milestones/queries.ts";
import * as notes from "../notes/queries.ts";
import * as timeTracking from "../time-tracking/changes.ts";
import * as issues from "./queries.ts";

function refuseMove(reason: string): ApiError {
  return new ApiError(400, { message: `Cannot move issue ${reason}` });
}

/**
 * Copies an issue with its notes and the time spent on it into another project, matching labels and milestone by name.
 * The copy takes over its links and its place below an epic, and it is closed.
 *
 * @returns the id of the copy
 * @throws ApiError 400 if the caller may not move it there, 404 if there is no such project
 */
export async function move(
  context: Writing,
  found: issuables.Issuable,
  toProjectId: number,
): Promise<number> {
  const { db, source, viewer, now } = context;
  const target = await findSource(db, "project", String(toProjectId), viewer);
  if (target.id === source.id) throw refuseMove("to project it originates from!");
  if (!mayPlan(source) || !mayAdminIssues(target)) {
    throw refuseMove("due to insufficient permissions!");
  }
  const { title, description, author_id } = found;
  const from =
    found.milestone_id === null
      ? undefined
      : await milestones.findFor(db, source, { id: found.milestone_id });
  const milestone = from && (await milestones.findFor(db, target, { title: from.title }));
  const { iteration_id: id } = found;
  const iteration = id ? await iterations.findFor(db, target, { id }) : undefined;
  const copy = await issues.insert(
    db,
    {
      project_id: target.id,
      author_id,
      title,
      description,
      milestone_id: milestone?.id,
      iteration_id: iteration?.id,
      columns: { ...columnsOf("issue", { ...found }), severity: found.severity ?? "unknown" },
    },
    now,
  );
  await notes.copy(db, ISSUE, found.id, { project_id: target.id, id: copy.id });
  await links.hand(db, found.id, copy.id);
  await hierarchy.hand(db, found.id, copy.id);
  await timeTracking.copy(db, ISSUE, found.id, { project_id: target.id, id: copy.id });
  const closed = stateColumns(context, found, "close");
  await change(context, ISSUE, found, { columns: { moved_to_id: copy.id, ...closed } });
  const names = (await issuables.labelsOf(db, ISSUE, found.id)).map(({ name }) => name);
  const labelIds = [...(await labels.findNamed(db, target, names)).values()];
  await created(
    { ...context, source: target },
    ISSUE,
    { ...copy, title, description, milestone_id: milestone?.id, iteration_id: iteration?.id },
    {
      labels: () => labelIds,
      assignees: await issuables.peopleOf(db, ISSUE, "assignees", found.id),
    },
  );
  return copy.id;
}
