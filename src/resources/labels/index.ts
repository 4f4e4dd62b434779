import type { Caller } from "../../core/access/caller.ts";
import { colorOf } from "../../core/colors.ts";
import { conflict, invalid, missing, notFound, notModified } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { flagWithoutEffect, unsupported, unsupportedFlag } from "../../core/kept.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes, type SourceKind } from "../../core/resource.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { groupLabel, groupLabelFields } from "./json.ts";
import * as labels from "./queries.ts";
import * as removal from "./removal.ts";
import { migrations } from "./table.ts";

const projectLabel = presenter({
  ...groupLabelFields,
  priority: field.integer("l.priority"),
  is_project_label: field.flag("case when l.project_id is null then 0 else 1 end"),
});

const color = param.text();
const labelName = param.noted(param.trimmed({ reportedAs: "title" }), { minLength: 1 });
const priority = param.clearable(param.integer({ min: 0, max: 2 ** 31 - 1 }));

type In = Pick<Context, "source"> & { db: Reader };

function checkName(name: string): void {
  const problems = labels.nameProblems(name);
  if (problems) throw invalid({ title: problems });
}

function readColor(value: string): string {
  const color = colorOf(value);
  if (color === undefined) throw invalid({ color: ["must be a valid color code"] });
  return color;
}

async function findLabel({ db, source }: In, idOrName: string, inherited = false) {
  const found = await labels.find(db, source, idOrName, { inherited });
  if (!found) throw notFound("Label");
  return found;
}

interface LabelChange {
  new_name?: string | undefined;
  color?: string | undefined;
  description?: string | null | undefined;
  priority?: number | null | undefined;
  archived?: boolean | undefined;
}

async function change(
  {
    db,
    source,
    presenter,
    viewer,
    now,
  }: Pick<Context, "source" | "presenter" | "viewer" | "now"> & {
    db: Database;
  },
  found: labels.Label,
  input: LabelChange,
) {
  if (input.new_name !== undefined) {
    checkName(input.new_name);
    if (await labels.isTaken(db, source, input.new_name, found.id)) {
      throw conflict("Label already exists");
    }
  }
  const { new_name: name, description, priority } = input;
  const color = input.color === undefined ? undefined : readColor(input.color);
  const archived = input.archived === undefined ? undefined : Number(input.archived);
  await updateRow(db, "labels", found.id, { name, color, description, priority, archived }, now);
  return labels.row(db, presenter, found.id, source, viewer);
}

const CHANGES = ["new_name", "color", "description"] as const;

function routesOf(source: SourceKind) {
  const { del, get, list, post, put } = routes({
    source,
    path: "/labels",
    features: ["issues", "merge_requests"],
  });
  const presenter = source === "group" ? groupLabel : projectLabel;
  // Only project labels have a priority.
  const ranked = (source === "project" ? { priority } : {}) as { priority: typeof priority };
  const attributes = {
    color,
    description: param.clearable(param.anyText({ max: 524_288 })),
    ...ranked,
  };
  const changes = {
    ...attributes,
    new_name: param.optional(labelName),
    color: param.optional(color),
  };
  const atLeastOne = source === "project" ? ([...CHANGES, "priority"] as const) : CHANGES;
  return [
    list("", {
      summary: `List the labels of a ${source}, by name`,
      isShownToVisitors: true,
      input: {
        search: param.optional(param.anyText()),
        include_ancestor_groups: param.optional(param.boolean()),
        // The numbers of issues and merge requests are always shown.
        with_counts: flagWithoutEffect(),
        ...(source === "group" && {
          include_descendant_groups: unsupportedFlag(),
          only_group_labels: unsupported(param.boolean(), true),
        }),
      },
      presenter,
      handle: ({ db, presenter, page, source, viewer, input }) =>
        labels.list(db, presenter, page, source, viewer, {
          search: input.search,
          inherited: input.include_ancestor_groups ?? true,
        }),
    }),
    get("/:label_id", {
      summary: "Get a label by its id or name",
      input: { label_id: param.anyText() },
      presenter,
      handle: async (context) => {
        const { db, presenter, source, viewer, input } = context;
        const found = await findLabel(context, input.label_id, true);
        return labels.row(db, presenter, found.id, source, viewer);
      },
    }),
    post("", {
      summary: "Create a label",
      role: "reporter",
      input: { name: labelName, ...attributes },
      presenter,
      handle: async ({ db, source, input, presenter, viewer, now }) => {
        checkName(input.name);
        const label = { ...input, color: readColor(input.color) };
        const id = await labels.insertUntaken(db, source, label, now);
        if (id === undefined) throw conflict("Label already exists");
        return labels.newRow(db, presenter, id, viewer);
      },
    }),
    put("", {
      summary: "Change a label named by `name` or `label_id`",
      role: "reporter",
      input: {
        name: param.optional(param.anyText()),
        label_id: param.optional(param.integer()),
        ...changes,
      },
      atLeastOne,
      presenter,
      handle: async (context) => {
        const { name, label_id } = context.input;
        if (name === undefined && label_id === undefined) throw missing("name");
        return change(context, await findLabel(context, String(label_id ?? name)), context.input);
      },
    }),
    put("/:label_id", {
      summary: "Change a label",
      role: "reporter",
      input: { label_id: param.anyText(), ...changes },
      atLeastOne,
      presenter,
      handle: async (context) =>
        change(context, await findLabel(context, context.input.label_id), context.input),
    }),
    del("", {
      summary: "Delete a label named by `name`",
      role: "reporter",
      input: { name: param.anyText() },
      handle: async (context) => remove(context, context.input.name),
    }),
    del("/:label_id", {
      summary: "Delete a label",
      role: "reporter",
      input: { label_id: param.anyText() },
      handle: async (context) => remove(context, context.input.label_id),
    }),
    post("/:label_id/subscribe", {
      whenArchived: "allow",
      alsoAnswers: { 304: [] },
      summary: "Subscribe to a label; 304 if the caller is already subscribed",
      input: { label_id: param.anyText() },
      presenter,
      handle: async (context) => subscription(context, context.input.label_id, labels.subscribe),
    }),
    post("/:label_id/unsubscribe", {
      whenArchived: "allow",
      alsoAnswers: { 304: [] },
      summary: "End a subscription to a label; 304 if there is none",
      input: { label_id: param.anyText() },
      presenter,
      handle: async (context) => subscription(context, context.input.label_id, labels.unsubscribe),
    }),
  ];
}

/** Changes a label of a group or project, or archives it: GitLab archives labels in GraphQL only. */
const changeOf = (source: SourceKind) =>
  routes({ source, path: "/labels", features: ["issues", "merge_requests"] }).put("/:label_id", {
    summary: "Change a label, or archive it",
    role: "reporter",
    input: {
      label_id: param.anyText(),
      color: param.optional(color),
      description: param.clearable(param.anyText({ max: 524_288 })),
      new_name: param.optional(labelName),
      archived: param.optional(param.boolean()),
    },
    atLeastOne: [...CHANGES, "archived"],
    presenter: source === "group" ? groupLabel : projectLabel,
    handle: async (context) =>
      change(context, await findLabel(context, context.input.label_id), context.input),
  });

/** The route that changes a label, which pages perform, too. */
export const changeLabel = { group: changeOf("group"), project: changeOf("project") };

async function remove(
  context: Pick<Context, "source" | "requireUnmodified" | "now"> & { db: Database },
  idOrName: string,
) {
  const found = await findLabel(context, idOrName);
  context.requireUnmodified(found.updated_at);
  await removal.remove(context.db, found.id, context.now);
  return undefined;
}

async function subscription(
  context: Pick<Context, "source" | "presenter" | "viewer"> & { db: Database; caller: Caller },
  idOrName: string,
  set: typeof labels.subscribe,
) {
  const found = await findLabel(context, idOrName, true);
  if (!(await set(context.db, found.id, context.caller.id))) throw notModified();
  return labels.row(context.db, context.presenter, found.id, context.source, context.viewer);
}

/** Labels of groups and projects, which inherit those of the groups above them. */
export const labelResource: Resource = {
  name: "Labels",
  migrations,
  routes: [...routesOf("group"), ...routesOf("project")],
};
