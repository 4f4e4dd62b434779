import type { Migration } from "../../store/migrate.ts";

/** Merge requests that are merged one after another into a branch, in the order of their cars, and those that were. */
export const migrations: Migration[] = [
  {
    id: "20261212-21-merge-trains",
    sql: `
create table merge_train_cars (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  merge_request_id $int not null references merge_requests (id) on delete cascade,
  user_id $int references users (id) on delete set null,
  pipeline_id $int references pipelines (id) on delete set null,
  target_branch $text not null,
  status $text not null,
  created_at $int not null,
  updated_at $int not null,
  merged_at $int
);
create unique index merge_train_cars_of_request on merge_train_cars (merge_request_id);
create index merge_train_cars_of_project on merge_train_cars (project_id, id);
create index merge_train_cars_of_branch on merge_train_cars (project_id, target_branch, id);
create index merge_train_cars_active on merge_train_cars (project_id, target_branch, id) where merged_at is null;
create index merge_train_cars_active_in_project on merge_train_cars (project_id, id) where merged_at is null;
create index merge_train_cars_by_user on merge_train_cars (user_id, id);
create index merge_train_cars_by_pipeline on merge_train_cars (pipeline_id);
`,
  },
];
