// `npm run bench:engines`: the speed of every engine and runtime relative to better-sqlite3 on Node (PostgreSQL over a
// socket), and of two workers relative to one. It only measures and never fails for being slow. `--only workers`,
// `--only engines` or `--only postgres` measures one of them; `--operations` is a part of their names.
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
import { runtimes } from "../runtimes.mjs";
import { hasWrk, load, loadByWrk } from "./load.ts";
import { type Operation, operationsOn } from "./operations.ts";
import { PLANNING_OPERATIONS } from "./planning.ts";
import { freePort, pinDriver, type Runtime, startServer } from "./processes.ts";
import { median } from "./report.ts";
import { mediumSeed } from "./seed.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "2" },
    only: { type: "string", default: "workers,engines" },
    operations: { type: "string", default: "" },
  },
});
const rounds = Number(options.rounds);
const duration = Number(options.seconds);
const parts = options.only.split(",");
const WARM_UP = 1000;
/** Microseconds per tick, Linux' unit of CPU time on every machine. */
const TICK = 10_000;

const script = (name: string) => fileURLToPath(new URL(`servers/${name}.mjs`, import.meta.url));
const cli = fileURLToPath(new URL("../../dist/pm-cli.js", import.meta.url));

interface Contender {
  name: string;
  url: string;
  /** CPU time used so far, in microseconds, by all its processes. */
  cpu(): number | Promise<number>;
  /** The number of cores it can use. Default 1. */
  cores?: number;
  /** The minimum acceptable share of the first contender's rate. */
  floor?: (operation: Operation) => number | undefined;
  stop(): Promise<unknown>;
}

const folder = mkdtempSync(join(tmpdir(), "pm-bench-"));
// Started before this process is pinned to a core, since children inherit that.
const postgres = await startPostgres();
try {
  const file = join(folder, "bench.db");
  const app = await createApp({ database: file, background: false });
  await app.admin.seed(mediumSeed());
  const operations = [...(await operationsOn(app)), ...PLANNING_OPERATIONS].filter(({ name }) =>
    name.includes(options.operations),
  );
  await app.close();

  console.log(
    `Medians of ${rounds} rounds of ${duration} s, ratios within a round, to the first. In brackets those by CPU time: what each
could answer with its cores to itself.`,
  );
  if (parts.includes("workers")) {
    const reads = operations.filter(({ method }) => method === "GET");
    const workers = [await served(file, 1), { ...(await served(file, 2)), floor: () => 1.6 }];
    const driver = hasWrk
      ? "wrk"
      : "autocannon, which uses a third of their CPU time (wrk uses less)";
    console.log(`\nWorkers, which share the cores with the driver: ${driver}.`);
    console.log(await compared(reads, workers, hasWrk ? loadByWrk : load));
  }
  if (parts.includes("engines") || parts.includes("postgres")) {
    const onSocket = `postgres://postgres:postgres@/postgres?host=${postgres.socket}&port=${postgres.port}`;
    await copyDatabase({ from: file, to: onSocket });
    pinDriver();
    const start = async (name: string, database: string, runtime?: Runtime) => ({
      name,
      ...(await startServer([script("app"), database], runtime)),
    });
    const engines = [
      await start("Node, better-sqlite3", file),
      { ...(await start("Node, PostgreSQL", onSocket)), floor: floorOfPostgres },
    ];
    for (const { name, command, env = {} } of parts.includes("engines") ? runtimes : []) {
      if (command) engines.push(await start(name, file, { command, env }));
    }
    console.log(
      "\nEngines and runtimes, on one core. PostgreSQL itself may run on any core, and is not counted.",
    );
    console.log(await compared(operations, engines));
  }
} finally {
  await postgres.remove();
  rmSync(folder, { recursive: true, force: true });
}

/** Lists are larger answers, so less of their time is the way to the server and back. */
function floorOfPostgres({ name, method }: Operation): number {
  return method === "GET" && /^\d+ /.test(name) ? 0.6 : 0.5;
}

/** Measures all contenders in turn, stops them, and returns a table comparing the others with the first. */
async function compared(
  operations: readonly Operation[],
  contenders: readonly Contender[],
  ask: typeof loadByWrk = load,
): Promise<string> {
  const [first, ...others] = contenders as [Contender, ...Contender[]];
  const table = new Table({
    head: ["", `${first.name}, req/s`, ...others.map(({ name }) => name)],
    style: { head: [], border: [], compact: true },
  });
  for (const operation of operations) {
    for (const { url } of contenders) await load(url, operation, { amount: WARM_UP });
    const measured: Measured[][] = [];
    for (let round = 0; round < rounds; round += 1) {
      process.stderr.write(`${operation.name}: round ${round + 1} of ${rounds}\n`);
      const results: Measured[] = [];
      for (const contender of contenders) results.push(await rateOf(contender, operation, ask));
      measured.push(results);
    }
    const ratioOf = (at: number, of: keyof Measured) =>
      median(measured.map((results) => (results[at]?.[of] ?? 0) / (results[0] as Measured)[of]));
    table.push([
      operation.name,
      median(measured.map(([one]) => (one as Measured).rate)).toFixed(0),
      ...others.map(({ floor }, index) => {
        const [ratio, byCpu] = [ratioOf(index + 1, "rate"), ratioOf(index + 1, "capacity")];
        const least = floor?.(operation);
        const mark =
          least === undefined ? "" : byCpu >= least ? `, ≥ ${least}` : `, NOT ≥ ${least}`;
        return `${ratio.toFixed(2)} (${byCpu.toFixed(2)})${mark}`;
      }),
    ]);
  }
  for (const { stop } of contenders) await stop();
  return table.toString();
}

/** Answers per second, and the capacity if the contender had its cores to itself. */
interface Measured {
  rate: number;
  capacity: number;
}

async function rateOf(
  { url, cpu, cores = 1 }: Contender,
  operation: Operation,
  ask: typeof loadByWrk,
): Promise<Measured> {
  const before = await cpu();
  const { total, duration: took } = await ask(url, operation, { duration });
  const used = (await cpu()) - before;
  return { rate: total / took, capacity: (cores * total) / used };
}

/** Starts `pm-cli serve` with this many workers, on all cores. */
async function served(file: string, count: number): Promise<Contender> {
  const port = await freePort();
  const args = [cli, "serve", "--db", file, "--port", String(port), "--workers", String(count)];
  // Into a file, since reading a pipe would use CPU time too.
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

/** CPU time of a process and its children, in microseconds; Linux only. */
function cpuOf(pid: number): number {
  if (process.platform !== "linux") return Number.NaN;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .split(" ")
    .filter(Boolean);
  const ticks = [pid, ...children].map((one) => {
    // After the command's name, which may contain anything, the 12th and 13th fields are the times (proc(5)).
    const fields = readFileSync(`/proc/${one}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, one) => sum + one, 0) * TICK;
}
