import type { Follower } from "../../core/followers.ts";
import { isListenedFor, recordHookEvent } from "../../hooks/events.ts";
import { queueNotification } from "../../jobs/notifications.ts";
import { updateRow } from "../../store/update.ts";
import { queueEnd, queueReady, queueTask, queueTasks } from "../ci/progress.ts";
import * as events from "../events/record.ts";
import { arrive, carOf, LEFT_TRAIN, leaveTrain } from "../train-state/cars.ts";
import { askApprovers } from "./asking.ts";
import type { Cause, Change } from "./changed.ts";
import * as history from "./history.ts";
import { severityName } from "./issue.ts";
import { isDraft } from "./merge-request.ts";
import { recordAction } from "./notes.ts";
import { readers } from "./queries.ts";
import { storeReferences } from "./references.ts";
import * as todos from "./todos.ts";
import { LINKS, TOLD_COLUMNS, toldChanges } from "./told.ts";
import type { Difference, IssuableType } from "./type.ts";

/** What followers follow: columns and links that differ, or causes. See {@link Change}. */
type Followed =
  | (typeof TOLD_COLUMNS)[IssuableType["prefix"]][number]
  | (typeof LINKS)[number]
  | "iteration_id"
  | "auto_merge"
  | keyof Cause;

const SHARED: readonly Follower<Change, Followed>[] = [
  {
    does: "Boards show it in the right place",
    after: ["state"],
    run: placeOnBoards,
  },
  {
    does: "The feed has an event, of which mails tell",
    after: ["state", "approval"],
    run: recordEvent,
  },
  {
    does: "Its history has the labels that came and went",
    after: ["labels"],
    run: (change) =>
      history.recordLabels(
        change.writing,
        change.type,
        change.issuable.id,
        moves(change, "labels"),
      ),
  },
  {
    does: "Its history has the milestone that came or went",
    after: ["milestone_id"],
    run: recordMilestone,
  },
  {
    does: "Its history has its new state",
    after: ["state"],
    run: recordState,
  },
  {
    does: "Notes say what was done",
    after: ["target_branch", "issue_type", "severity", "reviewers", "asked", "note"],
    run: writeNotes,
  },
  {
    does: "Those who are newly mentioned get a to-do item",
    after: ["title", "description"],
    run: addMentioned,
  },
  {
    does: "New assignees get a to-do item, and they and former ones a mail",
    after: ["assignees"],
    run: tellAssignees,
  },
  {
    does: "New reviewers get a to-do item, and they and former ones a mail",
    after: ["reviewers", "asked"],
    run: tellReviewers,
  },
  {
    does: "The to-do items of who has acted are done",
    after: ["state", "approval", "oldrev"],
    run: endTodos,
  },
];

const OF_ISSUES: readonly Follower<Change, Followed>[] = [
  {
    does: "Its history has the iteration that it was put into or taken out of",
    after: ["iteration_id"],
    run: ({ writing, issuable, differences }) =>
      history.recordIteration(
        writing,
        issuable.id,
        differences["iteration_id"] as Difference<number | null>,
      ),
  },
  {
    does: "Its history has its new weight",
    after: ["weight"],
    run: ({ writing, issuable, differences }) =>
      history.recordWeight(writing, issuable.id, differences["weight"]?.current as number | null),
  },
];

const OF_REQUESTS: readonly Follower<Change, Followed>[] = [
  {
    does: "Mails tell that an approval was taken back",
    after: ["approval"],
    run: tellUnapproved,
  },
  {
    does: "Those who wait for it to be merged get a to-do item or a mail about why it is not",
    after: ["stuck", "aborted"],
    run: tellWaiting,
  },
  {
    does: "It is stored which issues it refers to, and closes",
    after: ["title", "description", "target_branch", "version"],
    run: ({ writing: { db, viewer, view }, issuable }) =>
      storeReferences(db, issuable.id, viewer, view?.base),
  },
  {
    does: "Those whose approval is needed get a to-do item",
    after: ["title", "rules"],
    run: askForApproval,
  },
  {
    does: "Its first pipelines are started",
    after: ["state"],
    run: startPipelines,
  },
  {
    does: "Its environments are stopped, as it has ended",
    after: ["state"],
    run: stopEnvironments,
  },
  {
    does: "Those that wait for it to be merged are merged, if they are ready",
    after: ["state"],
    run: mergeBlocked,
  },
  {
    does: "It leaves its merge train, in which it is the next one's turn",
    after: ["state", "target_branch", "auto_merge"],
    run: endTravel,
  },
  {
    does: "It is merged, if it waits for that and is ready",
    after: ["title", "approval"],
    run: mergeIfReady,
  },
];

const WEBHOOKS: Follower<Change, Followed> = {
  does: "Webhooks and listeners are told",
  after: [...TOLD_COLUMNS.issue, ...TOLD_COLUMNS.merge_request, ...LINKS, "approval", "oldrev"],
  run: tellHooks,
};

/**
 * What follows from changes of issuables, in this order, by their type. All that a new one has is different: it was nothing
 * before.
 */
export const FOLLOWERS = {
  issue: [...SHARED, ...OF_ISSUES, WEBHOOKS],
  epic: SHARED.filter(({ run }) => run !== recordEvent && run !== tellAssignees),
  merge_request: [...SHARED, ...OF_REQUESTS, WEBHOOKS],
} as const;

/** What has become of an issuable, in the words of feeds; `undefined` if it is in the state that it was in. */
function endOf({ differences }: Change): "created" | "closed" | "reopened" | "merged" | undefined {
  const { state } = differences;
  if (!state) return undefined;
  if (state.previous === null) return "created";
  return state.current === "opened" ? "reopened" : (state.current as "closed" | "merged");
}

/** Whether somebody approves a merge request. */
const isApproved = ({ cause: { approval } }: Change) =>
  approval === "approved" || approval === "approval";

/** The ids of the labels or people that came and went. */
function moves({ differences }: Change, link: (typeof LINKS)[number]): history.Moves {
  const { previous, current } = (differences[link] ?? NOBODY) as Difference<readonly number[]>;
  return {
    added: current.filter((id) => !previous.includes(id)),
    removed: previous.filter((id) => !current.includes(id)),
  };
}
const NOBODY = { previous: [], current: [] };

function placeOnBoards(change: Change): void {
  const { writing, type, issuable } = change;
  // A new one is where its labels put it.
  if (endOf(change) !== "created") type.place?.(writing.db, [issuable.id]);
}

function recordEvent(change: Change): void {
  const action = isApproved(change) ? "approved" : endOf(change);
  if (!action) return;
  const { db, source, caller, now } = change.writing;
  const { id, iid = null, title } = change.issuable;
  const target = { type: change.type.prefix, id, iid, title };
  events.record(db, { project_id: source.id, author_id: caller.id, action, target }, now);
}

function recordMilestone({ writing, type, issuable, differences }: Change): Promise<void> {
  const state = (differences["state"]?.previous ?? issuable.state) as string;
  const milestone = differences["milestone_id"] as Difference<number | null>;
  return history.recordMilestone(writing, type, { id: issuable.id, state }, milestone);
}

function recordState(change: Change): void {
  const { writing, type, issuable, cause } = change;
  const state = endOf(change);
  if (!state || state === "created") return;
  history.recordState(writing, type, issuable.id, state, cause);
}

async function writeNotes(change: Change): Promise<void> {
  const { writing, type, issuable, differences, cause } = change;
  const note = (body: string) => recordAction(writing, type, issuable.id, body);
  const branch = differences["target_branch"];
  if (branch) {
    await note(`changed target branch from \`${branch.previous}\` to \`${branch.current}\``);
  }
  const { issue_type: kind, severity } = differences;
  if (kind && kind.previous !== null) {
    await note(`changed type from ${kind.previous} to ${kind.current}`.replaceAll("_", " "));
  }
  if (severity) await note(`changed the severity to **${severityName(severity.current)}**`);
  const { added, removed } = moves(change, "reviewers");
  const asked = cause.asked === undefined ? added : [cause.asked];
  const names = (ids: readonly number[]) => history.namesOf(writing.db, ids);
  const parts = [
    ...(asked.length > 0 ? [`requested review from ${await names(asked)}`] : []),
    ...(removed.length > 0 ? [`removed review request for ${await names(removed)}`] : []),
  ];
  if (parts.length > 0) await note(parts.join(" and "));
  if (cause.note !== undefined) await note(cause.note);
}

function addMentioned({ writing, type, issuable, differences }: Change): Promise<void> {
  const { id, title, description } = issuable;
  const before = Object.entries({ title, description }).map(([name, text]) => {
    const difference = differences[name];
    return difference ? (difference.previous as string | null) : text;
  });
  return todos.mention(writing, type, { id }, { after: [title, description], before });
}

async function tellAssignees(change: Change): Promise<void> {
  const { writing, type, issuable } = change;
  const { db, source, caller, now } = writing;
  const { id } = issuable;
  const { added, removed } = moves(change, "assignees");
  await todos.add(db, type, { projectId: source.id, id }, added, "assigned", caller.id, now);
  // Of a new one, the mail about the event tells them.
  if (endOf(change) === "created") return;
  const of =
    type.prefix === "issue"
      ? ({ notice: "issue_reassigned", issue: id } as const)
      : ({ notice: "request_reassigned", request: id } as const);
  await queueNotification(
    db,
    { ...of, by: caller.id, at: now, about: [...added, ...removed] },
    now,
  );
}

async function tellReviewers(change: Change): Promise<void> {
  const { writing, type, issuable, differences, cause } = change;
  const { db, source, caller, now } = writing;
  const { id } = issuable;
  const { added, removed } = moves(change, "reviewers");
  const asked = cause.asked === undefined ? added : [cause.asked];
  await todos.add(
    db,
    type,
    { projectId: source.id, id },
    asked,
    "review_requested",
    caller.id,
    now,
  );
  if (endOf(change) === "created") return;
  const notice = { request: id, by: caller.id, at: now };
  if (asked.length > 0) {
    await queueNotification(db, { ...notice, notice: "review_requested", about: asked }, now);
  }
  if (!differences["reviewers"]) return;
  const changed = { notice: "reviewers_changed", about: removed, except: added } as const;
  await queueNotification(db, { ...notice, ...changed }, now);
}

function endTodos(change: Change): void {
  const { writing, type, issuable, cause } = change;
  const end = endOf(change);
  const hasActed = isApproved(change) || cause.oldrev !== undefined;
  if (!hasActed && end !== "closed" && end !== "merged") return;
  todos.resolve(writing.db, type, issuable.id, writing.caller.id, writing.now);
}

async function tellUnapproved(change: Change): Promise<void> {
  if (isApproved(change)) return;
  const { db, caller, now } = change.writing;
  const about = { request: change.issuable.id, by: caller.id, at: now };
  await queueNotification(db, { ...about, notice: "unapproved" }, now);
}

async function tellWaiting({ writing, type, issuable, cause }: Change): Promise<void> {
  const { db, source, caller, viewer, now } = writing;
  const { id } = issuable;
  const { stuck, aborted: about = [] } = cause;
  if (!stuck) {
    const notice = { notice: "auto_merge_aborted", request: id, by: caller.id, at: now } as const;
    await queueNotification(db, { ...notice, about }, now);
    return;
  }
  const target = { projectId: source.id, id };
  for (const userId of await readers(db, type, { id }, { ids: stuck }, viewer.today)) {
    await todos.add(db, type, target, [userId], "unmergeable", userId, now);
  }
  await queueNotification(
    db,
    { notice: "unmergeable", request: id, by: null, at: now, about: stuck },
    now,
  );
}

async function askForApproval({ writing, issuable, differences, cause }: Change): Promise<void> {
  const before = (differences["title"]?.previous ?? null) as string | null;
  // Of what was no draft they were asked then.
  if (cause.rules || before === null || isDraft(before)) await askApprovers(writing, issuable);
}

async function startPipelines(change: Change): Promise<void> {
  const { writing, issuable, cause } = change;
  if (endOf(change) !== "created" || cause.version === undefined) return;
  const { db, caller, now } = writing;
  const task = { opened: issuable.id, user: caller.id };
  await queueTask(db, task, now, issuable.source_project_id ?? undefined);
}

async function stopEnvironments(change: Change): Promise<void> {
  const end = endOf(change);
  if (end !== "closed" && end !== "merged") return;
  const { db, caller, now } = change.writing;
  await queueEnd(db, change.issuable.id, caller.id, now);
}

async function mergeBlocked(change: Change): Promise<void> {
  if (endOf(change) !== "merged") return;
  const { db, now } = change.writing;
  const waiting = await db.rows(
    `select mr.id from merge_request_blocks mq join merge_requests mr on mr.id = mq.blocked_id
     where mq.blocking_id = ? and mr.state = 'opened' and mr.auto_merge = 1`,
    [change.issuable.id],
  );
  const tasks = waiting.map(([id]) => ({ ready: id as number }));
  if (tasks.length > 0) await queueTasks(db, tasks, now);
}

async function endTravel(change: Change): Promise<void> {
  const { writing, type, issuable, differences } = change;
  const { db, now } = writing;
  const end = endOf(change);
  if (end === "created" || differences["auto_merge"]?.current === 1) return;
  if (end === "merged") return arrive(db, issuable.id, now);
  if (!(await carOf(db, issuable.id))) return;
  await leaveTrain(db, issuable.id, now);
  await updateRow(db, type.table, issuable.id, { auto_merge: 0 }, now);
  const because = end ? "merge request was closed" : "target branch was changed";
  const reason = differences["auto_merge"] ? "" : ` because ${because}`;
  await recordAction(writing, type, issuable.id, `${LEFT_TRAIN}${reason}`);
}

async function mergeIfReady(change: Change): Promise<void> {
  const isChanged =
    isApproved(change) || (change.differences["title"] && endOf(change) !== "created");
  if (isChanged) await queueReady(change.writing.db, change.issuable.id, change.writing.now);
}

/** How webhooks call what happens. */
const HOOK_ACTIONS = { created: "open", closed: "close", reopened: "reopen", merged: "merge" };

async function tellHooks(change: Change): Promise<void> {
  const { writing, type, issuable, differences, cause } = change;
  const end = endOf(change);
  const moment = { kind: type.prefix, of: { project: writing.source.id } } as const;
  // Asking first is one look-up in place of two. For a new issue, which others wait for, it would be a round trip more.
  if (end !== "created" && !(await isListenedFor(writing.db, moment))) return;
  recordHookEvent(writing, {
    ...moment,
    userId: writing.caller.id,
    id: issuable.id,
    action: cause.approval ?? (end ? HOOK_ACTIONS[end] : "update"),
    data: {
      changes: end === "created" ? {} : toldChanges(type, differences),
      oldrev: cause.oldrev,
    },
  });
}
