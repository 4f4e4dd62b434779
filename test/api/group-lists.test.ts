import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { baseSeed, type TestApp, testApp } from "../helpers.ts";

const HOUR = 3_600_000;
const start = Date.parse("2026-01-01T00:00:00Z");

/** 25 projects with 14 issues and merge requests each; many share an instant, and every third is closed. */
const projects = Array.from({ length: 25 }, (_, project) => {
  const things = Array.from({ length: 14 }, (_, at) => {
    const created_at = new Date(start + ((project * 5 + at * 7) % 40) * HOUR).toISOString();
    const state = at % 3 ? ("opened" as const) : ("closed" as const);
    return { title: `${project}.${at}`, author: "owner", created_at, state, labels: ["UX"] };
  });
  return {
    path: `p${project}`,
    issues: things,
    merge_requests: things.map((one, at) => ({ ...one, source_branch: `b${at}` })),
  };
});

let app: TestApp;
beforeAll(async () => {
  const group = { path: "many", members: { owner: "owner" as const }, projects };
  app = await testApp({ seed: { users: baseSeed.users ?? [], groups: [group] } });
});
afterAll(() => app.dispose());

interface Item {
  id: number;
  created_at: string;
  updated_at: string;
  state: string;
}

async function pages(path: string, size: number): Promise<Item[]> {
  const all: Item[] = [];
  for (let page: string | null = "1"; page; ) {
    const request = `GET ${path}per_page=${size}&page=${page}`;
    const { json, headers } = await app.call(request, { as: "owner" });
    all.push(...json);
    page = headers.get("x-next-page");
  }
  return all;
}

/** A list of the group must have what the lists of its projects have, for every order and page size. */
async function expectOrdered(kind: "issues" | "merge_requests"): Promise<void> {
  const all = (
    await Promise.all(projects.map(({ path }) => pages(`/projects/many%2F${path}/${kind}?`, 100)))
  ).flat();
  expect(all).toHaveLength(350);
  for (const orderBy of ["created_at", "updated_at"] as const) {
    for (const [sort, sign] of [
      ["asc", 1],
      ["desc", -1],
    ] as const) {
      const expected = all
        .filter(({ state }) => state === "opened")
        .sort((a, b) => sign * (Date.parse(a[orderBy]) - Date.parse(b[orderBy]) || a.id - b.id))
        .map(({ id }) => id);
      for (const size of [7, 100]) {
        const path = `/groups/many/${kind}?state=opened&order_by=${orderBy}&sort=${sort}&`;
        expect((await pages(path, size)).map(({ id }) => id)).toEqual(expected);
      }
    }
  }
  expect(await pages(`/groups/many/${kind}?labels=UX&`, 100)).toHaveLength(350);
}

const KINDS = ["issues", "merge_requests"] as const;

it.each(KINDS)("a group's %s are ordered across its projects and pages", expectOrdered);

describe("the same of a group with many projects", () => {
  beforeAll(async () => {
    await app.store.transaction((db) =>
      db.run(
        `insert into projects (namespace_id, name, path, full_path, created_at, updated_at, last_activity_at)
         with recursive n(x) as (select 1 union all select x + 1 from n where x < 300)
         select (select id from namespaces where full_path = 'many'), 'e' || x, 'e' || x, 'many/e' || x, 0, 0, 0 from n`,
      ),
    );
  });

  it.each(KINDS)("whose %s are among the first of all groups", expectOrdered);

  it.each(KINDS)("whose %s come after many of others", async (kind) => {
    const { id } = (
      await app.call("POST /projects", { as: "owner", json: { name: `Others of ${kind}` } })
    ).json;
    const [also, branches] =
      kind === "issues"
        ? ["", ""]
        : [", source_project_id, source_branch, target_branch", `, ${id}, 'b' || x, 'main'`];
    await app.store.transaction((db) =>
      db.run(
        `insert into ${kind} (iid, project_id, title, created_at, updated_at${also})
         with recursive n(x) as (select 1 union all select x + 1 from n where x < 2400)
         select x, ${id}, 'Other', case when x % 2 = 0 then x else ${start * 2} + x end,
           case when x % 2 = 0 then x else ${start * 2} + x end${branches} from n`,
      ),
    );
    await expectOrdered(kind);
  });
});
