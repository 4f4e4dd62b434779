import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { expect, it } from "vitest";
import { verifyRepositories } from "../../src/git/verify.ts";
import { repeats } from "../forms.ts";
import { engine, type TestApp, testApp, tokenOf } from "../helpers.ts";
import { newCommit, pushHeaders, pushOf } from "../packs.ts";
import { programOf } from "../program.ts";

const KILLS = repeats(5, 30);
const PROJECT = "acme/site";

/** Processes that serve a database. */
async function servers(app: TestApp) {
  const program = await programOf(new URL("_git-process.ts", import.meta.url));
  return {
    start: async () => {
      const child = spawn(process.execPath, [program.file, app.database], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const [line] = await once(child.stdout as NodeJS.ReadableStream, "data");
      return { child, url: String(line).trim() };
    },
    kill: async (child: ChildProcess) => {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
    remove: () => program.remove(),
  };
}

/** Pushes a change of a branch; returns whether it was acknowledged. */
async function push(
  url: string,
  change: { name: string; from: string | undefined; to: string },
  pack: Buffer,
): Promise<boolean> {
  const response = await fetch(`${url}/${PROJECT}.git/git-receive-pack`, {
    method: "POST",
    headers: pushHeaders(tokenOf("owner")),
    body: new Uint8Array(pushOf([change], pack)),
  });
  return (await response.text()).includes(`ok ${change.name}`);
}

/** The commits of branches, by name. */
async function branchesOf({ store }: TestApp): Promise<Map<string, string>> {
  const rows = await store.rows("select name, oid from git_refs");
  return new Map(rows as [string, string][]);
}

it("keeps what was acknowledged, and nothing by half, when processes that receive pushes are killed", async () => {
  const app = await testApp();
  const { start, kill, remove } = await servers(app);
  /** What each branch was at last, as far as its pusher knows, and what was on its way. */
  const branches = ["main", "a", "b"].map((name) => ({
    name: `refs/heads/${name}`,
    acknowledged: undefined as string | undefined,
    pending: undefined as string | undefined,
    pushes: 0,
  }));
  for (let killed = 0; killed < KILLS; killed += 1) {
    const { child, url } = await start();
    let isOver = false;
    let acknowledged = 0;
    const pushers = branches.map(async (branch, number) => {
      while (!isOver) {
        branch.pushes += 1;
        // Of all sizes, up to several pieces of a pack.
        const size = 10 + ((branch.pushes * 7919 * (number + 1)) % 3) * 150_000;
        const made = newCommit(randomBytes(size), branch.acknowledged);
        branch.pending = made.oid;
        const change = { name: branch.name, from: branch.acknowledged, to: made.oid };
        try {
          if (await push(url, change, made.pack)) {
            branch.acknowledged = made.oid;
            branch.pending = undefined;
            acknowledged += 1;
          } else throw new Error(`${branch.name} was refused`);
        } catch (error) {
          // The connection broke with the process.
          if (!isOver) throw error;
        }
      }
    });
    while (acknowledged < 3 + (killed % 5)) await new Promise((resolve) => setTimeout(resolve, 1));
    isOver = true;
    await kill(child);
    await Promise.all(pushers);
    const found = await branchesOf(app);
    for (const branch of branches) {
      const oid = found.get(branch.name);
      expect([branch.acknowledged, branch.pending]).toContain(oid);
      branch.acknowledged = oid;
    }
  }
  expect(await verifyRepositories(app.store, 10)).toEqual([]);
  await remove();
  await app.dispose();
});

// Two processes share a database only on PostgreSQL.
it.runIf(engine === "postgres")(
  "loses no push when two processes take pushes to one branch",
  async () => {
    const app = await testApp();
    const { start, kill, remove } = await servers(app);
    const both = [await start(), await start()];
    const name = "refs/heads/main";
    const first = newCommit("first");
    const begun = { name, from: undefined, to: first.oid };
    expect(await push(both[0]?.url as string, begun, first.pack)).toBe(true);
    const parents = new Map<string, string>();
    const pushers = Array.from({ length: 6 }, async (_, number) => {
      const { url } = both[number % 2] as (typeof both)[0];
      for (let made = 0; made < 8; ) {
        const from = (await branchesOf(app)).get(name) as string;
        const { oid, pack } = newCommit(`${number} ${made}`, from);
        if (!(await push(url, { name, from, to: oid }, pack))) continue;
        parents.set(oid, from);
        made += 1;
      }
    });
    await Promise.all(pushers);
    let at = (await branchesOf(app)).get(name);
    let length = 0;
    for (; at !== undefined && at !== first.oid; at = parents.get(at)) length += 1;
    expect([at, length]).toEqual([first.oid, 48]);
    expect(await verifyRepositories(app.store, 10)).toEqual([]);
    const path = "GET /projects/acme%2Fsite/events?action=pushed";
    const { headers } = await app.call(path, { as: "owner" });
    expect(headers.get("x-total")).toBe("49");
    for (const { child } of both) await kill(child);
    await remove();
    await app.dispose();
  },
  120_000,
);
