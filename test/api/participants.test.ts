import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const SITE = "/projects/acme%2Fsite";

beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

it.each(["issues", "merge_requests"])("the participants of %s take part in it", async (path) => {
  const [{ id: assignee }] = (await app.call("GET /users?username=maintainer")).json;
  const { json } = await app.call(`POST ${SITE}/${path}`, {
    as: "developer",
    json: {
      title: "For all",
      description: "Ask @reporter, @nobody or @blocked",
      source_branch: "a",
      target_branch: "main",
      assignee_ids: [assignee],
    },
  });
  const at = `${SITE}/${path}/${json.iid}`;
  const write = (as: Person, body: string) => app.call(`POST ${at}/notes`, { as, json: { body } });
  await write("guest", "Me, too");
  await write("guest", "And @owner");
  const names = async (as: Person = "anonymous") => {
    const answer = await app.call(`GET ${at}/participants`, { as });
    expect(answer.status, answer.text).toBe(200);
    return answer.json.map(({ username }: { username: string }) => username);
  };
  expect(await names()).toEqual(["owner", "maintainer", "developer", "reporter", "guest"]);
  const paged = await app.call(`GET ${at}/participants?per_page=2&page=2`);
  expect(paged.headers.get("x-total")).toBe("5");
  expect(paged.json[0]).toEqual({
    id: expect.any(Number),
    name: "The developer",
    username: "developer",
    state: "active",
    avatar_url: expect.any(String),
    web_url: "http://pm.test/developer",
  });
});

it("the participants of a confidential issue are those who can see it", async () => {
  const { json } = await app.call(`POST ${SITE}/issues`, {
    as: "developer",
    json: { title: "A secret", description: "@stranger @reporter" },
  });
  const at = `${SITE}/issues/${json.iid}`;
  await app.call(`POST ${at}/notes`, { as: "guest", json: { body: "Hm" } });
  await app.call(`PUT ${at}`, { as: "developer", json: { confidential: true } });
  const { json: seen } = await app.call(`GET ${at}/participants`, { as: "reporter" });
  expect(seen.map(({ username }: { username: string }) => username)).toEqual([
    "developer",
    "reporter",
  ]);
  expect((await app.call(`GET ${at}/participants`, { as: "guest" })).status).toBe(404);
});

it("the authors of internal notes are participants for those who can read them", async () => {
  const json = { title: "Open" };
  const { iid } = (await app.call(`POST ${SITE}/issues`, { as: "guest", json })).json;
  const at = `${SITE}/issues/${iid}`;
  const note = { body: "Between us", internal: true };
  expect((await app.call(`POST ${at}/notes`, { as: "reporter", json: note })).status).toBe(201);
  const names = async (as: Person) =>
    (await app.call(`GET ${at}/participants`, { as })).json.map(
      ({ username }: { username: string }) => username,
    );
  expect(await names("developer")).toEqual(["reporter", "guest"]);
  expect(await names("guest")).toEqual(["guest"]);
  expect(await names("anonymous")).toEqual(["guest"]);
});
