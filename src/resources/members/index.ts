import { ApiError, missing, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { unsupported } from "../../core/kept.ts";
import { type Context, Json, type Resource, routes, type SourceKind } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import * as users from "../users/queries.ts";

export { accessRequestResource } from "./access-requests.ts";
export { invitationResource } from "./invitations.ts";

import { billable } from "./billable.ts";
import {
  addMember,
  changeMember,
  changeOf,
  type MemberChange,
  type Membership,
  removeMember,
  removeMembershipsBelow,
} from "./changes.ts";
import { member, memberWithSeat } from "./json.ts";
import { ofUsers } from "./of-users.ts";
import * as members from "./queries.ts";
import { migrations } from "./table.ts";

const userIds = param.optional(param.arrayOf(param.integer(), { max: 500 }));
const filters = { query: param.optional(param.anyText()), user_ids: userIds, skip_users: userIds };
const id = { user_id: param.recordId() };
const level = param.integer();

/** Of how many people a request may make members. */
const MOST_ADDED = 100;
const REFUSED_ID = "is invalid";
const ids = param.readAs(
  param.commaSeparated({ max: MOST_ADDED }),
  (texts) => (texts.every((text) => /^-?\d{1,15}$/.test(text)) ? texts.map(Number) : param.REFUSED),
  REFUSED_ID,
);

interface Added {
  readonly user_id?: readonly number[] | undefined;
  readonly username?: readonly string[] | undefined;
}

/** Who is to become a member, by id or by name. @throws ApiError 400 unless it is one of these */
function wantedOf({
  user_id,
  username,
}: Added): readonly [number | string, ...(number | string)[]] {
  if (user_id && username) {
    throw new ApiError(400, { error: "user_id, username are mutually exclusive" });
  }
  const [one, ...others] = user_id ?? username ?? [];
  if (one === undefined) throw missing("user_id");
  return [one, ...others];
}

/** Adds somebody, and returns the id of the membership. @throws ApiError 404 if there is nobody of this id or name, or as {@link addMember} */
async function add(
  change: MemberChange,
  wanted: number | string,
  membership: Membership,
): Promise<number> {
  const { db } = change;
  const user = await (typeof wanted === "number"
    ? users.find(db, wanted)
    : users.findByUsername(db, wanted));
  if (!user || !users.isAccount(user)) throw notFound("User");
  return addMember(change, user.id, membership);
}

/** What is answered if several people were to be added. */
const SEVERAL = [
  { status: "success" },
  { status: "error", message: { ada: "Member already exists" } },
  // Any other name may be in its place.
  { status: "error", message: {} },
];

/** What is wrong, in one text. */
function problemIn({ body }: ApiError): string {
  const [said] = Object.values(body) as unknown[];
  if (typeof said !== "object" || said === null) return String(said);
  return Object.values(said).flat().join(", ");
}

/** Adds several people; those who can't be added are named in the answer, and the others are added all the same, as in GitLab. */
async function addSeveral(
  change: MemberChange,
  wanted: readonly (number | string)[],
  membership: Membership,
): Promise<Json> {
  const problems: [wanted: number | string, problem: string][] = [];
  for (const one of wanted) {
    try {
      await add(change, one, membership);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      problems.push([one, problemIn(error)]);
    }
  }
  return new Json(
    problems.length > 0
      ? { status: "error", message: Object.fromEntries(problems) }
      : { status: "success" },
  );
}

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
      summary: "Add a member; several, if their ids or names are separated by commas",
      role,
      examples: SEVERAL,
      input: {
        user_id: param.optional(ids),
        username: param.optional(param.commaSeparated({ max: MOST_ADDED })),
        access_level: level,
        expires_at: param.clearable(param.date()),
        member_role_id: param.clearable(param.integer()),
      },
      presenter: member,
      handle: async (context) => {
        const { db, presenter, input } = context;
        const [one, ...others] = wantedOf(input);
        if (others.length > 0) return addSeveral(changeOf(context), [one, ...others], input);
        return members.row(db, presenter, await add(changeOf(context), one, input));
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
      input: {
        ...id,
        skip_subresources: param.optional(param.boolean()),
        unassign_issuables: param.optional(param.boolean()),
      },
      handle: async (context) => {
        const { input } = context;
        const found = await findMember(context);
        context.requireUnmodified(found.updated_at);
        const change = changeOf(context);
        await removeMember(change, found);
        if (!input.skip_subresources) await removeMembershipsBelow(change, found.user_id);
        if (input.unassign_issuables)
          await members.unassign(context.db, context.source, found.user_id);
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
