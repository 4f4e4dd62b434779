import { actorOf } from "../../audit/log.ts";
import { hashPassword } from "../../auth/passwords.ts";
import type { Caller, UserState } from "../../core/access/caller.ts";
import { forbidden, missing, notFound, unknownRoute } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Context, Json, type Resource, routes } from "../../core/resource.ts";
import { USER_SCOPES } from "../../core/scopes.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as changes from "./changes.ts";
import { adminUser, ownProfile, ownUser, publicUser, userSummary } from "./json.ts";
import * as users from "./queries.ts";
import { requireUser } from "./rules.ts";
import { migrations } from "./table.ts";

const id = { user_id: param.untypedId() };

const profile = {
  bio: param.clearable(param.anyText()),
  location: param.clearable(param.anyText({ max: 500 })),
  public_email: param.clearable(param.anyText()),
  skype: param.clearable(param.anyText({ max: 500 })),
  linkedin: param.clearable(param.anyText({ max: 500 })),
  twitter: param.clearable(param.anyText({ max: 500 })),
  website_url: param.clearable(param.anyText({ max: 500 })),
  organization: param.clearable(param.anyText({ max: 500 })),
  projects_limit: param.optional(param.integer({ min: 0, max: 2 ** 31 - 1 })),
  can_create_group: param.optional(param.boolean()),
  private_profile: param.optional(param.boolean()),
  external: param.optional(param.boolean()),
};

type Profile = param.Input<typeof profile>;

const flag = (value: boolean | undefined) => (value === undefined ? undefined : Number(value));

/** The columns that are set from a profile's attributes. */
function columnsOf(input: Profile) {
  return {
    bio: input.bio,
    location: input.location,
    public_email: input.public_email,
    skype: input.skype,
    linkedin: input.linkedin,
    twitter: input.twitter,
    website_url: input.website_url,
    organization: input.organization,
    projects_limit: input.projects_limit,
    can_create_group: flag(input.can_create_group),
    private_profile: flag(input.private_profile),
    external: flag(input.external),
  };
}

/** The user to change. As in GitLab, the ghost user cannot be changed. @throws ApiError 404, 403 */
async function requireChangeable({ db, input }: { db: Reader; input: { user_id: number } }) {
  const found = await requireUser(db, input.user_id);
  if (found.state === "ghost") throw forbidden();
  return found;
}

async function setState(
  context: Pick<Context, "now" | "request"> & {
    db: Database;
    caller: Caller;
    input: { user_id: number };
  },
  state: UserState,
) {
  const found = await requireChangeable(context);
  await changes.changeState(context.db, actorOf(context), found, state, context.now);
  return new Json(true);
}

const { del, get, list, post, put } = routes({ path: "/users" });
const own = routes();

/** Users. */
export const userResource: Resource = {
  name: "Users",
  migrations,
  routes: [
    own.get("/user", {
      summary: "Get the calling user",
      scopes: USER_SCOPES,
      presenter: ({ caller }) => (caller.admin ? adminUser : ownUser),
      handle: async ({ db, presenter, caller }) => users.row(db, presenter, caller.id),
    }),

    list("", {
      summary: "List users, newest first; anonymous callers must give `username`",
      access: "anyone",
      scopes: USER_SCOPES,
      input: {
        username: param.optional(param.anyText()),
        search: param.optional(param.anyText()),
        active: param.optional(param.boolean()),
        blocked: param.optional(param.boolean()),
        external: param.optional(param.boolean()),
        extern_uid: param.optional(param.anyText()),
        provider: param.optional(param.anyText()),
        two_factor: param.optional(param.choice(["enabled", "disabled"])),
        created_after: param.optional(param.date()),
        created_before: param.optional(param.date()),
        order_by: param.optional(
          param.choice(["id", "name", "username", "created_at", "updated_at"]),
        ),
        sort: param.optional(param.choice(["asc", "desc"])),
      },
      presenter: ({ caller }) => (caller?.admin ? adminUser : userSummary),
      handle: ({ db, presenter, page, input, caller }) => {
        if (!caller && input.username === undefined) {
          throw forbidden("Not authorized to access /api/v4/users");
        }
        const { extern_uid, provider } = input;
        if (extern_uid !== undefined && provider === undefined) throw missing("provider");
        if (provider !== undefined && extern_uid === undefined) throw missing("extern_uid");
        const isForAdmins = input.external !== undefined || extern_uid !== undefined;
        if (!caller?.admin && isForAdmins) throw forbidden();
        const admin = caller?.admin === true;
        return users.list(db, presenter, page, {
          username: input.username,
          search: input.search,
          searcher: caller,
          active: input.active,
          blocked: input.blocked,
          twoFactor: admin && input.two_factor ? input.two_factor === "enabled" : undefined,
          external: input.external,
          identified: extern_uid !== undefined,
          createdAfter: admin ? startOf(input.created_after) : undefined,
          createdBefore: admin ? startOf(input.created_before) : undefined,
          orderBy: (admin ? input.order_by : undefined) ?? "id",
          sort: (admin ? input.sort : undefined) ?? "desc",
        });
      },
    }),
    get("/:user_id", {
      summary: "Get a user",
      access: "anyone",
      scopes: USER_SCOPES,
      input: { user_id: param.anyText() },
      presenter: ({ caller, input }) => {
        if (caller?.admin) return adminUser;
        return String(caller?.id) === input.user_id ? ownProfile : publicUser;
      },
      handle: async ({ db, presenter, input }) => {
        if (!/^\d+$/.test(input.user_id)) throw unknownRoute();
        const found = await users.row(db, presenter, Math.min(Number(input.user_id), 2 ** 52));
        if (!found) throw notFound("User");
        return found;
      },
    }),
    post("", {
      summary: "Create a user",
      access: "admin",
      input: {
        ...changes.newUserInput,
        password: param.optional(param.anyText()),
        reset_password: param.optional(param.boolean()),
        force_random_password: param.optional(param.boolean()),
        admin: param.optional(param.boolean()),
        skip_confirmation: param.optional(param.boolean()),
        ...profile,
      },
      atLeastOne: ["password", "reset_password", "force_random_password"],
      presenter: adminUser,
      prepare: async ({ password }) => ({
        password_hash: password === undefined ? null : await hashPassword(password),
      }),
      handle: async (context) => {
        const { db, presenter, input, prepared, now } = context;
        const { email, name, username, admin } = input;
        const user = { email, name, username, admin, ...prepared };
        const created = await changes.createUser(db, actorOf(context), user, now);
        await updateRow(db, "users", created, columnsOf(input), now);
        return users.row(db, presenter, created);
      },
    }),
    put("/:user_id", {
      summary: "Change a user",
      access: "admin",
      input: {
        ...id,
        ...changes.userInput,
        password: param.optional(param.anyText()),
        skip_reconfirmation: param.optional(param.boolean()),
        ...profile,
      },
      presenter: adminUser,
      prepare: ({ password }) => (password === undefined ? undefined : hashPassword(password)),
      handle: async (context) => {
        const { db, presenter, input, prepared, now } = context;
        const found = await requireChangeable(context);
        const by = actorOf(context);
        await changes.changeUser(db, by, found, input, now);
        await updateRow(db, "users", found.id, columnsOf(input), now);
        if (prepared !== undefined) await changes.changePassword(db, by, found, prepared, now);
        return users.row(db, presenter, found.id);
      },
    }),
    del("/:user_id", {
      summary:
        "Delete a user with their personal projects; the ghost user gets what they wrote elsewhere",
      access: "admin",
      input: id,
      handle: async (context) => {
        const found = await requireChangeable(context);
        context.requireUnmodified(found.updated_at);
        await changes.deleteUser(context.db, actorOf(context), found, context.now);
        return undefined;
      },
    }),
    post("/:user_id/block", {
      summary: "Block a user: their tokens and sessions answer 403",
      access: "admin",
      input: id,
      handle: async (context) => {
        if (context.caller.id === context.input.user_id) {
          throw forbidden("You cannot block yourself.");
        }
        return setState(context, "blocked");
      },
    }),
    post("/:user_id/unblock", {
      summary: "Unblock a user",
      access: "admin",
      input: id,
      handle: async (context) => setState(context, "active"),
    }),
  ],
};

function startOf(day: string | undefined): number | undefined {
  return day === undefined ? undefined : Date.parse(`${day}T00:00:00Z`);
}
