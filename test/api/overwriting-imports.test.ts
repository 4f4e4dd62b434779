import { afterAll, beforeAll, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
/** An archive of `acme/site`, with one issue. */
let archive: Uint8Array<ArrayBuffer>;

beforeAll(async () => {
  app = await testApp();
  const json = { title: "From the archive" };
  await app.call("POST /projects/acme%2Fsite/issues", { as: "owner", json });
  await app.call("POST /projects/acme%2Fsite/export", { as: "owner" });
  await app.admin.maintenance.runArchives();
  const headers = { "private-token": "token-of-owner" };
  const url = "http://pm.test/api/v4/projects/acme%2Fsite/export/download";
  archive = new Uint8Array(await (await app.fetch(url, { headers })).arrayBuffer());
});
afterAll(() => app.dispose());

async function start(
  path: string,
  { as = "owner", bytes = archive }: { as?: Person; bytes?: Uint8Array<ArrayBuffer> } = {},
) {
  const body = new FormData();
  for (const [name, value] of Object.entries({ path, namespace: "acme", overwrite: "true" })) {
    body.append(name, value);
  }
  body.append("file", new Blob([bytes]), "archive.gz");
  return app.call("POST /projects/import", { as, body });
}

const find = async (path: string) => app.call(`GET /projects/acme%2F${path}`, { as: "owner" });
const statusOf = async (id: number) =>
  (await app.call(`GET /projects/${id}/import`, { as: "owner" })).json;

async function project(path: string): Promise<number> {
  const { json: group } = await app.call("GET /groups/acme", { as: "owner" });
  const json = { name: path, path, namespace_id: group.id };
  const made = await app.call("POST /projects", { as: "owner", json });
  expect(made.status).toBe(201);
  await app.call(`POST /projects/${made.json.id}/issues`, { as: "owner", json: { title: "Old" } });
  return made.json.id;
}

it("replaces a project once the archive was read", async () => {
  const old = await project("replaced");
  const asked = await start("replaced");
  expect([asked.status, asked.json.import_status]).toEqual([201, "scheduled"]);
  expect(asked.json.path).toMatch(/^replaced-[0-9a-f]{12}$/);
  // Until then it is there as it was.
  expect((await find("replaced")).json.id).toBe(old);
  await app.admin.maintenance.runArchives();
  const { json: now } = await find("replaced");
  expect([now.id, now.name, now.path]).toEqual([asked.json.id, "replaced", "replaced"]);
  const { json: issues } = await app.call(`GET /projects/${now.id}/issues`, { as: "owner" });
  expect(issues.map(({ title }: { title: string }) => title)).toEqual(["From the archive"]);
  expect((await app.call(`GET /projects/${old}`, { as: "admin" })).status).toBe(404);
  expect(await statusOf(now.id)).toMatchObject({ import_status: "finished", path: "replaced" });
  expect((await find(asked.json.path)).status).toBe(404);
  expect((await check(app.store)).flatMap(({ problems }) => problems)).toEqual([]);
});

it("keeps the old project if the archive can't be read", async () => {
  const old = await project("kept");
  const asked = await start("kept", { bytes: new TextEncoder().encode("no archive") });
  await app.admin.maintenance.runArchives();
  expect((await statusOf(asked.json.id)).import_status).toBe("failed");
  expect((await find("kept")).json.id).toBe(old);
});

it("imports a new project where there is none", async () => {
  const asked = await start("brand-new");
  expect(asked.json.path).toBe("brand-new");
  await app.admin.maintenance.runArchives();
  expect((await statusOf(asked.json.id)).import_status).toBe("finished");
});

it("is refused to whoever may not delete the old project", async () => {
  const old = await project("guarded");
  const asked = await start("guarded", { as: "maintainer" });
  expect([asked.status, asked.json]).toEqual([403, { message: "403 Forbidden" }]);
  await app.admin.maintenance.runArchives();
  expect((await find("guarded")).json.id).toBe(old);
});

it("fails if its importer has lost that right, and leaves both projects", async () => {
  const old = await project("lost");
  const member = { group: "acme", user: "maintainer" };
  await app.admin.members.update({ ...member, role: "owner" });
  const asked = await start("lost", { as: "maintainer" });
  expect(asked.status).toBe(201);
  await app.admin.members.update({ ...member, role: "maintainer" });
  await app.admin.maintenance.runArchives();
  expect(await statusOf(asked.json.id)).toMatchObject({
    import_status: "failed",
    import_error: "The project that it was to replace may not be deleted by its importer",
  });
  expect((await find("lost")).json.id).toBe(old);
});
