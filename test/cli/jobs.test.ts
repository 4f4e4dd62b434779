import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createApp } from "../../src/index.ts";
import { baseSeed, call } from "../helpers.ts";
import { newFolder, run, runJson } from "./helpers.ts";

const folder = newFolder();
const db = join(folder.path, "pm.db");
const of = ["--db", db];
beforeAll(async () => {
  const mail = { smtp: "smtp://127.0.0.1:1", from: "pm@example.com" };
  const app = await createApp({ database: db, url: "https://pm.example.com", mail });
  await app.admin.seed(baseSeed);
  // Mail is set up now, but nothing sends it, so that everything waits.
  await app.close();
  const writing = await createApp({ database: db, background: false });
  for (const title of ["A", "B"]) {
    await call(writing, "POST /projects/acme%2Fsite/issues", { as: "owner", json: { title } });
  }
  await writing.close();
});
afterAll(folder.remove);

it("lists workers and tasks, and retries them", async () => {
  expect(await runJson(["jobs", "workers", ...of])).toEqual([
    {
      worker: "mail",
      waiting: 2,
      running: 0,
      failed: 0,
      stuck: 0,
      oldest_at: expect.stringMatching(/^\d{4}-.*Z$/),
      seen_at: expect.stringMatching(/^\d{4}-.*Z$/),
      failing_since: null,
    },
  ]);
  const [first, second] = await runJson(["jobs", "list", "--worker", "mail", ...of]);
  expect(first).toMatchObject({
    worker: "mail",
    state: "waiting",
    payload: { event: expect.any(Number) },
    attempts: 0,
    error: null,
  });
  expect(second.payload.event).toBe(first.payload.event + 1);
  expect(await runJson(["jobs", "list", "--state", "failed", ...of])).toEqual([]);
  expect((await run(["jobs", "list", "--worker", "ci", ...of])).stdout).toBe(
    "There are no such tasks.\n",
  );
  expect(await runJson(["jobs", "retry", ...of])).toEqual({ tasks: 2 });
  const one = await run(["jobs", "retry", "--id", String(second.id), ...of]);
  expect([one.code, one.stdout]).toEqual([0, "1 is retried at once.\n"]);
  const unknown = await run(["jobs", "retry", "--id", "4711", ...of]);
  expect([unknown.code, unknown.stderr]).toEqual([1, "error: there is no such task\n"]);
  const wrong = await run(["jobs", "list", "--state", "lost", ...of]);
  expect(wrong.code).toBe(2);
});
