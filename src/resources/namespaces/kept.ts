import { ROLES } from "../../core/access/roles.ts";
import * as param from "../../core/input.ts";
import { effective, empty, fixed, kept, keptIn, keptOrNone } from "../../core/kept.ts";
import { artifactsSize } from "../application-settings/rules.ts";

const off = kept(param.boolean(), false);
const offOnly = fixed(param.boolean(), false);

/** A limit of what is not limited here: 0 means that in GitLab, too. */
const unlimited = fixed(param.integer({ min: 0 }), 0);
const unlimitedOrNone = { ...unlimited, initial: null };

/**
 * GitLab's settings of groups that have no column of their own: kept, and shown as they were sent. Of a setting that
 * restricts something, only values that are in force can be sent (docs/compatibility.md).
 */
export const groupSettings = keptIn("n.kept_settings", {
  allow_merge_on_skipped_pipeline: offOnly,
  allow_personal_snippets: fixed(param.boolean(), true),
  allowed_email_domains_list: fixed(param.anyText(), ""),
  auto_ban_user_on_excessive_projects_download: offOnly,
  auto_devops_enabled: keptOrNone(param.boolean()),
  crm_enabled: kept(param.boolean(), true),
  default_branch: effective(keptOrNone(param.text({ max: 1024 }))),
  default_branch_protection: fixed(param.integer({ min: 0, max: 4 }), 2),
  duo_availability: kept(param.choice(["default_on", "default_off", "never_on"]), "default_off"),
  duo_features_enabled: off,
  enabled_git_access_protocol: kept(param.choice(["all", "http"]), "all"),
  experiment_features_enabled: off,
  extra_shared_runners_minutes_limit: unlimitedOrNone,
  file_template_project_id: keptOrNone(param.integer()),
  ip_restriction_ranges: fixed(param.anyText(), ""),
  lock_duo_features_enabled: off,
  lock_math_rendering_limits_enabled: off,
  math_rendering_limits_enabled: kept(param.boolean(), true),
  max_artifacts_size: effective(keptOrNone(artifactsSize)),
  membership_lock: offOnly,
  mentions_disabled: effective(off),
  only_allow_merge_if_all_discussions_are_resolved: offOnly,
  only_allow_merge_if_pipeline_succeeds: offOnly,
  prevent_forking_outside_group: effective(off),
  prevent_sharing_groups_outside_hierarchy: effective(off),
  project_creation_level: effective(
    kept(
      param.choice(["noone", "administrator", "owner", "maintainer", "developer"]),
      "maintainer",
    ),
  ),
  require_two_factor_authentication: offOnly,
  share_with_group_lock: effective(off),
  shared_runners_minutes_limit: unlimitedOrNone,
  shared_runners_setting: fixed(
    param.choice([
      "enabled",
      "disabled_and_overridable",
      "disabled_and_unoverridable",
      "disabled_with_override",
    ]),
    "enabled",
  ),
  show_diff_preview_in_email: kept(param.boolean(), true),
  step_up_auth_required_oauth_provider: fixed(param.anyText(), ""),
  subgroup_creation_level: effective(kept(param.choice(["owner", "maintainer"]), "owner")),
  two_factor_grace_period: kept(param.integer({ min: 0 }), 48),
  unique_project_download_limit: unlimited,
  unique_project_download_limit_alertlist: empty(param.arrayOf(param.integer())),
  unique_project_download_limit_allowlist: empty(param.arrayOf(param.anyText())),
  unique_project_download_limit_interval_in_seconds: unlimited,
  web_based_commit_signing_enabled: off,
  wiki_access_level: effective(kept(param.choice(["disabled", "private", "enabled"]), "enabled")),
});

/** More than any role has: administrators are let in without one. */
const NOBODY = 1000;
const CREATORS = {
  noone: NOBODY,
  administrator: NOBODY,
  owner: ROLES.owner,
  developer: ROLES.developer,
} as const;

/** SQL of the level that a group `n` asks of those who create groups in it: `subgroup_creation_level`. */
export const SUBGROUP_LEVEL = `case when instr(n.kept_settings, '"subgroup_creation_level":"maintainer"') > 0
  then ${ROLES.maintainer} else ${ROLES.owner} end`;

/** SQL of the level that a group `n` asks of those who create projects in it: `project_creation_level`. */
export const CREATION_LEVEL = `case ${Object.entries(CREATORS)
  .map(
    ([who, level]) =>
      `when instr(n.kept_settings, '"project_creation_level":"${who}"') > 0 then ${level}`,
  )
  .join(" ")} else ${ROLES.maintainer} end`;
