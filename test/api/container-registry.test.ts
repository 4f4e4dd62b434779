import { beforeAll, describe, expect, it } from "vitest";
import { baseSeed, type Person, type TestApp, testApp } from "../helpers.ts";
import { digestOf, IMAGE, INDEX, pusher, pushImage, putManifest } from "./_registry.ts";

let app: TestApp;
let now: number;
const SITE = "/projects/acme%2Fsite/registry/repositories";
const VAULT = "/projects/secret%2Fvault/registry/repositories";
const HOUR = 3_600_000;

beforeAll(async () => {
  now = Date.parse("2026-12-01T10:00:00Z");
  app = await testApp({ seed: baseSeed, now: () => now });
  return () => app.close();
});

const get = (path: string, as: Person = "reporter") => app.call(`GET ${path}`, { as });

/** Pushes tags of a repository, an hour after each other, and returns its id. */
async function pushed(name: string, tags: readonly string[]): Promise<number> {
  for (const tag of tags) {
    now += HOUR;
    await pushImage(await pusher(app, name), name, tag);
  }
  const { json } = await get(
    `/projects/${encodeURIComponent(name.split("/").slice(0, 2).join("/"))}/registry/repositories?per_page=100`,
  );
  return json.find((one: { path: string }) => one.path === name).id;
}

const namesOf = async (path: string) =>
  (await get(path)).json.map(({ name }: { name: string }) => name);

describe("repositories", () => {
  it("are listed, with their tags if that is asked", async () => {
    const id = await pushed("acme/site", ["1.0", "2.0"]);
    await pushed("acme/site/img", ["1.0"]);
    const { json } = await get(SITE);
    expect(json[0]).toEqual({
      id,
      name: "",
      path: "acme/site",
      project_id: expect.any(Number),
      location: "pm.test/acme/site",
      created_at: "2026-12-01T11:00:00.000Z",
      cleanup_policy_started_at: null,
      status: null,
    });
    expect(json.map(({ name }: { name: string }) => name)).toEqual(["", "img"]);
    const counted = await get(`${SITE}?tags_count=true`);
    expect(counted.json.map((one: { tags_count: number }) => one.tags_count)).toEqual([2, 1]);
    const both = await get(`${SITE}?tags_count=true&tags=true`);
    expect(both.json[1].tags).toEqual([
      { name: "1.0", path: "acme/site/img:1.0", location: "pm.test/acme/site/img:1.0" },
    ]);
    expect(both.json[0].tags).toHaveLength(2);
    const inGroup = await get("/groups/acme/registry/repositories");
    expect(inGroup.json).toEqual(json);
  });

  it("are got by id", async () => {
    const id = await pushed("acme/site/one", ["1.0"]);
    const { json } = await get(`/registry/repositories/${id}?tags=true&tags_count=true&size=true`);
    expect(json).toMatchObject({
      id,
      path: "acme/site/one",
      tags_count: 1,
      size: expect.any(Number),
    });
    expect(json.tags).toHaveLength(1);
    expect(json.size).toBeGreaterThan(10);
    const plain = await get(`/registry/repositories/${id}`, "anonymous");
    expect([plain.status, Object.hasOwn(plain.json, "size")]).toEqual([200, false]);
    const unknown = await get("/registry/repositories/9999");
    expect([unknown.status, unknown.json]).toEqual([404, { message: "404 Not found" }]);
  });

  it.each([
    ["anonymous", 200, 404],
    ["stranger", 200, 404],
    ["guest", 200, 403],
    ["reporter", 200, 200],
    ["admin", 200, 200],
  ] as const)(
    "are seen by %s: %i in a public project, %i in a private one",
    async (as, open, closed) => {
      const id = await pushed("secret/vault", ["1.0"]);
      for (const [path, status] of [
        [SITE, open],
        [VAULT, closed],
        [`${VAULT}/${id}/tags`, closed],
        [`${VAULT}/${id}/tags/1.0`, closed],
        [`/registry/repositories/${id}`, closed],
      ] as const) {
        expect([path, (await get(path, as)).status]).toEqual([path, status]);
      }
    },
  );

  it("of groups are those that the caller may see", async () => {
    const { json } = await app.call("POST /projects", {
      as: "owner",
      json: { name: "Images", namespace_id: await groupId("acme"), visibility: "public" },
    });
    await pushed("acme/images", ["1"]);
    const seenBy = async (as: Person) =>
      (await get("/groups/acme/registry/repositories?per_page=100", as)).json.some(
        (one: { path: string }) => one.path === "acme/images",
      );
    const set = (level: string) =>
      app.call(`PUT /projects/${json.id}`, {
        as: "owner",
        json: { container_registry_access_level: level },
      });
    expect(await seenBy("reporter")).toBe(true);
    await set("private");
    expect(await seenBy("reporter")).toBe(true);
    for (const [as, status] of [
      ["anonymous", 401],
      ["stranger", 403],
      ["guest", 403],
    ] as const) {
      expect((await get("/groups/acme/registry/repositories", as)).status).toBe(status);
    }
    expect((await get(`/projects/${json.id}/registry/repositories`, "guest")).status).toBe(403);
    await set("disabled");
    expect([await seenBy("reporter"), await seenBy("owner")]).toEqual([false, false]);
    const own = await get(`/projects/${json.id}/registry/repositories`, "owner");
    expect(own.status).toBe(403);
    const project = await get(`/projects/${json.id}`, "owner");
    expect(project.json.container_registry_enabled).toBe(false);
  });

  it("are deleted by maintainers", async () => {
    const id = await pushed("acme/site/gone", ["1.0", "2.0"]);
    const remove = (as: Person) => app.call(`DELETE ${SITE}/${id}`, { as });
    expect((await remove("anonymous")).status).toBe(401);
    expect((await remove("developer")).status).toBe(403);
    const { status, json } = await remove("maintainer");
    expect([status, json]).toEqual([202, { message: "202 Accepted" }]);
    expect((await remove("maintainer")).status).toBe(404);
    expect((await get(`${SITE}/${id}/tags`)).status).toBe(404);
    const left = await app.store.rows("select 1 from container_manifests where repository_id = ?", [
      id,
    ]);
    expect(left).toEqual([]);
  });

  it("of another project are none", async () => {
    const id = await pushed("secret/vault", ["1.0"]);
    for (const path of ["", "/tags", "/tags/1.0"]) {
      const method = path === "" ? "DELETE" : "GET";
      const { status } = await app.call(`${method} ${SITE}/${id}${path}`, { as: "owner" });
      expect(status).toBe(404);
    }
  });

  it("that a rule protects are not deleted", async () => {
    const id = await pushed("acme/site/safe", ["1.0"]);
    await app.call("POST /projects/acme%2Fsite/registry/protection/repository/rules", {
      as: "owner",
      json: { repository_path_pattern: "acme/site/safe", minimum_access_level_for_delete: "owner" },
    });
    expect((await app.call(`DELETE ${SITE}/${id}`, { as: "maintainer" })).status).toBe(403);
    expect((await app.call(`DELETE ${SITE}/${id}/tags/1.0`, { as: "maintainer" })).status).toBe(
      403,
    );
    expect((await app.call(`DELETE ${SITE}/${id}`, { as: "owner" })).status).toBe(202);
  });
});

async function groupId(path: string): Promise<number> {
  return (await get(`/groups/${path}`, "owner")).json.id;
}

describe("tags", () => {
  it("are listed by name", async () => {
    const id = await pushed("acme/site/tags", ["b", "a"]);
    const { json, headers } = await get(`${SITE}/${id}/tags?per_page=1`);
    expect(json).toEqual([
      { name: "a", path: "acme/site/tags:a", location: "pm.test/acme/site/tags:a" },
    ]);
    expect(headers.get("x-total")).toBe("2");
  });

  it("tell of their image", async () => {
    const name = "acme/site/details";
    const id = await pushed(name, ["first"]);
    now += HOUR;
    const client = await pusher(app, name);
    const { digest, config, manifest } = await pushImage(client, name, "1.0", "x".repeat(5000));
    const { json } = await get(`${SITE}/${id}/tags/1.0`);
    expect(json).toEqual({
      name: "1.0",
      path: `${name}:1.0`,
      location: `pm.test/${name}:1.0`,
      revision: config.digest.slice("sha256:".length),
      short_revision: config.digest.slice("sha256:".length, "sha256:".length + 9),
      digest,
      created_at: new Date(now).toISOString(),
      total_size: 5000,
    });
    const child = { mediaType: IMAGE, digest, size: manifest.length };
    const index = { schemaVersion: 2, mediaType: INDEX, manifests: [child] };
    await putManifest(client, name, "all", index, INDEX);
    expect((await get(`${SITE}/${id}/tags/all`)).json).toMatchObject({
      revision: null,
      short_revision: null,
      total_size: 5000,
    });
    expect((await get(`${SITE}/${id}/tags/none`)).status).toBe(404);
  });

  it("are deleted by developers, and their image can still be pulled by its digest", async () => {
    const name = "acme/site/untagged";
    const id = await pushed(name, ["1.0"]);
    const { digest } = (await get(`${SITE}/${id}/tags/1.0`)).json;
    const path = `${SITE}/${id}/tags/1.0`;
    expect((await app.call(`DELETE ${path}`, { as: "reporter" })).status).toBe(403);
    expect((await app.call(`DELETE ${path}`, { as: "developer" })).status).toBe(200);
    expect((await app.call(`DELETE ${path}`, { as: "developer" })).status).toBe(404);
    const client = await pusher(app, name);
    expect((await client(`GET ${name}/manifests/1.0`)).status).toBe(404);
    expect((await client(`GET ${name}/manifests/${digest}`)).status).toBe(200);
  });

  const clean = (id: number, query: string, as: Person = "maintainer") =>
    app.call(`DELETE ${SITE}/${id}/tags?${query}`, { as });

  it.each([
    [".*", "", ["latest"]],
    ["v.*", "", ["dev-1", "dev-2", "latest"]],
    ["v", "", ["dev-1", "dev-2", "latest", "v1", "v2"]],
    [".*", "&name_regex_keep=v.*", ["latest", "v1", "v2"]],
    [".*", "&keep_n=2", ["dev-2", "latest", "v2"]],
    [".*", "&older_than=150min", ["dev-2", "latest", "v2"]],
    [".*", "&keep_n=3&older_than=2h", ["dev-2", "latest", "v1", "v2"]],
    ["V.*|(?i)DEV-1", "", ["dev-2", "latest", "v1", "v2"]],
  ])("that fit %s%s are deleted, %o stay", async (regex, rest, left) => {
    const id = await pushed(`acme/site/clean-${digestOf(regex + rest).slice(7, 15)}`, [
      "dev-1",
      "v1",
      "dev-2",
      "v2",
      "latest",
    ]);
    const { status } = await clean(id, `name_regex_delete=${encodeURIComponent(regex)}${rest}`);
    expect(status).toBe(202);
    expect(await namesOf(`${SITE}/${id}/tags`)).toEqual(left);
  });

  it("are cleaned up once an hour, by maintainers", async () => {
    const id = await pushed("acme/site/hourly", ["1", "2"]);
    expect((await clean(id, "name_regex_delete=1", "developer")).status).toBe(403);
    expect((await clean(id, "name_regex_delete=1")).status).toBe(202);
    const again = await clean(id, "name_regex_delete=2");
    expect([again.status, again.json.message]).toEqual([
      400,
      "400 Bad request - This request has already been made. You can run this at most once an hour for a given container repository",
    ]);
    now += HOUR;
    expect((await clean(id, "name_regex=2")).status).toBe(202);
    expect(await namesOf(`${SITE}/${id}/tags`)).toEqual([]);
  });

  it("are not cleaned up by what is wrong", async () => {
    const id = await pushed("acme/site/wrong", ["1"]);
    for (const query of [
      "",
      "name_regex_delete=",
      "name_regex_delete=(",
      "name_regex_delete=a)|(b",
      "name_regex_delete=.*&name_regex_keep=[",
      "name_regex_delete=.*&keep_n=-1",
      "name_regex_delete=.*&older_than=soon",
      `name_regex_delete=${"(a*)*".repeat(300)}`,
    ]) {
      expect([query, (await clean(id, query)).status]).toEqual([query, 400]);
    }
    expect(await namesOf(`${SITE}/${id}/tags`)).toEqual(["1"]);
  });
});
