import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Seed } from "../../src/seed/input.ts";
import { baseSeed, type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const SITE = "/projects/acme%2Fsite";
const CORE = "/projects/acme%2Fteam%2Fcore";
/** Ids of issues by title. */
const ids: Record<string, number> = {};
/** Their numbers in their projects. */
const iids: Record<string, number> = {};

const issues = (titles: string) =>
  [...titles].map((title) => ({ title, author: "owner", labels: ["UX"] }));

beforeAll(async () => {
  const [acme, ...others] = baseSeed.groups ?? [];
  const site = { path: "site", visibility: "public" as const, issues: issues("abcd") };
  const core = { path: "core", issues: issues("xy") };
  const seed = {
    ...baseSeed,
    groups: [
      { ...acme, path: "acme", projects: [site], subgroups: [{ path: "team", projects: [core] }] },
      ...others,
    ],
  } satisfies Seed;
  app = await testApp({ seed });
  for (const path of [SITE, CORE]) {
    for (const one of (await app.call(`GET ${path}/issues`, { as: "admin" })).json) {
      ids[one.title] = one.id;
      iids[one.title] = one.iid;
    }
  }
});
afterAll(() => app.dispose());

async function orderOf(path: string, as: Person = "owner", sort = "asc"): Promise<string> {
  const query = `order_by=relative_position&sort=${sort}&per_page=100`;
  const { status, json } = await app.call(`GET ${path}/issues?${query}`, { as });
  expect(status).toBe(200);
  return json.map(({ title }: { title: string }) => title).join("");
}

/** Moves an issue behind one and ahead of another; `-` for none. */
async function move(title: string, [before, after]: string, as: Person = "owner", path = SITE) {
  const json = {
    ...(before !== "-" && { move_before_id: ids[before as string] }),
    ...(after !== "-" && { move_after_id: ids[after as string] }),
  };
  return app.call(`PUT ${path}/issues/${iids[title]}/reorder`, { as, json });
}

describe("the order of issues", () => {
  it("is that of their creation until somebody changes it", async () => {
    expect(await orderOf(SITE)).toBe("abcd");
    expect(await orderOf(SITE, "owner", "desc")).toBe("dcba");
    expect(await orderOf("/groups/acme")).toBe("xyabcd".split("").sort(byId).join(""));
  });

  it.each([
    ["d", "-a", "dabc"],
    ["d", "b-", "abdc"],
    ["a", "d-", "bdac"],
    ["b", "ca", "dabc"],
    ["c", "-b", "dacb"],
    ["a", "-d", "adcb"],
    ["c", "ba", "acdb"],
    ["b", "da", "abcd"],
  ])("moves %s between %s: %s", async (title, between, order) => {
    const { status, json } = await move(title, between);
    expect([status, json.title]).toEqual([200, title]);
    expect(await orderOf(SITE)).toBe(order);
  });

  it("puts new issues at the end", async () => {
    await move("a", "c-");
    const before = await orderOf(SITE);
    const last = before.at(-1) as string;
    await move("a", `${last}-`);
    const { json } = await app.call(`POST ${SITE}/issues?title=n`, { as: "owner" });
    Object.assign(ids, { n: json.id });
    iids["n"] = json.iid;
    expect(await orderOf(SITE)).toBe(`${before.replace("a", "")}an`);
    await app.call(`DELETE ${SITE}/issues/${json.iid}`, { as: "owner" });
  });

  it("is shared by all projects of a group", async () => {
    const [, second, third] = await orderOf(SITE);
    await move("x", `${second}${third}`, "owner", CORE);
    expect(await orderOf("/groups/acme")).toContain(`${second}x${third}`);
  });

  it("leaves updated_at as it is", async () => {
    const path = `GET ${SITE}/issues/${iids["a"]}`;
    const before = (await app.call(path)).json.updated_at;
    await move("a", "b-");
    expect((await app.call(path)).json.updated_at).toBe(before);
  });

  it("can be changed by authors, assignees and reporters, who can read the neighbours", async () => {
    expect((await move("a", "b-", "anonymous")).status).toBe(401);
    expect((await move("a", "b-", "stranger")).status).toBe(403);
    expect((await move("a", "b-", "guest")).status).toBe(403);
    expect((await move("a", "b-", "reporter")).status).toBe(200);
    const { json } = await app.call(`POST ${SITE}/issues?title=own`, { as: "stranger" });
    iids["own"] = json.iid;
    expect((await move("own", "b-", "stranger")).status).toBe(200);
    const hidden = await move("own", "x-", "stranger");
    expect([hidden.status, hidden.json]).toEqual([
      422,
      { message: { error: "Unprocessable Entity" } },
    ]);
    expect((await move("own", "xb", "stranger")).status).toBe(200);
    await app.call(`DELETE ${SITE}/issues/${json.iid}`, { as: "owner" });
  });

  it("refuses what is no neighbour", async () => {
    const at = `PUT ${SITE}/issues/${iids["a"]}/reorder`;
    const none = await app.call(at, { as: "owner", json: {} });
    expect(none.status).toBe(400);
    const text = await app.call(at, { as: "owner", json: { move_after_id: "x" } });
    expect([text.status, text.json]).toEqual([400, { message: { move_after_id: ["is invalid"] } }]);
    const unknown = await app.call(at, { as: "owner", json: { move_after_id: 99_999 } });
    expect(unknown.status).toBe(422);
    const missing = await app.call(`PUT ${SITE}/issues/999/reorder?move_after_id=1`, {
      as: "owner",
    });
    expect([missing.status, missing.json]).toEqual([404, { message: "404 Issue Not Found" }]);
  });

  it("stays right when one place is used again and again", async () => {
    const start = await orderOf(SITE);
    const [first, ...rest] = start as unknown as Iterable<string> & string[];
    const others = [...start].filter((title) => title !== first);
    expect(rest).toBeDefined();
    let expected = others;
    // Each move halves a gap: after some twenty the neighbours have to make room.
    for (let at = 0; at < 100; at += 1) {
      const title = others[at % others.length] as string;
      expect((await move(title, `${first}-`)).status).toBe(200);
      expected = [title, ...expected.filter((one) => one !== title)];
    }
    expect(await orderOf(SITE)).toBe([first, ...expected].join(""));
    const positions = await app.store.rows(
      "select relative_position from issues order by relative_position",
    );
    expect(new Set(positions.map(String)).size).toBe(positions.length);
    const copies = await app.store.rows(
      `select count(*) from issue_labels x join issues i on i.id = x.issue_id
       where x.open_position <> i.relative_position`,
    );
    expect(copies).toEqual([[0]]);
  });

  it("moves few issues to make room, whatever their number", async () => {
    const [[first]] = (await app.store.rows("select min(id) from issues")) as [[number]];
    await app.store.transaction(async (db) => {
      for (let at = 0; at < 600; at += 1) {
        await db.run(
          `insert into issues (iid, project_id, title, created_at, updated_at, relative_position)
           select ?, project_id, 'many', 0, 0, (select max(relative_position) + 1 from issues)
           from issues where id = ?`,
          [1000 + at, first],
        );
      }
    });
    const before = await app.store.rows("select id, relative_position from issues order by id");
    const many = before.slice(-600);
    const [target] = many[300] as [number];
    const { status } = await app.call(`PUT ${SITE}/issues/${iids["a"]}/reorder`, {
      as: "owner",
      json: { move_before_id: target },
    });
    expect(status).toBe(200);
    const after = new Map(
      (await app.store.rows("select id, relative_position from issues")).map(([id, position]) => [
        id,
        position as number,
      ]),
    );
    const changed = before.filter(([id, position]) => after.get(id as number) !== position);
    expect(changed.length).toBeLessThanOrEqual(1025);
    const order = [...after].sort(([, one], [, other]) => one - other).map(([id]) => id);
    expect(order[order.indexOf(target) + 1]).toBe(ids["a"]);
    const unmoved = order.filter((id) => id !== ids["a"]);
    const expected = before
      .filter(([id]) => id !== ids["a"])
      .sort(([, one], [, other]) => (one as number) - (other as number))
      .map(([id]) => id);
    expect(unmoved).toEqual(expected);
  });
});

function byId(one: string, other: string): number {
  return (ids[one] as number) - (ids[other] as number);
}
