import { inheritedBy, ownedBy } from "../../core/access/owner.ts";
import {
  NOT_DELETED_MILESTONE,
  type Viewer,
  visibleIssues,
  visibleOwner,
  visibleProjects,
} from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { isoInstant } from "../../core/time.ts";
import {
  type Args,
  arg,
  boolean,
  type ChildQuery,
  computed,
  connection,
  date,
  enumeration,
  first,
  type GraphContext,
  type GraphqlModule,
  gid,
  inputType,
  leaf,
  loaded,
  type Order,
  one,
  property,
  recordId,
  required,
  rowType,
  sortEnum,
  string,
  time,
  type Values,
  valueType,
  word,
} from "../../graphql/declare.ts";
import {
  all,
  among,
  any,
  belowGroup,
  type Condition,
  projectsBelow,
  when,
} from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";

const STATE = enumeration("MilestoneStateEnum", "Whether a milestone is open.", [
  "active",
  "closed",
]);

const stats = valueType("MilestoneStats", "The issues of a milestone that the caller may see.", {
  totalIssuesCount: property("Int"),
  closedIssuesCount: property("Int"),
});

async function countIssues(
  ids: readonly Value[],
  { db, viewer }: { db: Reader; viewer: Viewer },
): Promise<Map<Value, object>> {
  const among = placeholders(ids);
  const visible = all([visibleProjects(viewer), visibleIssues(viewer)]);
  const counted = await db.rows(
    `select i.milestone_id, count(*), sum(case when i.state = 'closed' then 1 else 0 end)
     from issues i join projects p on p.id = i.project_id
     where i.milestone_id in (${among.sql}) and ${visible.sql} group by i.milestone_id`,
    [...among.values, ...visible.values],
  );
  return new Map(
    counted.map(([id, total, closed]) => [
      id as Value,
      { totalIssuesCount: Number(total), closedIssuesCount: Number(closed) },
    ]),
  );
}

const milestone = rowType("Milestone", {
  about: "A milestone of a group or project.",
  from: `milestones m left join namespaces mn on mn.id = m.namespace_id
    left join projects mp on mp.id = m.project_id`,
  key: "m.id",
  visible: (viewer) =>
    all([visibleOwner(viewer, "m", ["issues", "merge_requests"]), when(NOT_DELETED_MILESTONE)]),
  fields: {
    id: gid("Milestone", "m.id"),
    iid: required(
      leaf(
        "ID",
        field.derived(["m.iid"], "string", ([iid]) => String(iid)),
      ),
    ),
    title: required(string("m.title")),
    description: string("m.description"),
    state: required(word(STATE, "m.state")),
    dueDate: date("m.due_date", "Time"),
    startDate: date("m.start_date", "Time"),
    expired: required(
      computed(
        "Boolean",
        ["m.due_date"],
        ([due], { viewer }) => due !== null && String(due) < viewer.today,
      ),
    ),
    upcoming: required(
      computed(
        "Boolean",
        ["m.start_date"],
        ([start], { viewer }) => start !== null && String(start) > viewer.today,
      ),
    ),
    createdAt: required(time("m.created_at")),
    updatedAt: required(time("m.updated_at")),
    webPath: required(
      string(
        "case when mp.id is null then '/groups/' || mn.full_path else '/' || mp.full_path end || '/-/milestones/' || m.iid",
      ),
    ),
    groupMilestone: required(boolean("case when m.project_id is null then 1 else 0 end")),
    projectMilestone: required(boolean("case when m.project_id is null then 0 else 1 end")),
    subgroupMilestone: required(boolean("case when mn.parent_id is null then 0 else 1 end")),
    project: one("Project", "m.project_id"),
    group: one("Group", "m.namespace_id"),
    stats: loaded(stats, countIssues, { empty: { totalIssuesCount: 0, closedIssuesCount: 0 } }),
  },
});

const LAST = "'9999-12-31'";
/** Stands for sorting those that have expired last; {@link orderOf} knows the day. */
const EXPIRED: Order = { sql: "expired" };
const DUE = [
  { sql: `coalesce(m.due_date, ${LAST})`, isText: true },
  { sql: "coalesce(m.due_date, '')", isText: true, descending: true },
] as const;
const SORT = sortEnum(
  "MilestoneSort",
  "The order of a list of milestones.",
  "m.id",
  { CREATED: { sql: "m.created_at" }, UPDATED: { sql: "m.updated_at" }, DUE_DATE: DUE },
  {
    EXPIRED_LAST_DUE_DATE_ASC: [EXPIRED, DUE[0], { sql: "m.id" }],
    EXPIRED_LAST_DUE_DATE_DESC: [EXPIRED, DUE[1], { sql: "m.id" }],
  },
);

const dayOf = (instant: number) => isoInstant(instant).slice(0, 10);

/** Days from one to another, as arguments of lists. */
export const timeframe = inputType("Timeframe", "From one day to another.", {
  start: arg.required(arg.plainDate),
  end: arg.required(arg.plainDate),
});

const filters = {
  ids: arg.list(arg.id),
  state: arg.choice(STATE),
  title: arg.string,
  searchTitle: arg.string,
  timeframe: arg.input(timeframe),
  containingDate: arg.time,
  sort: arg.withDefault(arg.choice(SORT), SORT.values["DUE_DATE_ASC"]),
  includeAncestors: arg.withDefault(arg.boolean, false),
} satisfies Args;

function conditionOf(args: Partial<Values<typeof filters>>): Condition {
  const { timeframe: frame, containingDate: day } = args;
  const within = (start: string, end: string) =>
    all([
      when("(m.start_date is not null or m.due_date is not null)"),
      when(`coalesce(m.start_date, '') <= ?`, end),
      when(`coalesce(m.due_date, ${LAST}) >= ?`, start),
    ]);
  return all([
    among(
      "m.id",
      args.ids?.map((id) => recordId(id, "Milestone")),
    ),
    when("m.state = ?", args.state),
    when("m.title = ?", args.title),
    args.searchTitle ? contains(["m.title"], args.searchTitle) : undefined,
    frame && within(frame.start, frame.end),
    day === undefined ? undefined : within(dayOf(day), dayOf(day)),
  ]);
}

const groupFilters = {
  ...filters,
  includeDescendants: arg.withDefault(arg.boolean, false),
} satisfies Args;

/** A sort as the query needs it. */
const orderOf = (sort: readonly Order[], { today }: Viewer): readonly Order[] =>
  sort.map((order) =>
    order.sql === EXPIRED.sql
      ? { sql: `case when m.due_date < '${today}' then 1 else 0 end` }
      : order,
  );

/** Milestones of a group and, if asked, of the groups above it, or of the groups and projects below it. */
function ofGroup(
  { includeAncestors, includeDescendants, ...args }: Values<typeof groupFilters>,
  { viewer }: GraphContext,
  [groupId]: readonly Value[],
): ChildQuery {
  const id = groupId as number;
  const own = { column: "namespace_id", id, namespaceId: id } as const;
  const scopes = [includeAncestors ? inheritedBy("m", own) : ownedBy("m", own)];
  if (includeDescendants) {
    scopes.push(belowGroup("m.namespace_id", id), projectsBelow("m.project_id", id));
  }
  return { where: all([any(scopes), conditionOf(args)]), order: orderOf(args.sort, viewer) };
}

/** Milestones of a project and, if asked, of the groups above it. */
function ofProject(
  { includeAncestors, ...args }: Values<typeof filters>,
  { viewer }: GraphContext,
  [id, namespaceId]: readonly Value[],
): ChildQuery {
  const own = {
    column: "project_id",
    id: id as number,
    namespaceId: namespaceId as number,
  } as const;
  const scope = includeAncestors ? inheritedBy("m", own) : ownedBy("m", own);
  return { where: all([scope, conditionOf(args)]), order: orderOf(args.sort, viewer) };
}

/** Milestones. */
export const graphqlModule: GraphqlModule = {
  types: [milestone],
  extend: {
    Group: {
      milestones: connection("Milestone", { args: groupFilters, needs: ["n.id"], query: ofGroup }),
    },
    Project: {
      milestones: connection("Milestone", {
        args: filters,
        needs: ["p.id", "p.namespace_id"],
        query: ofProject,
      }),
    },
    Query: {
      milestone: first("Milestone", {
        args: { id: arg.required(arg.gid("Milestone")) },
        query: ({ id }) => ({ where: when("m.id = ?", id) }),
      }),
    },
  },
};
