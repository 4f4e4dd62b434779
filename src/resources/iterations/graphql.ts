import { visibleGroups } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { dayOf } from "../../core/time.ts";
import {
  type Args,
  arg,
  boolean,
  type ChildQuery,
  computed,
  connection,
  constant,
  date,
  digits,
  enumeration,
  first,
  type GraphContext,
  GraphError,
  type GraphqlModule,
  gidScalar,
  html,
  int,
  leaf,
  type MutationContext,
  mutation,
  notAvailable,
  type Order,
  one,
  plainGid,
  property,
  recordId,
  required,
  rowType,
  string,
  time,
  type Values,
} from "../../graphql/declare.ts";
import { all, among, when } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import type { Reader, Value } from "../../store/port.ts";
import { timeframe } from "../milestones/graphql.ts";
import { ACTIONS } from "./actions.ts";
import { CADENCE_CLASSES, CADENCE_ID } from "./ids.ts";
import { DAYS, type IterationState, stateOf } from "./json.ts";
import {
  fitting,
  inScope,
  NOT_DELETED_ITERATION,
  type SearchedField,
  searchedIn,
} from "./queries.ts";

const STATE = enumeration<IterationState | "opened" | "all">(
  "IterationState",
  "When an iteration is.",
  { upcoming: "upcoming", current: "current", opened: "opened", closed: "closed", all: "all" },
);
const SEARCHABLE = enumeration<SearchedField>(
  "IterationSearchableField",
  "What a search of iterations looks into.",
  { TITLE: "title", CADENCE_TITLE: "cadence_title" },
);
const BY_CADENCE = { sql: "it.cadence_id" };
const DUE = { sql: "it.due_date", isText: true };
const SORT = enumeration<readonly Order[]>("IterationSort", "The order of a list of iterations.", {
  CADENCE_AND_DUE_DATE_ASC: [BY_CADENCE, DUE, { sql: "it.id" }],
  CADENCE_AND_DUE_DATE_DESC: [BY_CADENCE, { ...DUE, descending: true }, { sql: "it.id" }],
});

const cadence = rowType("IterationCadence", {
  about: "A series of iterations.",
  from: "iteration_cadences ic join namespaces n on n.id = ic.namespace_id",
  key: "ic.id",
  visible: visibleGroups,
  fields: {
    id: required({
      ...leaf(
        "IterationsCadenceID",
        field.derived(["ic.id"], "string", ([id]) => `gid://gitlab/Iterations::Cadence/${id}`),
      ),
      declares: gidScalar("IterationsCadence", CADENCE_CLASSES),
    }),
    title: required(string("ic.title")),
    description: string("ic.description"),
    startDate: date("ic.start_date", "Time"),
    durationInWeeks: int("ic.duration_in_weeks"),
    iterationsInAdvance: int("ic.iterations_in_advance"),
    automatic: boolean("ic.automatic"),
    active: boolean("ic.active"),
    rollOver: required(boolean("ic.roll_over")),
  },
});

const PATH = "'/groups/' || n.full_path || '/-/iterations/' || it.iid";
const iteration = rowType("Iteration", {
  about: "A time in which issues are done.",
  from: "iterations it join namespaces n on n.id = it.namespace_id",
  key: "it.id",
  visible: (viewer) => all([visibleGroups(viewer), when(NOT_DELETED_ITERATION)]),
  fields: {
    id: plainGid("Iteration", "it.id"),
    iid: required(digits("it.iid")),
    sequence: required(int("it.sequence")),
    title: string("it.title"),
    description: string("it.description"),
    descriptionHtml: html("it.description"),
    state: required({
      ...computed(STATE.name, DAYS, ([start, due], { viewer }) =>
        stateOf(String(start), String(due), viewer.today),
      ),
      declares: STATE,
    }),
    startDate: date("it.start_date", "Time"),
    dueDate: date("it.due_date", "Time"),
    createdAt: required(time("it.created_at")),
    updatedAt: required(time("it.updated_at")),
    webPath: required(string(PATH)),
    webUrl: required(string(field.url(PATH, (path) => path))),
    // Projects have no pages of iterations.
    scopedPath: constant("String", null),
    scopedUrl: constant("String", null),
    iterationCadence: required(one("IterationCadence", "it.cadence_id")),
  },
});

const filters = {
  id: arg.id,
  iid: arg.id,
  state: arg.choice(STATE),
  title: arg.about("The older name of `search`.", arg.string),
  search: arg.string,
  in: arg.about("Where to search; by default in titles.", arg.list(arg.choice(SEARCHABLE))),
  iterationCadenceIds: arg.list(CADENCE_ID),
  includeAncestors: arg.about(
    "Also those of the groups above. Default: true, unless `iid` is given.",
    arg.boolean,
  ),
  includeDescendants: arg.boolean,
  timeframe: arg.input(timeframe),
  sort: arg.choice(SORT),
} satisfies Args;

/** The iterations of a group, or of a project's group. */
function iterationsOf(
  args: Values<typeof filters>,
  { viewer }: GraphContext,
  [namespaceId]: readonly Value[],
): ChildQuery {
  const { id, iid, state, title, in: fields, timeframe: frame } = args;
  if (title && (args.search || args.in)) {
    throw new GraphError("'title' is deprecated in favor of 'search'. Please use 'search'.");
  }
  const text = args.search || title;
  const scope = {
    ancestors: args.includeAncestors ?? iid === undefined,
    descendants: args.includeDescendants ?? false,
  };
  const filter = {
    state: state === "all" ? undefined : state,
    search: text ? { text, in: searchedIn(fields) } : undefined,
  };
  return {
    where: all([
      inScope("it.namespace_id", namespaceId as number, scope),
      fitting(filter, viewer.today),
      when("it.id = ?", id === undefined ? undefined : recordId(id, "Iteration")),
      when("it.iid = ?", iid === undefined ? undefined : recordId(iid, "Iteration")),
      among("it.cadence_id", args.iterationCadenceIds),
      frame && when("it.start_date <= ? and it.due_date >= ?", frame.end, frame.start),
    ]),
    order: args.sort ?? [DUE, { sql: "it.id" }],
  };
}

const cadenceFilters = {
  id: CADENCE_ID,
  title: arg.about("A text in the title.", arg.string),
  durationInWeeks: arg.int,
  automatic: arg.boolean,
  active: arg.boolean,
  includeAncestorGroups: arg.boolean,
} satisfies Args;

/** The cadences of a group, or of a project's group. */
const cadencesOf = (
  args: Values<typeof cadenceFilters>,
  _: GraphContext,
  [namespaceId]: readonly Value[],
): ChildQuery => ({
  where: all([
    inScope("ic.namespace_id", namespaceId as number, {
      ancestors: args.includeAncestorGroups ?? false,
      descendants: false,
    }),
    when("ic.id = ?", args.id),
    args.title ? contains(["ic.title"], args.title) : undefined,
    when("ic.duration_in_weeks = ?", args.durationInWeeks),
    when("ic.automatic = ?", args.automatic === undefined ? undefined : Number(args.automatic)),
    when("ic.active = ?", args.active === undefined ? undefined : Number(args.active)),
  ]),
  order: [{ sql: "ic.title", isText: true }, { sql: "ic.id" }],
});

const fieldsOf = (namespace: string) => ({
  iterations: connection("Iteration", { args: filters, needs: [namespace], query: iterationsOf }),
  iterationCadences: connection("IterationCadence", {
    args: cadenceFilters,
    needs: [namespace],
    query: cadencesOf,
  }),
});

const settings = {
  title: arg.string,
  description: arg.string,
  durationInWeeks: arg.int,
  iterationsInAdvance: arg.int,
  startDate: arg.time,
  rollOver: arg.boolean,
} satisfies Args;

type Settings = Partial<Values<typeof settings>> & {
  readonly automatic?: boolean | undefined;
  readonly active?: boolean | undefined;
};

const columnsOf = ({ startDate, automatic, active, ...sent }: Settings) => ({
  title: sent.title,
  description: sent.description,
  duration_in_weeks: sent.durationInWeeks,
  iterations_in_advance: sent.iterationsInAdvance,
  start_date: startDate === undefined ? undefined : dayOf(startDate),
  roll_over: sent.rollOver,
  automatic,
  active,
});

const cadencePayload = { iterationCadence: property("IterationCadence") };
const payload = { iteration: property("Iteration") };
const days = {
  title: arg.clearable(arg.string),
  description: arg.clearable(arg.string),
  startDate: arg.string,
  dueDate: arg.string,
} satisfies Args;

const daysOf = (sent: Partial<Values<typeof days>>) => ({
  title: sent.title,
  description: sent.description,
  start_date: sent.startDate,
  due_date: sent.dueDate,
});

const requireSome = (sent: object) => {
  if (Object.values(sent).some((value) => value !== undefined)) return;
  throw new GraphError("The list of iteration attributes is empty");
};

/** The group that a record belongs to; whether the caller may change it is checked by the routes. @throws GraphError */
async function groupOf(
  db: Reader,
  table: "iterations" | "iteration_cadences",
  id: number,
): Promise<number> {
  const [row] = await db.rows(`select namespace_id from ${table} where id = ?`, [id]);
  if (!row) throw notAvailable();
  return row[0] as number;
}

const creation = {
  groupPath: arg.id,
  projectPath: arg.about("Not supported: projects have no iterations of their own.", arg.id),
  iterationsCadenceId: arg.about(
    "Default: the first cadence of the group without automation.",
    CADENCE_ID,
  ),
  ...days,
} satisfies Args;

const create = mutation({
  about: "Create an iteration in a cadence without automation.",
  input: creation,
  payload,
  run: async (
    { groupPath, projectPath, iterationsCadenceId, ...sent },
    { call }: MutationContext,
  ) => {
    if ((groupPath === undefined) === (projectPath === undefined)) {
      throw new GraphError("Exactly one of group_path or project_path arguments is required");
    }
    if (groupPath === undefined) throw notAvailable();
    const given = { cadence_id: iterationsCadenceId, ...daysOf(sent) };
    requireSome(given);
    return { iteration: (await call(ACTIONS.create, { id: groupPath, ...given }))["id"] };
  },
});

/** Iterations and their cadences. */
export const graphqlModule: GraphqlModule = {
  types: [iteration, cadence],
  extend: {
    Group: fieldsOf("n.id"),
    Project: fieldsOf("p.namespace_id"),
    Query: {
      iteration: first("Iteration", {
        args: { id: arg.required(arg.gid("Iteration")) },
        query: ({ id }) => ({ where: when("it.id = ?", id) }),
      }),
    },
  },
  mutations: {
    iterationCadenceCreate: mutation({
      about: "Create a cadence of iterations.",
      input: {
        groupPath: arg.required(arg.id),
        ...settings,
        automatic: arg.required(arg.boolean),
        active: arg.required(arg.boolean),
      },
      payload: cadencePayload,
      run: async ({ groupPath, ...sent }, { call }) => {
        const created = await call(ACTIONS.createCadence, { id: groupPath, ...columnsOf(sent) });
        return { iterationCadence: created["id"] };
      },
    }),
    iterationCadenceUpdate: mutation({
      about: "Change a cadence of iterations; those to come get the days that follow from it.",
      input: {
        id: arg.required(CADENCE_ID),
        ...settings,
        automatic: arg.boolean,
        active: arg.boolean,
      },
      payload: cadencePayload,
      run: async ({ id, ...sent }, { call, db }) => {
        const group = await groupOf(db, "iteration_cadences", id);
        await call(ACTIONS.changeCadence, { id: group, cadence_id: id, ...columnsOf(sent) });
        return { iterationCadence: id };
      },
    }),
    iterationCadenceDestroy: mutation({
      about: "Delete a cadence with its iterations, of which issues are taken out.",
      input: { id: arg.required(CADENCE_ID) },
      payload: { group: property("Group") },
      run: async ({ id }, { call, db }) => {
        const group = await groupOf(db, "iteration_cadences", id);
        await call(ACTIONS.removeCadence, { id: group, cadence_id: id });
        return { group };
      },
    }),
    iterationCreate: create,
    createIteration: { ...create, about: "The older name of `iterationCreate`." },
    updateIteration: mutation({
      about: "Change an iteration; of cadences with automation only the description.",
      input: { groupPath: arg.required(arg.id), id: arg.required(arg.id), ...days },
      payload,
      run: async ({ groupPath, id, ...sent }, { call, db }) => {
        const given = daysOf(sent);
        requireSome(given);
        const number = recordId(id, "Iteration");
        const [row] = await db.rows(
          `select c.automatic from iterations it join iteration_cadences c on c.id = it.cadence_id where it.id = ?`,
          [number],
        );
        const { description: _, ...others } = given;
        if (row?.[0] === 1 && Object.values(others).some((value) => value !== undefined)) {
          throw new GraphError(
            "Manual iteration updates are deprecated, only `description` updates will be allowed in the future",
          );
        }
        await call(ACTIONS.change, { id: groupPath, iteration_id: number, ...given });
        return { iteration: number };
      },
    }),
    iterationDelete: mutation({
      about: "Delete an iteration, of which issues are taken out.",
      input: { id: arg.required(arg.gid("Iteration")) },
      payload: { group: property("Group") },
      run: async ({ id }, { call, db }) => {
        const group = await groupOf(db, "iterations", id);
        await call(ACTIONS.remove, { id: group, iteration_id: id });
        return { group };
      },
    }),
  },
};
