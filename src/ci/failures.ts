/** The reasons that runners may give for a failure. */
export const RUNNER_FAILURES = [
  "unknown_failure",
  "script_failure",
  "api_failure",
  "stuck_or_timeout_failure",
  "runner_system_failure",
  "missing_dependency_failure",
  "runner_unsupported",
  "stale_schedule",
  "job_execution_timeout",
  "archived_failure",
  "unmet_prerequisites",
  "scheduler_failure",
  "data_integrity_failure",
  "image_pull_failure",
  "job_router_failure",
  "configuration_failure",
] as const;
