import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import BetterSqlite3 from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApp } from "../../src/index.ts";
import { call } from "../helpers.ts";
import { environment, newFolder, program, run, runJson, shellCommand } from "./helpers.ts";

const exec = promisify(execFile);
const folder = newFolder();
const db = join(folder.path, "pm.db");

beforeAll(async () => {
  const seed = join(folder.path, "seed.json");
  const pushes = ["2020-01-01", "2021-01-01", "2099-01-01"].map((created_at) => ({
    author: "owner",
    ref: "old",
    created_at,
  }));
  await writeFile(
    seed,
    JSON.stringify({
      users: [
        { username: "owner", email: "owner@example.com", tokens: [{ token: "token-of-owner" }] },
        { username: "pusher", tokens: [] },
      ],
      groups: [
        {
          path: "acme",
          members: { owner: "owner" },
          projects: [
            { path: "site" },
            {
              path: "old",
              pushes,
              wiki: [
                { title: "home", content: "# Welcome" },
                { title: "guide/First steps", content: "Begin here.", format: "asciidoc" },
              ],
            },
          ],
        },
      ],
    }),
  );
  await runJson(["seed", "--db", db, "--file", seed]);
});
afterAll(() => folder.remove());

/** The API's answer for a path, to the owner. */
async function get(path: string) {
  const app = await createApp({ database: db });
  const { json } = await call(app, `GET ${path}`, { as: "owner" });
  await app.close();
  return json;
}

describe("hook post-receive", () => {
  const bare = join(folder.path, "site.git");
  const work = join(folder.path, "work");

  const git = async (...args: string[]) => {
    const identity = ["-c", "user.name=Owner", "-c", "user.email=owner@example.com"];
    const options = { cwd: work, env: environment({ GIT_CONFIG_GLOBAL: "/dev/null" }) };
    return (await exec("git", [...identity, ...args], options)).stdout.trim();
  };
  const commit = (title: string) => git("commit", "--allow-empty", "-q", "-m", `${title}\n\nMore.`);

  beforeAll(async () => {
    await exec("git", ["init", "-q", "--bare", "-b", "main", bare]);
    await exec("git", ["init", "-q", "-b", "main", work]);
    const hook = join(bare, "hooks/post-receive");
    const command = `exec ${shellCommand} hook post-receive --db '${db}' --project acme/site`;
    await writeFile(hook, `#!/bin/sh\n${command}\n`);
    await chmod(hook, 0o755);
    await git("remote", "add", "origin", bare);
  });

  it("records exactly what is pushed: new, changed and removed branches, and tags", async () => {
    await commit("First");
    await commit("Second");
    await git("push", "-q", "origin", "main");
    const first = await git("rev-parse", "HEAD");
    await commit("Third");
    await git("push", "-q", "origin", "main");
    const second = await git("rev-parse", "HEAD");
    await git("push", "-q", "origin", "main:feature/one");
    await git("tag", "-a", "v1", "-m", "One");
    await git("push", "-q", "origin", "v1");
    await git("push", "-q", "origin", "--delete", "feature/one");

    const events = await get("/projects/acme%2Fsite/events?action=pushed&sort=asc");
    const tag = await git("rev-parse", "v1");
    expect(
      events.map((event: { action_name: string; push_data: object }) => ({
        action_name: event.action_name,
        ...event.push_data,
      })),
    ).toEqual([
      {
        action_name: "pushed new",
        commit_count: 2,
        action: "created",
        ref_type: "branch",
        commit_from: null,
        commit_to: first,
        ref: "main",
        commit_title: "Second",
      },
      {
        action_name: "pushed",
        commit_count: 1,
        action: "pushed",
        ref_type: "branch",
        commit_from: first,
        commit_to: second,
        ref: "main",
        commit_title: "Third",
      },
      {
        action_name: "pushed new",
        commit_count: 0,
        action: "created",
        ref_type: "branch",
        commit_from: null,
        commit_to: second,
        ref: "feature/one",
        commit_title: "Third",
      },
      {
        action_name: "pushed new",
        commit_count: 0,
        action: "created",
        ref_type: "tag",
        commit_from: null,
        commit_to: tag,
        ref: "v1",
        commit_title: "Third",
      },
      {
        action_name: "deleted",
        commit_count: 0,
        action: "removed",
        ref_type: "branch",
        commit_from: second,
        commit_to: null,
        ref: "feature/one",
        commit_title: null,
      },
    ]);
    expect(events[0].author_username).toBe("owner");
  });

  it("takes the pusher from --user", async () => {
    const input = `${"0".repeat(40)} ${await git("rev-parse", "HEAD")} refs/heads/other\n`;
    const args = ["hook", "post-receive", "--db", db, "--project", "acme/site"];
    const ended = await run([...args, "--user", "pusher"], { cwd: work, input });
    expect(ended).toEqual({ code: 0, stdout: "", stderr: "" });
    const [event] = await get("/projects/acme%2Fsite/events");
    expect(event.author_username).toBe("pusher");
  });

  it("refuses malformed input, and an unknown pusher or project", async () => {
    const args = ["hook", "post-receive", "--db", db];
    const nonsense = await run([...args, "--project", "acme/site"], {
      cwd: work,
      input: "hello\n",
    });
    expect([nonsense.code, nonsense.stderr]).toEqual([
      2,
      expect.stringMatching(/standard input has no "old new ref": hello/),
    ]);
    const head = await git("rev-parse", "HEAD");
    const input = `${head} ${head} refs/heads/main\n`;
    const nobody = await run([...args, "--project", "acme/site", "--user", "nobody"], {
      cwd: work,
      input,
    });
    expect([nobody.code, nobody.stderr]).toEqual([1, expect.stringContaining("no such user")]);
    const nowhere = await run([...args, "--project", "acme/none"], { cwd: work, input });
    expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringContaining("no such project")]);
    expect((await run(args, { cwd: work, input })).code).toBe(2);
  });
});

describe("events purge", () => {
  it("reports what it would remove, removes it, and then has nothing left to do", async () => {
    const dry = await runJson(["events", "purge", "--db", db, "--dry-run"]);
    expect(dry).toEqual({ events: 2, audit_events: 0, before: expect.any(String), dry_run: true });
    const { stdout } = await run(["events", "purge", "--db", db]);
    expect(stdout).toMatch(/^Removed 2 events from before \d{4}-/);
    expect((await runJson(["events", "purge", "--db", db])).events).toBe(0);
    expect(await get("/projects/acme%2Fold/events")).toHaveLength(1);
  });

  it("refuses an invalid age", async () => {
    const { code, stderr } = await run(["events", "purge", "--db", db, "--older-than", "long"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("--older-than")]);
  });
});

describe("a purge that is killed", () => {
  // So many that the purge takes longer than a busy machine may let this process wait.
  const EVENTS = 60_000;
  const file = join(folder.path, "killed.db");

  it("leaves a consistent database, and continues where it stopped", async () => {
    const app = await createApp({ database: file });
    const pushes = Array.from({ length: EVENTS }, (_, at) => ({
      author: at % 3 ? "owner" : "other",
      ref: `b${at % 50}`,
      created_at: new Date(Date.parse("2020-01-01") + at * 60_000).toISOString(),
    }));
    await app.admin.seed({
      users: [{ username: "owner" }, { username: "other" }],
      groups: [
        {
          path: "acme",
          projects: [
            { path: "old", pushes: [...pushes, { author: "owner", ref: "new" }] },
            { path: "quiet", pushes: [{ author: "other", ref: "new" }] },
          ],
        },
      ],
    });
    await app.close();

    const database = new BetterSqlite3(file, { timeout: 0 });
    const count = (sql: string) => database.prepare(sql).pluck().get() as number;
    const left = () => count("select count(*) from events") - 2;
    const miscounted = () =>
      count(`select count(*) from event_counts c where events <>
        (select count(*) from events e where e.project_id = c.project_id and e.author_id = c.author_id)`);
    const [command, ...before] = program as [string, ...string[]];
    const child = spawn(command, [...before, "events", "purge", "--db", file], {
      env: environment(),
      stdio: "ignore",
    });
    const ended = once(child, "close");
    // Taking the write lock between two of its batches keeps the purge from finishing before it is killed.
    while (!between(database, () => left() < EVENTS && child.kill("SIGKILL"))) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await ended;
    expect(child.signalCode).toBe("SIGKILL");
    const remaining = left();
    expect(remaining).toBeGreaterThan(0);
    expect(remaining).toBeLessThan(EVENTS);
    expect(database.pragma("integrity_check", { simple: true })).toBe("ok");
    expect(miscounted()).toBe(0);

    expect((await runJson(["events", "purge", "--db", file])).events).toBe(remaining);
    expect([left(), miscounted()]).toEqual([0, 0]);
    expect(count("select sum(events) from event_counts")).toBe(2);
    database.close();
  });

  /** Runs `work` under the write lock if that is free within a moment; returns whether the work was done. */
  function between(database: BetterSqlite3.Database, work: () => boolean): boolean {
    for (const until = performance.now() + 50; performance.now() < until; ) {
      try {
        database.exec("begin immediate");
      } catch {
        continue;
      }
      const done = work();
      database.exec("rollback");
      return done;
    }
    return false;
  }
});

describe("wiki export", () => {
  it("writes pages and their history", async () => {
    const dir = join(folder.path, "wiki");
    const args = ["wiki", "export", "--db", db, "--project", "acme/old", "--dir", dir];
    expect(await runJson(args)).toEqual({ dir, files: 2 });
    const names = await readdir(dir, { recursive: true });
    expect(names.filter((name) => !name.startsWith(".git")).sort()).toEqual([
      "guide",
      "guide/First-steps.asciidoc",
      "home.md",
    ]);
    expect(await readFile(join(dir, ".git/HEAD"), "utf8")).toBe("ref: refs/heads/master\n");
    expect(await readFile(join(dir, "home.md"), "utf8")).toBe("# Welcome");
    const again = await run(args);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("is not empty")]);
  });
});
