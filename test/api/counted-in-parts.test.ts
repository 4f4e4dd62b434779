// Counts of more rows than one statement of SQLite may look at.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Value } from "../../src/store/port.ts";
import { engine, type Person, type TestApp, testApp } from "../helpers.ts";

const MANY = 31_000;
let app: TestApp;
let authorId = 0;

/** Copies a row as often, with numbers that have gaps. */
async function copy(table: "issues" | "merge_requests", id: number, state: string) {
  await app.store.transaction(async (db) => {
    const [row] = await db.all<Record<string, Value>>(`select * from ${table} where id = ?`, [id]);
    const columns = Object.keys(row ?? {}).filter((name) => name !== "id" && name !== "iid");
    const copied = columns.map((name) =>
      name === "state" ? state : name === "relative_position" ? "null" : `t.${name}`,
    );
    await db.run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${MANY})
       insert into ${table} (iid, ${columns.join(", ")})
       select 10 + 1000 * n.i, ${copied.join(", ")} from ${table} t cross join n where t.id = ?`,
      [id],
    );
  });
}

beforeAll(async () => {
  app = await testApp();
  const make = async (path: string, title: string, as: Person = "developer") => {
    const { status, json } = await app.call(`POST ${path}/issues`, { as, json: { title } });
    expect(status).toBe(201);
    return json;
  };
  for (let at = 0; at < 3; at += 1) {
    await app.call("POST /projects", { as: "owner", json: { name: `p${at}` } });
    await make(`/projects/owner%2Fp${at}`, "One", "owner");
  }
  const issue = await make("/projects/acme%2Fsite", "Many");
  authorId = issue.author.id;
  await copy("issues", issue.id, "case when n.i % 4 = 0 then 'closed' else 'opened' end");
});
afterAll(() => app.dispose());

const counted = async (path: string, as: Person = "owner") => {
  app.statements.length = 0;
  const { status, json } = await app.call(`GET ${path}`, { as });
  expect([path, status]).toEqual([path, 200]);
  return json.statistics.counts;
};
/** The statements that count rows of the table. */
const counting = () => app.statements.filter((sql) => /count\(\*\)[\s\S]* issues/.test(sql)).length;

describe("issues_statistics", () => {
  it.each([
    ["/projects/acme%2Fsite/issues_statistics", 0],
    ["/groups/acme/issues_statistics", 0],
    ["/issues_statistics?scope=all", 3],
  ])("%s counts part by part", async (path, others) => {
    const before = await app.store.rows(
      `select count(*), sum(case when i.state = 'closed' then 1 else 0 end) from issues i
       join projects p on p.id = i.project_id where p.full_path like ?`,
      [path.includes("scope") ? "%" : path.includes("site") ? "acme/site" : "acme/%"],
    );
    const [all, closed] = (before[0] ?? []).map(Number) as [number, number];
    expect(all).toBeGreaterThanOrEqual(MANY + others);
    expect(await counted(path, "admin")).toEqual({ all, closed, opened: all - closed });
    if (engine === "sqlite") expect(counting()).toBeGreaterThanOrEqual(3);
  });

  it("counts few in one statement", async () => {
    expect(await counted("/projects/owner%2Fp1/issues_statistics")).toEqual({
      ...{ all: 1, closed: 0, opened: 1 },
    });
    expect(counting()).toBe(1);
    expect((await counted("/issues_statistics?scope=created_by_me")).all).toBe(3);
  });

  it("filters as lists do", async () => {
    const path = "/projects/acme%2Fsite/issues_statistics?created_after=2000-01-01&search=Many";
    expect((await counted(path)).all).toBe(MANY + 1);
  });
});

describe("associations_count", () => {
  it("counts what a user wrote, part by part", async () => {
    app.statements.length = 0;
    const { json } = await app.call(`GET /users/${authorId}/associations_count`, { as: "admin" });
    expect(json.issues_count).toBe(MANY + 1);
    if (engine === "sqlite") expect(counting()).toBeGreaterThanOrEqual(3);
  });
});

describe("GET /application/statistics", () => {
  it("counts what there is, for administrators", async () => {
    app.statements.length = 0;
    const { status, json } = await app.call("GET /application/statistics", { as: "admin" });
    expect(status).toBe(200);
    if (engine === "sqlite") expect(counting()).toBeGreaterThanOrEqual(3);
    const users = (await app.call("GET /users?per_page=100", { as: "admin" })).json;
    const isActive = ({ state }: { state: string }) => state === "active";
    const projects = await app.call("GET /projects", { as: "admin" });
    expect(json).toEqual({
      ...{ forks: 0, merge_requests: 0, notes: expect.any(Number), snippets: 0, ssh_keys: 0 },
      ...{ milestones: expect.any(Number), issues: MANY + 4, groups: expect.any(Number) },
      ...{ users: users.length, active_users: users.filter(isActive).length },
      projects: Number(projects.headers.get("x-total")),
    });
    expect((await app.call("GET /application/statistics", { as: "owner" })).status).toBe(403);
  });
});

describe.runIf(engine === "sqlite")("a client that leaves", () => {
  it("ends the counting", async () => {
    const leaving = new AbortController();
    app.statements.length = 0;
    const asked = app.fetch(
      new Request("http://pm.test/api/v4/issues_statistics?scope=all", {
        headers: { "private-token": "token-of-admin" },
        signal: leaving.signal,
      }),
    );
    while (counting() === 0) await new Promise((resolve) => setImmediate(resolve));
    leaving.abort();
    await asked.catch(() => undefined);
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(counting()).toBeLessThan(3);
  });
});
