import { actorOf } from "../../audit/log.ts";
import type { Caller } from "../../core/access/caller.ts";
import { ROLES } from "../../core/access/roles.ts";
import { notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { unsupported } from "../../core/kept.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import type { Database } from "../../store/port.ts";
import { attributeFilter, customAttributeInput } from "../custom-attributes/queries.ts";
import { mayShareGroup } from "../group-links/abilities.ts";
import { limitsOf, share, unshare } from "../group-links/changes.ts";
import { projectLink } from "../group-links/json.ts";
import * as links from "../group-links/queries.ts";
import { migrations } from "../group-links/table.ts";
import { listFilter, listInput } from "../groups/filters.ts";
import { group, groupIdentity, groupWithProjects } from "../groups/json.ts";
import * as groups from "../groups/queries.ts";
import { rowWithProjects } from "../groups/single.ts";

const invitation = {
  group_id: param.integer(),
  group_access: param.accessLevel(),
  expires_at: param.clearable(param.date()),
  // There are no roles but the base ones.
  member_role_id: unsupported(param.integer()),
};

const RELATIONS = ["direct", "inherited"] as const;
const search = param.optional(param.anyText());
const invitedFilter = {
  search,
  relation: param.optional(param.arrayOf(param.choice(RELATIONS))),
  min_access_level: param.optional(param.accessLevel()),
  with_custom_attributes: customAttributeInput.with_custom_attributes,
};
const BY_NAME = { orderBy: "name", sort: "asc" } as const;

type In = Pick<Context, "source" | "request" | "now"> & { db: Database; caller: Caller };

const changeOf = (context: In) => ({
  db: context.db,
  by: actorOf(context),
  now: context.now,
});

/** Shares the group or project in the path. @returns the id of the link */
const shareWith = (context: In & { input: param.Input<typeof invitation> }) => {
  const { source, input } = context;
  const { group_id, group_access, expires_at } = input;
  const access_level = ROLES[group_access];
  return share(changeOf(context), source, { group_id, access_level, expires_at });
};

/** Ends the sharing of the group or project in the path. @throws ApiError 404 if there is none */
async function unshareWith(
  context: In & Pick<Context, "requireUnmodified"> & { input: { group_id: number } },
): Promise<void> {
  const { db, source, input } = context;
  const link = await links.find(db, source, input.group_id);
  if (!link) throw notFound("Group Link");
  context.requireUnmodified(link.updated_at);
  await unshare(changeOf(context), source, link);
}

const project = routes({ source: "project" });
const ofGroup = routes({ source: "group" });

const invitedGroups = (source: "group" | "project") =>
  routes({ source }).list("/invited_groups", {
    summary: `List the groups that a ${source} is shared with, or one of the groups it is in`,
    access: "anyone",
    input: invitedFilter,
    presenter: group,
    handle: ({ db, presenter, page, viewer, source, input }) =>
      groups.list(db, presenter, page, viewer, {
        ...BY_NAME,
        search: input.search,
        role: input.min_access_level,
        invitedTo: { source, relation: input.relation ?? RELATIONS },
        ...attributeFilter(input, viewer),
      }),
  });

/** Groups that are invited to projects and other groups. */
export const sharingResource: Resource = {
  name: "Sharing",
  migrations,
  routes: [
    project.post("/share", {
      summary: "Share a project with a group",
      role: "maintainer",
      input: invitation,
      presenter: projectLink,
      handle: async (context) => {
        const id = await shareWith(context);
        return links.row(context.db, context.presenter, id);
      },
    }),
    project.del("/share/:group_id", {
      summary: "End the sharing of a project with a group",
      role: "maintainer",
      input: { group_id: param.recordId() },
      handle: async (context) => {
        await unshareWith(context);
        return undefined;
      },
    }),
    invitedGroups("project"),
    project.list("/share_locations", {
      summary: "List the groups that the caller can share a project with",
      role: "maintainer",
      input: { search },
      presenter: groupIdentity,
      handle: async ({ db, presenter, page, viewer, source, input }) => {
        const { isLocked, isClosed, rootId } = await limitsOf(db, source.namespaceId);
        return groups.list(db, presenter, page, viewer, {
          ...BY_NAME,
          search: input.search,
          role: viewer.caller?.admin ? undefined : "guest",
          shareableWith: source,
          // Nothing is below no group.
          below: isLocked ? 0 : isClosed ? rootId : undefined,
        });
      },
    }),
    ofGroup.post("/share", {
      summary: "Share a group with another group; as in GitLab, 404 for others than its owners",
      input: invitation,
      presenter: groupWithProjects,
      handle: async (context) => {
        const { source } = context;
        if (!mayShareGroup(source)) throw notFound();
        await shareWith(context);
        return rowWithProjects(context, source.id);
      },
    }),
    ofGroup.del("/share/:group_id", {
      summary:
        "End the sharing of a group with another one; as in GitLab, 404 for others than its owners",
      input: { group_id: param.recordId() },
      handle: async (context) => {
        if (!mayShareGroup(context.source)) throw notFound();
        await unshareWith(context);
        return undefined;
      },
    }),
    invitedGroups("group"),
    ofGroup.list("/groups/shared", {
      summary: "List the groups that are shared with a group",
      access: "anyone",
      input: listInput,
      presenter: group,
      handle: ({ db, source, presenter, page, viewer, input }) =>
        groups.list(db, presenter, page, viewer, {
          ...listFilter(input, viewer),
          member: false,
          sharedWith: source.id,
        }),
    }),
  ],
};
