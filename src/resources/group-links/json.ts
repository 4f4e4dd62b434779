import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";

/** A link of a project to an invited group. */
export const projectLink = presenter({
  id: field.integer("l.id"),
  project_id: field.integer("l.project_id"),
  group_id: field.integer("l.group_id"),
  group_access: field.integer("l.access_level"),
  expires_at: field.date("l.expires_at"),
});

/** An invited group `n`, by a link `l`, as groups and projects show it. */
const sharedGroup = {
  group_id: field.integer("n.id"),
  group_name: field.text("n.name"),
  group_full_path: field.text("n.full_path"),
  group_access_level: field.integer("l.access_level"),
  expires_at: field.date("l.expires_at"),
};

/** The columns of {@link sharedGroup}, by name. */
export const SHARED_GROUP = Object.entries(sharedGroup).map(
  ([name, { columns }]) => `${columns[0]} as ${name}`,
);

/**
 * The groups that are invited to a group or project, which `embedShared` fills in where there are some.
 *
 * @param owner the column of links with its id
 * @param id SQL of its id
 */
export const sharedWithGroups = (owner: "namespace_id" | "project_id", id: string): field.Field =>
  field.json(
    `case when exists (select 1 from group_links l where l.${owner} = ${id}) then null else '[]' end`,
    "array of object",
    { items: sharedGroup },
  );
