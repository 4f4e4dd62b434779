// The stored numbers of pipelines and jobs, which the totals of their lists are, against what there is.
import { afterAll, beforeAll, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject, THREE_STAGES } from "./_pipelines.ts";

const ZEROS = "0".repeat(40);
let app: TestApp;
let project: CiProject;
beforeAll(async () => {
  app = await testApp();
  project = await ciProject(
    app,
    "counted",
    `${THREE_STAGES}\nchild:\n  stage: build\n  trigger:\n    include: child.yml\n`,
  );
  await project.commit("child.yml", "below:\n  script: [make]\n");
});
afterAll(() => app.dispose());

/** The totals that the lists of pipelines and jobs say they have. */
async function totals(): Promise<(string | null)[]> {
  const all = [];
  for (const list of ["pipelines", "jobs"]) {
    const { headers } = await project.call(`GET /${list}?per_page=1`, { as: "owner" });
    all.push(headers.get("x-total"));
  }
  return all;
}

/** Checks that they are as many as there are. */
async function requireRight() {
  const length = async (list: string) => {
    let found = 0;
    for (let page = 1; ; page += 1) {
      const query = `per_page=100&page=${page}`;
      const { json } = await project.call(`GET /${list}?${query}`, { as: "owner" });
      found += json.length;
      if (json.length < 100) return String(found);
    }
  };
  expect(await totals()).toEqual([await length("pipelines"), await length("jobs")]);
  expect((await check(app.store)).flatMap(({ problems }) => problems)).toEqual([]);
}

const run = async () => {
  const { json } = await project.call("POST /pipeline", { as: "owner", json: { ref: "main" } });
  return json;
};

it("are right after pipelines, child pipelines, retries and statuses of others", async () => {
  expect(await totals()).toEqual(["0", "0"]);
  const { id } = await run();
  await app.admin.maintenance.runPipelines();
  const before = await totals();
  const children = "select 1 from pipelines where source = 'parent_pipeline'";
  expect((await app.store.rows(children)).length).toBeGreaterThan(0);
  await requireRight();
  await project.call(`POST /pipelines/${id}/cancel`, { as: "owner" });
  await project.call(`POST /pipelines/${id}/retry`, { as: "owner" });
  expect(Number((await totals())[1])).toBeGreaterThan(Number(before[1]));
  await requireRight();
  await project.call(`POST /statuses/${project.sha}`, { as: "owner", json: { state: "success" } });
  await requireRight();
});

it("are right after many at once, and after deletions", async () => {
  const made = [];
  for (let round = 0; round < 10; round += 1) {
    made.push(...(await Promise.all(Array.from({ length: 10 }, run))));
  }
  await requireRight();
  // PostgreSQL has a row for each change, which are summed up.
  const [rows] = await app.store.rows("select count(*) from ci_counts");
  expect((rows as [number])[0]).toBeLessThan(140);
  for (const { id } of made.slice(0, 20)) {
    expect((await project.call(`DELETE /pipelines/${id}`, { as: "owner" })).status).toBe(204);
  }
  await requireRight();
  expect((await app.call(`DELETE ${project.path}`, { as: "owner" })).status).toBe(202);
  await app.admin.maintenance.sweepDaily();
  expect(await app.store.rows("select count from ci_counts")).toEqual([]);
  expect((await check(app.store)).flatMap(({ problems }) => problems)).toEqual([]);
});

it("are not there above the largest total", async () => {
  const { json } = await app.call("POST /projects", { as: "owner", json: { name: "Large" } });
  await app.store.transaction((db) =>
    db.run(
      `insert into pipelines (iid, project_id, ref, sha, before_sha, status, source, created_at, updated_at)
       with recursive n(x) as (select cast(1 as bigint) union all select x + 1 from n where x < 10001)
       select x, ${json.id}, 'main', '${ZEROS}', '${ZEROS}', 'success', 'push', x, x from n`,
    ),
  );
  const list = `/projects/${json.id}/pipelines?per_page=5`;
  const over = await app.call(`GET ${list}`, { as: "owner" });
  expect([over.headers.get("x-total"), over.headers.get("x-next-page")]).toEqual([null, "2"]);
  await app.call(`DELETE /projects/${json.id}/pipelines/${over.json[0].id}`, { as: "owner" });
  const { headers } = await app.call(`GET ${list}&order_by=status`, { as: "owner" });
  expect([headers.get("x-total"), headers.get("x-total-pages")]).toEqual(["10000", "2000"]);
});
