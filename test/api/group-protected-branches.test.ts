// Rules of groups about branches: they are in force in every project below, together with the project's own.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const RULES = "/groups/acme/protected_branches";
const post = (path: string, json: object, as: Person = "owner") =>
  app.call(`POST ${path}`, { as, json });

/** Creates a project with a commit on its default branch and two others. */
async function projectIn(group: string, name: string): Promise<string> {
  const { json } = await app.call(`GET /groups/${encodeURIComponent(group)}`, { as: "owner" });
  const made = await post("/projects", { name, namespace_id: json.id });
  expect([made.status, made.text]).toEqual([201, expect.anything()]);
  const path = `/projects/${made.json.id}`;
  const commit = (branch: string) =>
    post(`${path}/repository/commits`, {
      branch,
      start_branch: branch === "main" ? undefined : "main",
      commit_message: "Add",
      actions: [{ action: "create", file_path: `${branch}.txt`, content: "text" }],
    });
  for (const branch of ["main", "stable-1", "free"])
    expect((await commit(branch)).status).toBe(201);
  return path;
}

it("are kept by owners of top-level groups", async () => {
  const made = await post(RULES, { name: "kept", push_access_level: 0, allow_force_push: true });
  const shown = {
    id: expect.any(Number),
    name: "kept",
    push_access_levels: [expect.objectContaining({ access_level: 0 })],
    merge_access_levels: [expect.objectContaining({ access_level: 40 })],
    unprotect_access_levels: [expect.objectContaining({ access_level: 40 })],
    allow_force_push: true,
    code_owner_approval_required: false,
  };
  expect([made.status, made.json]).toEqual([201, shown]);
  const again = await post(RULES, { name: "kept" });
  expect([again.status, again.json]).toEqual([
    409,
    { message: "Protected branch 'kept' already exists" },
  ]);
  expect((await app.call(`GET ${RULES}`, { as: "owner" })).json).toEqual([made.json]);
  expect((await app.call(`GET ${RULES}?search=nothing`, { as: "owner" })).json).toEqual([]);
  expect((await app.call(`GET ${RULES}/kept`, { as: "owner" })).json).toEqual(made.json);
  expect((await app.call(`GET ${RULES}/absent`, { as: "owner" })).status).toBe(404);
  const changed = await app.call(`PATCH ${RULES}/kept`, {
    as: "owner",
    json: { push_access_level: 30, allow_force_push: false },
  });
  expect(changed.json).toMatchObject({
    push_access_levels: [expect.objectContaining({ access_level: 30 })],
    allow_force_push: false,
  });
  for (const as of ["maintainer", "stranger"] as const) {
    expect((await app.call(`GET ${RULES}`, { as })).status).toBe(403);
    expect((await post(RULES, { name: "other" }, as)).status).toBe(403);
  }
  const below = await post("/groups/acme%2Fteam/protected_branches", { name: "x" });
  expect([below.status, below.json]).toEqual([
    422,
    { message: ["Group must be a top-level group"] },
  ]);
  expect(
    (await app.call("GET /groups/acme%2Fteam/protected_branches/kept", { as: "owner" })).status,
  ).toBe(404);
  expect((await app.call(`DELETE ${RULES}/kept`, { as: "owner" })).status).toBe(204);
  expect((await app.call(`GET ${RULES}/kept`, { as: "owner" })).status).toBe(404);
  const audit = await app.call("GET /groups/acme/audit_events", { as: "owner" });
  expect(audit.json.map((one: { entity_type: string }) => one.entity_type)).toContain("Group");
});

it("grants name members and groups; a deploy key can't be named", async () => {
  const { json } = await app.call("GET /users?username=developer", { as: "admin" });
  const made = await post(RULES, { name: "named", allowed_to_push: [{ user_id: json[0].id }] });
  expect(made.json.push_access_levels).toEqual([
    expect.objectContaining({ user_id: json[0].id, access_level_description: "The developer" }),
  ]);
  const stranger = await app.call("GET /users?username=stranger", { as: "admin" });
  const refused = await post(RULES, {
    name: "strangers",
    allowed_to_push: [{ user_id: stranger.json[0].id }],
  });
  expect(refused.status).toBe(422);
  await app.call(`DELETE ${RULES}/named`, { as: "owner" });
});

it("are in force in projects of the group and of its subgroups", async () => {
  for (const [group, name] of [
    ["acme", "own"],
    ["acme/team", "below"],
  ] as const) {
    const path = await projectIn(group, `${name}-project`);
    await post(RULES, { name: "stable-*", push_access_level: 0, merge_access_level: 30 });
    const branch = async (of: string) =>
      (await app.call(`GET ${path}/repository/branches/${of}`, { as: "developer" })).json;
    expect(await branch("stable-1")).toMatchObject({
      protected: true,
      can_push: false,
      developers_can_merge: true,
    });
    expect(await branch("free")).toMatchObject({ protected: false, can_push: true });
    const listed = await app.call(`GET ${path}/protected_branches`, { as: "reporter" });
    expect(
      listed.json.map((one: { name: string; inherited: boolean }) => [one.name, one.inherited]),
    ).toEqual(
      expect.arrayContaining([
        ["main", false],
        ["stable-*", true],
      ]),
    );
    expect(listed.json).toHaveLength(2);
    const one = await app.call(`GET ${path}/protected_branches/stable-*`, { as: "reporter" });
    expect(one.json).toMatchObject({ name: "stable-*", inherited: true });
    for (const method of ["DELETE", "PATCH"]) {
      const asked = await app.call(`${method} ${path}/protected_branches/stable-*`, {
        as: "owner",
        ...(method === "PATCH" && { json: { allow_force_push: true } }),
      });
      expect(asked.status).toBe(404);
    }
    const edit = (as: Person) =>
      post(
        `${path}/repository/files/more.txt`,
        { branch: "stable-1", content: "x", commit_message: "More" },
        as,
      );
    expect((await edit("maintainer")).status).toBe(403);
    // With a rule of its own, the more permissive one counts.
    await post(`${path}/protected_branches`, { name: "stable-1", push_access_level: 40 });
    expect((await edit("maintainer")).status).toBe(201);
    const merge = await post(
      `${path}/merge_requests`,
      { source_branch: "free", target_branch: "stable-1", title: "Merge" },
      "developer",
    );
    const { json } = await app.call(`GET ${path}/merge_requests/${merge.json.iid}`, {
      as: "developer",
    });
    expect(json.user.can_merge).toBe(true);
    await app.call(`DELETE ${RULES}/stable-*`, { as: "owner" });
  }
});
