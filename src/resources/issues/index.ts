import { findVisible } from "../../core/access/source.ts";
import { inProject } from "../../core/access/visibility.ts";
import { forbidden, invalid, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { unsupported } from "../../core/kept.ts";
import { AfterCommit, type Context, type Resource, routes } from "../../core/resource.ts";
import type { Database, Reader } from "../../store/port.ts";
import { place, requireStillFitting } from "../hierarchy/changes.ts";
import { mayAdminParentLink, mayPlan, maySetTimes, mayUpdate } from "../issuables/abilities.ts";
import { inputOf } from "../issuables/attributes.ts";
import { change, created, stateColumns } from "../issuables/change.ts";
import { parseDuration } from "../issuables/duration.ts";
import { newRowOf, rowOf } from "../issuables/embed.ts";
import { ISSUE, SEVERITIES } from "../issuables/issue.ts";
import { ISSUE_ORDERS } from "../issuables/orders.ts";
import { columnsIn, isPlanned, plannedLinks, planningInput } from "../issuables/planning.ts";
import { reorder } from "../issuables/positions.ts";
import * as issuables from "../issuables/queries.ts";
import { listRoutes, sharedRoutes, singleRoute } from "../issuables/routes.ts";
import { findIssuable } from "../issuables/rules.ts";
import type { Writing } from "../issuables/type.ts";
import { afterCommands, commandsIn } from "../quick-actions/perform.ts";
import * as timeTracking from "../time-tracking/changes.ts";
import { noteUserAgent } from "../user-agents/queries.ts";
import { move } from "./changes.ts";
import * as issues from "./queries.ts";
import { migrations } from "./table.ts";

const lists = listRoutes(ISSUE, {
  orders: ["created_at", "updated_at", "relative_position", ...ISSUE_ORDERS],
});

const attributes = {
  description: param.clearable(param.anyText({ max: param.LONG_TEXT })),
  severity: param.noted(param.optional(param.choice(SEVERITIES)), {
    about: "how bad an incident is; nothing else has a severity",
  }),
  // 0 is GitLab's for none.
  epic_id: param.clearable(param.integer()),
  epic_iid: unsupported(param.integer(), 0),
  ...inputOf("issue"),
  ...planningInput,
};

/** The severity to set, if the caller may plan. @throws ApiError 400 unless it is one of an incident */
function severityIn<S>(
  { source, input: { severity } }: Pick<Context, "source"> & { input: { severity?: S } },
  issue: { readonly issue_type?: unknown },
): S | undefined {
  if (severity === undefined || !mayPlan(source)) return undefined;
  if (issue.issue_type === "incident") return severity;
  throw invalid({ severity: ["can be set for incidents only"] });
}

/** @throws ApiError 400 if an issue is due before it starts */
function requireDays(issue: object): void {
  const { start_date: start, due_date: due } = issue as Partial<Record<string, string | null>>;
  if (start && due && due < start) {
    throw invalid({ due_date: ["must be greater than or equal to start date"] });
  }
}

const number = { issue_iid: param.recordId() };

const project = routes({ source: "project", features: ["issues"], whenDisabled: "leave out" });

const changes = {
  title: param.optional(param.title()),
  state_event: param.optional(param.choice(["close", "reopen"])),
  updated_at: param.optional(param.looseInstant()),
  ...attributes,
};
const CHANGES = Object.keys(changes) as (keyof typeof changes)[];

const beginnings = {
  title: param.title(),
  created_at: param.optional(param.looseInstant()),
  iid: unsupported(param.integer()),
  merge_request_to_resolve_discussions_of: unsupported(param.integer()),
  discussion_to_resolve: unsupported(param.anyText()),
  ...attributes,
};

/** Puts an issue below an epic, or another issue. @throws ApiError 403 */
async function putBelow(
  context: Writing,
  { id, assigned }: Pick<issuables.Issuable, "id" | "assigned">,
  parentId: number | null,
): Promise<void> {
  const child = { ...(await issuables.findById(context.db, ISSUE, id)), assigned };
  if (!mayAdminParentLink(child, context)) throw forbidden();
  await place(context, child, { parentId });
}

async function createIssue(
  context: Context<typeof beginnings, Database, unknown, "user"> & {
    input: { parent_id?: number | undefined };
  },
) {
  const { db, source, caller, input, now } = context;
  const { title, epic_id: epicId, parent_id: parentId = epicId || undefined } = input;
  const { text: description, commands } = commandsIn(ISSUE, input.description);
  const at = input.created_at;
  const { milestone_id, ...planned } = await columnsIn(context, ISSUE, input);
  const severity = severityIn(context, planned);
  const columns = { ...planned, ...(severity && { severity }) };
  requireDays(columns);
  const given = { project_id: source.id, author_id: caller.id, title, description };
  const id = await issues.insertUnnumbered(
    db,
    { ...given, milestone_id, columns },
    at !== undefined && maySetTimes(source) ? at : now,
    parentId !== undefined,
  );
  const { weight } = planned;
  const issue = { id, title, description: description ?? null, milestone_id, weight };
  await created(context, ISSUE, issue, plannedLinks(context, input));
  await noteUserAgent(context, { issue_id: id });
  if (parentId !== undefined) await putBelow(context, { id, assigned: 0 }, parentId);
  const isPlain = !isPlanned(input) && commands.length === 0 && parentId === undefined;
  const read = isPlain ? newRowOf : rowOf;
  const answer = (reader: Reader) => read({ ...context, db: reader }, ISSUE, id);
  return commands.length === 0
    ? new AfterCommit(answer)
    : afterCommands(context, ISSUE, id, commands, answer);
}

/** Creates an issue below another one, for GraphQL. */
export const createBelow = project.post("/issues", {
  summary: "Create an issue below another one",
  input: { ...beginnings, parent_id: param.integer() },
  presenter: ISSUE.single,
  handle: createIssue,
});

async function changeIssue(
  context: Context<typeof changes & typeof number, Database, unknown, "user"> & {
    input: { time_estimate?: string | undefined };
  },
) {
  const { db, source, viewer, input } = context;
  const { title, time_estimate } = input;
  const { text: description, commands } = commandsIn(ISSUE, input.description);
  const seen = inProject(viewer, source);
  const found = await issuables.find(db, ISSUE, source.id, input.issue_iid, seen);
  if (!found) throw notFound();
  if (!mayUpdate(ISSUE)(found, context)) throw forbidden();
  const isEstimated = time_estimate !== undefined && mayPlan(source);
  const columns = await columnsIn(context, ISSUE, input);
  const severity = severityIn(context, { ...found, ...columns });
  await requireStillFitting(context, found, columns);
  requireDays({ ...found, ...columns });
  await change(context, ISSUE, found, {
    columns: {
      title,
      description,
      ...columns,
      severity,
      ...(isEstimated && {
        time_estimate: timeTracking.requireEstimate(parseDuration(time_estimate)),
      }),
      ...stateColumns(context, found, input.state_event),
      updated_at: maySetTimes(source) ? input.updated_at : undefined,
    },
    ...plannedLinks(context, input),
  });
  if (input.epic_id !== undefined) await putBelow(context, found, input.epic_id || null);
  return afterCommands(context, ISSUE, found.id, commands, (reader) =>
    rowOf({ ...context, db: reader }, ISSUE, found.id),
  );
}

/** Changes an issue together with its estimate, for GraphQL. */
export const changeWithEstimate = project.put("/issues/:issue_iid", {
  summary: "Change an issue and its estimate",
  input: { ...number, ...changes, time_estimate: param.optional(param.anyText()) },
  atLeastOne: [...CHANGES, "time_estimate"],
  presenter: ISSUE.single,
  handle: changeIssue,
});

/** Issues of projects. */
export const issueResource: Resource = {
  name: "Issues",
  migrations,
  routes: [
    ...lists,
    routes().get("/issues/:issue_id", {
      summary: "Get an issue by its id",
      access: "admin",
      input: { issue_id: param.recordId() },
      presenter: ISSUE.single,
      handle: async (context) => {
        const { db, viewer, input } = context;
        const projectId = await issues.projectIdOf(db, input.issue_id);
        const source = await findVisible(db, "project", String(projectId), viewer);
        if (!source) throw notFound();
        return rowOf({ ...context, source }, ISSUE, input.issue_id);
      },
    }),
    project.post("/issues", {
      summary: "Create an issue",
      concurrency: "free",
      input: beginnings,
      presenter: ISSUE.single,
      handle: createIssue,
    }),
    singleRoute(ISSUE),
    project.put("/issues/:issue_iid", {
      summary: "Change, close or reopen an issue",
      input: { ...number, ...changes },
      atLeastOne: CHANGES,
      presenter: ISSUE.single,
      handle: changeIssue,
    }),
    project.post("/issues/:issue_iid/move", {
      summary: "Move an issue to another project, by copying it there and closing it here",
      concurrency: "alone",
      input: { ...number, to_project_id: param.integer() },
      presenter: ISSUE.single,
      handle: async (context) => {
        const { input } = context;
        const found = await findIssuable(context, ISSUE, input.issue_iid, "Issue");
        const moved = await move(context, found, input.to_project_id);
        return rowOf({ ...context, source: undefined }, ISSUE, moved);
      },
    }),
    project.put("/issues/:issue_iid/reorder", {
      summary: "Move an issue between others, in the order of `relative_position`",
      concurrency: "alone",
      input: {
        ...number,
        move_before_id: param.optional(param.integer()),
        move_after_id: param.optional(param.integer()),
      },
      atLeastOne: ["move_before_id", "move_after_id"],
      presenter: ISSUE.single,
      handle: async (context) => {
        const { db, source, viewer, input } = context;
        const found = await issuables.find(db, ISSUE, source.id, input.issue_iid, viewer);
        if (!found) throw notFound("Issue");
        if (!mayUpdate(ISSUE)(found, context)) throw forbidden();
        await reorder(context, found.id, {
          before: input.move_before_id,
          after: input.move_after_id,
        });
        return rowOf(context, ISSUE, found.id);
      },
    }),
    ...sharedRoutes(ISSUE),
  ],
};
