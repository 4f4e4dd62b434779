import { isWritable } from "../../core/access/features.ts";
import { ROLES } from "../../core/access/roles.ts";
import { findSource, requireRole, type Source } from "../../core/access/source.ts";
import { ApiError, notFound, notModified } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import type { RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { AfterCommit, type Context, type Resource, routes, TIERS } from "../../core/resource.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as events from "../events/queries.ts";
import * as labels from "../labels/queries.ts";
import * as milestones from "../milestones/queries.ts";
import * as notes from "../notes/queries.ts";
import * as todos from "../todos/queries.ts";
import { hideWeight, issue, singleIssue } from "./json.ts";
import * as issues from "./queries.ts";
import {
  filterOf,
  findTarget,
  instantOf,
  listInput,
  type PlannedColumns,
  plan,
  plannedColumns,
  planningInput,
  requireChanger,
} from "./rules.ts";
import { migrations } from "./table.ts";

const { ISSUE } = issues;

const filters = {
  ...listInput,
  state: param.optional(param.choice(["opened", "closed", "all"])),
  confidential: param.optional(param.boolean()),
};

const attributes = {
  description: param.clearable(param.anyText({ max: param.LONG_TEXT })),
  confidential: param.optional(param.boolean()),
  due_date: param.clearable(param.date()),
  weight: param.clearable(param.integer({ min: 0 })),
  ...planningInput,
};

const number = { issue_iid: param.recordId() };

type Listing = Pick<Context, "presenter" | "page" | "viewer" | "view" | "tier" | "caller"> & {
  db: Reader;
  input: param.Input<typeof filters>;
};

async function listed(
  { db, presenter, page, viewer, view, tier, caller, input }: Listing,
  within: { projectId?: number; groupId?: number; of?: { source: Source; id: number } },
  defaultScope: "created_by_me" | "all" = "all",
): Promise<RowPage> {
  const { state, confidential } = input;
  const { of: milestone, ...place } = within;
  const found = await issues.list(db, ISSUE, presenter, page, viewer, {
    ...filterOf(input, caller, defaultScope),
    ...place,
    state: state === "all" ? undefined : state,
    own: [
      ...(confidential === undefined
        ? []
        : [{ sql: "i.confidential = ?", values: [Number(confidential)] }]),
      ...(milestone === undefined
        ? []
        : [
            {
              sql: `i.milestone_id in (select id from milestones where id = ? and ${milestone.source.column} = ?)`,
              values: [milestone.id, milestone.source.id],
            },
          ]),
    ],
  });
  await issues.embed(db, ISSUE, found.rows, presenter, view);
  hideWeight(found.rows, presenter, tier);
  return found;
}

/** A single issue. */
async function shown(
  {
    db,
    presenter,
    view,
    tier,
    caller,
  }: Pick<Context, "presenter" | "view" | "tier" | "caller"> & { db: Reader },
  id: number,
) {
  const row = await issues.row(db, ISSUE, presenter, id);
  if (!row) throw notFound();
  const [subscribed] = await Promise.all([
    caller !== undefined && issues.isSubscribed(db, ISSUE, id, caller.id),
    issues.embed(db, ISSUE, [row], presenter, view),
  ]);
  hideWeight([row], presenter, tier);
  row[presenter.at("subscribed")] = String(subscribed);
  return row;
}

/** The columns only reporters and above may set, without those the tier does not have. */
async function columnsOf(
  { db, source, tier }: Pick<Context, "source" | "tier"> & { db: Reader },
  input: param.Input<typeof attributes>,
): Promise<PlannedColumns & { due_date?: string | null; weight?: number | null }> {
  if (source.level < ROLES.reporter) return {};
  const weighed = TIERS.indexOf(tier) >= TIERS.indexOf("premium");
  return {
    ...(input.due_date !== undefined && { due_date: input.due_date }),
    ...(weighed && input.weight !== undefined && { weight: input.weight }),
    ...(await plannedColumns({ db, source }, input)),
  };
}

type Writing = Pick<Context, "source" | "caller" | "viewer" | "now"> & { db: Database };

function tell(
  { db, source, caller, now }: Writing,
  action: events.Action,
  { id, title }: { id: number; title: string },
): void {
  const event = { project_id: source.id, author_id: caller?.id ?? 0, action };
  events.record(db, { ...event, target: { type: "issue", id, title } }, now);
}

/** Closes or reopens an issue, unless it is already in that state. */
async function setState(
  context: Writing,
  found: issues.Target,
  event: "close" | "reopen" | undefined,
): Promise<void> {
  const { db, caller, now } = context;
  const closing = event === "close";
  if (!event || closing === (found.state === "closed")) return;
  await updateRow(
    db,
    "issues",
    found.id,
    closing
      ? { state: "closed", closed_at: now, closed_by_id: caller?.id ?? null }
      : { state: "opened", closed_at: null, closed_by_id: null },
    now,
  );
  tell(context, closing ? "closed" : "reopened", found);
  if (closing) await todos.resolve(db, ISSUE, found.id, caller?.id ?? 0, now);
}

function refuseMove(reason: string): ApiError {
  return new ApiError(400, { message: `Cannot move issue ${reason}` });
}

/** Copies an issue with its notes into another project, matching labels and milestone by name, and closes it. */
async function move(
  context: Writing & { presenter: Presenter },
  found: issues.Target,
  toProjectId: number,
): Promise<number> {
  const { db, source, viewer, caller, now } = context;
  const target = await findSource(db, "project", String(toProjectId), viewer);
  if (target.id === source.id) throw refuseMove("to project it originates from!");
  if (Math.min(source.level, target.level) < ROLES.reporter || !isWritable(target, "issues")) {
    throw refuseMove("due to insufficient permissions!");
  }
  const more = await issues.details(db, found.id);
  const milestone =
    more.milestone_title === null
      ? undefined
      : await milestones.findFor(db, target, { title: more.milestone_title });
  const copy = await issues.insert(
    db,
    {
      project_id: target.id,
      author_id: found.author_id,
      title: found.title,
      description: found.description,
      confidential: more.confidential === 1,
      weight: more.weight,
      due_date: more.due_date,
      milestone_id: milestone?.id,
    },
    now,
  );
  const names = (await issues.labelsOf(db, ISSUE, found.id)).map(({ name }) => name);
  const labelIds = (await labels.findNamed(db, target, names)).values();
  await issues.replaceLabels(db, ISSUE, copy.id, [...labelIds]);
  const assignees = await issues.assigneesOf(db, ISSUE, found.id);
  await issues.replaceAssignees(
    db,
    ISSUE,
    copy.id,
    await issues.readers(db, ISSUE, copy.id, { ids: assignees }, viewer.today),
  );
  await notes.copy(db, ISSUE, found.id, { project_id: target.id, id: copy.id });
  await updateRow(db, "issues", found.id, { moved_to_id: copy.id }, now);
  await setState(context, found, "close");
  tell({ db, source: target, caller, viewer, now }, "created", {
    id: copy.id,
    title: found.title,
  });
  return copy.id;
}

const CHANGES = [
  "title",
  "state_event",
  ...(Object.keys(attributes) as (keyof typeof attributes)[]),
] as const;

const { list } = routes();
const group = routes({ source: "group" });
const project = routes({ source: "project", features: ["issues"], whenDisabled: "leave out" });

/** Issues of projects. */
export const issueResource: Resource = {
  name: "Issues",
  migrations,
  routes: [
    list("/issues", {
      summary: "List the caller's issues or, with `scope=all`, all issues the caller can see",
      access: "anyone",
      input: filters,
      presenter: issue,
      handle: (context) => listed(context, {}, "created_by_me"),
    }),
    group.list("/issues", {
      summary: "List the issues of all projects in a group and its subgroups",
      access: "anyone",
      input: filters,
      presenter: issue,
      handle: (context) => listed(context, { groupId: context.source.id }),
    }),
    project.list("/issues", {
      summary: "List the issues of a project",
      access: "anyone",
      input: filters,
      presenter: issue,
      handle: (context) => listed(context, { projectId: context.source.id }),
    }),
    ...(["group", "project"] as const).map((kind) =>
      routes({ source: kind, features: ["issues", "merge_requests"] }).list(
        "/milestones/:milestone_id/issues",
        {
          summary: `List the issues of a milestone of a ${kind}`,
          input: { ...filters, milestone_id: param.recordId() },
          presenter: issue,
          handle: async (context) => {
            const { db, source, input } = context;
            const found = await listed(context, { of: { source, id: input.milestone_id } });
            const isEmpty = found.rows.length === 0;
            if (isEmpty && !(await milestones.find(db, source, input.milestone_id)))
              throw notFound();
            return found;
          },
        },
      ),
    ),
    project.post("/issues", {
      summary: "Create an issue",
      beside: "anybody",
      input: { title: param.title(), created_at: param.optional(param.anyText()), ...attributes },
      presenter: singleIssue,
      handle: async (context) => {
        const { db, source, caller, viewer, input, now } = context;
        const { title, description, confidential } = input;
        const at = instantOf("created_at", input.created_at);
        const columns = await columnsOf(context, input);
        const id = await issues.insertUnnumbered(
          db,
          {
            project_id: source.id,
            author_id: caller?.id ?? null,
            title,
            description,
            confidential,
            ...columns,
            discussion_locked: columns.discussion_locked === 1,
          },
          at !== undefined && source.level >= ROLES.owner ? at : now,
        );
        tell(context, "created", { id, title });
        await plan(context, ISSUE, id, input);
        const about = { projectId: source.id, id, noteId: null };
        const author = { id: caller.id, today: viewer.today };
        await todos.mention(db, ISSUE, about, { after: [title, description] }, author, now);
        return new AfterCommit((reader) => shown({ ...context, db: reader }, id));
      },
    }),
    project.get("/issues/:issue_iid", {
      summary: "Get an issue by its number within the project",
      access: "anyone",
      input: number,
      presenter: singleIssue,
      handle: async (context) => {
        const { id } = await findTarget(context, ISSUE, context.input.issue_iid);
        return shown(context, id);
      },
    }),
    project.put("/issues/:issue_iid", {
      summary: "Change, close or reopen an issue",
      input: {
        ...number,
        title: param.optional(param.title()),
        state_event: param.optional(param.choice(["close", "reopen"])),
        ...attributes,
      },
      atLeastOne: CHANGES,
      presenter: singleIssue,
      handle: async (context) => {
        const { db, source, viewer, caller, input, now } = context;
        const { title, description, confidential } = input;
        const found = await issues.find(db, ISSUE, source.id, input.issue_iid, viewer);
        if (!found) throw notFound();
        await requireChanger(context, ISSUE, found, "reporter");
        await updateRow(
          db,
          "issues",
          found.id,
          {
            title,
            description,
            confidential: confidential === undefined ? undefined : Number(confidential),
            ...(await columnsOf(context, input)),
          },
          now,
        );
        await plan(context, ISSUE, found.id, input);
        if (title !== undefined || description !== undefined) {
          const about = { projectId: source.id, id: found.id, noteId: null };
          const text = {
            after: [
              title ?? found.title,
              description === undefined ? found.description : description,
            ],
            before: [found.title, found.description],
          };
          const author = { id: caller.id, today: viewer.today };
          await todos.mention(db, ISSUE, about, text, author, now);
        }
        await setState(context, { ...found, title: title ?? found.title }, input.state_event);
        return shown(context, found.id);
      },
    }),
    project.del("/issues/:issue_iid", {
      summary: "Delete an issue with its notes",
      input: number,
      handle: async (context) => {
        const { db, source, input } = context;
        const found = await findTarget(context, ISSUE, input.issue_iid, "Issue");
        requireRole(source, "owner");
        context.requireUnmodified(found.updated_at);
        await events.forget(db, { type: "issue", id: found.id });
        await issues.remove(db, ISSUE, found.id);
        return undefined;
      },
    }),
    project.post("/issues/:issue_iid/move", {
      summary: "Move an issue to another project, by copying it there and closing it here",
      beside: "nobody",
      input: { ...number, to_project_id: param.integer() },
      presenter: singleIssue,
      handle: async (context) => {
        const { input } = context;
        const found = await findTarget(context, ISSUE, input.issue_iid, "Issue");
        return shown(context, await move(context, found, input.to_project_id));
      },
    }),
    ...(["subscribe", "unsubscribe"] as const).map((verb) =>
      project.post(`/issues/:issue_iid/${verb}`, {
        whenArchived: "allow",
        summary:
          verb === "subscribe"
            ? "Subscribe to an issue; 304 if the caller is already subscribed"
            : "Unsubscribe from an issue; 304 if the caller is not subscribed",
        input: number,
        presenter: singleIssue,
        handle: async (context) => {
          const { db, caller, input } = context;
          const { id } = await findTarget(context, ISSUE, input.issue_iid);
          const wanted = verb === "subscribe";
          if (!(await issues.subscribe(db, ISSUE, id, caller.id, wanted))) {
            throw notModified();
          }
          return shown(context, id);
        },
      }),
    ),
  ],
};
