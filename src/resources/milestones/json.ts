import * as show from "../../core/present.ts";

const about = {
  title: show.text("m.title"),
  description: show.text("m.description"),
  state: show.text("m.state"),
  created_at: show.instant("m.created_at"),
  updated_at: show.instant("m.updated_at"),
  due_date: show.date("m.due_date"),
  start_date: show.date("m.start_date"),
};

/** A group's milestone; `mn` is its group. */
export const groupMilestoneFields = {
  id: show.integer("m.id"),
  iid: show.integer("m.iid"),
  group_id: show.integer("m.namespace_id"),
  ...about,
  web_url: show.url(
    ["mn.full_path", "m.iid"],
    (path, iid) => `/groups/${path}/-/milestones/${iid}`,
  ),
};

/** A project's milestone; `mp` is its project. */
export const projectMilestoneFields = {
  id: show.integer("m.id"),
  iid: show.integer("m.iid"),
  project_id: show.integer("m.project_id"),
  ...about,
  web_url: show.url(["mp.full_path", "m.iid"], (path, iid) => `/${path}/-/milestones/${iid}`),
};

/** The milestone of an issue or merge request, which belongs to a project (`mp`) or a group (`mn`). */
export const anyMilestoneFields = {
  id: show.integer("m.id"),
  iid: show.integer("m.iid"),
  project_id: show.omittedIfNull(show.integer("m.project_id")),
  group_id: show.omittedIfNull(show.integer("m.namespace_id")),
  ...about,
  web_url: show.url(
    ["coalesce(mp.full_path, 'groups/' || mn.full_path)", "m.iid"],
    (path, iid) => `/${path}/-/milestones/${iid}`,
  ),
};
