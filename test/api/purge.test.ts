import { afterAll, beforeAll, expect, it } from "vitest";
import { createAppOn } from "../../src/app.ts";
import { Leases } from "../../src/jobs/leases.ts";
import { claim } from "../../src/jobs/periodic.ts";
import { type TestApp, testApp } from "../helpers.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");
let clock = NOW;
let app: TestApp;
beforeAll(async () => {
  app = await testApp({ now: () => clock });
});
afterAll(() => app.dispose());

/** Creates a push event on each of these days. */
async function pushesOn(...days: string[]) {
  for (const day of days) {
    clock = Date.parse(`${day}T12:00:00Z`);
    await app.admin.activity.recordPush({
      project: "acme/site",
      user: "developer",
      ref: "refs/heads/main",
      from: "a".repeat(40),
      to: "b".repeat(40),
      commitCount: 1,
      commitTitle: day,
    });
  }
  clock = NOW;
}

const titles = async () => {
  const { json, headers } = await app.call("GET /projects/acme%2Fsite/events?per_page=100");
  expect(headers.get("x-total")).toBe(String(json.length));
  return json.map((event: { push_data: { commit_title: string } }) => event.push_data.commit_title);
};

it("removes only what is older than two years", async () => {
  await pushesOn("2024-11-20", "2024-11-22", "2026-01-01", "2020-02-02");
  const dry = await app.admin.maintenance.purgeEvents({ dryRun: true });
  expect(dry).toEqual({
    events: 2,
    audit_events: 0,
    before: "2024-11-21T12:00:00.000Z",
    dry_run: true,
  });
  expect(await titles()).toHaveLength(4);
  expect(await app.admin.maintenance.purgeEvents()).toEqual({ ...dry, dry_run: false });
  expect(await titles()).toEqual(["2026-01-01", "2024-11-22"]);
  expect((await app.admin.maintenance.purgeEvents()).events).toBe(0);
});

it("accepts another age, and reports its progress", async () => {
  const told: [number, number][] = [];
  const purged = await app.admin.maintenance.purgeEvents({
    olderThan: "6m",
    onProgress: (done, total) => told.push([done, total]),
  });
  expect(purged.events).toBe(2);
  expect(told.at(-1)).toEqual([2, 2]);
  expect(await titles()).toEqual([]);
  await expect(app.admin.maintenance.purgeEvents({ olderThan: "soon" })).rejects.toThrow(
    "purgeEvents: olderThan must be a number and d, w, m or y, such as 2y",
  );
});

it("removes nothing if retention is switched off", async () => {
  const keeping = await testApp({ now: () => clock, eventRetention: false });
  expect((await keeping.admin.maintenance.purgeEvents()).events).toBe(0);
  await keeping.dispose();
});

it("keeps totals correct across many batches", async () => {
  const days = Array.from({ length: 300 }, () => "2023-03-03");
  await pushesOn(...days, "2026-11-01");
  const told: number[] = [];
  const { events } = await app.admin.maintenance.purgeEvents({
    onProgress: (done) => told.push(done),
  });
  expect(events).toBe(300);
  expect(told.length).toBeGreaterThan(1);
  const { headers } = await app.call("GET /users/developer/events?per_page=1", { as: "guest" });
  expect(headers.get("x-total")).toBe("1");
});

it("is done once a day by one of the processes that share the database", async () => {
  const other = await createAppOn(app.store, { now: () => clock, background: false });
  const both = () => Promise.all([app, other].map(({ admin }) => admin.maintenance.sweepDaily()));
  const HOUR = 3_600_000;
  await pushesOn("2024-01-01", "2024-01-02");
  const first = await both();
  expect(first.filter(Boolean)).toEqual([
    {
      events: 2,
      audit_events: expect.any(Number),
      members: 0,
      before: "2024-11-21T12:00:00.000Z",
      dry_run: false,
    },
  ]);
  clock = NOW + 23 * HOUR;
  expect(await both()).toEqual([undefined, undefined]);
  clock = NOW + 24 * HOUR;
  expect((await both()).filter(Boolean)).toHaveLength(1);

  // A process that claimed the job and died.
  clock = NOW + 48 * HOUR;
  const lease = { owner: "dead", process: 0 };
  await app.store.transaction((db) => claim(db, { name: "sweep", every: 24 * HOUR }, lease, clock));
  expect(await both()).toEqual([undefined, undefined]);
  await new Leases({ store: app.store, now: () => clock, onError: console.error }).look();
  expect((await both()).filter(Boolean)).toHaveLength(1);
  clock = NOW;
});
