import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Leases } from "../../src/jobs/leases.ts";
import * as outbox from "../../src/jobs/outbox.ts";
import { startWorker, type Worker, type WorkerSettings } from "../../src/jobs/worker.ts";
import { openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/port.ts";
import { newDatabase, type TestDatabase, waitFor } from "../helpers.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let database: TestDatabase;
let stores: Store[];
let workers: Worker[];
let now: number;
let store: Store;

beforeEach(async () => {
  database = await newDatabase();
  [stores, workers, now] = [[], [], Date.now()];
  store = await opened();
});
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await Promise.all(stores.map((one) => one.close()));
  await database.drop();
});

async function opened(): Promise<Store> {
  const made = await openStore(database.database);
  stores.push(made);
  return made;
}

/** The leases of a process. It only looks when it is told to. */
const leasesOf = (of: Store) =>
  new Leases({ store: of, now: () => now, onError: () => undefined, every: 2 ** 30 });

async function started(
  work: WorkerSettings["work"],
  more: Partial<WorkerSettings> = {},
): Promise<Worker> {
  const worker = await startWorker({
    store,
    name: "test",
    now: () => now,
    leases: leasesOf(more.store ?? store),
    elapsed: () => now,
    interval: 5,
    grace: 20,
    lanes: 2,
    work,
    onError: () => undefined,
    ...more,
  });
  workers.push(worker);
  return worker;
}

const announce = (payload: object, at = now) =>
  store.transaction((db) => outbox.announce(db, [payload], 1, at));
const queue = (worker = "test") => outbox.queued(store, { worker }, 1000, now);
const isEmpty = async () => (await queue()).length === 0;

/** Runs a worker once, so that tasks are queued for it. */
const known = async (more: Partial<WorkerSettings>) =>
  (await started(async () => ({ done: true }), more)).stop();

describe("the outbox", () => {
  it("queues tasks for existing workers, and deletes tasks of workers nobody runs any more", async () => {
    await announce({ event: 1 });
    expect(await queue()).toEqual([]);
    const worker = await started(async () => ({ done: true }));
    await worker.stop();
    await announce({ event: 2 });
    expect((await queue()).map(({ payload }) => payload)).toEqual(['{"event":2}']);
    await announce({ event: 3 }, now + 8 * DAY);
    expect(await queue()).toHaveLength(1);
  });

  it("discards tasks of a failed transaction", async () => {
    await (await started(async () => ({ done: true }))).stop();
    const failing = store.transaction(async (db) => {
      await outbox.announce(db, [{ event: 1 }], 1, now);
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await queue()).toEqual([]);
  });

  it("assigns each task to one of several processes, whatever their clocks say", async () => {
    const done: string[] = [];
    for (const skew of [0, -4 * MINUTE, 4 * MINUTE]) {
      await started(
        async ({ payload }) => {
          await new Promise((resolve) => setTimeout(resolve, 1));
          done.push(payload);
          return { done: true };
        },
        { store: await opened(), now: () => now + skew },
      );
    }
    const payloads = Array.from({ length: 120 }, (_, n) => ({ n }));
    await store.transaction((db) => outbox.add(db, "test", payloads, now - 4 * MINUTE));
    await waitFor(isEmpty);
    expect(done.sort()).toEqual(payloads.map((one) => JSON.stringify(one)).sort());
  });

  it("retries a task whose process renews its lease no more, and the first process can no longer finish it", async () => {
    let release = () => {};
    const stuck = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begun = 0;
    const first = await started(async () => {
      begun += 1;
      await stuck;
      return { done: true, follow: (db) => outbox.add(db, "late", [{}], now) };
    });
    await store.transaction((db) => outbox.add(db, "test", [{ n: 1 }], now));
    await waitFor(async () => begun === 1);
    expect((await queue())[0]).toMatchObject({ state: "running", attempts: 1 });

    const second: number[] = [];
    const leases = leasesOf(store);
    await started(
      async ({ attempts }) => {
        second.push(attempts);
        return { done: true };
      },
      { leases },
    );
    for (let looks = 0; looks < 10; looks += 1) await leases.look();
    expect((await queue())[0]).toMatchObject({ state: "running", attempts: 1 });
    await leases.look();
    await waitFor(isEmpty);
    expect(second).toEqual([2]);
    release();
    await first.stop();
    expect(await queue("late")).toEqual([]);
  });

  it("writes follow-up tasks when the task is done, atomically", async () => {
    let fails = true;
    await started(async () => ({
      done: true,
      follow: async (db) => {
        await outbox.add(db, "next", [{ n: 1 }], now);
        if (fails) throw new Error("not now");
      },
    }));
    await store.transaction((db) => outbox.add(db, "test", [{}], now));
    await waitFor(async () => (await queue())[0]?.attempts === 1);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(await queue("next")).toEqual([]);
    fails = false;
    now += 11 * MINUTE;
    await waitFor(isEmpty);
    expect(await queue("next")).toHaveLength(1);
  });

  it("pauses longer after each failure, gives up after twenty, and starts anew on request", async () => {
    let fails = true;
    const worker = await started(async () =>
      fails ? { done: false, error: "refused" } : { done: true },
    );
    await store.transaction((db) => outbox.add(db, "test", [{ n: 1 }], now));
    const begun = now;
    const pauses: number[] = [];
    for (let attempt = 1; attempt <= 20; attempt += 1) {
      await waitFor(async () => {
        const [task] = await queue();
        return task?.attempts === attempt && task.state !== "running";
      });
      const [task] = await queue();
      if (task?.dueAt) {
        pauses.push((task.dueAt - now) / MINUTE);
        now = task.dueAt;
      }
    }
    expect(pauses.slice(0, 4)).toEqual([0.5, 1, 2, 4]);
    expect(Math.max(...pauses)).toBe(240);
    expect(now - begun).toBeGreaterThan(1.5 * DAY);
    expect((await queue())[0]).toMatchObject({ state: "failed", error: "refused", dueAt: null });

    now += 30 * DAY;
    fails = false;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(await queue()).toHaveLength(1);
    expect(await store.transaction((db) => outbox.retry(db, { worker: "test" }))).toBe(1);
    await waitFor(isEmpty);
    await worker.stop();
  });

  it("gives up tasks that crash every process that tries them", async () => {
    await store.transaction(async (db) => {
      await outbox.add(db, "test", [{}], now);
      await db.run("update outbox set attempts = 20, owner = 'dead'");
    });
    const tried: number[] = [];
    await started(async ({ attempts }) => {
      tried.push(attempts);
      return { done: true };
    });
    await leasesOf(store).look();
    await waitFor(async () => (await queue())[0]?.state === "failed");
    expect(tried).toEqual([]);
  });

  it("stops soon, and releases unfinished tasks to others at once", async () => {
    let begun = false;
    const worker = await started(
      (_, signal) =>
        new Promise((resolve) => {
          begun = true;
          signal.addEventListener("abort", () => resolve("interrupted"));
        }),
    );
    await store.transaction((db) => outbox.add(db, "test", [{}], now));
    await waitFor(async () => begun);
    await worker.stop();
    expect((await queue())[0]).toMatchObject({ state: "waiting", dueAt: now });
  });

  it("queues each event for every worker, which fail and retry on their own", async () => {
    await known({ name: "hooks" });
    await known({ name: "ci" });
    await announce({ event: 1 });
    const done: string[] = [];
    await started(
      async ({ payload }) => {
        done.push(payload);
        return { done: true };
      },
      { name: "hooks" },
    );
    await started(async () => ({ done: false, error: "no runner", final: true }), { name: "ci" });
    await waitFor(async () => (await queue("ci"))[0]?.state === "failed");
    await waitFor(async () => (await queue("hooks")).length === 0);
    expect(done).toEqual(['{"event":1}']);
    const states = (await outbox.queues(store, now)).map(({ worker, waiting, running, failed }) => [
      ...[worker, waiting, running, failed],
    ]);
    expect(states).toEqual([
      ["ci", 0, 0, 1],
      ["hooks", 0, 0, 0],
    ]);
    expect(await store.transaction((db) => outbox.retry(db, { worker: "hooks" }))).toBe(0);
    expect((await queue("ci"))[0]).toMatchObject({ error: "no runner", attempts: 1 });
  });

  it("keeps the order of each key for workers that ask for it, also when attempts fail", async () => {
    await known({ ordered: true });
    for (let n = 0; n < 30; n += 1) {
      await store.transaction((db) => outbox.announce(db, [{ n }], n % 3, now));
    }
    const done: number[] = [];
    const atOnce = new Map<number, number>();
    let most = 0;
    let refusals = 2;
    const work: WorkerSettings["work"] = async ({ payload }) => {
      const { n } = JSON.parse(payload) as { n: number };
      const running = (atOnce.get(n % 3) ?? 0) + 1;
      atOnce.set(n % 3, running);
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 1));
      atOnce.set(n % 3, running - 1);
      if (n === 4 && refusals > 0) {
        refusals -= 1;
        return { done: false, error: "not yet" };
      }
      done.push(n);
      return { done: true };
    };
    for (const one of [store, await opened()]) await started(work, { store: one, ordered: true });
    const of = (key: number) => done.filter((n) => n % 3 === key);
    const all = (key: number) => Array.from({ length: 10 }, (_, at) => at * 3 + key);
    await waitFor(async () => of(0).length + of(2).length === 20);
    // The others of its key wait for the one that failed.
    expect(of(1)).toEqual([1]);
    await waitFor(async () => {
      now += MINUTE;
      return isEmpty();
    });
    expect([of(0), of(1), of(2)]).toEqual([all(0), all(1), all(2)]);
    expect(most).toBe(1);
  });

  it("goes on with a key after a task that was given up", async () => {
    await known({ ordered: true });
    await announce({ n: 1 });
    await announce({ n: 2 });
    const done: string[] = [];
    await started(
      async ({ payload }) => {
        if (payload === '{"n":1}') return { done: false, error: "refused", final: true };
        done.push(payload);
        return { done: true };
      },
      { ordered: true },
    );
    await waitFor(async () => (await queue()).length === 1);
    expect(done).toEqual(['{"n":2}']);
    expect(await queue()).toMatchObject([{ payload: '{"n":1}', state: "failed" }]);
  });

  it("is not held up by one slow task", async () => {
    let release = () => {};
    const slow = new Promise<void>((resolve) => {
      release = resolve;
    });
    const done: string[] = [];
    await started(async ({ payload }) => {
      if (payload === '{"n":0}') await slow;
      done.push(payload);
      return { done: true };
    });
    await store.transaction((db) => outbox.add(db, "test", [{ n: 0 }], now));
    await waitFor(async () => (await queue())[0]?.state === "running");
    await store.transaction((db) => outbox.add(db, "test", [{ n: 1 }, { n: 2 }], now));
    await waitFor(async () => done.length === 2);
    expect(done.sort()).toEqual(['{"n":1}', '{"n":2}']);
    release();
    await waitFor(isEmpty);
  });

  it("gives each key its turn, however many tasks another one has", async () => {
    const keys = [1, 1, 1, 1, 1, 2, 3];
    await store.transaction((db) =>
      outbox.add(
        db,
        "test",
        keys.map((key) => ({ key })),
        now,
        ({ key }) => key,
      ),
    );
    const done: number[] = [];
    const work: WorkerSettings["work"] = async ({ payload }) => {
      done.push(JSON.parse(payload).key);
      return { done: true };
    };
    await started(work, { ordered: true, lanes: 1 });
    await waitFor(isEmpty);
    expect(done).toEqual([1, 2, 3, 1, 1, 1, 1]);
  });

  it("leaves lanes for quick tasks when those of other keys take long", async () => {
    const add = (tasks: { key: number; hangs: boolean }[]) =>
      store.transaction((db) => outbox.add(db, "test", tasks, now, ({ key }) => key));
    const slow = [1, 2, 3, 4];
    await add(slow.map((key) => ({ key, hangs: false })));
    await add(slow.map((key) => ({ key, hangs: true })));
    let clock = 0;
    const hanging = new Set<number>();
    const done: number[] = [];
    const work: WorkerSettings["work"] = async ({ payload }, signal) => {
      const { key, hangs } = JSON.parse(payload) as { key: number; hangs: boolean };
      if (hangs) {
        hanging.add(key);
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return "interrupted";
      }
      if (slow.includes(key)) clock += 2000;
      done.push(key);
      return { done: true };
    };
    await started(work, { ordered: true, lanes: 4, elapsed: () => clock });
    await waitFor(async () => hanging.size === 2);
    await add([5, 6, 5].map((key) => ({ key, hangs: false })));
    await waitFor(async () => done.length === 7);
    expect(hanging.size).toBe(2);
  });

  it("does tasks of processes whose clocks are years off", async () => {
    const wrong = now + 3 * 365 * DAY;
    const failing = await started(async () => ({ done: false, error: "refused" }), {
      now: () => wrong,
    });
    await store.transaction((db) => outbox.add(db, "test", [{ n: 1 }], wrong));
    await store.transaction((db) => outbox.add(db, "test", [{ n: 2 }], wrong, () => 7));
    await waitFor(async () => (await queue()).every(({ error }) => error === "refused"));
    await failing.stop();
    await started(async () => ({ done: true }));
    await waitFor(isEmpty);
  });

  it("never takes over the task of a living process because a clock was set", async () => {
    let begun = 0;
    let release = () => {};
    const stuck = new Promise<void>((resolve) => {
      release = resolve;
    });
    const work: WorkerSettings["work"] = async () => {
      begun += 1;
      await stuck;
      return { done: true };
    };
    const both: Leases[] = [];
    for (const one of [store, await opened()]) {
      const leases = leasesOf(one);
      both.push(leases);
      await started(work, { store: one, leases });
    }
    await store.transaction((db) => outbox.add(db, "test", [{ n: 1 }], now));
    await waitFor(async () => begun === 1);
    now += 3 * 365 * DAY;
    const [before] = await store.transaction((db) => db.rows("select owner from outbox"));
    for (let looks = 0; looks < 30; looks += 1) for (const leases of both) await leases.look();
    expect(await store.rows("select owner from outbox")).toEqual([before]);
    release();
    await waitFor(isEmpty);
    expect(begun).toBe(1);
  });

  it("reports a result that can't be written as a failed attempt", async () => {
    await started(async () => ({
      done: true,
      follow: async () => {
        throw new Error("no such project");
      },
    }));
    await store.transaction((db) => outbox.add(db, "test", [{}], now));
    await waitFor(async () => (await queue())[0]?.error === "no such project");
    expect((await queue())[0]).toMatchObject({ state: "waiting", attempts: 1 });
  });
});
