import { BEING_DELETED } from "../../core/access/visibility.ts";
import { areFew, type Part, roomLeft, SMALL } from "../../jobs/removal.ts";
import { belowGroup, type Condition } from "../../store/conditions.ts";
import type { Database, Reader } from "../../store/port.ts";

/**
 * What a project has, besides events. Rows of which a row of another table can have many come first: deleting an issue
 * deletes its notes, too, and that must not take long.
 */
export const PROJECT_PARTS: readonly Part[] = [
  // First: of a hidden project nothing is counted.
  ["label_counts", "project_id", "label_id"],
  ["open_issue_counts", "project_id", "project_id"],
  ["ci_counts", "project_id", "project_id"],
  ["todos", "project_id", "id"],
  ["timelogs", "project_id", "id"],
  ["draft_notes", "project_id", "id"],
  ["notes", "project_id", "id"],
  ["noted_commits", "project_id", "id"],
  ["issues", "project_id", "id"],
  ["approval_rules", "project_id", "id"],
  ["merge_train_cars", "project_id", "id"],
  ["merge_requests", "project_id", "id"],
  ["boards", "project_id", "id"],
  ["labels", "project_id", "id"],
  ["releases", "project_id", "id"],
  ["package_tags", "project_id", "id"],
  ["packages", "project_id", "id"],
  ["container_manifests", "project_id", "id"],
  ["container_repository_blobs", "project_id", "id"],
  ["container_repositories", "project_id", "id"],
  ["lfs_object_projects", "project_id", "id"],
  ["lfs_locks", "project_id", "id"],
  ["project_uploads", "project_id", "id"],
  ["avatars", "project_id", "id"],
  ["project_exports", "project_id", "project_id"],
  ["project_imports", "project_id", "project_id"],
  ["bulk_import_records", "project_id", "id"],
  ["relation_exports", "project_id", "id"],
  ["milestones", "project_id", "id"],
  ["snippets", "project_id", "id"],
  ["dependencies", "project_id", "id"],
  ["dependency_list_exports", "project_id", "id"],
  ["ci_trace_parts", "project_id", "id"],
  ["job_artifacts", "project_id", "id"],
  ["job_tokens", "project_id", "id"],
  ["job_token_projects", "project_id", "id"],
  ["job_token_projects", "target_project_id", "id"],
  ["job_token_groups", "project_id", "id"],
  ["ci_jobs", "project_id", "id"],
  ["pipelines", "project_id", "id"],
  ["resource_groups", "project_id", "id"],
  ["runner_projects", "project_id", "id"],
  ["registration_tokens", "project_id", "id"],
  ["wiki_attachments", "project_id", "id"],
  ["wiki_blobs", "project_id", "id"],
  ["wiki_page_versions", "project_id", "id"],
  ["wiki_pages", "project_id", "id"],
  ["git_repositories", "project_id", "id"],
  ["project_redirects", "project_id", "id"],
  ["project_fetches", "project_id", "day"],
  ["project_topics", "project_id", "topic_id"],
  ["project_aliases", "project_id", "id"],
  ["project_security_settings", "project_id", "project_id"],
  ["protection_rules", "project_id", "id"],
  ["secure_files", "project_id", "id"],
  ["site_files", "project_id", "id"],
  ["site_deployments", "project_id", "id"],
  ["site_settings", "project_id", "project_id"],
  ["site_domains", "project_id", "id"],
  ["target_branch_rules", "project_id", "id"],
  ["protected_branches", "project_id", "id"],
  ["protected_tags", "project_id", "id"],
  ["ci_variables", "project_id", "id"],
  ["pipeline_triggers", "project_id", "id"],
  ["pipeline_schedules", "project_id", "id"],
  ["deployments", "project_id", "id"],
  ["environments", "project_id", "id"],
  ["deploy_keys", "project_id", "key_id"],
  ["deploy_tokens", "project_id", "id"],
  ["badges", "project_id", "id"],
  ["hooks", "project_id", "id"],
  ["push_rules", "project_id", "id"],
  ["integrations", "project_id", "id"],
  ["freeze_periods", "project_id", "id"],
  ["protected_environments", "project_id", "id"],
  ["remote_mirrors", "project_id", "id"],
  ["pull_mirrors", "project_id", "id"],
  ["feature_flags", "project_id", "id"],
  ["feature_flag_user_lists", "project_id", "id"],
  ["feature_flag_clients", "project_id", "project_id"],
  ["terraform_states", "project_id", "id"],
  ["resource_bots", "project_id", "user_id"],
  ["service_accounts", "project_id", "user_id"],
  ["notification_settings", "project_id", "id"],
  ["members", "project_id", "id"],
  ["placeholder_members", "project_id", "id"],
  ["access_requests", "project_id", "id"],
  ["member_invitations", "project_id", "id"],
  ["group_links", "project_id", "id"],
  ["project_stars", "project_id", "user_id"],
  ["custom_attributes", "project_id", "id"],
];

/** What a group has, besides projects and subgroups. */
export const GROUP_PARTS: readonly Part[] = [
  ["scim_values", "namespace_id", "id"],
  ["scim_users", "namespace_id", "id"],
  ["push_rules", "namespace_id", "id"],
  ["integrations", "namespace_id", "id"],
  ["protected_environments", "namespace_id", "id"],
  ["environment_grants", "group_id", "id"],
  ["group_approval_settings", "namespace_id", "id"],
  ["package_settings", "namespace_id", "namespace_id"],
  ["dependency_list_exports", "namespace_id", "id"],
  ["scim_tokens", "namespace_id", "id"],
  ["boards", "namespace_id", "id"],
  ["labels", "namespace_id", "id"],
  ["milestones", "namespace_id", "id"],
  ["iterations", "namespace_id", "id"],
  ["iteration_cadences", "namespace_id", "id"],
  ["badges", "namespace_id", "id"],
  ["avatars", "namespace_id", "id"],
  ["group_exports", "namespace_id", "namespace_id"],
  ["bulk_import_records", "namespace_id", "id"],
  ["group_imports", "namespace_id", "namespace_id"],
  ["relation_exports", "namespace_id", "id"],
  ["runners", "namespace_id", "id"],
  ["registration_tokens", "namespace_id", "id"],
  ["ci_variables", "namespace_id", "id"],
  ["hooks", "namespace_id", "id"],
  ["approval_rule_groups", "namespace_id", "rule_id"],
  ["job_token_groups", "target_group_id", "id"],
  ["protection_grants", "group_id", "id"],
  ["notification_settings", "namespace_id", "id"],
  ["members", "namespace_id", "id"],
  ["placeholder_members", "namespace_id", "id"],
  ["import_source_users", "namespace_id", "id"],
  ["access_requests", "namespace_id", "id"],
  ["member_invitations", "namespace_id", "id"],
  ["group_link_sources", "namespace_id", "link_id"],
  ["group_links", "namespace_id", "id"],
  ["group_links", "group_id", "id"],
  ["deploy_tokens", "namespace_id", "id"],
  ["resource_bots", "namespace_id", "user_id"],
  ["service_accounts", "namespace_id", "user_id"],
  ["custom_attributes", "namespace_id", "id"],
  ["member_roles", "namespace_id", "id"],
];

/** Projects that are hidden within the request; more are hidden right after it. */
const HIDDEN_AT_ONCE = 2000;

/** The ids of a namespace and of those below it. */
const namespacesBelow = (namespaceId: number): Condition => {
  const { sql, values } = belowGroup("id", namespaceId);
  return { sql: `select id from namespaces where ${sql}`, values };
};

/** A query for the ids of the projects in a namespace or below it. */
export const projectsBelow = (namespaceId: number): Condition => {
  const { sql, values } = belowGroup("namespace_id", namespaceId);
  return { sql: `select id from projects where ${sql}`, values };
};

/**
 * Whether projects have so few rows that they can be deleted at once.
 *
 * @param projects a query for their ids
 */
export async function haveFewRows(db: Reader, projects: Condition): Promise<boolean> {
  const left = await roomLeft(db, [["events", "project_id", "id"]], projects, SMALL);
  return left >= 0 && areFew(db, PROJECT_PARTS, projects, left);
}

/** Whether a namespace and everything below it has so few rows that it can be deleted at once. */
export async function hasFewRows(db: Reader, namespaceId: number): Promise<boolean> {
  const [namespaces, projects] = [namespacesBelow(namespaceId), projectsBelow(namespaceId)];
  return (
    (await areFew(db, [["namespaces", "id", "id"]], namespaces, SMALL)) &&
    (await areFew(db, [["projects", "id", "id"]], projects, SMALL)) &&
    (await areFew(db, GROUP_PARTS, namespaces, SMALL)) &&
    (await haveFewRows(db, projects))
  );
}

/** Hides a namespace and everything below it; of many projects, the first ones. */
export async function hide(db: Database, namespaceId: number): Promise<void> {
  const { sql, values } = namespacesBelow(namespaceId);
  await db.run(`update namespaces set visibility = ${BEING_DELETED} where id in (${sql})`, values);
  await hideProjects(db, namespaceId, HIDDEN_AT_ONCE);
}

/** Hides at most so many of the projects in a namespace or below it, and returns how many. */
export async function hideProjects(
  db: Database,
  namespaceId: number,
  most: number,
): Promise<number> {
  const { sql, values } = projectsBelow(namespaceId);
  return db.run(
    `update projects set visibility = ${BEING_DELETED}
     where id in (${sql} and visibility <> ${BEING_DELETED} limit ?)`,
    [...values, most],
  );
}
