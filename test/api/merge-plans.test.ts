import { afterAll, beforeAll, expect, it } from "vitest";
import { engine, type TestApp, testApp } from "../helpers.ts";
import { plansOfQueries } from "./_plans.ts";

let app: TestApp;

beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

async function post(path: string, json: object) {
  const { status, text } = await app.call(`POST /projects${path}`, { as: "owner", json });
  expect(status, text).toBe(201);
}

/** Commits a file to a branch of a project. */
const commit = (branch: string, file: string, more = {}) =>
  post("/owner%2Ffew/repository/commits", {
    ...{ branch, commit_message: "Add a file", ...more },
    actions: [{ action: "create", file_path: file, content: "x" }],
  });

it.runIf(engine === "sqlite")(
  "a merge reads no merge requests of other projects, and of its own those of its commits",
  async () => {
    await post("", { name: "few" });
    await commit("main", "a.txt");
    await commit("addition", "b.txt", { start_branch: "main" });
    const branches = { source_branch: "addition", target_branch: "main" };
    await post("/owner%2Ffew/merge_requests", { title: "Add a file", ...branches });
    app.statements.length = 0;
    const path = "PUT /projects/owner%2Ffew/merge_requests/1/merge";
    expect((await app.call(path, { as: "owner" })).status).toBe(200);
    const searches = (await plansOfQueries(app)).flatMap(({ sql, steps }) =>
      steps
        .filter((step) => /^(SEARCH|SCAN) (mr|merge_requests)\b/.test(step))
        .map((step) => [sql, step] as const),
    );
    expect(searches.some(([, step]) => step.includes("merge_requests_by_head"))).toBe(true);
    for (const [sql, step] of searches) {
      const isOfOne = /limit 1$/.test(sql.trim());
      const isNarrow = /project_id=\? AND (sha|target_branch|source_branch|iid)|PRIMARY KEY/.test(
        step,
      );
      expect([sql, step, isOfOne || isNarrow]).toEqual([sql, step, true]);
    }
  },
);
