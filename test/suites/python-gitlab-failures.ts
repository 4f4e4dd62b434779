/** Tests of a suite that are expected to fail, by the cause. */
export type Failures = Readonly<Record<string, readonly string[]>>;

/** Of `tests/functional/api`. */
export const API: Failures = {
  "there are no feature flags of projects": [
    "test_project_feature_flag_user_lists.py::test_create_user_list",
    "test_project_feature_flags.py::test_create_feature_flag",
    "test_project_feature_flags.py::test_create_feature_flag_with_strategies",
    "test_project_feature_flag_user_lists.py::test_list_user_lists",
    "test_project_feature_flag_user_lists.py::test_get_user_list",
    "test_project_feature_flag_user_lists.py::test_update_user_list",
    "test_project_feature_flag_user_lists.py::test_delete_user_list",
    "test_project_feature_flag_user_lists.py::test_search_user_list",
    "test_project_feature_flags.py::test_list_feature_flags",
    "test_project_feature_flags.py::test_update_feature_flag",
    "test_project_feature_flags.py::test_rename_feature_flag",
    "test_project_feature_flags.py::test_delete_feature_flag",
    "test_project_feature_flags.py::test_delete_feature_flag_strategy",
    "test_project_feature_flags.py::test_delete_feature_flag_scope",
  ],
  "there are no rules that protect packages": [
    "test_packages.py::test_list_project_protected_packages",
  ],
  "left out: Sidekiq, Geo, licences and LDAP": [
    "test_gitlab.py::test_sidekiq_queue_metrics",
    "test_gitlab.py::test_sidekiq_process_metrics",
    "test_gitlab.py::test_sidekiq_job_stats",
    "test_gitlab.py::test_sidekiq_compound_metrics",
    "test_gitlab.py::test_geo_nodes",
    "test_gitlab.py::test_gitlab_license",
    "test_groups.py::test_group_ldap_links",
  ],
  "there are no bzip2 archives": [
    "test_repository.py::test_repository_archive_formats[tbz-is_tarfile]",
    "test_repository.py::test_repository_archive_formats[tbz2-is_tarfile]",
    "test_repository.py::test_repository_archive_formats[tb2-is_tarfile]",
    "test_repository.py::test_repository_archive_formats[bz2-is_tarfile]",
    "test_repository.py::test_repository_archive_formats[tar.bz2-is_tarfile]",
  ],
  "there are no wikis of groups": [
    "test_groups.py::test_group_wiki",
    "test_wikis.py::test_group_wikis",
    "test_wikis.py::test_group_wiki_file_upload",
  ],
  "there is no search for keys by fingerprint": [
    "test_keys.py::test_keys_ssh",
    "test_keys.py::test_keys_deploy",
  ],
  "labels and milestones of projects can't be made those of their group": [
    "test_projects.py::test_project_label_promotion",
    "test_projects.py::test_project_milestone_promotion",
  ],
  "there are no sites of projects": [
    "test_projects.py::test_project_pages",
    "test_projects.py::test_project_pages_domains",
  ],
  "there are no mirrors": [
    "test_projects.py::test_project_remote_mirrors",
    "test_projects.py::test_project_pull_mirrors",
  ],
  "there are no external status checks": [
    "test_projects.py::test_project_external_status_check_create",
    "test_projects.py::test_project_external_status_check_list",
  ],
  "limits of requests are options of the server, not settings": [
    "test_gitlab.py::test_rate_limits",
  ],
  "the test expects other words for a value that is none of the choices": [
    "test_groups.py::test_groups",
  ],
  "there are no protected branches of groups": ["test_groups.py::test_group_protected_branches"],
  "there are no archives of groups": ["test_import_export.py::test_group_import_export"],
  "the test expects that it fails": [
    "test_import_export.py::test_project_import_export",
    "test_project_job_token_scope.py::test_disable_limit_access_to_this_project",
  ],
  "there are no events of weights": ["test_issues.py::test_issue_weight_events"],
  "there are no roles of one's own": ["test_member_roles.py::test_instance_member_role"],
  "there is no list of the groups of a project": ["test_projects.py::test_project_groups_list"],
  "there are no push rules": ["test_push_rules.py::test_project_push_rules"],
  "there are no snapshots of whole repositories": ["test_repository.py::test_repository_tree"],
  "identities of other providers are not kept": ["test_users.py::test_user_identities"],
};

/** Of `tests/functional/cli`. */
export const CLI: Failures = {
  "there are no feature flags of projects": [
    "test_cli_project_feature_flag_user_lists.py::test_project_feature_flag_user_list_cli_create_delete[subprocess]",
    "test_cli_project_feature_flags.py::test_project_feature_flag_cli_create_delete[subprocess]",
    "test_cli_project_feature_flags.py::test_project_feature_flag_cli_create_with_strategies[subprocess]",
    "test_cli_project_feature_flags.py::test_project_feature_flag_cli_list[subprocess]",
    "test_cli_project_feature_flags.py::test_project_feature_flag_cli_get[subprocess]",
    "test_cli_project_feature_flags.py::test_project_feature_flag_cli_update[subprocess]",
    "test_cli_project_feature_flags.py::test_project_feature_flag_cli_rename[subprocess]",
    "test_cli_project_feature_flag_user_lists.py::test_project_feature_flag_user_list_cli_list[subprocess]",
    "test_cli_project_feature_flag_user_lists.py::test_project_feature_flag_user_list_cli_get[subprocess]",
    "test_cli_project_feature_flag_user_lists.py::test_project_feature_flag_user_list_cli_update[subprocess]",
  ],
  "they start a runner with Docker": [
    "test_cli_artifacts.py::test_cli_job_artifacts",
    "test_cli_artifacts.py::test_cli_project_artifact_download",
    "test_cli_artifacts.py::test_cli_project_artifact_raw",
  ],
  "it needs the internet": ["test_cli.py::test_invalid_auth_config[subprocess]"],
};
