import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
let call: TestApp["call"];
beforeAll(async () => {
  app = await testApp();
  call = app.call;
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite";
const VAULT = "/projects/secret%2Fvault";

async function made(path: string, as: Person, json: object) {
  const answer = await call(`POST ${path}`, { as, json });
  expect([answer.status, answer.text]).toEqual([201, answer.text]);
  return answer.json;
}

async function idOf(username: string): Promise<number> {
  return (await call(`GET /users?username=${username}`, { as: "admin" })).json[0].id;
}

describe("a todo whose target its owner may no longer read", () => {
  const todosOf = async (as: Person) => (await call("GET /todos", { as })).json as { id: number }[];

  it("is absent from the list and from every other route", async () => {
    const stranger = await idOf("stranger");
    await made(`${VAULT}/members`, "owner", { user_id: stranger, access_level: 20 });
    await made(`${VAULT}/issues`, "owner", { title: "Now", description: "@stranger" });
    const request = { title: "MR", source_branch: "a", target_branch: "b" };
    await made(`${VAULT}/merge_requests`, "owner", { ...request, description: "@stranger" });
    const ids = (await todosOf("stranger")).map(({ id }) => id);
    expect(ids).toHaveLength(2);
    await call(`DELETE ${VAULT}/members/${stranger}`, { as: "owner" });
    await call(`PUT ${VAULT}/issues/1`, { as: "owner", json: { title: "Secret plan" } });
    expect(await todosOf("stranger")).toEqual([]);
    for (const id of ids) {
      const { status, json } = await call(`POST /todos/${id}/mark_as_done`, { as: "stranger" });
      expect([status, json]).toEqual([404, { message: "404 Not found" }]);
      const other = await call(`POST /todos/${id}/mark_as_done`, { as: "guest" });
      expect([other.status, other.json]).toEqual([404, { message: "404 Not found" }]);
    }
  });

  it("returns with the right to read it", async () => {
    const json = { user_id: await idOf("stranger"), access_level: 20 };
    await made(`${VAULT}/members`, "owner", json);
    const [todo] = await todosOf("stranger");
    const { status } = await call(`POST /todos/${todo?.id}/mark_as_done`, { as: "stranger" });
    expect(status).toBe(201);
    await call(`DELETE ${VAULT}/members/${json.user_id}`, { as: "owner" });
  });

  it("disappears when an issue becomes confidential or issues are switched off", async () => {
    const { iid } = await made(`${SITE}/issues`, "owner", { title: "A", description: "@guest" });
    const [todo] = await todosOf("guest");
    const marked = async () =>
      (await call(`POST /todos/${todo?.id}/mark_as_done`, { as: "guest" })).status;
    const issue = `PUT ${SITE}/issues/${iid}`;
    await call(issue, { as: "owner", json: { confidential: true } });
    expect(await marked()).toBe(404);
    await call(issue, { as: "owner", json: { confidential: false } });
    await call(`PUT ${SITE}`, { as: "owner", json: { issues_enabled: false } });
    expect(await marked()).toBe(404);
    await call(`PUT ${SITE}`, { as: "owner", json: { issues_enabled: true } });
    expect(await marked()).toBe(201);
  });
});

describe("an e-mail address", () => {
  const found = async (query: string, as: Person) =>
    (await call(`GET ${query}`, { as })).json.map(({ username }: { username: string }) => username);
  const email = "search=Guest%40example.com";

  it("finds its user for administrators and for that user", async () => {
    expect(await found(`/users?${email}`, "admin")).toEqual(["guest"]);
    expect(await found(`/users?${email}`, "guest")).toEqual(["guest"]);
    expect(await found("/users?search=guest%40example", "admin")).toEqual([]);
  });

  it("finds nobody for others, unless it is public", async () => {
    expect(await found(`/users?${email}`, "owner")).toEqual([]);
    expect(await found(`/users?username=guest&${email}`, "owner")).toEqual([]);
    for (const place of ["groups/acme", "projects/acme%2Fsite", "groups/acme/members/all"]) {
      const path = place.endsWith("all") ? `/${place}` : `/${place}/members`;
      expect(await found(`${path}?query=guest%40example.com`, "owner")).toEqual([]);
    }
    const json = { public_email: "hello@guest.example" };
    const user = `/users/${await idOf("guest")}`;
    const confirmed = { email: json.public_email, skip_confirmation: true };
    await call(`POST ${user}/emails`, { as: "admin", json: confirmed });
    await call(`PUT ${user}`, { as: "admin", json });
    expect(await found("/users?search=hello%40guest.example", "owner")).toEqual(["guest"]);
    expect(await found("/groups/acme/members?query=HELLO%40guest.example", "owner")).toEqual([
      "guest",
    ]);
  });

  it("tells an anonymous caller nothing, right or wrong", async () => {
    for (const address of ["guest%40example.com", "other%40example.com", "hello%40guest.example"]) {
      expect(await found(`/users?username=guest&search=${address}`, "anonymous")).toEqual([]);
    }
    expect(await found("/users?username=guest&search=gue", "anonymous")).toEqual(["guest"]);
  });
});

describe("a group", () => {
  const change = async (path: string, visibility: string) => {
    const { status, json } = await call(`PUT /groups/${encodeURIComponent(path)}`, {
      as: "owner",
      json: { visibility },
    });
    return [status, status === 200 ? json.visibility : json];
  };
  const projects = (visibility: string) =>
    `${visibility} is not allowed since this group contains projects with higher visibility.`;
  const subgroups = (visibility: string) =>
    `${visibility} is not allowed since there are sub-groups with higher visibility.`;

  it("is at least as visible as its contents", async () => {
    const top = await made("/groups", "owner", { name: "v", path: "v", visibility: "public" });
    const sub = { name: "s", path: "s", parent_id: top.id, visibility: "internal" };
    const { id } = await made("/groups", "owner", sub);
    const project = { name: "p", namespace_id: top.id, visibility: "public" };
    const { id: projectId } = await made("/projects", "owner", project);

    const refusal = (...visibility_level: string[]) => [400, { message: { visibility_level } }];
    expect(await change("v", "private")).toEqual(
      refusal(projects("private"), subgroups("private")),
    );
    expect(await change("v", "internal")).toEqual(refusal(projects("internal")));
    const hide = { as: "owner", json: { visibility: "internal" } } as const;
    expect((await call(`PUT /projects/${projectId}`, hide)).status).toBe(200);
    expect(await change("v", "internal")).toEqual([200, "internal"]);
    expect(await change("v/s", "public")).toEqual(
      refusal("public is not allowed since the parent group has a internal visibility."),
    );
    expect(
      (await call(`PUT /groups/${id}`, { as: "admin", json: { visibility: "private" } })).status,
    ).toBe(200);
    expect(await change("v", "private")).toEqual(refusal(projects("private")));
    await call(`PUT /projects/${projectId}`, { as: "owner", json: { visibility: "private" } });
    expect(await change("v", "private")).toEqual([200, "private"]);
  });

  it("can't contain anything more visible by a seed either", async () => {
    const seedOf = (inside: object) => ({
      groups: [{ path: "quiet", visibility: "internal" as const, ...inside }],
    });
    await expect(
      app.admin.seed(seedOf({ projects: [{ path: "loud", visibility: "public" }] })),
    ).rejects.toThrow("quiet/loud can't be public: its group is internal");
    await expect(
      app.admin.seed(seedOf({ subgroups: [{ path: "sub", visibility: "public" }] })),
    ).rejects.toThrow("quiet/sub can't be public: its group is internal");
  });
});

describe("a private profile", () => {
  it("hides its user's activity from others, but not from themselves and administrators", async () => {
    const id = await idOf("developer");
    await made(`${SITE}/issues`, "developer", { title: "Seen" });
    const eventsFor = async (as: Person, who: string | number = id) => {
      const { status, headers, json } = await call(`GET /users/${who}/events`, { as });
      return [status, headers.get("x-total"), json.length > 0];
    };
    expect(await eventsFor("guest")).toEqual([200, "1", true]);
    await call(`PUT /users/${id}`, { as: "admin", json: { private_profile: true } });
    for (const as of ["guest", "owner", "stranger"] as const) {
      expect(await eventsFor(as)).toEqual([200, "0", false]);
      expect(await eventsFor(as, "developer")).toEqual([200, "0", false]);
    }
    for (const as of ["developer", "admin"] as const)
      expect(await eventsFor(as)).toEqual([200, "1", true]);
    const since = async (as: Person) => (await call(`GET /users/${id}`, { as })).json.created_at;
    expect(await since("guest")).toBe(null);
    expect(await since("developer")).toEqual(expect.any(String));
    // Activity in a project is visible to its members.
    const { json } = await call(`GET ${SITE}/events`, { as: "guest" });
    expect(json[0].author_username).toBe("developer");
  });
});
