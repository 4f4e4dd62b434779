import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as outbox from "../../src/jobs/outbox.ts";
import { allResources } from "../../src/mounts.ts";
import { migrate } from "../../src/store/migrate.ts";
import { openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/port.ts";
import { newDatabase, type TestDatabase, waitFor } from "../helpers.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let database: TestDatabase;
let stores: Store[];
let workers: outbox.Worker[];
let now: number;
let store: Store;

beforeEach(async () => {
  database = await newDatabase();
  [stores, workers, now] = [[], [], Date.now()];
  store = await opened();
  await migrate(
    store,
    allResources.flatMap(({ migrations }) => migrations),
    now,
  );
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

async function started(
  work: outbox.WorkerSettings["work"],
  more: Partial<outbox.WorkerSettings> = {},
): Promise<outbox.Worker> {
  const worker = await outbox.startWorker({
    store,
    name: "test",
    now: () => now,
    interval: 5,
    lanes: 2,
    work,
    onError: () => undefined,
    ...more,
  });
  workers.push(worker);
  return worker;
}

const announce = (payload: object, at = now) =>
  store.transaction((db) => outbox.announce(db, payload, at));
const queue = () => outbox.queued(store, "test", now, 1000);
const isEmpty = async () => (await queue()).length === 0;

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
      await outbox.announce(db, { event: 1 }, now);
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

  it("retries a task whose lease ran out, and the first process can no longer finish it", async () => {
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
    await started(async ({ attempts }) => {
      second.push(attempts);
      return { done: true };
    });
    now += 9 * MINUTE;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(second).toEqual([]);
    now += 2 * MINUTE;
    await waitFor(isEmpty);
    expect(second).toEqual([2]);
    release();
    await first.stop();
    expect(await outbox.queued(store, "late", now, 10)).toEqual([]);
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
    expect(await outbox.queued(store, "next", now, 10)).toEqual([]);
    fails = false;
    now += 11 * MINUTE;
    await waitFor(isEmpty);
    expect(await outbox.queued(store, "next", now, 10)).toHaveLength(1);
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
    expect(await store.transaction((db) => outbox.retry(db, "test", now))).toBe(1);
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
});
