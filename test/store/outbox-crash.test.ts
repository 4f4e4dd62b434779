import type { ChildProcess } from "node:child_process";
import { expect, it } from "vitest";
import * as outbox from "../../src/jobs/outbox.ts";
import { allResources } from "../../src/mounts.ts";
import { migrate } from "../../src/store/migrate.ts";
import { openStore } from "../../src/store/open.ts";
import { repeats } from "../forms.ts";
import { newDatabase } from "../helpers.ts";
import { kill, programOf, startProgram } from "../program.ts";

const KILLS = repeats(2, 8);
const migration = {
  id: "99999999-99-facts",
  sql: `
create table facts (id $id, key $int not null);
create table effects (id $id, worker $text not null, fact $int not null);
`,
};

it("loses and doubles nothing, and keeps the order, when processes under load are killed at any time", async () => {
  const { database, drop } = await newDatabase();
  const store = await openStore(database);
  const migrations = allResources.flatMap((mount) => mount.migrations);
  await migrate(store, [...migrations, migration], Date.now());
  const program = await programOf(new URL("_outbox-process.ts", import.meta.url));
  const start = (role: "worker" | "writer", number: number) =>
    startProgram(program, role, database, String(number));
  const count = async (table: string) =>
    (await store.rows(`select count(*) from ${table}`))[0]?.[0] as number;
  const atLeast = async (table: string, least: number) => {
    while ((await count(table)) < least) await new Promise((resolve) => setTimeout(resolve, 5));
  };

  let workers: ChildProcess[] = await Promise.all([start("worker", -1), start("worker", 1)]);
  for (let killed = 0; killed < KILLS; killed += 1) {
    const writers = await Promise.all([start("writer", 0), start("writer", 1)]);
    // At any point while both write and work.
    await atLeast("effects", (await count("effects")) + 20 + 7 * killed);
    await atLeast("facts", 20 * (killed + 1) + 1);
    await kill(workers.shift() as ChildProcess);
    for (const writer of writers) await kill(writer);
    workers = [...workers, await start("worker", killed % 2)];
  }
  while ((await count("outbox")) > 0) await new Promise((resolve) => setTimeout(resolve, 50));
  for (const child of workers) await kill(child);
  await program.remove();

  const facts = (await store.rows("select id, key from facts order by id")) as [number, number][];
  expect(facts.length).toBeGreaterThan(20 * KILLS);
  const effects = await store.rows("select worker, fact from effects order by id");
  const of = (worker: string) =>
    effects.filter(([name]) => name === worker).map(([, fact]) => fact as number);
  const ids = facts.map(([id]) => id);
  expect(of("counting").sort((one, other) => one - other)).toEqual(ids);
  const keys = new Map(facts);
  for (const key of new Set(keys.values())) {
    const inOrder = of("ordering").filter((fact) => keys.get(fact) === key);
    expect(inOrder).toEqual(ids.filter((id) => keys.get(id) === key));
  }
  expect(await outbox.queues(store, Date.now())).toMatchObject([{ failed: 0 }, { failed: 0 }]);
  await store.close();
  await drop();
});
