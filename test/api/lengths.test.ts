import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { expectLinear } from "../relative-time.ts";

const MIB = 1024 * 1024;
const SITE = "/projects/acme%2Fsite";
const ISSUES = `${SITE}/issues`;

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ limits: { bodyBytes: 4 * MIB } });
  const json = { title: "An issue", assignee_ids: [] };
  await app.call(`POST ${ISSUES}`, { as: "owner", json });
});
afterAll(() => app.dispose());

describe("texts", () => {
  it.each<[string, number, string, object]>([
    [`POST ${ISSUES}`, 255, "title", {}],
    [`POST ${ISSUES}`, 1_048_576, "description", { title: "x" }],
    [`POST ${SITE}/merge_requests`, 1_048_576, "description", branches("a")],
    [`POST ${ISSUES}/1/notes`, 1_000_000, "body", {}],
    [`POST ${SITE}/milestones`, 1_048_576, "description", { title: "x" }],
    [`POST ${SITE}/labels`, 524_288, "description", { name: "x", color: "#fff" }],
    [`POST ${SITE}/wikis`, 1_048_576, "content", { title: "x" }],
    [`POST /snippets`, 1_048_576, "content", { title: "x", file_name: "x" }],
    [`PUT ${SITE}`, 2000, "description", {}],
    ["PUT /groups/acme", 500, "description", {}],
    ["PUT /users/2", 255, "bio", {}],
  ])("%s accepts %i characters of %s", async (request, max, name, others) => {
    const send = (text: string) =>
      app.call(request, { as: "admin", json: { ...others, [name]: text } });
    const { status, json } = await send("é".repeat(max + 1));
    const message = { [name]: [`is too long (maximum is ${max} characters)`] };
    expect([status, json]).toEqual([400, { message }]);
    expect((await send(`${"é".repeat(max - 1)}👩`)).status).toBeLessThan(300);
  });

  it("are counted in characters, not in UTF-16 code units", async () => {
    const send = (title: string) => app.call(`POST ${ISSUES}`, { as: "owner", json: { title } });
    expect((await send("👩".repeat(255))).status).toBe(201);
    expect((await send("👩".repeat(256))).status).toBe(400);
  });
});

function branches(name: string) {
  return { title: name, source_branch: name, target_branch: "main" };
}

describe("lists", () => {
  const names = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);

  it.each<[string, string, unknown, number]>([
    [`PUT ${ISSUES}/1`, "labels", names(101), 100],
    [`PUT ${ISSUES}/1`, "labels", names(33_000).join(","), 100],
    [`PUT ${ISSUES}/1`, "add_labels", names(101).join(","), 100],
    [`PUT ${ISSUES}/1`, "add_labels", [names(60).join(","), names(60).join(",")], 100],
    [`PUT ${ISSUES}/1`, "remove_labels", ",".repeat(MIB), 100],
    [`PUT ${ISSUES}/1`, "assignee_ids", Array(201).fill(1), 200],
    [`PUT ${SITE}`, "topics", names(150_000).join(","), 100],
  ])("%s %s of too many entries are 400", async (request, name, value, max) => {
    const { status, json } = await app.call(request, { as: "owner", json: { [name]: value } });
    const message = { [name]: [`has too many entries (maximum is ${max})`] };
    expect([status, json]).toEqual([400, { message }]);
  });

  it.each([
    ["labels", 100],
    ["assignee_username", 20],
    ["iids", 500],
  ])("?%s[] accepts %i entries", async (name, max) => {
    const list = (count: number) => {
      const pairs = Array.from({ length: count }, (_, at) => [`${name}[]`, String(at + 1)]);
      return app.call(`GET ${ISSUES}?${new URLSearchParams(pairs)}`);
    };
    expect((await list(max)).status).toBe(200);
    const { status, json } = await list(max + 1);
    const message = { [name]: [`has too many entries (maximum is ${max})`] };
    expect([status, json]).toEqual([400, { message }]);
  });

  it("limit each entry to the length of a name", async () => {
    const json = { labels: `a,${"x".repeat(256)}` };
    const answer = await app.call(`PUT ${ISSUES}/1`, { as: "owner", json });
    const message = { labels: ["is too long (maximum is 255 characters)"] };
    expect([answer.status, answer.json]).toEqual([400, { message }]);
  });

  it("of assignees take one query regardless of their number, and match issues assigned to all of them", async () => {
    const ids = await Promise.all(
      ["developer", "reporter"].map(
        async (name) => (await app.call(`GET /users?username=${name}`, { as: "admin" })).json[0].id,
      ),
    );
    const json = { title: "Of both", assignee_ids: ids };
    await app.call(`POST ${ISSUES}`, { as: "owner", json });
    const list = async (...users: string[]) => {
      const pairs = users.map((name) => ["assignee_username[]", name]);
      return (await app.call(`GET ${ISSUES}?${new URLSearchParams(pairs)}`)).json.length;
    };
    expect(await list("developer", "Reporter")).toBe(1);
    expect(await list("developer", "DEVELOPER")).toBe(1);
    expect(await list("developer", "guest")).toBe(0);
    expect(await list("developer", "nobody")).toBe(0);
    const sent = async (count: number) => {
      app.statements.length = 0;
      await list(...names(count));
      return app.statements.find((sql) => sql.includes("issue_assignees"))?.length ?? 0;
    };
    expect((await sent(16)) - (await sent(1))).toBeLessThan(100);
  });
});

describe("mentions", () => {
  it.each(["@a", "@developer"])("%s with dots behind it is found without them", async (name) => {
    await expectLinear(async (dots) => {
      const body = `${name}${".".repeat(dots)} b`;
      const { status } = await app.call(`POST ${ISSUES}/1/notes`, { as: "owner", json: { body } });
      expect(status).toBe(201);
    }, 100_000);
  });

  it("create a todo for a user name followed by dots and dashes", async () => {
    const json = { title: "Asked", description: "Ask @reporter.-.-" };
    await app.call(`POST ${ISSUES}`, { as: "owner", json });
    const { json: todos } = await app.call("GET /todos?action=mentioned", { as: "reporter" });
    expect(todos[0]?.target.title).toBe("Asked");
  });
});
