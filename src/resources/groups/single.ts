import type { Context } from "../../core/resource.ts";
import type { Reader, Value } from "../../store/port.ts";
import { project } from "../projects/json.ts";
import * as projects from "../projects/list.ts";
import * as groups from "./queries.ts";

type In = Pick<Context, "presenter" | "view" | "viewer" | "page"> & { db: Reader };

/** A single group with the projects the caller may read, at most one page of them, as a row of its presenter. */
export async function rowWithProjects(
  { db, presenter, view, viewer, page }: In,
  groupId: number,
): Promise<Value[]> {
  const row = await groups.row(db, presenter, groupId);
  const first = { ...page, number: 1, size: page.limits.maxPerPage };
  const filter = { namespaceId: groupId };
  const order = { orderBy: "id", sort: "asc" } as const;
  const listed = await projects.list(db, project, first, viewer, filter, order);
  const written = listed.rows.map((one) => project.write(one, view));
  row[presenter.at("projects")] = `[${written.join(",")}]`;
  return row;
}
