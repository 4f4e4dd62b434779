import { execFile } from "node:child_process";
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { createApp } from "../../src/index.ts";
import { type Server, startServer } from "./processes.ts";
import { median } from "./report.ts";

const run = promisify(execFile);
const TOKEN = "git-bench";
/** Small pushes, one after the other; and as many files and commits over the REST API. */
const SMALL_PUSHES = 200;

/** Seconds of CPU time that a server needed. */
interface Work {
  push: number;
  clone: number;
  /** For each of {@link SMALL_PUSHES}. */
  small: number;
}

/** Seconds of CPU time that the application needed for changes over the REST API. */
interface Written {
  /** A file that is created. */
  file: number;
  /** A commit that changes three files. */
  commit: number;
}

/** This application beside `git http-backend`, on one repository. */
export interface GitFigures {
  commits: number;
  ours: Work;
  gits: Work;
  written: Written;
  /** The application's memory after all that, in bytes. */
  memory: number;
  /** Its memory after the first push, in bytes. */
  pushed: number;
}

const git = async (folder: string, ...args: string[]): Promise<string> => {
  const env = { ...process.env, GIT_TERMINAL_PROMPT: "0", GIT_CONFIG_NOSYSTEM: "1" };
  const who = ["-c", "user.name=Bench", "-c", "user.email=bench@example.com"];
  const { stdout } = await run("git", [...who, ...args], { cwd: folder, env });
  return stdout.trim();
};

/**
 * Pushes and clones a repository, then pushes small changes, to both servers in turn.
 *
 * @param source the repository: a large one shows more
 * @param scripts those of `servers/`
 */
export async function measureGit(
  source: string,
  scripts: { app: string; git: string },
  where: { folder: string; rounds: number; say: (text: string) => void },
): Promise<GitFigures> {
  const { folder, rounds, say } = where;
  const database = join(folder, "git.db");
  const app = await createApp({ database, background: false });
  await app.admin.seed({
    users: [{ username: "ada", name: "Ada", tokens: [{ token: TOKEN, scopes: ["api"] }] }],
    groups: [
      {
        path: "bench",
        name: "Bench",
        members: { ada: "owner" },
        projects: Array.from({ length: rounds }, (_, round) => ({
          path: `p${round}`,
          name: `P${round}`,
        })),
      },
    ],
  });
  await app.close();
  const root = join(folder, "repositories");
  await bareRepositories(root, rounds);
  const ours: Work[] = [];
  const gits: Work[] = [];
  const written: Written[] = [];
  const server = await startServer([scripts.app, database]);
  const rival = await startServer([scripts.git, root]);
  let pushed = 0;
  for (let round = 0; round < rounds; round += 1) {
    say(`git, round ${round + 1}…`);
    const at = (url: string) => `${url.replace("//", `//any:${TOKEN}@`)}/bench/p${round}.git`;
    const clone = join(folder, `clone${round}-`);
    const note = () => {
      pushed ||= server.resident();
    };
    ours.push(await workOf(server, at(server.url), source, `${clone}ours`, note));
    written.push(await writtenTo(server, `p${round}`));
    gits.push(await workOf(rival, at(rival.url), source, `${clone}gits`, () => undefined));
  }
  const memory = server.resident();
  await server.stop();
  await rival.stop();
  const commits = Number(await git(source, "rev-list", "--count", "HEAD"));
  return {
    commits,
    ours: mediansOf(ours),
    gits: mediansOf(gits),
    written: {
      file: median(written.map(({ file }) => file)),
      commit: median(written.map(({ commit }) => commit)),
    },
    memory,
    pushed,
  };
}

/** Makes `bench/p0.git` and so on, which `git http-backend` lets anybody push to. */
export async function bareRepositories(root: string, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    const bare = join(root, "bench", `p${number}.git`);
    mkdirSync(bare, { recursive: true });
    await git(bare, "init", "--quiet", "--bare", "--initial-branch=main");
    await git(bare, "config", "http.receivepack", "true");
  }
}

const spent = async (server: Server, work: () => Promise<unknown>): Promise<number> => {
  const before = await server.cpu();
  await work();
  return ((await server.cpu()) - before) / 1e6;
};

/** Changes files of a project that was pushed to, one after the other. */
async function writtenTo(server: Server, project: string): Promise<Written> {
  const post = async (path: string, body: object) => {
    const address = `${server.url}/api/v4/projects/bench%2F${project}/repository/${path}`;
    const response = await fetch(address, {
      method: "POST",
      headers: { "private-token": TOKEN, "content-type": "application/json" },
      body: JSON.stringify({ branch: "main", commit_message: "Change files", ...body }),
    });
    if (response.status !== 201) throw new Error(`${path}: ${await response.text()}`);
    await response.arrayBuffer();
  };
  const each = async (work: (count: number) => Promise<void>) => {
    const seconds = await spent(server, async () => {
      for (let count = 0; count < SMALL_PUSHES; count += 1) await work(count);
    });
    return seconds / SMALL_PUSHES;
  };
  const file = await each((count) =>
    post(`files/bench%2F${count % 10}%2Ffile-${count}.ts`, { content: `${count}\n` }),
  );
  const commit = await each((count) =>
    post("commits", {
      actions: [0, 1, 2].map((folder) => ({
        action: "update",
        file_path: `bench/${folder}/file-${folder}.ts`,
        content: `${count}\n`,
      })),
    }),
  );
  return { file, commit };
}

async function workOf(
  server: Server,
  url: string,
  source: string,
  clone: string,
  onPushed: () => void,
): Promise<Work> {
  const push = await spent(server, () =>
    git(source, "push", "--quiet", url, "HEAD:refs/heads/main"),
  );
  onPushed();
  const cloning = await spent(server, () => git(".", "clone", "--quiet", url, clone));
  const small = await spent(server, async () => {
    for (let count = 0; count < SMALL_PUSHES; count += 1) {
      appendFileSync(join(clone, "bench.txt"), `${count}\n`);
      await git(clone, "add", "bench.txt");
      await git(clone, "commit", "--quiet", "-m", `Change ${count}`);
      await git(clone, "push", "--quiet", "origin", "main");
    }
  });
  return { push, clone: cloning, small: small / SMALL_PUSHES };
}

function mediansOf(works: readonly Work[]): Work {
  const of = (name: keyof Work) => median(works.map((work) => work[name]));
  return { push: of("push"), clone: of("clone"), small: of("small") };
}
