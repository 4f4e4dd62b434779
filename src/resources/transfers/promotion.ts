import { findSource, type Source } from "../../core/access/source.ts";
import { ApiError, forbidden, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Context, type Route, routes } from "../../core/resource.ts";
import type { Database } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { groupLabel } from "../labels/json.ts";
import * as labels from "../labels/queries.ts";
import { groupMilestone } from "../milestones/json.ts";
import * as milestones from "../milestones/queries.ts";
import { mergeFew, type Promoted } from "./merging.ts";
import { mergeLater } from "./worker.ts";

const project = routes({ source: "project", features: ["issues", "merge_requests"] });

type Promoting = Pick<Context, "source" | "viewer" | "mayCall" | "now"> & { readonly db: Database };

/**
 * The group of a project, in which the caller may create what a route creates.
 *
 * @throws ApiError 404 if the project is a user's, 403
 */
async function groupOf({ db, source, viewer, mayCall }: Promoting, route: string): Promise<Source> {
  const group = await findSource(db, "group", String(source.namespaceId), viewer);
  if (!mayCall(route, group)) throw forbidden();
  return group;
}

/** Lets what was promoted take the place of what has the same name in projects: at once if that is few. */
async function merge({ db, now }: Promoting, promoted: Promoted): Promise<void> {
  if (!(await mergeFew(db, promoted))) await mergeLater(db, promoted, now);
}

const impossible = (what: string) =>
  new ApiError(400, { message: `400 Bad request - Failed to promote project ${what}` });

/** Labels and milestones of projects become their groups'. */
export const promotionRoutes: readonly Route[] = [
  project.put("/labels/:label_id/promote", {
    summary:
      "Make a label of a project one of its group, which takes the place of labels of the same name in the group's projects",
    role: "reporter",
    input: { label_id: param.anyText() },
    presenter: groupLabel,
    handle: async (context) => {
      const { db, source, input, viewer, presenter, now } = context;
      const group = await groupOf(context, "POST /groups/:id/labels");
      const found = await labels.findOwn(db, source, input.label_id);
      if (!found) {
        const isInherited = await labels.find(db, source, input.label_id, { inherited: true });
        throw isInherited ? impossible("label to group label") : notFound("Label");
      }
      const { priority: _, ...label } = found;
      const known = await labels.findInherited(db, group, { name: label.name });
      const id = known?.id ?? (await labels.insert(db, group, label, now));
      await merge(context, { kind: "labels", id, group: group.id });
      return labels.row(db, presenter, id, group, viewer);
    },
  }),
  project.post("/milestones/:milestone_id/promote", {
    summary:
      "Make a milestone of a project one of its group, which takes the place of milestones of the same title in the group's projects",
    role: "developer",
    status: 200,
    input: { milestone_id: param.recordId() },
    presenter: groupMilestone,
    handle: async (context) => {
      const { db, source, input, presenter, now } = context;
      const group = await groupOf(context, "POST /groups/:id/milestones");
      const found = await milestones.find(db, source, input.milestone_id);
      if (!found) throw notFound();
      const { title, state, due_date, start_date, description } = found;
      const known = await milestones.findFor(db, group, { title });
      const made = { title, due_date, start_date, description };
      const id = known?.id ?? (await milestones.insert(db, group, made, now));
      if (!known) await updateRow(db, "milestones", id, { state }, now);
      await merge(context, { kind: "milestones", id, group: group.id });
      return milestones.row(db, presenter, id);
    },
  }),
];
