import * as field from "../../core/field.ts";
import {
  date,
  type Face,
  gid,
  leaf,
  one,
  required,
  rowType,
  string,
  time,
} from "../../graphql/declare.ts";

const milestone = rowType("Milestone", {
  about: "A milestone.",
  from: "milestones m",
  key: "m.id",
  fields: {
    id: gid("Milestone", "m.id"),
    iid: required(
      leaf(
        "ID",
        field.derived(["m.iid"], "string", ([iid]) => String(iid)),
      ),
    ),
    title: required(string("m.title")),
    description: string("m.description"),
    dueDate: date("m.due_date", "Time"),
    startDate: date("m.start_date", "Time"),
    createdAt: required(time("m.created_at")),
    updatedAt: required(time("m.updated_at")),
    project: one("Project", "m.project_id"),
    group: one("Group", "m.namespace_id"),
  },
});

/** Milestones. */
export const face: Face = { types: [milestone] };
