import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";

/** Issues with a word and a label: more than are sorted as rare ones. */
const OLD = 10_400;
/** With newer ones without it: more than are passed over. */
const ALL = OLD + 10_100;
/** In a group with more projects, the first rows of all groups are looked at. */
const PROJECTS = 210;

let app: TestApp;

beforeAll(async () => {
  app = await testApp();
  const idOf = async (path: string) => (await app.call(`GET ${path}`, { as: "admin" })).json.id;
  const [site, group] = [await idOf("/projects/acme%2Fsite"), await idOf("/groups/acme")];
  const numbers = (count: number) =>
    `with recursive n(x) as (select cast(1 as bigint) union all select x + 1 from n where x < ${count})`;
  await app.store.transaction(
    async (db) => {
      await db.run(
        `insert into issues (iid, project_id, title, confidential, created_at, updated_at) ${numbers(ALL)}
         select x, ${site}, case when x <= ${OLD} then 'Ancient ' || case when x % 10 = 0 then 'and secret ' else '' end else '' end
           || 'issue ' || x, case when x % 10 = 0 then 1 else 0 end, x, x from n`,
      );
      await db.run(
        `insert into projects (namespace_id, name, path, full_path, visibility, created_at, updated_at, last_activity_at)
         ${numbers(PROJECTS)} select ${group}, 'Other ' || x, 'other-' || x, 'acme/other-' || x, 20, 0, 0, 0 from n`,
      );
      await db.run(
        `insert into labels (namespace_id, name, color, created_at, updated_at) values (${group}, 'old', '#000000', 0, 0)`,
      );
      await db.run(
        `insert into issue_labels (issue_id, label_id, project_id)
         select i.id, l.id, i.project_id from issues i join labels l on l.name = 'old' where i.iid <= ${OLD}`,
      );
    },
    { unlimited: true },
  );
  if (app.store.dialect === "postgres") await app.store.transaction((db) => db.run("analyze"));
});
afterAll(() => app.dispose());

const PLACES = ["/issues?scope=all&", "/projects/acme%2Fsite/issues?", "/groups/acme/issues?"];
const FILTERS = ["search=ancient", "labels=old&confidential=false", "labels=old&search=ancient"];

describe.each(PLACES)("issues with what only more than 10,000 old ones have: %s", (place) => {
  it.each(["admin", "anonymous"] as const)("%s", async (as) => {
    for (const filter of FILTERS) {
      const seesAll = as === "admin" && !filter.includes("confidential");
      const all = Array.from({ length: OLD }, (_, at) => OLD - at).filter(
        (x) => seesAll || x % 10 !== 0,
      );
      const total = seesAll ? null : String(all.length);
      for (const page of [1, 4, 30, 187, 188, 300]) {
        const path = `${place}${filter}&page=${page}&per_page=50`;
        const { json, headers } = await app.call(`GET ${path}`, { as });
        const shown = json.map(({ iid }: { iid: number }) => iid);
        expect([path, shown]).toEqual([path, all.slice((page - 1) * 50, page * 50)]);
        expect([path, headers.get("x-total")]).toEqual([path, total]);
        const next = page * 50 < all.length ? String(page + 1) : "";
        expect([path, headers.get("x-next-page")]).toEqual([path, next]);
      }
    }
  });

  it("are counted while they are sorted", async () => {
    app.statements.length = 0;
    const { headers } = await app.call(`GET ${place}search=ancient`, { as: "anonymous" });
    expect(headers.get("x-total")).toBe(String(OLD * 0.9));
    expect(app.statements.filter((sql) => sql.includes("count(*) as total"))).toEqual([]);
  });

  it("are none if the caller may see none of them", async () => {
    const list = `GET ${place}search=ancient%20and%20secret`;
    const found = await app.call(list, { as: "anonymous" });
    expect([found.json, found.headers.get("x-total")]).toEqual([[], "0"]);
    const { headers } = await app.call(list, { as: "admin" });
    expect(headers.get("x-total")).toBe(String(OLD / 10));
  });
});
