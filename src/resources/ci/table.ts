import { owning } from "../../files/table.ts";
import type { Migration } from "../../store/migrate.ts";

/** What is counted of each project: the tables, with what lists without filters show of them. */
const COUNTED = {
  pipeline: ["pipelines", "source <> 'parent_pipeline'"],
  job: ["ci_jobs", "kind = 'build'"],
} as const;

const eachCounted = (write: (kind: string, table: string, shown: string) => string) =>
  Object.entries(COUNTED)
    .map(([kind, [table, shown]]) => write(kind, table, shown))
    .join("");

/** How many rows the lists of a project's pipelines and jobs have: the sums of `count`. Triggers keep them right. */
const countsSql = (key: string) => `
create table ci_counts (
  project_id $int not null references projects (id) on delete cascade,
  kind $text not null,
  count $int not null${key}
);
${eachCounted(
  (kind, table, shown) =>
    `insert into ci_counts (project_id, kind, count) select project_id, '${kind}', count(*) from ${table} where ${shown} group by 1;\n`,
)}`;

const SQLITE_COUNTS = eachCounted(
  (
    kind,
    table,
    shown,
  ) => `create trigger ${table}_counted after insert on ${table} when new.${shown} begin insert into ci_counts (project_id, kind, count) values (new.project_id, '${kind}', 1) on conflict (project_id, kind) do update set count = count + 1; end;
create trigger ${table}_uncounted after delete on ${table} when old.${shown} begin update ci_counts set count = count - 1 where project_id = old.project_id and kind = '${kind}'; end;
`,
);

/**
 * Increments, one for each statement and project, so that transactions do not wait for each other. They are summed up once
 * there are many; those that another transaction sums up are left to it.
 */
const POSTGRES_COUNTS = eachCounted(
  (
    kind,
    table,
    shown,
  ) => `create function ${table}_counted() returns trigger language plpgsql as $do$ declare of bigint; begin insert into ci_counts (project_id, kind, count) select project_id, '${kind}', count(*) from changed where ${shown} group by 1; for of in select c.project_id from ci_counts c where c.kind = '${kind}' and c.project_id in (select project_id from changed) group by 1 having count(*) > 64 loop with gone as (delete from ci_counts where ctid = any (array(select ctid from ci_counts where project_id = of and kind = '${kind}' for update skip locked)) returning count) insert into ci_counts (project_id, kind, count) select of, '${kind}', sum(count) from gone having count(*) > 0; end loop; return null; end $do$;
create trigger ${table}_counted after insert on ${table} referencing new table as changed for each statement execute function ${table}_counted();
create function ${table}_uncounted() returns trigger language plpgsql as $do$ begin insert into ci_counts (project_id, kind, count) select c.project_id, '${kind}', -count(*) from changed c join projects p on p.id = c.project_id where p.visibility >= 0 and c.${shown} group by 1; return null; end $do$;
create trigger ${table}_uncounted after delete on ${table} referencing old table as changed for each statement execute function ${table}_uncounted();
`,
);

/**
 * Pipelines, their jobs and what belongs to these, and runners. A job is a `build` for a runner, a `bridge` to another
 * pipeline, or `external`: a status that somebody reports. What only its runner needs of a build is apart from it.
 */
export const migrations: Migration[] = [
  {
    id: "20261123-07-pipelines",
    sql: `
create table runners (
  id $id,
  kind $text not null,
  namespace_id $int references namespaces (id) on delete cascade,
  creator_id $int references users (id) on delete set null,
  digest $text not null,
  description $text,
  maintenance_note $text,
  paused $int not null default 0,
  locked $int not null default 0,
  run_untagged $int not null default 1,
  access_level $text not null default 'not_protected',
  maximum_timeout $int,
  contacted_at $int,
  ip_address $text,
  created_at $int not null,
  updated_at $int not null
);
create unique index runners_digest on runners (digest);
create index runners_by_kind on runners (kind, id);
create index runners_by_namespace on runners (namespace_id, id);
create index runners_by_creator on runners (creator_id, id);
create table runner_tags (
  runner_id $int not null references runners (id) on delete cascade,
  tag $text not null,
  primary key (runner_id, tag)
);
create table runner_projects (
  id $id,
  runner_id $int not null references runners (id) on delete cascade,
  project_id $int not null references projects (id) on delete cascade
);
create unique index runner_projects_of_project on runner_projects (project_id, runner_id);
create index runner_projects_of_runner on runner_projects (runner_id, id);
create table runner_managers (
  id $id,
  runner_id $int not null references runners (id) on delete cascade,
  system_id $text not null,
  version $text,
  revision $text,
  platform $text,
  architecture $text,
  contacted_at $int,
  ip_address $text,
  created_at $int not null
);
create unique index runner_managers_of_runner on runner_managers (runner_id, system_id);
create table registration_tokens (
  id $id,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  digest $text not null,
  created_at $int not null
);
create unique index registration_tokens_digest on registration_tokens (digest);
create index registration_tokens_by_namespace on registration_tokens (namespace_id);
create index registration_tokens_by_project on registration_tokens (project_id);
create table pipelines (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  iid $int not null,
  user_id $int references users (id) on delete set null,
  merge_request_id $int references merge_requests (id) on delete set null,
  ref $text not null,
  tag $int not null default 0,
  sha $text not null,
  before_sha $text not null,
  source $text not null,
  status $text not null,
  has_warnings $int not null default 0,
  name $text,
  yaml_errors $text,
  coverage $text,
  created_at $int not null,
  updated_at $int not null,
  started_at $int,
  finished_at $int
);
create unique index pipelines_iid on pipelines (project_id, iid);
create index pipelines_of_project on pipelines (project_id, id);
create index pipelines_by_status on pipelines (project_id, status, id);
create index pipelines_by_ref on pipelines (project_id, ref, id);
create index pipelines_by_sha on pipelines (project_id, sha, id);
create index pipelines_by_source on pipelines (project_id, source, id);
create index pipelines_by_name on pipelines (project_id, name, id) where name is not null;
create index pipelines_with_errors on pipelines (project_id, id) where yaml_errors is not null;
create index pipelines_by_updated_at on pipelines (project_id, updated_at, id);
create index pipelines_by_created_at on pipelines (project_id, created_at, id);
create index pipelines_by_user on pipelines (user_id, project_id, id);
create index pipelines_of_users on pipelines (project_id, user_id, id);
create index pipelines_by_merge_request on pipelines (merge_request_id, id);
create table ci_jobs (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  pipeline_id $int not null references pipelines (id) on delete cascade,
  user_id $int references users (id) on delete set null,
  runner_id $int references runners (id) on delete set null,
  runner_manager_id $int references runner_managers (id) on delete set null,
  kind $text not null,
  name $text not null,
  stage $text not null,
  stage_index $int not null,
  ref $text not null,
  protected $int not null default 0,
  status $text not null,
  run_when $text not null default 'on_success',
  allow_failure $int not null default 0,
  needs $text,
  tag_list $text not null default '[]',
  coverage $text,
  target_url $text,
  description $text,
  failure_reason $text,
  retried $int not null default 0,
  timeout $int not null default 3600,
  trace_bytes $int not null default 0,
  created_at $int not null,
  updated_at $int not null,
  queued_at $int,
  scheduled_at $int,
  started_at $int,
  finished_at $int,
  erased_at $int,
  artifacts_expire_at $int
);
create index ci_jobs_of_pipeline on ci_jobs (pipeline_id, id);
create index ci_jobs_of_project on ci_jobs (project_id, id);
create index ci_jobs_by_status on ci_jobs (project_id, status, id);
create index ci_jobs_by_ref on ci_jobs (project_id, ref, id);
create index ci_jobs_by_user on ci_jobs (user_id);
create index ci_jobs_by_runner on ci_jobs (runner_id, id);
create index ci_jobs_by_manager on ci_jobs (runner_manager_id);
create index ci_jobs_waiting on ci_jobs (id) where status = 'pending' and kind = 'build';
create index ci_jobs_waiting_in_project on ci_jobs (project_id, id) where status = 'pending' and kind = 'build';
create index ci_jobs_delayed on ci_jobs (scheduled_at) where status = 'scheduled';
create index ci_jobs_running on ci_jobs (updated_at) where status in ('running', 'canceling');
create table ci_job_tags (
  job_id $int not null references ci_jobs (id) on delete cascade,
  tag $text not null,
  primary key (job_id, tag)
);
create table ci_job_specs (
  job_id $int primary key references ci_jobs (id) on delete cascade,
  spec $text not null
);
create table ci_trace_parts (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  job_id $int not null references ci_jobs (id) on delete cascade,
  start $int not null,
  bytes $bytes not null
);
create unique index ci_trace_parts_of_job on ci_trace_parts (job_id, start);
create index ci_trace_parts_of_project on ci_trace_parts (project_id);
create table pipeline_variables (
  id $id,
  pipeline_id $int not null references pipelines (id) on delete cascade,
  job_id $int references ci_jobs (id) on delete cascade,
  key $text not null,
  value $text not null,
  variable_type $text not null
);
create index pipeline_variables_of_pipeline on pipeline_variables (pipeline_id, id);
create index pipeline_variables_of_job on pipeline_variables (job_id);
alter table job_tokens add column job_id $int references ci_jobs (id) on delete cascade;
create index job_tokens_by_job on job_tokens (job_id);
`,
  },
  {
    id: "20261123-07-pipelines-artifacts",
    sql: `
create table job_artifacts (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  job_id $int not null references ci_jobs (id) on delete cascade,
  file_id $int references stored_files (id),
  file_type $text not null,
  file_format $text not null,
  file_name $text not null,
  created_at $int not null
);
create unique index job_artifacts_of_job on job_artifacts (job_id, file_type);
create index job_artifacts_of_project on job_artifacts (project_id, id);
create index ci_jobs_expiring on ci_jobs (artifacts_expire_at) where artifacts_expire_at is not null;
${owning("job_artifacts", "file_id")}`,
  },
  {
    // Who may download it, as the job's configuration said when it was uploaded.
    id: "20261128-32-access-to-artifacts",
    sql: "alter table job_artifacts add column access $text not null default 'all';",
  },
  {
    id: "20261124-03-downstream-pipelines",
    sql: `
create table downstream_pipelines (
  pipeline_id $int primary key references pipelines (id) on delete cascade,
  job_id $int references ci_jobs (id) on delete set null,
  root_id $int not null references pipelines (id) on delete cascade
);
create index downstream_pipelines_of_job on downstream_pipelines (job_id);
create index downstream_pipelines_of_root on downstream_pipelines (root_id);
alter table ci_jobs add column cancels_gracefully $int not null default 0;
`,
  },
  {
    id: "20261124-03-environments-of-jobs",
    sql: `
alter table ci_jobs add column environment $text;
alter table environments add column auto_stop_at $int;
create index environments_by_stop on environments (auto_stop_at) where auto_stop_at is not null;
alter table deployments add column job_id $int references ci_jobs (id) on delete set null;
create index deployments_of_job on deployments (job_id);
`,
  },
  {
    id: "20261124-03-queued-jobs",
    sql: `
create index ci_jobs_queued on ci_jobs (queued_at) where status = 'pending' and kind = 'build';
`,
  },
  {
    id: "20261125-20-dotenv-variables",
    sql: `
create table dotenv_variables (
  job_id $int not null references ci_jobs (id) on delete cascade,
  key $text not null,
  value $text not null,
  primary key (job_id, key)
);
`,
  },
  {
    id: "20261125-30-current-jobs",
    sql: `
create index ci_jobs_current on ci_jobs (pipeline_id, id) where retried = 0;
`,
  },
  {
    // With all that lists ask for, so that rows are counted without being read.
    id: "20261125-31-counted-pipelines",
    sql: `
drop index pipelines_of_project;
drop index pipelines_by_status;
drop index pipelines_by_ref;
drop index pipelines_by_name;
drop index pipelines_with_errors;
drop index pipelines_by_updated_at;
drop index pipelines_by_created_at;
drop index pipelines_of_users;
create index pipelines_of_project on pipelines (project_id, id, source, status);
create index pipelines_by_status on pipelines (project_id, status, id, source);
create index pipelines_by_ref on pipelines (project_id, ref, id, source);
create index pipelines_by_name on pipelines (project_id, name, id, source) where name is not null;
create index pipelines_with_errors on pipelines (project_id, id, source) where yaml_errors is not null;
create index pipelines_by_updated_at on pipelines (project_id, updated_at, id, source);
create index pipelines_by_created_at on pipelines (project_id, created_at, id, source);
create index pipelines_of_users on pipelines (project_id, user_id, id, source);
drop index ci_jobs_of_project;
drop index ci_jobs_by_status;
drop index ci_jobs_by_ref;
drop index ci_jobs_by_runner;
create index ci_jobs_of_project on ci_jobs (project_id, id, kind);
create index ci_jobs_by_status on ci_jobs (project_id, status, id, kind);
create index ci_jobs_by_ref on ci_jobs (project_id, ref, id, kind);
create index ci_jobs_by_runner on ci_jobs (runner_id, id, project_id);
create index ci_jobs_by_runner_and_status on ci_jobs (runner_id, status, id, project_id);
`,
  },
  {
    id: "20261126-40-ci-counts",
    sql: {
      sqlite: `${countsSql(", primary key (project_id, kind)")}${SQLITE_COUNTS}`,
      postgres: `${countsSql("")}create index ci_counts_of_project on ci_counts (project_id, kind);
${POSTGRES_COUNTS}`,
    },
  },
  {
    id: "20261129-52-jobs-of-stages",
    sql: "create index ci_jobs_of_stage on ci_jobs (pipeline_id, stage_index, id);\n",
  },
  {
    // The token that a job had: its runner is told why it has to stop.
    id: "20261129-62-tokens-of-ended-jobs",
    sql: "alter table ci_jobs add column token_digest $text;\n",
  },
  {
    id: "20261213-70-runners-by-tag",
    sql: "create index runner_tags_by_tag on runner_tags (tag, runner_id);\n",
  },
  {
    // What a pipeline's configuration says of when it is canceled; null as if it said nothing.
    id: "20261215-20-auto-cancel",
    sql: `alter table pipelines add column on_new_commit $text;
alter table pipelines add column on_job_failure $text;
`,
  },
  {
    // The beginning of the token of the trigger that has started a pipeline.
    id: "20261218-02-short-tokens",
    sql: "alter table pipelines add column trigger_short_token $text;\n",
  },
  {
    // The pipeline whose status a job gets.
    id: "20261230-01-mirrored-pipelines",
    sql: `create table mirrored_pipelines (
  job_id $int primary key references ci_jobs (id) on delete cascade,
  pipeline_id $int not null references pipelines (id) on delete cascade
);
create index mirrored_pipelines_by_pipeline on mirrored_pipelines (pipeline_id);
`,
  },
  {
    // Finds the jobs that one needs among those of a large pipeline.
    id: "20270115-01-jobs-by-name",
    sql: "create index ci_jobs_by_name on ci_jobs (pipeline_id, name) where retried = 0;\n",
  },
  {
    // Jobs that wait for the pipelines that they have started, or stand for.
    id: "20270115-02-waiting-bridges",
    sql: "create index ci_jobs_waiting_for_pipelines on ci_jobs (id) where kind = 'bridge' and status = 'running';\n",
  },
];
