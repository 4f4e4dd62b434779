import { findSource, findVisible } from "../../core/access/source.ts";
import { notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { mayCreateGroup } from "../groups/abilities.ts";
import { groupIdentity, groupWithProjects } from "../groups/json.ts";
import * as groups from "../groups/queries.ts";
import { rowWithProjects } from "../groups/single.ts";
import * as namespaces from "../namespaces/queries.ts";
import { projectWithPermissions } from "../projects/json.ts";
import { row } from "../projects/list.ts";
import * as projects from "../projects/queries.ts";
import { refused, transferGroup, transferProject } from "./changes.ts";
import { promotionRoutes } from "./promotion.ts";

const search = param.optional(param.anyText());
const BY_NAME = { orderBy: "name", sort: "asc" } as const;

/** The namespace with an id or full path. @throws ApiError 404 if there is none or it is a group the caller can't see */
async function namespaceNamed(
  { db, viewer }: Pick<Context, "viewer"> & { db: Reader },
  name: string,
) {
  const namespace = await namespaces.findNamed(db, name);
  const isSeen =
    namespace?.kind === "user" ||
    (namespace && (await findVisible(db, "group", String(namespace.id), viewer)));
  if (!isSeen) throw notFound("Namespace");
  return namespace;
}

/** A project as {@link transferProject} takes it. */
async function projectOf(db: Reader, { id, visibility }: { id: number; visibility: number }) {
  return { ...((await projects.find(db, id)) as projects.Project), visibility };
}

/** A group that the pipeline has found. */
async function groupOf(db: Reader, id: number) {
  return (await namespaces.find(db, id)) as namespaces.Namespace;
}

const project = routes({ source: "project" });
const group = routes({ source: "group" });

/** Transfers of projects and groups to other groups. */
export const transferResource: Resource = {
  name: "Transfers",
  migrations: [],
  routes: [
    ...promotionRoutes,
    project.put("/transfer", {
      summary: "Transfer a project to another group, or to a user's namespace",
      role: "owner",
      input: { namespace: param.text() },
      presenter: projectWithPermissions,
      handle: async (context) => {
        const { db, source, presenter, viewer, input } = context;
        const namespace = await namespaceNamed(context, input.namespace);
        await transferProject(context, await projectOf(db, source), namespace);
        return row(db, presenter, source.id, viewer);
      },
    }),
    project.list("/transfer_locations", {
      summary: "List the groups that the caller can transfer a project to",
      role: "owner",
      input: { search },
      presenter: groupIdentity,
      handle: async ({ db, presenter, page, viewer, source, input }) =>
        groups.list(db, presenter, page, viewer, {
          ...BY_NAME,
          search: input.search,
          member: !viewer.caller?.admin,
          accepting: "projects",
          skip: [source.namespaceId],
        }),
    }),
    group.post("/projects/:project_id", {
      summary: "Transfer a project to a group",
      access: "admin",
      role: "owner",
      input: { project_id: param.text() },
      presenter: groupWithProjects,
      handle: async (context) => {
        const { db, source, viewer, input } = context;
        const found = await findSource(db, "project", input.project_id, viewer);
        const namespace = await groupOf(db, source.id);
        await transferProject(context, await projectOf(db, found), namespace);
        return rowWithProjects(context, source.id);
      },
    }),
    group.post("/transfer", {
      summary: "Transfer a group to another group or, without `group_id`, to the top level",
      role: "owner",
      input: { group_id: param.optional(param.integer()) },
      presenter: groupWithProjects,
      handle: async (context) => {
        const { db, source, input } = context;
        if (!(await mayCreateGroup(context, input.group_id))) {
          throw refused("You don't have enough permissions.");
        }
        const found = await groupOf(db, source.id);
        const parent = input.group_id === undefined ? undefined : await groupOf(db, input.group_id);
        await transferGroup(context, found, parent);
        return rowWithProjects(context, source.id);
      },
    }),
    group.list("/transfer_locations", {
      summary: "List the groups that the caller can transfer a group to",
      role: "owner",
      input: { search },
      presenter: groupIdentity,
      handle: async ({ db, presenter, page, viewer, source, input }) => {
        const { parent_id } = await groupOf(db, source.id);
        return groups.list(db, presenter, page, viewer, {
          ...BY_NAME,
          search: input.search,
          member: !viewer.caller?.admin,
          accepting: "groups",
          skip: parent_id === null ? [] : [parent_id],
          notBelow: source.id,
        });
      },
    }),
  ],
};
