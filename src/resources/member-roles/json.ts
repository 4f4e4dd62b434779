import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { kept, keptIn } from "../../core/kept.ts";

/** What GitLab's roles may allow beside what their base role does. It is kept: here, the base role alone counts. */
const PERMISSIONS = [
  "admin_cicd_variables",
  "admin_compliance_framework",
  "admin_group_member",
  "admin_merge_request",
  "admin_push_rules",
  "admin_terraform_state",
  "admin_vulnerability",
  "admin_web_hook",
  "archive_project",
  "manage_deploy_tokens",
  "manage_group_access_tokens",
  "manage_merge_request_settings",
  "manage_project_access_tokens",
  "manage_security_policy_link",
  "read_code",
  "read_runners",
  "read_dependency",
  "read_vulnerability",
  "remove_group",
  "remove_project",
] as const;

/** What roles of one's own may allow. */
export const permissions = keptIn(
  "mbr.kept_settings",
  Object.fromEntries(PERMISSIONS.map((name) => [name, kept(param.boolean(), false)])) as Record<
    (typeof PERMISSIONS)[number],
    ReturnType<typeof kept<boolean>>
  >,
);

/** A role of one's own, as a row `mbr` of `member_roles`. */
export const memberRoleFields = {
  id: field.integer("mbr.id"),
  group_id: field.integer("mbr.namespace_id"),
  name: field.text("mbr.name"),
  description: field.text("mbr.description"),
  base_access_level: field.integer("mbr.base_access_level"),
  ...permissions.fields,
};
