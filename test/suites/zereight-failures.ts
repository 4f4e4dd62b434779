import type { Failures } from "./python-gitlab-failures.ts";

/** Tools of @zereight/mcp-gitlab that are expected to fail. */
export const FAILURES: Failures = {
  "there are no timelines of incidents": ["create_timeline_event"],
  "there is no dependency proxy": [
    "purge_dependency_proxy_cache",
    "update_dependency_proxy_settings",
  ],
  "there are no vulnerabilities": [
    "confirm_vulnerability",
    "dismiss_vulnerability",
    "get_vulnerability",
  ],
  "there is no GitLab Orbit": [
    "orbit_get_schema",
    "orbit_get_status",
    "orbit_list_tools",
    "orbit_query",
  ],
  "the deployment of the test waits for nobody": ["approve_deployment"],
  "the tag of the test is not signed": ["get_tag_signature"],
  "conflicts are no part of GitLab's documented API": ["get_merge_request_conflicts"],
  "versions of merge requests have no patch_id_sha": [
    "get_merge_request_version",
    "list_merge_request_versions",
  ],
};
