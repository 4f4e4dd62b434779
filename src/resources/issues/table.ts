import { searchMigration } from "../../core/lists/search-index.ts";
import type { Migration } from "../../store/migrate.ts";
import { ISSUE } from "../issuables/issue.ts";

/** How many issues of a project are open and not confidential: its `count`, summed up. Triggers keep it right. */
const countsSql = (key: string) => `
create table open_issue_counts (
  project_id $int not null${key} references projects (id) on delete cascade,
  count $int not null
);
insert into open_issue_counts (project_id, count)
select project_id, count(*) from issues where state = 'opened' and confidential = 0 group by project_id;
`;

const counted = (row: "old" | "new") => `${row}.state = 'opened' and ${row}.confidential = 0`;

const more =
  "insert into open_issue_counts (project_id, count) values (new.project_id, 1) on conflict (project_id) do update set count = count + 1";
const less = "update open_issue_counts set count = count - 1 where project_id = old.project_id";
const changed =
  "new.state <> old.state or new.confidential <> old.confidential or new.project_id <> old.project_id";
const SQLITE_COUNTS = `create trigger open_issues_added after insert on issues when ${counted("new")} begin ${more}; end;
create trigger open_issues_removed after delete on issues when ${counted("old")} begin ${less}; end;
create trigger open_issues_left after update of state, confidential, project_id on issues when (${changed}) and ${counted("old")} begin ${less}; end;
create trigger open_issues_came after update of state, confidential, project_id on issues when (${changed}) and ${counted("new")} begin ${more}; end;
`;

/** Increments, so that transactions do not wait for each other. They are summed up from time to time, as those of labels. */
const POSTGRES_COUNTS = `create function open_issues_less() returns trigger language plpgsql as $do$ begin insert into open_issue_counts (project_id, count) select id, -1 from projects where id = old.project_id and visibility >= 0; return null; end $do$;
create function open_issues_more() returns trigger language plpgsql as $do$ begin insert into open_issue_counts (project_id, count) values (new.project_id, 1); if new.id % 64 = 0 then with gone as (delete from open_issue_counts where project_id = new.project_id returning *) insert into open_issue_counts (project_id, count) select project_id, sum(count) from gone group by 1; end if; return null; end $do$;
create trigger open_issues_added after insert on issues for each row when (${counted("new")}) execute function open_issues_more();
create trigger open_issues_removed after delete on issues for each row when (${counted("old")}) execute function open_issues_less();
create trigger open_issues_left after update of state, confidential, project_id on issues for each row when ((${changed}) and ${counted("old")}) execute function open_issues_less();
create trigger open_issues_came after update of state, confidential, project_id on issues for each row when ((${changed}) and ${counted("new")}) execute function open_issues_more();
`;

/** Sums up when issues are closed, too: all of a project may be, without a new one. */
const LESS_SUMMED_UP = `create or replace function open_issues_less() returns trigger language plpgsql as $do$ begin insert into open_issue_counts (project_id, count) select id, -1 from projects where id = old.project_id and visibility >= 0; if old.id % 64 = 0 then with gone as (delete from open_issue_counts where project_id in (select id from projects where id = old.project_id and visibility >= 0) returning *) insert into open_issue_counts (project_id, count) select project_id, sum(count) from gone group by 1; end if; return null; end $do$;
`;

/**
 * Issues of projects, with their assignees, labels, and users' choices to subscribe or not. `iid` counts within the
 * project, whose `issue_count` is the last number given. `relative_position` is an issue's place in the order that people
 * give issues; its labels have copies of its project and, while it is open, of that place (`open_position`).
 */
export const migrations: Migration[] = [
  {
    id: "20261121-11-issues",
    sql: `
create table issues (
  id $id,
  iid $int not null,
  project_id $int not null references projects (id) on delete cascade,
  author_id $int references users (id) on delete set null,
  title $text not null,
  description $text,
  state $text not null default 'opened',
  confidential $int not null default 0,
  discussion_locked $int not null default 0,
  weight $int,
  due_date $text,
  milestone_id $int references milestones (id) on delete set null,
  moved_to_id $int references issues (id) on delete set null,
  closed_at $int,
  closed_by_id $int references users (id) on delete set null,
  created_at $int not null,
  updated_at $int not null
);
create unique index issues_iid on issues (project_id, iid);
create index issues_by_created_at on issues (project_id, created_at, id);
create index issues_by_updated_at on issues (project_id, updated_at, id);
create index issues_by_author on issues (author_id, created_at, id);
create index issues_by_milestone on issues (milestone_id);
create index issues_by_closer on issues (closed_by_id);
create index issues_by_target on issues (moved_to_id);
create table issue_assignees (
  issue_id $int not null references issues (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  primary key (issue_id, user_id)
);
create index issue_assignees_by_user on issue_assignees (user_id, issue_id);
create table issue_labels (
  issue_id $int not null references issues (id) on delete cascade,
  label_id $int not null references labels (id) on delete cascade,
  primary key (issue_id, label_id)
);
create index issue_labels_by_label on issue_labels (label_id, issue_id);
alter table projects add column issue_count $int not null default 0;
`,
  },
  {
    id: "20261121-15-issue-subscriptions",
    sql: `
create table issue_subscriptions (
  issue_id $int not null references issues (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  subscribed $int not null,
  primary key (issue_id, user_id)
);
create index issue_subscriptions_by_user on issue_subscriptions (user_id);
create index issues_by_age on issues (created_at, id);
create index issues_open on issues (project_id) where state = 'opened' and confidential = 0;
`,
  },
  {
    id: "20261122-84-relative-positions",
    sql: `
alter table issues add column relative_position $int;
update issues set relative_position = id * 1048576;
create index issues_by_position on issues (relative_position, id);
create index issues_of_project_by_position on issues (project_id, relative_position, id);
create index issues_open_by_position on issues (project_id, relative_position, id) where state = 'opened';
create index issues_of_milestone_by_position on issues (milestone_id, project_id, relative_position, id)
  where state = 'opened' and milestone_id is not null;
create index issues_closed on issues (project_id, closed_at, id) where state = 'closed';
alter table issue_labels add column project_id $int;
alter table issue_labels add column open_position $int;
update issue_labels set (project_id, open_position) = (
  select i.project_id, case when i.state = 'opened' then i.relative_position end from issues i
  where i.id = issue_labels.issue_id);
create index issue_labels_open on issue_labels (label_id, project_id, open_position, issue_id)
  where open_position is not null;
`,
  },
  searchMigration("20261122-85-issue-search", ISSUE.search, { automerge: 8 }),
  {
    id: "20261122-85-issue-orders",
    sql: `
create index issues_by_change on issues (updated_at, id);
create index issues_of_milestone on issues (milestone_id, created_at, id);
drop index issues_by_milestone;
create index issues_confidential on issues (project_id, created_at, id) where confidential = 1;
create index issues_confidential_by_age on issues (created_at, id) where confidential = 1;
`,
  },
  {
    // Most new issues have none of these: each would cost a commit another page of an index.
    id: "20261122-92-issue-indexes",
    sql: `
drop index issues_by_closer;
create index issues_by_closer on issues (closed_by_id) where closed_by_id is not null;
drop index issues_by_target;
create index issues_by_target on issues (moved_to_id) where moved_to_id is not null;
drop index issues_of_milestone;
create index issues_of_milestone on issues (milestone_id, created_at, id) where milestone_id is not null;
`,
  },
  {
    id: "20261122-91-issue-states",
    // Without the setting, deleting many rows merges large parts of the index, for half a second at once.
    sql: `
create index issues_by_state on issues (project_id, state, created_at, id);
$sqlite insert into issue_search (issue_search, rank) values ('deletemerge', 0);
`,
  },
  {
    id: "20261123-03-open-issue-counts",
    sql: {
      sqlite: `${countsSql(" primary key")}${SQLITE_COUNTS}`,
      postgres: `${countsSql("")}create index open_issue_counts_of_project on open_issue_counts (project_id, count);
${POSTGRES_COUNTS}`,
    },
  },
  { id: "20261125-70-open-issue-counts-summed", sql: { sqlite: "", postgres: LESS_SUMMED_UP } },
  {
    // With what totals depend on besides the order: counting reads these alone, and not the texts of issues.
    id: "20261127-01-01-issues-counted",
    sql: `
drop index issues_by_created_at;
create index issues_by_created_at on issues (project_id, created_at, id, confidential, author_id, milestone_id);
drop index issues_by_updated_at;
create index issues_by_updated_at on issues (project_id, updated_at, id, confidential, author_id);
drop index issues_by_state;
create index issues_by_state on issues (project_id, state, created_at, id, confidential, author_id);
drop index issues_closed;
create index issues_closed on issues (project_id, closed_at, id, confidential, author_id) where state = 'closed';
drop index issues_confidential;
create index issues_confidential on issues (project_id, created_at, id, author_id) where confidential = 1;
`,
  },
  {
    // `due_told`: the due date about which mails were queued.
    id: "20261127-02-issues-due",
    sql: `
alter table issues add column due_told $text;
create index issues_due on issues (due_date, id) where state = 'opened' and due_date is not null;
`,
  },
  {
    // Open issues are counted by triggers, and `issues_by_state` has what else depended on this index.
    id: "20261127-05-issues-open",
    sql: "drop index issues_open;",
  },
  {
    // Where lists start that are filtered by weight or due date.
    id: "20261201-30-issue-filters",
    sql: `
create index issues_by_weight on issues (weight, id) where weight is not null;
create index issues_by_due_date on issues (due_date, id) where due_date is not null;
`,
  },
  {
    id: "20261206-10-issue-types",
    sql: `
alter table issues add column issue_type $text not null default 'issue';
alter table issues add column severity $text not null default 'unknown';
create index issues_by_type on issues (issue_type, id) where issue_type <> 'issue';
`,
  },
  { id: "20261206-12-start-dates", sql: "alter table issues add column start_date $text;" },
  {
    id: "20261208-75-issue-iterations",
    sql: `
alter table issues add column iteration_id $int references iterations (id) on delete set null;
create index issues_of_iteration on issues (iteration_id, created_at, id) where iteration_id is not null;
`,
  },
];
