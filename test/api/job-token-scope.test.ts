import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { newCommit, pushHeaders, pushOf } from "../packs.ts";

let app: TestApp;
/** A private project, and another one in its own group, whose jobs ask for it. */
let asked: number;
let asking: number;
let askingGroup: number;
beforeAll(async () => {
  app = await testApp();
  const created = async (path: string, json: object) =>
    (await app.call(`POST ${path}`, { as: "owner", json })).json.id as number;
  const parent = await created("/groups", { name: "jobs", path: "jobs", visibility: "private" });
  const child = { name: "below", path: "below", parent_id: parent, visibility: "private" };
  askingGroup = await created("/groups", child);
  asking = await created("/projects", { name: "asking", namespace_id: askingGroup });
  asked = await created("/projects", { name: "asked" });
  await app.call(`POST /projects/${asked}/repository/commits`, {
    as: "owner",
    json: {
      branch: "main",
      commit_message: "c",
      actions: [{ action: "create", file_path: "a", content: "text" }],
    },
  });
  for (const [user, access_level] of [
    ["maintainer", 40],
    ["developer", 30],
    ["reporter", 20],
    ["guest", 10],
  ] as const) {
    const { json } = await app.call(`GET /users?username=${user}`);
    const member = { user_id: json[0].id, access_level };
    await app.call(`POST /projects/${asked}/members`, { as: "owner", json: member });
  }
});
afterAll(() => app.dispose());

const scope = () => `/projects/${asked}/job_token_scope`;
const call = (request: string, json?: object, as: Person = "maintainer") =>
  app.call(request.replace(" ", ` ${scope()}`), json ? { as, json } : { as });
const add = (json: object, as: Person = "owner") =>
  call(`POST ${"target_group_id" in json ? "/groups_allowlist" : "/allowlist"}`, json, as);

beforeEach(async () => {
  await call("PATCH ", { enabled: true });
  await call(`DELETE /allowlist/${asking}`);
  const { json: groups } = await call("GET /groups_allowlist", undefined, "owner");
  for (const { id } of groups) await call(`DELETE /groups_allowlist/${id}`);
});

/** What a job's token of a user gets: a file by the API, a release that it makes, and the branches by Git. */
async function reach(user = "owner") {
  const { token } = await app.admin.tokens.createForJob({ user, project: "jobs/below/asking" });
  const headers = { "job-token": token };
  const statuses = async (request: string, options: object) =>
    (await app.call(request, options)).status;
  const path = `/projects/${asked}`;
  return [
    await statuses(`GET ${path}/repository/files/a/raw`, { headers }),
    await statuses(`POST ${path}/releases`, { headers, json: { tag_name: "v1" } }),
    await statuses("GET http://pm.test/owner/asked.git/info/refs?service=git-upload-pack", {
      headers: pushHeaders(token, "gitlab-ci-token"),
    }),
  ];
}

const CLOSED = [403, 403, 404];
/** The release is refused for want of a tag's commit, which is asked for after the rights. */
const OPEN = [200, 422, 200];

it("R72: is closed at first, opened to all, and closed again", async () => {
  const get = async () => (await call("GET ")).json;
  expect(await get()).toEqual({ inbound_enabled: true, outbound_enabled: false });
  expect(await reach()).toEqual(CLOSED);
  const { status, text } = await call("PATCH ", { enabled: false });
  expect([status, text]).toEqual([204, ""]);
  expect(await get()).toEqual({ inbound_enabled: false, outbound_enabled: false });
  expect(await reach()).toEqual(OPEN);
  await call("PATCH ", { enabled: true });
  expect(await reach()).toEqual(CLOSED);
  for (const json of [{}, { enabled: "" }, { enabled: "maybe" }]) {
    expect((await call("PATCH ", json)).status).toBe(400);
  }
});

it("R73, R74: lists projects, whose jobs may what their users may", async () => {
  const added = await add({ target_project_id: asking });
  const link = { source_project_id: asked, target_project_id: asking };
  expect([added.status, added.json]).toEqual([201, link]);
  const twice = await add({ target_project_id: asking });
  expect([twice.status, twice.json]).toEqual([
    400,
    { message: "400 Bad request - Target project is already in the job token scope" },
  ]);
  const { json } = await call("GET /allowlist", undefined, "owner");
  // The project itself is on its list, as in GitLab.
  expect(json.map(({ id }: { id: number }) => id).sort()).toEqual([asked, asking].sort());
  expect(json).toContainEqual(
    expect.objectContaining({ id: asking, path_with_namespace: "jobs/below/asking" }),
  );
  expect(await reach()).toEqual(OPEN);
  expect(await reach("reporter")).toEqual([200, 403, 200]);
  // Guests of a private project read no code.
  expect(await reach("guest")).toEqual([403, 403, 403]);
  expect(await reach("stranger")).toEqual([404, 404, 404]);
  expect((await call(`DELETE /allowlist/${asking}`)).status).toBe(204);
  expect(await reach()).toEqual(CLOSED);
  expect((await call(`DELETE /allowlist/${asking}`)).status).toBe(404);
});

it("lists groups, with all that is below them", async () => {
  const [parent] = (await app.call("GET /groups?search=jobs", { as: "owner" })).json;
  for (const target_group_id of [askingGroup, parent.id]) {
    const added = await add({ target_group_id });
    expect([added.status, added.json]).toEqual([
      201,
      { source_project_id: asked, target_group_id },
    ]);
    expect(await reach()).toEqual(OPEN);
    expect((await add({ target_group_id })).json.message).toContain(
      "Target group is already in the job token scope",
    );
    const { json } = await call("GET /groups_allowlist", undefined, "owner");
    expect(json).toEqual([
      {
        id: target_group_id,
        web_url: expect.stringContaining("/groups/jobs"),
        name: expect.any(String),
        avatar_url: null,
        full_name: expect.stringContaining("jobs"),
        full_path: expect.stringMatching(/^jobs/),
      },
    ]);
    expect((await call(`DELETE /groups_allowlist/${target_group_id}`)).status).toBe(204);
    expect(await reach()).toEqual(CLOSED);
  }
});

it("takes neither itself nor what its maintainer can't see", async () => {
  expect((await add({ target_project_id: asked })).status).toBe(400);
  expect((await call(`DELETE /allowlist/${asked}`)).status).toBe(400);
  // The maintainer is no member of the other project and group.
  for (const target_project_id of [asking, 999_999]) {
    expect((await add({ target_project_id }, "maintainer")).status).toBe(404);
  }
  expect((await add({ target_group_id: askingGroup }, "maintainer")).status).toBe(404);
  await add({ target_project_id: asking });
  expect((await call("GET /allowlist")).json).toMatchObject([{ id: asked }]);
});

it("lists 200 projects at most", async () => {
  await app.store.transaction(async (db) => {
    for (let at = 0; at < 200; at += 1) {
      const [[id] = []] = await db.rows(
        `insert into projects (namespace_id, name, path, full_path, visibility, created_at, updated_at, last_activity_at)
         select namespace_id, 'p${at}', 'p${at}', full_path || '${at}', 0, 1, 1, 1 from projects where id = ? returning id`,
        [asking],
      );
      await db.run("insert into job_token_projects (project_id, target_project_id) values (?, ?)", [
        asked,
        id as number,
      ]);
    }
  });
  expect((await add({ target_project_id: asking })).status).toBe(400);
  await app.store.transaction((db) => db.run("delete from job_token_projects"));
  expect((await add({ target_project_id: asking })).status).toBe(201);
});

describe("a public project that does not take a token", () => {
  it("shows its holder what everybody sees, whoever they are", async () => {
    const hidden = { visibility: "public", public_jobs: false };
    await app.call(`PUT /projects/${asked}`, { as: "owner", json: hidden });
    try {
      expect(await reach()).toEqual([200, 403, 200]);
      const { token } = await app.admin.tokens.createForJob({
        user: "owner",
        project: "jobs/below/asking",
      });
      const path = `GET /projects/${asked}`;
      const asJob = (request: string) => app.call(request, { headers: { "job-token": token } });
      expect((await asJob(path)).json).toEqual((await app.call(path)).json);
      // Its members see the pipelines.
      expect((await asJob(`${path}/pipelines`)).status).toBe(401);
      expect((await app.call(`${path}/pipelines`, { as: "owner" })).status).toBe(200);
      const { pack, oid } = newCommit("x");
      const pushed = await app.fetch(
        new Request("http://pm.test/owner/asked.git/git-receive-pack", {
          method: "POST",
          headers: pushHeaders(token, "gitlab-ci-token"),
          body: new Uint8Array(pushOf([{ name: "refs/heads/x", to: oid }], pack)),
        }),
      );
      expect(pushed.status).toBe(404);
    } finally {
      await app.call(`PUT /projects/${asked}`, { as: "owner", json: { visibility: "private" } });
    }
  });
});

it("is forgotten with the other project", async () => {
  const { json } = await app.call("POST /projects", { as: "owner", json: { name: "brief" } });
  await add({ target_project_id: json.id });
  await app.call(`DELETE /projects/${json.id}`, { as: "owner" });
  const rows = await app.store.rows("select target_project_id from job_token_projects");
  expect(rows.flat()).not.toContain(json.id);
});
