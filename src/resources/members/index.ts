import { notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { unsupported } from "../../core/kept.ts";
import { type Context, type Resource, routes, type SourceKind } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import * as users from "../users/queries.ts";

export { accessRequestResource } from "./access-requests.ts";
export { invitationResource } from "./invitations.ts";

import { billable } from "./billable.ts";
import { addMember, changeMember, changeOf, removeMember } from "./changes.ts";
import { member, memberWithSeat } from "./json.ts";
import { ofUsers } from "./of-users.ts";
import * as members from "./queries.ts";
import { migrations } from "./table.ts";

const userIds = param.optional(param.arrayOf(param.integer(), { max: 500 }));
const filters = { query: param.optional(param.anyText()), user_ids: userIds, skip_users: userIds };
const id = { user_id: param.recordId() };
const level = param.integer();

type In = Pick<Context, "source"> & { db: Reader; input: { user_id: number } };

async function findMember({ db, source, input }: In) {
  const found = await members.find(db, source, input.user_id);
  if (!found) throw notFound();
  return found;
}

function routesOf(source: SourceKind) {
  const { del, get, list, post, put } = routes({ source, path: "/members" });
  const role = source === "group" ? "owner" : "maintainer";
  return [
    list("", {
      summary: `List the direct members of a ${source}`,
      input: filters,
      presenter: member,
      handle: ({ db, presenter, page, source, input, viewer }) =>
        members.list(db, presenter, page, source, input, viewer),
    }),
    list("/all", {
      summary: `List the members of a ${source}, including those of its ancestor groups and of invited groups`,
      isShownToVisitors: true,
      input: {
        ...filters,
        show_seat_info: param.optional(param.boolean()),
        // Nobody waits to become a member.
        state: unsupported(param.choice(["awaiting", "active"]), "active"),
      },
      presenter: ({ input }) => (input.show_seat_info ? memberWithSeat : member),
      handle: ({ db, presenter, page, source, input, viewer }) =>
        members.listAll(db, presenter, page, source, input, viewer),
    }),
    get("/all/:user_id", {
      summary: "Get a member, direct, inherited from an ancestor group or of an invited group",
      input: id,
      presenter: member,
      handle: async ({ db, source, presenter, input, viewer }) => {
        const found = await members.bestRow(db, presenter, source, input.user_id, viewer);
        if (!found) throw notFound();
        return found;
      },
    }),
    get("/:user_id", {
      summary: "Get a direct member",
      input: id,
      presenter: member,
      handle: async (context) =>
        members.row(context.db, context.presenter, (await findMember(context)).id),
    }),
    post("", {
      summary: "Add a member",
      role,
      input: {
        user_id: param.integer(),
        access_level: level,
        expires_at: param.clearable(param.date()),
        member_role_id: param.clearable(param.integer()),
      },
      presenter: member,
      handle: async (context) => {
        const { db, presenter, input } = context;
        const user = await users.find(db, input.user_id);
        if (!user || user.state === "ghost") throw notFound("User");
        const added = await addMember(changeOf(context), user.id, input);
        return members.row(db, presenter, added);
      },
    }),
    put("/:user_id", {
      summary: "Change a member's access level or expiry date",
      role,
      input: {
        ...id,
        access_level: level,
        expires_at: param.clearable(param.date()),
        member_role_id: param.clearable(param.integer()),
      },
      presenter: member,
      handle: async (context) => {
        const found = await findMember(context);
        await changeMember(changeOf(context), found, context.input);
        return members.row(context.db, context.presenter, found.id);
      },
    }),
    del("/:user_id", {
      summary: "Remove a member; members may remove themselves",
      role: ({ caller, input }) => (caller?.id === input.user_id ? undefined : role),
      input: id,
      handle: async (context) => {
        const found = await findMember(context);
        context.requireUnmodified(found.updated_at);
        await removeMember(changeOf(context), found);
        return undefined;
      },
    }),
  ];
}

/** Members of groups and of projects. */
export const memberResource: Resource = {
  name: "Members",
  migrations,
  routes: [...routesOf("group"), ...routesOf("project"), ...ofUsers, ...billable],
};
