import type { Caller } from "../../core/access/caller.ts";
import type { Source } from "../../core/access/source.ts";
import type { Viewer } from "../../core/access/visibility.ts";
import { forbidden, notFound, refused } from "../../core/errors.ts";
import type { Database } from "../../store/port.ts";
import { mayPlan } from "../issuables/abilities.ts";
import { change, stateColumns } from "../issuables/change.ts";
import { ISSUE } from "../issuables/issue.ts";
import { type Neighbours, reorder } from "../issuables/positions.ts";
import * as issuables from "../issuables/queries.ts";
import { findIssuable } from "../issuables/rules.ts";
import type { Writing } from "../issuables/type.ts";
import { type BoardScope, findScope, isOnBoard, listIssues } from "./issues.ts";
import * as boards from "./queries.ts";
import type { Subject } from "./subjects.ts";

/** Who moves issues, and the group or project whose board it is. */
export interface Moving {
  readonly source: Source;
  readonly caller: Caller;
  readonly viewer: Viewer;
  /** The request that does it, if one does. */
  readonly request?: Writing["request"];
}

/** An issue's way on a board. */
export interface IssueMove {
  boardId: number;
  /** The issue's project, and its number there. */
  project: Source;
  iid: number;
  /** The list it leaves and the one it comes to. Without both it stays in its list. */
  fromListId?: number | undefined;
  toListId?: number | undefined;
  /** The ids of the issues it is moved between. */
  neighbours?: Neighbours | undefined;
  /** Instead of neighbours: its place in the list it comes to, from 0; -1 for the end. */
  position?: number | undefined;
}

/** Places in a list farther behind are its end. */
const MAX_POSITION = 10_000;

/**
 * Moves an issue on a board, as reporters may. It gets what the list is of that it comes to, a label, an assignee, a milestone
 * or an iteration, and a list of the same kind, or the open one, takes what the list is of that it leaves; the open and
 * the closed list take the labels of all lists of the board. The closed list closes it, and leaving that reopens it. The
 * transaction must run alone.
 *
 * @returns the issue's id
 * @throws ApiError 400 for a list of somebody who may not read the issue; 403; 404 for a board, list or issue that does not
 *   exist, or an issue that the board does not show; 422 if the caller can read none of the neighbours
 */
export async function moveIssueOnBoard(
  db: Database,
  moving: Moving,
  move: IssueMove,
  now: number,
): Promise<number> {
  const { source, caller, viewer, request } = moving;
  const { project, iid, fromListId, toListId } = move;
  const found = await boards.find(db, source, move.boardId);
  const scope = found && (await findScope(db, found.id));
  if (!scope) throw notFound("Board");
  const issue = await findIssuable({ db, source: project, viewer }, ISSUE, iid, "Issue");
  if (!(await isOnBoard(db, moving, issue.id))) throw notFound("Issue");
  if (!mayPlan(project)) throw forbidden();
  const [from, to] = await Promise.all(
    [fromListId, toListId].map(async (id) => {
      const list = id === undefined ? undefined : await boards.findList(db, scope.id, id);
      if (id !== undefined && !list) throw notFound("List");
      return list;
    }),
  );
  const neighbours =
    move.position === undefined || !to
      ? move.neighbours
      : await neighboursAt(db, moving, scope, to, move.position, issue.id);
  if (from && to && from.id !== to.id) {
    const event =
      from.list_type === "closed" ? "reopen" : to.list_type === "closed" ? "close" : undefined;
    const context = { db, source: project, caller, viewer, now, request };
    const columns = { ...stateColumns(context, issue, event), ...columnsIn(from, to) };
    const assignees = await assigneesIn({ db, viewer }, issue.id, from, to);
    const left =
      to.position === null ? scope.listed.label : taken("label", from, to) ? [from.subject_id] : [];
    await change(context, ISSUE, issue, {
      columns,
      assignees,
      labels: (before) => {
        const kept = before.map((label) => label.id).filter((id) => !left.includes(id));
        return to.list_type === "label" ? [...kept, to.subject_id as number] : kept;
      },
    });
  }
  if (neighbours) await reorder({ db, viewer }, issue.id, neighbours);
  return issue.id;
}

type End = Pick<boards.BoardList, "list_type" | "subject_id">;

/** Whether an issue loses what the list is of that it leaves, as it comes to one of the same kind or to the open one. */
const taken = (type: Subject, from: End, to: End) =>
  from.list_type === type && (to.list_type === type || to.list_type === "backlog");

/** The columns that an issue's way from one list to another changes. */
const columnsIn = (from: End, to: End) =>
  Object.fromEntries(
    (["milestone", "iteration"] as const).flatMap((type) =>
      to.list_type === type || taken(type, from, to) ? [[`${type}_id`, to.subject_id]] : [],
    ),
  );

/**
 * The assignees that an issue has after its way from one list to another; `undefined` if it is about none.
 *
 * @throws ApiError 400 if whose list it comes to may not read it
 */
async function assigneesIn(
  { db, viewer }: Pick<Moving, "viewer"> & { readonly db: Database },
  id: number,
  from: End,
  to: End,
): Promise<number[] | undefined> {
  const comesTo = to.list_type === "assignee" ? (to.subject_id as number) : undefined;
  const leaves = taken("assignee", from, to) ? from.subject_id : undefined;
  if (comesTo === undefined && leaves === undefined) return undefined;
  const ids = comesTo === undefined ? [] : [comesTo];
  const able = await issuables.readers(db, ISSUE, { id }, { ids }, viewer.today);
  if (able.length < ids.length) throw refused("Not authorized to assign issue to list user");
  const before = await issuables.peopleOf(db, ISSUE, "assignees", id);
  return [...before.filter((userId) => userId !== leaves), ...ids];
}

/** The issue that one moved to a position of a list comes next to; none if the list has no other. */
async function neighboursAt(
  db: Database,
  moving: Moving,
  scope: BoardScope,
  list: boards.BoardList,
  position: number,
  issueId: number,
): Promise<Neighbours | undefined> {
  if (list.list_type === "closed") return undefined;
  const filter = { sql: "i.id <> ?", values: [issueId] };
  if (position >= 0 && position <= MAX_POSITION) {
    const first = await listIssues(db, moving, scope, list, { first: position + 1, filter });
    const there = first[position];
    if (there) return { after: there.id };
  }
  const [last] = await listIssues(db, moving, scope, list, { first: 1, reversed: true, filter });
  return last && { before: last.id };
}
