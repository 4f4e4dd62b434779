import { MIN_CHARACTERS } from "../../auth/passwords.ts";
import { SESSION_LIFETIME } from "../../core/http/session-cookie.ts";
import * as param from "../../core/input.ts";
import { fixed, type KeptSetting, kept, keptIn, keptOrNone } from "../../core/kept.ts";

/** A setting as the reference describes it. */
const described = <T>(about: string, { attribute, initial }: KeptSetting<T>): KeptSetting<T> => ({
  attribute: { ...attribute, notes: { ...attribute.notes, about } },
  initial,
});

const KEPT = "kept, without any effect";
const FIXED = "what it would restrict is not restricted here: only this value";

/** Settings of one kind, by name. */
const each = <const Name extends string, T>(
  names: readonly Name[],
  about: string,
  setting: KeptSetting<T>,
) =>
  Object.fromEntries(names.map((name) => [name, described(about, setting)])) as Record<
    Name,
    KeptSetting<T>
  >;

const on = kept(param.boolean(), true);
const off = kept(param.boolean(), false);
const text = keptOrNone(param.anyText());
const number = keptOrNone(param.integer({ min: 0 }));
const count = (initial: number) => kept(param.integer({ min: 0 }), initial);

const list = kept(param.arrayOf(param.anyText()), [] as string[]);

/** Only an empty list. */
const none: KeptSetting<string[]> = kept(
  param.checked(
    param.arrayOf(param.anyText()),
    (values) => values.length === 0,
    "is not supported on this server",
  ),
  [],
);

/**
 * GitLab's settings of the application that have no column of their own: kept, and shown as they were sent. Of a setting
 * that restricts something, only values that are in force can be sent (docs/compatibility.md).
 */
export const keptSettings = keptIn("s.kept_settings", {
  ...each(
    [
      "allow_local_requests_from_system_hooks",
      "authorized_keys_enabled",
      "gravatar_enabled",
      "hashed_storage_enabled",
      "html_emails_enabled",
      "housekeeping_enabled",
      "mirror_available",
      "pages_domain_verification_enabled",
      "prometheus_metrics_enabled",
      "protected_ci_variables",
      "repository_checks_enabled",
      "shared_runners_enabled",
      "user_show_add_ssh_key_message",
      "version_check_enabled",
      "group_owners_can_manage_default_branch_protection",
    ],
    KEPT,
    on,
  ),
  ...each(
    [
      "auto_devops_enabled",
      "bulk_import_enabled",
      "email_author_in_body",
      "floc_enabled",
      "gitpod_enabled",
      "grafana_enabled",
      "help_page_hide_commercial_content",
      "hide_third_party_offers",
      "kroki_enabled",
      "mailgun_events_enabled",
      "maven_package_requests_forwarding",
      "npm_package_requests_forwarding",
      "plantuml_enabled",
      "pypi_package_requests_forwarding",
      "remember_me_enabled",
      "snowplow_enabled",
      "sourcegraph_enabled",
      "suggest_pipeline_enabled",
      "usage_ping_enabled",
      "usage_ping_features_enabled",
      "web_ide_clientside_preview_enabled",
    ],
    KEPT,
    off,
  ),
  ...each(
    [
      "abuse_notification_email",
      "admin_notification_email",
      "after_sign_out_path",
      "after_sign_up_text",
      "auto_devops_domain",
      "commit_email_hostname",
      "custom_http_clone_url_root",
      "default_artifacts_expire_in",
      "default_preferred_language",
      "email_additional_text",
      "gitpod_url",
      "grafana_url",
      "help_page_documentation_base_url",
      "help_page_support_url",
      "help_page_text",
      "help_text",
      "home_page_url",
      "jira_connect_application_key",
      "kroki_url",
      "performance_bar_allowed_group_path",
      "plantuml_url",
      "shared_runners_text",
      "sign_in_text",
      "terms",
      "whats_new_variant",
    ],
    KEPT,
    text,
  ),
  ...each(
    [
      "file_template_project_id",
      "max_artifacts_content_include_size",
      "max_export_size",
      "max_import_size",
      "max_pages_size",
      "performance_bar_allowed_group_id",
      "receive_max_input_size",
      "shared_runners_minutes",
    ],
    KEPT,
    number,
  ),
  container_registry_token_expire_delay: described(KEPT, count(5)),
  delayed_group_deletion: described("whether deleting a group marks it first", off),
  delayed_project_deletion: described("whether deleting a project marks it first", off),
  deletion_adjourned_period: described(
    "the days after which marked projects and groups are deleted",
    kept(param.integer({ min: 1, max: 90 }), 7),
  ),
  diff_max_patch_bytes: described(KEPT, count(204_800)),
  first_day_of_week: described(KEPT, count(0)),
  gitaly_timeout_default: described(KEPT, count(55)),
  gitaly_timeout_fast: described(KEPT, count(10)),
  gitaly_timeout_medium: described(KEPT, count(30)),
  local_markdown_version: described(KEPT, count(0)),
  max_artifacts_size: described(KEPT, count(100)),
  max_attachment_size: described(KEPT, count(100)),
  terminal_max_session_time: described(KEPT, count(0)),
  two_factor_grace_period: described(KEPT, count(48)),
  ...each(
    ["import_sources", "outbound_local_requests_whitelist", "disabled_oauth_sign_in_sources"],
    KEPT,
    list,
  ),
  ...each(
    [
      "admin_mode",
      "akismet_enabled",
      "disable_feed_token",
      "disable_personal_access_tokens",
      "domain_denylist_enabled",
      "elasticsearch_indexing",
      "elasticsearch_search",
      "email_restrictions_enabled",
      "enforce_terms",
      "external_authorization_service_enabled",
      "login_recaptcha_protection_enabled",
      "recaptcha_enabled",
      "require_two_factor_authentication",
      "spam_check_endpoint_enabled",
      "throttle_authenticated_api_enabled",
      "throttle_authenticated_web_enabled",
      "throttle_protected_paths_enabled",
      "throttle_unauthenticated_api_enabled",
      "throttle_unauthenticated_enabled",
      "throttle_unauthenticated_web_enabled",
      "unique_ips_limit_enabled",
    ],
    FIXED,
    fixed(param.boolean(), false),
  ),
  ...each(
    [
      "dns_rebinding_protection_enabled",
      "password_authentication_enabled_for_git",
      "password_authentication_enabled_for_web",
      "project_export_enabled",
      "require_admin_approval_after_user_signup",
      "user_oauth_applications",
    ],
    FIXED,
    fixed(param.boolean(), true),
  ),
  ...each(
    [
      "dsa_key_restriction",
      "ecdsa_key_restriction",
      "ecdsa_sk_key_restriction",
      "ed25519_key_restriction",
      "ed25519_sk_key_restriction",
      "repository_size_limit",
      "rsa_key_restriction",
    ],
    FIXED,
    fixed(param.integer({ min: -1 }), 0),
  ),
  ...each(["domain_allowlist", "domain_denylist"], FIXED, none),
  default_branch_protection: described(FIXED, fixed(param.integer({ min: 0, max: 4 }), 2)),
  default_project_creation: described(FIXED, fixed(param.integer({ min: 0, max: 4 }), 1)),
  enabled_git_access_protocol: described(FIXED, fixed(param.choice(["all", "ssh", "http"]), "all")),
  max_personal_access_token_lifetime: described(FIXED, fixed(param.integer({ min: 0 }), 0)),
  session_expire_delay: described(
    FIXED,
    fixed(param.integer({ min: 0 }), SESSION_LIFETIME / 60_000),
  ),
  minimum_password_length: described(FIXED, fixed(param.integer({ min: 1 }), MIN_CHARACTERS)),
});
