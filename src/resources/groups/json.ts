import { VISIBILITY_WORDS } from "../../core/access.ts";
import * as show from "../../core/present.ts";
import { project } from "../projects/json.ts";

const fields = {
  id: show.integer("n.id"),
  web_url: show.url("n.full_path", (path) => `/groups/${path}`),
  name: show.text("n.name"),
  path: show.text("n.path"),
  description: show.text("n.description"),
  visibility: show.word("n.visibility", VISIBILITY_WORDS),
  lfs_enabled: show.flag("n.lfs_enabled"),
  avatar_url: show.text("n.avatar_url"),
  request_access_enabled: show.flag("n.request_access_enabled"),
  full_name: show.text("n.full_name"),
  full_path: show.text("n.full_path"),
  created_at: show.instant("n.created_at"),
  parent_id: show.integer("n.parent_id"),
};

/** A group in lists, or a single one without its projects. */
export const group = show.shape(fields);

/** A single group with its projects. */
export const groupWithProjects = show.shape({
  ...fields,
  projects: show.embedded("projects", "array of Project", "[]", { items: project.fields }),
  shared_projects: show.constant([]),
});
