import type { Migration } from "../../store/migrate.ts";

/** Labels of groups (`namespace_id`) and projects (`project_id`), and their subscribers. */
export const migrations: Migration[] = [
  {
    id: "20261121-06-labels",
    sql: `
create table labels (
  id $id,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  name $text not null,
  color $text not null,
  description $text,
  priority $int,
  created_at $int not null,
  updated_at $int not null,
  check ((namespace_id is null) <> (project_id is null))
);
create unique index labels_of_namespace on labels (namespace_id, name) where namespace_id is not null;
create unique index labels_of_project on labels (project_id, name) where project_id is not null;
create table label_subscriptions (
  label_id $int not null references labels (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  primary key (label_id, user_id)
);
create index label_subscriptions_by_user on label_subscriptions (user_id);
`,
  },
  {
    id: "20261121-15-labels-by-name",
    sql: `
create index labels_by_name on labels (name);
`,
  },
  {
    id: "20261122-93-labels-archived",
    sql: `
alter table labels add column archived $int not null default 0;
`,
  },
];
