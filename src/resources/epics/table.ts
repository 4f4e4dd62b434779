import type { Migration } from "../../store/migrate.ts";

/** Counts of issues and of their labels go down in hidden projects, too, on PostgreSQL: these count all but what is deleted. */
const COUNTED_DOWN = `
create or replace function open_issues_less() returns trigger language plpgsql as $do$ begin insert into open_issue_counts (project_id, count) select id, -1 from projects where id = old.project_id and visibility <> -1; if old.id % 64 = 0 then with gone as (delete from open_issue_counts where project_id in (select id from projects where id = old.project_id and visibility <> -1) returning *) insert into open_issue_counts (project_id, count) select project_id, sum(count) from gone group by 1; end if; return null; end $do$;
create or replace function issue_labels_removed() returns trigger language plpgsql as $do$ begin insert into label_counts (label_id, project_id, kind, count) select l.id, p.id, case when t.confidential = 1 then 'confidential ' else '' end || t.state || ' issue', -1 from issues t join projects p on p.id = t.project_id join labels l on l.id = old.label_id where t.id = old.issue_id and l.removed = 0 and p.visibility <> -1; if old.issue_id % 64 = 0 then with gone as (delete from label_counts where label_id = old.label_id and project_id in (select t.project_id from issues t join projects p on p.id = t.project_id join labels l on l.id = old.label_id where t.id = old.issue_id and l.removed = 0 and p.visibility <> -1) returning *) insert into label_counts (label_id, project_id, kind, count) select label_id, project_id, kind, sum(count) from gone group by 1, 2, 3; end if; return null; end $do$;
`;

/**
 * What epics have besides what issues have: a colour, and the days that were set by hand, which are those of the epic
 * unless it is said not to be fixed.
 */
export const migrations: Migration[] = [
  {
    id: "20261209-75-epics",
    sql: `
create table epic_details (
  issue_id $int not null primary key references issues (id) on delete cascade,
  color $text,
  start_date_fixed $text,
  start_date_is_fixed $int not null default 0,
  due_date_fixed $text,
  due_date_is_fixed $int not null default 0
);
`,
  },
  { id: "20261209-76-counts-of-epics", sql: { sqlite: "", postgres: COUNTED_DOWN } },
];
