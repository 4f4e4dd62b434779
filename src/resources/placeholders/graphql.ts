import { memberGroupIds, type Viewer } from "../../core/access/visibility.ts";
import {
  type Args,
  arg,
  connection,
  enumeration,
  type GraphqlModule,
  gid,
  type MutationContext,
  mutation,
  notAvailable,
  type Order,
  one,
  property,
  required,
  rowType,
  string,
  word,
} from "../../graphql/declare.ts";
import { all, among, type Condition } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import { NAMESPACE_ID } from "../namespaces/graphql.ts";
import { ACTIONS } from "./actions.ts";
import * as sourceUsers from "./queries.ts";

const CLASSES = ["Import::SourceUser"];
const ID = arg.gid("ImportSourceUser", CLASSES);

const STATUS = enumeration<sourceUsers.SourceUserStatus>(
  "ImportSourceUserStatus",
  "Where it is to say who a placeholder is.",
  Object.fromEntries(sourceUsers.STATUSES.map((status) => [status.toUpperCase(), status])),
);
const IMPORT_TYPE = enumeration(
  "ImportSource",
  "What kind of server something was imported from.",
  {
    GITLAB_MIGRATION: "gitlab_migration",
    GITHUB: "github",
    GITEA: "gitea",
  },
);

const NAME = { sql: "s.source_name", isText: true };
const STATUS_ORDER = { sql: "s.status", isText: true };
const BY_ID = { sql: "s.id" };
const down = (order: Order): Order => ({ ...order, descending: true });
const SORT = enumeration<readonly Order[]>(
  "SourceUserSort",
  "The order of a list of placeholders.",
  {
    STATUS_ASC: [STATUS_ORDER, BY_ID],
    STATUS_DESC: [down(STATUS_ORDER), down(BY_ID)],
    SOURCE_NAME_ASC: [NAME, BY_ID],
    SOURCE_NAME_DESC: [down(NAME), down(BY_ID)],
    ID_ASC: [BY_ID],
    ID_DESC: [down(BY_ID)],
  },
);

/** Owners of the group see them, and users see those that are to be reassigned to them. */
function visible(viewer: Viewer): Condition {
  const { caller } = viewer;
  if (!caller) return { sql: "1 = 0", values: [] };
  if (caller.admin) return { sql: "1 = 1", values: [] };
  const owned = memberGroupIds(viewer, "owner");
  return {
    sql: `(s.reassign_to_user_id = ? or s.namespace_id in (${owned.sql}))`,
    values: [caller.id, ...owned.values],
  };
}

const sourceUser = rowType("ImportSourceUser", {
  about: "A contributor to what was imported, and the user here to whom that is reassigned.",
  from: "import_source_users s",
  key: "s.id",
  visible,
  fields: {
    id: gid("ImportSourceUser", "s.id", "Import::SourceUser"),
    placeholderUser: one("UserCore", "s.placeholder_user_id"),
    reassignToUser: one("UserCore", "s.reassign_to_user_id"),
    reassignedByUser: one("UserCore", "s.reassigned_by_user_id"),
    sourceUserIdentifier: required(string("s.source_user_identifier")),
    sourceUsername: string("s.source_username"),
    sourceName: string("s.source_name"),
    sourceHostname: required(string("s.source_hostname")),
    importType: required(word(IMPORT_TYPE, "upper(s.import_type)")),
    status: required(word(STATUS, "upper(s.status)")),
    reassignmentError: string("s.reassignment_error"),
  },
});

const filters = {
  statuses: arg.list(arg.choice(STATUS)),
  search: arg.about("Part of the name or user name there.", arg.string),
  sort: arg.withDefault(arg.choice(SORT), SORT.values["SOURCE_NAME_ASC"]),
} satisfies Args;

const listed = (parent: string) =>
  connection("ImportSourceUser", {
    args: filters,
    query: ({ statuses, search, sort }) => ({
      parent,
      where: all([
        among("s.status", statuses),
        search ? contains(["s.source_name", "s.source_username"], search) : undefined,
      ]),
      order: sort,
    }),
  });

/** Performs a route for a placeholder, whose group it is. @throws GraphError if there is none */
async function decide(
  { db, call }: MutationContext,
  route: (typeof ACTIONS)[Exclude<keyof typeof ACTIONS, "keepAll">],
  id: number,
  more: object = {},
) {
  const found = await sourceUsers.find(db, id);
  if (!found) throw notAvailable();
  await call(route, { id: found.namespace_id, source_user_id: id, ...more });
  return { importSourceUser: id };
}

const payload = { importSourceUser: property("ImportSourceUser") };

const step = (about: string, route: Parameters<typeof decide>[1]) =>
  mutation({
    about,
    input: { id: arg.required(ID) },
    payload,
    run: ({ id }, context) => decide(context, route, id),
  });

/** Contributors to what was imported, and the users here to whom that is reassigned. */
export const graphqlModule: GraphqlModule = {
  types: [sourceUser],
  extend: {
    Group: { importSourceUsers: listed("s.namespace_id") },
    CurrentUser: { importSourceUsers: listed("s.reassign_to_user_id") },
  },
  mutations: {
    importSourceUserReassign: mutation({
      about:
        "Reassign a placeholder to a user, who is asked unless an administrator needs no answer.",
      input: { id: arg.required(ID), assigneeUserId: arg.required(arg.gid("User")) },
      payload,
      run: ({ id, assigneeUserId }, context) =>
        decide(context, ACTIONS.reassign, id, { user_id: assigneeUserId }),
    }),
    importSourceUserCancelReassignment: step(
      "Take back who a placeholder was said to be.",
      ACTIONS.cancel,
    ),
    importSourceUserKeepAsPlaceholder: step("Keep a placeholder.", ACTIONS.keep),
    importSourceUserUndoKeepAsPlaceholder: step("Keep a placeholder no more.", ACTIONS.undoKeep),
    importSourceUserKeepAllAsPlaceholder: mutation({
      about: "Keep all placeholders of a group that are not reassigned.",
      input: { namespaceId: arg.required(NAMESPACE_ID) },
      payload: { updatedImportSourceUserCount: property("Int") },
      run: async ({ namespaceId }, { call }) => {
        const { count } = await call(ACTIONS.keepAll, { id: namespaceId });
        return { updatedImportSourceUserCount: count };
      },
    }),
    importSourceUserResendNotification: step(
      "Ask once more who a placeholder was said to be.",
      ACTIONS.remind,
    ),
    importSourceUserRetryFailedReassignment: step(
      "Try a reassignment again that has failed.",
      ACTIONS.retry,
    ),
  },
};
