// Databases of a thousand and of a million rows of each kind, of the same shape.
import { createHash } from "node:crypto";
import { createApp } from "../../src/index.ts";
import { openStore } from "../../src/store/open.ts";
import type { Database, Store } from "../../src/store/port.ts";

/** The callers, by name, with their tokens; visitors have none. */
export const CALLERS = {
  admin: "token-of-the-administrator",
  member: "token-of-the-member",
  visitor: undefined,
} as const;

/** Texts of which an issue has three; coprime with each other, so that every issue has others. */
const TEXTS = 4999;
/** Rows per statement. */
const BATCH = 50_000;
const START = Date.UTC(2020, 0, 1);

/** Words that issues and merge requests have by their number, so that any share of them can be searched for. */
const WORDS = `case when x % 2 = 0 then ' halfword' else '' end || case when x % 10 = 0 then ' tenthword' else '' end
  || case when x % 100 = 0 then ' hundredthword' else '' end || case when x % 1000 = 0 then ' thousandthword' else '' end
  || case when x % 500 = 7 then ' École zq' else '' end || ' number' || x`;

/**
 * Fills an empty database. Half of the issues and merge requests are in the first project, the others in `rows / 100`
 * more, of which the member belongs to every second one, and every fourth is private.
 */
export async function grow(database: string, rows: number): Promise<void> {
  const app = await createApp({ database, background: false });
  await app.admin.seed({
    users: [
      { username: "root", admin: true, tokens: [{ token: CALLERS.admin }] },
      { username: "member", tokens: [{ token: CALLERS.member }] },
    ],
    groups: [
      { path: "ours", visibility: "public", members: { member: "developer" } },
      { path: "theirs", visibility: "public" },
    ],
  });
  await app.close();
  const store = await openStore(database, { statementTimeout: 3_600_000 });
  const groups = await store.rows("select id from namespaces where kind = 'group' order by id");
  const [ours, theirs] = groups.map(([id]) => id as number) as [number, number];
  const projects = Math.max(10, rows / 100);
  const users = Math.max(10, rows / 100);
  const insert = inserting(store);
  const project = `case when x % 2 = 0 then 1 else 2 + (x / 2) % ${projects - 1} end`;
  const user = (step: number) => `1 + x * ${step} % ${users}`;
  const either = `case when x % 2 = 0 then ${ours} else ${theirs} end`;
  await store.transaction(addTexts);
  await insert(
    users,
    "users",
    "username, name, email, created_at, updated_at",
    `'user' || x, 'User ' || x, 'user' || x || '@example.com', ${at}, ${at} from n`,
  );
  await insert(
    projects,
    "projects",
    `namespace_id, creator_id, name, path, full_path, description, visibility, issue_count, merge_request_count,
      created_at, updated_at, last_activity_at`,
    `case when x = 1 then ${ours} else ${either} end, ${user(3)}, 'Project ' || x, 'project-' || x,
      case when x % 2 = 0 or x = 1 then 'ours' else 'theirs' end || '/project-' || x, t,
      case when x % 4 = 3 then 0 else 20 end, ${rows}, ${rows}, ${at}, ${at}, ${at}
      from n join bench_texts on id = 1 + x * 7 % ${TEXTS}`,
  );
  await insert(
    rows / 10,
    "labels",
    "project_id, name, color, created_at, updated_at",
    `${project}, 'label' || x, '#ff0000', ${at}, ${at} from n`,
  );
  await insert(
    rows / 10,
    "milestones",
    "iid, project_id, title, created_at, updated_at",
    `x, ${project}, 'milestone' || x, ${at}, ${at} from n`,
  );
  const texts = `'Fix ' || substr(a.t, 1, 30) || ' everywhere', b.t || ' ' || c.t || ' ' || d.t || ${WORDS}`;
  const from = `from n join bench_texts a on a.id = 1 + x % ${TEXTS} join bench_texts b on b.id = 1 + x * 7 % ${TEXTS}
    join bench_texts c on c.id = 1 + x * 13 % ${TEXTS} join bench_texts d on d.id = 1 + x * 17 % ${TEXTS}`;
  const state = "case when x % 3 = 0 then 'closed' else 'opened' end";
  const milestone = `case when x % 5 = 0 then 1 + x * 3 % ${rows / 10} else null end`;
  const shared =
    "iid, project_id, author_id, title, description, state, milestone_id, created_at, updated_at";
  const values = `x, ${project}, ${user(3)}, ${texts}, ${state}, ${milestone}, ${at}, ${at} + x * 7919 % 1000000`;
  await insert(
    rows,
    "issues",
    `${shared}, confidential`,
    `${values}, case when x % 50 = 0 then 1 else 0 end ${from}`,
  );
  await insert(
    rows,
    "merge_requests",
    `${shared}, source_project_id, source_branch, target_branch`,
    `${values}, ${project}, 'branch-' || x, case when x % 10 = 0 then 'stable' else 'main' end ${from}`,
  );
  for (const kind of ["issue", "merge_request"]) {
    const labels = `${kind}_id, label_id`;
    await insert(rows, `${kind}_labels`, labels, `x, 1 + x % 7 from n where x % 4 <> 0`);
    await insert(
      rows,
      `${kind}_assignees`,
      `${kind}_id, user_id`,
      `x, ${user(7)} from n where x % 3 = 0`,
    );
  }
  await insert(
    rows,
    "notes",
    "project_id, issue_id, author_id, body, created_at, updated_at",
    `${project}, x, ${user(11)}, t, ${at}, ${at} from n join bench_texts on id = 1 + x * 19 % ${TEXTS}`,
  );
  await insert(
    rows,
    "todos",
    "user_id, project_id, issue_id, author_id, action, created_at, updated_at",
    `case when x % 10 = 0 then 2 else ${user(13)} end, ${project}, x, 1, 'assigned', ${at}, ${at} from n`,
  );
  await store.transaction((db) => db.run("drop table bench_texts"));
  await growPipelines(store, rows);
  await growAccess(store, rows);
  if (store.dialect === "postgres") await store.transaction((db) => db.run("analyze"));
  await store.close();
}

/** When a row was created, by its number `x`. */
const at = `${START} + x * 1000`;

/** Adds rows to a table, by a `select` from the numbers `n(x)`. */
function inserting(store: Store) {
  return async (count: number, table: string, columns: string, select: string): Promise<void> => {
    for (let start = 0; start < count; start += BATCH) {
      const sql = `insert into ${table} (${columns}) with recursive n(x) as
        (select ${start + 1} union all select x + 1 from n where x < ${Math.min(start + BATCH, count)}) select ${select}`;
      await store.transaction((db) => db.run(sql), { unlimited: true });
    }
  };
}

/** The tokens of a runner that may do any job, and of one that may do none of those that wait. */
const RUNNERS = { busy: "glrt-of-the-busy-one", idle: "glrt-of-the-idle-one" };

/**
 * Adds pipelines of the first project to a database of {@link grow}, a job for each, deployments and a tenth as many
 * environments, and a hundredth as many jobs that wait for a runner. A thousandth of the pipelines have a rare status.
 */
async function growPipelines(store: Store, rows: number): Promise<void> {
  const insert = inserting(store);
  await store.transaction(async (db) => {
    for (const [id, token] of Object.values(RUNNERS).entries()) {
      const digest = createHash("sha256").update(token).digest("hex");
      await db.run(
        `insert into runners (kind, creator_id, digest, description, run_untagged, created_at, updated_at)
         values ('instance_type', 2, ?, 'Runner', ?, ${START}, ${START})`,
        [digest, 1 - id],
      );
    }
    await db.run("insert into runner_tags (runner_id, tag) values (1, 'linux')");
  });
  const status =
    "case when x % 1000 = 1 then 'canceled' when x % 10 = 0 then 'failed' else 'success' end";
  const ref = "case when x % 2 = 0 then 'main' else 'branch-' || x % 499 end";
  const sha = `substr('${"0".repeat(40)}' || (x / 3), length('' || (x / 3)) + 1)`;
  const times = `${at}, ${at} + x * 719 % 1000000, ${at}, ${at} + 60000`;
  await insert(
    rows,
    "pipelines",
    `project_id, iid, user_id, ref, sha, before_sha, source, name, yaml_errors, status, created_at, updated_at, started_at,
      finished_at`,
    `1, x, 1 + x % 7, ${ref}, ${sha}, ${sha},
      case when x % 1000 = 3 then 'web' when x % 3 = 0 then 'merge_request_event' else 'push' end,
      case when x % 1000 = 7 then 'Nightly' else null end, case when x % 1000 = 9 then 'wrong' else null end, ${status}, ${times}
      from n`,
  );
  const job = "project_id, pipeline_id, user_id, kind, name, stage, stage_index, ref";
  await insert(
    rows,
    "ci_jobs",
    `${job}, runner_id, environment, status, created_at, updated_at, started_at, finished_at`,
    `1, x, 1 + x % 7, case when x % 10 = 5 then 'external' else 'build' end, 'job-' || x % 20, 'test', 0, ${ref}, 1,
      case when x % 10 = 0 then 'env-' || x % ${rows / 10} else null end, ${status}, ${times} from n`,
  );
  await insert(
    rows / 10,
    "environments",
    "project_id, name, slug, tier, state, auto_stop_setting, created_at, updated_at",
    `1, 'env-' || x, 'env-' || x, 'other', case when x % 3 = 0 then 'stopped' else 'available' end, 'always', ${at}, ${at} from n`,
  );
  await insert(
    rows,
    "deployments",
    "project_id, environment_id, user_id, iid, ref, tag, sha, job_id, status, created_at, updated_at, finished_at",
    `1, case when x % 2 = 0 then 1 else 1 + x % ${rows / 10} end, 1, x, ${ref}, 0, ${sha}, x, ${status}, ${at},
      ${at} + x * 719 % 1000000, ${at} + 60000 from n`,
  );
  const waiting = `${job}, tag_list, status, created_at, updated_at, queued_at`;
  await insert(
    rows / 100,
    "ci_jobs",
    waiting,
    `1, x, 2, 'build', 'waiting-' || x, 'test', 0, 'main', case when x % 2 = 0 then '["linux"]' else '[]' end, 'pending', ${at},
      ${at}, ${at} from n`,
  );
  await store.transaction(async (db) => {
    await db.run(
      `insert into ci_job_tags (job_id, tag) select id, 'linux' from ci_jobs where status = 'pending' and tag_list <> '[]'`,
    );
    await db.run(
      `insert into ci_job_specs (job_id, spec) select id, '{"options":{},"variables":[]}' from ci_jobs where status = 'pending'`,
    );
  });
}

/**
 * Adds to a database of {@link grow} what lets somebody in: a user who belongs to every project, rules with three grants
 * each, projects whose jobs' tokens the first one takes, and former paths.
 */
async function growAccess(store: Store, rows: number): Promise<void> {
  const insert = inserting(store);
  const projects = Math.max(10, rows / 100);
  await insert(
    projects,
    "members",
    "user_id, project_id, access_level, created_at, updated_at",
    `9, x, 30, ${at}, ${at} from n`,
  );
  await insert(
    projects,
    "protected_branches",
    "project_id, name, is_wildcard, created_at, updated_at",
    `1, 'release-' || x, 0, ${at}, ${at} from n`,
  );
  for (const action of ["push", "merge", "unprotect"])
    await insert(
      projects,
      "protection_grants",
      "branch_id, action, user_id",
      `x, '${action}', 1 + x % 7 from n`,
    );
  await insert(
    projects - 1,
    "job_token_projects",
    "project_id, target_project_id",
    "1, 1 + x from n",
  );
  await insert(
    projects,
    "project_redirects",
    "path, project_id",
    "'former/project-' || x, x from n",
  );
}

/** Adds the texts: words of a few syllables, some of them frequent, most of them rare. */
async function addTexts(db: Database): Promise<void> {
  let state = 1;
  const random = () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
  const syllables =
    "ba be bi bo cu da de do fa fe fi go gu la le lo ma me mi no nu pa pe po ra re ro sa se so ta te to va ve er en in on an st th".split(
      " ",
    );
  const pick = <T>(from: readonly T[], place: number) => from[Math.floor(place * from.length)] as T;
  const words = Array.from({ length: 5000 }, () =>
    Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(syllables, random())).join(""),
  );
  await db.run("create table bench_texts (id integer primary key, t text)");
  for (let id = 1; id <= TEXTS; id += 1) {
    let text = "";
    while (text.length < 90) text += `${text && " "}${pick(words, random() ** 3)}`;
    await db.run("insert into bench_texts (id, t) values (?, ?)", [id, text]);
  }
}
