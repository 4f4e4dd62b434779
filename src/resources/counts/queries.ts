import {
  BEING_DELETED,
  BEING_DELETED_ROWS,
  PERSONAL_SNIPPET,
  type Viewer,
} from "../../core/access/visibility.ts";
import type { Reader, Value } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { valuesIn } from "../issuables/filter.ts";
import { ISSUE } from "../issuables/issue.ts";
import { FILTERS } from "../issuables/list.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { countByState } from "../issuables/statistics.ts";
import type { IssuableType } from "../issuables/type.ts";
import { countPending } from "../todos/queries.ts";

async function count(db: Reader, sql: string, values: readonly Value[]): Promise<number> {
  const [row] = await db.rows(`select count(*) from ${sql}`, values);
  return Number(row?.[0]);
}

/** What the caller has to do: open issues and merge requests that are theirs, and todos. */
export async function ofCaller(context: {
  readonly db: Reader;
  readonly viewer: Viewer;
  readonly budget: Budget;
}) {
  const { db, viewer } = context;
  const id = viewer.caller?.id;
  const open = async (type: IssuableType, people: object) => {
    const values = valuesIn(FILTERS[type.prefix], { scope: "all", state: "opened", ...people });
    const counts = await countByState(context, type, { isWithoutArchived: true, values });
    return counts.get("opened") ?? 0;
  };
  const assigned = await open(MERGE_REQUEST, { assignee_id: id });
  return {
    merge_requests: assigned,
    assigned_issues: await open(ISSUE, { assignee_id: id }),
    assigned_merge_requests: assigned,
    review_requested_merge_requests: await open(MERGE_REQUEST, { reviewer_id: id }),
    todos: await countPending(db, viewer),
  };
}

/** Rows that are not of a project, or of a group, that is being deleted. */
const NOT_DELETED = {
  project_id: `project_id not in (${BEING_DELETED_ROWS.projects})`,
  namespace_id: `(select n.visibility from namespaces n where n.id = namespace_id) > ${BEING_DELETED}`,
};

/** Rows that a statement counts: nobody else is answered by SQLite meanwhile. */
const AT_ONCE = 10_000;

/** How many rows of a table somebody wrote: of many, part by part. It ends when the client leaves. */
async function countWritten(
  db: Reader,
  table: "issues" | "merge_requests",
  authorId: number,
  budget: Budget,
): Promise<number> {
  const some = await count(
    db,
    `(select 1 from ${table} where author_id = ? limit ${AT_ONCE + 1}) as written`,
    [authorId],
  );
  if (some <= AT_ONCE) {
    return count(db, `${table} where author_id = ? and ${NOT_DELETED.project_id}`, [authorId]);
  }
  // The sum keeps the engines from finding all of the author's for each part.
  return countAll(db, table, `author_id + 0 = ? and ${NOT_DELETED.project_id}`, budget, [authorId]);
}

/** Counts rows of a table, on SQLite part by part: PostgreSQL answers others meanwhile. */
async function countAll(
  db: Reader,
  table: string,
  where: string,
  budget: Budget,
  values: readonly Value[] = [],
): Promise<number> {
  const [newest] = await db.rows(`select max(id) from ${table}`);
  const max = Number(newest?.[0] ?? 0);
  const step = db.dialect === "postgres" ? max : AT_ONCE;
  let total = 0;
  for (let from = 0; from < max; from += step) {
    const part = [from, from + step, ...values];
    total += await count(db, `${table} where id > ? and id <= ? and ${where}`, part);
    if (budget.isDue) await budget.pause();
  }
  return total;
}

const SHOWN = `visibility > ${BEING_DELETED}`;
/** Rows that are of no project that is being deleted; some are of none. */
const KEPT = `coalesce(project_id, 0) not in (${BEING_DELETED_ROWS.projects})`;

/** What is counted of the instance: a table, and which of its rows. */
const COUNTED = {
  forks: [
    "projects",
    `forked_from_project_id > 0 and forked_from_project_id not in (${BEING_DELETED_ROWS.projects}) and ${SHOWN}`,
  ],
  issues: ["issues", `issue_type <> 'epic' and ${KEPT}`],
  merge_requests: ["merge_requests", KEPT],
  notes: ["notes", KEPT],
  snippets: ["snippets s", `(${PERSONAL_SNIPPET} or project_id > 0 and ${KEPT})`],
  ssh_keys: ["ssh_keys", `user_id is not null and user_id not in (${BEING_DELETED_ROWS.users})`],
  milestones: [
    "milestones",
    `removed = 0 and ${KEPT} and (namespace_id is null or ${NOT_DELETED.namespace_id})`,
  ],
  users: ["users", "state not in ('ghost', 'placeholder', 'removed')"],
  projects: ["projects", SHOWN],
  groups: ["namespaces", `kind = 'group' and ${SHOWN}`],
  active_users: ["users", "state = 'active'"],
} as const;

/** How much there is on the instance, counted part by part. It ends when the client leaves. */
export async function ofInstance(
  db: Reader,
  budget: Budget,
): Promise<Record<keyof typeof COUNTED, number>> {
  const counts: Record<string, number> = {};
  for (const [name, [table, where]] of Object.entries(COUNTED)) {
    counts[name] = await countAll(db, table, where, budget);
  }
  return counts as Record<keyof typeof COUNTED, number>;
}

/** How many users are active. It ends when the client leaves. */
export const activeUsers = (db: Reader, budget: Budget): Promise<number> =>
  countAll(db, ...COUNTED.active_users, budget);

/** What belongs to a user: the groups and projects whose member they are, and the issues and merge requests they wrote. */
export async function ofUser(db: Reader, userId: number, budget: Budget) {
  const members = (owner: keyof typeof NOT_DELETED) =>
    `members where user_id = ? and ${owner} is not null and ${NOT_DELETED[owner]}`;
  return {
    groups_count: await count(db, members("namespace_id"), [userId]),
    projects_count: await count(
      db,
      `(select project_id from ${members("project_id")}
        union select p.id from projects p join namespaces n on n.id = p.namespace_id
          where n.owner_id = ? and p.visibility > ${BEING_DELETED}) as own`,
      [userId, userId],
    ),
    issues_count: await countWritten(db, "issues", userId, budget),
    merge_requests_count: await countWritten(db, "merge_requests", userId, budget),
  };
}
