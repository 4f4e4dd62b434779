import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { dayOf } from "../../core/time.ts";

const about = {
  title: field.text("m.title"),
  description: field.text("m.description"),
  state: field.text("m.state"),
  created_at: field.instant("m.created_at"),
  updated_at: field.instant("m.updated_at"),
  due_date: field.date("m.due_date"),
  start_date: field.date("m.start_date"),
};

/** Whether the day that a milestone is due is over. */
const expired = field.derived(
  ["m.due_date"],
  "boolean",
  ([due], { now }) => due !== null && String(due) < dayOf(now),
);

/** A group's milestone, as boards show it; `mn` is its group. */
export const groupMilestoneFields = {
  id: field.integer("m.id"),
  iid: field.integer("m.iid"),
  group_id: field.integer("m.namespace_id"),
  ...about,
  web_url: field.url(
    ["mn.full_path", "m.iid"],
    (path, iid) => `/groups/${path}/-/milestones/${iid}`,
  ),
};

/** A project's milestone; `mp` is its project. */
const projectMilestoneFields = {
  id: field.integer("m.id"),
  iid: field.integer("m.iid"),
  project_id: field.integer("m.project_id"),
  ...about,
  expired,
  web_url: field.url(["mp.full_path", "m.iid"], (path, iid) => `/${path}/-/milestones/${iid}`),
};

/** The milestone of an issue or merge request, which belongs to a project (`mp`) or a group (`mn`). */
export const anyMilestoneFields = {
  id: field.integer("m.id"),
  iid: field.integer("m.iid"),
  project_id: field.omittedIfNull(field.integer("m.project_id")),
  group_id: field.omittedIfNull(field.integer("m.namespace_id")),
  ...about,
  expired,
  web_url: field.url(
    ["coalesce(mp.full_path, 'groups/' || mn.full_path)", "m.iid"],
    (path, iid) => `/${path}/-/milestones/${iid}`,
  ),
};

/** A project's milestone, as webhooks are told of it. */
export const toldMilestone = presenter({
  id: projectMilestoneFields.id,
  iid: projectMilestoneFields.iid,
  ...about,
  project_id: projectMilestoneFields.project_id,
});

/** A milestone of a group or project. */
export const anyMilestone = presenter(anyMilestoneFields);

/** A project's milestone. */
export const projectMilestone = presenter(projectMilestoneFields);

/** A group's milestone. */
export const groupMilestone = presenter({ ...groupMilestoneFields, expired });
