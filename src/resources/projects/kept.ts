import * as param from "../../core/input.ts";
import { effective, fixed, kept, keptIn, keptOrNone } from "../../core/kept.ts";
import {
  DEPLOYMENT_SETTINGS,
  PENDING_SETTINGS,
  RESOURCE_GROUP_SETTINGS,
  TOKEN_SETTINGS,
} from "../ci/settings.ts";
import { SITE_SETTINGS } from "../sites/settings.ts";
import { TRAIN_SETTINGS } from "../train-state/cars.ts";

const on = kept(param.boolean(), true);
const off = kept(param.boolean(), false);
const onOnly = fixed(param.boolean(), true);
const offOnly = fixed(param.boolean(), false);
const template = keptOrNone(param.anyText({ max: param.LONG_TEXT }));

/** Who may use a feature. */
const LEVELS = ["disabled", "private", "enabled"] as const;
const level = kept(param.choice(LEVELS), "enabled");
/** Of a feature that there is none of. */
const disabled = kept(param.choice(LEVELS), "disabled");

/** How images of containers are cleaned up: as it is sent, with what GitLab begins with. */
const expirationPolicy = {
  cadence: param.optional(param.choice(["1d", "7d", "14d", "1month", "3month"])),
  enabled: param.optional(param.boolean()),
  keep_n: param.optional(param.integer({ min: 0 })),
  older_than: param.optional(param.choice(["7d", "14d", "30d", "60d", "90d"])),
  name_regex: param.optional(param.anyText()),
  name_regex_delete: param.optional(param.anyText()),
  name_regex_keep: param.optional(param.anyText()),
};

/**
 * GitLab's settings of projects that have no column of their own: kept, and shown as they were sent. Of a setting that
 * restricts something, only values that are in force can be sent (docs/compatibility.md).
 */
export const projectSettings = keptIn("p.kept_settings", {
  allow_pipeline_trigger_approve_deployment: offOnly,
  analytics_access_level: level,
  approvals_before_merge: fixed(param.integer({ min: 0 }), 0),
  ...PENDING_SETTINGS,
  auto_devops_deploy_strategy: kept(
    param.choice(["continuous", "manual", "timed_incremental"]),
    "continuous",
  ),
  auto_devops_enabled: off,
  auto_duo_code_review_enabled: off,
  build_coverage_regex: keptOrNone(param.anyText()),
  build_git_strategy: kept(param.choice(["fetch", "clone"]), "fetch"),
  ci_allow_fork_pipelines_to_run_in_parent_project: on,
  ci_delete_pipelines_in_seconds: keptOrNone(param.integer({ min: 0 })),
  ci_display_pipeline_variables: off,
  ...DEPLOYMENT_SETTINGS,
  ...TOKEN_SETTINGS,
  ci_pipeline_variables_minimum_override_role: fixed(
    param.choice(["no_one_allowed", "developer", "maintainer", "owner"]),
    "developer",
  ),
  ci_push_repository_for_job_token_allowed: offOnly,
  ci_restrict_pipeline_cancellation_role: fixed(
    param.choice(["developer", "maintainer", "no_one"]),
    "developer",
  ),
  ci_separated_caches: on,
  cicd_catalog_enabled: off,
  container_expiration_policy_attributes: keptOrNone(param.object(expirationPolicy)),
  container_registry_access_level: effective(level),
  duo_remote_flows_enabled: off,
  enforce_auth_checks_on_uploads: onOnly,
  external_authorization_classification_label: fixed(param.anyText(), ""),
  feature_flags_access_level: disabled,
  forking_access_level: effective(level),
  group_runners_enabled: onOnly,
  infrastructure_access_level: disabled,
  issue_branch_template: keptOrNone(param.anyText()),
  issues_template: template,
  keep_latest_artifact: on,
  merge_pipelines_enabled: offOnly,
  merge_request_title_regex: fixed(param.anyText(), ""),
  merge_request_title_regex_description: keptOrNone(param.anyText()),
  merge_requests_template: template,
  ...TRAIN_SETTINGS,
  mirror: offOnly,
  mirror_overwrites_diverged_branches: offOnly,
  mirror_trigger_builds: offOnly,
  model_experiments_access_level: disabled,
  model_registry_access_level: disabled,
  monitor_access_level: disabled,
  mr_default_target_self: off,
  only_mirror_protected_branches: offOnly,
  ...SITE_SETTINGS,
  prevent_merge_without_jira_issue: offOnly,
  printing_merge_request_link_enabled: on,
  protect_merge_request_pipelines: offOnly,
  repository_storage: fixed(param.anyText(), "default", undefined, "is invalid"),
  requirements_access_level: disabled,
  ...RESOURCE_GROUP_SETTINGS,
  restrict_user_defined_variables: offOnly,
  security_and_compliance_access_level: fixed(param.choice(LEVELS), "private"),
  service_desk_enabled: offOnly,
  show_default_award_emojis: on,
  show_diff_preview_in_email: on,
  spp_repository_pipeline_access: off,
  suggestion_commit_message: effective(template),
  warn_about_potentially_unwanted_characters: on,
  web_based_commit_signing_enabled: off,
});
