import { ROLES } from "../../core/access/roles.ts";
import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import type { Value } from "../../store/port.ts";

/** What access levels are called. */
const LEVELS: Readonly<Record<number, string>> = {
  [ROLES.developer]: "Developers + Maintainers",
  [ROLES.maintainer]: "Maintainers",
  [ROLES.owner]: "Owners",
  60: "Instance admins",
};

/** Whom a grant is for, in words: its level, and the name of its user or group. */
export const whoIs = ([level, name]: readonly Value[]) => name ?? LEVELS[level as number] ?? null;

/** Who may deploy. */
export const deployGrant = presenter({
  id: field.integer("eg.id"),
  access_level: field.integer("eg.access_level"),
  access_level_description: field.derived(
    ["eg.access_level", "coalesce(u.name, n.name)"],
    "string",
    whoIs,
  ),
  user_id: field.integer("eg.user_id"),
  group_id: field.integer("eg.group_id"),
  group_inheritance_type: field.integer("eg.group_inheritance_type"),
});

/** Whose approvals are needed. */
export const approvalRule = presenter({
  ...deployGrant.fields,
  required_approvals: field.integer("eg.required_approvals"),
});

/** A protected environment: the lists of its grants are filled in. */
export const protectedEnvironment = presenter({
  name: field.text("pe.name"),
  deploy_access_levels: field.json("pe.id as deploy_grants", "array of access level", {
    items: deployGrant.fields,
  }),
  required_approval_count: field.constant(0),
  approval_rules: field.json("pe.id as approve_grants", "array of approval rule", {
    items: approvalRule.fields,
  }),
});
