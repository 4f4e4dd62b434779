import { visibleIssues, visibleProjects } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import {
  type Args,
  arg,
  boolean,
  computed,
  connection,
  date,
  digits,
  enumeration,
  type Face,
  first,
  type GraphContext,
  int,
  mutation,
  type Order,
  one,
  plainGid,
  property,
  required,
  routeOf,
  rowType,
  string,
  time,
  type Values,
  word,
} from "../../graphql/declare.ts";
import { all, when } from "../../store/conditions.ts";
import type { Filter } from "../issuables/filters.ts";
import { ISSUE } from "../issuables/issue.ts";
import { conditionsOf } from "../issuables/list.ts";
import { issueResource } from "./index.ts";

const STATE = enumeration("IssueState", "Whether an issue is open.", [
  "opened",
  "closed",
  "locked",
]);
const STATES = enumeration("IssuableState", "Which states a list shows.", [
  "opened",
  "closed",
  "all",
]);
const SORT = enumeration<readonly Order[]>("IssueSort", "The order of a list of issues.", {
  CREATED_ASC: [{ sql: "i.created_at" }, { sql: "i.id" }],
  CREATED_DESC: [
    { sql: "i.created_at", descending: true },
    { sql: "i.id", descending: true },
  ],
});

const issue = rowType("Issue", {
  about: "An issue.",
  from: "issues i join projects p on p.id = i.project_id left join milestones m on m.id = i.milestone_id",
  key: "i.id",
  visible: (viewer) => all([visibleProjects(viewer), visibleIssues(viewer)]),
  fields: {
    id: plainGid("Issue", "i.id"),
    iid: required(digits("i.iid")),
    title: required(string("i.title")),
    description: string("i.description"),
    state: required(word(STATE, "i.state")),
    confidential: required(boolean("i.confidential")),
    discussionLocked: required(boolean("i.discussion_locked")),
    dueDate: date("i.due_date", "Time"),
    weight: int("i.weight"),
    author: required(one("UserCore", "i.author_id")),
    milestone: one("Milestone", "i.milestone_id"),
    createdAt: required(time("i.created_at")),
    updatedAt: required(time("i.updated_at")),
    closedAt: time("i.closed_at"),
    projectId: required(int("i.project_id")),
    webUrl: required(
      string(field.url(["p.full_path", "i.iid"], (path, iid) => `/${path}/-/issues/${iid}`)),
    ),
    webPath: required(string("'/' || p.full_path || '/-/issues/' || i.iid")),
    reference: required(
      computed(
        "String",
        ["p.full_path", "i.iid"],
        ([path, iid], _, { full }) => `${full ? path : ""}#${iid}`,
        { full: arg.withDefault(arg.boolean, false) },
      ),
    ),
    labels: connection("Label", {
      areFew: true,
      query: () => ({
        join: "join issue_labels x on x.label_id = l.id",
        parent: "x.issue_id",
        order: [{ sql: "l.name", isText: true }, { sql: "l.id" }],
      }),
    }),
    assignees: connection("UserCore", {
      areFew: true,
      query: () => ({
        join: "join issue_assignees x on x.user_id = u.id",
        parent: "x.issue_id",
      }),
    }),
  },
});

const filters = {
  iids: arg.list(arg.string),
  state: arg.choice(STATES),
  labelName: arg.list(arg.string),
  search: arg.string,
  sort: arg.withDefault(arg.choice(SORT), SORT.values["CREATED_DESC"]),
} satisfies Args;

function filterOf({ iids, state, labelName, search }: Values<typeof filters>): Filter {
  return {
    iids: iids?.map(Number),
    state: state === "all" ? undefined : state,
    labels: labelName,
    search,
    orderBy: "created_at",
    sort: "desc",
  };
}

const queryOf = (args: Values<typeof filters>, { viewer }: GraphContext) => ({
  where: all(conditionsOf(ISSUE, viewer, filterOf(args))),
  order: args.sort,
});

/** Issues. */
export const face: Face = {
  types: [issue],
  extend: {
    Project: {
      issue: first("Issue", {
        args: { iid: arg.string },
        query: ({ iid }) => ({
          parent: "i.project_id",
          where: when("i.iid = ?", iid === undefined ? undefined : Number(iid)),
        }),
      }),
      issues: connection("Issue", {
        args: filters,
        query: (args, context) => ({ parent: "i.project_id", ...queryOf(args, context) }),
      }),
    },
    Group: {
      issues: connection("Issue", {
        args: filters,
        query: (args, context) => ({
          join: "join namespace_ancestors a on a.namespace_id = p.namespace_id",
          parent: "a.ancestor_id",
          ...queryOf(args, context),
        }),
      }),
    },
    Query: {
      issue: first("Issue", {
        args: { id: arg.required(arg.gid("Issue")) },
        query: ({ id }) => ({ where: when("i.id = ?", id) }),
      }),
    },
  },
  mutations: {
    createIssue: mutation({
      about: "Create an issue.",
      input: {
        projectPath: arg.required(arg.id),
        title: arg.required(arg.string),
        description: arg.string,
        labels: arg.list(arg.string),
      },
      payload: { issue: property("Issue") },
      run: async ({ projectPath, ...sent }, { call }) => ({
        issue: (await call(CREATE, { id: projectPath, ...sent }))["id"],
      }),
    }),
  },
};

const CREATE = routeOf(issueResource, "POST /projects/:id/issues");
