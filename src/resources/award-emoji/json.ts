import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { targetOf } from "../issuables/types.ts";
import { NOTEABLE_TYPES } from "../notes/noteables.ts";
import { userSummaryFields } from "../users/json.ts";

const target = targetOf("ae", NOTEABLE_TYPES);

const fields = {
  id: field.integer("ae.id"),
  name: field.text("ae.name"),
  created_at: field.instant("ae.created_at"),
  updated_at: field.instant("ae.updated_at"),
  awardable_id: field.integer(`coalesce(${target.id}, ae.note_id)`),
  awardable_type: field.text(
    `case when exists (select 1 from issues o where o.id = ae.issue_id and o.issue_type = 'epic') then 'Epic'
      else coalesce(${target.className}, 'Note') end`,
  ),
};

/** An emoji, with the user `u` who gave it. */
export const awardEmoji = presenter({
  id: fields.id,
  name: fields.name,
  user: field.nested(userSummaryFields),
  created_at: fields.created_at,
  updated_at: fields.updated_at,
  awardable_id: fields.awardable_id,
  awardable_type: fields.awardable_type,
});

const projects = [...NOTEABLE_TYPES, { table: "notes", column: "note_id" }].map(
  ({ table, column }) => `(select o.project_id from ${table} o where o.id = ae.${column})`,
);

/** An emoji, as webhooks are told of it. */
export const toldAward = presenter({
  ...fields,
  user_id: field.integer("ae.user_id"),
  project_id: field.integer(`coalesce(${projects.join(", ")})`),
});
