import { ROLES, roleOf, type Source } from "../../core/access.ts";
import { conflict, forbidden, invalid, notFound } from "../../core/errors.ts";
import * as is from "../../core/input.ts";
import * as show from "../../core/present.ts";
import { type Context, del, get, post, put, type Resource, under } from "../../core/resource.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as events from "../events/queries.ts";
import { userSummaryFields } from "../users/json.ts";
import * as users from "../users/queries.ts";
import * as members from "./queries.ts";
import { migrations } from "./table.ts";

const member = show.shape({
  ...userSummaryFields,
  access_level: show.integer("m.access_level"),
  expires_at: show.date("m.expires_at"),
});

const query = { query: is.optional(is.anyText()) };
const id = { user_id: is.recordId() };
const level = is.integer();

type In = Pick<Context, "source"> & { db: Reader; input: { user_id: number } };

async function findMember({ db, source, input }: In) {
  const found = await members.find(db, source, input.user_id);
  if (!found) throw notFound();
  return found;
}

/** Projects have no owners of their own (gitlab-facts §12). */
function requireLevel(source: Source, accessLevel: number): void {
  if (!roleOf(accessLevel) || (source.kind === "project" && accessLevel === ROLES.owner)) {
    throw invalid({ access_level: ["is not included in the list"] });
  }
}

/** Nobody hands out more than they have, or takes on who has more. */
function requireReach(source: Source, accessLevel: number): void {
  if (source.level < accessLevel) throw forbidden();
}

async function requireAboveInherited(
  { db, source, viewer }: Pick<Context, "source" | "viewer"> & { db: Reader },
  userId: number,
  accessLevel: number,
): Promise<void> {
  const above = await members.inherited(db, source, userId, viewer.today);
  if (above && accessLevel < above.access_level) {
    const role = roleOf(above.access_level) ?? "";
    const title = role.charAt(0).toUpperCase() + role.slice(1);
    throw invalid({
      access_level: [
        `should be higher than ${title} inherited membership from group ${above.full_name}`,
      ],
    });
  }
}

const isOver = (expiresAt: string | null | undefined, today: string) =>
  typeof expiresAt === "string" && expiresAt <= today;

/** A group is not left without an owner: who is the only one stays, now. It may end at a later day, as in GitLab. */
async function requireAnotherOwner(
  { db, source, viewer: { today } }: Pick<Context, "source" | "viewer"> & { db: Reader },
  found: members.Member,
): Promise<void> {
  if (source.kind !== "group" || found.access_level !== ROLES.owner) return;
  if (isOver(found.expires_at, today)) return;
  if (!(await members.hasOtherOwner(db, source.id, found.id, today))) {
    throw forbidden("The last owner of a group cannot be removed.");
  }
}

/** Whoever comes to a project, or goes, is the author of that; of groups nothing is told (gitlab-facts §7.3). */
function tell(
  db: Database,
  source: Source,
  action: "joined" | "left" | "expired",
  userId: number,
  now: number,
): void {
  if (source.kind !== "project") return;
  events.record(db, { project_id: source.id, author_id: userId, action }, now);
}

function routes(kind: Source["kind"]) {
  const role = kind === "group" ? "owner" : "maintainer";
  return [
    get("", {
      summary: `List the direct members of a ${kind}`,
      input: query,
      present: member,
      handle: ({ db, shape, page, source, input, viewer }) =>
        members.list(db, shape, page, source, input.query, viewer),
    }),
    get("/all", {
      summary: `List the members of a ${kind}, those of the groups above included`,
      input: query,
      present: member,
      handle: ({ db, shape, page, source, input, viewer }) =>
        members.listAll(db, shape, page, source, input.query, viewer),
    }),
    get("/all/:user_id", {
      summary: "Get a member, direct or of a group above",
      input: id,
      present: member,
      handle: async ({ db, source, shape, input }) => {
        const found = await members.findBest(db, source, input.user_id);
        if (!found) throw notFound();
        return members.row(db, shape, found.id);
      },
    }),
    get("/:user_id", {
      summary: "Get a direct member",
      input: id,
      present: member,
      handle: async (context) =>
        members.row(context.db, context.shape, (await findMember(context)).id),
    }),
    post("", {
      summary: "Add a member",
      role,
      input: { user_id: is.integer(), access_level: level, expires_at: is.clearable(is.date()) },
      present: member,
      handle: async (context) => {
        const { db, source, shape, input, caller, now } = context;
        const user = await users.find(db, input.user_id);
        if (!user || user.state === "ghost") throw notFound("User");
        if (await members.find(db, source, user.id)) throw conflict("Member already exists");
        requireLevel(source, input.access_level);
        requireReach(source, input.access_level);
        await requireAboveInherited(context, user.id, input.access_level);
        const added = await members.insert(
          db,
          source,
          { ...input, created_by_id: caller?.id },
          now,
        );
        tell(db, source, "joined", user.id, now);
        return members.row(db, shape, added);
      },
    }),
    put("/:user_id", {
      summary: "Change a member's access level or when it ends",
      role,
      input: { ...id, access_level: level, expires_at: is.clearable(is.date()) },
      present: member,
      handle: async (context) => {
        const { db, source, shape, input, now } = context;
        const found = await findMember(context);
        requireLevel(source, input.access_level);
        requireReach(source, Math.max(input.access_level, found.access_level));
        await requireAboveInherited(context, found.user_id, input.access_level);
        const { access_level, expires_at } = input;
        if (access_level !== ROLES.owner || isOver(expires_at, context.viewer.today)) {
          await requireAnotherOwner(context, found);
        }
        await updateRow(db, "members", found.id, { access_level, expires_at }, now);
        return members.row(db, shape, found.id);
      },
    }),
    del("/:user_id", {
      summary: "Remove a member; anyone may leave",
      role: ({ caller, input }) => (caller?.id === input.user_id ? undefined : role),
      input: id,
      handle: async (context) => {
        const { db, source } = context;
        const found = await findMember(context);
        context.requireUnmodified(found.updated_at);
        if (context.caller?.id !== found.user_id) requireReach(source, found.access_level);
        await requireAnotherOwner(context, found);
        await members.remove(db, found.id);
        const how = isOver(found.expires_at, context.viewer.today) ? "expired" : "left";
        tell(db, source, how, found.user_id, context.now);
        return undefined;
      },
    }),
  ];
}

/** Members of groups and of projects: gitlab-facts §12. */
export const memberResource: Resource = {
  name: "Members",
  migrations,
  routes: [
    ...under("/groups/:id/members", routes("group")),
    ...under("/projects/:id/members", routes("project")),
  ],
};
