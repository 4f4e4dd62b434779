import {
  type Args,
  arg,
  type ChildQuery,
  computed,
  connection,
  digits,
  enumeration,
  type Face,
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
import { all, type Condition, when } from "../../store/conditions.ts";
import { isHidden } from "../users/rules.ts";
import { eventFields } from "./json.ts";
import { EVENTS, filtered, visibleEvents } from "./list.ts";
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

const listed = (
  { sort: descending, createdBefore: before, createdAfter: after, ...kind }: Values<typeof filters>,
  scope: Omit<ChildQuery, "where">,
  more?: Condition,
): ChildQuery => ({
  ...scope,
  where: all([...filtered({ ...kind, before, after }), more]),
  order: [
    { sql: "e.created_at", descending },
    { sql: "e.id", descending },
  ],
});

/** Activity of users and projects. */
export const face: Face = {
  types: [event],
  extend: {
    Project: {
      activityEvents: connection("ActivityEvent", {
        args: filters,
        query: (args) => listed(args, { parent: "e.project_id" }),
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
          const hidden = isShown ? undefined : when("1 = 0");
          return listed(args, { parent: "e.author_id" }, hidden);
        },
      }),
    },
  },
};
