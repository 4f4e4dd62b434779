import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../graphql/ask.ts";
import { waitFor } from "../helpers.ts";
import { entry, Objects, push } from "../packs.ts";
import { type Hooked, startHooked } from "./_hooks.ts";
import { providerOf } from "./_scim.ts";

const PROJECT = "/projects/acme%2Fsite";

let hooked: Hooked;
let app: Hooked["app"];
let receiver: Hooked["receiver"];
let listen: Hooked["listen"];
let call: Hooked["call"];
let next: Hooked["next"];

beforeAll(async () => {
  hooked = await startHooked();
  ({ app, receiver, listen, call, next } = hooked);
});
afterAll(() => hooked.dispose());
afterEach(() => hooked.clear());

describe("issues", () => {
  it("are told with what changed", async () => {
    await listen(PROJECT, "issues");
    const issue = await call(`POST ${PROJECT}/issues`, { title: "Broken" });
    const path = `PUT ${PROJECT}/issues/${issue.iid}`;
    await call(path, { title: "Fixed", labels: "UX", assignee_ids: [3], due_date: "2027-01-01" });
    await call(path, { state_event: "close" });
    await call(path, { state_event: "reopen" });
    const [opened, updated, closed, reopened] = await next(4);
    expect(opened.object_attributes.action).toBe("open");
    expect(updated).toMatchObject({
      event: "Issue Hook",
      object_attributes: { action: "update", title: "Fixed", assignee_ids: [3] },
      labels: [{ title: "UX", color: "#ff0000", type: "GroupLabel", project_id: null }],
      assignees: [{ id: 3, username: "maintainer" }],
      changes: {
        title: { previous: "Broken", current: "Fixed" },
        due_date: { previous: null, current: "2027-01-01" },
        labels: { previous: [], current: [{ title: "UX" }] },
        assignees: { previous: [], current: [{ id: 3 }] },
      },
    });
    expect(Object.keys(updated.changes).sort()).toEqual([
      "assignees",
      "due_date",
      "labels",
      "title",
    ]);
    expect(closed.object_attributes).toMatchObject({ action: "close", state: "closed" });
    expect(closed.changes.state_id).toEqual({ previous: 1, current: 2 });
    expect(reopened.object_attributes).toMatchObject({ action: "reopen", state: "opened" });
  });

  it("are told with the time they take, and with the labels of the lists they are moved to", async () => {
    const issue = await call(`POST ${PROJECT}/issues`, { title: "Long", labels: "Development" });
    const [board] = await call("GET /groups/acme/boards");
    const lists = await call(`GET /groups/acme/boards/${board.id}/lists`);
    const [from, to] = ["Development", "Testing"].map(
      (name) => lists.find((one: { label: { name: string } }) => one.label.name === name).id,
    );
    await listen(PROJECT, "issues");
    const at = `${PROJECT}/issues/${issue.iid}`;
    await call(`POST ${at}/time_estimate`, { duration: "2h" });
    await call(`POST ${at}/add_spent_time`, { duration: "1h" });
    await call(`POST ${at}/reset_spent_time`);
    await ask(
      app,
      `mutation { issueMoveList(input: { boardId: "gid://gitlab/Board/${board.id}",
        projectPath: "acme/site", iid: "${issue.iid}", fromListId: "${from}", toListId: "${to}" }) {
        errors } }`,
    );
    const told = await next(4);
    expect(told.map(({ object_attributes }) => object_attributes.action)).toEqual(
      Array(4).fill("update"),
    );
    expect(told.map(({ changes }) => changes)).toMatchObject([
      { time_estimate: { previous: 0, current: 7200 } },
      { total_time_spent: { previous: 0, current: 3600 } },
      { total_time_spent: { previous: 3600, current: 0 } },
      { labels: { previous: [{ title: "Development" }], current: [{ title: "Testing" }] } },
    ]);
  });

  it("that are moved are told as opened in their new project", async () => {
    const issue = await call(`POST ${PROJECT}/issues`, { title: "Elsewhere" });
    const core = await call("GET /projects/acme%2Fteam%2Fcore");
    await listen("/projects/acme%2Fteam%2Fcore", "issues");
    const moved = await call(`POST ${PROJECT}/issues/${issue.iid}/move`, {
      to_project_id: core.id,
    });
    expect((await next())[0]).toMatchObject({
      object_attributes: { id: moved.id, action: "open", title: "Elsewhere", project_id: core.id },
    });
  });

  it("that are confidential are told to hooks for those only, with their notes", async () => {
    await listen(PROJECT, "issues", "note");
    const hook = await listen(PROJECT, "confidential_issues", "confidential_note");
    const issue = await call(`POST ${PROJECT}/issues`, { title: "Secret", confidential: true });
    await call(`POST ${PROJECT}/issues/${issue.iid}/notes`, { body: "Hush" });
    const open = await call(`POST ${PROJECT}/issues`, { title: "Open" });
    await call(`POST ${PROJECT}/issues/${open.iid}/notes`, { body: "Hush", internal: true });
    const events = (await next(4)).map(({ event, event_type }) => [event, event_type]);
    expect(events.sort()).toEqual([
      ["Confidential Issue Hook", "confidential_issue"],
      ["Confidential Note Hook", "confidential_note"],
      ["Confidential Note Hook", "confidential_note"],
      ["Issue Hook", "issue"],
    ]);
    // A delivery is noted after its answer.
    const log = () => app.call(`GET ${PROJECT}/hooks/${hook.id}/events`, { as: "maintainer" });
    await waitFor(async () => (await log()).json.length === 3);
  });
});

describe("notes", () => {
  it("are told with what they are on", async () => {
    await listen(PROJECT, "note");
    const issue = await call(`POST ${PROJECT}/issues`, { title: "Broken" });
    const note = await call(`POST ${PROJECT}/issues/${issue.iid}/notes`, { body: "Why?" });
    await call(`PUT ${PROJECT}/issues/${issue.iid}/notes/${note.id}`, { body: "How?" });
    const [created, updated] = await next(2);
    expect(created).toMatchObject({
      event: "Note Hook",
      object_kind: "note",
      project_id: issue.project_id,
      object_attributes: {
        id: note.id,
        noteable_type: "Issue",
        noteable_id: issue.id,
        action: "create",
        system: false,
        url: `https://pm.example.com/acme/site/-/issues/${issue.iid}#note_${note.id}`,
      },
      issue: { id: issue.id, title: "Broken" },
    });
    expect(updated.object_attributes).toMatchObject({ action: "update", note: "How?" });
  });
});

describe("code", () => {
  const objects = new Objects();
  const blob = objects.add("blob", "One\n");
  const first = objects.commit(objects.add("tree", entry("100644", "a.txt", blob)), []);
  const other = objects.add("blob", "Two\n");
  const tree = objects.add(
    "tree",
    Buffer.concat([entry("100644", "a.txt", other), entry("100644", "b.txt", blob)]),
  );
  const second = objects.commit(tree, [first]);

  it("is told with the commits and the files that they change", async () => {
    await listen(PROJECT, "push", "tag_push", "merge_requests");
    await listen("", "repository_update");
    const [one, two] = [first, second].map((name) => name.toString("hex")) as [string, string];
    await push(app, "acme/site", objects.pack, { "refs/heads/main": first });
    await push(app, "acme/site", objects.pack, { "refs/heads/work": second });
    await push(app, "acme/site", objects.pack, { "refs/tags/v1": first });
    const json = { source_branch: "work", target_branch: "main", title: "Work" };
    const request = await call(`POST ${PROJECT}/merge_requests`, json);
    await call(`PUT ${PROJECT}/merge_requests/${request.iid}/merge`, {});
    await waitFor(async () => receiver.received.length >= 10);
    const told = receiver.received.map(({ headers, json: body }) => ({
      event: headers["x-gitlab-event"],
      ...body,
    }));
    const of = (event: string) => told.filter((body) => body.event === event);
    expect(of("Push Hook")[0]).toMatchObject({
      object_kind: "push",
      before: "0".repeat(40),
      after: one,
      checkout_sha: one,
      ref: "refs/heads/main",
      user_username: "owner",
      total_commits_count: 1,
      commits: [{ id: one, added: ["a.txt"], modified: [], removed: [] }],
      project: { default_branch: "main" },
    });
    expect(of("Push Hook")[1]).toMatchObject({
      ref: "refs/heads/work",
      commits: [{ id: two, added: ["b.txt"], modified: ["a.txt"] }],
    });
    expect(of("Tag Push Hook")[0]).toMatchObject({
      object_kind: "tag_push",
      ref: "refs/tags/v1",
      commits: [{ id: one }],
    });
    expect(of("Merge Request Hook").map((body) => body.object_attributes.action)).toEqual([
      "open",
      "merge",
    ]);
    expect(of("Merge Request Hook")[0].object_attributes).toMatchObject({
      id: request.id,
      source_branch: "work",
      target_branch: "main",
      last_commit: { id: two },
      state: "opened",
      source: { path_with_namespace: "acme/site" },
    });
    expect(of("System Hook")[0]).toMatchObject({
      event_name: "repository_update",
      refs: ["refs/heads/main"],
    });
  });

  it("is told with the commit and the message of annotated tags", async () => {
    const head = "object %\ntype commit\ntag t\ntagger A <a@b> 1700000000 +0000\n\n";
    const commit = first.toString("hex");
    const tag = objects.add("tag", `${head.replace("%", commit)}First release\n`);
    await push(app, "acme/site", objects.pack, { "refs/heads/main": first });
    await listen(PROJECT, "tag_push");
    await push(app, "acme/site", objects.pack, { "refs/tags/v1.0": tag });
    const json = { tag_name: "v2.0", ref: commit, message: "Second" };
    const made = await call(`POST ${PROJECT}/repository/tags`, json);
    const commits = [{ id: commit, added: ["a.txt"] }];
    const common = { checkout_sha: commit, total_commits_count: 1, commits };
    expect(await next(2)).toMatchObject([
      { ...common, after: tag.toString("hex"), message: "First release" },
      { ...common, after: made.target, message: "Second" },
    ]);
  });

  it("is told for the branches that a hook asks for", async () => {
    const hook = await listen(PROJECT, "push");
    await call(`PUT ${PROJECT}/hooks/${hook.id}`, { push_events_branch_filter: "feature/*" });
    const create = (branch: string) =>
      call(`POST ${PROJECT}/repository/branches`, { branch, ref: "main" });
    await create("other");
    await create("feature/one");
    expect((await next())[0].ref).toBe("refs/heads/feature/one");
    const regex = {
      push_events_branch_filter: "^(hot)?fix-\\d+$",
      branch_filter_strategy: "regex",
    };
    await call(`PUT ${PROJECT}/hooks/${hook.id}`, regex);
    await create("feature/two");
    await create("hotfix-7");
    expect((await next())[0].ref).toBe("refs/heads/hotfix-7");
  });
});

describe("wikis", () => {
  it("are told page by page", async () => {
    await listen(PROJECT, "wiki_page");
    await call(`POST ${PROJECT}/wikis`, { title: "Home", content: "Welcome" });
    await call(`PUT ${PROJECT}/wikis/Home`, { content: "Hello" });
    const { status } = await app.call(`DELETE ${PROJECT}/wikis/Home`, { as: "maintainer" });
    expect(status).toBe(204);
    const pages = await next(3);
    expect(pages.map(({ object_attributes }) => object_attributes.action)).toEqual([
      "create",
      "update",
      "delete",
    ]);
    expect(pages[0]).toMatchObject({
      event: "Wiki Page Hook",
      object_kind: "wiki_page",
      object_attributes: { slug: "Home", title: "Home", format: "markdown" },
    });
  });
});

describe("members, groups, projects and users", () => {
  it("are told to the hooks of groups", async () => {
    await listen("/groups/acme", "member", "subgroup", "project");
    const { json: acme } = await app.call("GET /groups/acme", { as: "owner" });
    const group = await call(
      "POST /groups",
      { name: "Sub", path: "sub", parent_id: acme.id },
      "owner",
    );
    const [stranger] = (await app.call("GET /users?username=stranger", { as: "owner" })).json;
    const inside = { name: "New", path: "newer", namespace_id: group.id };
    const project = await call("POST /projects", inside, "owner");
    await call("POST /groups/acme/members", { user_id: stranger.id, access_level: 30 }, "owner");
    await app.call(`DELETE /projects/${project.id}`, { as: "owner" });
    await app.call(`DELETE /groups/${group.id}`, { as: "owner" });
    const told = (await next(6)).map(({ event, event_name }) => [event, event_name]);
    expect(told).toEqual([
      ["Subgroup Hook", "subgroup_create"],
      // Its owner.
      ["Member Hook", "user_add_to_group"],
      ["Project Hook", "project_create"],
      ["Member Hook", "user_add_to_group"],
      ["Project Hook", "project_destroy"],
      ["Subgroup Hook", "subgroup_destroy"],
    ]);
  });

  it("are told to the hooks of groups when memberships end by themselves, or with others", async () => {
    await listen("/groups/acme", "member");
    const user = {
      email: "leaver@example.com",
      name: "L",
      username: "leaver",
      password: "12345678x",
    };
    const { id: user_id } = await call("POST /users", user, "admin");
    await call("POST /groups/acme/members", { user_id, access_level: 30 }, "owner");
    await app.store.transaction((db) =>
      db.run("update members set expires_at = '2020-01-01' where user_id = ?", [user_id]),
    );
    await app.admin.removeExpiredMembers();
    const { add, ask: provider } = await providerOf(app);
    const { id } = await add({ userName: "new-one@example.com" });
    await provider(`DELETE /Users/${id}`);
    const told = (await next(4)).map((payload) => [payload.event_name, payload.user_username]);
    expect(told).toEqual([
      ["user_add_to_group", "leaver"],
      ["user_remove_from_group", "leaver"],
      ["user_add_to_group", expect.any(String)],
      ["user_remove_from_group", told[2]?.[1]],
    ]);
  });

  it("are told to the hooks of the instance", async () => {
    await listen("");
    const user = { email: "new@example.com", name: "New", username: "new", password: "12345678x" };
    const created = await call("POST /users", user, "admin");
    await call(`POST ${PROJECT}/members`, { user_id: created.id, access_level: 30 });
    await call(`PUT ${PROJECT}`, { description: "Ours" }, "owner");
    await app.call(`DELETE /users/${created.id}`, { as: "admin" });
    const told = await next(4);
    expect(told.map(({ event_name }) => event_name)).toEqual([
      "user_create",
      "user_add_to_team",
      "project_update",
      "user_destroy",
    ]);
    expect(told[1]).toMatchObject({
      event: "System Hook",
      project_path_with_namespace: "acme/site",
      access_level: "Developer",
      user_username: "new",
      project_visibility: "public",
    });
  });
});
