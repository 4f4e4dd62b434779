import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type OsProcess, thisProcess } from "../../src/core/os-process.ts";
import { Leases } from "../../src/jobs/leases.ts";
import * as outbox from "../../src/jobs/outbox.ts";
import { runPeriodic } from "../../src/jobs/periodic.ts";
import { startWorker, type Worker, type WorkerSettings, workOff } from "../../src/jobs/worker.ts";
import { openStore } from "../../src/store/open.ts";
import { type Store, UnavailableError } from "../../src/store/port.ts";
import { newDatabase, type TestDatabase, waitFor } from "../helpers.ts";

let database: TestDatabase;
let store: Store;
let workers: Worker[];
let now: number;
/** Whether the database refuses to write, as on a full disk. */
let isFull: boolean;

beforeEach(async () => {
  database = await newDatabase();
  [store, workers, now, isFull] = [await openStore(database.database), [], Date.now(), false];
});
afterEach(async () => {
  isFull = false;
  await Promise.all(workers.map((worker) => worker.stop()));
  await store.close();
  await database.drop();
});

const full = () => new UnavailableError("the database does not answer: database or disk is full");

/** The database, whose transactions fail while {@link isFull}. */
const filling = (): Store => ({
  ...store,
  transaction: async (work, options) => {
    if (isFull) throw full();
    return store.transaction(work, options);
  },
});

const errors: unknown[] = [];
/** The leases of a process, which only looks when it is told to. */
const leasesOf = (of: Store, holder?: OsProcess) =>
  new Leases({
    ...{ store: of, now: () => now, every: 2 ** 30 },
    onError: (error) => errors.push(error),
    ...(holder && { holder }),
  });

const settingsOf = (more: Partial<WorkerSettings> & Pick<WorkerSettings, "work">) => ({
  ...{ store, name: "test", now: () => now, interval: 5, grace: 20, lanes: 2, announced: false },
  leases: leasesOf(more.store ?? store),
  onError: (error: unknown) => errors.push(error),
  ...more,
});

async function started(more: Parameters<typeof settingsOf>[0]): Promise<Worker> {
  const worker = await startWorker(settingsOf(more));
  workers.push(worker);
  return worker;
}

const add = (...numbers: number[]) =>
  store.transaction((db) =>
    outbox.add(
      db,
      "test",
      numbers.map((n) => ({ n })),
      now,
      () => 7,
    ),
  );
const queue = () => outbox.queued(store, {}, 1000, now);
const isEmpty = async () => (await queue()).length === 0;
const processes = () => store.rows("select id from processes");

/** Leaves a task behind that a process was doing when it ended. */
async function abandon(holder: OsProcess, attempts = 1): Promise<void> {
  await add(1);
  await leasesOf(store, holder).hold(({ owner, process }) =>
    store.transaction((db) =>
      db.run("update outbox set owner = ?, process = ?, leased_at = ?, attempts = ?", [
        ...[owner, process, now, attempts],
      ]),
    ),
  );
}

/** A process of this machine that has ended. */
async function ended(): Promise<OsProcess> {
  const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
  await once(child, "close");
  return { ...thisProcess(), pid: child.pid as number };
}

const living = thisProcess();
/** Deno does not let programs look which machine and processes there are: there, it takes as long as on another machine. */
const itOnKnownMachine = it.skipIf(living.machine === "");
const elsewhere: OsProcess = { machine: "another", pid: living.pid, started: living.started };

itOnKnownMachine(
  "takes over at once what a process of this machine was doing when it died",
  async () => {
    await abandon(await ended());
    expect(await queue()).toMatchObject([{ state: "running" }]);
    await leasesOf(store).look();
    expect(await queue()).toMatchObject([{ state: "waiting", dueAt: now, attempts: 1 }]);
    expect(await processes()).toEqual([]);
  },
);

// Only Linux tells when a process was started.
it.skipIf(process.platform !== "linux" || living.machine === "")(
  "takes over from a process whose number another one has got",
  async () => {
    await abandon({ ...living, started: "1" });
    await leasesOf(store).look();
    expect(await queue()).toMatchObject([{ state: "waiting" }]);
  },
);

it("takes over from another machine once it was found ten times without a renewal, and not while it renews", async () => {
  await abandon(elsewhere);
  const leases = leasesOf(store);
  const look = async (times: number) => {
    for (let looks = 0; looks < times; looks += 1) await leases.look();
  };
  await look(10);
  await store.transaction((db) => db.run("update processes set beat = beat + 1"));
  await look(10);
  expect(await queue()).toMatchObject([{ state: "running" }]);
  await look(1);
  expect(await queue()).toMatchObject([{ state: "waiting" }]);
  expect(await processes()).toEqual([]);
});

it("leaves what living processes do alone", async () => {
  await abandon(living);
  for (let looks = 0; looks < 10; looks += 1) await leasesOf(store).look();
  expect(await queue()).toMatchObject([{ state: "running", stuck: null }]);
});

it("takes over what older versions left", async () => {
  await add(1);
  await store.transaction((db) => db.run("update outbox set owner = 'old', attempts = 1"));
  await leasesOf(store).look();
  expect(await queue()).toMatchObject([{ state: "waiting" }]);
});

itOnKnownMachine(
  "waits before a task is tried again whose processes died again and again",
  async () => {
    await abandon(await ended(), 7);
    await leasesOf(store).look();
    expect(await queue()).toMatchObject([{ state: "waiting", dueAt: now + 60_000 }]);
  },
);

itOnKnownMachine("runs periodic jobs at once that a process was running when it died", async () => {
  const job = { name: "tea", every: 5000 };
  const settings = { store, now: () => now, leases: leasesOf(store, await ended()) };
  let drunk = 0;
  const die = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
  // It dies before it can tell.
  const dying = { ...settings, store: filling() };
  const run = runPeriodic(dying, job, async () => {
    isFull = true;
    await die();
  });
  await expect(run).rejects.toThrow("full");
  isFull = false;
  const other = { ...settings, leases: leasesOf(store) };
  const tea = () => runPeriodic(other, job, async () => (drunk += 1));
  expect(await tea()).toBeUndefined();
  await other.leases.look();
  expect(await tea()).toBe(1);
  expect(await tea()).toBeUndefined();
});

it("writes how a task ended as soon as the database answers, and does it once", async () => {
  const done: string[] = [];
  const effects: string[] = [];
  await started({
    store: filling(),
    ordered: true,
    work: async ({ payload }) => {
      done.push(payload);
      if (done.length === 1) isFull = true;
      return { done: true, follow: () => void effects.push(payload) };
    },
  });
  errors.length = 0;
  await add(1, 2);
  await waitFor(async () => errors.length >= 3);
  expect(await queue()).toMatchObject([{ state: "running" }, { state: "waiting" }]);
  isFull = false;
  await waitFor(isEmpty);
  expect(done).toEqual(['{"n":1}', '{"n":2}']);
  expect(effects).toEqual(done);
});

it("hands over a lease of which it was not told that it was written", async () => {
  let isCut = true;
  const cut: Store = {
    ...store,
    transaction: async (work, options) => {
      const result = await store.transaction(work, options);
      // The first one registers the process.
      if (isCut && (await queue())[0]?.state === "running") {
        isCut = false;
        throw full();
      }
      return result;
    },
  };
  let done = 0;
  const leases = leasesOf(cut);
  await started({
    ...{ store: cut, leases },
    work: async () => {
      done += 1;
      return { done: true };
    },
  });
  await add(1);
  await waitFor(async () => !isCut);
  await waitFor(async () => {
    await leases.look();
    return isEmpty();
  });
  expect(done).toBe(1);
});

it("tries a task soon again that failed because the database did not answer", async () => {
  await started({
    work: async () => {
      throw full();
    },
  });
  await add(1);
  await waitFor(async () => (await queue())[0]?.error !== null);
  const [task] = await queue();
  expect(task).toMatchObject({ state: "waiting", attempts: 1, dueAt: now + 1000 });
});

it("stores errors that PostgreSQL would refuse", async () => {
  await started({
    work: async () => ({ done: false, error: `it answered \0${"x".repeat(9000)}` }),
  });
  await add(1);
  await waitFor(async () => (await queue())[0]?.error !== null);
  expect((await queue())[0]?.error).toMatch(/^it answered x{1900,2000}$/);
});

itOnKnownMachine(
  "stops although the database is away; whoever starts next does what was not written",
  async () => {
    const leases = leasesOf(filling(), await ended());
    const worker = await started({
      ...{ store: filling(), leases },
      work: async () => {
        isFull = true;
        return { done: true };
      },
    });
    await add(1);
    await waitFor(async () => isFull);
    await worker.stop();
    await leases.close();
    isFull = false;
    expect(await queue()).toMatchObject([{ state: "running" }]);
    const next = leasesOf(store);
    await next.look();
    const work = async () => ({ done: true }) as const;
    expect(await workOff(settingsOf({ leases: next, work }))).toBe(1);
    expect(await queue()).toEqual([]);
  },
);

it("leaves nothing behind when it is closed", async () => {
  const leases = leasesOf(store);
  await add(1);
  await leases.hold(async ({ owner, process }) => {
    await store.transaction((db) =>
      db.run("update outbox set owner = ?, process = ?", [owner, process]),
    );
    await leases.close();
  });
  expect(await queue()).toMatchObject([{ state: "waiting", dueAt: now }]);
  expect(await processes()).toEqual([]);
});

it("registers a process again that others have taken for dead", async () => {
  const leases = leasesOf(store);
  await leases.hold(async () => undefined);
  await store.transaction((db) => db.run("delete from processes"));
  await leases.look();
  await leases.hold(async () => undefined);
  await leases.look();
  expect(await processes()).toHaveLength(1);
});

it("tells which tasks are stuck, and why", async () => {
  await abandon(elsewhere);
  const stuck = async () => (await queue())[0]?.stuck;
  const count = async () => (await outbox.queues(store, now))[0]?.stuck;
  expect([await stuck(), await count()]).toEqual([null, 0]);
  const seen = new Date(now).toISOString();
  now += 31_000;
  expect(await stuck()).toBe(`process ${living.pid} was last heard of at ${seen}`);
  expect(await count()).toBe(1);
  now += 900_000;
  await store.transaction((db) => db.run("update processes set seen_at = ?", [now]));
  expect(await stuck()).toBe(`process ${living.pid} has been doing it since ${seen}`);
  await store.transaction((db) => db.run("delete from processes"));
  expect(await stuck()).toBe("its process has ended");
  expect(await outbox.stuckTasks(store, now)).toEqual({ test: 1 });
});
