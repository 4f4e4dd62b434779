import { actorOf } from "../../audit/log.ts";
import { NOT_DELETED_USER } from "../../core/access/visibility.ts";
import { forbidden, missing, notFound, unknownRoute } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { flagWithoutEffect, unsupported, unsupportedFlag } from "../../core/kept.ts";
import { paginate } from "../../core/pagination.ts";
import { type Resource, routes } from "../../core/resource.ts";
import { USER_SCOPES } from "../../core/scopes.ts";
import { dayOf } from "../../core/time.ts";
import { normalizedUid } from "../../providers/dn.ts";
import {
  attributeFilter,
  customAttributeInput,
  embedAttributes,
} from "../custom-attributes/queries.ts";
import * as changes from "./changes.ts";
import {
  activity,
  adminUser,
  listedForAdmins,
  listedUser,
  ownProfile,
  ownUser,
  publicUser,
} from "./json.ts";
import { moderationRoutes } from "./moderation.ts";
import * as users from "./queries.ts";
import { requireChangeable } from "./rules.ts";
import { migrations } from "./table.ts";

const id = { user_id: param.untypedId() };

const { del, get, list } = routes({ path: "/users" });
const own = routes();

function sixMonthsBefore(now: number): number {
  const date = new Date(now);
  return date.setUTCMonth(date.getUTCMonth() - 6);
}

/** Users. */
export const userResource: Resource = {
  name: "Users",
  migrations,
  routes: [
    own.list("/user/activities", {
      summary: "List the users who were active since a day, by default in the last six months",
      access: "admin",
      input: { from: param.optional(param.date()) },
      presenter: activity,
      handle: ({ db, presenter, page, input, now }) =>
        paginate(db, presenter, page, {
          from: `users u where u.last_activity_on >= ? and ${NOT_DELETED_USER}`,
          values: [input.from ?? dayOf(sixMonthsBefore(now))],
          order: "u.last_activity_on, u.id",
        }),
    }),
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
        public_email: param.optional(param.anyText()),
        active: param.optional(param.boolean()),
        blocked: param.optional(param.boolean()),
        deactivated: param.optional(param.boolean()),
        external: param.optional(param.boolean()),
        without_project_bots: param.optional(param.boolean()),
        extern_uid: param.unlessBlank(param.anyText()),
        provider: param.unlessBlank(param.anyText()),
        humans: param.optional(param.boolean()),
        exclude_humans: param.optional(param.boolean()),
        exclude_active: param.optional(param.boolean()),
        exclude_external: param.optional(param.boolean()),
        admins: param.optional(param.boolean()),
        without_projects: param.optional(param.boolean()),
        auditors: unsupportedFlag(),
        ...customAttributeInput,
        saml_provider_id: unsupported(param.integer()),
        // There are no users of GitLab's own.
        exclude_internal: flagWithoutEffect(),
        skip_ldap: param.optional(param.boolean()),
        two_factor: param.optional(param.choice(["enabled", "disabled"])),
        created_after: param.optional(param.date()),
        created_before: param.optional(param.date()),
        order_by: param.optional(
          param.choice(["id", "name", "username", "created_at", "updated_at"]),
        ),
        sort: param.optional(param.choice(["asc", "desc"])),
      },
      presenter: ({ caller }) => (caller?.admin ? listedForAdmins : listedUser),
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
        const { humans, exclude_humans, without_project_bots } = input;
        return users.list(db, presenter, page, {
          username: input.username,
          search: input.search,
          publicEmail: input.public_email,
          searcher: caller,
          active: input.active,
          blocked: input.blocked,
          deactivated: input.deactivated,
          twoFactor: admin && input.two_factor ? input.two_factor === "enabled" : undefined,
          external: input.external ?? (input.exclude_external ? false : undefined),
          withoutBots: without_project_bots,
          withoutLdap: input.skip_ldap,
          humans: humans || exclude_humans ? humans === true : undefined,
          inactive: input.exclude_active,
          admins: admin && input.admins,
          withoutProjects: admin && input.without_projects,
          identity:
            extern_uid !== undefined && provider !== undefined
              ? { provider, extern_uid: normalizedUid(provider, extern_uid) }
              : undefined,
          custom: attributeFilter(input, { caller }),
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
      input: {
        user_id: param.anyText(),
        with_custom_attributes: customAttributeInput.with_custom_attributes,
      },
      presenter: ({ caller, input }) => {
        if (caller?.admin) return adminUser;
        return String(caller?.id) === input.user_id ? ownProfile : publicUser;
      },
      handle: async ({ db, presenter, input, caller }) => {
        if (!/^\d+$/.test(input.user_id)) throw unknownRoute();
        const found = await users.row(
          db,
          presenter,
          Math.min(Number(input.user_id), 2 ** 52),
          caller,
        );
        if (!found) throw notFound("User");
        const shown = attributeFilter(input, { caller });
        await embedAttributes(db, [found], presenter, "user_id", shown);
        return found;
      },
    }),
    del("/:user_id", {
      summary:
        "Delete a user with their personal projects; the ghost user gets what they wrote elsewhere",
      access: "admin",
      input: id,
      handle: async (context) => {
        const found = await requireChangeable(context.db, context.input.user_id);
        context.requireUnmodified(found.updated_at);
        await changes.deleteUser(context.db, actorOf(context), found, context.now);
        return undefined;
      },
    }),
    ...moderationRoutes,
  ],
};

function startOf(day: string | undefined): number | undefined {
  return day === undefined ? undefined : Date.parse(`${day}T00:00:00Z`);
}
