import { expect, it } from "vitest";
import { tablesOf } from "../../src/database/schema.ts";
import { ARCHIVED, GROUP_ARCHIVED, SETTINGS } from "../../src/resources/exports/archived.ts";
import { GROUP_PARTS, PROJECT_PARTS } from "../../src/resources/namespaces/removal.ts";

// Whoever adds a table or a column decides whether archives of projects have it.

const tables = new Map((await tablesOf()).map((table) => [table.name, table]));
const columnsOf = (name: string) => tables.get(name)?.columns.map((column) => column.name) ?? [];

/** What archives leave out, besides ids. */
const LEFT_OUT: Record<string, readonly string[]> = {
  // A label of a group becomes the project's; the rest is filled by the database, or when the row is placed.
  issue_labels: ["open_position"],
  // It is about another project, mails of this server, or its groups.
  issues: ["moved_to_id", "due_told", "iteration_id"],
  // It is about another project, or asked for by a person of this server.
  merge_requests: [
    "merge_error",
    "source_project_id",
    "allow_collaboration",
    "auto_merge",
    "auto_merge_user_id",
    "merge_params",
  ],
  merge_request_versions: ["issue_references"],
  labels: ["removed"],
  // Roles beside the base ones are of a group, or of this server.
  members: ["member_role_id"],
  milestones: ["removed"],
  // The new group has paths of its own, is not to be deleted, and can be changed.
  namespaces: [
    ...["kind", "full_name", "full_path", "owner_id", "avatar_url", "created_at", "updated_at"],
    ...["marked_for_deletion_at", "archived"],
  ],
};

const archived = { ...GROUP_ARCHIVED, ...ARCHIVED };

it.each(Object.keys(archived))("%s has each column, or it is left out on purpose", (name) => {
  const known = Object.keys(archived[name]?.columns ?? {});
  const others = ["id", "project_id", "namespace_id", ...(LEFT_OUT[name] ?? [])];
  expect(
    columnsOf(name).filter((column) => !known.includes(column) && !others.includes(column)),
  ).toEqual([]);
  expect(known.filter((column) => !columnsOf(name).includes(column))).toEqual([]);
});

it("a project has each setting, or it is left out on purpose", () => {
  const others = [
    ...[
      "id",
      "namespace_id",
      "creator_id",
      "name",
      "path",
      "full_path",
      "avatar_url",
      "star_count",
    ],
    ...["created_at", "updated_at", "last_activity_at", "issue_count", "merge_request_count"],
    "forked_from_project_id",
    // It is for administrators to set.
    "max_artifacts_size",
    // It is about other projects of this server.
    "job_token_scope_enabled",
    // The new project is not to be deleted.
    "marked_for_deletion_at",
  ];
  const known = Object.keys(SETTINGS);
  expect(
    columnsOf("projects").filter((column) => !known.includes(column) && !others.includes(column)),
  ).toEqual([]);
});

it("each table of projects is archived, or left out on purpose", () => {
  const others = [
    ...["label_counts", "open_issue_counts", "ci_counts", "todos", "draft_notes"],
    ...["dependencies", "deploy_keys"],
    ...[
      "packages",
      "package_tags",
      "avatars",
      "project_uploads",
      "project_exports",
      "dependency_list_exports",
      "project_imports",
      "bulk_import_entities",
      "bulk_import_records",
      "placeholder_members",
      "relation_exports",
      "hooks",
    ],
    "integrations",
    "project_topics",
    ...[
      "ci_trace_parts",
      "job_artifacts",
      "job_tokens",
      "job_token_projects",
      "job_token_groups",
      "ci_jobs",
      "pipelines",
      "ci_variables",
    ],
    ...["runner_projects", "registration_tokens", "pipeline_triggers", "pipeline_schedules"],
    ...["remote_mirrors", "pull_mirrors", "push_rules", "freeze_periods", "protected_environments"],
    ...["feature_flags", "feature_flag_user_lists", "feature_flag_clients"],
    ...["terraform_states", "terraform_state_versions", "secure_files"],
    ...["site_settings", "site_deployments", "site_files", "site_domains"],
    "release_evidences",
    ...[
      "container_repositories",
      "container_repository_blobs",
      "container_manifests",
      "container_manifest_blobs",
      "container_manifest_children",
      "container_tags",
      "container_uploads",
    ],
    // The objects have lines of their own.
    ...["lfs_object_projects", "lfs_locks"],
    ...["merge_train_cars", "resource_groups", "project_security_settings", "protection_rules"],
    // Its names are of this server.
    "project_aliases",
    ...[
      "deployments",
      "environments",
      "resource_bots",
      "service_accounts",
      "custom_attributes",
      "notification_settings",
    ],
    ...[
      "access_requests",
      "deploy_tokens",
      "member_invitations",
      // They are about groups of this server.
      "group_links",
      "project_redirects",
      "project_fetches",
      "project_stars",
      "git_repositories",
    ],
    ...["wiki_attachments", "wiki_blobs", "wiki_page_versions", "wiki_pages"],
  ];
  const parts = PROJECT_PARTS.map(([table]) => table);
  expect(
    parts.filter((table) => !Object.hasOwn(ARCHIVED, table) && !others.includes(table)),
  ).toEqual([]);
});

it("each table of groups is archived, or left out on purpose", () => {
  const others = [
    // They are secret, or about this server.
    ...["scim_values", "scim_users", "scim_tokens", "ci_variables", "hooks", "integrations"],
    ...["runners", "registration_tokens", "deploy_tokens", "resource_bots", "service_accounts"],
    ...[
      "custom_attributes",
      "notification_settings",
      "group_exports",
      "group_imports",
      "bulk_import_entities",
      "bulk_import_records",
      "placeholder_members",
      "import_source_users",
      "relation_exports",
    ],
    // They are about other groups, projects and people of this server.
    ...["approval_rule_groups", "job_token_groups", "protection_grants", "environment_grants"],
    ...["group_links", "group_link_sources", "access_requests", "member_invitations"],
    // Rules, which the group above may have, and what is planned.
    ...["push_rules", "protected_environments", "group_approval_settings"],
    ...["iterations", "iteration_cadences", "member_roles", "dependency_list_exports"],
    // About packages, which stay where they are published.
    "package_settings",
    // A line of its own.
    "avatars",
  ];
  const parts = GROUP_PARTS.map(([table]) => table);
  expect(
    parts.filter((table) => !Object.hasOwn(GROUP_ARCHIVED, table) && !others.includes(table)),
  ).toEqual([]);
});
