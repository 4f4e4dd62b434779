// Settings of projects and groups, and the administration: what they list, what their forms do, and who may.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CodeProject, newCodeProject } from "../api/_merge-requests.ts";
import { type Receiver, startReceiver } from "../api/_receiver.ts";
import { givePassword, PASSWORD, type Person, type TestApp, testApp } from "../helpers.ts";
import { Visitor } from "../visitor.ts";
import { type Forms, fieldsOf, HOSTILE, RUNS, visitForms } from "./_forms.ts";

let app: TestApp;
let forms: Forms;
let project: CodeProject;
let receiver: Receiver;
let base: string;
beforeAll(async () => {
  receiver = await startReceiver();
  const webhooks = { deliver: true, allowLocalRequests: true };
  app = await testApp({ webhooks });
  forms = await visitForms(app);
  project = await newCodeProject(app);
  base = `/${project.fullPath}`;
});
afterAll(async () => {
  await app?.dispose();
  await receiver?.close();
});

const as = (person: Person) => forms.as(person);
const FUTURE = "2027-06-01";

/** Sends a form that is accepted, and returns where it leads, or its page. */
async function fill(path: string, form: Record<string, string | string[]>, who: Person = "owner") {
  const visitor = as(who);
  expect([path, (await visitor.get(path)).status]).toEqual([path, 200]);
  app.statements.length = 0;
  const answer = await visitor.post(path, form);
  const said = /<div class="note bad".*?<\/div>/s.exec(answer.page)?.[0];
  expect([path, answer.status, said]).toEqual([path, answer.status === 200 ? 200 : 303, undefined]);
  expect(app.statements.length).toBeLessThan(80);
  return answer;
}

const PAGES = ["edit", "settings/repository", "settings/ci_cd", "hooks", "settings/access_tokens"];
const NEW =
  `protected_branches/new protected_tags/new deploy_keys/new deploy_tokens/new variables/new runners/new triggers/new
hooks/new settings/access_tokens/new project_members/new project_members/invitations/new`.split(
    /\s/,
  );

describe("settings of a project", () => {
  it("open for maintainers, and only they have links to them", async () => {
    const expected = { owner: 200, maintainer: 200, developer: 404, reporter: 404, guest: 404 };
    for (const path of [...PAGES, ...NEW]) {
      const answers: Record<string, number> = {};
      for (const person of [...Object.keys(expected), "stranger", "anonymous"] as Person[]) {
        answers[person] = (await as(person).get(`${base}/-/${path}`)).status;
      }
      expect([path, answers]).toEqual([path, { ...expected, stranger: 404, anonymous: 302 }]);
    }
    for (const [person, isThere] of [
      ["maintainer", true],
      ["developer", false],
    ] as const) {
      const { page } = await as(person).get(base);
      expect([person, page.includes(`href="${base}/-/edit"`)]).toEqual([person, isThere]);
    }
    for (const path of NEW) {
      const { status } = await as("developer").post(`${base}/-/${path}`, { name: "x", key: "x" });
      expect([path, status]).toEqual([path, 404]);
    }
  });

  it("are changed, and what the API refuses is shown with its reason", async () => {
    const own = await newCodeProject(app);
    const path = `/${own.fullPath}/-/edit`;
    const shown = fieldsOf((await as("owner").get(path)).page);
    expect(shown).toMatchObject({
      visibility: "private",
      issues_access_level: "enabled",
      topics: "",
    });
    const { name } = shown;
    const saved = await fill(path, {
      ...shown,
      ...{
        name: `${name} 2`,
        description: HOSTILE,
        topics: "one, two",
        wiki_access_level: "private",
      },
      ...{ merge_method: "ff", squash_option: "always" },
      only_allow_merge_if_pipeline_succeeds: ["false", "true"],
    });
    expect(saved.headers.get("location")).toBe(path);
    expect((await own.get("", "owner")).json).toMatchObject({
      ...{
        name: `${name} 2`,
        description: HOSTILE,
        topics: ["one", "two"],
        wiki_access_level: "private",
      },
      ...{ merge_method: "ff", squash_option: "always", issues_access_level: "enabled" },
      only_allow_merge_if_pipeline_succeeds: true,
    });
    const again = await as("owner").get(path);
    expect(again.page).not.toMatch(RUNS);
    expect(fieldsOf(again.page)).toMatchObject({ topics: "one, two", merge_method: "ff" });
    const refused = await as("owner").post(path, { name: "", description: "kept" });
    expect([refused.status, fieldsOf(refused.page)["description"]]).toEqual([422, "kept"]);
    expect(refused.page).toContain('href="#field-name">Name</a> can&#39;t be blank');
    // Names and visibility are for owners, as is deleting.
    const maintainer = await as("maintainer").get(path);
    expect(Object.keys(fieldsOf(maintainer.page))).not.toContain("visibility");
    expect(maintainer.page).not.toContain("/-/delete");
    await fill(path, { description: "By a maintainer" }, "maintainer");
    expect((await own.get("")).json.description).toBe("By a maintainer");
    expect((await as("maintainer").post(`/${own.fullPath}/-/archive`)).status).toBe(404);
    expect((await as("maintainer").post(`/${own.fullPath}/-/delete`)).status).toBe(404);
  });

  it("archive, bring back and delete it", async () => {
    const own = await newCodeProject(app);
    const path = `/${own.fullPath}/-`;
    const archived = await as("owner").post(`${path}/archive`);
    expect([archived.status, archived.headers.get("location")]).toEqual([303, `${path}/edit`]);
    const { page, status } = await as("owner").get(`${path}/edit`);
    expect([status, page.includes(`${path}/unarchive`), fieldsOf(page)]).toEqual([200, true, {}]);
    for (const one of PAGES) {
      expect([one, (await as("owner").get(`${path}/${one}`)).status]).toEqual([one, 200]);
    }
    await as("owner").post(`${path}/unarchive`);
    expect((await own.get("")).json.archived).toBe(false);
    const gone = await as("owner").post(`${path}/delete`);
    expect(gone.headers.get("location")).toBe("/dashboard/projects");
    const left = await own.get("", "owner");
    expect(left.status === 404 || Boolean(left.json.marked_for_deletion_on)).toBe(true);
  });
});

describe("transfers", () => {
  it("move a project or group elsewhere, for its owners", async () => {
    const own = await newCodeProject(app);
    const { json: to } = await app.call("POST /groups", {
      ...{ as: "owner", json: { name: "Elsewhere", path: "elsewhere", visibility: "private" } },
    });
    const path = `/${own.fullPath}/-`;
    expect((await as("owner").get(`${path}/edit`)).page).toContain(`href="${path}/transfer"`);
    expect((await as("maintainer").get(`${path}/edit`)).page).not.toContain(`${path}/transfer`);
    const expected = { maintainer: [404, 404], stranger: [404, 404], anonymous: [302, 303] };
    await forms.answersFor(`${path}/transfer`, { namespace: "elsewhere" }, expected as never);
    const wrong = await as("owner").post(`${path}/transfer`, { namespace: "nowhere" });
    expect([wrong.status, fieldsOf(wrong.page)["namespace"]]).toEqual([404, undefined]);
    expect((await as("owner").get(`${path}/transfer`)).page).toContain(">elsewhere</option>");
    const moved = await fill(`${path}/transfer`, { namespace: "elsewhere" });
    const name = own.fullPath.split("/").at(-1);
    expect(moved.headers.get("location")).toBe(`/elsewhere/${name}/-/edit`);
    expect((await as("owner").get(`/elsewhere/${name}/-/edit`)).status).toBe(200);

    const json = { name: "Inner", path: "inner" };
    await app.call("POST /groups", { as: "owner", json });
    const inner = "/groups/inner/-/transfer";
    const within = await fill(inner, { group_id: String(to.id) });
    expect(within.headers.get("location")).toBe("/groups/elsewhere/inner/-/edit");
    const top = await fill("/groups/elsewhere/inner/-/transfer", { group_id: "" });
    expect(top.headers.get("location")).toBe("/groups/inner/-/edit");
  });
});

describe("addresses of settings", () => {
  it("that hold anything else are refused, or show what there is", async () => {
    await project.send("POST", "/variables", { key: "PLAIN", value: "" }, "owner");
    for (const [path, status] of [
      ["variables/PLAIN/edit", 200],
      ["variables/PLAIN/edit?scope=", 404],
      ["variables/PLAIN/edit?scope=nowhere", 404],
      ["variables/PLAIN/edit?scope[a]=1", 400],
      ["variables/%3Cb%3E/edit", 404],
      ["variables/new?value=%3Cscript%3E&key=A", 200],
      ["hooks/99999999/edit", 404],
      ["hooks/none/edit", 404],
      ["hooks/new?url[]=1", 400],
      ["deploy_tokens/new?scopes=a&scopes[]=b", 400],
      ["deploy_tokens/new?scopes[]=%3Cscript%3E", 200],
      ["settings/repository?deploy_keys_page=x&protected_branches_page=999", 200],
      ["settings/ci_cd?variables_page=999999999999", 200],
      ["project_members/new?username=%3Cscript%3E", 200],
      ["project_members/99999999/edit", 404],
      ["runners/new?tag_list=%3Cscript%3E", 200],
    ] as const) {
      const { status: answered, page } = await as("owner").get(`${base}/-/${path}`);
      expect([path, answered]).toEqual([path, status]);
      expect(page).not.toMatch(RUNS);
    }
    for (const [path, form, status] of [
      ["hooks/99999999/test/push_events", {}, 404],
      ["hooks/99999999/events/1/resend", {}, 404],
      ["variables/PLAIN/delete", { scope: "nowhere" }, 404],
      ["variables/new", { key: "x\0" }, 400],
      ["variables/new", { "key[a]": "x" }, 400],
      ["deploy_tokens/new", { name: "x", "scopes[]": ["", "all"] }, 422],
      ["deploy_keys/99999999/delete", {}, 404],
      ["runners/new", { runner_type: "instance_type" }, 422],
      ["runners/new", { runner_type: "project_type", project_id: "99999999" }, 404],
      ["settings/access_tokens/new", { name: "x", "scopes[]": "read_api", access_level: "7" }, 422],
      ["project_members/new", { username: "", access_level: "30" }, 422],
      ["project_members/new", { username: "guest", access_level: "many" }, 422],
      ["edit", { visibility: "everybody" }, 422],
      ["edit", { topics: "x".repeat(400) }, 422],
    ] as const) {
      const answer = await as("owner").post(`${base}/-/${path}`, form as never);
      expect([path, form, answer.status]).toEqual([path, form, status]);
    }
    const { json } = await project.get("/variables/PLAIN", "owner");
    expect(json.value).toBe("");
    const empty = { key: "EMPTY", value: "", environment_scope: "*" };
    await fill(`${base}/-/variables/new`, empty);
    expect((await project.get("/variables/EMPTY", "owner")).json.value).toBe("");
    for (const key of ["PLAIN", "EMPTY"]) {
      await as("owner").post(`${base}/-/variables/${key}/delete`, { scope: "*" });
    }
    expect((await project.get("/variables", "owner")).json).toEqual([]);
  });
});

describe("settings of the repository", () => {
  it("protect branches and tags", async () => {
    await fill(`${base}/-/protected_branches/new`, {
      ...{ name: "release/*", push_access_level: "0", merge_access_level: "30" },
      allow_force_push: "false",
    });
    await fill(`${base}/-/protected_tags/new`, { name: "v*", create_access_level: "40" });
    const found = await project.get("/protected_branches/release%2F*", "owner");
    expect(found.json).toMatchObject({
      push_access_levels: [{ access_level: 0 }],
      merge_access_levels: [{ access_level: 30 }],
    });
    const page = `${base}/-/settings/repository`;
    app.statements.length = 0;
    const shown = await as("maintainer").get(page);
    expect(app.statements.length).toBeLessThan(80);
    expect(shown.page).toContain("<code>release/*</code>");
    // What a group protects, it unprotects.
    const json = { name: "of-group" };
    await app.call("POST /groups/secret/protected_branches", { as: "owner", json });
    const { page: both } = await as("owner").get(page);
    expect(both).toContain("<code>of-group</code>");
    expect(both).not.toContain("of-group/delete");
    await app.call("DELETE /groups/secret/protected_branches/of-group", { as: "owner" });
    const taken = await as("owner").post(`${base}/-/protected_branches/new`, { name: "release/*" });
    expect([taken.status, fieldsOf(taken.page)["name"]]).toEqual([422, "release/*"]);
    for (const [path, list] of [
      ["protected_branches/release%2F*", "/protected_branches/release%2F*"],
      ["protected_tags/v*", "/protected_tags/v*"],
    ] as const) {
      expect(shown.page).toContain(`action="${base}/-/${path}/delete"`);
      expect((await as("developer").post(`${base}/-/${path}/delete`)).status).toBe(404);
      const removed = await as("maintainer").post(`${base}/-/${path}/delete`);
      expect([removed.status, removed.headers.get("location")]).toEqual([303, page]);
      expect((await project.get(list, "owner")).status).toBe(404);
    }
  });

  it("add keys and tokens, whose secrets are shown once", async () => {
    const key =
      "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f a@b";
    await fill(`${base}/-/deploy_keys/new`, { title: HOSTILE, key, can_push: "true" });
    const [found] = (await project.get("/deploy_keys", "owner")).json;
    expect(found).toMatchObject({ title: HOSTILE, can_push: true, expires_at: null });
    await fill(`${base}/-/deploy_keys/${found.id}/edit`, { title: "CI", can_push: "false" });
    const { json } = await project.get(`/deploy_keys/${found.id}`, "owner");
    expect(json).toMatchObject({ title: "CI", can_push: false });
    const bad = await as("owner").post(`${base}/-/deploy_keys/new`, { title: "x", key: "nothing" });
    expect([bad.status, fieldsOf(bad.page)["key"]]).toEqual([422, "nothing"]);
    await as("owner").post(`${base}/-/deploy_keys/${found.id}/delete`);
    expect((await project.get("/deploy_keys", "owner")).json).toEqual([]);

    const made = await fill(`${base}/-/deploy_tokens/new`, {
      ...{ name: HOSTILE, username: "", expires_at: "" },
      "scopes[]": ["", "read_repository"],
    });
    const secret = secretIn(made.page);
    expect([made.status, made.headers.get("cache-control"), made.url]).toEqual([
      200,
      "no-store",
      "",
    ]);
    const { page } = await as("owner").get(`${base}/-/settings/repository`);
    expect([page.includes(secret), page.includes("read_repository")]).toEqual([false, true]);
    expect(page + made.page).not.toMatch(RUNS);
    const [token] = (await project.get("/deploy_tokens", "owner")).json;
    expect(token).toMatchObject({ name: HOSTILE, scopes: ["read_repository"], expires_at: null });
    const none = await as("owner").post(`${base}/-/deploy_tokens/new`, {
      name: "x",
      "scopes[]": "",
    });
    expect(none.status).toBe(422);
    await as("owner").post(`${base}/-/deploy_tokens/${token.id}/delete`);
    expect((await project.get("/deploy_tokens?active=true", "owner")).json).toEqual([]);
  });
});

/** The secret that a page shows. */
const secretIn = (page: string): string => {
  const [, secret = ""] = /<code class="secret">([^<]+)<\/code>/.exec(page) ?? [];
  expect(secret.length).toBeGreaterThan(10);
  return secret;
};

describe.each(["project", "group"] as const)("CI/CD settings of a %s", (of) => {
  const place = () => (of === "project" ? base : "/groups/acme");
  const get = (path: string) =>
    of === "project"
      ? project.get(path, "owner")
      : app.call(`GET /groups/acme${path}`, { as: "owner" });

  it("have variables by environment, and say nothing of those that are masked", async () => {
    const said = { variable_type: "env_var", description: HOSTILE, raw: "false" };
    const path = `${place()}/-/variables`;
    await fill(`${path}/new`, { key: "MODE", value: "slow", environment_scope: "*", ...said });
    await fill(`${path}/new`, {
      ...{ key: "MODE", value: "fast", environment_scope: "review/*", protected: "true" },
      ...said,
    });
    await fill(`${path}/new`, { key: "TOKEN", value: "secret-value-1", masked: "true", ...said });
    const list = await as("owner").get(`${place()}/-/settings/ci_cd`);
    for (const text of ["MODE", "fast", "slow", "TOKEN", "review/*"]) {
      expect(list.page).toContain(text);
    }
    expect(list.page).not.toContain("secret-value-1");
    expect(list.page).not.toMatch(RUNS);
    const address = `${path}/MODE/edit?scope=review%2F*`;
    expect(list.page).toContain(`href="${address}"`);
    const fields = fieldsOf((await as("owner").get(address)).page);
    expect(fields).toMatchObject({ value: "fast", scope: "review/*", protected: "true" });
    await fill(`${path}/MODE/edit?scope=review%2F*`, { ...fields, value: "faster" });
    const masked = await as("owner").get(`${path}/TOKEN/edit?scope=*`);
    expect(masked.page).not.toContain("secret-value-1");
    await fill(`${path}/TOKEN/edit?scope=*`, { ...fieldsOf(masked.page), description: "Known" });
    const { json } = await get("/variables");
    expect(json.map(({ key, value }: Record<string, string>) => [key, value])).toEqual(
      expect.arrayContaining([
        ["MODE", "slow"],
        ["MODE", "faster"],
        ["TOKEN", "secret-value-1"],
      ]),
    );
    const short = await as("owner").post(`${path}/new`, { key: "T", value: "x", masked: "true" });
    expect([short.status, fieldsOf(short.page)["key"]]).toEqual([422, "T"]);
    await as("owner").post(`${path}/MODE/delete`, { scope: "review/*" });
    await as("owner").post(`${path}/TOKEN/delete`, { scope: "*" });
    const left = await get("/variables");
    expect(left.json).toMatchObject([{ key: "MODE", value: "slow" }]);
  });

  it("make runners, and say once how they are started", async () => {
    const path = `${place()}/-/runners`;
    const fields = fieldsOf((await as("owner").get(`${path}/new`)).page);
    const made = await fill(`${path}/new`, { ...fields, description: "Fast", tag_list: "a, b" });
    const token = secretIn(made.page);
    expect(made.page).toContain(`pm-cli runner --url http://localhost --token ${token}`);
    expect(made.page).toContain(`gitlab-runner register --url http://localhost --token ${token}`);
    const verified = await app.call("POST /runners/verify", { json: { token } });
    expect(verified.status).toBe(200);
    const own = (await get("/runners")).json.find(
      ({ description }: { description: string }) => description === "Fast",
    );
    const edit = await as("owner").get(`${path}/${own.id}/edit`);
    expect(edit.page).not.toContain(token);
    expect(fieldsOf(edit.page)).toMatchObject({ tag_list: "a, b", run_untagged: "true" });
    await fill(`${path}/${own.id}/edit`, { ...fieldsOf(edit.page), paused: "true" });
    const { page } = await as("owner").get(`${place()}/-/settings/ci_cd`);
    expect(page).toContain('Fast <span class="tag">paused</span>');
    await as("owner").post(`${path}/${own.id}/delete`);
    expect((await get("/runners")).json).toEqual([]);
  });
});

describe("triggers and access tokens of a project", () => {
  it("are made, shown once, changed and revoked", async () => {
    const made = await fill(`${base}/-/triggers/new`, { description: HOSTILE, expires_at: "" });
    const token = secretIn(made.page);
    const list = await as("owner").get(`${base}/-/settings/ci_cd`);
    expect(list.page).not.toContain(token);
    expect(list.page).not.toMatch(RUNS);
    const [trigger] = (await project.get("/triggers", "owner")).json;
    expect(trigger.token).toBe(token);
    await fill(`${base}/-/triggers/${trigger.id}/edit`, { description: "Nightly" });
    await as("owner").post(`${base}/-/triggers/${trigger.id}/delete`);
    expect((await project.get("/triggers", "owner")).json).toEqual([]);

    const path = `${base}/-/settings/access_tokens`;
    const bot = await fill(`${path}/new`, {
      ...{ name: HOSTILE, access_level: "30", expires_at: FUTURE, "scopes[]": ["", "read_api"] },
    });
    const secret = secretIn(bot.page);
    expect(bot.headers.get("cache-control")).toBe("no-store");
    const used = await app.call(`GET ${project.path}`, { headers: { "private-token": secret } });
    expect(used.status).toBe(200);
    const shown = await as("maintainer").get(path);
    expect(shown.page).toContain(`Developer · read_api · expires ${FUTURE}`);
    expect(shown.page).not.toContain(secret);
    const [found] = (await project.get("/access_tokens", "owner")).json;
    expect((await as("developer").post(`${path}/${found.id}/delete`)).status).toBe(404);
    await as("maintainer").post(`${path}/${found.id}/delete`);
    expect((await project.get("/access_tokens?state=active", "owner")).json).toEqual([]);
    expect((await as("owner").post(`${path}/new`, { name: "" })).status).toBe(422);
  });
});

describe("webhooks of a project", () => {
  it("are added, changed, tried out and deleted, and send again what they sent", async () => {
    const path = `${base}/-/hooks`;
    const fields = fieldsOf((await as("maintainer").get(`${path}/new`)).page);
    expect(fields).toMatchObject({ push_events: "true", issues_events: "false" });
    const made = await fill(`${path}/new`, {
      ...{ ...fields, url: receiver.url, name: HOSTILE, token: "a-secret" },
      issues_events: ["false", "true"],
    });
    expect(made.headers.get("location")).toBe(path);
    const [hook] = (await project.get("/hooks", "owner")).json;
    expect(hook).toMatchObject({ url: receiver.url, push_events: true, issues_events: true });
    const edit = `${path}/${hook.id}/edit`;
    const shown = await as("maintainer").get(edit);
    expect(shown.page).not.toContain("a-secret");
    expect(shown.page).not.toMatch(RUNS);
    await fill(edit, { ...fieldsOf(shown.page), name: "Deploys" }, "maintainer");
    const tested = await as("maintainer").post(`${path}/${hook.id}/test/push_events`);
    expect([tested.status, tested.headers.get("location")]).toEqual([303, edit]);
    expect(receiver.received[0]?.headers["x-gitlab-token"]).toBe("a-secret");
    const nothing = await as("maintainer").post(`${path}/${hook.id}/test/releases_events`);
    expect([nothing.status, nothing.page.includes("Ensure the project has releases.")]).toEqual([
      422,
      true,
    ]);
    const [delivery] = (await project.get(`/hooks/${hook.id}/events`, "owner")).json;
    const after = await as("maintainer").get(edit);
    const resend = `${path}/${hook.id}/events/${delivery.id}/resend`;
    expect(after.page).toContain(`action="${resend}"`);
    expect((await as("developer").post(resend)).status).toBe(404);
    expect((await as("maintainer").post(resend)).status).toBe(303);
    expect(receiver.received.length).toBe(2);
    const template = '{"text":"{{object_kind}}"}';
    await fill(
      edit,
      {
        ...fieldsOf((await as("maintainer").get(edit)).page),
        ...{ custom_headers: "X-Team: deploys\r\nX-More: a: b", custom_webhook_template: template },
      },
      "maintainer",
    );
    await as("maintainer").post(`${path}/${hook.id}/test/push_events`);
    expect(receiver.received[2]).toMatchObject({
      headers: { "x-team": "deploys", "x-more": "a: b" },
    });
    const kept = await as("maintainer").get(edit);
    expect(fieldsOf(kept.page)).toMatchObject({
      ...{ custom_headers: "", custom_webhook_template: template },
    });
    const bad = await as("owner").post(`${path}/new`, { url: "nowhere", description: "kept" });
    expect([bad.status, fieldsOf(bad.page)["description"]]).toEqual([422, "kept"]);
    await as("maintainer").post(`${path}/${hook.id}/delete`);
    expect((await project.get("/hooks", "owner")).json).toEqual([]);
  });
});

describe.each(["project", "group"] as const)("members of a %s", (of) => {
  it("are added by name, changed and removed, and invited", async () => {
    const own = await newCodeProject(app);
    const group = { name: "Team", path: "team" };
    if (of === "group") await app.call("POST /groups", { as: "owner", json: group });
    const [place, api] =
      of === "project" ? [`/${own.fullPath}`, own.path] : ["/groups/team", "/groups/team"];
    const path = `${place}/-/${of}_members`;
    const at = (below: string) => app.call(`GET ${api}${below}`, { as: "owner" });
    const nobody = { username: "nobody-here", access_level: "30", expires_at: "" };
    const unknown = await as("owner").post(`${path}/new`, nobody);
    expect([unknown.status, fieldsOf(unknown.page)["username"]]).toEqual([422, "nobody-here"]);
    expect(unknown.page).toContain('href="#field-username">User name</a> is nobody&#39;s');
    const form = { username: "@stranger", access_level: "30", expires_at: FUTURE };
    await fill(`${path}/new`, form);
    const { json: members } = await at("/members");
    const member = members.find(({ username }: { username: string }) => username === "stranger");
    expect(member).toMatchObject({ access_level: 30, expires_at: FUTURE });
    app.statements.length = 0;
    const { page } = await as("owner").get(path);
    expect(app.statements.length).toBeLessThan(80);
    expect(page).toContain(`Developer, until ${FUTURE}`);
    expect(page).toContain(`${path}/${member.id}/edit`);
    if (of === "project") {
      const { json: all } = await at("/members/all");
      const inherited = all.find(({ username }: { username: string }) => username === "guest");
      expect(page).not.toContain(`${path}/${inherited.id}/edit`);
      expect((await as("owner").get(`${path}/${inherited.id}/edit`)).status).toBe(404);
      const { page: seen } = await as("developer").get(path);
      expect(seen).not.toContain("/edit");
      expect(seen).not.toContain(`${path}/new`);
    }
    await fill(`${path}/${member.id}/edit`, { access_level: "20", expires_at: "" });
    expect((await at(`/members/${member.id}`)).json).toMatchObject({
      ...{ access_level: 20, expires_at: null },
    });
    const invited = `${path}/invitations`;
    await fill(`${invited}/new`, { email: "new@example.com", access_level: "10" });
    const twice = { email: "new@example.com", access_level: "10" };
    const again = await as("owner").post(`${invited}/new`, twice);
    expect([again.status, again.page.includes("already been taken")]).toEqual([422, true]);
    expect((await as("owner").get(path)).page).toContain("new@example.com");
    await as("owner").post(`${invited}/new%40example.com/delete`);
    expect((await at("/invitations")).json).toEqual([]);
    await as("owner").post(`${path}/${member.id}/delete`);
    expect((await at(`/members/${member.id}`)).status).toBe(404);
  });
});

describe("schedules of pipelines", () => {
  it("are added, changed by their owner, taken over, run and deleted", async () => {
    const path = `${base}/-/pipeline_schedules`;
    const fields = fieldsOf((await as("developer").get(`${path}/new`)).page);
    expect(fields).toMatchObject({ cron: "0 4 * * *", cron_timezone: "UTC", ref: "main" });
    const bad = await as("developer").post(`${path}/new`, {
      ...fields,
      description: "x",
      cron: "no",
    });
    expect([bad.status, bad.page.includes("is invalid syntax")]).toEqual([422, true]);
    await fill(`${path}/new`, { ...fields, description: HOSTILE }, "developer");
    const read = async () => (await project.get("/pipeline_schedules", "owner")).json;
    const [{ id }] = await read();
    const shown = await as("maintainer").get(path);
    expect(shown.page).not.toMatch(RUNS);
    expect(shown.page).not.toContain(`${path}/${id}/edit`);
    expect((await as("maintainer").post(`${path}/${id}/take_ownership`)).status).toBe(303);
    expect((await as("maintainer").get(path)).page).toContain(`${path}/${id}/edit`);
    await fill(`${path}/${id}/edit`, { ...fields, description: "Nightly" }, "maintainer");
    expect(await read()).toMatchObject([
      { description: "Nightly", owner: { username: "maintainer" } },
    ]);
    const variables = `${path}/${id}/variables`;
    const owner = as("maintainer");
    expect((await owner.post(variables, { key: "LEVEL", value: HOSTILE })).status).toBe(303);
    const again = await owner.post(variables, { key: "LEVEL", value: "2" });
    expect([again.status, again.page.includes("has already been taken")]).toEqual([422, true]);
    expect(again.page).toContain(`action="${path}/${id}/edit"`);
    expect(again.page).not.toMatch(RUNS);
    expect((await as("developer").post(`${variables}/LEVEL/change`, { value: "3" })).status).toBe(
      404,
    );
    expect((await owner.post(`${variables}/LEVEL/change`, { value: "4" })).status).toBe(303);
    const variablesNow = async () =>
      (await project.get(`/pipeline_schedules/${id}`, "maintainer")).json.variables;
    expect(await variablesNow()).toMatchObject([{ key: "LEVEL", value: "4" }]);
    expect((await owner.post(`${variables}/LEVEL/delete`)).status).toBe(303);
    expect(await variablesNow()).toEqual([]);
    expect((await as("guest").get(`${path}/new`)).status).toBe(404);
    expect((await as("maintainer").post(`${path}/${id}/delete`)).status).toBe(303);
    expect(await read()).toEqual([]);
  });
});

describe("settings of a group", () => {
  it("have SCIM tokens, which are shown once and revoked", async () => {
    const path = "/groups/secret/-/settings/scim";
    expect((await as("owner").get(path)).page).toContain("/api/scim/v2/groups/secret");
    expect((await as("maintainer").get(path)).status).toBe(404);
    const form = fieldsOf((await as("owner").get(`${path}/new`)).page);
    const made = await as("owner").post(`${path}/new`, { ...form, name: "Directory" });
    const secret = secretIn(made.page);
    expect(secret.length).toBeGreaterThan(10);
    const listed = await as("owner").get(path);
    expect([listed.page.includes("Directory"), listed.page.includes(secret)]).toEqual([
      true,
      false,
    ]);
    const [, id] = /scim\/(\d+)\/delete/.exec(listed.page) ?? [];
    expect((await as("owner").post(`${path}/${id}/delete`)).status).toBe(303);
    expect((await as("owner").get(path)).page).toContain("revoked");
  });

  it("are for its owners, who change, archive and delete it", async () => {
    const json = { name: "Own", path: "own", visibility: "public" };
    await app.call("POST /groups", { as: "owner", json });
    const path = "/groups/own/-";
    for (const [username, access_level] of [
      ["maintainer", 40],
      ["developer", 30],
      ["guest", 10],
    ] as const) {
      const form = { username, access_level: String(access_level), expires_at: "" };
      await fill(`${path}/group_members/new`, form);
    }
    const none = { maintainer: 404, developer: 404, guest: 404, stranger: 404 };
    const answers = { owner: 200, ...none, anonymous: 302 };
    for (const [person, status] of Object.entries(answers)) {
      for (const one of [
        ...["edit", "settings/ci_cd", "variables/new", "group_members/new", "hooks", "hooks/new"],
        ...["settings/access_tokens", "settings/access_tokens/new"],
      ]) {
        const shown = await as(person as Person).get(`${path}/${one}`);
        expect([person, one, shown.status]).toEqual([person, one, status]);
      }
    }
    const tokens = `${path}/settings/access_tokens`;
    const bot = await fill(`${tokens}/new`, {
      ...{ name: "bot", access_level: "20", expires_at: FUTURE, "scopes[]": ["", "read_api"] },
    });
    const used = { headers: { "private-token": secretIn(bot.page) } };
    expect((await app.call("GET /groups/own/members", used)).status).toBe(200);
    const [token] = (await app.call("GET /groups/own/access_tokens", { as: "owner" })).json;
    expect((await as("maintainer").post(`${tokens}/${token.id}/delete`)).status).toBe(404);
    await as("owner").post(`${tokens}/${token.id}/delete`);
    expect((await app.call("GET /groups/own/members", used)).status).toBe(401);

    await fill(`${path}/hooks/new`, { url: receiver.url, push_events: "true" });
    const [hook] = (await app.call("GET /groups/own/hooks", { as: "owner" })).json;
    const tried = await as("owner").post(`${path}/hooks/${hook.id}/test/push_events`);
    // There is no project in it of which a push could be told.
    expect([tried.status, tried.page.includes("This was refused")]).toEqual([422, true]);
    expect((await as("owner").get(`${path}/hooks/${hook.id}/edit`)).status).toBe(200);
    await as("owner").post(`${path}/hooks/${hook.id}/delete`);
    expect((await app.call("GET /groups/own/hooks", { as: "owner" })).json).toEqual([]);

    const shown = await as("owner").get(`${path}/edit`);
    const fields = { ...fieldsOf(shown.page), name: "Ours", project_creation_level: "owner" };
    const saved = await fill(`${path}/edit`, { ...fields, path: "ours", description: HOSTILE });
    expect(saved.headers.get("location")).toBe("/groups/ours/-/edit");
    expect((await app.call("GET /groups/ours", { as: "owner" })).json).toMatchObject({
      ...{ name: "Ours", description: HOSTILE, project_creation_level: "owner" },
    });
    const now = "/groups/ours/-";
    expect((await as("owner").get(`${now}/edit`)).page).not.toMatch(RUNS);
    await as("owner").post(`${now}/archive`);
    expect((await as("owner").get(`${now}/edit`)).page).toContain(`${now}/unarchive`);
    await as("owner").post(`${now}/unarchive`);
    const gone = await as("owner").post(`${now}/delete`);
    expect(gone.headers.get("location")).toBe("/dashboard/groups");
  });
});

describe("the administration", () => {
  let admin: Visitor;
  beforeAll(async () => {
    await givePassword(app, "admin");
    admin = new Visitor(app);
    expect((await admin.signIn("admin", PASSWORD)).status).toBe(303);
  });
  const send = (method: string, path: string, json?: object) =>
    app.call(`${method} ${path}`, { as: "admin", ...(json && { json }) });

  const LISTS = `/admin /admin/users /admin/groups /admin/projects /admin/runners /admin/broadcast_messages /admin/audit_logs
/admin/application_settings/general /admin/users/new /admin/runners/new /admin/broadcast_messages/new /admin/users/1/edit`;

  it("is there for administrators only", async () => {
    for (const path of LISTS.split(/\s/)) {
      app.statements.length = 0;
      const { status, page } = await admin.get(path);
      expect([path, status, app.statements.length < 80]).toEqual([path, 200, true]);
      expect(page).toContain('<nav class="items" aria-label="Administration">');
      for (const [person, expected] of [
        ["owner", 404],
        ["stranger", 404],
        ["anonymous", 302],
      ] as const) {
        expect([path, person, (await as(person).get(path)).status]).toEqual([
          path,
          person,
          expected,
        ]);
      }
    }
    expect((await as("owner").get("/dashboard/projects")).page).not.toContain('"/admin"');
    expect((await admin.get("/dashboard/projects")).page).toContain('href="/admin"');
    const { json: group } = await app.call("GET /groups/acme", { as: "owner" });
    for (const path of [
      "users/new",
      "users/1/edit",
      "users/1/block",
      "users/1/delete",
      "runners/new",
      "broadcast_messages/new",
      "application_settings/general",
      // What an owner may delete elsewhere.
      `groups/${group.id}/delete`,
      `projects/${project.id}/delete`,
    ]) {
      const form = { name: "x", message: "x", can_create_group: "false" };
      expect([path, (await as("owner").post(`/admin/${path}`, form)).status]).toEqual([path, 404]);
    }
    expect((await project.get("")).json.marked_for_deletion_on).toBeNull();
  });

  it("makes users, finds, changes, blocks and deletes them", async () => {
    await admin.get("/admin/users/new");
    const user = { name: HOSTILE, username: "newcomer", email: "newcomer@example.com" };
    const short = await admin.post("/admin/users/new", { ...user, password: "short-one" });
    const bad = await admin.post("/admin/users/new", { ...user, email: "nobody", password: "s3" });
    expect([bad.status, fieldsOf(bad.page)["username"]]).toEqual([422, "newcomer"]);
    expect(bad.page).not.toContain('value="s3"');
    expect(short.status).toBe(303);
    const [found] = (await send("GET", "/users?username=newcomer")).json;
    expect(found).toMatchObject({ email: "newcomer@example.com", is_admin: false });
    const list = await admin.get("/admin/users?search=newcomer");
    expect([list.page.includes("@newcomer"), list.page.includes("@stranger")]).toEqual([
      true,
      false,
    ]);
    expect(list.page).not.toMatch(RUNS);
    const path = `/admin/users/${found.id}`;
    const shown = await admin.get(`${path}/edit`);
    const fields = { ...fieldsOf(shown.page), name: "New Comer", admin: "true" };
    expect((await admin.post(`${path}/edit`, fields)).status).toBe(303);
    expect((await send("GET", `/users/${found.id}`)).json).toMatchObject({
      ...{ name: "New Comer", is_admin: true, username: "newcomer" },
    });
    expect((await admin.post(`${path}/block`)).headers.get("location")).toBe("/admin/users");
    const blocked = await admin.get("/admin/users?state=blocked");
    expect([blocked.page.includes("@newcomer"), blocked.page.includes("@owner")]).toEqual([
      true,
      false,
    ]);
    expect(blocked.page).toContain(`action="${path}/unblock"`);
    await admin.post(`${path}/unblock`);
    expect((await send("GET", `/users/${found.id}`)).json.state).toBe("active");
    await admin.post(`${path}/delete`);
    expect((await admin.get("/admin/users?search=newcomer")).page).toContain("There are no users.");
    // Nobody takes their own account away here.
    const { json: own } = await send("GET", "/user");
    expect((await admin.get("/admin/users")).page).not.toContain(`/admin/users/${own.id}/delete`);
  });

  it("tells everybody something, and changes settings of the application", async () => {
    const path = "/admin/broadcast_messages";
    const form = { ...fieldsOf((await admin.get(`${path}/new`)).page), message: HOSTILE };
    expect((await admin.post(`${path}/new`, form)).status).toBe(303);
    const [message] = (await send("GET", "/broadcast_messages")).json;
    expect(message).toMatchObject({ message: HOSTILE, broadcast_type: "banner", active: true });
    const list = await admin.get(path);
    expect(list.page).not.toMatch(RUNS);
    const fields = fieldsOf((await admin.get(`${path}/${message.id}/edit`)).page);
    const late = { ...fields, message: "Later", starts_at: "never" };
    const bad = await admin.post(`${path}/${message.id}/edit`, late);
    expect([bad.status, fieldsOf(bad.page)["starts_at"]]).toEqual([422, "never"]);
    await admin.post(`${path}/${message.id}/edit`, { ...fields, message: "Later" });
    expect((await send("GET", `/broadcast_messages/${message.id}`)).json).toMatchObject({
      ...{ message: "Later", starts_at: message.starts_at, ends_at: message.ends_at },
    });
    await admin.post(`${path}/${message.id}/delete`);
    expect((await send("GET", "/broadcast_messages")).json).toEqual([]);

    const general = "/admin/application_settings/general";
    const before = fieldsOf((await admin.get(general)).page);
    const sent = {
      ...{ ...before, default_project_visibility: "internal", can_create_group: "false" },
      ...{ "restricted_visibility_levels[]": ["", "public"], deletion_adjourned_period: "9" },
    };
    expect((await admin.post(general, sent)).status).toBe(303);
    expect((await send("GET", "/application/settings")).json).toMatchObject({
      ...{ default_project_visibility: "internal", can_create_group: false },
      ...{ restricted_visibility_levels: ["public"], deletion_adjourned_period: 9 },
    });
    const bad2 = await admin.post(general, { ...sent, default_projects_limit: "many" });
    expect([bad2.status, fieldsOf(bad2.page)["default_projects_limit"]]).toEqual([422, "many"]);
    expect((await admin.get("/admin/audit_logs")).page).toContain("application settings changed");
    const none = {
      ...{ ...before, "restricted_visibility_levels[]": "" },
      ...{ delayed_project_deletion: "true" },
    };
    expect((await admin.post(general, none)).status).toBe(303);
    const { json } = await send("GET", "/application/settings");
    expect(json.restricted_visibility_levels).toEqual([]);

    // What is to be deleted is restored where it was deleted.
    const own = await newCodeProject(app);
    await as("owner").post(`/${own.fullPath}/-/delete`);
    const { json: marked } = await own.get("", "owner");
    expect(marked.marked_for_deletion_on).not.toBeNull();
    const edit = `/${marked.path_with_namespace}/-`;
    const left = await as("owner").get(`${edit}/edit`);
    expect([left.status, fieldsOf(left.page)]).toEqual([200, {}]);
    expect(left.page).toContain(`action="${edit}/restore"`);
    const restored = await as("owner").post(`${edit}/restore`);
    expect((await as("owner").follow(restored)).status).toBeLessThan(302);
    expect((await own.get("", "owner")).json.marked_for_deletion_on).toBeNull();
  });

  it("shows background work, and tries it again", async () => {
    const path = "/admin/background_jobs";
    await app.store.transaction(async (db) => {
      const values = ["mail", JSON.stringify({ password: HOSTILE }), 3, "It was lost", 1, 1, 1];
      await db.run(
        "insert into outbox (worker, payload, attempts, error, failed_at, due_at, created_at) values (?, ?, ?, ?, ?, ?, ?)",
        values,
      );
    });
    const shown = await admin.get(`${path}?worker=mail&state=failed`);
    expect([shown.status, shown.page.includes("It was lost")]).toEqual([200, true]);
    expect(shown.page).toContain("Link to set a password to ");
    expect(shown.page).not.toMatch(RUNS);
    const [, id = ""] = /name="task_id" value="(\d+)"/.exec(shown.page) ?? [];
    expect((await as("owner").post(`${path}/retry`, { task_id: id })).status).toBe(404);
    const retried = await admin.post(`${path}/retry`, { task_id: id });
    expect([retried.status, retried.headers.get("location")]).toEqual([303, path]);
    const failed = "select count(*) from outbox where failed_at is not null and worker = 'mail'";
    expect(await app.store.rows(failed)).toEqual([[0]]);
    expect((await admin.post(`${path}/retry`, { worker: "mail" })).status).toBe(303);
    await app.store.transaction(async (db) => {
      await db.run("delete from outbox where worker = 'mail'");
    });
  });

  it("approves and rejects who has signed up", async () => {
    const made = async (username: string) => {
      const visitor = new Visitor(app);
      await visitor.get("/users/sign_up");
      const form = {
        username,
        name: username,
        email: `${username}@sea.example`,
        password: PASSWORD,
      };
      expect((await visitor.post("/users/sign_up", form)).status).toBe(200);
      return (await send("GET", `/users?username=${username}`)).json[0];
    };
    const [ida, joe] = [await made("ida"), await made("joe")];
    const shown = await admin.get("/admin/users?state=inactive");
    expect(shown.page).toContain(`action="/admin/users/${ida.id}/approve"`);
    expect((await admin.post(`/admin/users/${ida.id}/approve`)).status).toBe(303);
    expect((await send("GET", `/users/${ida.id}`)).json.state).toBe("active");
    expect((await admin.post(`/admin/users/${joe.id}/reject`)).status).toBe(303);
    expect((await send("GET", `/users/${joe.id}`)).status).toBe(404);
  });

  it("makes runners of everybody, and has groups and projects", async () => {
    const path = "/admin/runners";
    const form = fieldsOf((await admin.get(`${path}/new`)).page);
    const made = await admin.post(`${path}/new`, { ...form, description: "Of all" });
    expect(made.page).toContain(`--token ${secretIn(made.page)}`);
    expect((await admin.get(path)).page).toContain("Of all");
    const groups = await admin.get("/admin/groups?search=acme");
    expect(groups.page).toContain('href="/groups/acme"');
    const [, name] = base.slice(1).split("/");
    const projects = await admin.get(`/admin/projects?search=${name}`);
    expect(projects.page).toContain(`href="${base}"`);
    const json = { name: "To go", path: "to-go" };
    const { json: group } = await send("POST", "/groups", json);
    await admin.post(`/admin/groups/${group.id}/delete`);
    expect((await send("GET", `/groups/${group.id}`)).status).toBe(404);
  });
});
