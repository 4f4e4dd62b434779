import type { Migration } from "../../store/migrate.ts";

/**
 * Iterations of groups, numbered (`iid`) within each, and the cadences that they follow each other in. In which state one
 * is follows from its days.
 */
export const migrations: Migration[] = [
  {
    // ended: 1 once the sweep has seen that it is over. removed: 1 if nobody sees it any more, and a worker deletes it;
    // only then it may have no cadence.
    id: "20261208-74-iterations",
    sql: `
create table iteration_cadences (
  id $id,
  namespace_id $int not null references namespaces (id) on delete cascade,
  title $text not null,
  description $text,
  start_date $text,
  duration_in_weeks $int,
  iterations_in_advance $int,
  automatic $int not null,
  active $int not null,
  roll_over $int not null default 0,
  created_at $int not null,
  updated_at $int not null
);
create index iteration_cadences_of_namespace on iteration_cadences (namespace_id, title, id);
create table iterations (
  id $id,
  iid $int not null,
  namespace_id $int not null references namespaces (id) on delete cascade,
  cadence_id $int references iteration_cadences (id) on delete set null,
  sequence $int not null default 0,
  title $text,
  description $text,
  start_date $text not null,
  due_date $text not null,
  ended $int not null default 0,
  removed $int not null default 0,
  created_at $int not null,
  updated_at $int not null
);
create unique index iterations_of_namespace on iterations (namespace_id, iid);
create index iterations_of_namespace_by_due_date on iterations (namespace_id, due_date, id);
create index iterations_of_cadence on iterations (cadence_id, due_date, id) where cadence_id is not null;
create index iterations_by_due_date on iterations (due_date, start_date);
create index iterations_by_title on iterations (title) where title is not null;
create index iterations_not_ended on iterations (due_date, id) where ended = 0;
create index iterations_removed on iterations (id) where removed = 1;
`,
  },
];
