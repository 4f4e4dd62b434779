import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const site = "/projects/acme%2Fsite";
const vault = "/projects/secret%2Fvault";
const fork = (as: Person, from = site, json: object = {}) =>
  app.call(`POST ${from}/fork`, { as, json });

describe("a fork of a private project", () => {
  const word = "is not allowed since the fork source project has lower visibility.";

  it("is made more visible by nobody, in no way", async () => {
    const made = await fork("reporter", vault, { name: "Kept", path: "kept" });
    expect([made.status, made.json.visibility]).toEqual([201, "private"]);
    const path = `/projects/${made.json.id}`;
    const change = (json: object, as: Person = "reporter") => app.call(`PUT ${path}`, { as, json });
    for (const visibility of ["public", "internal"]) {
      const { status, json } = await change({ visibility, description: "x" });
      const message = { visibility_level: [`${visibility} ${word}`] };
      expect([status, json]).toEqual([400, { message }]);
      expect((await change({ visibility }, "admin")).status).toBe(400);
    }
    // A fork of the fork, and a move to a public group.
    const again = await fork("reporter", path, {
      name: "Again",
      path: "again",
      visibility: "public",
    });
    expect(again.json.visibility).toBe("private");
    const further = await app.call(`PUT /projects/${again.json.id}`, {
      as: "reporter",
      json: { visibility: "public" },
    });
    expect(further.status).toBe(400);
    const group = await app.call("POST /groups", {
      as: "reporter",
      json: { name: "Open", path: "open-group", visibility: "public" },
    });
    const moved = await app.call(`PUT ${path}/transfer`, {
      as: "reporter",
      json: { namespace: group.json.id },
    });
    expect([moved.status, moved.json.visibility]).toEqual([200, "private"]);
    expect((await change({ visibility: "public" })).status).toBe(400);
    expect((await change({ visibility: "private" })).status).toBe(200);
    expect((await app.call(`GET ${path}`)).status).toBe(404);
  });

  it("stays as it was if its source becomes less visible, and then only becomes less visible", async () => {
    const { json: source } = await app.call("POST /projects", {
      as: "owner",
      json: { name: "Once open", visibility: "public" },
    });
    const { json: made } = await fork("developer", `/projects/${source.id}`);
    expect(made.visibility).toBe("public");
    const change = (json: object) =>
      app.call(`PUT /projects/${made.id}`, { as: "developer", json });
    const close = { as: "owner", json: { visibility: "private" } } as const;
    expect((await app.call(`PUT /projects/${source.id}`, close)).status).toBe(200);
    expect((await change({ visibility: "public", description: "x" })).status).toBe(200);
    expect((await change({ visibility: "internal" })).status).toBe(400);
    expect((await change({ visibility: "private" })).status).toBe(200);
    expect((await change({ visibility: "public" })).status).toBe(400);
  });
});

describe("forking", () => {
  it("creates a project of the caller's with a link to its source", async () => {
    const source = (await app.call(`GET ${site}`, { as: "developer" })).json;
    const { status, json } = await fork("developer");
    expect(status).toBe(201);
    expect(json).toMatchObject({
      name: source.name,
      path_with_namespace: "developer/site",
      visibility: "public",
      forks_count: 0,
      forked_from_project: {
        id: source.id,
        name: source.name,
        name_with_namespace: source.name_with_namespace,
        path: source.path,
        path_with_namespace: source.path_with_namespace,
        web_url: source.web_url,
        http_url_to_repo: source.http_url_to_repo,
        default_branch: source.default_branch,
        topics: source.topics,
        namespace: source.namespace,
      },
    });
    expect((await app.call(`GET ${site}`)).json.forks_count).toBe(1);
    const events = await app.call(`GET /projects/${json.id}/events`, { as: "developer" });
    expect(events.json).toMatchObject([{ action_name: "created" }]);
  });

  it("is an import that has finished", async () => {
    const { json } = await fork("owner");
    expect(json.import_status).toBe("finished");
    const shown = await app.call(`GET /projects/${json.id}/import`, { as: "owner" });
    expect(shown.json).toMatchObject({ import_status: "finished", import_type: null });
    const source = await app.call(`GET ${site}`, { as: "owner" });
    expect(source.json.import_status).toBe("none");
  });

  it("accepts another name, path and visibility, and a target group the caller maintains", async () => {
    const json = { namespace: "acme/team", name: "Mine", path: "mine", visibility: "private" };
    const made = await fork("maintainer", site, json);
    expect([made.status, made.json.path_with_namespace, made.json.visibility]).toEqual([
      201,
      "acme/team/mine",
      "private",
    ]);
    const byId = { namespace_id: made.json.namespace.id, path: "again", name: "Again" };
    expect((await fork("maintainer", site, byId)).status).toBe(201);
  });

  it("is at most as visible as its source", async () => {
    const { status, json } = await fork("reporter", vault, { visibility: "public" });
    expect([status, json.visibility]).toEqual([201, "private"]);
  });

  it.each([
    ["anonymous", site, 401],
    ["guest", site, 201],
    ["stranger", vault, 404],
    ["guest", vault, 403],
    ["developer", vault, 201],
  ] as const)("by %s of %s is %i", async (as, from, status) => {
    expect((await fork(as, from, { path: "tried", name: "Tried" })).status).toBe(status);
  });

  it.each(["nowhere", "secret", "acme", "999999"])("into %s is 404", async (namespace) => {
    const { status, json } = await fork("developer", site, { namespace });
    expect([status, json]).toEqual([404, { message: "404 Target Namespace Not Found" }]);
  });

  it("shows the source only to callers who can see it", async () => {
    const { json } = await fork("owner", vault, { path: "shared", name: "Shared" });
    await app.call(`POST /projects/${json.id}/members`, {
      as: "owner",
      json: {
        user_id: (await app.call("GET /user", { as: "stranger" })).json.id,
        access_level: 30,
      },
    });
    const seen = async (as: Person) =>
      (await app.call(`GET /projects/${json.id}`, { as })).json.forked_from_project?.path;
    expect([await seen("owner"), await seen("stranger")]).toEqual(["vault", undefined]);
  });

  it("lists the forks the caller can see, in a bounded number of queries", async () => {
    const { status, json, headers } = await app.call(`GET ${vault}/forks?order_by=id&sort=asc`, {
      as: "owner",
    });
    expect(status).toBe(200);
    expect(
      json.map(({ path_with_namespace }: Record<string, string>) => path_with_namespace),
    ).toEqual(["owner/shared"]);
    expect(headers.get("x-total")).toBe("1");
    app.statements.length = 0;
    await app.call(`GET ${site}/forks?per_page=1`, { as: "admin" });
    const one = app.statements.length;
    app.statements.length = 0;
    await app.call(`GET ${site}/forks`, { as: "admin" });
    expect(app.statements.length).toBeLessThanOrEqual(one);
  });
});

describe("the relation", () => {
  it("can be removed once, and restored by administrators", async () => {
    const { json } = await fork("owner", site, { path: "related", name: "Related" });
    const source = json.forked_from_project.id;
    const at = `/projects/${json.id}/fork`;
    const call = async (request: string, as: Person) => (await app.call(request, { as })).status;
    expect(await call(`DELETE ${at}`, "owner")).toBe(204);
    expect(await call(`DELETE ${at}`, "owner")).toBe(304);
    expect(await call(`POST ${at}/${source}`, "owner")).toBe(403);
    expect(await call(`POST ${at}/${source}`, "admin")).toBe(201);
    expect(await call(`POST ${at}/${source}`, "admin")).toBe(409);
    expect(await call(`POST ${at}/999999`, "admin")).toBe(404);
  });

  it("ends with the source's deletion", async () => {
    const source = await app.call("POST /projects?name=Short&visibility=public", { as: "owner" });
    const { json } = await fork("developer", `/projects/${source.json.id}`);
    await app.call(`DELETE /projects/${source.json.id}`, { as: "owner" });
    const left = await app.call(`GET /projects/${json.id}`, { as: "developer" });
    expect([left.status, "forked_from_project" in left.json]).toEqual([200, false]);
  });
});
