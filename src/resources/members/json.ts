import { ROLES } from "../../core/access/roles.ts";
import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { memberRoleFields } from "../member-roles/json.ts";
import { userFields, userSummaryFields } from "../users/json.ts";

const fields = {
  ...userSummaryFields,
  locked: field.constant(false),
  public_email: field.text("coalesce(u.public_email, '')"),
  access_level: field.integer("m.access_level"),
  created_at: field.instant("m.created_at"),
  created_by: field.omittedIfNull(field.nested(userFields("mc"))),
  expires_at: field.date("m.expires_at"),
  membership_state: field.constant("active"),
  member_role: field.omittedIfNull(field.nested(memberRoleFields)),
};

/** A member of a group or project. */
export const member = presenter(fields);

/** {@link member}, and whether they use a seat: guests do not, as in GitLab's highest tier. */
export const memberWithSeat = presenter({
  ...fields,
  is_using_seat: field.flag(
    `case when u.state = 'active' and m.access_level > ${ROLES.guest} then 1 else 0 end`,
  ),
});
