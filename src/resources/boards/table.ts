import type { Migration } from "../../store/migrate.ts";

/** Group issue boards, the labels of their scope, and their lists. */
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
];
