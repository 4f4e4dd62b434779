import {
  findSource,
  ROLES,
  requireRole,
  VISIBILITIES,
  VISIBILITY_WORDS,
  type Viewer,
} from "../../core/access.ts";
import { conflict, forbidden, invalid } from "../../core/errors.ts";
import * as is from "../../core/input.ts";
import { requireFullPath, requirePath } from "../../core/paths.ts";
import {
  type Context,
  del,
  get,
  Plain,
  post,
  put,
  type Resource,
  under,
} from "../../core/resource.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as members from "../members/queries.ts";
import { basicProject, project, projectFilter, projectListInput } from "../projects/json.ts";
import * as projects from "../projects/queries.ts";
import * as users from "../users/queries.ts";
import { group, groupWithProjects } from "./json.ts";
import * as groups from "./queries.ts";
import { migrations } from "./table.ts";

const visibility = is.choice(["private", "internal", "public"]);

const listInput = {
  search: is.optional(is.anyText()),
  skip_groups: is.optional(is.arrayOf(is.integer(), { max: 1000 })),
  owned: is.optional(is.boolean()),
  all_available: is.optional(is.boolean()),
  min_access_level: is.optional(is.accessLevel()),
  order_by: is.optional(is.choice(["name", "path", "id"])),
  sort: is.optional(is.choice(["asc", "desc"])),
};

function listFilter(input: is.Input<typeof listInput>, viewer: Viewer): groups.GroupFilter {
  return {
    search: input.search,
    skip: input.skip_groups,
    role: input.owned ? "owner" : input.min_access_level,
    member: viewer.caller !== undefined && !viewer.caller.admin && !input.all_available,
    orderBy: input.order_by ?? "name",
    sort: input.sort ?? "asc",
  };
}

const attributes = {
  description: is.clearable(is.anyText({ max: 500 })),
  visibility: is.optional(visibility),
  lfs_enabled: is.optional(is.boolean()),
  request_access_enabled: is.optional(is.boolean()),
};

/**
 * Checks the name and the path of a group that is made or renamed. Subgroups of one group have different names.
 *
 * @param wanted what is new of the two
 * @throws ApiError 409 in the words of GitLab's 400, and 400 for a path that is too long
 */
async function requireFree(
  db: Reader,
  parent: groups.Namespace | undefined,
  wanted: { name?: string | undefined; path?: string | undefined },
): Promise<void> {
  const taken = ["has already been taken"];
  const { name, path } = wanted;
  const fullPath = parent && path !== undefined ? `${parent.full_path}/${path}` : path;
  if (fullPath !== undefined) requireFullPath(fullPath);
  const nameTaken = parent && name !== undefined && (await groups.isNameTaken(db, parent.id, name));
  const pathTaken = fullPath !== undefined && (await groups.isTaken(db, fullPath));
  if (nameTaken || pathTaken) {
    throw conflict({ ...(nameTaken && { name: taken }), ...(pathTaken && { path: taken }) });
  }
}

/**
 * Checks that a group is no more visible than its parent and no less than what is in it, in the words of GitLab.
 *
 * @param groupId the group that is changed; nothing is in a new one
 * @throws ApiError 400
 */
async function requireVisibility(
  db: Reader,
  wanted: keyof typeof VISIBILITIES,
  parent: groups.Namespace | undefined,
  groupId?: number,
): Promise<void> {
  const level = VISIBILITIES[wanted];
  const problems: string[] = [];
  if (parent?.kind === "group" && level > parent.visibility) {
    const allowed = VISIBILITY_WORDS[parent.visibility];
    problems.push(`${wanted} is not allowed since the parent group has a ${allowed} visibility.`);
  }
  const more = groupId === undefined ? undefined : await groups.moreVisible(db, groupId, level);
  if (more?.projects) {
    problems.push(
      `${wanted} is not allowed since this group contains projects with higher visibility.`,
    );
  }
  if (more?.groups) {
    problems.push(`${wanted} is not allowed since there are sub-groups with higher visibility.`);
  }
  if (problems.length > 0) throw invalid({ visibility_level: problems });
}

/** A group alone: with those of its projects the caller may read, a page of them at most. */
async function shown(
  {
    db,
    shape,
    view,
    viewer,
    page,
  }: Pick<Context, "shape" | "view" | "viewer" | "page"> & {
    db: Reader;
  },
  groupId: number,
) {
  const row = await groups.row(db, shape, groupId);
  const first = { ...page, number: 1, size: page.limits.maxPerPage };
  const listed = await projects.list(
    db,
    project,
    first,
    viewer,
    { namespaceId: groupId },
    { orderBy: "id", sort: "asc" },
  );
  const written = listed.rows.map((one) => project.write(one, view));
  row[shape.at("projects")] = `[${written.join(",")}]`;
  return row;
}

/** Groups and what is below them: gitlab-facts §12. */
export const groupResource: Resource = {
  name: "Groups",
  migrations,
  routes: under("/groups", [
    get("", {
      summary: "List groups: the caller's own, with `all_available` all they can see",
      access: "anyone",
      input: listInput,
      present: group,
      handle: ({ db, shape, page, viewer, input }) =>
        groups.list(db, shape, page, viewer, listFilter(input, viewer)),
    }),
    post("", {
      summary: "Create a group or, with `parent_id`, a subgroup",
      input: {
        name: is.text(),
        path: is.text(),
        parent_id: is.optional(is.integer()),
        ...attributes,
      },
      present: groupWithProjects,
      handle: async (context) => {
        const { db, input, viewer, now } = context;
        const caller = await requireCreator(db, viewer, input.parent_id);
        const parent =
          input.parent_id === undefined ? undefined : await groups.find(db, input.parent_id);
        requirePath(input.path, { top: !parent });
        const visibility = input.visibility ?? "private";
        await requireVisibility(db, visibility, parent);
        await requireFree(db, parent, input);
        const id = await groups.insert(
          db,
          { ...input, kind: "group", parent, visibility: VISIBILITIES[visibility] },
          now,
        );
        await members.insert(
          db,
          { column: "namespace_id", id },
          { user_id: caller, access_level: ROLES.owner, created_by_id: caller },
          now,
        );
        return shown(context, id);
      },
    }),
    get("/:id", {
      summary: "Get a group",
      access: "anyone",
      input: { with_projects: is.optional(is.boolean()) },
      present: ({ input }) => (input.with_projects === false ? group : groupWithProjects),
      handle: async (context) => {
        const { db, source, shape } = context;
        return shape === group ? groups.row(db, shape, source.id) : shown(context, source.id);
      },
    }),
    put("/:id", {
      summary: "Change a group",
      role: "owner",
      input: { name: is.optional(is.text()), path: is.optional(is.text()), ...attributes },
      present: groupWithProjects,
      handle: async (context) => {
        const { db, source, input, now } = context;
        const found = (await groups.find(db, source.id)) as groups.Namespace;
        const parent = found.parent_id ? await groups.find(db, found.parent_id) : undefined;
        if (input.visibility) await requireVisibility(db, input.visibility, parent, source.id);
        await rename(db, found, parent, input);
        await updateRow(
          db,
          "namespaces",
          source.id,
          {
            name: input.name,
            path: input.path,
            description: input.description === null ? "" : input.description,
            visibility: input.visibility && VISIBILITIES[input.visibility],
            lfs_enabled: input.lfs_enabled === undefined ? undefined : Number(input.lfs_enabled),
            request_access_enabled:
              input.request_access_enabled === undefined
                ? undefined
                : Number(input.request_access_enabled),
          },
          now,
        );
        return shown(context, source.id);
      },
    }),
    del("/:id", {
      summary: "Delete a group with all below it",
      role: "owner",
      status: 202,
      handle: async ({ db, source, requireUnmodified }) => {
        const found = (await groups.find(db, source.id)) as groups.Namespace;
        requireUnmodified(found.updated_at);
        await groups.remove(db, source.id);
        return new Plain({ message: "202 Accepted" });
      },
    }),
    get("/:id/subgroups", {
      summary: "List the groups directly below a group",
      access: "anyone",
      input: listInput,
      present: group,
      handle: ({ db, source, shape, page, viewer, input }) =>
        groups.list(db, shape, page, viewer, {
          ...listFilter(input, viewer),
          member: false,
          parentId: source.id,
        }),
    }),
    get("/:id/projects", {
      summary: "List the projects of a group",
      access: "anyone",
      input: { ...projectListInput, include_subgroups: is.optional(is.boolean()) },
      present: ({ caller, input }) => (caller && !input.simple ? project : basicProject),
      handle: ({ db, source, shape, page, viewer, input }) =>
        projects.list(
          db,
          shape,
          page,
          viewer,
          {
            ...projectFilter(input),
            archived: input.archived ?? false,
            namespaceId: source.id,
            below: input.include_subgroups,
          },
          { orderBy: input.order_by ?? "created_at", sort: input.sort ?? "desc" },
        ),
    }),
  ]),
};

/** The id of a caller who may make a group here: below a parent its owner, at the top who is allowed to. */
async function requireCreator(
  db: Reader,
  { caller, today }: Viewer,
  parentId: number | undefined,
): Promise<number> {
  const callerId = caller?.id ?? 0;
  if (parentId === undefined) {
    if (!caller?.admin && !(await users.find(db, callerId))?.can_create_group) throw forbidden();
    return callerId;
  }
  const source = await findSource(db, "group", String(parentId), { caller, today });
  requireRole(source, "owner");
  return callerId;
}

/** Checks a change of name or path, and makes the full ones of the group and of all below it follow. */
async function rename(
  db: Database,
  before: groups.Namespace,
  parent: groups.Namespace | undefined,
  {
    name = before.name,
    path = before.path,
  }: { name?: string | undefined; path?: string | undefined },
): Promise<void> {
  if (name === before.name && path === before.path) return;
  const after = {
    full_path: parent ? `${parent.full_path}/${path}` : path,
    full_name: parent ? `${parent.full_name} / ${name}` : name,
  };
  if (path !== before.path) requirePath(path, { top: !parent });
  await requireFree(db, parent, {
    name: name === before.name ? undefined : name,
    path: path.toLowerCase() === before.path.toLowerCase() ? undefined : path,
  });
  await groups.renameBelow(db, before.id, before, after);
  requireFullPath(await groups.longestPath(db, before.id));
}
