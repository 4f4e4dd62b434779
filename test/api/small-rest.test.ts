import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApp } from "../../src/index.ts";
import { type Person, sshKeyOf, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  const file = { branch: "main", content: "a", commit_message: "m" };
  await send(`POST ${SITE}/repository/files/a`, file);
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite";
const get = (path: string, as: Person = "owner") => app.call(`GET ${path}`, { as });
const send = (request: string, json: object, as: Person = "owner") =>
  app.call(request, { as, json });

describe("labels", () => {
  it.each([
    ["red", "#FF0000"],
    [" RebeccaPurple ", "#663399"],
    ["#AbC", "#AbC"],
  ])("of the colour %s have %s", async (color, expected) => {
    const name = `Of ${color.trim()}`;
    const made = await send(`POST ${SITE}/labels`, { name, color });
    expect([made.status, made.json.color]).toEqual([201, expected]);
    const changed = await send(`PUT ${SITE}/labels/${made.json.id}`, { color: "Navy" });
    expect([changed.status, changed.json.color]).toEqual([200, "#000080"]);
    const query = `mutation { labelCreate(input: { projectPath: "acme/site", title: "${name}!", color: "${color}" })
      { label { color } errors } }`;
    const { json } = await send("POST http://pm.test/api/graphql", { query });
    expect(json.data.labelCreate).toEqual({ label: { color: expected }, errors: [] });
  });

  it.each(["redd", "constructor", "#12345", "ff0000"])("of %s are refused", async (color) => {
    const { status, json } = await send(`POST ${SITE}/labels`, { name: "No", color });
    const message = { color: ["must be a valid color code"] };
    expect([status, json]).toEqual([400, { message }]);
  });
});

describe("a variable of a schedule", () => {
  it("is shown to whoever sees the others", async () => {
    const schedule = { description: "Nightly", ref: "main", cron: "0 1 * * *" };
    const { json } = await send(`POST ${SITE}/pipeline_schedules`, schedule);
    const path = `${SITE}/pipeline_schedules/${json.id}/variables`;
    await send(`POST ${path}`, { key: "ONE", value: "1" });
    const shown = { variable_type: "env_var", key: "ONE", value: "1", raw: false };
    expect((await get(`${path}/ONE`)).json).toEqual(shown);
    expect((await get(`${path}/TWO`)).status).toBe(404);
    expect((await get(`${path}/ONE`, "developer")).status).toBe(403);
    expect((await get(`${path}/ONE`, "guest")).status).toBe(403);
  });
});

describe("GET /snippets/all", () => {
  it("lists what the caller may read, of people and projects", async () => {
    const file = { file_name: "f", content: "c" };
    const make = async (path: string, title: string, visibility: string, as: Person) => {
      const made = await send(`POST ${path}`, { title, visibility, ...file }, as);
      expect(made.status).toBe(201);
    };
    await make("/snippets", "own", "private", "developer");
    await make("/snippets", "public", "public", "owner");
    await make(`${SITE}/snippets`, "of project", "public", "owner");
    await make("/projects/secret%2Fvault/snippets", "hidden", "private", "owner");
    const titles = async (as: Person) =>
      (await get("/snippets/all", as)).json.map(({ title }: { title: string }) => title);
    expect(await titles("developer")).toEqual(["hidden", "of project", "public", "own"]);
    expect(await titles("stranger")).toEqual(["of project", "public"]);
    expect((await get("/snippets/all", "anonymous")).status).toBe(401);
  });

  it("has addresses of one form", async () => {
    const [ofProject, own] = (await get("/snippets/all", "stranger")).json;
    expect(ofProject.web_url).toBe(`http://pm.test/acme/site/-/snippets/${ofProject.id}`);
    expect(own.web_url).toBe(`http://pm.test/-/snippets/${own.id}`);
    expect(own.raw_url).toBe(`${own.web_url}/raw`);
    const text = `$${ofProject.id}`;
    const { json } = await send("POST /markdown", { text, gfm: true, project: "acme/site" });
    expect(json.html).toContain(`/acme/site/-/snippets/${ofProject.id}"`);
  });
});

describe("what does not exist", () => {
  it("is not made of a template", async () => {
    const template = await send("POST /projects", { name: "Rails", template_name: "rails" });
    const message = { template_name: ["is not supported on this server"] };
    expect([template.status, template.json]).toEqual([400, { message }]);
  });

  it("is shared with no group", async () => {
    const { status, json, headers } = await get("/groups/acme/projects/shared", "anonymous");
    expect([status, json, headers.get("x-total")]).toEqual([200, [], "0"]);
    expect((await get("/groups/secret/projects/shared", "stranger")).status).toBe(404);
  });
});

describe("HEAD of a page", () => {
  it("is answered as GET is", async () => {
    const ask = (method: string) => app.call(`${method} http://pm.test/-/profile`);
    const [head, got] = [await ask("HEAD"), await ask("GET")];
    expect([head.status, head.headers.get("location")]).toEqual([302, got.headers.get("location")]);
    expect(head.headers.get("location")).toContain("return_to=");
  });
});

describe("the address of a group's SCIM API", () => {
  it("works for a group below that is called like a route", async () => {
    const { json: acme } = await get("/groups/acme");
    const sub = { name: "Schemas", path: "Schemas", parent_id: acme.id };
    expect((await send("POST /groups", sub)).status).toBe(201);
    const made = await send("POST /groups/acme%2FSchemas/scim_tokens", { name: "Directory" });
    expect(made.status, made.text).toBe(201);
    expect(made.json.scim_url).toBe("http://pm.test/api/scim/v2/groups/acme%2FSchemas");
    const headers = { authorization: `Bearer ${made.json.token}` };
    const found = await app.call(`GET ${made.json.scim_url}/Schemas`, { headers });
    expect([found.status, found.json.Resources[0].meta.location]).toEqual([
      200,
      expect.stringContaining(`${made.json.scim_url}/Schemas/`),
    ]);
  });
});

describe("authenticate", () => {
  const ask = async (given: unknown) => {
    const errors: unknown[] = [];
    const authenticate = () => given as string;
    const own = await createApp({ authenticate, onError: (error) => errors.push(error) });
    const answers = [];
    for (let time = 0; time < 2; time += 1) {
      const answer = await own.fetch("http://pm.test/api/v4/user");
      answers.push([answer.status, ((await answer.json()) as { username?: string }).username]);
    }
    const users = (await own.admin.users.list()).map(({ username }) => username);
    await own.close();
    return { answers, users, errors: errors.map(String) };
  };

  it.each([
    [{ id: 1, username: "ada" }, "an object with id, username"],
    [{}, "an object with nothing"],
    [true, "true"],
    [[], "an array"],
    ["", "an empty text"],
    [1.5, "1.5"],
  ])("that returns %j is told so", async (given, kind) => {
    const { answers, errors } = await ask(given);
    expect(answers[0]?.[0]).toBe(500);
    expect(errors[0]).toContain(`TypeError: authenticate returned ${kind}: it must return`);
  });

  it("makes the account of whoever has none", async () => {
    const ada = { username: "ada", name: "Ada", email: "ada@example.com" };
    const { answers, users } = await ask(ada);
    expect(answers).toEqual([
      [200, "ada"],
      [200, "ada"],
    ]);
    expect(users).toEqual(["ada"]);
    expect((await ask({ ...ada, username: "a b" })).answers[0]?.[0]).toBe(400);
  });
});

describe("features", () => {
  it("are set, listed and removed by administrators", async () => {
    const set = async (name: string, value: unknown) =>
      send(`POST /features/${name}`, { value }, "admin");
    const on = { key: "boolean", value: true };
    const off = { key: "boolean", value: false };
    const made = await set("new_thing", true);
    expect([made.status, made.json]).toEqual([
      201,
      { name: "new_thing", state: "on", gates: [on], definition: null },
    ]);
    expect((await set("new_thing", "false")).json).toMatchObject({ state: "off", gates: [off] });
    expect((await set("some", 30)).json).toMatchObject({
      state: "conditional",
      gates: [off, { key: "percentage_of_time", value: 30 }],
    });
    expect((await set("some", "101")).status).toBe(400);
    const names = async () =>
      (await get("/features", "admin")).json.map(({ name }: { name: string }) => name);
    expect(await names()).toEqual(["new_thing", "some"]);
    expect((await get("/features/definitions", "admin")).json).toEqual([]);
    expect((await send("POST /features/other", { value: true })).status).toBe(403);
    expect((await app.call("DELETE /features/some", { as: "admin" })).status).toBe(204);
    expect(await names()).toEqual(["new_thing"]);
  });
});

describe("what is around a project", () => {
  it("has the users who have access, whether directly or by a group", async () => {
    const listed = await get(`${SITE}/users`, "developer");
    const everybody = await get(`${SITE}/members/all?per_page=100`);
    const ids = everybody.json.map(({ id }: { id: number }) => id);
    expect(listed.json.map(({ id }: { id: number }) => id)).toEqual(
      [...ids].sort((a: number, b: number) => a - b),
    );
    expect(Object.keys(listed.json[0])).toEqual([
      "id",
      "name",
      "username",
      "state",
      "avatar_url",
      "web_url",
    ]);
    const [first] = ids;
    const others = await get(`${SITE}/users?skip_users[]=${first}`);
    expect(others.json.map(({ id }: { id: number }) => id)).not.toContain(first);
    const [{ username }] = listed.json;
    expect((await get(`${SITE}/users?search=${username}`)).json[0].username).toBe(username);
  });

  it.each(["users", "starrers", "issues_statistics"])(
    "has no %s for who may not see it",
    async (what) => {
      const { json } = await send("POST /projects", { name: what, visibility: "private" });
      expect((await get(`/projects/${json.id}/${what}`)).status).toBe(200);
      expect((await get(`/projects/${json.id}/${what}`, "stranger")).status).toBe(404);
    },
  );

  it("has the owner of a personal project", async () => {
    const { json: project } = await send("POST /projects", { name: "mine" }, "developer");
    const { json } = await get(`/projects/${project.id}/users`, "developer");
    expect(json.map(({ username }: { username: string }) => username)).toEqual(["developer"]);
  });

  it("has those who have starred it, and since when", async () => {
    expect((await get(`${SITE}/starrers`)).json).toEqual([]);
    await send(`POST ${SITE}/star`, {}, "developer");
    const { json } = await get(`${SITE}/starrers`, "guest");
    expect(json).toEqual([
      {
        starred_since: expect.any(String),
        user: expect.objectContaining({ username: "developer" }),
      },
    ]);
    expect(Date.now() - Date.parse(json[0].starred_since)).toBeLessThan(600_000);
    expect((await get(`${SITE}/starrers?search=nobody`)).json).toEqual([]);
    await send(`POST ${SITE}/unstar`, {}, "developer");
  });
});

describe("counts", () => {
  const counted = async (path: string, as: Person = "owner") =>
    (await get(path, as)).json.statistics.counts;

  it("of issues are by state, with the filters of lists, of what the caller may read", async () => {
    const before = await counted(`${SITE}/issues_statistics`, "guest");
    const { json: open } = await send(`POST ${SITE}/issues`, { title: "One", labels: "counted" });
    const { json: closed } = await send(`POST ${SITE}/issues`, { title: "Two", labels: "counted" });
    await send(`PUT ${SITE}/issues/${closed.iid}`, { state_event: "close" });
    await send(`POST ${SITE}/issues`, { title: "Three", confidential: true, labels: "counted" });
    const query = "issues_statistics?labels=counted";
    expect(await counted(`${SITE}/${query}`)).toEqual({ all: 3, closed: 1, opened: 2 });
    expect(await counted(`${SITE}/${query}`, "guest")).toEqual({ all: 2, closed: 1, opened: 1 });
    expect(await counted(`/groups/acme/${query}`, "guest")).toEqual({
      all: 2,
      closed: 1,
      opened: 1,
    });
    expect(await counted(`/${query}`)).toEqual({ all: 3, closed: 1, opened: 2 });
    expect(await counted(`/${query}`, "guest")).toEqual({ all: 0, closed: 0, opened: 0 });
    expect((await counted(`/${query}&scope=all`, "guest")).all).toBe(2);
    expect((await counted(`${SITE}/issues_statistics`, "guest")).all).toBe(before.all + 2);
    expect((await app.call("GET /issues_statistics", { as: "anonymous" })).status).toBe(401);
    expect((await get(`/issues/${open.id}`, "admin")).json).toMatchObject({ title: "One" });
    expect((await get(`/issues/${open.id}`)).status).toBe(403);
    expect((await get("/issues/424242", "admin")).status).toBe(404);
  });

  it("of what the caller has to do", async () => {
    const { json: me } = await get("/user", "reporter");
    const before = (await get("/user_counts", "reporter")).json;
    const assigned = { title: "Do it", assignee_ids: [me.id] };
    await send(`POST ${SITE}/issues`, assigned);
    const { json: done } = await send(`POST ${SITE}/issues`, assigned);
    await send(`PUT ${SITE}/issues/${done.iid}`, { state_event: "close" });
    for (const branch of ["a", "b"]) {
      const file = { branch, start_branch: "main", content: branch, commit_message: branch };
      await send(`POST ${SITE}/repository/files/${branch}-file`, file);
    }
    const merge = { source_branch: "a", target_branch: "main" };
    await send(`POST ${SITE}/merge_requests`, { ...assigned, ...merge });
    const reviewed = { title: "See", reviewer_ids: [me.id], ...merge, source_branch: "b" };
    await send(`POST ${SITE}/merge_requests`, reviewed);
    const { status, json } = await get("/user_counts", "reporter");
    expect(status).toBe(200);
    expect(json).toEqual({
      merge_requests: before.merge_requests + 1,
      assigned_issues: before.assigned_issues + 1,
      assigned_merge_requests: before.assigned_merge_requests + 1,
      review_requested_merge_requests: before.review_requested_merge_requests + 1,
      todos: Number((await get("/todos?per_page=1", "reporter")).headers.get("x-total")),
    });
    expect((await app.call("GET /user_counts", { as: "anonymous" })).status).toBe(401);
  });

  it("of what belongs to a user are for them and administrators", async () => {
    const { json: me } = await get("/user", "developer");
    const path = `/users/${me.id}/associations_count`;
    const { json } = await get(path, "developer");
    expect(json).toEqual({
      groups_count: expect.any(Number),
      projects_count: expect.any(Number),
      issues_count: expect.any(Number),
      merge_requests_count: expect.any(Number),
    });
    await send(`POST ${SITE}/issues`, { title: "Another" }, "developer");
    expect((await get(path, "admin")).json.issues_count).toBe(json.issues_count + 1);
    expect((await get(path, "owner")).status).toBe(403);
    expect((await get("/users/424242/associations_count", "admin")).status).toBe(404);
  });
});

describe("GET /users/:user_id/contributed_projects", () => {
  it("lists where somebody did something lately, as far as the caller sees it", async () => {
    const { json } = await send("POST /projects", { name: "worked", visibility: "private" });
    await send(`POST /projects/${json.id}/issues`, { title: "Ours" });
    const paths = async (as: Person) =>
      (await get("/users/owner/contributed_projects", as)).json.map(
        (project: { path_with_namespace: string }) => project.path_with_namespace,
      );
    expect(await paths("owner")).toContain("owner/worked");
    expect(await paths("stranger")).not.toContain("owner/worked");
  });
});

describe("GET /keys", () => {
  const keyOf = (fill: number) => {
    const part = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
    const bytes = [part(Buffer.from("ssh-ed25519")), part(Buffer.alloc(32, fill))];
    return `ssh-ed25519 ${Buffer.concat(bytes).toString("base64")}`;
  };
  const KEY = keyOf(1);

  it("finds a key by either fingerprint, or its id, for administrators", async () => {
    const made = await send("POST /user/keys", { title: "laptop", key: KEY }, "developer");
    const { json: deploy } = await get(`/keys/${made.json.id}`, "admin");
    expect(deploy).toMatchObject({
      title: "laptop",
      key: made.json.key,
      user: { username: "developer" },
    });
    expect(deploy).not.toHaveProperty("deploy_keys_projects");
    const bytes = Buffer.from(KEY.split(" ")[1] as string, "base64");
    const sha = createHash("sha256").update(bytes).digest("base64").replace(/=+$/, "");
    const md5 = (createHash("md5").update(bytes).digest("hex").match(/../g) as string[]).join(":");
    for (const fingerprint of [`SHA256:${sha}`, md5, `MD5:${md5}`]) {
      const found = await get(`/keys?fingerprint=${encodeURIComponent(fingerprint)}`, "admin");
      expect(found.json.id).toBe(made.json.id);
    }
    expect(await get("/keys?fingerprint=SHA256:none", "admin")).toMatchObject({
      status: 404,
      json: { message: "404 Key Not Found" },
    });
    expect(await get("/keys", "admin")).toMatchObject({
      status: 400,
      json: { message: '400 (Bad request) "fingerprint" not given' },
    });
    expect((await get(`/keys/${made.json.id}`)).status).toBe(403);
  });

  it("tells the projects of a deploy key", async () => {
    const key = keyOf(2);
    const made = await send(`POST ${SITE}/deploy_keys`, { title: "ci", key, can_push: true });
    const { json: project } = await get(SITE);
    const { json } = await get(`/keys/${made.json.id}`, "admin");
    expect(json.deploy_keys_projects).toEqual([{ project_id: project.id, can_push: true }]);
    expect(json).not.toHaveProperty("user");
  });
});

describe("POST /projects/user/:user_id", () => {
  it("creates a project of a user, for administrators", async () => {
    const [{ id }] = (await get("/users?username=developer", "admin")).json;
    const json = { name: "Theirs", initialize_with_readme: true };
    const made = await send(`POST /projects/user/${id}`, json, "admin");
    expect(made.status, made.text).toBe(201);
    expect(made.json).toMatchObject({
      ...{ path_with_namespace: "developer/theirs", creator_id: id, owner: { id } },
    });
    const [commit] = (await get("/projects/developer%2Ftheirs/repository/commits", "developer"))
      .json;
    expect(commit.title).toBe("Initial commit");
    const again = await send(`POST /projects/user/${id}`, json, "admin");
    expect(again.status).toBe(
      (await send("POST /projects", { name: "Theirs" }, "developer")).status,
    );
    expect((await send(`POST /projects/user/${id}`, json, "owner")).status).toBe(403);
    const nobody = await send("POST /projects/user/4711", json, "admin");
    expect([nobody.status, nobody.json]).toEqual([404, { message: "404 User Not Found" }]);
    const [group] = (await get("/groups?search=secret", "admin")).json;
    const elsewhere = { name: "Other", namespace_id: group.id };
    expect((await send(`POST /projects/user/${id}`, elsewhere, "admin")).status).toBe(400);
  });
});

describe("issues that a merge request refers to", () => {
  it("are those it closes, and others that the caller may read", async () => {
    const make = async (title: string, confidential = false) =>
      (await send(`POST ${SITE}/issues`, { title, confidential })).json.iid;
    const [closed, named, hidden] = [await make("A"), await make("B"), await make("C", true)];
    const branch = { branch: "related", content: "b", commit_message: "m", start_branch: "main" };
    await send(`POST ${SITE}/repository/files/b`, branch);
    const description = `Closes #${closed}, see #${named} and #${hidden}`;
    const request = { source_branch: "related", target_branch: "main", title: "R", description };
    const { json } = await send(`POST ${SITE}/merge_requests`, request);
    const iids = async (name: string, as: Person) =>
      (await get(`${SITE}/merge_requests/${json.iid}/${name}`, as)).json
        .map(({ iid }: { iid: number }) => iid)
        .sort((a: number, b: number) => a - b);
    expect(await iids("related_issues", "owner")).toEqual([closed, named, hidden]);
    expect(await iids("related_issues", "stranger")).toEqual([closed, named]);
    expect(await iids("closes_issues", "owner")).toEqual([closed]);
    expect((await get(`${SITE}/merge_requests/4711/related_issues`)).status).toBe(404);
  });
});

describe("GET /users/:id/project_deploy_keys", () => {
  it("lists the keys of projects that both maintain", async () => {
    const key = sshKeyOf(4711);
    await send(`POST ${SITE}/deploy_keys`, { title: "Robot", key });
    await send("POST /projects", { name: "own-keys" });
    await send("POST /projects/owner%2Fown-keys/deploy_keys", { title: "Own", key: sshKeyOf(42) });
    const idOf = async (name: string) => (await get(`/users?username=${name}`, "admin")).json[0].id;
    const titles = async (name: string, as: Person) =>
      (await get(`/users/${await idOf(name)}/project_deploy_keys`, as)).json
        .map(({ title }: { title: string }) => title)
        .filter((title: string) => title !== "ci");
    expect(await titles("owner", "owner")).toEqual(["Robot", "Own"]);
    expect(await titles("owner", "maintainer")).toEqual(["Robot"]);
    expect(await titles("maintainer", "owner")).toEqual(["Robot"]);
    expect(await titles("owner", "admin")).toEqual(["Robot", "Own"]);
    expect(await titles("developer", "owner")).toEqual([]);
    const { json } = await get(`/users/${await idOf("owner")}/project_deploy_keys`);
    expect(json.at(-2)).toMatchObject({ title: "Robot", key, created_at: expect.any(String) });
    expect((await get("/users/owner/project_deploy_keys")).json).toEqual(json);
    for (const name of [4711, "nobody"]) {
      expect((await get(`/users/${name}/project_deploy_keys`)).status).toBe(404);
    }
  });
});

describe("lists of what there is not", () => {
  it.each([
    [`${SITE}/clusters`, "maintainer", "developer"],
    [`${SITE}/cluster_agents`, "developer", "reporter"],
    ["/groups/acme/clusters", "maintainer", "developer"],
    ["/groups/acme/ldap_group_links", "owner", "maintainer"],
    ["/groups/acme/saml_group_links", "owner", "maintainer"],
    ["/groups/acme/enterprise_users", "owner", "maintainer"],
    [`${SITE}/attestations/${"a".repeat(64)}`, "reporter", "guest"],
  ] as const)("%s is empty", async (path, may, mayNot) => {
    const { status, json, headers } = await get(path, may);
    expect([status, json, headers.get("x-total")]).toEqual([200, [], "0"]);
    expect((await get(path, mayNot)).status).toBe(403);
    expect((await get(path, "anonymous")).status).toBe(401);
  });
});
