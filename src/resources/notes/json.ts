import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { targetOf } from "../issuables/types.ts";
import { userFields } from "../users/json.ts";
import { NOTEABLE_TYPES } from "./noteables.ts";

/** SQL about what a row `nt` of notes is written on. */
export const noteable = targetOf("nt", NOTEABLE_TYPES);

/** Whether a row `nt` of notes can be resolved, as SQL. */
export const RESOLVABLE =
  "nt.merge_request_id is not null and nt.thread_id is not null and nt.system = 0";
const resolvable = `case when ${RESOLVABLE} then 1 else 0 end`;

/** A note. As in GitLab, it has no votes. */
export const note = presenter({
  id: field.integer("nt.id"),
  type: field.text("case when nt.thread_id is null then null else 'DiscussionNote' end"),
  body: field.text("nt.body"),
  attachment: field.constant(null),
  author: field.nested(userFields("u")),
  created_at: field.instant("nt.created_at"),
  updated_at: field.instant("nt.updated_at"),
  system: field.flag("nt.system"),
  noteable_id: field.integer(noteable.id),
  noteable_type: field.text(noteable.className),
  project_id: field.integer("nt.project_id"),
  resolvable: field.flag(resolvable),
  resolved: field.onlyIf(
    resolvable,
    field.flag("case when nt.resolved_at is null then 0 else 1 end"),
  ),
  resolved_by: field.onlyIf(resolvable, field.nested(userFields("rb"))),
  resolved_at: field.onlyIf(resolvable, field.instant("nt.resolved_at")),
  confidential: field.flag("nt.internal"),
  internal: field.flag("nt.internal"),
  noteable_iid: field.integer(noteable.iid),
});
