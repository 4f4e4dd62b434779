// `npm run bench:engines`: how fast PostgreSQL on a socket is beside SQLite, and two workers beside one. It measures and
// never fails for being slow. `--only workers` or `--only engines` measures one of them.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import Table from "cli-table3";
import { copyDatabase, createApp } from "../../src/index.ts";
import { startPostgres } from "../postgres-server.ts";
import { hasWrk, load, loadByWrk } from "./load.ts";
import { type Operation, operationsOn } from "./operations.ts";
import { freePort, pinDriver, startServer } from "./processes.ts";
import { median } from "./report.ts";
import { mediumSeed } from "./seed.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "2" },
    only: { type: "string", default: "workers,engines" },
  },
});
const rounds = Number(options.rounds);
const duration = Number(options.seconds);
const parts = options.only.split(",");
const WARM_UP = 1000;
/** Microseconds of Linux' unit of CPU time, whatever the machine. */
const TICK = 10_000;

const script = (name: string) => fileURLToPath(new URL(`servers/${name}.mjs`, import.meta.url));
const cli = fileURLToPath(new URL("../../dist/pm-cli.js", import.meta.url));

/** What is asked, and the least share of the first one's rate that is good enough for the second. */
const FLOORS = { single: 0.3, list: 0.5, workers: 1.6 };

interface Contender {
  name: string;
  url: string;
  /** CPU time used until now, in microseconds, by all its processes. */
  cpu(): number | Promise<number>;
  /** How many cores it can use. */
  cores: number;
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
    head: ["", "first", "req/s", "second", "req/s", "ratio", "by CPU", "floor", ""],
    style: { head: [], border: [], compact: true },
  });
  if (parts.includes("workers")) {
    const reads = operations.filter(({ method }) => method === "GET");
    const workers = [await served(file, 1), await served(file, 2)] as const;
    for (const operation of reads) {
      table.push(await compared(operation, workers, FLOORS.workers, hasWrk ? loadByWrk : load));
    }
    for (const { stop } of workers) await stop();
  }
  if (parts.includes("engines")) {
    pinDriver();
    const engines = [
      { name: "SQLite", cores: 1, ...(await startServer([script("app"), file])) },
      { name: "PostgreSQL", cores: 1, ...(await startServer([script("app"), onSocket])) },
    ] as const;
    for (const operation of operations) {
      const isSingle = operation.name.startsWith("one ");
      const floor = operation.method === "POST" ? undefined : FLOORS[isSingle ? "single" : "list"];
      table.push(await compared(operation, engines, floor));
    }
    for (const { stop } of engines) await stop();
  }
  console.log(
    `Medians of ${rounds} rounds of ${duration} s, ratios within a round. Workers share the cores with what asks them,
${hasWrk ? "wrk" : "autocannon, which takes a third of what they take: wrk, where it is installed, takes less"}.
PostgreSQL shares them with both. "By CPU" is what each could answer with its cores to itself: their number by the CPU
time that its processes, not PostgreSQL's, use for a request.`,
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
  ask: typeof loadByWrk = load,
): Promise<string[]> {
  for (const { url } of [first, second]) await load(url, operation, { amount: WARM_UP });
  const rates: [number, number][] = [];
  const capacities: [number, number][] = [];
  const rateOf = async ({ url, cpu, cores }: Contender) => {
    const before = await cpu();
    const { total, duration: took } = await ask(url, operation, { duration });
    const used = (await cpu()) - before;
    return { rate: total / took, capacity: (cores * total) / used };
  };
  for (let round = 0; round < rounds; round += 1) {
    process.stderr.write(`${operation.name}: round ${round + 1} of ${rounds}\n`);
    const one = await rateOf(first);
    const other = await rateOf(second);
    rates.push([one.rate, other.rate]);
    capacities.push([one.capacity, other.capacity]);
  }
  const ratio = median(rates.map(([one, other]) => other / one));
  return [
    operation.name,
    first.name,
    median(rates.map(([one]) => one)).toFixed(0),
    second.name,
    median(rates.map(([, other]) => other)).toFixed(0),
    ratio.toFixed(2),
    median(capacities.map(([one, other]) => other / one)).toFixed(2),
    floor === undefined ? "" : `≥ ${floor}`,
    floor === undefined ? "" : ratio >= floor ? "met" : "NOT MET",
  ];
}

/** The command, on as many cores as there are. */
async function served(file: string, count: number): Promise<Contender> {
  const port = await freePort();
  const args = [cli, "serve", "--db", file, "--port", String(port), "--workers", String(count)];
  // Into a file: who reads a pipe would take time of the cores too.
  const log = join(folder, `${count}.log`);
  const child = spawn(process.execPath, args, { stdio: ["ignore", openSync(log, "w"), "inherit"] });
  while (!readFileSync(log, "utf8").includes("listening")) await sleep(20);
  return {
    name: count === 1 ? "1 worker" : `${count} workers`,
    url: `http://127.0.0.1:${port}`,
    cpu: () => cpuOf(child.pid as number),
    cores: count,
    stop: () => {
      child.kill();
      return once(child, "exit");
    },
  };
}

/** CPU time of a process and its children, in microseconds; only Linux tells it. */
function cpuOf(pid: number): number {
  if (process.platform !== "linux") return Number.NaN;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .split(" ")
    .filter(Boolean);
  const ticks = [pid, ...children].map((one) => {
    // Behind the command's name, which may hold anything, the 12th and 13th are the times (proc(5)).
    const fields = readFileSync(`/proc/${one}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, one) => sum + one, 0) * TICK;
}
