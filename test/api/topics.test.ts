import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";

const SITE = "/projects/acme%2Fsite";
let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(async () => {
  expect((await check(app.store)).flatMap(({ problems }) => problems)).toEqual([]);
  await app.dispose();
});
beforeEach(async () => {
  for (const { id } of await listed()) await app.call(`DELETE /topics/${id}`, { as: "admin" });
});

interface Topic {
  id: number;
  name: string;
  total_projects_count: number;
}

const listed = async (query = "", as: Person = "anonymous"): Promise<Topic[]> =>
  (await app.call(`GET /topics?${query}`, { as })).json;
const names = async (query?: string) => (await listed(query)).map(({ name }) => name);
const counts = async () =>
  Object.fromEntries((await listed()).map((one) => [one.name, one.total_projects_count]));

let made = 0;
async function project(topics: string, visibility = "public"): Promise<number> {
  made += 1;
  const json = { name: `with topics ${made}`, visibility, topics };
  const created = await app.call("POST /projects", { as: "developer", json });
  expect(created.status).toBe(201);
  return created.json.id;
}
const topicsOf = async (id: number | string) => {
  const { json } = await app.call(`GET /projects/${id}`, { as: "admin" });
  expect(json.tag_list).toEqual(json.topics);
  return json.topics;
};

it("is created with the first project that has it", async () => {
  const id = await project("Ruby, web,ruby ,web tools");
  expect(await topicsOf(id)).toEqual(["Ruby", "web", "web tools"]);
  expect(await topicsOf(await project("RUBY"))).toEqual(["Ruby"]);
  const [first] = await listed();
  expect(first).toEqual({
    id: expect.any(Number),
    name: "Ruby",
    title: "Ruby",
    description: null,
    total_projects_count: 2,
    avatar_url: null,
  });
  expect((await app.call(`GET /topics/${first?.id}`)).json).toEqual(first);
  expect((await app.call("GET /topics/99999")).json).toEqual({ message: "404 Topic Not Found" });
});

it("counts public projects only, after every kind of change", async () => {
  const [shown, hidden] = [await project("counted,other"), await project("counted", "private")];
  expect(await counts()).toEqual({ counted: 1, other: 1 });
  const change = (id: number, json: object) =>
    app.call(`PUT /projects/${id}`, { as: "developer", json });
  await change(hidden, { visibility: "public" });
  expect(await counts()).toEqual({ counted: 2, other: 1 });
  await change(hidden, { visibility: "internal", topics: "counted,other" });
  expect(await counts()).toEqual({ counted: 1, other: 1 });
  await change(shown, { tag_list: ["counted"] });
  expect(await counts()).toEqual({ counted: 1, other: 0 });
  expect(await names("without_projects=true")).toEqual([]);
  await change(hidden, { topics: "" });
  expect(await names("without_projects=true")).toEqual(["other"]);
  await app.call(`DELETE /projects/${shown}`, { as: "developer" });
  expect(await counts()).toEqual({ counted: 0, other: 0 });
});

it("lists those of most projects first, and searches their names", async () => {
  for (const topics of ["seldom", "often", "often", "Often seen"]) await project(topics);
  expect(await names()).toEqual(["often", "seldom", "Often seen"]);
  expect(await names("search=OFTEN")).toEqual(["often", "Often seen"]);
  expect(await names("search=never")).toEqual([]);
});

it("narrows lists of projects to those with all topics", async () => {
  const [both, one] = [await project("red,blue"), await project("Red")];
  const secret = await project("red", "private");
  const found = async (query: string, as: Person = "anonymous") =>
    (await app.call(`GET /projects?order_by=id&sort=asc&${query}`, { as })).json.map(
      ({ id }: { id: number }) => id,
    );
  expect(await found("topic=red")).toEqual([both, one]);
  expect(await found("topic=red", "developer")).toEqual([both, one, secret]);
  expect(await found("topic=red,BLUE")).toEqual([both]);
  expect(await found("topic=green")).toEqual([]);
  const [blue] = await listed("search=blue");
  expect(await found(`topic_id=${blue?.id}`)).toEqual([both]);
  const query = `{ projects(topics: ["red", "blue"]) { nodes { topics } } }`;
  const graph = await app.call("POST /api/graphql", { as: "developer", json: { query } });
  expect(graph.json.data.projects.nodes).toEqual([{ topics: ["red", "blue"] }]);
});

it("is renamed, merged and removed for all of its projects", async () => {
  const [both, one] = [await project("js,node,javascript"), await project("js")];
  const idOf = async (name: string) => (await listed()).find((topic) => topic.name === name)?.id;
  const [js, javascript] = [await idOf("js"), await idOf("javascript")];
  const renamed = await app.call(`PUT /topics/${js}`, {
    as: "admin",
    json: { name: "ECMAScript", description: "A language" },
  });
  expect(renamed.json).toMatchObject({
    name: "ECMAScript",
    title: "js",
    description: "A language",
  });
  expect(await topicsOf(both)).toEqual(["ECMAScript", "node", "javascript"]);
  const merge = (source_topic_id: unknown, target_topic_id: unknown) =>
    app.call("POST /topics/merge", { as: "admin", json: { source_topic_id, target_topic_id } });
  const merged = await merge(js, javascript);
  expect([merged.status, merged.json]).toMatchObject([
    201,
    { id: javascript, name: "javascript", total_projects_count: 2 },
  ]);
  expect(await topicsOf(both)).toEqual(["node", "javascript"]);
  expect(await topicsOf(one)).toEqual(["javascript"]);
  expect((await app.call(`GET /topics/${js}`)).status).toBe(404);
  expect((await merge(javascript, javascript)).json).toEqual({
    message: "400 Bad request - The source topic and the target topic are identical.",
  });
  expect((await merge(javascript, js)).status).toBe(404);
  expect((await app.call(`DELETE /topics/${javascript}`, { as: "admin" })).status).toBe(204);
  expect(await topicsOf(both)).toEqual(["node"]);
});

it("is written by administrators, under a name of its own", async () => {
  const create = (json: object, as: Person = "admin") => app.call("POST /topics", { as, json });
  const created = await create({ name: "new", title: "New things" });
  expect([created.status, created.json.title]).toEqual([201, "New things"]);
  expect((await create({ name: "other", title: "Other" }, "owner")).status).toBe(403);
  expect((await create({ name: "other", title: "Other" }, "anonymous")).status).toBe(401);
  expect((await create({ name: "other" })).status).toBe(400);
  const taken = await create({ name: "NEW", title: "New" });
  expect([taken.status, taken.json]).toEqual([
    400,
    { message: { name: ["has already been taken"] } },
  ]);
  const path = `/topics/${created.json.id}`;
  const json = { name: "New" };
  expect((await app.call(`PUT ${path}`, { as: "admin", json })).json.name).toBe("New");
  expect((await app.call(`PUT ${path}`, { as: "owner", json })).status).toBe(403);
  expect((await app.call(`DELETE ${path}`, { as: "owner" })).status).toBe(403);
});

it("changes only the project whose topics are set", async () => {
  const json = { topics: ["fast"] };
  expect((await app.call(`PUT ${SITE}`, { as: "owner", json })).json.topics).toEqual(["fast"]);
  expect(await counts()).toEqual({ fast: 1 });
});
