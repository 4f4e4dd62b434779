import { join } from "node:path";
import { type App, createApp } from "../../src/index.ts";
import { openStore } from "../../src/store/open.ts";
import type { Where } from "./events.ts";
import { HEADERS, type Operation } from "./operations.ts";
import { pushHistory } from "./repository.ts";
import { CALLER } from "./seed.ts";
import { storeAnswers } from "./stored.ts";

const PROJECT = "/projects/acme%2Fsite";
const COMMITS = `${PROJECT}/repository/commits`;
const SOURCES = ["push", "merge_request_event", "schedule", "web"] as const;
/** How many commits have pipelines. */
const TESTED = 20;
const HOUR = 3_600_000;

/** What clients read of pipelines. */
export const PIPELINE_OPERATIONS: readonly Operation[] = [
  { name: "20 pipelines", method: "GET", path: `${PROJECT}/pipelines`, floor: 0.5 },
  { name: "20 jobs", method: "GET", path: `${PROJECT}/jobs`, floor: 0.5 },
];

const REPORTED = ["pending", "running", "success"] as const;

/** What services report of commits: that some work waits, then that it runs, then that it has succeeded. */
export function reportingOn(commits: readonly string[]): Operation {
  return {
    name: "report the status of a commit",
    method: "POST",
    path: `${PROJECT}/statuses`,
    each: (before) => {
      const turn = Math.floor(before / commits.length);
      const step = Math.floor(turn / REPORTED.length);
      return {
        path: `${PROJECT}/statuses/${commits[before % commits.length]}`,
        body: JSON.stringify({
          state: REPORTED[turn % REPORTED.length],
          ref: "main",
          // A request that the end of a round cuts off leaves the status as it was.
          name: `ci/step-${step}`,
          target_url: `https://ci.example.com/builds/${before}`,
          description: "The build of this commit, on all platforms.",
        }),
      };
    },
    floor: 0.4,
  };
}

/**
 * Creates a database with a repository and pipelines of its last commits, each with five jobs that a runner has done.
 *
 * @returns the file, and the names of the commits without a pipeline
 */
export async function withPipelines(
  { folder, say }: Where,
  { commits = 1000, pipelines = 200 } = {},
): Promise<{ file: string; commits: string[] }> {
  say("seeding pipelines…");
  const file = join(folder, "pipelines.db");
  const app = await createApp({ database: file, background: false });
  const members = { [CALLER.username]: "owner" } as const;
  await app.admin.seed({
    users: [{ username: CALLER.username, tokens: [{ token: CALLER.token }] }],
    groups: [{ path: "acme", members, projects: [{ path: "site" }] }],
  });
  await pushHistory(app, "acme/site", commits);
  const names: string[] = [];
  for (let page = 1; names.length < commits; page += 1) {
    const listed = await ask(app, `${COMMITS}?per_page=100&page=${page}`);
    names.push(...(listed as { id: string }[]).map(({ id }) => id));
  }
  const store = await openStore(file);
  const at = Date.UTC(2026, 0, 1);
  await store.transaction(async (db) => {
    await db.run(`insert into runners (kind, digest, description, contacted_at, created_at, updated_at)
      values ('instance_type', 'x', 'A runner', ${at}, ${at}, ${at})`);
    await db.run(`insert into runner_managers (runner_id, system_id, version, revision, platform, architecture, contacted_at,
        created_at, ip_address) values (1, 's_1', '17.0.0', 'abcdef12', 'linux', 'amd64', ${at}, ${at}, '10.0.0.1')`);
    for (let number = 1; number <= pipelines; number += 1) {
      const began = at + number * HOUR;
      const sha = names[number % TESTED] as string;
      const source = SOURCES[number % SOURCES.length] as string;
      await db.run(
        `insert into pipelines (project_id, iid, user_id, ref, sha, before_sha, source, status, created_at, updated_at,
           started_at, finished_at) values (1, ?, 1, 'main', ?, ?, ?, 'success', ?, ?, ?, ?)`,
        [number, sha, sha, source, began, began + 90_000, began + 2000, began + 90_000],
      );
      for (const [index, name] of ["compile", "unit", "lint", "package", "deploy"].entries()) {
        await db.run(
          `insert into ci_jobs (project_id, pipeline_id, user_id, runner_id, runner_manager_id, kind, name, stage,
             stage_index, ref, status, tag_list, created_at, updated_at, queued_at, started_at, finished_at)
           values (1, ?, 1, 1, 1, 'build', ?, 'test', ?, 'main', 'success', '["linux"]', ?, ?, ?, ?, ?)`,
          [number, name, index, began, began + 90_000, began, began + 2000, began + 90_000],
        );
      }
    }
  });
  const answers = new Map<string, unknown>();
  for (const { path } of PIPELINE_OPERATIONS) answers.set(`/api/v4${path}`, await ask(app, path));
  await app.close();
  await store.transaction((db) => storeAnswers(db, answers));
  await store.close();
  return { file, commits: names.slice(TESTED) };
}

async function ask(app: App, path: string): Promise<unknown> {
  const request = new Request(`http://pm.test/api/v4${path}`, { headers: HEADERS });
  const response = await app.fetch(request);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}
