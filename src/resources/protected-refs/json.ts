import { ROLES } from "../../core/access/roles.ts";
import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";

/** Who may do something with a protected branch or tag, by access level. */
export const WHO: Readonly<Record<number, string>> = {
  0: "No one",
  [ROLES.developer]: "Developers + Maintainers",
  [ROLES.maintainer]: "Maintainers",
  60: "Instance admins",
};

/** Access levels as an array, of which each rule has one; its id is the rule's. */
const levels = (column: string) => ({
  ...field.derived(["pr.id", column], "array of access level", ([id, access_level]) => [
    {
      id,
      access_level,
      access_level_description: WHO[access_level as number],
      deploy_key_id: null,
      user_id: null,
      group_id: null,
    },
  ]),
  items: {
    id: field.integer("pr.id"),
    access_level: field.integer(column),
    access_level_description: field.word(column, WHO),
    deploy_key_id: field.constant(null),
    user_id: field.constant(null),
    group_id: field.constant(null),
  },
});

/** A protected branch. */
export const protectedBranch = presenter({
  id: field.integer("pr.id"),
  name: field.text("pr.name"),
  push_access_levels: levels("pr.push_level"),
  merge_access_levels: levels("pr.merge_level"),
  unprotect_access_levels: levels(String(ROLES.maintainer)),
  allow_force_push: field.flag("pr.allow_force_push"),
  code_owner_approval_required: field.flag("pr.code_owner_approval_required"),
});

/** A protected tag. */
export const protectedTag = presenter({
  name: field.text("pr.name"),
  create_access_levels: levels("pr.create_level"),
});
