import { searchMigration } from "../../core/lists/search-index.ts";
import type { Migration } from "../../store/migrate.ts";
import { MILESTONE_SEARCH } from "./search.ts";

/** Milestones of groups (`namespace_id`) and of projects (`project_id`); `iid` is numbered within each. */
export const migrations: Migration[] = [
  {
    id: "20261121-07-milestones",
    sql: `
create table milestones (
  id $id,
  iid $int not null,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  title $text not null,
  description $text,
  state $text not null default 'active',
  due_date $text,
  start_date $text,
  created_at $int not null,
  updated_at $int not null,
  check ((namespace_id is null) <> (project_id is null))
);
create unique index milestones_of_namespace on milestones (namespace_id, iid) where namespace_id is not null;
create unique index milestones_of_project on milestones (project_id, iid) where project_id is not null;
create unique index milestone_titles_of_namespace on milestones (namespace_id, title) where namespace_id is not null;
create unique index milestone_titles_of_project on milestones (project_id, title) where project_id is not null;
`,
  },
  {
    id: "20261122-85-milestones-by-title",
    sql: "create index milestones_by_title on milestones (title);\n",
  },
  {
    id: "20261122-91-milestone-orders",
    sql: `
create index milestones_of_namespace_by_id on milestones (namespace_id, id) where namespace_id is not null;
create index milestones_of_project_by_id on milestones (project_id, id) where project_id is not null;
`,
  },
  {
    // 1: nobody sees it any more, and a worker deletes it.
    id: "20261123-03-milestones-removed",
    sql: `
alter table milestones add column removed $int not null default 0;
create index milestones_removed on milestones (id) where removed = 1;
`,
  },
  searchMigration("20261123-03-milestone-search", MILESTONE_SEARCH),
];
