import * as audit from "../../audit/log.ts";
import type { Caller } from "../../core/access/caller.ts";
import { ROLES } from "../../core/access/roles.ts";
import { VISIBILITIES, VISIBILITY_WORDS, type Visibility } from "../../core/access/visibility.ts";
import { ApiError, forbidden } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { flagWithoutEffect, storedIn, unsupported } from "../../core/kept.ts";
import { type Context, Json, type Resource, routes } from "../../core/resource.ts";
import { recordGroup } from "../../hooks/records.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { delayedDeletion } from "../application-settings/deletion.ts";
import { defaultProtection } from "../application-settings/protection.ts";
import * as settings from "../application-settings/queries.ts";
import { requireSizeRight, requireUnrestricted } from "../application-settings/rules.ts";
import { AVATAR_PART, avatar } from "../avatars/input.ts";
import * as avatars from "../avatars/queries.ts";
import {
  attributeFilter,
  customAttributeInput,
  embedAttributes,
} from "../custom-attributes/queries.ts";
import { groupSettings } from "../namespaces/kept.ts";
import { emailsDisabled } from "../namespaces/mails.ts";
import { deletionInput, isToMark } from "../namespaces/marked.ts";
import * as namespaces from "../namespaces/queries.ts";
import { projectFilter, projectListInput, projectOrder } from "../projects/filters.ts";
import { basicProject, project } from "../projects/json.ts";
import * as projects from "../projects/list.ts";
import { requireBranchName } from "../projects/repository.ts";
import { mayCreateGroup } from "./abilities.ts";
import { changeGroup, createGroup, groupInput, newGroupInput } from "./changes.ts";
import { findDeleted, mark, restore } from "./deletion.ts";
import { listFilter, listInput } from "./filters.ts";
import { group, groupAlone, groupIdentity, groupWithProjects } from "./json.ts";
import * as groups from "./queries.ts";
import { remove } from "./removal.ts";
import { rowWithProjects, singleRow } from "./single.ts";
import { migrations } from "./table.ts";

/** The attributes that only the API has. */
const more = {
  avatar: param.clearable(avatar()),
  emails_enabled: param.optional(param.boolean()),
  emails_disabled: param.optional(param.boolean()),
  default_branch_protection_defaults: defaultProtection,
  ...groupSettings.attributes,
};

/** Changes what {@link more} has. */
async function changeMore(
  db: Database,
  id: number,
  input: param.Input<typeof more>,
  caller: Caller,
  now: number,
): Promise<void> {
  if (input.default_branch) requireBranchName(input.default_branch);
  if (input.max_artifacts_size !== undefined) {
    const { max_artifacts_size } = groupSettings.read(await storedIn(db, "namespaces", id));
    requireSizeRight(caller, input.max_artifacts_size, max_artifacts_size);
  }
  await avatars.change(db, { kind: "group", id }, input.avatar, now);
  const kept_settings = await groupSettings.changed(input, () => storedIn(db, "namespaces", id));
  const emails_disabled = emailsDisabled(input);
  if (kept_settings === undefined && emails_disabled === undefined) return;
  await updateRow(db, "namespaces", id, { kept_settings, emails_disabled }, now);
}

const { list, post } = routes({ path: "/groups" });
const one = routes({ source: "group" });
const ofProject = routes({ source: "project" });

/** Groups, their subgroups and their projects. */
export const groupResource: Resource = {
  name: "Groups",
  migrations,
  routes: [
    list("", {
      summary: "List the caller's groups or, with `all_available`, all groups the caller can see",
      access: "anyone",
      input: listInput,
      presenter: group,
      handle: ({ db, presenter, page, viewer, input }) =>
        groups.list(db, presenter, page, viewer, listFilter(input, viewer)),
    }),
    post("", {
      summary: "Create a group or, with `parent_id`, a subgroup",
      input: {
        parent_id: param.optional(param.integer()),
        organization_id: unsupported(param.integer(), 1),
        ...newGroupInput,
        ...more,
      },
      upload: AVATAR_PART,
      presenter: groupWithProjects,
      handle: async (context) => {
        const { db, input, caller, now } = context;
        if (!(await mayCreateGroup(context, input.parent_id))) throw forbidden();
        const parent =
          input.parent_id === undefined ? undefined : await namespaces.find(db, input.parent_id);
        const visibility = input.visibility ?? (await defaultVisibility(db, parent));
        await requireUnrestricted(db, caller, VISIBILITIES[visibility]);
        const group = { ...input, visibility, parent, ownerId: caller.id };
        const id = await createGroup(db, audit.actorOf(context), group, now);
        await changeMore(db, id, input, caller, now);
        return rowWithProjects(context, id);
      },
    }),
    ofProject.list("/groups", {
      summary:
        "List the groups that a project is in, at whatever depth, and with `with_shared` those it is shared with",
      access: "anyone",
      input: {
        search: listInput.search,
        skip_groups: listInput.skip_groups,
        with_shared: param.optional(param.boolean()),
        // Nobody is shown groups that they do not see.
        shared_visible_only: flagWithoutEffect(),
        shared_min_access_level: param.optional(param.accessLevel()),
      },
      presenter: groupIdentity,
      handle: ({ db, presenter, page, viewer, input, source }) => {
        const { search, skip_groups: skip } = input;
        const { with_shared, shared_min_access_level: least } = input;
        const invitedTo: groups.Invited | undefined = with_shared
          ? { source, relation: ["direct", "inherited"], level: least && ROLES[least] }
          : undefined;
        const filter = { search, skip, above: source.namespaceId, invitedTo };
        return groups.list(db, presenter, page, viewer, { ...filter, orderBy: "id", sort: "asc" });
      },
    }),
    one.get("", {
      summary: "Get a group",
      access: "anyone",
      input: {
        with_projects: param.optional(param.boolean()),
        with_custom_attributes: customAttributeInput.with_custom_attributes,
      },
      presenter: ({ input }) => (input.with_projects === false ? groupAlone : groupWithProjects),
      handle: async (context) => {
        const { db, source, presenter, viewer, input } = context;
        const row =
          presenter === groupAlone
            ? await singleRow(context, source.id)
            : await rowWithProjects(context, source.id);
        const shown = attributeFilter(input, viewer);
        await embedAttributes(db, [row], presenter, "namespace_id", shown);
        return row;
      },
    }),
    one.put("", {
      summary: "Change a group",
      role: "owner",
      input: { ...groupInput, ...more },
      upload: AVATAR_PART,
      presenter: groupWithProjects,
      handle: async (context) => {
        const { db, source, caller, input, now } = context;
        await requireUnrestricted(db, caller, input.visibility && VISIBILITIES[input.visibility]);
        await changeGroup(
          db,
          (await namespaces.find(db, source.id)) as namespaces.Namespace,
          input,
          now,
        );
        await changeMore(db, source.id, input, caller, now);
        return rowWithProjects(context, source.id);
      },
    }),
    one.del("", {
      summary:
        "Delete a group with its subgroups and projects, or mark it for deletion if the settings delay that",
      role: "owner",
      input: deletionInput,
      status: 202,
      examples: [{ message: "202 Accepted" }],
      handle: async (context) => {
        const { db, source, caller, now } = context;
        const found = await findDeleted(db, source.id);
        context.requireUnmodified(found.updated_at);
        const { ofGroups } = await delayedDeletion(db);
        if (isToMark("Group", found, context.input, ofGroups)) {
          await mark(context, found);
          return new Json({ message: "202 Accepted" });
        }
        const about = { id: found.id, parentId: found.parent_id, userId: caller.id };
        await recordGroup(context, "destroy", about);
        await remove(db, source.id, now);
        return new Json({ message: "202 Accepted" });
      },
    }),
    one.post("/restore", {
      summary: "Restore a group that is marked for deletion",
      role: "owner",
      presenter: groupWithProjects,
      handle: async (context) => {
        await restore(context, await findDeleted(context.db, context.source.id));
        return rowWithProjects(context, context.source.id);
      },
    }),
    ...([1, 0] as const).map((archived) =>
      one.post(archived ? "/archive" : "/unarchive", {
        summary: archived
          ? "Archive a group: nothing below it can be changed"
          : "Unarchive a group",
        role: "owner",
        presenter: groupWithProjects,
        handle: async (context) => {
          await setArchived(context, archived);
          return rowWithProjects(context, context.source.id);
        },
      }),
    ),
    one.list("/subgroups", {
      summary: "List the direct subgroups of a group",
      access: "anyone",
      input: listInput,
      presenter: group,
      handle: ({ db, source, presenter, page, viewer, input }) =>
        groups.list(db, presenter, page, viewer, {
          ...listFilter(input, viewer),
          member: false,
          parentId: source.id,
        }),
    }),
    one.list("/descendant_groups", {
      summary: "List the subgroups of a group at all levels",
      access: "anyone",
      input: listInput,
      presenter: group,
      handle: ({ db, source, presenter, page, viewer, input }) =>
        groups.list(db, presenter, page, viewer, {
          ...listFilter(input, viewer),
          member: false,
          ancestorId: source.id,
        }),
    }),
    one.list("/projects/shared", {
      summary: "List the projects that are shared with a group",
      access: "anyone",
      input: projectListInput,
      presenter: ({ caller, input }) => (caller && !input.simple ? project : basicProject),
      handle: ({ db, source, presenter, page, viewer, input }) =>
        projects.list(
          db,
          presenter,
          page,
          viewer,
          { ...projectFilter(input, viewer), sharedWith: source.id },
          projectOrder(input, viewer),
        ),
    }),
    one.list("/projects", {
      summary: "List the projects of a group and, unless `with_shared=false`, those shared with it",
      access: "anyone",
      input: {
        ...projectListInput,
        include_subgroups: param.optional(param.boolean()),
        with_shared: param.optional(param.boolean()),
      },
      presenter: ({ caller, input }) => (caller && !input.simple ? project : basicProject),
      handle: ({ db, source, presenter, page, viewer, input }) =>
        projects.list(
          db,
          presenter,
          page,
          viewer,
          {
            ...projectFilter(input, viewer),
            archived: input.archived,
            namespaceId: source.id,
            below: input.include_subgroups,
            withShared: input.with_shared ?? true,
          },
          projectOrder(input, viewer),
        ),
    }),
  ],
};

/** Archives a group, or unarchives it. @throws ApiError 422 in GitLab's words if it is so already, or by a group above it */
async function setArchived(
  context: Pick<Context, "source" | "now" | "request"> & { db: Database; caller: Caller },
  archived: 0 | 1,
): Promise<void> {
  const { db, source, now } = context;
  const above = await db.all<{ id: number; archived: number }>(
    `select n.id, n.archived from namespaces n where n.id in (
       select ancestor_id from namespace_ancestors where namespace_id = ?)`,
    [source.id],
  );
  const word = archived ? "archive" : "unarchive";
  if (above.some((group) => group.id === source.id && group.archived === archived)) {
    throw new ApiError(422, { message: `Group is already ${word}d!` });
  }
  if (above.some((group) => group.id !== source.id && group.archived === 1)) {
    const state = archived ? "is already archived" : "is archived";
    const message = `Cannot ${word} group since one of the ancestor groups ${state}!`;
    throw new ApiError(422, { message });
  }
  await updateRow(db, "namespaces", source.id, { archived }, now);
  await audit.log(context, `group ${word}d`, { target: source.fullPath });
}

/** The visibility of a new group for which none is sent: as the settings say, but no more visible than its parent. */
async function defaultVisibility(db: Reader, parent: namespaces.Namespace | undefined) {
  const { default_group_visibility: level } = await settings.find(db);
  return VISIBILITY_WORDS[Math.min(level, parent?.visibility ?? level)] as Visibility;
}
