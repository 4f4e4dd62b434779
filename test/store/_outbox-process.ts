// Records facts, or works on them, in its own process until killed; prints a line when it has begun.

import { Leases } from "../../src/jobs/leases.ts";
import * as outbox from "../../src/jobs/outbox.ts";
import { startWorker } from "../../src/jobs/worker.ts";
import { openStore } from "../../src/store/open.ts";

const [role, database, number] = process.argv.slice(2) as [string, string, string];
const store = await openStore(database);
/** Clocks differ by minutes. */
const now = () => Date.now() + Number(number) * 240_000;

/** Others take a process for dead after 0.1 seconds, so that some leases are lost by processes that are only slow. */
const leases = new Leases({
  store,
  now,
  onError: (error) => console.error(error),
  every: 10,
  // So that they are not told by their numbers.
  holder: { machine: number, pid: 1, started: "" },
});
leases.start();

async function work(name: string, ordered: boolean): Promise<void> {
  await startWorker({
    store,
    name,
    now,
    leases,
    interval: 5,
    lanes: 4,
    ordered,
    work: async ({ payload }) => {
      const { fact } = JSON.parse(payload) as { fact: number };
      await new Promise((resolve) => setTimeout(resolve, 2));
      return {
        done: true,
        follow: (db) =>
          void db.run("insert into effects (worker, fact) values (?, ?)", [name, fact]),
      };
    },
    onError: (error) => console.error(error),
  });
}

async function record(key: number): Promise<void> {
  await store.transaction(
    async (db) => {
      const [row] = await db.rows("insert into facts (key) values (?) returning id", [key]);
      await outbox.announce(db, [{ fact: row?.[0] as number }], key, now());
    },
    { shared: true },
  );
}

if (role === "worker") {
  await work("counting", false);
  await work("ordering", true);
  console.log("ready");
} else {
  console.log("ready");
  for (;;) {
    await Promise.all([0, 1, 2].map((key) => record(Number(number) * 10 + key)));
    // Otherwise the workers would need long to catch up.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
