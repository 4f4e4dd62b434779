import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { targetOf } from "../issuables/types.ts";
import { SUGGESTIONS, suggestionFields } from "../suggested-lines/json.ts";
import { userFields } from "../users/json.ts";
import { NOTEABLE_TYPES } from "./noteables.ts";

/** SQL about what a row `nt` of notes is written on. */
export const noteable = targetOf("nt", NOTEABLE_TYPES);

/** Whether a row `nt` of notes can be resolved, as SQL. */
export const RESOLVABLE =
  "(nt.issue_id is not null or nt.merge_request_id is not null) and nt.thread_id is not null and nt.system = 0";
const resolvable = `case when ${RESOLVABLE} then 1 else 0 end`;

/** An end of several lines. */
const lineEnd = field.nested({
  line_code: field.text("line_code"),
  type: { ...field.text("type"), type: "new, old" },
  old_line: field.integer("old_line"),
  new_line: field.integer("new_line"),
});

/** The place of a note on a changed file, for the reference: it is stored as JSON. */
export const positionFields: field.Fields = {
  base_sha: field.text("base_sha"),
  start_sha: field.text("start_sha"),
  head_sha: field.text("head_sha"),
  old_path: field.text("old_path"),
  new_path: field.text("new_path"),
  position_type: { ...field.text("position_type"), type: "text, image, file" },
  old_line: field.omittedIfNull(field.integer("old_line")),
  new_line: field.omittedIfNull(field.integer("new_line")),
  line_range: field.omittedIfNull(field.nested({ start: lineEnd, end: lineEnd })),
  width: field.omittedIfNull(field.integer("width")),
  height: field.omittedIfNull(field.integer("height")),
  x: field.omittedIfNull(field.integer("x")),
  y: field.omittedIfNull(field.integer("y")),
};

/** The type of a row `nt` of notes with its place `np`, as SQL. */
export const NOTE_TYPE = `case when np.position is not null then 'DiffNote' when np.path is not null then 'LegacyDiffNote'
  when nt.thread_id is not null then 'DiscussionNote' end`;

/** Whether a row `nt` of notes is on a line of a merge request, as SQL. */
const ON_DIFF =
  "case when np.position is not null and nt.merge_request_id is not null then 1 else 0 end";

/** A note. As in GitLab, it has no votes. */
export const note = presenter({
  id: field.integer("nt.id"),
  type: field.text(NOTE_TYPE),
  body: field.text("nt.body"),
  attachment: field.constant(null),
  author: field.nested(userFields("u")),
  created_at: field.instant("nt.created_at"),
  updated_at: field.instant("nt.updated_at"),
  system: field.flag("nt.system"),
  noteable_id: field.integer(noteable.id),
  noteable_type: field.text(`coalesce(${noteable.shownName}, 'Commit')`),
  project_id: field.integer("case when i.issue_type = 'epic' then null else nt.project_id end"),
  commit_id: field.onlyIf(ON_DIFF, field.text("nt.commit_id")),
  resolvable: field.flag(resolvable),
  resolved: field.onlyIf(
    resolvable,
    field.flag("case when nt.resolved_at is null then 0 else 1 end"),
  ),
  resolved_by: field.onlyIf(resolvable, field.nested(userFields("rb"))),
  resolved_at: field.onlyIf(resolvable, field.instant("nt.resolved_at")),
  confidential: field.flag("nt.internal"),
  internal: field.flag("nt.internal"),
  imported: field.constant(false),
  imported_from: field.constant("none"),
  noteable_iid: field.integer(noteable.iid),
  commands_changes: field.constant({}),
  position: field.omittedIfNull(field.json("np.position", "object", { fields: positionFields })),
  suggestions: field.onlyIf(
    ON_DIFF,
    field.json(`case when ${ON_DIFF} = 1 then ${SUGGESTIONS} end`, "array of object", {
      items: suggestionFields,
    }),
  ),
});
