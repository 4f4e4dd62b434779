import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Seed } from "../../src/index.ts";
import { baseSeed, type CallOptions, type TestApp, testApp } from "../helpers.ts";

const SITE = "/projects/acme%2Fsite";
const issue = { title: "An issue", author: "guest", notes: [{ author: "guest", body: "Hm" }] };
const project = {
  visibility: "public" as const,
  labels: [{ name: "Own" }],
  milestones: [{ title: "v2" }],
  wiki: [{ title: "home", content: "Welcome" }],
  issues: [issue],
  merge_requests: [{ ...issue, title: "A request", source_branch: "feature" }],
  pushes: [{ author: "guest", ref: "main" }],
};
const projects = [
  { ...project, path: "site" },
  { ...project, path: "other" },
];
const seed: Seed = {
  ...baseSeed,
  groups: (baseSeed.groups ?? []).map((group) =>
    group.path === "acme" ? { ...group, projects } : group,
  ),
};

let app: TestApp;
let label: number;
let milestone: number;
beforeEach(async () => {
  app = await testApp({ seed });
  const first = async (path: string) =>
    (await app.call(`GET ${SITE}${path}`, { as: "admin" })).json[0].id;
  label = await first("/labels?include_ancestor_groups=false");
  milestone = await first("/milestones");
});
afterEach(() => app.dispose());

const as = "owner" as const;
const status = async (request: string, options: CallOptions = {}) =>
  (await app.call(request, { as, ...options })).status;
const change = async (json: object) => expect(await status(`PUT ${SITE}`, { json })).toBe(200);
const archive = async () => expect(await status(`POST ${SITE}/archive`)).toBe(201);

function file(): FormData {
  const form = new FormData();
  form.append("file", new Blob(["x"]), "x.txt");
  return form;
}

/** Requests that change a part of a project visible to others. */
const writes = (): Record<string, CallOptions> => ({
  [`POST ${SITE}/issues`]: { json: { title: "x" } },
  [`PUT ${SITE}/issues/1`]: { json: { title: "x" } },
  [`POST ${SITE}/issues/1/notes`]: { json: { body: "x" } },
  [`POST ${SITE}/issues/1/award_emoji`]: { json: { name: "rocket" } },
  [`DELETE ${SITE}/issues/1`]: {},
  [`POST ${SITE}/merge_requests`]: {
    json: { title: "x", source_branch: "a", target_branch: "b" },
  },
  [`PUT ${SITE}/merge_requests/1`]: { json: { title: "x" } },
  [`PUT ${SITE}/merge_requests/1/merge`]: {},
  [`POST ${SITE}/merge_requests/1/notes`]: { json: { body: "x" } },
  [`POST ${SITE}/labels`]: { json: { name: "x", color: "#123456" } },
  [`PUT ${SITE}/labels/${label}`]: { json: { new_name: "x" } },
  [`DELETE ${SITE}/labels/${label}`]: {},
  [`POST ${SITE}/milestones`]: { json: { title: "x" } },
  [`PUT ${SITE}/milestones/${milestone}`]: { json: { title: "x" } },
  [`DELETE ${SITE}/milestones/${milestone}`]: {},
  [`POST ${SITE}/snippets`]: { json: { title: "x", file_name: "x", content: "x" } },
  [`POST ${SITE}/wikis`]: { json: { title: "x", content: "x" } },
  [`PUT ${SITE}/wikis/home`]: { json: { content: "x" } },
  [`DELETE ${SITE}/wikis/home`]: {},
  [`POST ${SITE}/wikis/attachments`]: { body: file() },
});

const counted = async () => {
  const tables = ["issues", "notes", "award_emoji", "merge_requests", "labels", "milestones"];
  const of = async (table: string) => (await app.store.rows(`select count(*) from ${table}`))[0];
  return Promise.all([...tables, "wiki_pages", "stored_files"].map(of));
};

describe("an archived project", () => {
  it("is read-only, for its owner and administrators too", async () => {
    await archive();
    const before = await counted();
    for (const [request, options] of Object.entries(writes())) {
      for (const who of ["owner", "admin"] as const) {
        const { status, json } = await app.call(request, { ...options, as: who });
        expect([request, status, json]).toEqual([request, 403, { message: "403 Forbidden" }]);
      }
    }
    expect(await counted()).toEqual(before);
  });

  it("checks the caller and visibility first", async () => {
    await archive();
    const json = { title: "x", content: "x" };
    expect(await status(`POST ${SITE}/wikis`, { as: "anonymous", json })).toBe(401);
    await change({ visibility: "private" });
    expect(await status(`POST ${SITE}/issues`, { as: "stranger", json })).toBe(404);
  });

  it("can be read, starred, subscribed to and muted", async () => {
    await archive();
    for (const path of ["", "/issues", "/issues/1/notes", "/merge_requests", "/labels", "/wikis"]) {
      expect([path, await status(`GET ${SITE}${path}`)]).toEqual([path, 200]);
    }
    expect(await status(`POST ${SITE}/star`)).toBe(201);
    expect(await status(`POST ${SITE}/issues/1/subscribe`)).toBe(201);
    expect(await status(`POST ${SITE}/issues/1/todo`)).toBe(201);
    expect(await status(`POST ${SITE}/labels/${label}/subscribe`)).toBe(201);
    const mute = { json: { level: "disabled" } };
    expect(await status(`PUT ${SITE}/notification_settings`, mute)).toBe(200);
  });

  it("can still have its members and settings changed, and be unarchived", async () => {
    await archive();
    const { json: stranger } = await app.call("GET /users?username=stranger", { as });
    const member = { json: { user_id: stranger[0].id, access_level: 30 } };
    expect(await status(`POST ${SITE}/members`, member)).toBe(201);
    await change({ description: "Finished" });
    expect(await status(`POST ${SITE}/unarchive`)).toBe(201);
    expect(await status(`POST ${SITE}/issues`, { json: { title: "x" } })).toBe(201);
  });

  it("does not allow moving an issue to it or from it", async () => {
    await archive();
    const ids = await Promise.all(
      ["site", "other"].map(
        async (path) => (await app.call(`GET /projects/acme%2F${path}`, { as })).json.id,
      ),
    );
    const to = (id: number) => ({ as, json: { to_project_id: id } });
    const into = await app.call("POST /projects/acme%2Fother/issues/1/move", to(ids[0]));
    expect([into.status, into.json]).toEqual([
      400,
      { message: "Cannot move issue due to insufficient permissions!" },
    ]);
    expect(await status(`POST ${SITE}/issues/1/move`, to(ids[1]))).toBe(403);
  });
});

/** Titles of a list, or the status that refuses it. */
const titles = async (path: string) => {
  const { status, json } = await app.call(`GET ${path}`, { as: "admin" });
  return status === 200 ? json.map(({ title }: { title: string }) => title) : status;
};
const projectsOf = async (path: string) => {
  const { json } = await app.call(`GET ${path}`, { as: "admin" });
  return new Set(json.map((one: { project_id: number }) => one.project_id)).size;
};
/** Target types of the project's events. */
const told = async () => {
  const { json } = await app.call(`GET ${SITE}/events`, { as });
  return [
    ...new Set(json.map((event: { target_type: string | null }) => event.target_type)),
  ].sort();
};

describe("a project without issues", () => {
  beforeEach(() => change({ issues_enabled: false }));

  it("lists none, and accepts none", async () => {
    expect(await titles(`${SITE}/issues`)).toEqual([]);
    expect(await status(`GET ${SITE}/issues/1`)).toBe(404);
    expect(await status(`GET ${SITE}/issues/1/notes`)).toBe(404);
    expect(await titles(`${SITE}/milestones/${milestone}/issues`)).toEqual([]);
    for (const [request, options] of Object.entries(writes())) {
      if (request.includes("/issues")) expect(await status(request, options)).toBe(403);
    }
    expect(await status(`POST ${SITE}/issues/1/subscribe`)).toBe(403);
    expect(await status(`GET ${SITE}/merge_requests/1`)).toBe(200);
    expect(await status(`POST ${SITE}/labels`, { json: { name: "x", color: "#123456" } })).toBe(
      201,
    );
  });

  it("is left out of lists across projects, and its events are hidden", async () => {
    expect(await projectsOf("/issues?scope=all")).toBe(1);
    expect(await projectsOf("/groups/acme/issues")).toBe(1);
    expect(await told()).toEqual(["MergeRequest", "Note", null]);
    await change({ issues_enabled: true });
    expect(await projectsOf("/groups/acme/issues")).toBe(2);
    expect(await told()).toEqual(["Issue", "MergeRequest", "Note", null]);
  });
});

it("issues that are off are not counted in the project", async () => {
  type Shown = { path: string; open_issues_count?: number };
  const counts = async () => {
    const shown: Shown[] = [
      (await app.call(`GET ${SITE}`, { as })).json,
      ...(await app.call("GET /projects", { as })).json,
      ...(await app.call("GET /groups/acme/projects", { as })).json,
      ...(await app.call("GET /groups/acme", { as })).json.projects,
    ];
    return shown
      .filter(({ path }) => path === "site")
      .map((one) => ("open_issues_count" in one ? one.open_issues_count : "left out"));
  };
  const on = await counts();
  expect(on).toEqual([1, 1, 1, 1]);
  const changed = await app.call(`PUT ${SITE}`, { as, json: { issues_enabled: false } });
  expect(changed.json).not.toHaveProperty("open_issues_count");
  expect(await counts()).toEqual(on.map(() => "left out"));
  await change({ issues_enabled: true });
  expect(await counts()).toEqual(on);
});

describe("a project without merge requests", () => {
  beforeEach(() => change({ merge_requests_enabled: false }));

  it("refuses to list or create them", async () => {
    expect(await titles(`${SITE}/merge_requests`)).toBe(403);
    expect(await status(`GET ${SITE}/merge_requests/1`)).toBe(403);
    for (const [request, options] of Object.entries(writes())) {
      if (request.includes("/merge_requests")) expect(await status(request, options)).toBe(403);
    }
    expect(await status(`GET ${SITE}/issues/1`)).toBe(200);
  });

  it("is left out of other lists, but push events still show", async () => {
    expect(await projectsOf("/merge_requests?scope=all")).toBe(1);
    expect(await told()).toEqual(["Issue", "Note", null]);
  });

  it("has no labels and milestones when issues are off too", async () => {
    expect(await titles(`${SITE}/milestones`)).toEqual(["v2"]);
    await change({ issues_enabled: false });
    expect(await titles(`${SITE}/milestones`)).toBe(403);
    expect(await titles(`${SITE}/labels`)).toBe(403);
    expect(await titles(`${SITE}/wikis`)).toEqual(["home"]);
  });
});
