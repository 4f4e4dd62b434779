import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { verifyRepositories } from "../../src/git/verify.ts";
import { openWorkshop, randomOf } from "../api/_git.ts";
import { isLong, isRepeated, repeats, SEED } from "../forms.ts";
import { engine, type TestApp, testApp, tokenOf } from "../helpers.ts";
import { newCommit, pushHeaders, pushOf } from "../packs.ts";
import { programOf } from "../program.ts";

const KILLS = repeats(5, 30);
const PROJECT = "acme/site";

/** Processes that serve a database. */
async function servers(app: TestApp) {
  const program = await programOf(new URL("_git-process.ts", import.meta.url));
  return {
    start: async (...more: string[]) => {
      const child = spawn(process.execPath, [program.file, app.database, ...more], {
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

const COMMITS = 10_000;
const ROUNDS = 9;
const DAY = 24 * 60 * 60_000;

/** A history of one branch with {@link COMMITS} commits, each of which changes one of a hundred files. */
function longHistory(): string {
  const commits = Array.from({ length: COMMITS }, (_, number) => {
    const [message, text] = [`Commit ${number}`, `${randomBytes(60).toString("hex")}\n`];
    return (
      `commit refs/heads/main\ncommitter A <a@example.com> ${1_600_000_000 + number} +0000\n` +
      `data ${message.length}\n${message}\nM 100644 inline f${number % 100}\ndata ${text.length}\n${text}\n`
    );
  });
  return commits.join("");
}

/** Passes connections on to another port, and tells when it has passed on some bytes of answers. */
async function startRelay() {
  let port = 0;
  let left = 0;
  let total = 0;
  let reached = () => undefined as unknown;
  const relay = createServer((incoming) => {
    const outgoing = connect(port, "127.0.0.1");
    outgoing.on("data", ({ length }) => {
      total += length;
      left -= length;
      if (left <= 0) reached();
    });
    incoming.on("error", () => outgoing.destroy());
    outgoing.on("error", () => incoming.destroy());
    incoming.pipe(outgoing).pipe(incoming);
  });
  relay.listen(0, "127.0.0.1");
  await once(relay, "listening");
  return {
    url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`,
    /** Leads to the port of a URL from now on. Resolves when some bytes have been passed on. */
    lead: (url: string, bytes: number) => {
      port = Number(new URL(url).port);
      [left, total] = [bytes, 0];
      return new Promise<void>((resolve) => {
        reached = () => resolve();
      });
    },
    total: () => total,
    close: () => relay.close(),
  };
}

/** Waits until a mirror was updated after an instant, or its server is gone. Returns `true`. */
async function untilUpdated(url: string, after: number): Promise<true> {
  for (;;) {
    const headers = { "private-token": tokenOf("owner") };
    const answer = await fetch(url, { headers }).catch(() => undefined);
    if (!answer) return true;
    const { update_status: status, last_update_at: at } = await answer.json();
    if (/^(finished|failed)$/.test(status) && Date.parse(at) > after) return true;
    await sleep(20);
  }
}

it.runIf(isLong && !isRepeated)(
  "keeps a mirror of 10,000 commits in step while either side is killed, or both",
  async () => {
    const [source, target] = [await testApp(), await testApp()];
    const [there, here] = [await servers(source), await servers(target)];
    const workshop = await openWorkshop(source);
    const relay = await startRelay();
    await workshop.importInto("origin", longHistory());
    await workshop.git("origin", "push", "--quiet", "--mirror", workshop.url(PROJECT, "owner"));
    const path = `/projects/${encodeURIComponent(PROJECT)}/mirror/pull`;
    const url = `${relay.url.replace("//", `//any:${tokenOf("owner")}@`)}/${PROJECT}.git`;
    const allowing = await target.another({ webhooks: { allowLocalRequests: true } });
    const set = await allowing.call(`PUT ${path}`, { as: "owner", json: { url, enabled: true } });
    expect([set.status, set.text]).toEqual([200, set.text]);
    await allowing.close();

    const random = randomOf(SEED);
    let size = 1_500_000;
    let interrupted = 0;
    for (let round = 0; round <= ROUNDS; round += 1) {
      const first = await there.start();
      const address = first.url.replace("//", `//any:${tokenOf("owner")}@`);
      await workshop.git("origin", "branch", "--force", `b${round % 3}`, `main~${random(COMMITS)}`);
      const tree = await workshop.git("origin", "rev-parse", "main^{tree}");
      const made = ["commit-tree", tree, "-p", "main", "-m", `Round ${round}`];
      const commit = await workshop.git("origin", ...made);
      await workshop.git("origin", "update-ref", "refs/heads/main", commit);
      await workshop.git("origin", "push", "--quiet", "--mirror", `${address}/${PROJECT}.git`);
      const isLast = round === ROUNDS;
      const enough = relay.lead(first.url, isLast ? Number.POSITIVE_INFINITY : random(size));
      const second = await here.start(String((round + 1) * DAY));
      const updated = untilUpdated(`${second.url}/api/v4${path}`, Date.now() + round * DAY);
      const isOver = await Promise.race([updated, enough.then(() => false)]);
      if (isOver) size = relay.total();
      else interrupted += 1;
      // What the mirror stores after the last byte is interrupted, too.
      if (!isLast) await sleep(random(200));
      if (round % 3 === 0) {
        await there.kill(first.child);
        if (!isOver) await updated;
        await here.kill(second.child);
      } else {
        await here.kill(second.child);
        await there.kill(first.child);
      }
    }
    expect(interrupted).toBeGreaterThan(ROUNDS / 4);
    const refs = (await workshop.git("origin", "for-each-ref", "--format=%(refname) %(objectname)"))
      .split("\n")
      .map((line) => line.split(" ") as [string, string]);
    expect(await branchesOf(target)).toEqual(new Map(refs));
    for (const { store } of [source, target]) {
      expect(await verifyRepositories(store, 10)).toEqual([]);
    }
    relay.close();
    await workshop.close();
    for (const { remove } of [there, here]) await remove();
    for (const app of [source, target]) await app.dispose();
  },
  1_200_000,
);
