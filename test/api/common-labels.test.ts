import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";

/** Issues in two projects, of which one is private: so many that none of the labels is rare. */
const OF_SITE = 21_000;
const ALL = 30_000;

/** A label's owner, and the issues with it, by their number. */
type Label = readonly [name: string, owner: "group" | "site" | "core", has: (x: number) => boolean];
const inSite = (x: number) => x <= OF_SITE;

const LABELS: readonly Label[] = [
  ["one", "group", (x) => x % 5 < 2],
  ["another", "group", (x) => x % 7 > 3],
  // Some issues have both labels of a name.
  ["of two", "group", (x) => x % 2 === 0],
  ["of two", "site", (x) => inSite(x) && (x % 4 === 1 || x % 8 === 0)],
  ["of both", "group", (x) => x % 3 === 0],
  ["of both", "core", (x) => !inSite(x) && x % 3 < 2],
  ["of three", "group", (x) => x % 9 < 3],
  ["of three", "site", (x) => inSite(x) && x % 9 === 3],
  ["of three", "core", (x) => !inSite(x) && x % 9 === 4],
  // The first ones are far apart.
  ["few", "group", (x) => x % 12 === 0 || x > 13_000],
];

let app: TestApp;

beforeAll(async () => {
  app = await testApp();
  const idOf = async (path: string) => (await app.call(`GET ${path}`, { as: "admin" })).json.id;
  const ids = {
    site: await idOf("/projects/acme%2Fsite"),
    core: await idOf("/projects/acme%2Fteam%2Fcore"),
    group: await idOf("/groups/acme"),
  };
  await app.store.transaction(
    async (db) => {
      await db.run(
        `insert into issues (iid, project_id, title, confidential, created_at, updated_at)
         with recursive n(x) as (select cast(1 as bigint) union all select x + 1 from n where x < ${ALL})
         select x, case when x <= ${OF_SITE} then ${ids.site} else ${ids.core} end, 'Issue ' || x,
           case when x % 10 = 0 then 1 else 0 end, x, x from n`,
      );
      for (const [name, owner, has] of LABELS) {
        const [label] = await db.rows(
          `insert into labels (${owner === "group" ? "namespace_id" : "project_id"}, name, color, created_at, updated_at)
           values (?, ?, '#000000', 0, 0) returning id`,
          [ids[owner], name],
        );
        const having = Array.from({ length: ALL }, (_, x) => x + 1).filter(has);
        const each =
          db.dialect === "sqlite"
            ? "select value from json_each(?)"
            : "select cast(json_array_elements_text(cast(? as json)) as bigint)";
        await db.run(
          `insert into issue_labels (issue_id, label_id, project_id)
           select id, ${label?.[0]}, project_id from issues
           where project_id in (${ids.site}, ${ids.core}) and iid in (${each})`,
          [JSON.stringify(having)],
        );
      }
    },
    { unlimited: true },
  );
  if (app.store.dialect === "postgres") await app.store.transaction((db) => db.run("analyze"));
});
afterAll(() => app.dispose());

const CALLERS = {
  admin: () => true,
  reporter: () => true,
  anonymous: (x: number) => inSite(x) && x % 10 !== 0,
} as const;

const PLACES: Record<string, (x: number) => boolean> = {
  "/issues?scope=all&": () => true,
  "/groups/acme/issues?": () => true,
  "/projects/acme%2Fsite/issues?": inSite,
};

/** The names of labels, and how their rows are found on SQLite. */
const LISTS: readonly [names: string, shape: RegExp][] = [
  ["one,another", / intersect /],
  ["one,one,another", / intersect /],
  ["of two,one", / intersect .*union all/],
  ["of two,of both", / intersect .*union all/],
  ["of two,of both,another", / intersect .*union all/],
  ["of three,of two", /distinct issue_id .* exists/],
  ["one,few", /where x\.label_id = \? and exists/],
  ["few,of both,another", /union all/],
];

const wanted = (names: string, caller: keyof typeof CALLERS, place: string): number[] => {
  const has = (name: string, x: number) => LABELS.some((label) => label[0] === name && label[2](x));
  return Array.from({ length: ALL }, (_, at) => ALL - at).filter(
    (x) =>
      CALLERS[caller](x) && PLACES[place]?.(x) && names.split(",").every((name) => has(name, x)),
  );
};

describe.each(LISTS)("issues with the common labels %s", (names, shape) => {
  it.each(Object.keys(CALLERS) as (keyof typeof CALLERS)[])("are those: %s", async (as) => {
    for (const place of Object.keys(PLACES)) {
      const all = wanted(names, as, place);
      expect(all.length).toBeGreaterThan(300);
      for (const page of [1, 4]) {
        const path = `${place}labels=${encodeURIComponent(names)}&page=${page}&per_page=50`;
        const { json, headers } = await app.call(`GET ${path}`, { as });
        const shown = json.map(({ iid }: { iid: number }) => iid);
        expect([path, shown]).toEqual([path, all.slice((page - 1) * 50, page * 50)]);
        const total = all.length > 10_000 ? null : String(all.length);
        expect([path, headers.get("x-total")]).toEqual([path, total]);
        expect(headers.get("x-next-page")).toBe(String(page + 1));
      }
    }
  });

  it("are found by their ids, if the names are of few labels", async () => {
    app.statements.length = 0;
    await app.call(`GET /issues?scope=all&labels=${encodeURIComponent(names)}`, { as: "admin" });
    const found = app.statements.filter((sql) => sql.includes("as found"));
    if (app.store.dialect !== "sqlite") return;
    expect(found.some((sql) => shape.test(sql.replace(/\s+/g, " ")))).toBe(true);
  });
});
