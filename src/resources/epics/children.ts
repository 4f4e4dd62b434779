import { findVisible, homePlace, type Source } from "../../core/access/source.ts";
import { inProject } from "../../core/access/visibility.ts";
import { conflict, forbidden, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Route, routes } from "../../core/resource.ts";
import { all, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { statement } from "../../store/texts.ts";
import { place } from "../hierarchy/changes.ts";
import * as hierarchy from "../hierarchy/queries.ts";
import { mayAdminParentLink } from "../issuables/abilities.ts";
import { embed, rowOf, rowsOf } from "../issuables/embed.ts";
import { EPIC } from "../issuables/epic.ts";
import { ISSUE } from "../issuables/issue.ts";
import { find, type Issuable } from "../issuables/queries.ts";
import { findIssuable } from "../issuables/rules.ts";
import type { IssuableType } from "../issuables/type.ts";
import { beginnings, create } from "./changes.ts";

/** What is below an epic, as lists of it show it. */
const BELOW = {
  issues: {
    type: ISSUE,
    isOfType: "i.issue_type <> 'epic'",
    shown: presenter({
      ...ISSUE.listed.fields,
      epic_issue_id: field.integer("h.issue_id"),
      relative_position: field.integer("h.position"),
    }),
  },
  epics: {
    type: EPIC,
    isOfType: "i.issue_type = 'epic'",
    shown: presenter({
      ...EPIC.listed.fields,
      has_children: field.flag("0 as has_children"),
      has_issues: field.flag("0 as has_issues"),
      relative_position: field.integer("h.position"),
    }),
  },
} as const;
type Below = (typeof BELOW)[keyof typeof BELOW];

const json = (type: IssuableType) =>
  field.json(type.name, type.className, { fields: type.listed.fields });

/** An issue that was put below an epic or taken away; `associationOf` writes both. */
const association = presenter({
  id: field.integer("h.issue_id"),
  epic: json(EPIC),
  issue: json(ISSUE),
});

type Reading = Pick<Context, "presenter" | "view" | "viewer" | "tier" | "source"> & {
  readonly db: Reader;
};

/** Numbers of what is shown are those of its group's references. */
const inGroup = <C extends Reading>(context: C) => ({
  ...context,
  source: { ...context.source, kind: "group" as const },
});

/** Fills in whether epics have epics and issues below them that the caller may read. */
async function fillInBelow({ db, viewer }: Reading, rows: Value[][]): Promise<void> {
  if (rows.length === 0) return;
  const { shown } = BELOW.epics;
  const id = shown.at("id");
  const among = placeholders(rows.map((row) => row[id] as Value));
  // The level is the caller's in one project, which an epic is not of.
  const { level: _, ...anywhere } = viewer;
  const having = ({ type, isOfType }: Below) => {
    const readable = all([when(isOfType), type.projects(anywhere), type.visible(anywhere)]);
    return {
      sql: statement`exists (select 1 from work_item_parents h join issues i on i.id = h.issue_id
        join projects p on p.id = i.project_id where h.parent_id = e.id and ${readable.sql})`,
      values: readable.values,
    };
  };
  const [epics, issues] = [having(BELOW.epics), having(BELOW.issues)];
  const found = await db.rows(
    statement`select e.id, case when ${epics.sql} then 1 else 0 end, case when ${issues.sql} then 1 else 0 end
     from issues e where e.id in (${among.sql})`,
    [...epics.values, ...issues.values, ...among.values],
  );
  const below = new Map(found.map(([of, ...has]) => [of as Value, has as Value[]]));
  const places = [shown.at("has_children"), shown.at("has_issues")] as const;
  for (const row of rows) {
    const has = below.get(row[id] as Value) ?? [];
    places.forEach((place, at) => {
      row[place] = has[at] ?? 0;
    });
  }
}

/** What is below an epic and the caller may read, in the order that people give it. */
async function listBelow(
  context: Reading & { readonly page: Page },
  { type, shown, isOfType }: Below,
  epicId: number,
): Promise<RowPage> {
  const { db, viewer, page } = context;
  const wanted = all([
    when("h.parent_id = ?", epicId),
    when(isOfType),
    type.projects(viewer),
    type.visible(viewer),
  ]);
  const listed = await paginate(db, shown, page, {
    from: `${type.from} join work_item_parents h on h.issue_id = i.id where ${wanted.sql}`,
    countFrom: `work_item_parents h join issues i on i.id = h.issue_id
      join projects p on p.id = i.project_id where ${wanted.sql}`,
    values: wanted.values,
    order: "h.position, h.issue_id",
  });
  await embed({ ...inGroup(context), presenter: shown }, type, listed.rows);
  if (type === EPIC) await fillInBelow(context, listed.rows);
  return listed;
}

async function associationOf(context: Reading, epicId: number, issueId: number) {
  const written: Value[] = [issueId];
  for (const [type, id] of [
    [EPIC, epicId],
    [ISSUE, issueId],
  ] as const) {
    const [row] = await rowsOf({ ...inGroup(context), presenter: type.listed }, type, [id]);
    written.push(row ? type.listed.write(row, context.view) : "null");
  }
  return written;
}

/** An issue or epic with the place that it is in. */
interface Child {
  readonly found: Issuable;
  readonly source: Source;
}

/**
 * An issue or epic by its id, with its project or group, which the caller may put somewhere.
 *
 * @throws ApiError 404 if there is none that the caller can see, 403 if they may not change it
 */
async function childOf(
  { db, viewer }: Pick<Context, "viewer"> & { db: Reader },
  { type, isOfType }: Below,
  id: number,
): Promise<Child> {
  const wanted = all([
    when("i.id = ?", id),
    when(isOfType),
    type.projects(viewer),
    type.visible(viewer),
  ]);
  const [row] = await db.rows(
    `select i.iid, p.id, p.namespace_id from issues i join projects p on p.id = i.project_id where ${wanted.sql}`,
    wanted.values,
  );
  if (!row) throw notFound(type.className);
  const [iid, projectId, groupId] = row as [number, number, number];
  const isEpic = type === EPIC;
  const named = await findVisible(
    db,
    isEpic ? "group" : "project",
    String(isEpic ? groupId : projectId),
    viewer,
  );
  if (!named) throw notFound(type.className);
  const source = isEpic ? await homePlace(db, named) : named;
  const found = await find(db, type, source.id, iid, inProject(viewer, source));
  if (!found?.visible) throw notFound(type.className);
  if (!mayAdminParentLink(found, { source, caller: viewer.caller })) throw forbidden();
  return { found, source };
}

type Placing = Context<Record<never, never>, Database, unknown, "user">;

/** Puts something below an epic. @throws ApiError 409 if it is there */
async function put(context: Placing, epic: Issuable, { found, source }: Child): Promise<void> {
  if ((await hierarchy.parentIdOf(context.db, found.id)) === epic.id) {
    throw conflict(`${found.issue_type === "epic" ? "Epic" : "Issue"}(s) already assigned`);
  }
  await place({ ...context, source }, found, { parentId: epic.id });
}

/** Finds something that is below an epic. @throws ApiError 404 if it is not */
async function below(context: Placing, kind: Below, epic: Issuable, id: number): Promise<Child> {
  const child = await childOf(context, kind, id);
  if ((await hierarchy.parentIdOf(context.db, id)) !== epic.id) throw notFound();
  return child;
}

const number = { epic_iid: param.recordId() };
const moves = {
  move_before_id: param.optional(param.integer()),
  move_after_id: param.optional(param.integer()),
};

/** Moves something among what is below an epic: what is to be before it, or after it, is named. */
async function move(
  context: Placing & { input: param.Input<typeof moves> },
  epic: Issuable,
  { found, source }: Child,
): Promise<void> {
  const { move_before_id: before, move_after_id: after } = context.input;
  const id = (before ?? after) as number;
  const neighbour = { id, side: before === undefined ? "before" : "after" } as const;
  await place({ ...context, source }, found, { parentId: epic.id, neighbour });
}

const {
  del,
  list,
  post,
  put: putOne,
} = routes({
  source: "group",
  isHome: true,
  path: "/epics/:epic_iid",
});

/** A change that answers the list it is made in. */
const change: typeof putOne = (...declared) => ({ ...putOne(...declared), isList: true });

const epicOf = (context: Reading & { input: { epic_iid: number } }) =>
  findIssuable(context, EPIC, context.input.epic_iid);

const role = "reporter";

/** Issues below epics, and epics below epics. */
export const childRoutes: readonly Route[] = [
  list("/issues", {
    summary: "List the issues of an epic",
    access: "anyone",
    input: number,
    presenter: BELOW.issues.shown,
    handle: async (context) => listBelow(context, BELOW.issues, (await epicOf(context)).id),
  }),
  post("/issues/:issue_id", {
    summary: "Put an issue, by its id, below an epic; it leaves the one that it was below",
    role,
    input: { ...number, issue_id: param.recordId() },
    presenter: association,
    handle: async (context) => {
      const { issue_id: id } = context.input;
      const epic = await epicOf(context);
      await put(context, epic, await childOf(context, BELOW.issues, id));
      return associationOf(context, epic.id, id);
    },
  }),
  change("/issues/:epic_issue_id", {
    summary: "Move an issue among those of an epic",
    role,
    input: { ...number, epic_issue_id: param.recordId(), ...moves },
    atLeastOne: ["move_before_id", "move_after_id"],
    presenter: BELOW.issues.shown,
    handle: async (context) => {
      const epic = await epicOf(context);
      await move(
        context,
        epic,
        await below(context, BELOW.issues, epic, context.input.epic_issue_id),
      );
      return listBelow(context, BELOW.issues, epic.id);
    },
  }),
  del("/issues/:epic_issue_id", {
    summary: "Take an issue away from an epic; both are shown a last time",
    role,
    input: { ...number, epic_issue_id: param.recordId() },
    presenter: association,
    handle: async (context) => {
      const { epic_issue_id: id } = context.input;
      const epic = await epicOf(context);
      const { found, source } = await below(context, BELOW.issues, epic, id);
      const answer = await associationOf(context, epic.id, id);
      await place({ ...context, source }, found, { parentId: null });
      return answer;
    },
  }),
  ...(["/epics", "/links"] as const).flatMap((path) => [
    list(path, {
      summary: "List the epics below an epic",
      access: "anyone",
      input: number,
      presenter: BELOW.epics.shown,
      handle: async (context) => listBelow(context, BELOW.epics, (await epicOf(context)).id),
    }),
    post(path, {
      summary: "Create an epic below an epic",
      role,
      input: { ...number, ...beginnings },
      presenter: EPIC.single,
      handle: async (context) => {
        const parent = await epicOf(context);
        return rowOf(context, EPIC, await create(context, parent.id));
      },
    }),
    post(`${path}/:child_epic_id`, {
      summary: "Put an epic, by its id, below an epic",
      role,
      input: { ...number, child_epic_id: param.recordId() },
      presenter: EPIC.single,
      handle: async (context) => {
        const { child_epic_id: id } = context.input;
        const parent = await epicOf(context);
        await put(context, parent, await childOf(context, BELOW.epics, id));
        return rowOf(context, EPIC, id);
      },
    }),
    change(`${path}/:child_epic_id`, {
      summary: "Move an epic among those below an epic",
      role,
      input: { ...number, child_epic_id: param.recordId(), ...moves },
      atLeastOne: ["move_before_id", "move_after_id"],
      presenter: BELOW.epics.shown,
      handle: async (context) => {
        const parent = await epicOf(context);
        const child = await below(context, BELOW.epics, parent, context.input.child_epic_id);
        await move(context, parent, child);
        return listBelow(context, BELOW.epics, parent.id);
      },
    }),
    del(`${path}/:child_epic_id`, {
      summary: "Take an epic away from the one that it is below; it stays in its group",
      role,
      input: { ...number, child_epic_id: param.recordId() },
      presenter: EPIC.single,
      handle: async (context) => {
        const parent = await epicOf(context);
        const { found, source } = await below(
          context,
          BELOW.epics,
          parent,
          context.input.child_epic_id,
        );
        await place({ ...context, source }, found, { parentId: null });
        return rowOf(context, EPIC, found.id);
      },
    }),
  ]),
];
