import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite";
const VAULT = "/projects/secret%2Fvault";

async function settings(as: Person, path: string, json: object) {
  const { status } = await app.call(`PUT ${path}/notification_settings`, { as, json });
  expect(status).toBe(200);
}

async function post(path: string, as: Person, json: object) {
  const answer = await app.call(`POST ${path}`, { as, json });
  expect([answer.status, answer.text]).toEqual([201, answer.text]);
  return answer.json;
}

/** Recipients of the newest event of a project, with reasons. */
async function told(project = SITE) {
  const path = decodeURIComponent(project.replace("/projects/", ""));
  const [newest] = await app.store.rows(
    `select max(e.id) from events e join projects p on p.id = e.project_id
     where p.full_path = ? or p.id = ?`,
    [path, Number(path) || 0],
  );
  const people = await app.admin.activity.recipients(newest?.[0] as number);
  return Object.fromEntries(people.map(({ username, reason }) => [username, reason]));
}

it("notifies nobody without a reason, and never the author", async () => {
  await post(`${SITE}/issues`, "owner", { title: "Quiet" });
  expect(await told()).toEqual({});
});

it("notifies participants: author, assignees, commenters", async () => {
  const { iid } = await post(`${SITE}/issues`, "owner", { title: "Talk" });
  await post(`${SITE}/issues/${iid}/notes`, "developer", { body: "First" });
  expect(await told()).toEqual({ owner: "participating" });
  await post(`${SITE}/issues/${iid}/notes`, "reporter", { body: "Second" });
  expect(await told()).toEqual({ owner: "participating", developer: "participating" });
});

it("notifies participants of an approval", async () => {
  const branches = { source_branch: "approved", target_branch: "main" };
  const { iid } = await post(`${SITE}/merge_requests`, "developer", { title: "One", ...branches });
  await post(`${SITE}/merge_requests/${iid}/approve`, "maintainer", {});
  expect(await told()).toEqual({ developer: "participating" });
});

it("notifies participants of snippets: author and commenters, and those who are mentioned", async () => {
  const snippet = { title: "Handy", file_name: "a", content: "a", visibility: "private" };
  const { id } = await post(`${SITE}/snippets`, "reporter", snippet);
  await post(`${SITE}/snippets/${id}/notes`, "developer", { body: "See @guest and @stranger" });
  // Who does not see the snippet is told nothing.
  expect(await told()).toEqual({ reporter: "participating", guest: "mentioned" });
  await post(`${SITE}/snippets/${id}/notes`, "reporter", { body: "Thanks" });
  expect(await told()).toEqual({ developer: "participating" });
});

it("notifies mentioned users, in any case, once, and only for whole names", async () => {
  await post(`${SITE}/issues`, "owner", {
    title: "For @Guest",
    description: "and @guest, mail me@maintainer.example, `@developer`, @nobody, @stranger.",
  });
  expect(await told()).toEqual({ guest: "mentioned", stranger: "mentioned" });
});

it("uses the project's settings, else the group's, else the global ones", async () => {
  await settings("maintainer", "", { level: "watch" });
  await post(`${SITE}/issues`, "owner", { title: "One" });
  expect(await told()).toEqual({ maintainer: "watching" });

  await settings("maintainer", "/groups/acme", { level: "disabled" });
  await post(`${SITE}/issues`, "owner", { title: "Two @maintainer" });
  expect(await told()).toEqual({});

  await settings("maintainer", SITE, { level: "watch" });
  await post(`${SITE}/issues`, "owner", { title: "Three" });
  expect(await told()).toEqual({ maintainer: "watching" });

  await settings("maintainer", SITE, { level: "global" });
  await settings("maintainer", "/groups/acme", { level: "global" });
  await post(`${SITE}/issues`, "owner", { title: "Four" });
  expect(await told()).toEqual({ maintainer: "watching" });
  await settings("maintainer", "", { level: "participating" });
});

it("at level mention notifies only mentioned users", async () => {
  await settings("reporter", SITE, { level: "mention" });
  const { iid } = await post(`${SITE}/issues`, "reporter", { title: "Mine" });
  await post(`${SITE}/issues/${iid}/notes`, "owner", { body: "A word" });
  expect(await told()).toEqual({});
  await post(`${SITE}/issues/${iid}/notes`, "owner", { body: "A word, @reporter" });
  expect(await told()).toEqual({ reporter: "mentioned" });
});

it("at level custom notifies of selected events, and of one's own threads", async () => {
  await settings("developer", "/groups/acme", { level: "custom", close_issue: true });
  const { iid } = await post(`${SITE}/issues`, "owner", { title: "Custom" });
  expect(await told()).toEqual({});
  await app.call(`PUT ${SITE}/issues/${iid}`, { as: "admin", json: { state_event: "close" } });
  expect(await told()).toEqual({ developer: "custom", owner: "participating" });
});

it("skips users who may not see it", async () => {
  await settings("guest", SITE, { level: "watch" });
  await post(`${SITE}/issues`, "owner", {
    title: "Confidential @guest @stranger @maintainer",
    confidential: true,
  });
  expect(await told()).toEqual({ maintainer: "mentioned" });
  await post(`${VAULT}/issues`, "owner", { title: "Secret @stranger @guest @blocked" });
  expect(await told(VAULT)).toEqual({ guest: "mentioned" });
  await settings("guest", SITE, { level: "global" });
});

it("handles merge requests, and returns nothing for an unknown event", async () => {
  const request = { title: "Merge", source_branch: "one", target_branch: "main" };
  const { iid } = await post(`${SITE}/merge_requests`, "developer", request);
  await app.call(`PUT ${SITE}/merge_requests/${iid}`, {
    as: "maintainer",
    json: { state_event: "close" },
  });
  expect(await told()).toEqual({ developer: "participating" });
  await expect(app.admin.activity.recipients(987_654)).rejects.toThrow("404 Event Not Found");
});

const request = { title: "Merge", source_branch: "r", target_branch: "main" };

it("skips guests who may not read the code of a merge request, and everybody for disabled features", async () => {
  await settings("guest", VAULT, { level: "watch" });
  await settings("reporter", VAULT, { level: "watch" });
  const { iid } = await post(`${VAULT}/merge_requests`, "developer", {
    ...request,
    title: "For @guest",
  });
  expect(await told(VAULT)).toEqual({ reporter: "watching" });
  await post(`${VAULT}/merge_requests/${iid}/notes`, "owner", { body: "@guest @reporter" });
  expect(await told(VAULT)).toEqual({ developer: "participating", reporter: "mentioned" });
  await app.call(`PUT ${VAULT}`, { as: "owner", json: { merge_requests_enabled: false } });
  expect(await told(VAULT)).toEqual({});
  await app.call(`PUT ${VAULT}`, { as: "owner", json: { merge_requests_enabled: true } });

  await post(`${VAULT}/issues`, "developer", { title: "Seen" });
  expect(await told(VAULT)).toEqual({ guest: "watching", reporter: "watching" });
  await app.call(`PUT ${VAULT}`, { as: "owner", json: { issues_enabled: false } });
  expect(await told(VAULT)).toEqual({});
  await app.call(`PUT ${VAULT}`, { as: "owner", json: { issues_enabled: true } });
  for (const as of ["guest", "reporter"] as const) await settings(as, VAULT, { level: "global" });
});

it("for a confidential issue notifies only author, assignees, reporters and administrators", async () => {
  for (const as of ["guest", "stranger", "reporter", "admin"] as const)
    await settings(as, SITE, { level: "watch" });
  const { iid } = await post(`${SITE}/issues`, "stranger", { title: "Hush" });
  const guest = (await app.call("GET /user", { as: "guest" })).json.id;
  await app.call(`PUT ${SITE}/issues/${iid}`, { as: "owner", json: { assignee_ids: [guest] } });
  await app.call(`PUT ${SITE}/issues/${iid}`, { as: "owner", json: { confidential: true } });
  await post(`${SITE}/issues/${iid}/notes`, "owner", { body: "Soon" });
  expect(await told()).toEqual({
    stranger: "participating",
    guest: "participating",
    reporter: "watching",
    admin: "watching",
  });
  for (const as of ["guest", "stranger", "reporter", "admin"] as const)
    await settings(as, SITE, { level: "global" });
});

it("notifies subscribers at any level, and unsubscribed users only when mentioned", async () => {
  const { iid } = await post(`${SITE}/issues`, "owner", { title: "Choose" });
  const issue = `${SITE}/issues/${iid}`;
  await settings("stranger", "", { level: "disabled" });
  for (const as of ["stranger", "maintainer"] as const) await post(`${issue}/subscribe`, as, {});
  await post(`${issue}/unsubscribe`, "owner", {});
  await post(`${issue}/notes`, "admin", { body: "News" });
  expect(await told()).toEqual({ maintainer: "subscribed", stranger: "subscribed" });
  await post(`${issue}/notes`, "maintainer", { body: "More news, @owner" });
  expect(await told()).toEqual({
    admin: "participating",
    owner: "mentioned",
    stranger: "subscribed",
  });
  await post(`${issue}/unsubscribe`, "stranger", {});
  await app.call(`PUT ${issue}`, { as: "admin", json: { state_event: "close" } });
  // Developers enabled closed issues above.
  expect(await told()).toEqual({ maintainer: "subscribed", developer: "custom" });
  await settings("stranger", "", { level: "participating" });
  // The subscription that the API reports decides.
  for (const as of ["owner", "stranger", "maintainer"] as const) {
    const { json } = await app.call(`GET ${issue}`, { as });
    expect(json.subscribed).toBe(as === "maintainer");
  }
});

it("notifies subscribers of a label", async () => {
  const { status } = await app.call(`POST ${SITE}/labels/UX/subscribe`, { as: "guest" });
  expect(status).toBe(201);
  await post(`${SITE}/issues`, "owner", { title: "Styled", labels: "UX" });
  expect(await told()).toEqual({ guest: "subscribed" });
  await post(`${SITE}/issues`, "owner", { title: "Hidden", labels: "UX", confidential: true });
  expect(await told()).toEqual({});
});

it("keeps notifying users mentioned once, according to their todos", async () => {
  const { iid } = await post(`${SITE}/issues`, "owner", { title: "T", description: "@stranger" });
  await post(`${SITE}/issues/${iid}/notes`, "owner", { body: "And?" });
  expect(await told()).toEqual({ stranger: "participating" });
});

it("finds the same mentions as todos do: none in code, addresses or longer words", async () => {
  const description = [
    "```",
    "@reporter",
    "```",
    "~~~text",
    "```",
    "@reporter",
    "~~~",
    "`@reporter`, ``a ` @reporter``, a@reporter.example, /@reporter, @@reporter,",
    `@${"reporter".repeat(40)} and @Guest.`,
  ].join("\n");
  const { iid } = await post(`${SITE}/issues`, "owner", { title: "Code", description });
  expect(await told()).toEqual({ guest: "mentioned" });
  const todosOf = async (as: Person) => {
    const { json } = await app.call("GET /todos", { as });
    return json.filter(({ target }: { target: { iid: number } }) => target.iid === iid).length;
  };
  expect([await todosOf("reporter"), await todosOf("guest")]).toEqual([0, 1]);
});

it("notifies the members of a mentioned group, unless it can't be mentioned", async () => {
  const crew = await post("/groups", "owner", { name: "crew", path: "crew", visibility: "public" });
  const [{ id }] = (await app.call("GET /users?username=stranger", { as: "admin" })).json;
  await post(`/groups/${crew.id}/members`, "owner", { user_id: id, access_level: 20 });
  await post(`${SITE}/issues`, "owner", { title: "T", description: "@crew" });
  expect(await told()).toEqual({ stranger: "mentioned" });
  const { status } = await app.call(`PUT /groups/${crew.id}`, {
    as: "owner",
    json: { mentions_disabled: true },
  });
  expect(status).toBe(200);
  await post(`${SITE}/issues`, "owner", { title: "T", description: "@crew" });
  expect(await told()).toEqual({});
});

it("uses the nearest group's settings, however deep the groups are", async () => {
  const parent = (await app.call("GET /groups/acme", { as: "owner" })).json.id;
  const one = await post("/groups", "owner", { name: "n1", path: "n1", parent_id: parent });
  const two = await post("/groups", "owner", { name: "n2", path: "n2", parent_id: one.id });
  const project = await post("/projects", "owner", { name: "deep", namespace_id: two.id });
  const at = `/projects/${project.id}`;
  const hears = async () => {
    await post(`${at}/issues`, "owner", { title: "Deep" });
    return told(at);
  };
  // The furthest is saved last, so neither age nor id yields the right order.
  await settings("developer", `/groups/${two.id}`, { level: "watch" });
  await settings("developer", `/groups/${one.id}`, { level: "disabled" });
  await settings("developer", "/groups/acme", { level: "mention" });
  expect(await hears()).toEqual({ developer: "watching" });
  await settings("developer", `/groups/${two.id}`, { level: "global" });
  expect(await hears()).toEqual({});
  await settings("developer", `/groups/${one.id}`, { level: "watch" });
  expect(await hears()).toEqual({ developer: "watching" });
  for (const group of [one.id, "acme"])
    await settings("developer", `/groups/${group}`, { level: "global" });
});

it("skips blocked and former users, and a private profile does not matter", async () => {
  const idOf = async (as: Person) => (await app.call("GET /user", { as })).json.id;
  const [guest, maintainer] = [await idOf("guest"), await idOf("maintainer")];
  await settings("guest", VAULT, { level: "watch" });
  await settings("maintainer", VAULT, { level: "watch" });
  await app.call(`PUT /users/${maintainer}`, { as: "admin", json: { private_profile: true } });
  await post(`${VAULT}/issues`, "maintainer", { title: "One" });
  expect(await told(VAULT)).toEqual({ guest: "watching" });
  await app.call(`POST /users/${guest}/block`, { as: "admin" });
  await post(`${VAULT}/issues`, "owner", { title: "Two" });
  expect(await told(VAULT)).toEqual({ maintainer: "watching" });
  await app.call(`POST /users/${guest}/unblock`, { as: "admin" });
  await app.call(`DELETE /groups/secret/members/${guest}`, { as: "owner" });
  expect(await told(VAULT)).toEqual({ maintainer: "watching" });
});

it("needs few statements for a thousand watchers", async () => {
  const watchers = Array.from({ length: 1000 }, (_, n) => `watcher${n}`);
  const crowd = await testApp({
    seed: {
      users: [
        { username: "owner", name: "Owner", tokens: [{ token: "token-of-owner" }] },
        ...watchers.map((username) => ({
          username,
          name: username,
          notification_settings: { level: "watch" as const },
        })),
      ],
      groups: [
        {
          path: "crowd",
          members: {
            owner: "owner",
            ...Object.fromEntries(watchers.map((name) => [name, "guest" as const])),
          },
          projects: [{ path: "all" }],
        },
      ],
    },
  });
  const heard = async (what: string, json: object) => {
    const at = `/projects/crowd%2Fall/${what}`;
    expect((await crowd.call(`POST ${at}`, { as: "owner", json })).status).toBe(201);
    const { json: events } = await crowd.call("GET /projects/crowd%2Fall/events", { as: "owner" });
    crowd.statements.length = 0;
    const people = await crowd.admin.activity.recipients(events[0].id);
    expect(crowd.statements.length).toBeLessThan(12);
    return people.length;
  };
  expect(await heard("issues", { title: "Everybody" })).toBe(1000);
  expect(await heard("merge_requests", request)).toBe(0);
  await crowd.dispose();
});

it("notifies of pushes to merge requests, by the setting for these", async () => {
  const project = await newCodeProject(app);
  await project.commit("b", { "b.txt": "1\n" }, { from: "main" });
  await project.open("b", { title: "Change" }, "developer");
  // The push came before the merge request.
  expect(await toldOfPush(project.id)).toEqual({});
  await settings("owner", project.path, { level: "custom", push_to_merge_request: true });
  await project.commit("b", { "b.txt": "2\n" }, { as: "maintainer" });
  expect(await toldOfPush(project.id)).toEqual({
    developer: "participating",
    owner: "custom",
  });
  await settings("owner", project.path, { level: "custom", push_to_merge_request: false });
  await project.commit("b", { "b.txt": "3\n" }, { as: "maintainer" });
  expect(await toldOfPush(project.id)).toEqual({ developer: "participating" });
  await project.commit("main", { "a.txt": "2\n" }, { as: "maintainer" });
  expect(await toldOfPush(project.id)).toEqual({});
});

/** Recipients of the newest push to a project. */
async function toldOfPush(projectId: number) {
  const [newest] = await app.store.rows(
    "select max(id) from events where project_id = ? and action = 'pushed'",
    [projectId],
  );
  const people = await app.admin.activity.recipients(newest?.[0] as number);
  return Object.fromEntries(people.map(({ username, reason }) => [username, reason]));
}
