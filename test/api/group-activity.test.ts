// What was created in a group, and who joined it, in the last 90 days.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Value } from "../../src/store/port.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";

const DAY = 86_400_000;
let app: TestApp;
let time = Date.parse("2026-03-01T00:00:00Z");

const make = (request: string, json: object, as: Person = "owner") =>
  app.call(`POST ${request}`, { as, json });
const made = async (request: string, json: object, as: Person = "owner") => {
  const { status, text } = await make(request, json, as);
  expect([status, text]).toEqual([201, text]);
};
const count = async (what: string, group: string, as: Person = "owner") => {
  const name = `${what}_count`;
  const path = `/analytics/group_activity/${name}?group_path=${encodeURIComponent(group)}`;
  const { status, json } = await app.call(`GET ${path}`, { as });
  return status === 200 ? json[name] : status;
};

beforeAll(async () => {
  app = await testApp({ background: false, now: () => (time += 1) });
  await made("/projects/acme%2Fsite/issues", { title: "Old" });
  time += 90 * DAY;
});
afterAll(() => app.dispose());

it("counts issues of the group and its subgroups, of those that the caller may read", async () => {
  expect(await count("issues", "acme")).toBe(0);
  await made("/projects/acme%2Fsite/issues", { title: "New" });
  await made("/projects/acme%2Fteam%2Fcore/issues", { title: "Below" });
  await made("/projects/acme%2Fsite/issues", { title: "Hidden", confidential: true });
  await made("/projects/secret%2Fvault/issues", { title: "Elsewhere" });
  expect(await count("issues", "acme")).toBe(3);
  expect(await count("issues", "acme", "guest")).toBe(2);
  expect(await count("issues", "ACME/team")).toBe(1);
  expect(await count("issues", "acme", "admin")).toBe(3);
  const { json } = await app.call(
    "GET /analytics/group_activity/issues_count?group_path=acme%2Fteam",
    { as: "guest" },
  );
  expect(json).toEqual({ issues_count: 1 });
});

it("counts merge requests", async () => {
  const request = { title: "New", source_branch: "a", target_branch: "main" };
  await made("/projects/acme%2Fteam%2Fcore/merge_requests", request);
  expect(await count("merge_requests", "acme")).toBe(1);
  expect(await count("merge_requests", "secret")).toBe(0);
  // Guests see no merge requests of private projects.
  expect(await count("merge_requests", "acme", "guest")).toBe(0);
});

it("counts each new member once", async () => {
  expect(await count("new_members", "acme")).toBe(0);
  const { json: users } = await app.call("GET /users?username=stranger", { as: "admin" });
  const member = { user_id: users[0].id, access_level: 30 };
  await made("/groups/acme%2Fteam/members", member);
  await made("/groups/acme/members", { ...member, access_level: 40 });
  expect(await count("new_members", "acme")).toBe(1);
  expect(await count("new_members", "secret")).toBe(0);
  expect(await count("new_members", "acme/team")).toBe(1);
  await app.call(`DELETE /groups/acme/members/${users[0].id}`, { as: "owner" });
  await app.call(`DELETE /groups/acme%2Fteam/members/${users[0].id}`, { as: "owner" });
  expect(await count("new_members", "acme")).toBe(0);
});

describe.each(["issues", "merge_requests", "new_members"])("%s_count", (what) => {
  it("is for members of the group", async () => {
    expect(await count(what, "acme", "anonymous")).toBe(401);
    expect(await count(what, "acme", "stranger")).toBe(403);
    expect(await count(what, "secret", "stranger")).toBe(404);
    expect(await count(what, "nowhere")).toBe(404);
    expect(await count(what, "acme/site")).toBe(404);
  });

  it("needs the path of a group", async () => {
    const { status, json } = await app.call(`GET /analytics/group_activity/${what}_count`, {
      as: "owner",
    });
    expect([status, json]).toEqual([400, { message: '400 (Bad request) "group_path" not given' }]);
  });
});

it("is of the tier premium", async () => {
  const free = await testApp({ tier: "free" });
  const path = "/analytics/group_activity/issues_count?group_path=acme";
  expect((await free.call(`GET ${path}`, { as: "owner" })).status).toBe(403);
  await free.dispose();
});

it("counts up to 1,000", async () => {
  await app.store.transaction(async (db) => {
    const [row] = await db.all<Record<string, Value>>("select * from issues where title = 'New'");
    const columns = Object.keys(row ?? {}).filter((name) => name !== "id" && name !== "iid");
    const copied = columns.map((name) => (name === "relative_position" ? "null" : `t.${name}`));
    await db.run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 1200)
       insert into issues (iid, ${columns.join(", ")})
       select 100 + n.i, ${copied.join(", ")} from issues t cross join n where t.title = 'New'`,
    );
  });
  expect(await count("issues", "acme")).toBe(1000);
  expect(await count("issues", "acme/team")).toBe(1);
});
