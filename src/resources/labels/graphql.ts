import * as field from "../../core/field.ts";
import { type Face, leaf, required, rowType, string, time } from "../../graphql/declare.ts";

const label = rowType("Label", {
  about: "A label.",
  from: "labels l",
  key: "l.id",
  fields: {
    id: required(
      leaf(
        "ID",
        field.derived(
          ["l.id", "l.project_id"],
          "string",
          ([id, projectId]) =>
            `gid://gitlab/${projectId === null ? "GroupLabel" : "ProjectLabel"}/${id}`,
        ),
      ),
    ),
    title: required(string("l.name")),
    description: string("l.description"),
    color: required(string("l.color")),
    createdAt: required(time("l.created_at")),
    updatedAt: required(time("l.updated_at")),
  },
});

/** Labels. */
export const face: Face = { types: [label] };
