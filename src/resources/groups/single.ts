import type { Context } from "../../core/resource.ts";
import type { Reader, Value } from "../../store/port.ts";
import { embedShared } from "../group-links/queries.ts";
import { project } from "../projects/json.ts";
import * as projects from "../projects/list.ts";
import * as groups from "./queries.ts";

type In = Pick<Context, "presenter" | "view" | "viewer" | "page"> & { db: Reader };

/** A single group with the groups that are invited to it, as a row of its presenter. */
export async function singleRow(
  { db, presenter, viewer }: Pick<In, "db" | "presenter" | "viewer">,
  groupId: number,
): Promise<Value[]> {
  const row = await groups.row(db, presenter, groupId);
  await embedShared(db, [row], presenter, "namespace_id", viewer);
  return row;
}

/**
 * {@link singleRow} with the projects the caller may read: its own, and those that are shared with it, at most one page of
 * each.
 */
export async function rowWithProjects(context: In, groupId: number): Promise<Value[]> {
  const { presenter } = context;
  const row = await singleRow(context, groupId);
  row[presenter.at("projects")] = await written(context, { namespaceId: groupId });
  const sharedAt = presenter.at("shared_projects");
  row[sharedAt] ??= await written(context, { sharedWith: groupId });
  return row;
}

async function written(
  { db, view, viewer, page }: In,
  filter: projects.ProjectFilter,
): Promise<string> {
  const first = { ...page, number: 1, size: page.limits.maxPerPage };
  const order = { orderBy: "id", sort: "asc" } as const;
  const listed = await projects.list(db, project, first, viewer, filter, order);
  return `[${listed.rows.map((one) => project.write(one, view)).join(",")}]`;
}
