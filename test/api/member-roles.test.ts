import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const PLACES = [
  ["/member_roles", "admin", "owner"],
  ["/groups/acme/member_roles", "owner", "maintainer"],
] as const;
const ask = (request: string, as: Person, json?: object) => app.call(request, { as, json });

describe.each(PLACES)("%s", (path, as, other) => {
  it("has roles with a base role", async () => {
    const sent = { name: "Reader", description: "Reads", base_access_level: 10, read_code: true };
    const made = await ask(`POST ${path}`, as, sent);
    expect([made.status, made.json]).toMatchObject([
      201,
      { ...sent, id: expect.any(Number), admin_push_rules: false, remove_project: false },
    ]);
    expect(made.json.group_id === null).toBe(as === "admin");
    expect((await ask(`GET ${path}`, as)).json).toEqual([made.json]);
    const query = "{ memberRoles { nodes { id name baseAccessLevel { stringValue } } } }";
    const seen = async (by: Person) =>
      (await ask("POST http://pm.test/api/graphql", by, { query })).json.data.memberRoles.nodes;
    expect(await seen("admin")).toEqual(
      as === "admin"
        ? [
            {
              id: `gid://gitlab/MemberRole/${made.json.id}`,
              name: "Reader",
              baseAccessLevel: { stringValue: "GUEST" },
            },
          ]
        : [],
    );
    expect(await seen("owner")).toEqual([]);
    const again = await ask(`POST ${path}`, as, { ...sent, name: "READER" });
    expect([again.status, again.json]).toEqual([
      400,
      { message: { name: ["has already been taken"] } },
    ]);
    expect((await ask(`DELETE ${path}/${made.json.id}`, as)).status).toBe(204);
    expect((await ask(`DELETE ${path}/${made.json.id}`, as)).status).toBe(404);
    expect((await ask(`GET ${path}`, as)).json).toEqual([]);
  });

  it("is called Custom without a name", async () => {
    const made = await ask(`POST ${path}`, as, { base_access_level: 20, read_runners: true });
    expect(made.json.name).toBe("Custom");
    await ask(`DELETE ${path}/${made.json.id}`, as);
  });

  it.each([
    [{ name: "x", read_code: true }, "base_access_level"],
    [{ name: "x", base_access_level: 50, read_code: true }, "base_access_level"],
    [{ name: "x", base_access_level: 10 }, "no enabled permissions"],
    [{ name: "x", base_access_level: 10, read_code: false }, "no enabled permissions"],
    [{ name: "x", base_access_level: 10, read_code: "often" }, "read_code"],
  ])("refuses %j", async (json, reason) => {
    const { status, text } = await ask(`POST ${path}`, as, json);
    expect([status, text.includes(reason)]).toEqual([400, true]);
  });

  it("is for some only", async () => {
    const json = { base_access_level: 10, read_code: true };
    expect((await ask(`POST ${path}`, other, json)).status).toBe(403);
    expect((await app.call(`GET ${path}`)).status).toBe(401);
  });
});

it("is of groups at the top", async () => {
  const { json: group } = await ask("GET /groups/acme", "owner");
  await ask("POST /groups", "owner", { name: "below", path: "below", parent_id: group.id });
  const json = { base_access_level: 10, read_code: true };
  const answer = await ask("POST /groups/acme%2Fbelow/member_roles", "owner", json);
  expect([answer.status, answer.json]).toEqual([
    400,
    { message: { namespace: ["must be top-level namespace"] } },
  ]);
});

it("is given to members of its base role, and then stays", async () => {
  const sent = { name: "Planner", base_access_level: 20, read_code: true };
  const { json: role } = await ask("POST /groups/acme/member_roles", "owner", sent);
  const { json: user } = await ask("GET /user", "stranger");
  const members = "/projects/acme%2Fsite/members";
  const wrong = await ask(`POST ${members}`, "owner", {
    user_id: user.id,
    access_level: 30,
    member_role_id: role.id,
  });
  expect([wrong.status, Object.keys(wrong.json.message)]).toEqual([400, ["member_role_id"]]);
  const unknown = { user_id: user.id, access_level: 20, member_role_id: 9999 };
  expect((await ask(`POST ${members}`, "owner", unknown)).json).toEqual({
    message: { member_role: ["not found"] },
  });
  const made = await ask(`POST ${members}`, "owner", { ...unknown, member_role_id: role.id });
  expect([made.status, made.json.member_role]).toEqual([201, role]);
  const shown = [
    (await ask(`GET ${members}/${user.id}`, "owner")).json,
    (await ask(`GET ${members}/all/${user.id}`, "owner")).json,
    ...(await ask(`GET ${members}/all?user_ids[]=${user.id}`, "owner")).json,
  ];
  expect(shown.map((one) => one.member_role)).toEqual([role, role, role]);

  const refused = await ask(`DELETE /groups/acme/member_roles/${role.id}`, "owner");
  expect([refused.status, refused.text.includes("Role is assigned to one or more")]).toEqual([
    400,
    true,
  ]);
  const put = async (json: object) =>
    (await ask(`PUT ${members}/${user.id}`, "owner", json)).json.member_role ?? null;
  expect(await put({ access_level: 20, expires_at: "2099-01-01" })).toEqual(role);
  expect(await put({ access_level: 30 })).toBe(null);
  expect(await put({ access_level: 20, member_role_id: role.id })).toEqual(role);
  expect(await put({ access_level: 20, member_role_id: null })).toBe(null);
  expect((await ask(`DELETE /groups/acme/member_roles/${role.id}`, "owner")).status).toBe(204);
  await ask(`DELETE ${members}/${user.id}`, "owner");
});
