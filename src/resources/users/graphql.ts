import { USER_STATES } from "../../core/access/caller.ts";
import { NOT_DELETED_USER, type Viewer, visibleGroups } from "../../core/access/visibility.ts";
import { isoInstant } from "../../core/time.ts";
import {
  about,
  arg,
  boolean,
  computed,
  connection,
  constant,
  deprecated,
  enumeration,
  first,
  type GraphContext,
  GraphError,
  type GraphqlModule,
  gid,
  interfaceType,
  notAvailable,
  property,
  recordId,
  required,
  rowType,
  sortEnum,
  string,
  valueType,
  word,
} from "../../graphql/declare.ts";
import { all, among, when } from "../../store/conditions.ts";
import type { Reader, Value } from "../../store/port.ts";
import { userSummaryFields } from "./json.ts";
import { searched } from "./queries.ts";
import { isHidden } from "./rules.ts";

const STATE = enumeration("UserState", "Whether an account can be used.", [...USER_STATES]);
const TYPE = enumeration("UserType", "What kind of account it is.", [
  "HUMAN",
  "GHOST",
  "PLACEHOLDER",
  "PROJECT_BOT",
  "SERVICE_ACCOUNT",
]);

const permissions = valueType("UserPermissions", "What a user may do.", {
  createSnippet: required(property("Boolean")),
});
const status = valueType("UserStatus", "What a user says of themselves.", {
  emoji: property("String"),
  message: property("String"),
});

/** Preferences have no effect here: clients read what they begin with. */
const preferences = valueType("UserPreferences", "How a user wants to see things.", {
  issuesSort: property("String", () => null),
  visibilityPipelineIdType: property("String", () => "IID"),
  useWorkItemsView: property("Boolean", () => null),
  extensionsMarketplaceOptInStatus: required(property("String", () => "DISABLED")),
});

const TYPE_OF = `case when u.state = 'ghost' then 'GHOST' when u.state = 'placeholder' then 'PLACEHOLDER'
  when exists (select 1 from resource_bots rb where rb.user_id = u.id) then 'PROJECT_BOT'
  when exists (select 1 from service_accounts sa where sa.user_id = u.id) then 'SERVICE_ACCOUNT' else 'HUMAN' end`;

/** The columns that tell whether a profile hides something. */
const PROFILE = ["u.id", "u.private_profile"] as const;
const profileOf = (id: Value | undefined, isPrivate: Value | undefined) => ({
  id: id as number,
  private_profile: isPrivate as number,
});

const fields = {
  id: gid("User", "u.id"),
  username: required(string("u.username")),
  name: required(string("u.name")),
  state: required(word(STATE, userSummaryFields.state)),
  avatarUrl: string(userSummaryFields.avatar_url),
  webUrl: required(string(userSummaryFields.web_url)),
  webPath: required(string("'/' || u.username")),
  publicEmail: string("u.public_email"),
  bio: string("u.bio"),
  location: string("u.location"),
  organization: string("u.organization"),
  jobTitle: string("u.job_title"),
  pronouns: string("u.pronouns"),
  discord: string("u.discord"),
  github: string("u.github"),
  active: boolean(`case when u.state = 'active' then 1 else 0 end`),
  commitEmail: about(
    "Only they and administrators see it.",
    computed("String", ["u.id", "coalesce(u.commit_email, u.email)"], ([id, email], { caller }) =>
      caller?.admin || caller?.id === id ? email : null,
    ),
  ),
  linkedin: string("u.linkedin"),
  twitter: string("u.twitter"),
  createdAt: computed("Time", [...PROFILE, "u.created_at"], ([id, isPrivate, at], { viewer }) =>
    isHidden(profileOf(id, isPrivate), viewer) ? null : `${isoInstant(at as number).slice(0, 19)}Z`,
  ),
  lastActivityOn: about(
    "Only they and administrators see it.",
    computed("Date", ["u.id", "u.last_activity_on"], ([id, day], { caller }) =>
      caller?.admin || caller?.id === id ? day : null,
    ),
  ),
  bot: required(
    boolean(`case when ${TYPE_OF} in ('PROJECT_BOT', 'SERVICE_ACCOUNT') then 1 else 0 end`),
  ),
  human: boolean(`case ${TYPE_OF} when 'HUMAN' then 1 else 0 end`),
  gitpodEnabled: about("There is no Gitpod.", constant("Boolean", false)),
  // As GitLab's old name of the public address.
  email: deprecated("Use `publicEmail`.", string("u.public_email")),
  status: computed(status, [], () => null),
  userPermissions: required(
    computed(permissions, ["u.id"], ([id], { caller }) => ({ createSnippet: caller?.id === id })),
  ),
  type: required(word(TYPE, TYPE_OF)),
};

const rows = { from: "users u", key: "u.id" };

const user = interfaceType("User", "An account.", fields);
const userCore = rowType("UserCore", {
  about: "An account.",
  ...rows,
  implements: ["User"],
  fields: {},
});
const currentUser = rowType("CurrentUser", {
  about: "The caller's account.",
  ...rows,
  implements: ["User"],
  fields: {
    userPreferences: computed(preferences, [], () => ({})),
    gitpodEnabled: constant("Boolean", false),
  },
});

const ORDER = sortEnum("Sort", "The order of a list.", "u.id", {
  CREATED: { sql: "u.id" },
  UPDATED: { sql: "u.updated_at" },
});

/** @throws GraphError if the caller may not see the group */
async function requireGroup(db: Reader, id: number, viewer: Viewer): Promise<void> {
  const visible = visibleGroups(viewer);
  const found = await db.one(
    `select n.id from namespaces n where n.id = ? and n.kind = 'group' and ${visible.sql}`,
    [id, ...visible.values],
  );
  if (!found) throw notAvailable();
}

/** Users. */
export const graphqlModule: GraphqlModule = {
  types: [user, userCore, currentUser],
  extend: {
    Query: {
      currentUser: about(
        "The caller; null for anonymous ones.",
        property("CurrentUser", (_, { caller }: GraphContext) => caller?.id ?? null),
      ),
      users: connection("UserCore", {
        args: {
          ids: arg.list(arg.id),
          usernames: arg.list(arg.string),
          search: arg.string,
          admins: arg.withDefault(arg.boolean, false),
          active: arg.boolean,
          humans: arg.boolean,
          groupId: arg.gid("Group"),
          sort: arg.withDefault(arg.choice(ORDER), ORDER.values["CREATED_DESC"]),
        },
        query: async (args, { caller, db, viewer }) => {
          if (!caller) throw notAvailable();
          const { ids, usernames, search, active, humans, groupId } = args;
          if (groupId !== undefined) await requireGroup(db, groupId, viewer);
          return {
            where: all([
              when("u.state not in ('ghost', 'placeholder')"),
              when(NOT_DELETED_USER),
              among(
                "u.id",
                ids?.map((id) => recordId(id, "User")),
              ),
              among(
                "lower(u.username)",
                usernames?.map((name) => name.toLowerCase()),
              ),
              search ? searched(search, caller) : undefined,
              // Only administrators learn who is one.
              args.admins ? (caller.admin ? when("u.admin = 1") : when("1 = 0")) : undefined,
              active === undefined
                ? undefined
                : when(active ? "u.state = 'active'" : "u.state <> 'active'"),
              humans === false ? when("1 = 0") : undefined,
              when("u.id in (select m.user_id from members m where m.namespace_id = ?)", groupId),
            ]),
            order: args.sort,
          };
        },
      }),
      user: first("UserCore", {
        args: { id: arg.gid("User"), username: arg.string },
        query: ({ id, username }, { caller }) => {
          if (!caller) throw notAvailable();
          if ((id === undefined) === (username === undefined)) {
            throw new GraphError("One and only one of [id, username] arguments is required.");
          }
          return {
            where: all([
              when(NOT_DELETED_USER),
              when("lower(u.username) = lower(?)", username),
              when("u.id = ?", id),
            ]),
          };
        },
      }),
    },
  },
};
