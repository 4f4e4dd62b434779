import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  for (const [path, visibility] of [
    ["open", "public"],
    ["own", "private"],
  ]) {
    const json = { path, visibility };
    expect((await app.call("POST /projects", { as: "guest", json })).status).toBe(201);
  }
  for (const path of ["guest%2Fopen", "acme%2Fsite"]) {
    expect((await app.call(`POST /projects/${path}/star`, { as: "guest" })).status).toBe(201);
  }
});
afterAll(() => app.dispose());

const paths = async (query: string, as?: Person) => {
  const { status, json } = await app.call(`GET /users/${query}`, as && { as });
  expect(status).toBe(200);
  return json.map((project: { path_with_namespace: string }) => project.path_with_namespace).sort();
};

describe("the projects of a user", () => {
  it("are those in their own namespace that the caller can see", async () => {
    expect(await paths("guest/projects", "guest")).toEqual(["guest/open", "guest/own"]);
    expect(await paths("GUEST/projects", "stranger")).toEqual(["guest/open"]);
    expect(await paths("guest/projects")).toEqual(["guest/open"]);
    expect(await paths("guest/projects?visibility=private", "admin")).toEqual(["guest/own"]);
    const { id } = await app.admin.users.get("guest");
    expect(await paths(`${id}/projects?search=ope`)).toEqual(["guest/open"]);
    expect(await paths("stranger/projects", "admin")).toEqual([]);
  });

  it("have fewer attributes for anonymous callers and with `simple`", async () => {
    const keysOf = async (query: string, as?: Person) =>
      Object.keys((await app.call(`GET /users/${query}`, as && { as })).json[0]);
    expect(await keysOf("guest/projects", "stranger")).toContain("permissions");
    expect(await keysOf("guest/projects?simple=true", "stranger")).not.toContain("permissions");
    expect(await keysOf("guest/projects")).not.toContain("permissions");
  });

  it("answer 404 for unknown users", async () => {
    for (const list of ["projects", "starred_projects"]) {
      const { status, json } = await app.call(`GET /users/nobody/${list}`, { as: "guest" });
      expect([status, json]).toEqual([404, { message: "404 User Not Found" }]);
    }
  });
});

describe("the projects that a user has starred", () => {
  it("are those that the caller can see", async () => {
    const both = ["acme/site", "guest/open"];
    expect(await paths("guest/starred_projects", "guest")).toEqual(both);
    expect(await paths("guest/starred_projects")).toEqual(both);
    expect(await paths("guest/starred_projects?owned=true", "guest")).toEqual(["guest/open"]);
    expect(await paths("owner/starred_projects", "guest")).toEqual([]);
  });

  it("are hidden by private profiles", async () => {
    const { id } = await app.admin.users.get("guest");
    const json = { private_profile: true };
    expect((await app.call(`PUT /users/${id}`, { as: "admin", json })).status).toBe(200);
    expect(await paths("guest/starred_projects", "owner")).toEqual([]);
    expect(await paths("guest/starred_projects", "guest")).toHaveLength(2);
  });
});
