import type { Viewer } from "../../core/access/visibility.ts";
import { after, reversed } from "../../graphql/cursor.ts";
import {
  type Args,
  arg,
  type ChildQuery,
  computed,
  connection,
  digits,
  enumeration,
  type GraphqlModule,
  gid,
  one,
  property,
  required,
  rowType,
  string,
  time,
  type Values,
  valueType,
} from "../../graphql/declare.ts";
import { all, when } from "../../store/conditions.ts";
import { isHidden } from "../users/rules.ts";
import { eventFields } from "./json.ts";
import { amongAuthored, EVENTS, filtered, visibleEvents } from "./list.ts";
import { ACTIONS, type Action, TARGET_TYPES, type TargetType } from "./record.ts";

const ACTION = enumeration<Action>(
  "ActivityEventAction",
  "What happened.",
  Object.fromEntries(ACTIONS.map((action) => [action.toUpperCase(), action])),
);
const TARGET = enumeration<TargetType>(
  "ActivityEventTarget",
  "What it happened to.",
  Object.fromEntries(
    (Object.keys(TARGET_TYPES) as TargetType[]).map((type) => [type.toUpperCase(), type]),
  ),
);
const SORT = enumeration<boolean>("ActivityEventSort", "The order of events.", {
  CREATED_ASC: false,
  CREATED_DESC: true,
});

const push = valueType("ActivityEventPush", "A push.", {
  action: property("String"),
  refType: property("String"),
  ref: property("String"),
  commitCount: property("Int"),
  commitFrom: property("String"),
  commitTo: property("String"),
  commitTitle: property("String"),
});

const PUSH = [
  "e.push_action",
  "e.ref_type",
  "e.ref",
  "e.commit_count",
  "e.commit_from",
  "e.commit_to",
  "e.commit_title",
] as const;

const event = rowType("ActivityEvent", {
  about: "Something that a user did in a project.",
  from: EVENTS,
  key: "e.id",
  visible: visibleEvents,
  fields: {
    id: gid("ActivityEvent", "e.id"),
    actionName: required(string(eventFields.action_name)),
    targetType: string("e.target_type"),
    targetIid: digits("e.target_iid"),
    targetTitle: string(eventFields.target_title),
    author: required(one("UserCore", "e.author_id")),
    project: required(one("Project", "e.project_id")),
    createdAt: required(time("e.created_at")),
    pushData: computed(push, PUSH, (values) => {
      const [action, refType, ref, commitCount, commitFrom, commitTo, commitTitle] = values;
      if (action === null) return null;
      return { action, refType, ref, commitCount, commitFrom, commitTo, commitTitle };
    }),
  },
});

const filters = {
  action: arg.choice(ACTION),
  targetType: arg.choice(TARGET),
  createdBefore: arg.about("Before this day.", arg.date),
  createdAfter: arg.about("After this day.", arg.date),
  sort: arg.withDefault(arg.choice(SORT), SORT.values["CREATED_DESC"]),
} satisfies Args;

type Filters = Values<typeof filters>;

const conditionOf = ({ createdBefore: before, createdAfter: after, ...kind }: Filters) =>
  all(filtered({ ...kind, before, after }));

const orderOf = ({ sort: descending }: Filters) => [
  { sql: "e.created_at", descending },
  { sql: "e.id", descending },
];

/** The events of a user that the viewer sees. */
function ofUser(args: Filters, viewer: Viewer, authorId: number): ChildQuery {
  const order = orderOf(args);
  const where = conditionOf(args);
  const own = { parent: "e.author_id", where, order };
  // Users and administrators see all of them; those of one kind are found by index, and are few.
  const seesAll = viewer.caller?.id === authorId || viewer.caller?.admin;
  if (seesAll || args.action || args.targetType) return own;
  return {
    ...own,
    page: ({ size, isBackward, start, end }) => {
      const between = [start && after(order, start), end && after(reversed(order), end)];
      return amongAuthored(viewer, {
        authorId,
        size,
        sort: args.sort === isBackward ? "asc" : "desc",
        where: all([where, ...between]),
      });
    },
  };
}

/** Activity of users and projects. */
export const graphqlModule: GraphqlModule = {
  types: [event],
  extend: {
    Project: {
      activityEvents: connection("ActivityEvent", {
        args: filters,
        query: (args) => ({
          parent: "e.project_id",
          where: conditionOf(args),
          order: orderOf(args),
        }),
      }),
    },
    User: {
      activityEvents: connection("ActivityEvent", {
        args: filters,
        needs: ["u.id", "u.private_profile"],
        query: (args, { viewer }, [id, private_profile]) => {
          const user = { id: id as number, private_profile: private_profile as number };
          // As in the REST API, callers without a token see no user's events.
          const isShown = viewer.caller !== undefined && !isHidden(user, viewer);
          return isShown ? ofUser(args, viewer, user.id) : { where: when("1 = 0") };
        },
      }),
    },
  },
};
