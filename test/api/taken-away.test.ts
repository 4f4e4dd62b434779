import { afterAll, beforeAll, expect, it } from "vitest";
import { type Places, pathOf, placesIn, pushRepository } from "../fixtures.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { routes } from "./routes.ts";

/** In every text of the private project; callers without access must never see it. */
const MARK = "marked-text";
const VAULT = "/projects/secret%2Fvault";

let app: TestApp;
let places: Places;

beforeAll(async () => {
  app = await testApp({ extra: toys });
  const post = async (path: string, json: object, as: Person = "owner") => {
    const answer = await app.call(`POST ${path}`, { as, json });
    expect([path, answer.status, answer.text]).toEqual([path, 201, answer.text]);
    return answer.json;
  };
  const { json: stranger } = await app.call("GET /user", { as: "stranger" });
  await post(`${VAULT}/members`, { user_id: stranger.id, access_level: 30 });
  // By links, too: one that is ended below, one that has expired, and a group that is invited to an invited one.
  const groupOf = async (path: string) => {
    const { id } = await post("/groups", { name: path, path });
    await post(`/groups/${id}/members`, { user_id: stranger.id, access_level: 30 });
    return id as number;
  };
  const [ended, expired, chained] = [
    await groupOf("ended"),
    await groupOf("expired"),
    await groupOf("chained"),
  ];
  const { id: between } = await post("/groups", { name: "between", path: "between" });
  await post(`/groups/${between}/share`, { group_id: chained, group_access: 50 });
  for (const at of [VAULT, "/groups/secret"]) {
    await post(`${at}/share`, { group_id: ended, group_access: 30 });
    const over = { group_access: 30, expires_at: "2020-01-01" };
    await post(`${at}/share`, { group_id: expired, ...over });
    await post(`${at}/share`, { group_id: between, group_access: 30 });
  }
  await app.call(`PUT ${VAULT}`, { as: "owner", json: { description: MARK } });
  const texts = { title: MARK, description: `${MARK} @stranger @guest` };
  const branches = { source_branch: MARK, target_branch: "main" };
  await post(`${VAULT}/labels`, { name: MARK, color: "#ff0000", description: MARK });
  await post(`${VAULT}/milestones`, texts);
  await post(`${VAULT}/issues`, { ...texts, confidential: true, labels: MARK }, "stranger");
  await post(`${VAULT}/merge_requests`, { ...texts, ...branches }, "stranger");
  await post(`${VAULT}/snippets`, { ...texts, file_name: MARK, content: MARK }, "stranger");
  await post(`${VAULT}/wikis`, { title: MARK, content: MARK });
  await post(`${VAULT}/topics`, { name: MARK, description: MARK });
  for (const kind of ["issues", "merge_requests"]) {
    await post(`${VAULT}/${kind}/1/notes`, { body: `${MARK} @stranger` }, "stranger");
    await post(`${VAULT}/${kind}/1/award_emoji`, { name: "tada" }, "stranger");
    await post(`${VAULT}/${kind}/1/todo`, {}, "stranger");
  }
  await post(`${VAULT}/star`, {}, "stranger");
  await pushRepository(app, "secret/vault", 3, MARK);
  const found = await placesIn(app, "secret", "secret/vault");
  const { json: todos } = await app.call("GET /todos", { as: "stranger" });
  expect(todos[0].target.title).toBe(MARK);
  places = {
    ...found,
    params: {
      ...found.params,
      todo_id: todos[0].id,
      user_id: stranger.id,
      "members user_id": stranger.id,
    },
  };
  await app.call(`DELETE ${VAULT}/members/${stranger.id}`, { as: "owner" });
  expect((await app.call(`GET ${VAULT}`, { as: "stranger" })).text).toContain(MARK);
  for (const at of [VAULT, "/groups/secret"]) {
    const { status } = await app.call(`DELETE ${at}/share/${ended}`, { as: "owner" });
    expect(status).toBe(204);
  }
});
afterAll(() => app.dispose());

/** Changes a description with every request, so that those that answer with a record would. */
const json = { body: "x", description: "x", name: "thumbsup" };

it.each(
  routes
    .filter(({ method, access }) => method !== "DELETE" && access !== "admin")
    .map((route) => [`${route.method} ${route.path}`, route] as const),
)("%s shows nothing that the caller lost access to", async (_, route) => {
  const at = `${route.method} ${pathOf(route, places)}`;
  const requests = route.method === "GET" ? [at, `${at}?scope=all&all_available=true`] : [at];
  for (const request of requests) {
    for (const as of ["anonymous", "stranger"] as const) {
      const sent = route.method === "GET" ? { as } : { as, json };
      const { status, text } = await app.call(request, sent);
      expect([request, as, status, text.includes(MARK)]).not.toEqual([request, as, 500, false]);
      expect([request, as, text.includes(MARK)]).toEqual([request, as, false]);
    }
  }
});

it("shows it all to callers with access", async () => {
  for (const path of ["/issues?scope=all", "/merge_requests?scope=all", "/events?scope=all"]) {
    expect((await app.call(`GET ${path}`, { as: "owner" })).text).toContain(MARK);
  }
});
