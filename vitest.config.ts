import { defineConfig } from "vitest/config";

/** Tests that send requests to an application, and the store's: they run on both engines, and on every runtime. */
const onBothEngines = [
  "test/api/**/*.test.ts",
  "test/graphql/**/*.test.ts",
  "test/oauth/**/*.test.ts",
  "test/store/**/*.test.ts",
  "test/web/**/*.test.ts",
];
/** Tests that measure time by the clock: they run when nothing else does. */
const timed = [
  "test/adapters/**/*.test.ts",
  "test/ci/linear.test.ts",
  "test/cli/hostile.test.ts",
  "test/testing/starting.test.ts",
];
const inBrowser = "test/e2e/**/*.test.ts";
/** Tests of what `npm run build` makes: `pm-cli` as a process, and the package as others import it. */
const built = [
  "test/cli/**/*.test.ts",
  "test/docs/deploy.test.ts",
  "test/examples/**/*.test.ts",
  "test/package/**/*.test.ts",
  "test/testing/{docs,package}.test.ts",
  "examples/**/*.test.{ts,js,mjs}",
];
const dependencies = "**/node_modules/**";

export default defineConfig({
  test: {
    // These only end what hangs: no test may fail because the machine is busy.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // The modules are imported once per worker, not once per file, so files must leave nothing behind: no changed
    // globals, environment, listeners or open applications.
    isolate: false,
    projects: [
      {
        extends: true,
        test: { name: "sqlite", include: onBothEngines, env: { TEST_ENGINE: "sqlite" } },
      },
      {
        extends: true,
        test: {
          name: "postgres",
          include: process.env["TEST_WITHOUT_POSTGRES"] ? [] : onBothEngines,
          env: { TEST_ENGINE: "postgres" },
          globalSetup: "test/postgres.ts",
        },
      },
      {
        extends: true,
        test: {
          name: "rest",
          include: ["test/**/*.test.ts"],
          exclude: [...onBothEngines, ...built, ...timed, inBrowser, dependencies],
        },
      },
      {
        extends: true,
        test: {
          name: "built",
          include: [...built, ...(process.env["TEST_WITHOUT_BROWSER"] ? [] : [inBrowser])],
          exclude: [...timed, dependencies],
          globalSetup: "test/built.ts",
        },
      },
      {
        extends: true,
        test: { name: "timed", include: timed, globalSetup: "test/built.ts" },
      },
    ],
  },
});
