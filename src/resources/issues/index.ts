import { isWritable } from "../../core/access/features.ts";
import { ROLES } from "../../core/access/roles.ts";
import { findSource } from "../../core/access/source.ts";
import { ApiError, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { AfterCommit, type Context, type Resource, routes, TIERS } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { rowOf } from "../issuables/embed.ts";
import { filterOf, instantOf, listInput } from "../issuables/filters.ts";
import { ISSUE } from "../issuables/issue.ts";
import * as lifecycle from "../issuables/lifecycle.ts";
import { type PlannedColumns, plannedColumns, planningInput } from "../issuables/planning.ts";
import * as issuables from "../issuables/queries.ts";
import { listRoutes, singleRoute, subscriptionRoutes } from "../issuables/routes.ts";
import { findIssuable, requireChanger } from "../issuables/rules.ts";
import type { Writing } from "../issuables/type.ts";
import * as labels from "../labels/queries.ts";
import * as milestones from "../milestones/queries.ts";
import * as notes from "../notes/queries.ts";
import * as issues from "./queries.ts";
import { migrations } from "./table.ts";

const lists = listRoutes(ISSUE, {
  input: {
    ...listInput,
    state: param.optional(param.choice(["opened", "closed", "all"])),
    confidential: param.optional(param.boolean()),
  },
  filter: ({ confidential, ...input }, caller, scope) => ({
    ...filterOf(input, caller, scope),
    own:
      confidential === undefined
        ? []
        : // No placeholder: the indexes of confidential issues are for this condition.
          [{ condition: { sql: `i.confidential = ${Number(confidential)}`, values: [] } }],
  }),
});

const attributes = {
  description: param.clearable(param.anyText({ max: param.LONG_TEXT })),
  confidential: param.optional(param.boolean()),
  due_date: param.clearable(param.date()),
  weight: param.clearable(param.integer({ min: 0 })),
  ...planningInput,
};

const number = { issue_iid: param.recordId() };

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

function refuseMove(reason: string): ApiError {
  return new ApiError(400, { message: `Cannot move issue ${reason}` });
}

/** Copies an issue with its notes into another project, matching labels and milestone by name, and closes it. */
async function move(
  context: Writing,
  found: issuables.Issuable,
  toProjectId: number,
): Promise<number> {
  const { db, source, viewer, now } = context;
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
  const names = (await issuables.labelsOf(db, ISSUE, found.id)).map(({ name }) => name);
  const labelIds = (await labels.findNamed(db, target, names)).values();
  await issuables.replaceLabels(db, ISSUE, copy.id, [...labelIds]);
  const assignees = await issuables.assigneesOf(db, ISSUE, found.id);
  await issuables.replaceAssignees(
    db,
    ISSUE,
    copy.id,
    await issuables.readers(db, ISSUE, copy.id, { ids: assignees }, viewer.today),
  );
  await notes.copy(db, ISSUE, found.id, { project_id: target.id, id: copy.id });
  await updateRow(db, "issues", found.id, { moved_to_id: copy.id }, now);
  await lifecycle.setState(context, ISSUE, found, "close");
  lifecycle.recordEvent({ ...context, source: target }, ISSUE, "created", {
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

const project = routes({ source: "project", features: ["issues"], whenDisabled: "leave out" });

/** Issues of projects. */
export const issueResource: Resource = {
  name: "Issues",
  migrations,
  routes: [
    ...lists,
    project.post("/issues", {
      summary: "Create an issue",
      beside: "anybody",
      input: { title: param.title(), created_at: param.optional(param.anyText()), ...attributes },
      presenter: ISSUE.single,
      handle: async (context) => {
        const { db, source, caller, input, now } = context;
        const { title, description, confidential } = input;
        const at = instantOf("created_at", input.created_at);
        const columns = await columnsOf(context, input);
        const id = await issues.insertUnnumbered(
          db,
          {
            project_id: source.id,
            author_id: caller.id,
            title,
            description,
            confidential,
            ...columns,
            discussion_locked: columns.discussion_locked === 1,
          },
          at !== undefined && source.level >= ROLES.owner ? at : now,
        );
        await lifecycle.afterCreating(context, ISSUE, { id, title, description }, input);
        return new AfterCommit((reader) => rowOf({ ...context, db: reader }, ISSUE, id));
      },
    }),
    singleRoute(ISSUE),
    project.put("/issues/:issue_iid", {
      summary: "Change, close or reopen an issue",
      input: {
        ...number,
        title: param.optional(param.title()),
        state_event: param.optional(param.choice(["close", "reopen"])),
        ...attributes,
      },
      atLeastOne: CHANGES,
      presenter: ISSUE.single,
      handle: async (context) => {
        const { db, source, viewer, input, now } = context;
        const { title, description, confidential } = input;
        const found = await issuables.find(db, ISSUE, source.id, input.issue_iid, viewer);
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
        await lifecycle.afterChanging(context, ISSUE, found, input);
        return rowOf(context, ISSUE, found.id);
      },
    }),
    project.del("/issues/:issue_iid", {
      summary: "Delete an issue with its notes",
      input: number,
      handle: async (context) => {
        const found = await findIssuable(context, ISSUE, context.input.issue_iid, "Issue");
        await lifecycle.remove(context, ISSUE, found);
        return undefined;
      },
    }),
    project.post("/issues/:issue_iid/move", {
      summary: "Move an issue to another project, by copying it there and closing it here",
      beside: "nobody",
      input: { ...number, to_project_id: param.integer() },
      presenter: ISSUE.single,
      handle: async (context) => {
        const { input } = context;
        const found = await findIssuable(context, ISSUE, input.issue_iid, "Issue");
        return rowOf(context, ISSUE, await move(context, found, input.to_project_id));
      },
    }),
    ...subscriptionRoutes(ISSUE),
  ],
};
