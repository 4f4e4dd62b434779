import { ROLES } from "../../core/access/roles.ts";
import { requireRole, type Source } from "../../core/access/source.ts";
import { ApiError, notFound, notModified, unauthorized } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import type { RowPage } from "../../core/pagination.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as events from "../events/queries.ts";
import * as issues from "../issues/queries.ts";
import {
  filterOf,
  findTarget,
  listInput,
  plan,
  plannedColumns,
  planningInput,
  requireChanger,
} from "../issues/rules.ts";
import * as milestones from "../milestones/queries.ts";
import * as todos from "../todos/queries.ts";
import { isDraft, mergeRequest, simpleMergeRequest, singleMergeRequest } from "./json.ts";
import * as requests from "./queries.ts";
import { migrations } from "./table.ts";

const { MERGE_REQUEST } = requests;

const filters = {
  ...listInput,
  state: param.optional(param.choice(["opened", "closed", "locked", "merged", "all"])),
  source_branch: param.optional(param.anyText()),
  target_branch: param.optional(param.anyText()),
  view: param.optional(param.choice(["simple"])),
};

const attributes = {
  description: param.clearable(param.anyText({ max: param.LONG_TEXT })),
  squash: param.optional(param.boolean()),
  remove_source_branch: param.optional(param.boolean()),
  ...planningInput,
};

const number = { merge_request_iid: param.recordId() };

type Listing = Pick<Context, "presenter" | "page" | "viewer" | "view" | "caller"> & {
  db: Reader;
  input: param.Input<typeof filters>;
};

async function listed(
  { db, presenter, page, viewer, view, caller, input }: Listing,
  within: { projectId?: number; groupId?: number; of?: { source: Source; id: number } },
  defaultScope: "created_by_me" | "all" = "all",
): Promise<RowPage> {
  const { of: milestone, ...place } = within;
  const branches = (["source_branch", "target_branch"] as const).flatMap((column) => {
    const value = input[column];
    return value === undefined ? [] : [{ sql: `mr.${column} = ?`, values: [value] }];
  });
  const found = await issues.list(db, MERGE_REQUEST, presenter, page, viewer, {
    ...filterOf(input, caller, defaultScope),
    ...place,
    state: input.state === "all" ? undefined : input.state,
    own: [
      ...branches,
      ...(milestone === undefined
        ? []
        : [
            {
              sql: `mr.milestone_id in (select id from milestones where id = ? and ${milestone.source.column} = ?)`,
              values: [milestone.id, milestone.source.id],
            },
          ]),
    ],
  });
  if (presenter === mergeRequest)
    await issues.embed(db, MERGE_REQUEST, found.rows, presenter, view);
  return found;
}

const presenterFor = ({ input }: { input: param.Input<typeof filters> }) =>
  input.view === "simple" ? simpleMergeRequest : mergeRequest;

/** The row of a single merge request. */
async function shown(
  {
    db,
    source,
    presenter,
    view,
    caller,
  }: Pick<Context, "source" | "presenter" | "view" | "caller"> & { db: Reader },
  id: number,
) {
  const row = await issues.row(db, MERGE_REQUEST, presenter, id);
  if (!row) throw notFound();
  await issues.embed(db, MERGE_REQUEST, [row], presenter, view);
  row[presenter.at("subscribed")] = String(
    caller !== undefined && (await issues.isSubscribed(db, MERGE_REQUEST, id, caller.id)),
  );
  row[presenter.at("user")] = `{"can_merge":${source.level >= ROLES.developer}}`;
  return row;
}

type Writing = Pick<Context, "source" | "caller" | "viewer" | "now"> & { db: Database };

function tell(
  { db, source, caller, now }: Writing,
  action: events.Action,
  { id, iid, title }: { id: number; iid: number; title: string },
): void {
  const event = { project_id: source.id, author_id: caller?.id ?? 0, action };
  events.record(db, { ...event, target: { type: "merge_request", id, iid, title } }, now);
}

/**
 * Checks the branches of a merge request that is open, or is about to be opened.
 *
 * @throws ApiError 422 if both are the same, 409 if another open merge request has the same branches
 */
async function requireBranches(
  { db, source }: Pick<Writing, "db" | "source">,
  branches: { source_branch: string; target_branch: string },
  exceptId?: number,
): Promise<void> {
  if (branches.source_branch === branches.target_branch) {
    throw new ApiError(422, {
      error: ["You can't use same project/branch for source and target"],
    });
  }
  const open = await requests.findOpen(db, source.id, branches, exceptId);
  if (open !== undefined) {
    throw new ApiError(409, {
      message: [`Another open merge request already exists for this source branch: !${open}`],
    });
  }
}

async function setState(
  context: Writing,
  found: issues.Target,
  event: "close" | "reopen" | undefined,
): Promise<void> {
  const { db, caller, now } = context;
  const [from, to] = event === "close" ? ["opened", "closed"] : ["closed", "opened"];
  if (!event || found.state !== from) return;
  await updateRow(
    db,
    "merge_requests",
    found.id,
    to === "closed"
      ? { state: to, closed_at: now, closed_by_id: caller?.id ?? null }
      : { state: to, closed_at: null, closed_by_id: null },
    now,
  );
  tell(context, to === "closed" ? "closed" : "reopened", found);
  if (to === "closed") await todos.resolve(db, MERGE_REQUEST, found.id, caller?.id ?? 0, now);
}

const flag = (value: boolean | undefined) => (value === undefined ? undefined : Number(value));

const CHANGES = [
  "title",
  "target_branch",
  "state_event",
  ...(Object.keys(attributes) as (keyof typeof attributes)[]),
] as const;

const { list } = routes();
const group = routes({ source: "group" });
const project = routes({ source: "project", features: ["merge_requests"] });

/** Merge requests as metadata: there is no repository behind them. */
export const mergeRequestResource: Resource = {
  name: "Merge requests",
  migrations,
  routes: [
    list("/merge_requests", {
      summary: "List the caller's merge requests, or with `scope=all` all they can see",
      access: "anyone",
      input: filters,
      presenter: presenterFor,
      handle: (context) => listed(context, {}, "created_by_me"),
    }),
    group.list("/merge_requests", {
      summary: "List the merge requests of all projects in a group and its subgroups",
      access: "anyone",
      input: filters,
      presenter: presenterFor,
      handle: (context) => listed(context, { groupId: context.source.id }),
    }),
    project.list("/merge_requests", {
      jobTokens: true,
      summary: "List the merge requests of a project",
      access: "anyone",
      input: filters,
      presenter: presenterFor,
      handle: (context) => listed(context, { projectId: context.source.id }),
    }),
    ...(["group", "project"] as const).map((kind) =>
      routes({ source: kind, features: ["issues", "merge_requests"] }).list(
        "/milestones/:milestone_id/merge_requests",
        {
          summary: `List the merge requests of a milestone of a ${kind}`,
          input: { ...filters, milestone_id: param.recordId() },
          presenter: presenterFor,
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
    project.post("/merge_requests", {
      summary: "Create a merge request between two branches of a project",
      role: "developer",
      input: {
        title: param.title(),
        source_branch: param.text(),
        target_branch: param.text(),
        target_project_id: param.optional(param.integer()),
        ...attributes,
      },
      presenter: singleMergeRequest,
      handle: async (context) => {
        const { db, source, caller, viewer, input, now } = context;
        if ((input.target_project_id ?? source.id) !== source.id) {
          throw new ApiError(422, {
            error: ["Source project is not a fork of the target project"],
          });
        }
        await requireBranches(context, input);
        const { title, description, source_branch, target_branch } = input;
        const made = await requests.insert(
          db,
          {
            project_id: source.id,
            author_id: caller?.id ?? null,
            title,
            description,
            source_branch,
            target_branch,
            sha: await events.headOf(db, source.id, source_branch),
            squash: input.squash,
            remove_source_branch: input.remove_source_branch,
            ...(await plannedColumns(context, input)),
          },
          now,
        );
        tell(context, "created", { ...made, title });
        await plan(context, MERGE_REQUEST, made.id, input);
        const about = { projectId: source.id, id: made.id, noteId: null };
        const author = { id: caller.id, today: viewer.today };
        await todos.mention(db, MERGE_REQUEST, about, { after: [title, description] }, author, now);
        return shown(context, made.id);
      },
    }),
    project.get("/merge_requests/:merge_request_iid", {
      jobTokens: true,
      summary: "Get a merge request by its number within the project",
      access: "anyone",
      input: number,
      presenter: singleMergeRequest,
      handle: async (context) => {
        const { id } = await findTarget(context, MERGE_REQUEST, context.input.merge_request_iid);
        return shown(context, id);
      },
    }),
    project.put("/merge_requests/:merge_request_iid", {
      summary: "Change, close or reopen a merge request",
      input: {
        ...number,
        title: param.optional(param.title()),
        target_branch: param.optional(param.text()),
        state_event: param.optional(param.choice(["close", "reopen"])),
        ...attributes,
      },
      atLeastOne: CHANGES,
      presenter: singleMergeRequest,
      handle: async (context) => {
        const { db, source, viewer, caller, input, now } = context;
        const { title, description, target_branch, state_event } = input;
        const found = await findTarget(context, MERGE_REQUEST, input.merge_request_iid);
        await requireChanger(context, MERGE_REQUEST, found, "developer");
        const branches = await requests.branchesOf(db, found.id);
        const reopens = state_event === "reopen" && found.state === "closed";
        if (reopens || target_branch !== undefined) {
          const wanted = { ...branches, target_branch: target_branch ?? branches.target_branch };
          await requireBranches(context, wanted, found.id);
        }
        await updateRow(
          db,
          "merge_requests",
          found.id,
          {
            title,
            description,
            target_branch,
            squash: flag(input.squash),
            remove_source_branch: flag(input.remove_source_branch),
            ...(await plannedColumns(context, input)),
          },
          now,
        );
        await plan(context, MERGE_REQUEST, found.id, input);
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
          await todos.mention(db, MERGE_REQUEST, about, text, author, now);
        }
        await setState(context, { ...found, title: title ?? found.title }, state_event);
        return shown(context, found.id);
      },
    }),
    project.put("/merge_requests/:merge_request_iid/merge", {
      summary:
        "Merge a merge request; 405 if it is a draft or not open, 409 if `sha` is not its head",
      input: {
        ...number,
        sha: param.optional(param.anyText()),
        squash: param.optional(param.boolean()),
        should_remove_source_branch: param.optional(param.boolean()),
      },
      presenter: singleMergeRequest,
      handle: async (context) => {
        const { db, source, caller, input, now } = context;
        const found = await findTarget(context, MERGE_REQUEST, input.merge_request_iid);
        if (source.level < ROLES.developer) throw unauthorized();
        if (found.state !== "opened" || isDraft(found.title)) {
          throw new ApiError(405, { message: "405 Method Not Allowed" });
        }
        const { sha } = await requests.branchesOf(db, found.id);
        if (input.sha !== undefined && input.sha !== sha) {
          throw new ApiError(409, {
            message: `SHA does not match HEAD of source branch: ${sha ?? "unknown"}`,
          });
        }
        await updateRow(
          db,
          "merge_requests",
          found.id,
          {
            state: "merged",
            merged_at: now,
            merged_by_id: caller?.id ?? null,
            squash: flag(input.squash),
            remove_source_branch: flag(input.should_remove_source_branch),
          },
          now,
        );
        tell(context, "merged", found);
        await todos.resolve(db, MERGE_REQUEST, found.id, caller.id, now);
        return shown(context, found.id);
      },
    }),
    project.del("/merge_requests/:merge_request_iid", {
      summary: "Delete a merge request with its notes",
      input: number,
      handle: async (context) => {
        const { db, source, input } = context;
        const found = await findTarget(context, MERGE_REQUEST, input.merge_request_iid);
        requireRole(source, "owner");
        context.requireUnmodified(found.updated_at);
        await events.forget(db, { type: "merge_request", id: found.id });
        await issues.remove(db, MERGE_REQUEST, found.id);
        return undefined;
      },
    }),
    ...(["subscribe", "unsubscribe"] as const).map((verb) =>
      project.post(`/merge_requests/:merge_request_iid/${verb}`, {
        whenArchived: "allow",
        summary:
          verb === "subscribe"
            ? "Subscribe to a merge request; 304 if the caller is already subscribed"
            : "Unsubscribe from a merge request; 304 if the caller is not subscribed",
        input: number,
        presenter: singleMergeRequest,
        handle: async (context) => {
          const { db, caller, input } = context;
          const { id } = await findTarget(context, MERGE_REQUEST, input.merge_request_iid);
          const wanted = verb === "subscribe";
          if (!(await issues.subscribe(db, MERGE_REQUEST, id, caller.id, wanted))) {
            throw notModified();
          }
          return shown(context, id);
        },
      }),
    ),
  ],
};
