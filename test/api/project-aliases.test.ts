import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp, tokenOf } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const PATH = "/project_aliases";
const add = (json: object, as: Person = "admin") => app.call(`POST ${PATH}`, { as, json });

it("is a further name of a project, until it is removed", async () => {
  const made = await add({ name: "site", project_id: "acme/site" });
  const project = (await app.call("GET /projects/acme%2Fsite", { as: "owner" })).json;
  const shown = { id: expect.any(Number), project_id: project.id, name: "site" };
  expect([made.status, made.json]).toEqual([201, shown]);
  expect((await app.call(`GET ${PATH}`, { as: "admin" })).json).toEqual([shown]);
  expect((await app.call(`GET ${PATH}/site`, { as: "admin" })).json).toEqual(shown);
  const again = await add({ name: "site", project_id: project.id });
  expect([again.status, again.json]).toEqual([
    400,
    { message: { name: ["has already been taken"] } },
  ]);
  expect((await app.call(`DELETE ${PATH}/site`, { as: "admin" })).status).toBe(204);
  for (const method of ["GET", "DELETE"]) {
    expect((await app.call(`${method} ${PATH}/site`, { as: "admin" })).status).toBe(404);
  }
  expect((await app.admin.auditEvents.list({ action: "project alias removed" }))[0]).toMatchObject({
    target: "site",
  });
});

it("is found by Git clients, by those who may read the project", async () => {
  await add({ name: "short", project_id: "secret/vault" });
  const ask = async (as: Person) => {
    const token = as === "anonymous" ? "" : tokenOf(as);
    const credentials = Buffer.from(`any:${token}`).toString("base64");
    const headers = token === "" ? {} : { authorization: `Basic ${credentials}` };
    const address = "http://pm.test/short.git/info/refs?service=git-upload-pack";
    return (await app.call(`GET ${address}`, { headers })).status;
  };
  expect(await ask("owner")).toBe(200);
  expect(await ask("stranger")).toBe(404);
  expect(await ask("anonymous")).toBe(401);
});

it.each([
  [{ project_id: "acme/site" }, 400, "name"],
  [{ name: "x" }, 400, "project_id"],
  [{ name: "a/b", project_id: "acme/site" }, 400, "name"],
  [{ name: "x.git", project_id: "acme/site" }, 400, "name"],
  [{ name: "x", project_id: "acme/none" }, 404, "404 Project Not Found"],
])("refuses %j", async (json, status, reason) => {
  const answer = await add(json);
  expect([answer.status, answer.text.includes(reason)]).toEqual([status, true]);
});

it("is administrators'", async () => {
  expect((await add({ name: "x", project_id: "acme/site" }, "owner")).status).toBe(403);
  expect((await app.call(`GET ${PATH}`, { as: "owner" })).status).toBe(403);
  expect((await app.call(`GET ${PATH}`)).status).toBe(401);
});
