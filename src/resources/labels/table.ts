import { searchMigration } from "../../core/lists/search-index.ts";
import type { Migration } from "../../store/migrate.ts";
import { LABEL_SEARCH } from "./search.ts";

/** What is counted of a label: the SQL of the kind of a row `t` of issues or merge requests. */
export const COUNTED = {
  issue: "case when t.confidential = 1 then 'confidential ' else '' end || t.state || ' issue'",
  merge_request: "t.state || ' merge request'",
} as const;

type Counted = keyof typeof COUNTED;

/** The columns that the kind of a row and its project depend on. */
const COLUMNS = {
  issue: ["state", "confidential", "project_id"],
  merge_request: ["state", "project_id"],
} as const;

const COUNTS = "label_counts (label_id, project_id, kind, count)";
const both = (sqlOf: (counted: Counted) => string) => `${sqlOf("issue")}${sqlOf("merge_request")}`;

const tableSql = (key: string) => `
create table label_counts (
  label_id $int not null references labels (id) on delete cascade,
  project_id $int not null references projects (id) on delete cascade,
  kind $text not null,
  count $int not null${key}
);
create index label_counts_by_project on label_counts (project_id);
${both(
  (counted) => `insert into ${COUNTS}
  select x.label_id, t.project_id, ${COUNTED[counted]}, count(*) from ${counted}_labels x
  join ${counted}s t on t.id = x.${counted}_id group by 1, 2, 3;
`,
)}`;

/** One row for each kind. A deleted row loses its labels first, while its kind is still known. */
function sqliteCounts(counted: Counted): string {
  const [columns, kind] = [COLUMNS[counted], COUNTED[counted]];
  const kindOf = (row: "old" | "new") => kind.replaceAll("t.", `${row}.`);
  const differs = columns.map((column) => `new.${column} <> old.${column}`).join(" or ");
  const add = "on conflict (label_id, project_id, kind) do update set count = count + 1";
  const subtract = "update label_counts set count = count - 1 where";
  const labels = `select label_id from ${counted}_labels where ${counted}_id = old.id`;
  return `create trigger ${counted}_labels_added after insert on ${counted}_labels begin insert into ${COUNTS} select new.label_id, t.project_id, ${kind}, 1 from ${counted}s t where t.id = new.${counted}_id ${add}; end;
create trigger ${counted}_labels_removed after delete on ${counted}_labels begin ${subtract} label_id = old.label_id and (project_id, kind) = (select t.project_id, ${kind} from ${counted}s t where t.id = old.${counted}_id); end;
create trigger ${counted}_labels_changed after update of ${columns.join(", ")} on ${counted}s when ${differs} begin ${subtract} project_id = old.project_id and kind = ${kindOf("old")} and label_id in (${labels}); insert into ${COUNTS} select label_id, new.project_id, ${kindOf("new")}, 1 from ${counted}_labels where ${counted}_id = new.id ${add}; end;
create trigger ${counted}_labels_deleted before delete on ${counted}s begin delete from ${counted}_labels where ${counted}_id = old.id; end;
`;
}

/** How often increments are summed up: for every so many ids. */
const SUMMED = 64;

/** Counts a row of `issue_labels` or `merge_request_labels`, which a trigger knows as `row`. */
const increment = (counted: Counted, row: "old" | "new", step: 1 | -1) =>
  `insert into ${COUNTS} select l.id, p.id, ${COUNTED[counted]}, ${step} from ${counted}s t join projects p on p.id = t.project_id join labels l on l.id = ${row}.label_id where t.id = ${row}.${counted}_id`;

/** Nothing is counted of labels and projects that a worker deletes: each row would leave an increment, of which nobody sums them up. */
const uncounted = (counted: Counted) =>
  `create or replace function ${counted}_labels_removed() returns trigger language plpgsql as $do$ begin ${increment(counted, "old", -1)} and l.removed = 0 and p.visibility >= 0; return null; end $do$;\n`;

/**
 * Sums up what is counted of the label and project of a row that was taken away, for every so many ids, unless one of
 * the two is being deleted with it.
 */
const summedUp = (counted: Counted) =>
  `create or replace function ${counted}_labels_removed() returns trigger language plpgsql as $do$ begin ${increment(counted, "old", -1)} and l.removed = 0 and p.visibility >= 0; if old.${counted}_id % ${SUMMED} = 0 then with gone as (delete from label_counts where label_id = old.label_id and project_id in (select t.project_id from ${counted}s t join projects p on p.id = t.project_id join labels l on l.id = old.label_id where t.id = old.${counted}_id and l.removed = 0 and p.visibility >= 0) returning *) insert into ${COUNTS} select label_id, project_id, kind, sum(count) from gone group by 1, 2, 3; end if; return null; end $do$;\n`;

/**
 * Increments, so that transactions do not wait for each other to count the same label. A trigger sums them up from time
 * to time. Of a label or project that is being deleted, nothing is counted.
 */
function postgresCounts(counted: Counted): string {
  const [columns, kind] = [COLUMNS[counted], COUNTED[counted]];
  const add = (row: "old" | "new", step: 1 | -1) => `${increment(counted, row, step)};`;
  const change = (row: "old" | "new", step: 1 | -1) =>
    `insert into ${COUNTS} select x.label_id, ${row}.project_id, ${kind.replaceAll("t.", `${row}.`)}, ${step} from ${counted}_labels x where x.${counted}_id = ${row}.id;`;
  const sum = (id: string, projects: string, labels: string) =>
    `if ${id} % ${SUMMED} = 0 then with gone as (delete from label_counts where project_id in (${projects}) and label_id in (${labels}) returning *) insert into ${COUNTS} select label_id, project_id, kind, sum(count) from gone group by 1, 2, 3; end if;`;
  const projectOf = `select project_id from ${counted}s where id = new.${counted}_id`;
  const labels = `select label_id from ${counted}_labels where ${counted}_id = new.id`;
  const differs = columns.map((column) => `new.${column} <> old.${column}`).join(" or ");
  const body = (name: string, statements: string, result: "null" | "old") =>
    `create function ${counted}_labels_${name}() returns trigger language plpgsql as $do$ begin ${statements} return ${result}; end $do$;\n`;
  const trigger = (name: string, when: string) =>
    `create trigger ${counted}_labels_${name} ${when} execute function ${counted}_labels_${name}();\n`;
  return [
    body(
      "added",
      `${add("new", 1)} ${sum(`new.${counted}_id`, projectOf, "new.label_id")}`,
      "null",
    ),
    trigger("added", `after insert on ${counted}_labels for each row`),
    body("removed", add("old", -1), "null"),
    trigger("removed", `after delete on ${counted}_labels for each row`),
    body(
      "changed",
      `${change("old", -1)} ${change("new", 1)} ${sum("new.id", "old.project_id, new.project_id", labels)}`,
      "null",
    ),
    trigger(
      "changed",
      `after update of ${columns.join(", ")} on ${counted}s for each row when (${differs})`,
    ),
    body("deleted", `delete from ${counted}_labels where ${counted}_id = old.id;`, "old"),
    trigger("deleted", `before delete on ${counted}s for each row`),
  ].join("");
}

/**
 * Labels of groups (`namespace_id`) and projects (`project_id`), and their subscribers. `label_counts` has how many issues
 * and merge requests of a project have a label, by kind: its `count` summed up. Triggers keep it right after every kind of
 * write.
 */
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
    id: "20261122-90-label-counts",
    sql: {
      sqlite: tableSql(",\n  primary key (label_id, project_id, kind)") + both(sqliteCounts),
      postgres: `${tableSql("")}create index label_counts_of_label on label_counts (label_id, project_id, kind, count);
${both(postgresCounts)}`,
    },
  },
  {
    id: "20261122-93-labels-archived",
    sql: `
alter table labels add column archived $int not null default 0;
`,
  },
  {
    // 1: nobody sees it any more, and a worker deletes it.
    id: "20261123-03-labels-removed",
    sql: `
alter table labels add column removed $int not null default 0;
create index labels_removed on labels (id) where removed = 1;
`,
  },
  searchMigration("20261123-03-label-search", LABEL_SEARCH),
  { id: "20261123-03-removed-labels-uncounted", sql: { sqlite: "", postgres: both(uncounted) } },
  { id: "20261125-70-label-counts-summed", sql: { sqlite: "", postgres: both(summedUp) } },
];
