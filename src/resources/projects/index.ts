import type { Caller } from "../../core/access/caller.ts";
import type { Source } from "../../core/access/source.ts";
import { VISIBILITIES, VISIBILITY_NAMES } from "../../core/access/visibility.ts";
import {
  ApiError,
  conflict,
  forbidden,
  invalid,
  notFound,
  notModified,
} from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { storedIn, unsupported } from "../../core/kept.ts";
import { keysetUnavailable } from "../../core/pagination.ts";
import {
  type Context,
  Json,
  type PrepareContext,
  type Resource,
  routes,
} from "../../core/resource.ts";
import { fork } from "../../git/repository.ts";
import type { Database, Reader, Store, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { delayedDeletion } from "../application-settings/deletion.ts";
import * as settings from "../application-settings/queries.ts";
import {
  artifactsSize,
  requireSizeRight,
  requireUnrestricted,
} from "../application-settings/rules.ts";
import { AVATAR_PART, avatar } from "../avatars/input.ts";
import * as avatars from "../avatars/queries.ts";
import { attributeFilter, customAttributeInput } from "../custom-attributes/queries.ts";
import { shareAll } from "../lfs/objects.ts";
import { groupSettings } from "../namespaces/kept.ts";
import { emailsDisabled } from "../namespaces/mails.ts";
import { deletionInput, isToMark } from "../namespaces/marked.ts";
import * as namespaces from "../namespaces/queries.ts";
import { keepPaths } from "../namespaces/redirects.ts";
import { protectDefault } from "../protected-refs/changes.ts";
import { setMain } from "../repositories/facts.ts";
import { findRecord } from "../repositories/open.ts";
import { applyAll, orDiscard } from "../repositories/write.ts";
import { setTopics } from "../topics/queries.ts";
import { checkImport } from "../url-imports/check.ts";
import { queueUrlImport } from "../url-imports/queries.ts";
import { requireUser } from "../users/rules.ts";
import { mayRenameProject } from "./abilities.ts";
import { aroundRoutes } from "./around.ts";
import { createProject } from "./changes.ts";
import { findDeleted, mark, restore } from "./deletion.ts";
import {
  ACCESS_LEVELS,
  FEATURE_USERS,
  featureColumns,
  requireLevelsOfCode,
} from "./feature-levels.ts";
import { projectFilter, projectListInput, projectOrder } from "./filters.ts";
import { changed } from "./followers.ts";
import { listedProject as listed, projectWithPermissions } from "./json.ts";
import { projectSettings } from "./kept.ts";
import { listByKey, list as listProjects, row } from "./list.ts";
import {
  mirrorAttributes,
  NO_MIRROR_SETTINGS,
  prepareProjectMirror,
  setUpProjectMirror,
} from "./mirror.ts";
import { ofUsers } from "./of-users.ts";
import * as projects from "./queries.ts";
import { remove } from "./removal.ts";
import { chooseBranch, findBranch, requireBranchName, stageReadme } from "./repository.ts";
import {
  forkTarget,
  pathOf,
  requireForkVisibility,
  requireFree,
  requireVisibility,
  targetNamespace,
} from "./rules.ts";
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
  "allow_merge_on_skipped_pipeline",
  "only_allow_merge_if_all_discussions_are_resolved",
  "only_allow_merge_if_all_status_checks_passed",
  "autoclose_referenced_issues",
  "resolve_outdated_diff_discussions",
  "remove_source_branch_after_merge",
] as const;

const flags = Object.fromEntries(
  FLAGS.map((name) => [name, param.optional(param.boolean())]),
) as Record<(typeof FLAGS)[number], ReturnType<typeof param.optional<boolean>>>;

const accessLevel = param.optional(param.choice(FEATURE_USERS));
const accessLevels = Object.fromEntries(
  Object.keys(ACCESS_LEVELS).map((name) => [name, accessLevel]),
) as Record<keyof typeof ACCESS_LEVELS, typeof accessLevel>;

/** The longest template of a commit's message, as in GitLab. */
const MAX_TEMPLATE = 500;

const attributes = {
  avatar: param.clearable(avatar()),
  description: param.clearable(param.anyText({ max: 2000 })),
  visibility: param.optional(param.choice(VISIBILITY_NAMES)),
  default_branch: param.clearable(param.text({ max: 1024 })),
  merge_method: param.optional(param.choice(["merge", "rebase_merge", "ff"])),
  squash_option: param.optional(param.choice(["never", "always", "default_on", "default_off"])),
  merge_commit_template: param.clearable(param.anyText({ max: MAX_TEMPLATE })),
  squash_commit_template: param.clearable(param.anyText({ max: MAX_TEMPLATE })),
  topics: param.optional(param.commaSeparated()),
  tag_list: param.optional(param.commaSeparated()),
  ci_config_path: param.clearable(param.anyText()),
  ci_default_git_depth: param.optional(param.integer({ min: 0, max: 1000 })),
  build_timeout: param.optional(param.integer({ min: 600, max: 2_592_000 })),
  max_artifacts_size: param.clearable(artifactsSize),
  public_builds: param.optional(param.boolean()),
  emails_enabled: param.optional(param.boolean()),
  emails_disabled: param.optional(param.boolean()),
  container_registry_enabled: param.optional(param.boolean()),
  packages_enabled: param.optional(param.boolean()),
  ...flags,
  ...accessLevels,
  ...projectSettings.attributes,
};

/** What a new project may be made of in GitLab. */
const TEMPLATES = {
  template_name: unsupported(param.anyText()),
  template_project_id: unsupported(param.integer(), 0),
  use_custom_template: unsupported(param.boolean(), false),
  group_with_project_templates_id: unsupported(param.integer(), 0),
};

/** The columns that are set from attributes directly. */
function columnsOf(input: param.Input<typeof attributes>): Record<string, Value | undefined> {
  return {
    description: input.description,
    default_branch: input.default_branch,
    merge_method: input.merge_method,
    squash_option: input.squash_option,
    merge_commit_template: input.merge_commit_template,
    squash_commit_template: input.squash_commit_template,
    visibility: input.visibility && VISIBILITIES[input.visibility],
    ci_config_path: input.ci_config_path,
    ci_default_git_depth: input.ci_default_git_depth,
    build_timeout: input.build_timeout,
    max_artifacts_size: input.max_artifacts_size,
    emails_disabled: emailsDisabled(input),
    ...Object.fromEntries(
      FLAGS.map((name) => [name, input[name] === undefined ? undefined : Number(input[name])]),
    ),
    ...(input.public_builds !== undefined && { public_jobs: Number(input.public_builds) }),
    ...(input.packages_enabled !== undefined && {
      package_registry_enabled: Number(input.packages_enabled),
    }),
    ...featureColumns(input),
  };
}

/** What the kept settings of a project become. */
async function keptOf(
  input: param.Input<typeof attributes>,
  before: () => Promise<Value | undefined>,
): Promise<string | undefined> {
  const { container_registry_enabled: hasRegistry } = input;
  const container_registry_access_level =
    input.container_registry_access_level ??
    (hasRegistry === undefined ? undefined : hasRegistry ? "enabled" : "disabled");
  const { container_expiration_policy_attributes: policy } = input;
  const container_expiration_policy_attributes = policy && {
    ...projectSettings.read(await before()).container_expiration_policy_attributes,
    ...policy,
  };
  return projectSettings.changed(
    { ...input, container_registry_access_level, container_expiration_policy_attributes },
    before,
  );
}

/** The names that `topics`, or its older name `tag_list`, has. */
const topicsIn = (input: param.Input<typeof attributes>) => input.topics ?? input.tag_list;

/** The row of a single project. */
function rowOf(
  { db, presenter, viewer }: Pick<Context, "presenter" | "viewer"> & { db: Reader },
  projectId: number,
): Promise<Value[]> {
  return row(db, presenter, projectId, viewer);
}

/** The project in the path, which the pipeline has found. */
async function projectOf({ db, source }: Pick<Context, "source"> & { db: Reader }) {
  return (await projects.find(db, source.id)) as projects.Project;
}

async function setStar(
  context: Pick<Context, "source" | "presenter" | "viewer" | "now"> & {
    db: Database;
    caller: Caller;
  },
  change: typeof projects.star,
) {
  const { db, source, caller, now } = context;
  if (!(await change(db, source.id, caller.id, now))) throw notModified();
  return rowOf(context, source.id);
}

async function setArchived(
  context: Pick<Context, "source" | "presenter" | "viewer" | "now" | "request"> & {
    db: Database;
    caller: Caller;
  },
  archived: number,
) {
  const { db, source, caller, now } = context;
  await updateRow(db, "projects", source.id, { archived }, now);
  await changed(context, "update", { id: source.id, userId: caller.id });
  return rowOf(context, context.source.id);
}

/** Checks that a project may be forked by those who see it. @throws ApiError 404 */
async function requireForkable(db: Reader, source: Source): Promise<void> {
  const stored = await storedIn(db, "projects", source.id);
  const { forking_access_level: level } = projectSettings.read(stored);
  if (level === "disabled" || (level === "private" && source.level === 0)) throw notFound();
}

/**
 * Checks that the groups of a project let it be forked into a namespace: into another tree they may forbid it.
 *
 * @throws ApiError 404
 */
async function requireForkableInto(db: Reader, source: Source, target: number): Promise<void> {
  const [found] = await db.rows(
    `select 1 from namespace_ancestors a join namespaces n on n.id = a.ancestor_id
     where a.namespace_id = ? and instr(n.kept_settings, '"prevent_forking_outside_group":true') > 0
       and not exists (select 1 from namespace_ancestors own
         join namespaces top on top.id = own.ancestor_id and top.parent_id is null
         join namespace_ancestors other on other.ancestor_id = top.id and other.namespace_id = ?
         where own.namespace_id = a.namespace_id) limit 1`,
    [source.namespaceId, target],
  );
  if (found) throw notFound("Target Namespace");
}

/** What the default branch of a group's new projects is, if it says that. */
async function branchOfGroup(db: Reader, groupId: number | undefined) {
  if (groupId === undefined) return null;
  return groupSettings.read(await storedIn(db, "namespaces", groupId)).default_branch;
}

const forkAttributes = {
  namespace: param.unlessBlank(param.text()),
  namespace_id: param.optional(param.integer()),
  namespace_path: param.unlessBlank(param.text()),
  name: param.unlessBlank(param.text()),
  path: param.unlessBlank(param.text()),
  description: param.clearable(param.anyText({ max: 2000 })),
  visibility: param.optional(param.choice(VISIBILITY_NAMES)),
  branches: param.unlessBlank(param.text({ max: 1024 })),
  mr_default_target_self: param.optional(param.boolean()),
};

/** The only branch that a fork gets, if one was named. @throws ApiError 400 if there is none of that name */
async function onlyBranch(
  { branches: name }: { readonly branches?: string | undefined },
  { store, source }: { readonly store: Store; readonly source: Source },
) {
  if (name === undefined) return { only: undefined };
  const found = await findBranch(store, source.id, name);
  if (!found) throw invalid({ branches: ["is not a branch"] });
  return { only: { name, facts: found.facts } };
}

const newProject = {
  name: param.optional(param.text()),
  path: param.optional(param.text()),
  namespace_id: param.optional(param.integer()),
  initialize_with_readme: param.optional(param.boolean()),
  ...TEMPLATES,
  repository_object_format: unsupported(param.choice(["sha1", "sha256"]), "sha1"),
  ...attributes,
  ...mirrorAttributes,
};
type NewProject = param.Input<typeof newProject>;

const creating = {
  upload: AVATAR_PART,
  atLeastOne: ["name", "path"],
  presenter: projectWithPermissions,
} as const;

/** Prepares a project that somebody creates. @throws ApiError 400, 403 */
async function stageProject(
  input: NewProject,
  preparing: Pick<PrepareContext, "db" | "store" | "secrets" | "outgoing" | "tier" | "now">,
  creator: Caller,
) {
  const { store, now } = preparing;
  const { path = "", name = path, description } = input;
  const { import_url: url } = input;
  if (url && input.initialize_with_readme) {
    const error = "import_url, initialize_with_readme are mutually exclusive";
    throw new ApiError(400, { error });
  }
  const imported = url && !input.mirror ? await checkImport(url, preparing, creator.id) : undefined;
  const mirror = imported ? { ...input, import_url: undefined } : input;
  const address = await prepareProjectMirror(mirror, { ...preparing, source: undefined });
  if (input.default_branch) requireBranchName(input.default_branch);
  const db = store.reader();
  const defaults = await settings.find(db);
  const defaultBranch =
    input.default_branch ??
    (await branchOfGroup(db, input.namespace_id)) ??
    defaults.default_branch_name;
  const readme = input.initialize_with_readme
    ? await stageReadme(store, creator, { name, description, defaultBranch }, now)
    : undefined;
  return { readme, defaultBranch, defaults, address, mirror, imported };
}

/** Creates a project that somebody has prepared: it is theirs, unless it is to be in a group. */
function makeProject(
  context: Pick<Context, "now" | "viewer" | "presenter" | "view" | "secrets"> & {
    readonly db: Database;
    readonly input: NewProject;
    readonly prepared: Awaited<ReturnType<typeof stageProject>>;
    readonly caller: Caller;
  },
  creator: Caller,
) {
  const { db, now } = context;
  const input = { ...context.input, ...NO_MIRROR_SETTINGS };
  const { readme, defaultBranch, defaults, address, mirror, imported } = context.prepared;
  return orDiscard(readme, async () => {
    const name = (input.name ?? input.path) as string;
    const path = input.path ?? pathOf(name);
    const namespace = await targetNamespace({ ...context, caller: creator }, input.namespace_id);
    const visibility = input.visibility
      ? VISIBILITIES[input.visibility]
      : Math.min(defaults.default_project_visibility, namespace.visibility);
    await requireUnrestricted(db, creator, visibility);
    requireSizeRight(creator, input.max_artifacts_size, null);
    const created = { namespace, creator_id: creator.id, name, path, visibility };
    const topics = topicsIn(input);
    const id = await createProject(db, { ...created, topics }, now);
    const { ci_config_path = defaults.default_ci_config_path } = input;
    const columns = columnsOf({ ...input, default_branch: defaultBranch, ci_config_path });
    const kept_settings = await keptOf(input, async () => null);
    await updateRow(db, "projects", id, { ...columns, kept_settings }, now);
    await requireLevelsOfCode(db, id, columns);
    const mirroring = { ...context, source: { id }, caller: creator };
    await setUpProjectMirror(mirroring, mirror, address);
    if (imported) {
      const importing = { projectId: id, userId: creator.id, address: imported };
      await queueUrlImport(db, context.secrets, importing, now);
    }
    await avatars.change(db, { kind: "project", id }, input.avatar, now);
    if (readme) await applyAll(db, { ...readme, caller: creator, project: { id } }, now);
    return rowOf(context, id);
  });
}

/** A user for whom an administrator creates something. @throws ApiError 404 */
async function creatorNamed(db: Reader, userId: number, admin: Caller): Promise<Caller> {
  const user = await requireUser(db, userId);
  return { ...admin, id: user.id, username: user.username, admin: user.admin === 1 };
}

const { list, post } = routes({ path: "/projects" });
const project = routes({ source: "project" });

/** Projects, with stars and forks. */
export const projectResource: Resource = {
  name: "Projects",
  migrations,
  routes: [
    ...ofUsers,
    list("", {
      summary: "List the projects the caller can see",
      access: "anyone",
      input: {
        ...projectListInput,
        membership: param.optional(param.boolean()),
        statistics: param.optional(param.boolean()),
        pagination: param.optional(param.choice(["offset", "keyset"])),
      },
      presenter: listed,
      handle: async ({ db, presenter, page, viewer, input }) => {
        const filter = {
          ...projectFilter(input, viewer),
          membership: input.membership,
        };
        const order = projectOrder(input, viewer);
        if (input.pagination !== "keyset") {
          return listProjects(db, presenter, page, viewer, filter, order);
        }
        if (order.orderBy !== "id") throw keysetUnavailable();
        return listByKey(db, presenter, page, viewer, filter, order.sort);
      },
    }),
    post("", {
      summary: "Create a project",
      ...creating,
      input: newProject,
      prepare: (input, preparing) => stageProject(input, preparing, preparing.caller),
      handle: (context) => makeProject(context, context.caller),
    }),
    post("/user/:user_id", {
      summary: "Create a project of a user, for administrators",
      access: "admin",
      ...creating,
      input: { user_id: param.recordId(), ...newProject },
      prepare: async (input, preparing) => {
        const { store, caller } = preparing;
        const creator = await creatorNamed(store.reader(), input.user_id, caller);
        return { ...(await stageProject(input, preparing, creator)), creator };
      },
      handle: (context) => makeProject(context, context.prepared.creator),
    }),
    project.get("", {
      jobTokens: true,
      summary: "Get a project",
      access: "anyone",
      input: {
        statistics: param.optional(param.boolean()),
        with_custom_attributes: customAttributeInput.with_custom_attributes,
      },
      presenter: listed,
      handle: ({ db, presenter, source, viewer, input }) =>
        row(db, presenter, source.id, viewer, attributeFilter(input, viewer)),
    }),
    project.put("", {
      summary: "Change a project",
      role: "maintainer",
      input: {
        name: param.optional(param.text()),
        path: param.optional(param.text()),
        ...attributes,
        ...mirrorAttributes,
      },
      upload: AVATAR_PART,
      atLeastOne: [
        ...["name" as const, "path" as const],
        ...(Object.keys(attributes) as (keyof typeof attributes)[]),
        ...(Object.keys(mirrorAttributes) as (keyof typeof mirrorAttributes)[]),
      ],
      presenter: projectWithPermissions,
      prepare: async (input, preparing) => {
        const { store, source } = preparing;
        const address = await prepareProjectMirror(input, preparing);
        const { default_branch: name } = input;
        const chosen = name === undefined ? undefined : await chooseBranch(store, source.id, name);
        return { chosen, address };
      },
      handle: async (context) => {
        const { db, source, prepared, now } = context;
        const { chosen, address } = prepared;
        const input = { ...context.input, ...NO_MIRROR_SETTINGS };
        const { name, path } = input;
        const isOwners = (name ?? path ?? input.visibility) !== undefined;
        if (isOwners && !mayRenameProject(source)) throw forbidden();
        const found = await projectOf(context);
        const namespace = (await namespaces.find(db, found.namespace_id)) as namespaces.Namespace;
        const level = input.visibility && VISIBILITIES[input.visibility];
        requireVisibility(namespace, level);
        const { forked_from_project_id } = found;
        const fork = { forked_from_project_id, visibility: source.visibility };
        await requireForkVisibility(db, fork, level);
        await requireUnrestricted(db, context.caller, level);
        requireSizeRight(context.caller, input.max_artifacts_size, found.max_artifacts_size);
        await requireFree(db, namespace, { name, path }, found);
        const full_path = path && `${namespace.full_path}/${path}`;
        const isRenamed = path !== undefined && path !== found.path;
        if (isRenamed) await keepPaths(db, { sql: "id = ?", values: [source.id] });
        const kept_settings = await keptOf(input, () => storedIn(db, "projects", source.id));
        const columns = { ...columnsOf(input), kept_settings, name, path, full_path };
        await updateRow(db, "projects", source.id, { ...columns, last_activity_at: now }, now);
        await requireLevelsOfCode(db, source.id, columns);
        await setUpProjectMirror(context, context.input, address);
        await avatars.change(db, source, input.avatar, now);
        const topics = topicsIn(input);
        if (topics) await setTopics(db, source.id, topics, now);
        if (chosen) await setMain(db, chosen.repositoryId, chosen.facts);
        const old = isRenamed ? { old_path_with_namespace: source.fullPath } : undefined;
        const about = { id: source.id, userId: context.caller.id };
        await changed(context, isRenamed ? "rename" : "update", about, old);
        return rowOf(context, source.id);
      },
    }),
    project.del("", {
      summary: "Delete a project, or mark it for deletion if the settings delay that",
      role: "owner",
      input: deletionInput,
      status: 202,
      examples: [{ message: "202 Accepted" }],
      handle: async (context) => {
        const found = await findDeleted(context.db, context.source.id);
        context.requireUnmodified(found.updated_at);
        const { ofProjects } = await delayedDeletion(context.db);
        if (isToMark("Project", found, context.input, ofProjects)) {
          await mark(context, found);
          return new Json({ message: "202 Accepted" });
        }
        await changed(context, "destroy", { id: found.id, userId: context.caller.id });
        await remove(context.db, found.id, context.now);
        return new Json({ message: "202 Accepted" });
      },
    }),
    project.post("/restore", {
      summary: "Restore a project that is marked for deletion",
      role: "owner",
      presenter: projectWithPermissions,
      handle: async (context) => {
        await restore(context, await findDeleted(context.db, context.source.id));
        return rowOf(context, context.source.id);
      },
    }),
    project.post("/star", {
      alsoAnswers: { 304: [] },
      summary: "Star a project; 304 if the caller has starred it",
      presenter: projectWithPermissions,
      handle: (context) => setStar(context, projects.star),
    }),
    project.post("/unstar", {
      alsoAnswers: { 304: [] },
      summary: "Remove the caller's star; 304 if there is none",
      presenter: projectWithPermissions,
      handle: (context) => setStar(context, projects.unstar),
    }),
    project.post("/archive", {
      summary: "Archive a project",
      role: "owner",
      presenter: projectWithPermissions,
      handle: (context) => setArchived(context, 1),
    }),
    project.post("/unarchive", {
      summary: "Unarchive a project",
      role: "owner",
      presenter: projectWithPermissions,
      handle: (context) => setArchived(context, 0),
    }),
    project.post("/fork", {
      summary: "Fork a project: create a new one with its branches and tags",
      role: ({ source }) => (source.visibility === VISIBILITIES.private ? "reporter" : undefined),
      input: forkAttributes,
      presenter: projectWithPermissions,
      prepare: onlyBranch,
      handle: async (context) => {
        const { db, source, caller, input, prepared, now } = context;
        await requireForkable(db, source);
        const from = await projectOf(context);
        const named = input.namespace_id ?? input.namespace_path ?? input.namespace;
        const namespace = await forkTarget(context, named);
        await requireForkableInto(db, source, namespace.id);
        const name = input.name ?? from.name;
        const path = input.path ?? from.path;
        const { only } = prepared;
        const branch = only?.name ?? from.default_branch;
        // A fork is no more visible than its source and its namespace.
        const visibility = Math.min(
          VISIBILITIES[input.visibility ?? "public"],
          source.visibility,
          namespace.visibility,
        );
        await requireUnrestricted(db, caller, visibility);
        const id = await createProject(
          db,
          {
            namespace,
            creator_id: caller.id,
            name,
            path,
            visibility,
            description: input.description === undefined ? from.description : input.description,
            default_branch: branch,
            forked_from_project_id: from.id,
          },
          now,
        );
        const { mr_default_target_self } = input;
        if (mr_default_target_self !== undefined) {
          const kept_settings = await projectSettings.changed(
            { mr_default_target_self },
            async () => null,
          );
          await updateRow(db, "projects", id, { kept_settings }, now);
        }
        await shareAll(db, from.id, id, now);
        if ((await fork(db, from.id, id, only?.name)) && branch !== null) {
          await protectDefault(db, id, branch, now);
          const { row } = await findRecord(db, id);
          if (only && row) await setMain(db, row.id, only.facts);
        }
        return rowOf(context, id);
      },
    }),
    ...aroundRoutes,
    project.list("/forks", {
      summary: "List the forks of a project that the caller can see",
      access: "anyone",
      input: {
        ...projectListInput,
        membership: param.optional(param.boolean()),
        statistics: param.optional(param.boolean()),
      },
      presenter: listed,
      handle: ({ db, presenter, page, viewer, input, source }) => {
        const { membership } = input;
        const filter = { ...projectFilter(input, viewer), membership, forkedFrom: source.id };
        return listProjects(db, presenter, page, viewer, filter, projectOrder(input, viewer));
      },
    }),
    project.post("/fork/:forked_from_id", {
      summary: "Mark a project as a fork of another",
      access: "admin",
      role: "owner",
      input: { forked_from_id: param.untypedId() },
      presenter: projectWithPermissions,
      handle: async (context) => {
        const { db, input, now } = context;
        const fork = await projectOf(context);
        const from = await projects.find(db, input.forked_from_id);
        if (!from || from.id === fork.id) throw notFound("Source Project");
        if (fork.forked_from_project_id !== null) throw conflict("Project already forked");
        await updateRow(db, "projects", fork.id, { forked_from_project_id: from.id }, now);
        return rowOf(context, fork.id);
      },
    }),
    project.del("/fork", {
      alsoAnswers: { 304: [] },
      summary: "Remove the fork relationship of a project; 304 if it is not a fork",
      role: "owner",
      handle: async (context) => {
        const found = await projectOf(context);
        if (found.forked_from_project_id === null) throw notModified();
        const changes = { forked_from_project_id: null };
        await updateRow(context.db, "projects", found.id, changes, context.now);
        return undefined;
      },
    }),
  ],
};
