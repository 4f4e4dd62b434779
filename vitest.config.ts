import { defineConfig } from "vitest/config";
import { type Kind, kindOf, testFiles } from "./test/run/kinds.ts";

const files = testFiles();
const of = (...kinds: Kind[]) => files.filter((file) => kinds.includes(kindOf(file)));

export default defineConfig({
  test: {
    // These only end what hangs: no test may fail because the machine is busy.
    testTimeout: 1_200_000,
    hookTimeout: 1_200_000,
    // The modules are imported once per worker, not once per file, so files must leave nothing behind: no changed
    // globals, environment, listeners or open applications.
    isolate: false,
    setupFiles: "test/run/measured.ts",
    experimental: { fsModuleCache: true },
    projects: [
      {
        extends: true,
        test: { name: "sqlite", include: of("app"), env: { TEST_ENGINE: "sqlite" } },
      },
      {
        extends: true,
        test: {
          name: "postgres",
          include: of("app"),
          env: { TEST_ENGINE: "postgres" },
          globalSetup: "test/postgres.ts",
        },
      },
      { extends: true, test: { name: "rest", include: of("rest") } },
      {
        extends: true,
        test: { name: "built", include: of("built", "browser"), globalSetup: "test/built.ts" },
      },
      {
        extends: true,
        test: { name: "timed", include: of("timed"), globalSetup: "test/built.ts" },
      },
    ],
  },
});
