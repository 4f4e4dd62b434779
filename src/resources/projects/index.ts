import { ROLES, requireRole, VISIBILITIES, VISIBILITY_WORDS } from "../../core/access.ts";
import { conflict, forbidden, invalid, notModified } from "../../core/errors.ts";
import * as is from "../../core/input.ts";
import { keysetUnavailable } from "../../core/pagination.ts";
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
import type { Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as events from "../events/queries.ts";
import * as groups from "../groups/queries.ts";
import * as members from "../members/queries.ts";
import * as users from "../users/queries.ts";
import { basicProject, projectFilter, projectListInput, projectWithPermissions } from "./json.ts";
import * as projects from "./queries.ts";
import { migrations } from "./table.ts";

const FLAGS = [
  "issues_enabled",
  "merge_requests_enabled",
  "wiki_enabled",
  "jobs_enabled",
  "snippets_enabled",
  "shared_runners_enabled",
  "lfs_enabled",
  "request_access_enabled",
  "public_jobs",
  "only_allow_merge_if_pipeline_succeeds",
  "only_allow_merge_if_all_discussions_are_resolved",
] as const;

const flags = Object.fromEntries(FLAGS.map((name) => [name, is.optional(is.boolean())])) as Record<
  (typeof FLAGS)[number],
  ReturnType<typeof is.optional<boolean>>
>;

const attributes = {
  description: is.clearable(is.anyText()),
  visibility: is.optional(is.choice(["private", "internal", "public"])),
  default_branch: is.clearable(is.text()),
  merge_method: is.optional(is.choice(["merge", "rebase_merge", "ff"])),
  topics: is.optional(is.commaSeparated()),
  tag_list: is.optional(is.commaSeparated()),
  ...flags,
};

/** The columns that attributes go to as they are. */
function columnsOf(input: is.Input<typeof attributes>): Record<string, Value | undefined> {
  const topics = input.topics ?? input.tag_list;
  return {
    description: input.description,
    default_branch: input.default_branch,
    merge_method: input.merge_method,
    visibility: input.visibility && VISIBILITIES[input.visibility],
    topics: topics && JSON.stringify(topics),
    ...Object.fromEntries(
      FLAGS.map((name) => [name, input[name] === undefined ? undefined : Number(input[name])]),
    ),
  };
}

/** A path made of a name: lower case, what is not allowed in one becomes a dash. */
function pathOf(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9_.]+/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "");
}

/** A taken name or path is a conflict (contract §7), said in the words of GitLab's 400. */
async function requireFree(
  db: Reader,
  namespace: groups.Namespace,
  wanted: { name?: string | undefined; path?: string | undefined },
  except?: projects.Project,
): Promise<void> {
  const taken = ["has already been taken"];
  const { name, path } = wanted;
  if (path !== undefined) requireFullPath(`${namespace.full_path}/${path}`);
  const nameTaken =
    name !== undefined && (await projects.isNameTaken(db, namespace.id, name, except?.id));
  const samePath = path?.toLowerCase() === except?.path.toLowerCase();
  const pathTaken =
    path !== undefined && !samePath && (await groups.isTaken(db, `${namespace.full_path}/${path}`));
  if (nameTaken || pathTaken) {
    throw conflict({ ...(nameTaken && { name: taken }), ...(pathTaken && { path: taken }) });
  }
}

function requireVisibility(namespace: groups.Namespace, level: number | undefined): void {
  if (level !== undefined && namespace.kind === "group" && level > namespace.visibility) {
    const [wanted, allowed] = [VISIBILITY_WORDS[level], VISIBILITY_WORDS[namespace.visibility]];
    throw invalid({ visibility_level: [`${wanted} is not allowed in a ${allowed} group.`] });
  }
}

/** Where a caller may make a project: their own namespace, or a group they maintain. */
async function targetNamespace(
  { db, caller, viewer }: Pick<Context, "caller" | "viewer"> & { db: Reader },
  namespaceId: number | undefined,
): Promise<groups.Namespace> {
  const callerId = caller?.id ?? 0;
  const namespace =
    namespaceId === undefined
      ? await groups.findPersonal(db, callerId)
      : await groups.find(db, namespaceId);
  const level = namespace && (await groups.levelIn(db, namespace.id, callerId, viewer.today));
  if (!namespace || (!caller?.admin && (level ?? 0) < ROLES.maintainer)) {
    throw invalid({ namespace: ["is not valid"] });
  }
  if (namespace.owner_id === callerId) {
    const user = await users.find(db, callerId);
    if (user && (await projects.countPersonal(db, callerId)) >= user.projects_limit) {
      throw forbidden("Your project limit is reached.");
    }
  }
  return namespace;
}

/** A project as its present caller sees it. */
async function shown(
  { db, shape, viewer }: Pick<Context, "shape" | "viewer"> & { db: Reader },
  projectId: number,
): Promise<Value[]> {
  const row = await projects.row(db, shape, projectId);
  if (shape === projectWithPermissions) {
    await projects.embedPermissions(db, [row], shape, viewer);
  }
  return row;
}

async function setStar(
  context: Pick<Context, "source" | "shape" | "viewer" | "caller"> & { db: Database },
  change: typeof projects.star,
) {
  if (!(await change(context.db, context.source.id, context.caller?.id ?? 0))) {
    throw notModified();
  }
  return shown(context, context.source.id);
}

async function setArchived(
  context: Pick<Context, "source" | "shape" | "viewer" | "now"> & { db: Database },
  archived: number,
) {
  await updateRow(context.db, "projects", context.source.id, { archived }, context.now);
  return shown(context, context.source.id);
}

/** Projects: contract §9, gitlab-facts §12. */
export const projectResource: Resource = {
  name: "Projects",
  migrations,
  routes: under("/projects", [
    get("", {
      summary: "List the projects the caller can see",
      access: "anyone",
      input: {
        ...projectListInput,
        membership: is.optional(is.boolean()),
        id_after: is.optional(is.integer()),
        id_before: is.optional(is.integer()),
        pagination: is.optional(is.choice(["offset", "keyset"])),
      },
      present: ({ caller, input }) =>
        caller && !input.simple ? projectWithPermissions : basicProject,
      handle: async ({ db, shape, page, viewer, input }) => {
        const filter = {
          ...projectFilter(input),
          membership: input.membership,
          idAfter: input.id_after,
          idBefore: input.id_before,
        };
        const sort = input.sort ?? "desc";
        const orderBy = input.order_by ?? "created_at";
        if (input.pagination === "keyset" && orderBy !== "id") throw keysetUnavailable();
        const listed =
          input.pagination === "keyset"
            ? await projects.listByKey(db, shape, page, viewer, filter, sort)
            : await projects.list(db, shape, page, viewer, filter, { orderBy, sort });
        if (shape === projectWithPermissions) {
          await projects.embedPermissions(db, listed.rows, shape, viewer);
        }
        return listed;
      },
    }),
    post("", {
      summary: "Create a project",
      input: {
        name: is.optional(is.text()),
        path: is.optional(is.text()),
        namespace_id: is.optional(is.integer()),
        ...attributes,
      },
      atLeastOne: ["name", "path"],
      present: projectWithPermissions,
      handle: async (context) => {
        const { db, input, caller, now } = context;
        const name = (input.name ?? input.path) as string;
        const path = input.path ?? pathOf(name);
        requirePath(path);
        const namespace = await targetNamespace(context, input.namespace_id);
        const visibility = VISIBILITIES[input.visibility ?? "private"];
        requireVisibility(namespace, visibility);
        await requireFree(db, namespace, { name, path });
        const id = await projects.insert(
          db,
          { namespace, creator_id: caller?.id ?? null, name, path, visibility },
          now,
        );
        await updateRow(db, "projects", id, columnsOf(input), now);
        await events.record(
          db,
          {
            project_id: id,
            author_id: caller?.id ?? 0,
            action: "created",
            target: { type: "project", id, title: name },
          },
          now,
        );
        if (namespace.owner_id !== null) {
          await members.insert(
            db,
            { column: "project_id", id },
            {
              user_id: namespace.owner_id,
              access_level: ROLES.maintainer,
              created_by_id: caller?.id,
            },
            now,
          );
        }
        return shown(context, id);
      },
    }),
    get("/:id", {
      jobTokens: true,
      summary: "Get a project",
      access: "anyone",
      present: ({ caller }) => (caller ? projectWithPermissions : basicProject),
      handle: (context) => shown(context, context.source.id),
    }),
    put("/:id", {
      summary: "Change a project",
      role: "maintainer",
      input: { name: is.optional(is.text()), path: is.optional(is.text()), ...attributes },
      atLeastOne: ["name", "path", ...(Object.keys(attributes) as (keyof typeof attributes)[])],
      present: projectWithPermissions,
      handle: async (context) => {
        const { db, source, input, now } = context;
        const { name, path } = input;
        if ((name ?? path ?? input.visibility) !== undefined) requireRole(source, "owner");
        const found = (await projects.find(db, source.id)) as projects.Project;
        const namespace = (await groups.find(db, found.namespace_id)) as groups.Namespace;
        requireVisibility(namespace, input.visibility && VISIBILITIES[input.visibility]);
        if (path !== undefined) requirePath(path);
        await requireFree(db, namespace, { name, path }, found);
        const full_path = path && `${namespace.full_path}/${path}`;
        await updateRow(
          db,
          "projects",
          source.id,
          { ...columnsOf(input), name, path, full_path, last_activity_at: now },
          now,
        );
        return shown(context, source.id);
      },
    }),
    del("/:id", {
      summary: "Delete a project",
      role: "owner",
      status: 202,
      handle: async ({ db, source, requireUnmodified }) => {
        const found = (await projects.find(db, source.id)) as projects.Project;
        requireUnmodified(found.updated_at);
        await projects.remove(db, source.id);
        return new Plain({ message: "202 Accepted" });
      },
    }),
    post("/:id/star", {
      summary: "Star a project; 304 where it has the caller's star",
      present: projectWithPermissions,
      handle: (context) => setStar(context, projects.star),
    }),
    post("/:id/unstar", {
      summary: "Take the caller's star back; 304 where there is none",
      present: projectWithPermissions,
      handle: (context) => setStar(context, projects.unstar),
    }),
    post("/:id/archive", {
      summary: "Archive a project",
      role: "owner",
      present: projectWithPermissions,
      handle: (context) => setArchived(context, 1),
    }),
    post("/:id/unarchive", {
      summary: "Bring a project back from the archive",
      role: "owner",
      present: projectWithPermissions,
      handle: (context) => setArchived(context, 0),
    }),
  ]),
};
