import type { Failures } from "./python-gitlab-failures.ts";

/** Tools of @zereight/mcp-gitlab that are expected to fail. */
export const FAILURES: Failures = {
  "all work items are issues, and there is no task": ["convert_work_item_type", "create_work_item"],
  "there are no timelines of incidents": ["create_timeline_event", "get_timeline_events"],
  "there are no wikis of groups": [
    "create_group_wiki_page",
    "delete_group_wiki_page",
    "get_group_wiki_page",
    "list_group_wiki_pages",
    "update_group_wiki_page",
  ],
  "there is no dependency proxy": [
    "get_dependency_proxy_settings",
    "list_dependency_proxy_blobs",
    "purge_dependency_proxy_cache",
    "update_dependency_proxy_settings",
  ],
  "there are no vulnerabilities": [
    "confirm_vulnerability",
    "dismiss_vulnerability",
    "get_vulnerability",
    "list_project_vulnerabilities",
  ],
  "there is no GitLab Orbit": [
    "orbit_get_schema",
    "orbit_get_status",
    "orbit_list_tools",
    "orbit_query",
  ],
  "there is no CI/CD catalogue": ["get_ci_catalog_resource", "list_ci_catalog_resources"],
  "there are no burndown events": [
    "get_group_milestone_burndown_events",
    "get_milestone_burndown_events",
  ],
  "there are no iterations": ["list_group_iterations"],
  "there are no protected environments, whose deployments would be approved": [
    "approve_deployment",
  ],
  "releases have no evidence": ["create_release_evidence"],
  "signatures of tags are not looked at": ["get_tag_signature"],
  "conflicts are no part of GitLab's documented API": ["get_merge_request_conflicts"],
  "versions of merge requests have no patch_id_sha": [
    "get_merge_request_version",
    "list_merge_request_versions",
  ],
};
