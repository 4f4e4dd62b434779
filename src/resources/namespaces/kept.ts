import { ROLES } from "../../core/access/roles.ts";
import * as param from "../../core/input.ts";
import { fixed, kept, keptIn, keptOrNone } from "../../core/kept.ts";
import { artifactsSize } from "../application-settings/rules.ts";

const off = kept(param.boolean(), false);
const offOnly = fixed(param.boolean(), false);

/**
 * GitLab's settings of groups that have no column of their own: kept, and shown as they were sent. Of a setting that
 * restricts something, only values that are in force can be sent (docs/compatibility.md).
 */
export const groupSettings = keptIn("n.kept_settings", {
  allowed_email_domains_list: fixed(param.anyText(), ""),
  auto_devops_enabled: keptOrNone(param.boolean()),
  default_branch_protection: fixed(param.integer({ min: 0, max: 4 }), 2),
  enabled_git_access_protocol: kept(param.choice(["all", "http"]), "all"),
  file_template_project_id: keptOrNone(param.integer()),
  ip_restriction_ranges: fixed(param.anyText(), ""),
  max_artifacts_size: keptOrNone(artifactsSize),
  membership_lock: offOnly,
  mentions_disabled: off,
  prevent_forking_outside_group: offOnly,
  prevent_sharing_groups_outside_hierarchy: off,
  project_creation_level: kept(
    param.choice(["noone", "administrator", "owner", "maintainer", "developer"]),
    "maintainer",
  ),
  require_two_factor_authentication: offOnly,
  share_with_group_lock: off,
  shared_runners_setting: fixed(
    param.choice([
      "enabled",
      "disabled_and_overridable",
      "disabled_and_unoverridable",
      "disabled_with_override",
    ]),
    "enabled",
  ),
  subgroup_creation_level: kept(param.choice(["owner", "maintainer"]), "owner"),
  two_factor_grace_period: kept(param.integer({ min: 0 }), 48),
});

/** More than any role has: administrators are let in without one. */
const NOBODY = 1000;
const CREATORS = {
  noone: NOBODY,
  administrator: NOBODY,
  owner: ROLES.owner,
  developer: ROLES.developer,
} as const;

/** SQL of the level that a group `n` asks of those who create projects in it: `project_creation_level`. */
export const CREATION_LEVEL = `case ${Object.entries(CREATORS)
  .map(
    ([who, level]) =>
      `when instr(n.kept_settings, '"project_creation_level":"${who}"') > 0 then ${level}`,
  )
  .join(" ")} else ${ROLES.maintainer} end`;
