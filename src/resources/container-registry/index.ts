import * as audit from "../../audit/log.ts";
import type { Caller } from "../../core/access/caller.ts";
import { codeRole, findVisible, type Source } from "../../core/access/source.ts";
import { badRequest, forbidden, notFound, unauthorized } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Context, Json, type Resource, routes } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { mayDelete, mayPull } from "./abilities.ts";
import { chosenTags, readAge } from "./cleanup.ts";
import { repository, tag, tagDetails } from "./json.ts";
import { deleteTag } from "./manifests.ts";
import { nameOf } from "./names.ts";
import * as registry from "./queries.ts";
import { migrations, REGISTRY_KEYS } from "./table.ts";

/** How often the tags of a repository can be cleaned up, in milliseconds. */
const HOUR = 3_600_000;

const project = routes({ source: "project", path: "/registry/repositories" });
const group = routes({ source: "group", path: "/registry/repositories" });
const instance = routes({ path: "/registry/repositories" });

const reading = { access: "anyone", jobTokens: true, role: codeRole } as const;
const writing = {
  jobTokens: true,
  concurrency: "per project",
  whenArchived: "refuse",
} as const;

const asked = {
  tags: param.optional(param.boolean()),
  tags_count: param.optional(param.boolean()),
};
const one = { repository_id: param.recordId() };
const oneTag = { ...one, tag_name: param.anyText({ max: 255 }) };

type In = Pick<Context, "caller"> & { readonly db: Reader; readonly source: Source };

/** Checks that the caller may see a project's images. @throws ApiError 401 or 403 */
async function requirePull(context: In): Promise<void> {
  const { db, source, caller } = context;
  if (!(await mayPull(db, source))) throw caller ? forbidden() : unauthorized();
}

/** A repository of a project. @throws ApiError 404 */
async function requireRepository({ db, source }: In, id: number): Promise<registry.Found> {
  const found = await registry.find(db, id, source.id);
  if (!found) throw notFound();
  return found;
}

/** A repository of a project of which the caller may delete. @throws ApiError 403 or 404 */
async function requireDeletable(
  context: In & { readonly caller: Caller },
  id: number,
): Promise<registry.Found> {
  const { db, source, caller } = context;
  const found = await requireRepository(context, id);
  if (!(await mayDelete(db, source, caller, found.name))) throw forbidden();
  return found;
}

const targetOf = ({ fullPath }: Source, { name }: registry.Found, tagName?: string) => ({
  target: tagName === undefined ? nameOf(fullPath, name) : `${nameOf(fullPath, name)}:${tagName}`,
});

const requireDue = ({ cleaned_at }: registry.Found, now: number) => {
  if (cleaned_at === null || cleaned_at <= now - HOUR) return;
  throw badRequest(
    "This request has already been made. You can run this at most once an hour for a given container repository",
  );
};

const registryRoutes = [
  project.list("", {
    summary: "List the repositories of container images of a project",
    ...reading,
    input: asked,
    presenter: repository,
    before: requirePull,
    handle: async ({ db, source, presenter, page, input, view }) => {
      const listed = await registry.ofProject(db, presenter, page, source.id);
      await registry.embedAsked(db, listed.rows, input, view);
      return listed;
    },
  }),
  group.list("", {
    summary: "List the repositories of container images of the projects in a group and below it",
    role: "reporter",
    presenter: repository,
    handle: ({ db, source, presenter, page }) => registry.ofGroup(db, presenter, page, source.id),
  }),
  instance.get("/:repository_id", {
    summary: "Get a repository of container images",
    access: "anyone",
    input: { ...one, ...asked, size: param.optional(param.boolean()) },
    presenter: repository,
    handle: async ({ db, input, caller, viewer, presenter, view }) => {
      const found = await registry.find(db, input.repository_id);
      if (!found) throw notFound();
      const source = await findVisible(db, "project", String(found.project_id), viewer);
      if (!source) throw notFound();
      await requirePull({ db, source, caller });
      const row = await registry.row(db, presenter, found.id);
      await registry.embedAsked(db, [row], input, view);
      return row;
    },
  }),
  project.del("/:repository_id", {
    summary: "Delete a repository of container images with all that it has",
    ...writing,
    role: "maintainer",
    input: one,
    status: 202,
    handle: async (context) => {
      const { db, source, input, requireUnmodified } = context;
      const found = await requireDeletable(context, input.repository_id);
      requireUnmodified(found.updated_at);
      await registry.remove(db, found.id);
      await audit.log(context, "container repository deleted", targetOf(source, found));
      return new Json({ message: "202 Accepted" });
    },
    examples: [{ message: "202 Accepted" }],
  }),
  project.list("/:repository_id/tags", {
    summary: "List the tags of a repository of container images, by name",
    ...reading,
    input: one,
    presenter: tag,
    before: requirePull,
    handle: async (context) => {
      const { db, presenter, page, input } = context;
      const { id } = await requireRepository(context, input.repository_id);
      return registry.tags(db, presenter, page, id);
    },
  }),
  project.get("/:repository_id/tags/:tag_name", {
    summary: "Get a tag of a repository of container images, with what its image has",
    ...reading,
    input: oneTag,
    presenter: tagDetails,
    before: requirePull,
    handle: async (context) => {
      const { db, presenter, input } = context;
      const { id } = await requireRepository(context, input.repository_id);
      const found = await registry.tagRow(db, presenter, id, input.tag_name);
      if (!found) throw notFound("Tag");
      return found;
    },
  }),
  project.del("/:repository_id/tags/:tag_name", {
    summary: "Delete a tag of a repository of container images; its image is deleted a day later",
    ...writing,
    role: "developer",
    input: oneTag,
    status: 200,
    handle: async (context) => {
      const { db, source, input } = context;
      const found = await requireDeletable(context, input.repository_id);
      if (!(await deleteTag(db, found.id, input.tag_name))) throw notFound("Tag");
      await audit.log(context, "container tag deleted", targetOf(source, found, input.tag_name));
      return new Json(null);
    },
    examples: [null],
  }),
  project.del("/:repository_id/tags", {
    summary: "Delete the tags of a repository of container images that fit some conditions",
    ...writing,
    role: "maintainer",
    input: {
      ...one,
      name_regex_delete: param.optional(param.anyText({ max: 1000 })),
      name_regex: param.optional(param.anyText({ max: 1000 })),
      name_regex_keep: param.optional(param.anyText({ max: 1000 })),
      keep_n: param.optional(param.integer({ min: 0 })),
      older_than: param.unlessBlank(
        param.checked(param.anyText(), (sent) => readAge(sent) !== undefined, "is invalid"),
      ),
    },
    status: 202,
    prepare: async (input, context) => {
      const found = await requireDeletable(context, input.repository_id);
      requireDue(found, context.now);
      return chosenTags(context.db, found.id, input, context.now, context.budget);
    },
    handle: async (context) => {
      const { db, source, input, prepared, now } = context;
      const found = await requireDeletable(context, input.repository_id);
      requireDue(found, now);
      await registry.removeTags(db, found.id, prepared, now);
      await audit.log(context, "container tags deleted", targetOf(source, found));
      return new Json({ message: "202 Accepted" });
    },
    examples: [{ message: "202 Accepted" }],
  }),
];

/** Images of containers: their repositories and tags. Clients of images push and pull them at `/v2/`. */
export const containerRegistryResource: Resource = {
  name: "Container registry",
  migrations,
  sealed: [REGISTRY_KEYS],
  routes: registryRoutes,
};
