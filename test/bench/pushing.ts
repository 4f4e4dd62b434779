// What others notice of a push: reads of a server while a repository is pushed to it.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { createApp } from "../../src/index.ts";
import { bareRepositories } from "./git.ts";
import { type Server, startServer } from "./processes.ts";
import { joined, type Latency, reads, readsWhile } from "./reads.ts";
import { CALLER } from "./seed.ts";

const run = promisify(execFile);
/** Pushes before those that count: V8 has not compiled the code yet. */
const FIRST = 2;

/** Reads of an idle server, and while it receives pushes, by a clock. */
export interface PushingFigures {
  idle: Latency;
  meanwhile: Latency;
  /** While `git http-backend` receives the same pushes, on the core of the server, which is idle but for the reads. */
  beside: Latency;
}

/**
 * Pushes a repository to one project after the other, while somebody reads.
 *
 * @param scripts those of `servers/` which serve this application, and repositories with Git's own programs
 */
export async function measureReadsOfPushes(
  source: string,
  scripts: { app: string; git: string },
  { folder, rounds, say }: { folder: string; rounds: number; say: (text: string) => void },
): Promise<PushingFigures> {
  const database = join(folder, "pushing.db");
  const app = await createApp({ database, background: false });
  await app.admin.seed({
    users: [{ username: CALLER.username, tokens: [{ token: CALLER.token }] }],
    groups: [
      {
        path: "bench",
        members: { [CALLER.username]: "owner" },
        projects: Array.from({ length: FIRST + rounds }, (_, round) => ({ path: `p${round}` })),
      },
    ],
  });
  await app.close();
  const root = join(folder, "pushed");
  await bareRepositories(root, FIRST + rounds);
  const server = await startServer([scripts.app, database]);
  const rival = await startServer([scripts.git, root]);
  await reads(server, 1);
  const readsWhilePushing = async (to: Server, project: string) => {
    let isDone = false;
    const url = `${to.url.replace("//", `//any:${CALLER.token}@`)}/bench/${project}.git`;
    // Git must not keep the reader waiting, on the core that they share: what counts is the server.
    const command = ["-n", "19", "git", "push", "--quiet", url, "HEAD:refs/heads/main"];
    const push = run("nice", command, { cwd: source }).finally(() => {
      isDone = true;
    });
    const during = await readsWhile(server, () => !isDone);
    await push;
    return during;
  };
  const idle: Latency[] = [];
  const meanwhile: Latency[] = [];
  const beside: Latency[] = [];
  for (let round = 0; round < FIRST + rounds; round += 1) {
    say(`reads while a push arrives, round ${round + 1} of ${FIRST + rounds}`);
    const before = await reads(server, 1);
    const ours = await readsWhilePushing(server, `p${round}`);
    const gits = await readsWhilePushing(rival, `p${round}`);
    if (round < FIRST) continue;
    idle.push(before);
    meanwhile.push(ours);
    beside.push(gits);
  }
  await rival.stop();
  await server.stop();
  return { idle: joined(idle), meanwhile: joined(meanwhile), beside: joined(beside) };
}
