// `npm run bench`: the speed of this application relative to a bare server, and to hattip's own adapter.
// It only measures and never fails for being slow. docs/performance.md explains the figures.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createApp } from "../../src/index.ts";
import { measurePages } from "./browsing.ts";
import { MANY, type Where, withEvents } from "./events.ts";
import { measureGit } from "./git.ts";
import { boardsPage } from "./graphql.ts";
import { grow } from "./grown.ts";
import { type Growth, measureGrowth } from "./growth.ts";
import { measureHistories } from "./history.ts";
import { load, measure, type Rate, WARM_UP } from "./load.ts";
import { measureMerges } from "./merging.ts";
import {
  EVENT_OPERATIONS,
  HEADERS,
  idOfCaller,
  type Operation,
  operationsOn,
} from "./operations.ts";
import { addPeople, measurePasswords, type PasswordFigures } from "./passwords.ts";
import { PEOPLE_OPERATIONS, withPeople } from "./people.ts";
import { PIPELINE_OPERATIONS, reportingOn, withPipelines } from "./pipelines.ts";
import { EMULATED_TOKENS, emulated, PLANNING_OPERATIONS } from "./planning.ts";
import {
  freePort,
  pinDriver,
  pinned,
  type Server,
  startServer,
  timeNode,
  timeStart,
} from "./processes.ts";
import { measureReadsOfPushes } from "./pushing.ts";
import { type Figures, type Footprint, median, printed } from "./report.ts";
import { REPOSITORY_OPERATIONS, withRepository } from "./repository.ts";
import { requireSameBytes } from "./same-bytes.ts";
import { attachments, firstPages, purge, type Scale } from "./scale.ts";
import { CHANGED_ISSUES, mediumSeed } from "./seed.ts";
import { measureServing } from "./serving.ts";
import { measureTesting } from "./testing.ts";
import { measureTransfers, PACKAGE_OPERATIONS, withPackages } from "./transfers.ts";
import { measureWorking } from "./working.ts";

const { values: options } = parseArgs({
  options: {
    only: {
      type: "string",
      default: "rates,serving,start,events,attachments,passwords,graphql,pages",
    },
    operations: { type: "string", default: "" },
    lists: { type: "string", default: "" },
    rows: { type: "string", default: "1000000" },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "1" },
    starts: { type: "string", default: "5" },
    // Of `--only git,merging,transfers`: a repository, by default this one.
    repository: { type: "string", default: "." },
    json: { type: "string" },
  },
});
const rounds = Number(options.rounds);
const seconds = Number(options.seconds);
const starts = Number(options.starts);
const REQUESTS_BEFORE_MEMORY = 10_000;

const parts = (options.only as string).split(",");
const script = (name: string) => fileURLToPath(new URL(`servers/${name}.mjs`, import.meta.url));
const cli = fileURLToPath(new URL("../../dist/pm-cli.js", import.meta.url));
const emulate = fileURLToPath(new URL("emulate", import.meta.url));
const say = (text: string) => process.stderr.write(`${text}\n`);

const folder = mkdtempSync(join(tmpdir(), "pm-bench-"));
try {
  pinDriver();
  const { operations, callerId, copy } = await seeded();
  const wanted = ({ name }: Operation) => name.includes(options.operations as string);
  const scale: Scale = {};
  const where = { folder, rounds, say };
  const rates = parts.includes("rates")
    ? [
        ...(await compare(operations.filter(wanted), () => handlers(callerId, copy))),
        ...(await comparePlanning(wanted, callerId, copy)),
        ...(await compareEvents(EVENT_OPERATIONS.filter(wanted), where)),
        ...(await comparePeople(wanted, where)),
        ...(await comparePipelines(wanted, where)),
        ...(await compareRepositories(REPOSITORY_OPERATIONS.filter(wanted), where)),
        ...(await comparePackages(PACKAGE_OPERATIONS.filter(wanted), where)),
      ]
    : [];
  const footprint = parts.includes("start")
    ? await footprints(operations, callerId, copy)
    : undefined;
  if (parts.includes("events")) scale.firstPages = await firstPages(where);
  if (parts.includes("attachments")) {
    scale.attachments = await attachments(script("app"), copy("attachments"), where);
  }
  const flood = parts.includes("passwords") ? await passwords(copy("passwords")) : undefined;
  if (parts.includes("graphql")) {
    scale.boardsPage = await boardsPage(script("app"), { ...where, seconds });
  }
  if (parts.includes("pages")) {
    scale.pages = await measurePages(script("app"), { ...where, seconds });
  }
  const gitServers = { app: script("app"), git: script("git") };
  const git = parts.includes("git")
    ? await measureGit(resolve(options.repository as string), gitServers, where)
    : undefined;
  const pushing = parts.includes("git")
    ? await measureReadsOfPushes(resolve(options.repository as string), gitServers, where)
    : undefined;
  const transfers = parts.includes("transfers")
    ? await measureTransfers(
        resolve(options.repository as string),
        { app: script("app"), bare: script("static") },
        where,
      )
    : undefined;
  const merges = parts.includes("merging")
    ? await measureMerges(resolve(options.repository as string), script("app"), where)
    : undefined;
  const histories = parts.includes("history") ? await measureHistories(where) : undefined;
  if (parts.includes("purge")) scale.purge = await purge(script("app"), where);
  const serving = parts.includes("serving")
    ? await measureServing(operations.filter(wanted), { app: script("app"), cli }, copy, where, {
        rounds,
        seconds,
      })
    : undefined;
  const working = parts.includes("working")
    ? await measureWorking(script("working"), where)
    : undefined;
  if (parts.includes("testing")) installEmulate();
  const testing = parts.includes("testing") ? await measureTesting(where) : undefined;
  const growth = parts.includes("growth") ? await growthOfLists() : undefined;
  const figures: Figures = {
    machine: {
      node: process.version,
      platform: `${process.platform} ${process.arch}`,
      cores: cpus().length,
      cpu: cpus()[0]?.model.trim() ?? "",
      pinned,
    },
    run: { rounds, seconds, starts, connections: 8 },
    rates,
    footprint,
    scale,
    passwords: flood,
    serving,
    working,
    testing,
    growth,
    git,
    pushing,
    transfers,
    merges,
    histories,
  };
  console.log(printed(figures));
  if (options.json) writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Fills a database; every contender gets a copy of it, so that all create the same ids. */
async function seeded() {
  say("seeding…");
  const original = join(folder, "seeded.db");
  const app = await createApp({ database: original, background: false });
  await app.admin.seed(mediumSeed());
  const operations = await operationsOn(app);
  const callerId = await idOfCaller(app);
  await app.close();
  return {
    operations,
    callerId,
    copy: (name: string) => {
      const file = join(folder, `${name}.db`);
      copyFileSync(original, file);
      return file;
    },
  };
}

/** CPU time of lists among a thousand and among a million rows of each kind. */
async function growthOfLists(): Promise<Growth[]> {
  const databases = { few: join(folder, "few.db"), many: join(folder, "many.db") };
  await grow(databases.few, 1000);
  say(`${options.rows} rows of each kind…`);
  await grow(databases.many, Number(options.rows));
  return measureGrowth(databases, { rounds, only: options.lists as string, say });
}

/** The same comparison for reads among a million events. */
async function compareEvents(
  operations: readonly Operation[],
  where: Where,
): Promise<Figures["rates"]> {
  if (operations.length === 0) return [];
  const file = await withEvents(MANY, where);
  const app = await createApp({ database: file, background: false });
  const callerId = await idOfCaller(app);
  await app.close();
  return compare(operations, () => handlers(callerId, () => file));
}

/** Compares what clients of a tracker do most with the bare server and, where there is a counterpart, with emulate. */
async function comparePlanning(
  wanted: (operation: Operation) => boolean,
  callerId: string,
  copy: (name: string) => string,
): Promise<Figures["rates"]> {
  const operations = PLANNING_OPERATIONS.filter(wanted);
  if (operations.length > 0) installEmulate();
  const sizes = [EMULATED_TOKENS, 100, CHANGED_ISSUES].map(String);
  const counterparts = new Map(operations.map((one) => [one.name, emulated(one)]));
  return compare(operations, async () => [
    ...(await bareAndApp(callerId, (name) => copy(`planning-${name}`))),
    {
      name: "emulate",
      server: await startServer([join(emulate, "server.mjs"), String(await freePort()), ...sizes]),
      counterpart: ({ name }) => counterparts.get(name),
    },
  ]);
}

/** Installs emulate, which only this benchmark needs. */
function installEmulate(): void {
  if (existsSync(join(emulate, "node_modules"))) return;
  spawnSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: emulate, stdio: "inherit" });
}

/** The same comparison for an identity provider. */
async function comparePeople(
  wanted: (operation: Operation) => boolean,
  where: Where,
): Promise<Figures["rates"]> {
  if (!PEOPLE_OPERATIONS.some(wanted)) return [];
  const { file, authorization } = await withPeople(where);
  const operations = PEOPLE_OPERATIONS.map((one) => ({ ...one, authorization }));
  return compare(operations, () => handlers("1", () => file));
}

/** The same comparison for reads of a repository. */
async function compareRepositories(
  operations: readonly Operation[],
  where: Where,
): Promise<Figures["rates"]> {
  if (operations.length === 0) return [];
  const file = await withRepository(where);
  return compare(operations, () => handlers("1", () => file));
}

/** The same comparison for packages. */
async function comparePackages(
  operations: readonly Operation[],
  where: Where,
): Promise<Figures["rates"]> {
  if (operations.length === 0) return [];
  const file = await withPackages(where);
  return compare(operations, () => handlers("1", () => file));
}

/** The same comparison for pipelines. */
async function comparePipelines(
  wanted: (operation: Operation) => boolean,
  where: Where,
): Promise<Figures["rates"]> {
  const operations = [...PIPELINE_OPERATIONS, reportingOn([])];
  if (!operations.some(wanted)) return [];
  const { file, commits } = await withPipelines(where);
  const copy = (name: string) => {
    const copied = join(where.folder, `pipelines-${name}.db`);
    copyFileSync(file, copied);
    return copied;
  };
  const those = [...PIPELINE_OPERATIONS, reportingOn(commits)].filter(wanted);
  return compare(those, () => handlers("1", copy));
}

/** Latency of reads while people sign in. */
async function passwords(file: string): Promise<PasswordFigures> {
  say("passwords…");
  const app = await createApp({ database: file, background: false });
  await addPeople(app);
  await app.close();
  const server = await startServer([script("app"), file]);
  const figures = await measurePasswords(server, 3 * seconds);
  await server.stop();
  return figures;
}

/** A server that takes part in a comparison. */
interface Contender {
  name: string;
  server: Server;
  /** What it does instead of an operation, if anything. Default: the same, with the same answer. */
  counterpart?: (operation: Operation) => Operation | undefined;
}

async function bareAndApp(callerId: string, copy: (name: string) => string): Promise<Contender[]> {
  return [
    { name: "bare", server: await startServer([script("bare"), copy("bare"), callerId]) },
    { name: "app", server: await startServer([script("app"), copy("app")]) },
  ];
}

/** Those, and the application on hattip's own adapter. */
async function handlers(callerId: string, copy: (name: string) => string): Promise<Contender[]> {
  return [
    ...(await bareAndApp(callerId, copy)),
    { name: "stock", server: await startServer([script("stock"), copy("stock")]) },
    { name: "fast", server: await startServer([script("stock"), copy("fast"), "fast"]) },
  ];
}

/** Measures the contenders in turn, each round starting with another one. */
async function compare(
  operations: readonly Operation[],
  start: () => Promise<Contender[]>,
): Promise<Figures["rates"]> {
  if (operations.length === 0) return [];
  const contenders = await start();
  const rates: Figures["rates"] = [];
  for (const operation of operations) {
    await requireSameBytes(
      operation,
      contenders.filter(({ counterpart }) => !counterpart),
    );
    const tasks = contenders.flatMap(({ name, server, counterpart }) => {
      const task = counterpart ? counterpart(operation) : operation;
      return task ? [{ name, server, task }] : [];
    });
    for (const { server, task } of tasks) await load(server.url, task, { amount: WARM_UP });
    const measured: Record<string, Rate>[] = [];
    for (let round = 0; round < rounds; round += 1) {
      say(`${operation.name}: round ${round + 1} of ${rounds}`);
      const results: Record<string, Rate> = {};
      for (let turn = 0; turn < tasks.length; turn += 1) {
        const { name, server, task } = tasks[(round + turn) % tasks.length] as (typeof tasks)[0];
        results[name] = await measure(server, task, seconds);
      }
      measured.push(results);
    }
    rates.push({ operation: operation.name, floor: operation.floor, rounds: measured });
  }
  for (const { server } of contenders) await server.stop();
  return rates;
}

/** Measures start-up time and memory. */
async function footprints(
  operations: readonly Operation[],
  callerId: string,
  copy: (name: string) => string,
): Promise<Footprint> {
  const first = `/api/v4${operations[0]?.path}`;
  const [appFile, bareFile] = [copy("start"), copy("bare-start")];
  const served = spawnSync(process.execPath, [cli, "serve", "--help"], { encoding: "utf8" });
  const hasCli = served.stdout.includes("--port");
  const times = { node: [] as number[], bare: [] as number[], app: [] as number[] };
  const startApp = async () => {
    const port = await freePort();
    const args = hasCli
      ? [cli, "serve", "--db", appFile, "--port", String(port)]
      : [script("app"), appFile, String(port)];
    const origin = `http://127.0.0.1:${port}`;
    return { origin, ...(await timeStart(args, origin + first, HEADERS)) };
  };
  for (let turn = 0; turn < starts; turn += 1) {
    say(`start ${turn + 1} of ${starts}`);
    times.node.push(await timeNode());
    const port = String(await freePort());
    const bare = await timeStart(
      [script("bare"), bareFile, callerId, port],
      `http://127.0.0.1:${port}${first}`,
      HEADERS,
    );
    times.bare.push(bare.firstAnswer);
    await bare.stop();
    const app = await startApp();
    times.app.push(app.firstAnswer);
    await app.stop();
  }

  say(`memory, idle and after ${REQUESTS_BEFORE_MEMORY} requests`);
  const app = await startApp();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const idle = app.resident();
  for (const operation of operations) {
    await load(app.origin, operation, { amount: REQUESTS_BEFORE_MEMORY / operations.length });
  }
  const loaded = app.resident();
  await app.stop();
  return {
    start: { node: median(times.node), bare: median(times.bare), app: median(times.app) },
    memory: { idle, loaded },
  };
}
