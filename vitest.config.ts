import { defineConfig } from "vitest/config";

/** Tests that send requests to an application, and the store's, run on both engines; the rest once. */
const onBothEngines = [
  "test/api/**/*.test.ts",
  "test/oauth/**/*.test.ts",
  "test/store/**/*.test.ts",
  "test/web/**/*.test.ts",
];
const inBrowser = "test/e2e/**";

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
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
          include: ["test/**/*.test.ts", "examples/**/*.test.{ts,js,mjs}"],
          exclude: [
            ...onBothEngines,
            ...(process.env["TEST_WITHOUT_BROWSER"] ? [inBrowser] : []),
            "**/node_modules/**",
          ],
        },
      },
    ],
  },
});
