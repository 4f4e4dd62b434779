// `npm run bench:outbox`: how many transactions a second record something on SQLite while workers are told of it,
// relative to nobody being told. It only measures and never fails for being slow.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Table from "cli-table3";
import { Leases } from "../../src/jobs/leases.ts";
import { announce } from "../../src/jobs/outbox.ts";
import { startWorker } from "../../src/jobs/worker.ts";
import { allResources } from "../../src/mounts.ts";
import { migrate } from "../../src/store/migrate.ts";
import { openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/port.ts";
import { median } from "./report.ts";

const ROUNDS = 5;
const FACTS = 2000;
const FACTS_TABLE = {
  id: "99999999-99-facts",
  sql: "\ncreate table facts (id $id, at $int not null);\n",
};

const start = (store: Store, name: string) =>
  startWorker({
    store,
    name,
    now: Date.now,
    leases: new Leases({ store, now: Date.now, onError: console.error }),
    interval: 10,
    lanes: 4,
    work: async () => ({ done: true }),
    onError: (error) => console.error(error),
  });

/** Records facts one after another, and returns how many a second. */
async function record(store: Store): Promise<number> {
  const started = performance.now();
  for (let fact = 0; fact < FACTS; fact += 1) {
    // As between requests, the event loop gets a turn: the workers live on it.
    await new Promise((resolve) => setImmediate(resolve));
    await store.transaction(async (db) => {
      await db.run("insert into facts (at) values (?)", [started]);
      await announce(db, [{ fact }], fact % 10, Date.now());
    });
  }
  return (1000 * FACTS) / (performance.now() - started);
}

const folder = mkdtempSync(join(tmpdir(), "pm-bench-outbox-"));
const rates: Record<"nobody" | "queued" | "done" | "thrice", number>[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const store = await openStore(join(folder, `${round}.db`));
  await migrate(
    store,
    [...allResources.flatMap(({ migrations }) => migrations), FACTS_TABLE],
    Date.now(),
  );
  const nobody = await record(store);
  await (await start(store, "first")).stop();
  const queued = await record(store);
  await store.transaction((db) => db.run("delete from outbox"));
  const first = await start(store, "first");
  const done = await record(store);
  await store.transaction((db) => db.run("delete from outbox"));
  const others = [await start(store, "second"), await start(store, "third")];
  const thrice = await record(store);
  for (const worker of [first, ...others]) await worker.stop();
  await store.close();
  rates.push({ nobody, queued, done, thrice });
}
rmSync(folder, { recursive: true });

const table = new Table({
  head: ["workers", "transactions/s", "to none"],
  style: { head: [], border: [], compact: true },
});
for (const [name, title] of [
  ["nobody", "none"],
  ["queued", "one, not running"],
  ["done", "one, running in this process"],
  ["thrice", "three, running in this process"],
] as const) {
  const rate = median(rates.map((one) => one[name])).toFixed(0);
  table.push([title, rate, median(rates.map((one) => one[name] / one.nobody)).toFixed(2)]);
}
console.log(`Medians of ${ROUNDS} rounds of ${FACTS} transactions.\n${table}`);
