import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

/** More than a list sorts, and fewer than it sorts where the first rows do not match. */
const OLD = 10_500;
/** More than a list looks at before. */
const NEW = 12_000;
/** Those of the old ones that everybody sees. */
const OPEN = 30;

let app: TestApp;

beforeAll(async () => {
  app = await testApp();
  const { id: site } = (await app.call("GET /projects/acme%2Fsite", { as: "admin" })).json;
  const { id: label } = (await app.call("GET /groups/acme/labels/UX", { as: "admin" })).json;
  const numbers = (count: number) =>
    `with recursive n(x) as (select cast(1 as bigint) union all select x + 1 from n where x < ${count})`;
  await app.store.transaction(
    async (db) => {
      const columns =
        "iid, project_id, title, confidential, relative_position, created_at, updated_at";
      const insert = (count: number, values: string) =>
        db.run(`insert into issues (${columns}) ${numbers(count)} select ${values} from n`);
      await insert(
        OLD,
        `x, ${site}, 'Antique ' || x, case when x <= ${OPEN} then 0 else 1 end, x, x, ${OLD} - x`,
      );
      await db.run(
        `insert into issue_labels (issue_id, label_id, project_id) select id, ${label}, project_id from issues`,
      );
      const after = `${OLD} + x`;
      await insert(NEW, `${after}, ${site}, 'Modern ' || x, 0, ${after}, ${after}, ${after}`);
      // So many projects that a group's list doesn't ask each for its first row.
      await db.run(
        `insert into projects (namespace_id, name, path, full_path, visibility, created_at, updated_at, last_activity_at)
         ${numbers(300)} select (select id from namespaces where full_path = 'acme'), 'e' || x, 'e' || x,
           'acme/e' || x, 20, 0, 0, 0 from n`,
      );
    },
    { unlimited: true },
  );
});
afterAll(() => app.dispose());

async function first(path: string, as: Person) {
  const { status, json, headers } = await app.call(`GET ${path}`, { as });
  expect([path, status]).toEqual([path, 200]);
  const iids = json.map(({ iid }: { iid: number }) => iid);
  return [iids, headers.get("x-total"), headers.get("x-next-page")];
}

describe.each(["/issues?scope=all", "/projects/acme%2Fsite/issues?", "/groups/acme/issues?"])(
  "%s of which only old rows match",
  (list) => {
    const [last, next, third] = [OLD, OLD - 1, OLD - 2];

    it.each(["search=antique", "labels=UX"])("%s is in its order, on each page", async (filter) => {
      const read = (query: string) => first(`${list}&${filter}&per_page=2${query}`, "owner");
      expect(await read("")).toEqual([[last, next], null, "2"]);
      expect(await read("&page=2")).toEqual([[third, OLD - 3], null, "3"]);
      expect(await read("&page=200")).toEqual([[OLD - 398, OLD - 399], null, "201"]);
      expect(await read("&sort=asc")).toEqual([[1, 2], null, "2"]);
      expect(await read("&order_by=updated_at")).toEqual([[1, 2], null, "2"]);
      expect(await read("&order_by=updated_at&sort=asc")).toEqual([[last, next], null, "2"]);
      expect(await read("&page=5250")).toEqual([[2, 1], null, ""]);
      expect(await read("&page=5251")).toEqual([[], null, ""]);
    });

    it.each(["search=antique", "labels=UX"])("%s has what the caller may see", async (filter) => {
      const read = (query: string) => first(`${list}&${filter}&${query}`, "anonymous");
      const newest = Array.from({ length: OPEN }, (_, at) => OPEN - at);
      expect(await read("")).toEqual([newest.slice(0, 20), String(OPEN), "2"]);
      expect(await read("page=2")).toEqual([newest.slice(20), String(OPEN), ""]);
      expect(await read("per_page=30")).toEqual([newest, String(OPEN), ""]);
      expect(await read("search=antique%207")).toEqual([[7], "1", ""]);
      expect(await read("state=closed")).toEqual([[], "0", ""]);
    });
  },
);

it("a project's list in the order of boards has the same", async () => {
  const path = "/projects/acme%2Fsite/issues?search=antique&order_by=relative_position&per_page=2";
  expect(await first(`${path}&sort=desc`, "owner")).toEqual([[OLD, OLD - 1], null, "2"]);
  expect(await first(`${path}&sort=asc`, "owner")).toEqual([[1, 2], null, "2"]);
});
