import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

// Orders that are computed for each row: of equals the newest comes first, and those without a value come last.

let app: TestApp;

const SITE = "/projects/acme%2Fsite";

async function made(request: string, json: object, as: Person = "owner") {
  const answer = await app.call(request, { as, json });
  expect([request, answer.status, answer.text]).toEqual([request, answer.status, answer.text]);
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json;
}

const ISSUES = [
  { title: "bolt", due_date: "2026-03-01", weight: 3, labels: "low", milestone: "late", votes: 1 },
  { title: "Anvil", weight: 1, labels: "high,low", milestone: "none due", votes: 2 },
  { title: "cog", due_date: "2026-01-01", labels: "plain", milestone: "soon", votes: 1 },
  { title: "anvil", due_date: "2026-03-01", weight: 3, labels: "low", milestone: "soon", votes: 0 },
  { title: "dowel", votes: 0 },
] as const;

beforeAll(async () => {
  app = await testApp();
  for (const [name, priority] of [
    ["high", 1],
    ["low", 5],
    ["plain", null],
  ]) {
    await made(`POST ${SITE}/labels`, { name, color: "#ff0000", priority });
  }
  const milestones = new Map<string, number>();
  for (const [title, due_date] of [
    ["soon", "2026-05-01"],
    ["late", "2026-09-01"],
    ["none due", null],
  ] as const) {
    milestones.set(title, (await made(`POST ${SITE}/milestones`, { title, due_date })).id);
  }
  for (const kind of ["issues", "merge_requests"]) {
    for (const { title, votes, ...row } of ISSUES) {
      const { milestone, ...given } = { milestone: "", ...row };
      const { iid } = await made(`POST ${SITE}/${kind}`, {
        ...given,
        title,
        source_branch: `of-${title}-${votes}`,
        target_branch: "main",
        milestone_id: milestones.get(milestone),
      });
      for (const as of (["owner", "developer"] as const).slice(0, votes)) {
        await made(`POST ${SITE}/${kind}/${iid}/award_emoji`, { name: "thumbsup" }, as);
      }
    }
  }
});
afterAll(() => app.dispose());

/** The titles of a list in an order, ascending and descending. */
const ORDERS: Record<string, readonly [ascending: string, descending: string]> = {
  title: ["anvil Anvil bolt cog dowel", "dowel cog bolt anvil Anvil"],
  priority: ["anvil cog bolt Anvil dowel", "bolt anvil cog Anvil dowel"],
  label_priority: ["Anvil anvil bolt dowel cog", "anvil bolt Anvil dowel cog"],
  milestone_due: ["anvil cog bolt Anvil dowel", "bolt anvil cog Anvil dowel"],
  popularity: ["dowel anvil cog bolt Anvil", "Anvil cog bolt dowel anvil"],
};
const OF_ISSUES: typeof ORDERS = {
  ...ORDERS,
  due_date: ["cog anvil bolt dowel Anvil", "anvil bolt cog dowel Anvil"],
  weight: ["Anvil anvil bolt dowel cog", "anvil bolt Anvil dowel cog"],
};

const lists = (["issues", "merge_requests"] as const).flatMap((kind) =>
  Object.entries(kind === "issues" ? OF_ISSUES : ORDERS).flatMap(([order, both]) =>
    (["asc", "desc"] as const).map((sort, at) => [kind, order, sort, both[at] as string] as const),
  ),
);

describe("orders of issues and merge requests", () => {
  it.each(lists)("%s by %s, %s", async (kind, order, sort, expected) => {
    for (const path of [SITE, "/groups/acme", ""]) {
      const list = `GET ${path}/${kind}?scope=all&order_by=${order}&sort=${sort}`;
      const whole = await app.call(list, { as: "guest" });
      expect([whole.status, whole.headers.get("x-total")]).toEqual([200, "5"]);
      const titles = whole.json.map(({ title }: { title: string }) => title);
      expect([path, titles.join(" ")]).toEqual([path, expected]);
      const pages = [];
      for (const page of [1, 2, 3]) {
        const { json } = await app.call(`${list}&per_page=2&page=${page}`, { as: "guest" });
        pages.push(...json.map(({ title }: { title: string }) => title));
      }
      expect([path, pages.join(" ")]).toEqual([path, expected]);
    }
  });

  it.each(lists)("GraphQL: %s by %s, %s, by cursors", async (kind, order, sort, expected) => {
    const field = kind === "issues" ? "issues" : "mergeRequests";
    const titles: string[] = [];
    for (let after = "null"; after !== "end"; ) {
      const query = `{ project(fullPath: "acme/site") {
        ${field}(sort: ${order.toUpperCase()}_${sort.toUpperCase()}, first: 2, after: ${after}) {
          nodes { title } pageInfo { hasNextPage endCursor } } } }`;
      const { json } = await app.call("POST http://pm.test/api/graphql", {
        as: "guest",
        json: { query },
      });
      expect(json.errors).toBeUndefined();
      const { nodes, pageInfo } = json.data.project[field];
      titles.push(...nodes.map(({ title }: { title: string }) => title));
      after = pageInfo.hasNextPage ? JSON.stringify(pageInfo.endCursor) : "end";
    }
    expect(titles.join(" ")).toBe(expected);
  });

  it("with filters of which few rows match, and of a milestone", async () => {
    const titles = async (query: string) =>
      (await app.call(`GET ${SITE}/${query}`, { as: "guest" })).json
        .map(({ title }: { title: string }) => title)
        .join(" ");
    expect(await titles("issues?labels=low&order_by=due_date&sort=asc")).toBe("anvil bolt Anvil");
    expect(await titles("issues?search=anvil&order_by=weight&sort=asc")).toBe("Anvil anvil");
    const [{ id }] = (await app.call(`GET ${SITE}/milestones?title=soon`, { as: "guest" })).json;
    expect(await titles(`milestones/${id}/issues?order_by=title&sort=desc`)).toBe("cog anvil");
  });

  it("merge requests by when they were merged", async () => {
    await app.store.transaction(async (db) => {
      await db.run("update merge_requests set merged_at = 1, state = 'merged' where title = 'cog'");
      await db.run(
        "update merge_requests set merged_at = 2, state = 'merged' where title = 'bolt'",
      );
    });
    const list = `GET ${SITE}/merge_requests?order_by=merged_at`;
    const titles = async (sort: string) =>
      (await app.call(`${list}&sort=${sort}`, { as: "guest" })).json
        .map(({ title }: { title: string }) => title)
        .join(" ");
    expect(await titles("asc")).toBe("cog bolt dowel anvil Anvil");
    expect(await titles("desc")).toBe("bolt cog dowel anvil Anvil");
    const wrong = await app.call(`GET ${SITE}/merge_requests?order_by=weight`, { as: "guest" });
    expect([wrong.status, wrong.json.message]).toEqual([
      400,
      { order_by: ["does not have a valid value"] },
    ]);
  });
});

describe("orders of projects", () => {
  const paths = async (query: string, as: Person) => {
    const { status, json } = await app.call(`GET /projects?${query}`, { as });
    expect(status).toBe(200);
    return json.map(({ path }: { path: string }) => path);
  };

  it("by stars", async () => {
    for (const as of ["owner", "developer", "guest"] as const) {
      await made(`POST ${SITE}/star`, {}, as);
    }
    const [most] = await paths("order_by=star_count", "owner");
    expect(most).toBe("site");
    const ascending = await paths("order_by=star_count&sort=asc", "owner");
    expect(ascending.at(-1)).toBe("site");
  });

  it("by how similar they are to what is searched, only if something is", async () => {
    for (const [name, description] of [
      ["tools-of-tea", ""],
      ["kettle", "for tea"],
      ["teapots", ""],
      ["tea", ""],
      ["teapot", ""],
    ]) {
      await made("POST /projects", { name, description, visibility: "public" });
    }
    const similar = "search=tea&order_by=similarity";
    const expected = ["tea", "teapot", "teapots", "tools-of-tea", "kettle"];
    expect(await paths(similar, "guest")).toEqual(expected);
    expect(await paths(`${similar}&sort=asc`, "guest")).toEqual(expected);
    const pages = [];
    for (const page of [1, 2, 3]) {
      pages.push(...(await paths(`${similar}&per_page=2&page=${page}`, "guest")));
    }
    expect(pages).toEqual(expected);
    expect(await paths("order_by=similarity", "guest")).toEqual(
      await paths("order_by=created_at", "guest"),
    );
    const found: string[] = [];
    for (let after = "null"; after !== "end"; ) {
      const query = `{ projects(search: "tea", sort: "similarity", first: 2, after: ${after}) {
        nodes { path } pageInfo { hasNextPage endCursor } } }`;
      const { json } = await app.call("POST http://pm.test/api/graphql", {
        as: "guest",
        json: { query },
      });
      expect(json.errors).toBeUndefined();
      const { nodes, pageInfo } = json.data.projects;
      found.push(...nodes.map(({ path }: { path: string }) => path));
      after = pageInfo.hasNextPage ? JSON.stringify(pageInfo.endCursor) : "end";
    }
    expect(found).toEqual(expected);
  });

  it("GraphQL: of a group, by how similar they are to what is searched", async () => {
    const { json: group } = await app.call("GET /groups/acme", { as: "owner" });
    for (const name of ["coffee-pots", "my-coffee", "coffee"]) {
      await made("POST /projects", { name, namespace_id: group.id });
    }
    const list = async (args: string) => {
      const query = `{ group(fullPath: "acme") { projects(${args}) { nodes { path } } } }`;
      const { json } = await app.call("POST http://pm.test/api/graphql", {
        as: "owner",
        json: { query },
      });
      expect(json.errors).toBeUndefined();
      return json.data.group.projects.nodes.map(({ path }: { path: string }) => path);
    };
    expect(await list('search: "Coffee", sort: SIMILARITY')).toEqual([
      "coffee",
      "coffee-pots",
      "my-coffee",
    ]);
    expect((await list("sort: SIMILARITY")).slice(0, 3)).toEqual([
      "coffee",
      "my-coffee",
      "coffee-pots",
    ]);
  });

  it("by what they store, for administrators", async () => {
    const content = "x".repeat(10_000);
    const file = { branch: "main", content, commit_message: "Large" };
    await made(`POST ${SITE}/repository/files/large`, file);
    for (const order of ["storage_size", "repository_size"]) {
      expect((await paths(`order_by=${order}`, "admin"))[0]).toBe("site");
      expect((await paths(`order_by=${order}&sort=asc`, "admin")).at(-1)).toBe("site");
      const ignored = await paths(`order_by=${order}&sort=asc`, "owner");
      expect(ignored).toEqual(await paths("order_by=created_at&sort=asc", "owner"));
    }
    const wikis = await paths("order_by=wiki_size", "admin");
    expect(wikis.length).toBe((await paths("order_by=packages_size", "admin")).length);
  });
});
