import { BEING_DELETED, BEING_DELETED_ROWS } from "../core/access/visibility.ts";
import { searchProblems } from "../core/lists/search-index.ts";
import { NESTED_WORDS, TOP_WORDS } from "../core/paths.ts";
import { verifyFiles } from "../files/read.ts";
import { verifyRepositories } from "../git/verify.ts";
import { ISSUABLE_TYPES } from "../resources/issuables/types.ts";
import { LABEL_SEARCH } from "../resources/labels/search.ts";
import { COUNTED } from "../resources/labels/table.ts";
import { MILESTONE_SEARCH } from "../resources/milestones/search.ts";
import { NAMESPACE_SEARCH } from "../resources/namespaces/search.ts";
import { PROJECT_SEARCH } from "../resources/projects/search.ts";
import { SNIPPET_SEARCH } from "../resources/snippets/search.ts";
import { USER_SEARCH } from "../resources/users/search.ts";
import { verifyWikis } from "../resources/wikis/verify.ts";
import { pendingMigrations } from "../store/migrate.ts";
import { type Reader, type Store, StoreError } from "../store/port.ts";
import { migrations, type Table, tablesOf } from "./schema.ts";

/** The result of one check. */
export interface Check {
  name: string;
  /** The problems found, each a sentence; empty if there are none. */
  problems: string[];
}

const SEARCHES = [
  ...ISSUABLE_TYPES.map(({ search }) => search),
  ...[
    PROJECT_SEARCH,
    NAMESPACE_SEARCH,
    USER_SEARCH,
    LABEL_SEARCH,
    MILESTONE_SEARCH,
    SNIPPET_SEARCH,
  ],
];

/** Maximum problems reported by one check. */
const MAX_PROBLEMS = 20;

/** Words of the program as a list of SQL. */
const words = (list: readonly string[]) => list.map((word) => `'${word}'`).join(", ");

/** Invariants that the schema does not enforce. Each query returns the violations as text. */
const INVARIANTS: readonly { name: string; sql: string }[] = [
  {
    name: "event totals",
    sql: `select 'project ' || coalesce(e.project_id, c.project_id) || ', author ' || coalesce(e.author_id, c.author_id)
        || ': counted ' || coalesce(c.events, 0) || ', there are ' || coalesce(e.events, 0)
      from (select project_id, author_id, count(*) as events from events group by project_id, author_id) e
      full join event_counts c on c.project_id = e.project_id and c.author_id = e.author_id
      where coalesce(e.events, 0) <> coalesce(c.events, 0)`,
  },
  {
    name: "stars",
    sql: `select 'project ' || p.id || ': counted ' || p.star_count || ', there are ' || count(s.user_id)
      from projects p left join project_stars s on s.project_id = p.id
      group by p.id, p.star_count having p.star_count <> count(s.user_id)`,
  },
  {
    name: "time spent",
    sql: ["issue", "merge_request"]
      .map(
        (kind) => `select '${kind.replace("_", " ")} ' || t.id || ': counted ' || t.total_time_spent
          || ' seconds, there are ' || coalesce(sum(l.time_spent), 0)
        from ${kind}s t left join timelogs l on l.${kind}_id = t.id
        group by t.id, t.total_time_spent having t.total_time_spent <> coalesce(sum(l.time_spent), 0)`,
      )
      .join(" union all "),
  },
  {
    name: "ancestors of namespaces",
    sql: `select 'namespace ' || n.id || ' does not have itself and its parent''s ancestors' from namespaces n
      where not exists (select 1 from namespace_ancestors a
          where a.namespace_id = n.id and a.ancestor_id = n.id and a.depth = 0)
        or (select count(*) from namespace_ancestors a where a.namespace_id = n.id)
          <> 1 + (select count(*) from namespace_ancestors a where a.namespace_id = n.parent_id)
        or exists (select 1 from namespace_ancestors p where p.namespace_id = n.parent_id
          and not exists (select 1 from namespace_ancestors a where a.namespace_id = n.id
            and a.ancestor_id = p.ancestor_id and a.depth = p.depth + 1))`,
  },
  {
    name: "members by links",
    sql: `select 'the link ' || l.id || ' does not let in the members of its group and those above' from group_links l
      where exists (select 1 from namespace_ancestors a where a.namespace_id = l.group_id and not exists
          (select 1 from group_link_sources s where s.link_id = l.id and s.namespace_id = a.ancestor_id))
        or exists (select 1 from group_link_sources s where s.link_id = l.id and not exists
          (select 1 from namespace_ancestors a where a.namespace_id = l.group_id and a.ancestor_id = s.namespace_id))`,
  },
  {
    name: "paths",
    sql: `select 'project ' || p.id || ' is at ' || p.full_path || ', its namespace at ' || n.full_path
      from projects p join namespaces n on n.id = p.namespace_id
      where p.full_path <> n.full_path || '/' || p.path
      union all
      select 'namespace ' || n.id || ' is at ' || n.full_path || ', its parent at ' || p.full_path
      from namespaces n join namespaces p on p.id = n.parent_id
      where n.full_path <> p.full_path || '/' || n.path`,
  },
  {
    name: "reserved names",
    sql: `select kind || ' ' || id || ' (' || full_path || ') has a reserved name: rename it' from (
        select kind, id, full_path, visibility from namespaces where parent_id is null and lower(path) in (${words(TOP_WORDS)})
          and (kind = 'group' or path <> 'admin')
        union all select kind, id, full_path, visibility from namespaces
          where parent_id is not null and lower(path) in (${words(NESTED_WORDS)})
        union all select 'project', id, full_path, visibility from projects where lower(path) in (${words(NESTED_WORDS)})) as n
      where visibility > ${BEING_DELETED}`,
  },
  {
    name: "visibility",
    sql: `select 'project ' || p.id || ' (' || p.full_path || ') is more visible than its group'
      from projects p join namespaces n on n.id = p.namespace_id
      where n.kind = 'group' and p.visibility > n.visibility
      union all
      select 'group ' || n.id || ' (' || n.full_path || ') is more visible than its parent'
      from namespaces n join namespaces p on p.id = n.parent_id where n.visibility > p.visibility`,
  },
  {
    name: "attachments",
    sql: `select 'file ' || b.id || ' has ' || coalesce(sum(length(p.bytes)), 0) || ' of ' || b.size || ' bytes'
      from wiki_blobs b left join wiki_blob_pieces p on p.blob_id = b.id
      where b.sha256 is not null group by b.id, b.size having coalesce(sum(length(p.bytes)), 0) <> b.size`,
  },
  {
    name: "threads",
    sql: `select 'thread ' || thread_id || ' has ' || (count(*) - sum(reply)) || ' first notes' from notes
      where thread_id is not null group by thread_id having sum(reply) <> count(*) - 1
      union all
      select 'note ' || id || ' is a reply outside of a thread' from notes where thread_id is null and reply = 1`,
  },
  {
    name: "positions",
    sql: `select 'issue ' || id || ' has no position' from issues where relative_position is null
      union all
      select 'issue ' || x.issue_id || ' and its label ' || x.label_id || ' have different positions'
      from issue_labels x join issues i on i.id = x.issue_id
      where coalesce(x.project_id, 0) <> i.project_id
        or coalesce(x.open_position, -1) <> case when i.state = 'opened' then i.relative_position else -1 end`,
  },
  {
    name: "counts of labels",
    sql: `select 'label ' || coalesce(t.label_id, c.label_id) || ', project ' || coalesce(t.project_id, c.project_id)
        || ', ' || coalesce(t.kind, c.kind) || ': counted ' || coalesce(c.counted, 0) || ', there are ' || coalesce(t.found, 0)
      from (${(["issue", "merge_request"] as const)
        .map(
          (
            kind,
          ) => `select x.label_id, t.project_id, ${COUNTED[kind]} as kind, count(*) as found from ${kind}_labels x
            join ${kind}s t on t.id = x.${kind}_id group by 1, 2, 3`,
        )
        .join(" union all ")}) as t
      full join (select label_id, project_id, kind, sum(count) as counted from label_counts group by 1, 2, 3) as c
        on c.label_id = t.label_id and c.project_id = t.project_id and c.kind = t.kind
      where coalesce(t.found, 0) <> coalesce(c.counted, 0)
        and coalesce(t.label_id, c.label_id) not in (${BEING_DELETED_ROWS.labels})
        and coalesce(t.project_id, c.project_id) not in (${BEING_DELETED_ROWS.projects})`,
  },
  {
    name: "counts of open issues",
    sql: `select 'project ' || coalesce(t.project_id, c.project_id) || ': counted ' || coalesce(c.counted, 0)
        || ', there are ' || coalesce(t.found, 0)
      from (select project_id, count(*) as found from issues where state = 'opened' and confidential = 0
        group by project_id) as t
      full join (select project_id, sum(count) as counted from open_issue_counts group by project_id) as c
        on c.project_id = t.project_id
      where coalesce(t.found, 0) <> coalesce(c.counted, 0)
        and coalesce(t.project_id, c.project_id) not in (${BEING_DELETED_ROWS.projects})`,
  },
  {
    name: "counts of pipelines and jobs",
    sql: `select t.kind || 's of project ' || t.project_id || ': counted ' || sum(t.counted) || ', there are ' || sum(t.found)
      from (
        select 'pipeline' as kind, project_id, count(*) as found, 0 as counted from pipelines
          where source <> 'parent_pipeline' group by project_id
        union all select 'job', project_id, count(*), 0 from ci_jobs where kind = 'build' group by project_id
        union all select kind, project_id, 0, sum(count) from ci_counts group by kind, project_id) as t
      where t.project_id not in (${BEING_DELETED_ROWS.projects})
      group by t.kind, t.project_id having sum(t.found) <> sum(t.counted)`,
  },
  {
    name: "counts of topics",
    sql: `select 'topic ' || t.id || ': counted ' || coalesce(c.count, -1) || ', there are ' || t.found
      from (select tp.id, (select count(*) from project_topics x join projects p on p.id = x.project_id
        where x.topic_id = tp.id and p.visibility = 20) as found from topics tp) as t
      left join topic_counts c on c.topic_id = t.id where coalesce(c.count, -1) <> t.found`,
  },
  {
    name: "numbers",
    sql: ["issue", "merge_request"]
      .map(
        (
          kind,
        ) => `select 'project ' || p.id || ' has ${kind.replace("_", " ")} ' || t.iid || ', and gave '
          || p.${kind}_count || ' last' from projects p join ${kind}s t on t.project_id = p.id
        where t.iid > p.${kind}_count or t.iid < 1`,
      )
      .join(" union all "),
  },
];

/**
 * Checks a database in one snapshot, without changing anything.
 *
 * @throws StoreError if it is not a pm-api database, or of an older or newer version
 */
export async function check(store: Store): Promise<Check[]> {
  const pending = await pendingMigrations(store, migrations);
  if (pending.length === migrations.length) {
    throw new StoreError("not_ours", "the database is not a pm-api database");
  }
  if (pending.length > 0) {
    throw new StoreError("older", "the database is of an older version: bring it up to date first");
  }
  const tables = await tablesOf();
  return store.snapshot(async (db) => {
    const checks = store.dialect === "sqlite" ? await ofSqlite(db) : await ofPostgres(db);
    checks.push({ name: "ids", problems: await idProblems(db, store.dialect, tables) });
    const git = await verifyRepositories(db, MAX_PROBLEMS);
    checks.push({ name: "repositories", problems: git });
    checks.push({ name: "files", problems: await verifyFiles(db, MAX_PROBLEMS) });
    checks.push({ name: "wikis", problems: await verifyWikis(db, MAX_PROBLEMS) });
    const searches = SEARCHES.map((index) => ({
      name: `search in ${index.table.replace("_", " ")}`,
      sql: searchProblems(index),
    }));
    for (const { name, sql } of [...INVARIANTS, ...(store.dialect === "sqlite" ? searches : [])]) {
      const found = await db.rows(`${sql} limit ${MAX_PROBLEMS}`);
      checks.push({ name, problems: found.map(([text]) => String(text)) });
    }
    return checks;
  });
}

/** What is wrong with the pages and indexes of a SQLite database. */
export async function pageProblems(db: Reader): Promise<string[]> {
  const found = (await db.rows("pragma integrity_check")).map(([text]) => String(text));
  return found.filter((text) => text !== "ok");
}

async function ofSqlite(db: Reader): Promise<Check[]> {
  const keys = await db.rows("pragma foreign_key_check");
  return [
    { name: "pages and indexes", problems: await pageProblems(db) },
    {
      name: "foreign keys",
      problems: keys
        .slice(0, MAX_PROBLEMS)
        // Rows of a table without row numbers have none.
        .map(
          ([table, row, parent]) =>
            `${row === null ? "a row" : `row ${row}`} of ${table} refers to nothing in ${parent}`,
        ),
    },
  ];
}

/** The server maintains keys and indexes, except those it was told not to check or that failed to build. */
async function ofPostgres(db: Reader): Promise<Check[]> {
  const indexes = await db.rows(
    `select i.indexrelid::regclass::text from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relnamespace = current_schema()::regnamespace and not (i.indisvalid and i.indisready)`,
  );
  const constraints = await db.rows(
    `select conname || ' of ' || conrelid::regclass from pg_constraint
     where connamespace = current_schema()::regnamespace and not convalidated`,
  );
  return [
    { name: "indexes", problems: indexes.map(([name]) => `${name} is not valid: reindex it`) },
    { name: "foreign keys", problems: constraints.map(([name]) => `${name} was never validated`) },
  ];
}

/** If the next id is already taken, no row can be added. */
async function idProblems(
  db: Reader,
  dialect: Store["dialect"],
  tables: readonly Table[],
): Promise<string[]> {
  const problems: string[] = [];
  for (const { name } of tables.filter(({ numbered }) => numbered)) {
    const last =
      dialect === "sqlite"
        ? "select seq from sqlite_sequence where name = ?"
        : "select pg_sequence_last_value(pg_get_serial_sequence(?, 'id')::regclass)";
    const [found] = await db.rows(
      `select coalesce((select max(id) from ${name}), 0), coalesce((${last}), 0)`,
      [name],
    );
    const [highest, given] = found as [number, number];
    if (highest > given)
      problems.push(`${name} has an id ${highest}, but the last one assigned was ${given}`);
  }
  return problems;
}
