import { notFound, notModified } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import type { Reader, Value } from "../../store/port.ts";
import { hideWeight, issue } from "../issues/json.ts";
import * as issues from "../issues/queries.ts";
import { findTarget } from "../issues/rules.ts";
import { mergeRequest } from "../merge-requests/json.ts";
import { MERGE_REQUEST } from "../merge-requests/queries.ts";
import { userFields } from "../users/json.ts";
import * as todos from "./queries.ts";
import { migrations } from "./table.ts";

const { ISSUE } = issues;

const todo = presenter({
  id: field.integer("td.id"),
  project: field.nested({
    id: field.integer("p.id"),
    description: field.text("p.description"),
    name: field.text("p.name"),
    name_with_namespace: field.text("n.full_name || ' / ' || p.name"),
    path: field.text("p.path"),
    path_with_namespace: field.text("p.full_path"),
    created_at: field.instant("p.created_at"),
  }),
  author: field.nested(userFields("u")),
  action_name: field.text("td.action"),
  target_type: field.text("case when td.issue_id is null then 'MergeRequest' else 'Issue' end"),
  // Type and id, which `embedTargets` replaces with the issue or merge request.
  target: field.json(
    `case when td.issue_id is null then 'MergeRequest ' || td.merge_request_id
      else 'Issue ' || td.issue_id end as target`,
    "Issue or Merge request",
    { either: [issue.fields, mergeRequest.fields] },
  ),
  target_url: field.url(
    [
      "p.full_path",
      `case when td.issue_id is null then 'merge_requests/' || mr.iid else 'issues/' || i.iid end
        || coalesce('#note_' || td.note_id, '')`,
    ],
    (path, rest) => `/${path}/-/${rest}`,
  ),
  body: field.text("coalesce(nt.body, i.title, mr.title)"),
  state: field.text("td.state"),
  created_at: field.instant("td.created_at"),
});

type Showing = Pick<Context, "presenter" | "view" | "tier"> & { db: Reader };

/** Fills in the issues and merge requests, with four queries for each of the two. */
async function embedTargets(
  { db, presenter, view, tier }: Showing,
  rows: Value[][],
): Promise<void> {
  const at = presenter.at("target");
  const written = new Map<Value, string>();
  for (const [kind, presenter] of [
    [ISSUE, issue],
    [MERGE_REQUEST, mergeRequest],
  ] as const) {
    const names = rows.map((row) => String(row[at]).split(" "));
    const ids = names.filter(([type]) => type === kind.type).map(([, id]) => Number(id));
    const found = await issues.rowsOf(db, kind, presenter, [...new Set(ids)]);
    await issues.embed(db, kind, found, presenter, view);
    if (kind === ISSUE) hideWeight(found, presenter, tier);
    for (const one of found) {
      written.set(`${kind.type} ${one[presenter.at("id")]}`, presenter.write(one, view));
    }
  }
  for (const row of rows) row[at] = written.get(row[at] as Value) ?? "null";
}

/** The row of one of the caller's todos; 404 if they can no longer read its target, which lists leave out too. */
async function shown(context: Showing & Pick<Context, "viewer">, id: number) {
  const row = await todos.row(context.db, context.presenter, id, context.viewer);
  if (!row) throw notFound();
  await embedTargets(context, [row]);
  return row;
}

const marking = (kind: issues.Kind, what: string) =>
  routes({ source: "project", features: [kind.path] }).post(`/${kind.path}/:target_iid/todo`, {
    whenArchived: "allow",
    summary: `Create a todo for ${what}; 304 if a pending one exists`,
    input: { target_iid: param.recordId() },
    presenter: todo,
    handle: async (context) => {
      const { db, source, caller, input, now } = context;
      const { id } = await findTarget(context, kind, input.target_iid);
      const userId = caller.id;
      const about = { projectId: source.id, id, noteId: null };
      const [made] = await todos.add(db, kind, about, [userId], "marked", userId, now);
      if (made === undefined) throw notModified();
      return shown(context, made);
    },
  });

const { list, post } = routes();

/** The caller's to-do list. */
export const todoResource: Resource = {
  name: "Todos",
  migrations,
  routes: [
    list("/todos", {
      summary: "List the caller's todos, newest first; by default only pending ones",
      input: {
        action: param.optional(param.choice(todos.ACTIONS)),
        author_id: param.optional(param.integer()),
        project_id: param.optional(param.integer()),
        group_id: param.optional(param.integer()),
        state: param.optional(param.choice(["pending", "done"])),
        type: param.optional(param.choice(["Issue", "MergeRequest"])),
      },
      presenter: todo,
      handle: async (context) => {
        const { db, presenter, page, viewer, input } = context;
        const listed = await todos.list(db, presenter, page, viewer, {
          action: input.action,
          authorId: input.author_id,
          projectId: input.project_id,
          groupId: input.group_id,
          state: input.state,
          type: input.type,
        });
        await embedTargets(context, listed.rows);
        return listed;
      },
    }),
    post("/todos/mark_as_done", {
      summary: "Mark all of the caller's todos as done",
      status: 204,
      handle: async ({ db, caller, now }) => {
        await todos.finishAll(db, caller.id, now);
        return undefined;
      },
    }),
    post("/todos/:todo_id/mark_as_done", {
      summary: "Mark a todo as done",
      input: { todo_id: param.recordId() },
      presenter: todo,
      handle: async (context) => {
        const { db, caller, input, now } = context;
        await todos.finish(db, input.todo_id, caller.id, now);
        return shown(context, input.todo_id);
      },
    }),
    marking(ISSUE, "an issue"),
    marking(MERGE_REQUEST, "a merge request"),
  ],
};
