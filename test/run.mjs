// `npm test`: installs what is missing, then runs everything. It needs only Node to start.
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { installMissing } from "../cli/install.mjs";
import { findBrowser } from "./browser.mjs";

installMissing();
const { runtimes } = await import("./runtimes.mjs");
const filters = process.argv.slice(2);
const root = fileURLToPath(new URL("..", import.meta.url));
const cores = availableParallelism();
/** How many passes run at a time, and with how many workers each. Tests also wait, so there is one more than cores. */
const lanes = Math.min(cores + 1, 8);
const workers = Math.max(Math.floor(cores / lanes), 1);
/** Of each step that failed: all of them fit into the last page of a log. */
const SHOWN_AGAIN_BYTES = 3000;
/** Limits a runtime that hangs. */
const PATIENCE_MILLISECONDS = 100 * 60_000;

/**
 * Something to run, with what is added to the environment.
 *
 * @typedef {{ name: string, command: string[], env?: Record<string, string> }} Step
 */

/**
 * The names of steps that failed, with what they printed: its end, where failures are, is shown again at the end, since
 * long logs are cut.
 *
 * @type {Map<string, Buffer>}
 */
const failed = new Map();

if (process.env.TEST_WITHOUT_POSTGRES) {
  if (process.env.CI)
    fail("TEST_WITHOUT_POSTGRES is not allowed in CI, where PostgreSQL is required");
  warn("TEST_WITHOUT_POSTGRES is set: nothing is tested on PostgreSQL");
}

if (!findBrowser()) {
  const how = "install it (apt-get install chromium), or name one with CHROMIUM";
  if (process.env.CI) fail(`Chromium is required in CI: ${how}`);
  warn(`Chromium was not found, so the pages are not tested in a browser. To test them, ${how}`);
  process.env.TEST_WITHOUT_BROWSER = "1";
}

const hasBinary =
  filters.length === 0 && runtimes.some(({ name, command }) => name === "Bun" && command);
/** What the tests need, and beside it what needs no build. */
const builds = [tool("build", "tsup", "--silent"), tool("types", "tsc")];
if (hasBinary) {
  builds.push({ name: "one binary", command: ["npm", "run", "--silent", "build:binary"] });
}
builds.push(tool("lint and format", "biome", "check", "--error-on-warnings", "."));

/** Side by side; what takes longest is first. */
const passes = [
  ...(process.env.TEST_WITHOUT_POSTGRES ? [] : [tests("tests on PostgreSQL", "postgres")]),
  tests("tests of the build", "built"),
];
for (const { name, command, env } of runtimes) {
  if (filters.length > 0) warn(`only some tests are run: none of them on ${name}`);
  else if (command) passes.push(tests(`tests on ${name}`, "sqlite", { command, env }));
  else {
    if (process.env.CI) fail(`${name} is required in CI, but not available on this platform`);
    warn(`${name} is not available on this platform: nothing is tested on it`);
  }
}
passes.push(tests("tests on SQLite", "sqlite"));
const timed = [tests("tests that measure time", "timed")];
if (hasBinary) {
  const binary = { env: { TEST_PM_CLI: `${root}build/pm-cli` }, only: ["test/cli"] };
  passes.push(tests("tests of the binary", "built", binary));
  timed.push(tests("tests of the binary that measure time", "timed", binary));
} else if (filters.length > 0) {
  warn("only some tests are run: none of them on pm-cli as one binary");
}
passes.push(
  tests("other tests", "rest"),
  tool("unused code", "knip"),
  tool("package types", "attw", "--pack", ".", "--profile", "node16"),
  tool("package", "publint", "--strict"),
);

await inLanes(lanes, builds);
if (failed.has("build")) fail("build: failed, so nothing else can be tested");
await inLanes(lanes, passes);
await inLanes(1, timed);
if (failed.size > 0) {
  for (const [name, output] of failed) {
    console.log(`\n${name}:\n${output.subarray(-SHOWN_AGAIN_BYTES)}`);
  }
  fail(`failed: ${[...failed.keys()].join(", ")}`);
}

/**
 * A program of a package.
 *
 * @param {string} name
 * @param {string[]} command
 * @returns {Step}
 */
function tool(name, ...command) {
  return { name, command: ["npx", "--no-install", ...command] };
}

/**
 * A pass of tests.
 *
 * @param {string} name
 * @param {string} project of vitest.config.ts
 * @param {{ command?: string[], env?: Record<string, string>, only?: string[] }} options `command`: the runtime;
 *   `only`: the files
 * @returns {Step}
 */
function tests(name, project, { command = [process.execPath], env, only = filters } = {}) {
  const vitest = `${root}node_modules/vitest/vitest.mjs`;
  const files = only.length > 0 ? [...only, "--passWithNoTests"] : [];
  return {
    name,
    command: [...command, vitest, "run", "--project", project, `--maxWorkers=${workers}`, ...files],
    env,
  };
}

/**
 * Runs steps side by side, and shows each one's output when it ends.
 *
 * @param {number} lanes how many run at a time
 * @param {Step[]} steps
 */
async function inLanes(lanes, steps) {
  const waiting = steps.values();
  const lane = async () => {
    for (const step of waiting) await run(step);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** @param {Step} step */
async function run({ name, command: [command, ...args], env = {} }) {
  console.log(`${name}: started`);
  const started = performance.now();
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
    timeout: PATIENCE_MILLISECONDS,
    killSignal: "SIGKILL",
  });
  /** @type {Buffer[]} */
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => output.push(part));
  const status = await new Promise((resolve) => {
    child.once("error", (error) => {
      output.push(Buffer.from(`${error.message}\n`));
      resolve(1);
    });
    child.once("close", resolve);
  });
  const printed = Buffer.concat(output);
  if (status !== 0) failed.set(name, printed);
  process.stdout.write(printed);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${name}: ${status === 0 ? "ok" : "failed"} (${seconds} s)\n`);
}

/** @param {string} message */
function warn(message) {
  console.error(`\n!!! ${message} !!!\n`);
}

/** @param {string} message */
function fail(message) {
  console.error(message);
  process.exit(1);
}
