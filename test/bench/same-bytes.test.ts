import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { createApp } from "../../src/index.ts";
import { serve } from "../../src/node.ts";
import { newFolder } from "../folder.ts";
import { withEvents } from "./events.ts";
import { answerOf } from "./load.ts";
import { EVENT_OPERATIONS, idOfCaller, type Operation, operationsOn } from "./operations.ts";
import { PEOPLE_OPERATIONS, withPeople } from "./people.ts";
import { PIPELINE_OPERATIONS, reportingOn, withPipelines } from "./pipelines.ts";
import { PLANNING_OPERATIONS } from "./planning.ts";
import { startServer } from "./processes.ts";
import { REPOSITORY_OPERATIONS, withRepository } from "./repository.ts";
import { requireSameBytes } from "./same-bytes.ts";
import { mediumSeed } from "./seed.ts";

const BARE = fileURLToPath(new URL("servers/bare.mjs", import.meta.url));

const folder = newFolder();
const where = { folder, rounds: 1, say: () => {} };

afterAll(() => rmSync(folder, { recursive: true }));

/** Requires the bare server's bytes to be the application's, for some requests of each operation. */
async function requireSame(file: string, operations: readonly Operation[]): Promise<void> {
  const copied = `${file}-copy`;
  copyFileSync(file, copied);
  const app = await createApp({ database: file, background: false });
  const bare = await startServer([BARE, copied, await idOfCaller(app)]);
  try {
    const served = await serve(app, { port: 0 });
    const contenders = [
      { name: "bare", server: bare },
      { name: "app", server: served },
    ];
    for (const operation of operations) {
      expect(await answerOf(served, operation), operation.name).toMatch(/^20[01] [[{]./);
      await answerOf(bare, operation);
      for (let time = 0; time < 3; time += 1) await requireSameBytes(operation, contenders);
    }
    await served.close();
  } finally {
    await bare.stop();
    await app.close();
  }
}

test("the bare server and the application give the same answers", async () => {
  const file = join(folder, "seeded.db");
  const app = await createApp({ database: file, background: false });
  await app.admin.seed(mediumSeed({ users: 30, groups: 8, changedIssues: 10 }));
  const operations = [...(await operationsOn(app)), ...PLANNING_OPERATIONS];
  await app.close();
  await requireSame(file, operations);
});

test("so they do about events", async () => {
  await requireSame(await withEvents(1000, where), EVENT_OPERATIONS);
});

test("so they do to an identity provider", async () => {
  const { file, authorization } = await withPeople(where, 60_000);
  await requireSame(
    file,
    PEOPLE_OPERATIONS.map((one) => ({ ...one, authorization })),
  );
});

test("so they do about a repository", async () => {
  await requireSame(await withRepository(where, 100), REPOSITORY_OPERATIONS);
});

test("so they do about pipelines", async () => {
  const { file, commits } = await withPipelines(where, { commits: 30, pipelines: 30 });
  // Of one commit, so that its status changes with each request.
  await requireSame(file, [...PIPELINE_OPERATIONS, reportingOn(commits.slice(0, 1))]);
});
