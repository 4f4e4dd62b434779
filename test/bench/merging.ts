import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { createApp } from "../../src/index.ts";
import { WARM_UP } from "./load.ts";
import { type Server, startServer } from "./processes.ts";
import { CALLER } from "./seed.ts";

const run = promisify(execFile);
/** Merge requests of a round, which are merged one after the other. */
const REQUESTS = 60;
/** Seconds of a clock tick, in which Linux counts. */
const TICK = 0.01;

/** Seconds of CPU for a merge request: this application's, and those of git's commands, which do not record it. */
export interface MergeFigures {
  ours: number;
  gits: number;
}

/**
 * Merges branches of a repository into its default branch over the REST API, and with processes of git: `merge-tree`,
 * `commit-tree` and `update-ref`. Linux only, for the CPU time of the processes.
 *
 * @param source the repository
 * @param script that of `servers/` which serves this application
 */
export async function measureMerges(
  source: string,
  script: string,
  { folder, rounds, say }: { folder: string; rounds: number; say: (text: string) => void },
): Promise<MergeFigures[]> {
  const database = join(folder, "merges.db");
  const app = await createApp({ database, background: false });
  await app.admin.seed({
    users: [{ username: CALLER.username, tokens: [{ token: CALLER.token }] }],
    groups: [
      {
        path: "bench",
        members: { [CALLER.username]: "owner" },
        projects: Array.from({ length: rounds + 1 }, (_, round) => ({ path: `p${round}` })),
      },
    ],
  });
  await app.close();
  const server = await startServer([script, database]);
  const figures: MergeFigures[] = [];
  // The first round is not counted: V8 has not compiled the code yet.
  for (let round = 0; round <= rounds; round += 1) {
    say(`merging, round ${round} of ${rounds}`);
    const requests = round === 0 ? WARM_UP : REQUESTS;
    const url = `${server.url.replace("//", `//any:${CALLER.token}@`)}/bench/p${round}.git`;
    await git(source, "push", "--quiet", url, "HEAD:refs/heads/main");
    const send = senderTo(server, `/projects/bench%2Fp${round}`);
    await openAll(send, requests);
    const clone = join(folder, `merges-${round}.git`);
    await git(".", "clone", "--quiet", "--bare", url, clone);
    const before = await server.cpu();
    for (let number = 1; number <= requests; number += 1) {
      await send("PUT", `/merge_requests/${number}/merge`, {});
    }
    const ours = ((await server.cpu()) - before) / 1e6;
    if (round === 0) continue;
    const gits = await mergeAll(clone);
    figures.push({ ours: ours / REQUESTS, gits: gits / REQUESTS });
  }
  await server.stop();
  return figures;
}

type Send = (method: "POST" | "PUT", path: string, body: object) => Promise<void>;

const senderTo =
  (server: Server, project: string): Send =>
  async (method, path, body) => {
    const response = await fetch(`${server.url}/api/v4${project}${path}`, {
      method,
      headers: { "private-token": CALLER.token, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const answer = await response.text();
    if (!response.ok) throw new Error(`${path}: ${answer}`);
  };

/** Opens merge requests, each of a branch with a new file. */
async function openAll(send: Send, requests: number): Promise<void> {
  for (let number = 1; number <= requests; number += 1) {
    const branch = `bench-${number}`;
    await send("POST", "/repository/commits", {
      ...{ branch, start_branch: "main", commit_message: "Add a file" },
      actions: [{ action: "create", file_path: `bench/${branch}.txt`, content: `${number}\n` }],
    });
    const branches = { source_branch: branch, target_branch: "main" };
    await send("POST", "/merge_requests", { title: branch, ...branches });
  }
}

/** Merges the same branches in a bare clone, and returns the seconds of CPU. */
async function mergeAll(clone: string): Promise<number> {
  const before = ofChildren();
  for (let number = 1; number <= REQUESTS; number += 1) {
    const branch = `bench-${number}`;
    const tree = await git(clone, "merge-tree", "--write-tree", "main", branch);
    const parents = ["-p", "main", "-p", branch];
    const commit = await git(clone, "commit-tree", tree, ...parents, "-m", `Merge ${branch}`);
    await git(clone, "update-ref", "refs/heads/main", commit);
  }
  return ofChildren() - before;
}

/** Seconds of CPU of the processes that this one started and that have ended (proc_pid_stat(5)). */
function ofChildren(): number {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ") ?? [];
  return TICK * (Number(fields[13]) + Number(fields[14]));
}

async function git(folder: string, ...args: string[]): Promise<string> {
  const who = ["-c", "user.name=Bench", "-c", "user.email=bench@example.com"];
  const { stdout } = await run("git", [...who, ...args], { cwd: folder });
  return stdout.trim();
}
