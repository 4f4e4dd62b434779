import type { Migration } from "../../store/migrate.ts";

/**
 * Issue boards of groups (`namespace_id`) and projects (`project_id`), the labels of their scope, and their lists. The open
 * and the closed one have no position; which lists a user has collapsed is in `collapsed_board_lists`.
 */
export const migrations: Migration[] = [
  {
    id: "20261121-08-boards",
    sql: `
create table boards (
  id $id,
  namespace_id $int not null references namespaces (id) on delete cascade,
  name $text not null,
  milestone_id $int references milestones (id) on delete set null,
  assignee_id $int references users (id) on delete set null,
  weight $int,
  created_at $int not null,
  updated_at $int not null
);
create index boards_by_namespace on boards (namespace_id, id);
create index boards_by_milestone on boards (milestone_id);
create index boards_by_assignee on boards (assignee_id);
create table board_labels (
  board_id $int not null references boards (id) on delete cascade,
  label_id $int not null references labels (id) on delete cascade,
  primary key (board_id, label_id)
);
create index board_labels_by_label on board_labels (label_id);
create table board_lists (
  id $id,
  board_id $int not null references boards (id) on delete cascade,
  label_id $int not null references labels (id) on delete cascade,
  position $int not null,
  created_at $int not null,
  updated_at $int not null
);
create unique index board_lists_label on board_lists (board_id, label_id);
create index board_lists_by_position on board_lists (board_id, position, id);
create index board_lists_by_label on board_lists (label_id);
`,
  },
  {
    id: "20261122-84-project-boards",
    sql: `
drop index boards_by_namespace;
alter table boards rename column namespace_id to old_namespace_id;
alter table boards add column namespace_id $int references namespaces (id) on delete cascade;
update boards set namespace_id = old_namespace_id;
alter table boards drop column old_namespace_id;
alter table boards add column project_id $int references projects (id) on delete cascade
  check ((namespace_id is null) <> (project_id is null));
alter table boards add column hide_backlog_list $int not null default 0;
alter table boards add column hide_closed_list $int not null default 0;
create index boards_by_namespace on boards (namespace_id, id);
create index boards_by_project on boards (project_id, id);
drop index board_lists_label;
drop index board_lists_by_position;
drop index board_lists_by_label;
alter table board_lists rename column label_id to old_label_id;
alter table board_lists rename column position to old_position;
alter table board_lists add column label_id $int references labels (id) on delete cascade;
alter table board_lists add column position $int;
update board_lists set label_id = old_label_id, position = old_position;
alter table board_lists drop column old_label_id;
alter table board_lists drop column old_position;
alter table board_lists add column list_type $text not null default 'label'
  check ((list_type = 'label') = (label_id is not null) and (list_type = 'label') = (position is not null));
insert into board_lists (board_id, list_type, created_at, updated_at)
  select id, 'backlog', created_at, created_at from boards order by id;
insert into board_lists (board_id, list_type, created_at, updated_at)
  select id, 'closed', created_at, created_at from boards order by id;
create unique index board_lists_label on board_lists (board_id, label_id);
create unique index board_lists_type on board_lists (board_id, list_type) where list_type <> 'label';
create index board_lists_by_position on board_lists (board_id, position, id);
create index board_lists_by_label on board_lists (label_id);
create table collapsed_board_lists (
  list_id $int not null references board_lists (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  primary key (list_id, user_id)
);
create index collapsed_board_lists_by_user on collapsed_board_lists (user_id);
`,
  },
  {
    // The rule about what a list has stands at the last column: rows must keep it when it is added.
    id: "20270204-01-lists-of-milestones-people-and-iterations",
    sql: `
drop index board_lists_type;
alter table board_lists rename column list_type to old_list_type;
alter table board_lists add column list_type $text not null default 'label';
update board_lists set list_type = old_list_type;
alter table board_lists drop column old_list_type;
alter table board_lists add column milestone_id $int references milestones (id) on delete cascade;
alter table board_lists add column assignee_id $int references users (id) on delete cascade;
alter table board_lists add column iteration_id $int references iterations (id) on delete cascade
  check ((list_type in ('backlog', 'closed')) = (position is null)
    and (list_type = 'label') = (label_id is not null)
    and (list_type = 'milestone') = (milestone_id is not null)
    and (list_type = 'assignee') = (assignee_id is not null)
    and (list_type = 'iteration') = (iteration_id is not null));
create unique index board_lists_type on board_lists (board_id, list_type) where list_type in ('backlog', 'closed');
create unique index board_lists_milestone on board_lists (milestone_id, board_id) where milestone_id is not null;
create unique index board_lists_assignee on board_lists (assignee_id, board_id) where assignee_id is not null;
create unique index board_lists_iteration on board_lists (iteration_id, board_id) where iteration_id is not null;
create index issues_of_iteration_by_position on issues (iteration_id, project_id, relative_position, id)
  where state = 'opened' and iteration_id is not null;
`,
  },
];
