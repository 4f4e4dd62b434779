import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite";
const SNIPPET = { title: "s", file_name: "a.txt", content: "a", visibility: "public" };
const get = (path: string, as: Person = "admin") =>
  app.call(`GET ${path}/user_agent_detail`, { as });

it.each([
  [`${SITE}/issues`, { title: "i" }, "iid"],
  [`${SITE}/snippets`, SNIPPET, "id"],
  ["/snippets", SNIPPET, "id"],
])("of %s is told administrators", async (path, json, key) => {
  const sent = { json, headers: { "user-agent": "tool/1.0" }, ip: "192.0.2.1" };
  const { json: made } = await app.call(`POST ${path}`, { as: "owner", ...sent });
  const one = `${path}/${made[key]}`;
  const { status, json: found } = await get(one);
  expect([status, found]).toEqual([
    200,
    { user_agent: "tool/1.0", ip_address: "192.0.2.1", akismet_submitted: false },
  ]);
  expect((await get(one, "owner")).status).toBe(403);
  expect((await get(one, "anonymous")).status).toBe(401);
  const { json: other } = await app.call(`POST ${path}`, { as: "owner", json });
  const missing = await get(`${path}/${other[key]}`);
  expect([missing.status, missing.json]).toEqual([
    404,
    { message: "404 UserAgentDetail Not Found" },
  ]);
  expect((await get(`${path}/9999`)).status).toBe(404);
});

it("has no identity of a user who has none", async () => {
  const { json: user } = await app.call("GET /user", { as: "owner" });
  const path = `DELETE /users/${user.id}/identities/ldap`;
  const answer = await app.call(path, { as: "admin" });
  expect([answer.status, answer.json]).toEqual([404, { message: "404 Identity Not Found" }]);
  expect((await app.call(path, { as: "owner" })).status).toBe(403);
  const nobody = await app.call("DELETE /users/9999/identities/ldap", { as: "admin" });
  expect(nobody.json).toEqual({ message: "404 User Not Found" });
});
