import Table from "cli-table3";
import type { GitFigures } from "./git.ts";
import { exceeds, type Growth, lineOf } from "./growth.ts";
import type { HistoryFigures } from "./history.ts";
import type { Rate } from "./load.ts";
import type { MergeFigures } from "./merging.ts";
import type { PasswordFigures } from "./passwords.ts";
import type { PushingFigures } from "./pushing.ts";
import type { Latency } from "./reads.ts";
import type { Scale } from "./scale.ts";
import type { ServingFigure } from "./serving.ts";
import type { TestingFigures } from "./testing.ts";
import type { TransferFigures } from "./transfers.ts";
import type { WorkingFigures } from "./working.ts";

/** All measurements. */
export interface Figures {
  machine: { node: string; platform: string; cores: number; cpu: string; pinned: boolean };
  run: { rounds: number; seconds: number; starts: number; connections: number };
  rates: {
    operation: string;
    /** The minimum acceptable share of the bare server's rate. */
    floor: number;
    /** The rate of each contender in each round. */
    rounds: Record<string, Rate>[];
  }[];
  footprint: Footprint | undefined;
  scale: Scale;
  passwords: PasswordFigures | undefined;
  serving: readonly ServingFigure[] | undefined;
  working: WorkingFigures | undefined;
  testing: readonly TestingFigures[] | undefined;
  growth: Growth[] | undefined;
  git: GitFigures | undefined;
  pushing: PushingFigures | undefined;
  transfers: TransferFigures | undefined;
  merges: readonly MergeFigures[] | undefined;
  histories: readonly HistoryFigures[] | undefined;
}

/** Start-up times in milliseconds, and memory in bytes. */
export interface Footprint {
  start: { node: number; bare: number; app: number };
  memory: { idle: number; loaded: number };
}

const STOCK_FLOOR = 2.5;
const EMULATE_FLOOR = 1;
const START_CEILING = 250;
const IDLE_CEILING = 80;
const LOADED_CEILING = 130;
const MEGABYTE = 1e6;

/** The median: the middle number, or the mean of the middle two. */
export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const half = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

const RIVALS: { name: string; title: string; floorOf: (floor: number) => number | undefined }[] = [
  { name: "bare", title: "bare node:http", floorOf: (floor) => floor },
  { name: "stock", title: "hattip's adapter", floorOf: () => STOCK_FLOOR },
  { name: "fast", title: "the same, fast-fetch", floorOf: () => undefined },
  { name: "emulate", title: "emulate", floorOf: () => EMULATE_FLOOR },
];

/** The lists that take longer among a million rows than they may, from the worst. */
function growthLines(growth: readonly Growth[]): string[] {
  const over = growth.filter(exceeds).sort((a, b) => b.many - a.many);
  return [
    `${over.length} of ${growth.length} lists take longer among many rows than they may (ms of CPU, times):`,
    ...over.map(lineOf),
  ];
}

/** The figures as tables, with their floors. */
export function printed(figures: Figures): string {
  const { machine, run } = figures;
  const where = machine.pinned ? "servers on one core, driver on another" : "nothing pinned";
  return [
    `Node ${machine.node}, ${machine.platform}, ${machine.cores} × ${machine.cpu}; ${where}.`,
    `Medians of ${run.rounds} rounds of ${run.seconds} s, ${run.connections} connections; ratios within a round.`,
    `"By CPU" compares the servers' CPU time for a request, which a busy machine disturbs least; floors are for it.`,
    ...(figures.rates.length > 0 ? [ratesTable(figures.rates)] : []),
    ...(figures.footprint ? [footprintTable(figures.footprint)] : []),
    ...scaleLines(figures.scale),
    ...(figures.passwords ? [passwordsTable(figures.passwords)] : []),
    ...(figures.serving ? [servingTable(figures.serving)] : []),
    ...(figures.working ? [workingTable(figures.working)] : []),
    ...(figures.testing ? [testingTable(figures.testing)] : []),
    ...(figures.growth ? growthLines(figures.growth) : []),
    ...(figures.git ? [gitTable(figures.git)] : []),
    ...(figures.pushing ? [pushingTable(figures.pushing)] : []),
    ...(figures.transfers ? [transfersTable(figures.transfers)] : []),
    ...(figures.merges ? [mergesTable(figures.merges)] : []),
    ...(figures.histories ? [historiesTable(figures.histories)] : []),
    ...disturbed(figures.rates),
  ].join("\n");
}

/** The most that serving with a log may take, as a multiple of the library. */
const SERVING_CEILING = 1.05;

function servingTable(figures: readonly ServingFigure[]): string {
  const table = new Table({ head: ["pm-cli serve, with its log", "CPU", "rounds"] });
  for (const { operation, rounds, ratio } of figures) {
    const mark = ratio > SERVING_CEILING ? ` !! above ${SERVING_CEILING}` : "";
    const all = rounds.map((one) => one.toFixed(2)).join(" ");
    table.push([operation, `${ratio.toFixed(2)}${mark}`, all]);
  }
  return table.toString();
}

function workingTable({ next, hooks }: WorkingFigures): string {
  const table = new Table({ head: ["", "median ms", "p99 ms", "requests"] });
  const { arrived, calls, seconds } = hooks;
  for (const [name, { median: middle, p99, reads }] of [
    ["the last job of a stage ends", next],
    ["one reader, idle", hooks.idle],
    [
      `while ${arrived} events reach webhooks, ${calls} calls in ${seconds.toFixed(0)} s`,
      hooks.meanwhile,
    ],
  ] as const) {
    table.push([name, middle.toFixed(2), p99.toFixed(2), reads]);
  }
  return table.toString();
}

/** The most milliseconds of CPU that each may take. */
const TESTING_CEILINGS = {
  first: ["the first test server of a process", 100],
  second: ["another one", 8],
  reset: ["a reset", 0.3],
  amongMany: ["a reset among 10,000 issues", 0.3],
  changed: ["a reset after 1,000 of them were changed", 1],
  changes: ["telling that one of them was changed", undefined],
  emulate: ["a reset of emulate", undefined],
} as const;
const HUNDRED_CEILING = 1000;

function testingTable(figures: readonly TestingFigures[]): string {
  const table = new Table({ head: ["test servers", "ms of CPU", "ceiling", ""] });
  for (const [name, [title, ceiling]] of Object.entries(TESTING_CEILINGS)) {
    const value = median(figures.map((one) => one[name as keyof TestingFigures]));
    const mark = ceiling !== undefined && value > ceiling ? "!!" : "";
    table.push([title, value.toFixed(2), ceiling ?? "", mark]);
  }
  const megabytes = median(figures.map(({ hundred }) => hundred)) / MEGABYTE;
  const mark = megabytes > HUNDRED_CEILING ? "!!" : "";
  table.push(["a hundred of them, in MB", megabytes.toFixed(0), HUNDRED_CEILING, mark]);
  return table.toString();
}

function passwordsTable({ people, idle, flooded, signInsPerSecond }: PasswordFigures): string {
  const table = new Table({ head: ["one reader", "median ms", "p99 ms", "reads"] });
  for (const [name, { median: middle, p99, reads }] of [
    ["idle", idle],
    [`while ${people} sign in, ${signInsPerSecond.toFixed(1)}/s`, flooded],
  ] as const) {
    table.push([name, middle.toFixed(2), p99.toFixed(2), reads]);
  }
  return table.toString();
}

/** The most of git's CPU time that each kind of work may need. */
const GIT_CEILINGS = { push: 1.3, clone: 0.7, small: 0.4 };

function gitTable({ commits, ours, gits, written, pushed, memory }: GitFigures): string {
  const table = new Table({
    head: [`git, ${commits} commits`, "s of CPU", "git", "ratio", "ceiling", ""],
  });
  // Git has no REST API: what changes files there is beside a small push.
  for (const [name, seconds, work] of [
    ["push", ours.push, "push"],
    ["clone", ours.clone, "clone"],
    ["a small push", ours.small, "small"],
    ["a file over REST", written.file, "small"],
    ["a commit of 3 files over REST", written.commit, "small"],
  ] as const) {
    const ratio = seconds / gits[work];
    const ceiling = GIT_CEILINGS[work];
    const row = [seconds.toFixed(3), gits[work].toFixed(3), ratio.toFixed(2), ceiling];
    table.push([name, ...row, verdict(ratio <= ceiling)]);
  }
  const [first, last] = [pushed, memory].map((bytes) => Math.round(bytes / MEGABYTE));
  return `${table}\nMemory after the first push ${first} MB, at the end ${last} MB.`;
}

/** How many times longer than of an idle server 99% of reads may take at most while a push arrives. */
const PUSHING_CEILING = 2;

function pushingTable({ idle, meanwhile, beside }: PushingFigures): string {
  const head = ["one reader", "median ms", "p99 ms", "reads", "times", "ceiling", ""];
  const table = new Table({ head });
  const row = ({ median: middle, p99, reads }: Latency) => [
    ...[middle.toFixed(2), p99.toFixed(2), reads],
  ];
  const timesIdle = ({ p99 }: Latency) => (p99 / idle.p99).toFixed(2);
  const met = verdict(meanwhile.p99 <= PUSHING_CEILING * idle.p99);
  table.push(["idle", ...row(idle), "", "", ""]);
  const pushing = [...row(meanwhile), timesIdle(meanwhile), PUSHING_CEILING, met];
  table.push(["while a push arrives", ...pushing]);
  table.push(["while Git receives it", ...row(beside), timesIdle(beside), "", ""]);
  return table.toString();
}

/** The least share of a bare server's rate of files, by CPU; and how much more than HTTP a clone by SSH may take. */
const TRANSFER_FLOOR = 0.5;
const SSH_CEILING = 1.5;

function transfersTable({ files, clones }: TransferFigures): string {
  const table = new Table({ head: ["ms of CPU", "app", "beside", "ratio", "floor, ceiling", ""] });
  for (const { name, ours, bare, ratio } of files) {
    const figures = [ours, bare, ratio].map((one) => one.toFixed(2));
    table.push([name, ...figures, `≥ ${TRANSFER_FLOOR}`, verdict(ratio >= TRANSFER_FLOOR)]);
  }
  for (const { name, ssh, http, ratio } of clones) {
    const figures = [ssh, http, ratio].map((one) => one.toFixed(2));
    const row = [...figures, `≤ ${SSH_CEILING}`, verdict(ratio <= SSH_CEILING)];
    table.push([`a clone by SSH, ${name}`, ...row]);
  }
  return table.toString();
}

/** How many times git's rate of merging ours must be, by CPU. */
const MERGE_FLOOR = 3;

function mergesTable(rounds: readonly MergeFigures[]): string {
  const ratios = rounds.map(({ ours, gits }) => gits / ours);
  const [ours, gits] = (["ours", "gits"] as const).map((whose) =>
    (1000 * median(rounds.map((round) => round[whose]))).toFixed(2),
  ) as [string, string];
  const table = new Table({
    head: ["ms of CPU", "app", "git", "times its rate", "from – to", "floor", ""],
  });
  const range = `${Math.min(...ratios).toFixed(1)}–${Math.max(...ratios).toFixed(1)}`;
  const middle = median(ratios);
  const row = [ours, gits, middle.toFixed(1), range, MERGE_FLOOR];
  table.push(["merging a merge request", ...row, verdict(middle >= MERGE_FLOOR)]);
  return table.toString();
}

/** How many times longer a read of a long history may take. */
const HISTORY_CEILING = 1.5;

function historiesTable(histories: readonly HistoryFigures[]): string {
  const table = new Table({
    head: ["ms of CPU", "500 commits", "50,000", "times", "ceiling", "", "first of 50,000"],
  });
  for (const { name, few, many, ratio, first } of histories) {
    const times = [few.toFixed(3), many.toFixed(3), ratio.toFixed(2), HISTORY_CEILING];
    table.push([name, ...times, verdict(ratio <= HISTORY_CEILING), first.toFixed(0)]);
  }
  return table.toString();
}

function ratesTable(rates: Figures["rates"]): string {
  const table = new Table({
    head: ["", "beside", "req/s", "app", "ratio", "from – to", "by CPU", "floor", ""],
    style: { head: [], border: [], compact: true },
    colAligns: ["left", "left", "right", "right", "right", "right", "right", "right", "left"],
  });
  for (const { operation, floor, rounds } of rates) {
    const rivals = RIVALS.filter(({ name }) => rounds.every((round) => name in round));
    for (const [index, rival] of rivals.entries()) {
      const of = (name: string) => rounds.map((round) => round[name] as Rate);
      const [theirs, ours] = [of(rival.name), of("app")];
      const ratios = ours.map((rate, at) => rate.perSecond / (theirs[at] as Rate).perSecond);
      const byCpu = ours.map((rate, at) => (theirs[at] as Rate).cpu / rate.cpu);
      const least = rival.floorOf(floor);
      table.push([
        index === 0 ? operation : "",
        rival.title,
        Math.round(median(theirs.map((rate) => rate.perSecond))),
        Math.round(median(ours.map((rate) => rate.perSecond))),
        median(ratios).toFixed(2),
        `${Math.min(...ratios).toFixed(2)} – ${Math.max(...ratios).toFixed(2)}`,
        median(byCpu).toFixed(2),
        least === undefined ? "" : `≥ ${least.toFixed(2)}`,
        least === undefined ? "" : verdict(median(byCpu) >= least),
      ]);
    }
  }
  return table.toString();
}

function footprintTable({ start, memory }: Footprint): string {
  const table = new Table({
    head: ["", "measured", "ceiling", ""],
    style: { head: [], border: [], compact: true },
    colAligns: ["left", "right", "right", "left"],
  });
  const milliseconds = (value: number) => `${Math.round(value)} ms`;
  const megabytes = (value: number) => `${Math.round(value / MEGABYTE)} MB`;
  const bounded = (value: number, ceiling: number, unit: string) => [
    `${ceiling} ${unit}`,
    verdict(value <= ceiling),
  ];
  table.push(
    ["node -e 0", milliseconds(start.node), "", ""],
    ["bare node:http, to the first 200", milliseconds(start.bare), "", ""],
    ["app, to the first 200", milliseconds(start.app), ...bounded(start.app, START_CEILING, "ms")],
    [
      "app, memory when idle",
      megabytes(memory.idle),
      ...bounded(memory.idle / MEGABYTE, IDLE_CEILING, "MB"),
    ],
    [
      "app, memory after load",
      megabytes(memory.loaded),
      ...bounded(memory.loaded / MEGABYTE, LOADED_CEILING, "MB"),
    ],
  );
  return table.toString();
}

const PAGE_CEILING = 1.5;

/** The least a document's rate may be, as a share of that of the REST requests for the same data. */
const DOCUMENT_FLOOR = 0.5;
/** The least that a page may do beside the requests to the API that show the same. */
const PAGE_FLOOR = 0.3;

function scaleLines({ firstPages, attachments, purge, boardsPage, pages = [] }: Scale): string[] {
  const ms = (value: number) => `${value.toFixed(2)} ms`;
  const megabytes = (value: number) => `${Math.round(value / MEGABYTE)} MB`;
  const lines: string[] = [];
  for (const { name, few, many, ratio } of firstPages ?? []) {
    const met = verdict(ratio <= PAGE_CEILING);
    lines.push(
      `First page of ${name}: ${ms(few)} at 1,000 events, ${ms(many)} at 1,000,000: ${ratio.toFixed(2)} times, at most ${PAGE_CEILING}: ${met}`,
    );
  }
  if (attachments) {
    const { up, down, before, peak } = attachments;
    lines.push(
      `Attachments of 5 MB: ${ms(up)} up, ${ms(down)} down; memory ${megabytes(before)} before, ${megabytes(peak)} at most`,
    );
  }
  if (purge) {
    const { removed, seconds, quiet, during } = purge;
    lines.push(
      `Purge of ${removed} of 1,000,000 events: ${seconds.toFixed(1)} s; 99% of reads within ${ms(quiet)} before, ${ms(during)} meanwhile`,
    );
  }
  if (boardsPage) {
    const { perSecond, ratio, byCpu } = boardsPage;
    lines.push(
      `A board's page by GraphQL: ${Math.round(perSecond)} per second; beside five REST requests ${ratio.toFixed(2)}, by CPU ${byCpu.toFixed(2)}, at least ${DOCUMENT_FLOOR}: ${verdict(ratio >= DOCUMENT_FLOOR)}`,
    );
  }
  for (const { name, byCpu } of pages) {
    lines.push(
      `A page of ${name}, beside the API by CPU: ${byCpu.toFixed(2)}, at least ${PAGE_FLOOR}: ${verdict(byCpu >= PAGE_FLOOR)}`,
    );
  }
  return lines;
}

function verdict(met: boolean): string {
  return met ? "met" : "NOT MET";
}

/** Warnings about operations in which the bare server did not have its core, so that other processes set the pace. */
function disturbed(rates: Figures["rates"]): string[] {
  return rates
    .map(({ operation, rounds }) => ({
      operation,
      busy: median(rounds.map((round) => (round["bare"] as Rate).busy)),
    }))
    .filter(({ busy }) => busy < 0.85)
    .map(
      ({ operation, busy }) =>
        `Careful: ${operation}: the bare server ran ${Math.round(busy * 100)}% of the time, so something else set the pace. Go by CPU.`,
    );
}
