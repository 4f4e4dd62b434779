// `npm run bench:engines`: how fast PostgreSQL on a socket is beside SQLite, and two workers beside one. It measures and
// never fails for being slow.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import Table from "cli-table3";
import { copyDatabase, createApp } from "../../src/index.ts";
import { startPostgres } from "../postgres-server.ts";
import { load } from "./load.ts";
import { type Operation, operationsOn } from "./operations.ts";
import { freePort, pinDriver, startServer } from "./processes.ts";
import { median } from "./report.ts";
import { mediumSeed } from "./seed.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "2" },
  },
});
const rounds = Number(options.rounds);
const duration = Number(options.seconds);
const WARM_UP = 1000;

const script = (name: string) => fileURLToPath(new URL(`servers/${name}.mjs`, import.meta.url));
const cli = fileURLToPath(new URL("../../dist/pm-cli.js", import.meta.url));

/** What is asked, and the least share of the first one's rate that is good enough for the second. */
const FLOORS = { single: 0.3, list: 0.5, workers: 1.6 };

interface Contender {
  name: string;
  url: string;
  stop(): Promise<unknown>;
}

const folder = mkdtempSync(join(tmpdir(), "pm-bench-"));
// Started before this process is pinned to a core, which its children would share.
const postgres = await startPostgres();
try {
  const file = join(folder, "bench.db");
  const app = await createApp({ database: file });
  await app.admin.seed(mediumSeed());
  const operations = await operationsOn(app);
  await app.close();
  const onSocket = `postgres://postgres:postgres@/postgres?host=${postgres.socket}&port=${postgres.port}`;
  await copyDatabase({ from: file, to: onSocket });

  const table = new Table({
    head: ["", "first", "req/s", "second", "req/s", "ratio", "floor", ""],
    style: { head: [], border: [], compact: true },
  });
  const reads = operations.filter(({ method }) => method === "GET");
  const workers = [await served(file, 1), await served(file, 2)] as const;
  for (const operation of reads) {
    table.push(await compared(operation, workers, FLOORS.workers));
  }
  for (const { stop } of workers) await stop();

  pinDriver();
  const engines = [
    { name: "SQLite", ...(await startServer([script("app"), file])) },
    { name: "PostgreSQL", ...(await startServer([script("app"), onSocket])) },
  ] as const;
  for (const operation of operations) {
    const isSingle = operation.name.startsWith("one ");
    const floor = operation.method === "POST" ? undefined : FLOORS[isSingle ? "single" : "list"];
    table.push(await compared(operation, engines, floor));
  }
  for (const { stop } of engines) await stop();
  console.log(
    `Medians of ${rounds} rounds of ${duration} s, ratios within a round. Workers share the cores with what asks them.`,
  );
  console.log(table.toString());
} finally {
  await postgres.remove();
  rmSync(folder, { recursive: true, force: true });
}

/** Asks two servers in turn, and gives the row that compares them. */
async function compared(
  operation: Operation,
  [first, second]: readonly [Contender, Contender],
  floor: number | undefined,
): Promise<string[]> {
  for (const { url } of [first, second]) await load(url, operation, { amount: WARM_UP });
  const rates: [number, number][] = [];
  const rateOf = async ({ url }: Contender) => {
    const done = await load(url, operation, { duration });
    return done.total / done.duration;
  };
  for (let round = 0; round < rounds; round += 1) {
    process.stderr.write(`${operation.name}: round ${round + 1} of ${rounds}\n`);
    const one = await rateOf(first);
    rates.push([one, await rateOf(second)]);
  }
  const ratio = median(rates.map(([one, other]) => other / one));
  return [
    operation.name,
    first.name,
    median(rates.map(([one]) => one)).toFixed(0),
    second.name,
    median(rates.map(([, other]) => other)).toFixed(0),
    ratio.toFixed(2),
    floor === undefined ? "" : `≥ ${floor}`,
    floor === undefined ? "" : ratio >= floor ? "met" : "NOT MET",
  ];
}

/** The command, on as many cores as there are. */
async function served(file: string, count: number): Promise<Contender> {
  const port = await freePort();
  const args = [cli, "serve", "--db", file, "--port", String(port), "--workers", String(count)];
  const child: ChildProcess = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  while (!said.includes("listening"))
    said += (await once(child.stdout as NonNullable<typeof child.stdout>, "data"))[0];
  child.stdout?.resume();
  return {
    name: count === 1 ? "1 worker" : `${count} workers`,
    url: `http://127.0.0.1:${port}`,
    stop: () => {
      child.kill();
      return once(child, "exit");
    },
  };
}
