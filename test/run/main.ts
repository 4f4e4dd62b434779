// `npm test` and its siblings, when everything is installed: see CONTRIBUTING.md.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { findBrowser } from "../browser.mjs";
import { runtimes } from "../runtimes.mjs";
import { changesToTest } from "./changes.ts";
import { cpuSeconds } from "./cpu.ts";
import { ROOT, testFiles } from "./kinds.ts";
import type { FileTime } from "./measured.ts";
import { BUDGET_SECONDS, buildsOf, checksOf, type Mode, type Pass, passesOf } from "./plan.ts";
import { reachOf } from "./reach.ts";
import { numberOfCommit, SHARES, shareOf } from "./share.ts";
import { type Ending, runSteps, type Step } from "./steps.ts";
import weights from "./weights.json" with { type: "json" };

/** Tests also wait, so more run at a time than there are cores. */
const SLOTS = Math.min(availableParallelism() + 1, 8);
/** A pass that takes longer gets two workers. */
const LONG_SECONDS = 150;
/** Of each step that failed: all of them fit into the last page of a log. */
const SHOWN_AGAIN_BYTES = 3000;

const { values, positionals: filters } = parseArgs({
  options: {
    all: { type: "boolean" },
    changed: { type: "boolean" },
    fast: { type: "boolean" },
    record: { type: "boolean" },
  },
  allowPositionals: true,
});
const mode: Mode = (["all", "changed", "fast"] as const).find((name) => values[name]) ?? "share";
const changes = changesToTest();
const reach = reachOf(changes.files);
const share = shareOf();
const seed = process.env["RANDOM_SEED"] || String(numberOfCommit() % 2 ** 31);
const repeat = `TEST_SHARD=${share + 1}/${SHARES} RANDOM_SEED=${seed}`;
const plan = { mode, share, reach, filters };

const passes = passesOf(plan).filter(isPossible);
if (mode === "share" && filters.length === 0) {
  console.log(
    `Share ${share + 1} of ${SHARES}, and ${reach.tests.size} test files that the changes since ${
      changes.base?.slice(0, 9) ?? "the beginning (there is no history here)"
    } reach. The same again: ${repeat} npm test`,
  );
}

const allFiles = new Set(testFiles());
const folder = mkdtempSync(join(tmpdir(), "pm-times-"));
const started = performance.now();
const builds = buildsOf(passes).map((build): Step => ({ ...build, slots: 1 }));
const checks = filters.length > 0 ? [] : checksOf(plan);
const endings = await runSteps(
  [
    ...builds,
    ...checks.map((check): Step => ({ ...check, slots: 1 })),
    ...passes.filter(({ project }) => project !== "timed").map(stepOf),
  ],
  SLOTS,
);
const isBuilt = builds.every((build) => endings.some(({ step, isOk }) => isOk && step === build));
if (isBuilt) {
  const alone = passes.filter(({ project }) => project === "timed");
  endings.push(...(await runSteps(alone.map(stepOf).map(withoutBuild), 1)));
}
const times = passes.map((pass) => [pass, timesOf(pass)] as const);
rmSync(folder, { recursive: true });
if (values.record) record();
report();

/** Whether what a pass needs is here; in CI, everything must be. */
function isPossible(pass: Pass): boolean {
  const missing = missingFor(pass);
  if (missing === undefined) return true;
  if (process.env["CI"]) fail(`In CI, nothing may be missing: ${missing}`);
  console.error(`\n!!! ${missing}: these are not run: ${pass.name} !!!\n`);
  return false;
}

function missingFor({ project, runtime, isBinary, files }: Pass): string | undefined {
  const isThere = (name: string) => runtimes.some((one) => one.name === name && one.command);
  if (project === "postgres" && process.env["TEST_WITHOUT_POSTGRES"]) {
    return "TEST_WITHOUT_POSTGRES is set";
  }
  if (runtime && !isThere(runtime)) return `${runtime} is not available on this platform`;
  if (isBinary && !isThere("Bun")) return "Bun is not available on this platform";
  if (files.some((file) => file.startsWith("test/e2e/")) && !findBrowser()) {
    return "Chromium was not found: install it (apt-get install chromium), or name one with CHROMIUM";
  }
  return undefined;
}

function stepOf(pass: Pass): Step {
  const { name, project, files, seconds, isBinary } = pass;
  const runtime = runtimes.find((one) => one.name === pass.runtime);
  const slots = seconds > LONG_SECONDS ? 2 : 1;
  return {
    name,
    seconds,
    slots,
    command: [
      ...(runtime?.command ?? [process.execPath]),
      ...[`${ROOT}node_modules/vitest/vitest.mjs`, "run", "--project", project],
      `--maxWorkers=${slots}`,
      ...files,
    ],
    env: {
      ...runtime?.env,
      RANDOM_SEED: seed,
      TEST_SHARD: `${share + 1}/${SHARES}`,
      TEST_TOUCHED: [...reach.resources].join(" "),
      TEST_TIMES: fileOfTimes(pass),
      ...(mode === "all" ? { TEST_LONG: "1" } : runtime && { TEST_REPEATED: "1" }),
      ...(isBinary && { TEST_PM_CLI: `${ROOT}build/pm-cli` }),
    },
    ...(project === "built" && { after: isBinary ? "one binary" : "build" }),
  };
}

/** A pass that runs when all builds are there. */
function withoutBuild({ after: _, ...step }: Step): Step {
  return step;
}

function fileOfTimes({ name }: Pass): string {
  return join(folder, `${name.replaceAll(" ", "-").replaceAll(":", "-")}.jsonl`);
}

function timesOf(pass: Pass): FileTime[] {
  try {
    const lines = readFileSync(fileOfTimes(pass), "utf8").trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line));
  } catch {
    // It was not started, or failed at once: its step says so.
    return [];
  }
}

/**
 * Writes what files and steps of this run took into weights.json, beside what it has of others. What a pass takes beside
 * its files, such as a database server, is spread over them.
 */
function record(): void {
  if (mode === "all") fail("npm test -- --record records; the long forms of test:all take longer");
  const files: Record<string, Record<string, number>> = { ...weights.files };
  for (const [{ name, project, runtime, isBinary }, measured] of times) {
    if (runtime || isBinary) continue;
    const total = sum(measured);
    const cpu = endings.find(({ step }) => step.name === name)?.cpu ?? total;
    const scaled = measured.map(({ file, seconds }) => [file, round((seconds * cpu) / total)]);
    const known = Object.entries(files[project] ?? {}).filter(([file]) => allFiles.has(file));
    files[project] = sorted({ ...Object.fromEntries(known), ...Object.fromEntries(scaled) });
  }
  const others = new Set([...builds, ...checks].map(({ name }) => name));
  const ofOthers = endings
    .filter(({ step }) => others.has(step.name))
    .map(({ step, cpu }) => [step.name, round(cpu)]);
  const recorded = {
    checks: sorted({ ...weights.checks, ...Object.fromEntries(ofOthers) }),
    files,
  };
  writeFileSync(`${ROOT}test/run/weights.json`, `${JSON.stringify(recorded, null, 2)}\n`);
}

function sorted<T>(some: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(some).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function round(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}

function report(): void {
  const slowest = times
    .flatMap(([{ name }, measured]) => measured.map((time) => ({ ...time, name })))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, 10);
  console.log("The ten slowest files, in seconds of CPU:");
  for (const { seconds, file, name } of slowest) {
    console.log(`${seconds.toFixed(1).padStart(6)}  ${file} (${name})`);
  }
  const minutes = (seconds: number) => (seconds / 60).toFixed(1);
  const wall = (performance.now() - started) / 1000;
  const cpu = cpuSeconds();
  console.log(`\n${minutes(wall)} minutes, ${minutes(cpu)} CPU-minutes`);
  if (mode === "share" && filters.length === 0) {
    const ordinary = passesOf({ ...plan, reach: reachOf([]) });
    const more = sum(passes) - sum(ordinary);
    console.log(
      `Budget: ${minutes(BUDGET_SECONDS)} CPU-minutes, and about ${minutes(more)} for what the changes reach`,
    );
    if (cpu > BUDGET_SECONDS + more) {
      console.log(`\n!!! ${minutes(cpu - more - BUDGET_SECONDS)} CPU-minutes over the budget !!!`);
    }
  }
  const failed = endings.filter(({ isOk }) => !isOk);
  for (const { step, output } of failed) {
    console.log(`\n${step.name}:\n${output.subarray(-SHOWN_AGAIN_BYTES)}`);
  }
  if (failed.length > 0) {
    const names = failed.map(({ step }: Ending) => step.name).join(", ");
    fail(
      `failed: ${names}\nThe same again: ${repeat} npm ${mode === "all" ? "run test:all" : "test"}`,
    );
  }
}

function sum(some: readonly { readonly seconds: number }[]): number {
  return some.reduce((total, { seconds }) => total + seconds, 0);
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
