import type { Migration } from "../../store/migrate.ts";

/** Metrics are not stored: these indexes find what they are made of. */
export const migrations: Migration[] = [
  {
    id: "20261212-23-dora",
    sql: `
create index issues_incidents_by_creation on issues (project_id, created_at) where issue_type = 'incident';
create index issues_incidents_by_end on issues (project_id, closed_at) where issue_type = 'incident' and state = 'closed';
create index deployments_by_success on deployments (project_id, finished_at, environment_id) where status = 'success';
`,
  },
];
