// `npm test`: installs what is missing, then runs everything. It needs nothing but Node to start.
import { spawnSync } from "node:child_process";
import { installMissing } from "../cli/install.mjs";

installMissing();

const steps = [
  ["lint and format", "biome", ["check", "--error-on-warnings", "."]],
  ["types", "tsc", []],
  ["build", "tsup", ["--silent"]],
  ["package", "publint", ["--strict"]],
  ["package types", "attw", ["--pack", ".", "--profile", "node16"]],
  ["unused code", "knip", []],
  ["tests", "vitest", ["run", ...process.argv.slice(2)]],
];

if (process.env.TEST_WITHOUT_POSTGRES) {
  if (process.env.CI) fail("TEST_WITHOUT_POSTGRES is not for CI: PostgreSQL is required there");
  console.error("\n!!! TEST_WITHOUT_POSTGRES is set: nothing is tested on PostgreSQL !!!\n");
}

for (const [name, command, args] of steps) {
  const started = performance.now();
  const { status } = spawnSync("npx", ["--no-install", command, ...args], { stdio: "inherit" });
  if (status !== 0) fail(`${name}: failed`);
  console.log(`${name}: ok (${((performance.now() - started) / 1000).toFixed(1)} s)\n`);
}

/** @param {string} message */
function fail(message) {
  console.error(message);
  process.exit(1);
}
