// `npm test`: installs what is missing, then runs everything. It needs only Node to start.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { installMissing } from "../cli/install.mjs";
import { findBrowser } from "./browser.mjs";

installMissing();
const { runtimes } = await import("./runtimes.mjs");
const filters = process.argv.slice(2);
const root = fileURLToPath(new URL("..", import.meta.url));
/** Limits a runtime that hangs. */
const PATIENCE_MILLISECONDS = 30 * 60_000;

const steps = [
  ["lint and format", "biome", ["check", "--error-on-warnings", "."]],
  ["types", "tsc", []],
  ["build", "tsup", ["--silent"]],
  ["package", "publint", ["--strict"]],
  ["package types", "attw", ["--pack", ".", "--profile", "node16"]],
  ["unused code", "knip", []],
  ["tests", "vitest", ["run", ...filters]],
];

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

for (const [name, command, args] of steps) run(name, ["npx", "--no-install", command, ...args]);

for (const { name, command, env } of runtimes) {
  if (filters.length > 0) warn(`only some tests are run: none of them on ${name}`);
  else if (command) {
    const vitest = `${root}node_modules/vitest/vitest.mjs`;
    run(`tests on ${name}`, [...command, vitest, "run", "--project", "sqlite"], env);
  } else {
    if (process.env.CI) fail(`${name} is required in CI, but not available on this platform`);
    warn(`${name} is not available on this platform: nothing is tested on it`);
  }
}

if (filters.length > 0) warn("only some tests are run: none of them on pm-cli as one binary");
else if (runtimes.some(({ name, command }) => name === "Bun" && command)) {
  run("one binary", ["npm", "run", "--silent", "build:binary"]);
  run(
    "tests of the binary",
    ["npx", "--no-install", "vitest", "run", "--project", "rest", "test/cli"],
    {
      TEST_PM_CLI: `${root}build/pm-cli`,
    },
  );
}

/**
 * @param {string} name
 * @param {string[]} command
 */
function run(name, [command, ...args], env = {}) {
  const started = performance.now();
  const { status } = spawnSync(command, args, {
    stdio: "inherit",
    env: { ...process.env, ...env },
    timeout: PATIENCE_MILLISECONDS,
    killSignal: "SIGKILL",
  });
  if (status !== 0) fail(`${name}: failed`);
  console.log(`${name}: ok (${((performance.now() - started) / 1000).toFixed(1)} s)\n`);
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
