import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { loadNewest, migrations } from "../../src/database/schema.ts";
import { migrate } from "../../src/store/migrate.ts";
import { openMemory } from "../../src/store/open.ts";
import { INTERNAL, kinds } from "../../src/testing/changes/kinds.ts";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { ask as askServer, tell as tellServer } from "./telling.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    now: "2026-01-01T00:00:00Z",
    seed: {
      users: [
        { username: "root", admin: true, tokens: [{ scopes: ["api", "sudo"] }] },
        { username: "ada", tokens: [{ token: "ada-token" }] },
        { username: "bob", tokens: [{ token: "bob-token" }] },
      ],
      groups: [
        {
          path: "acme",
          members: { ada: "maintainer", bob: "developer" },
          labels: [{ name: "bug" }, { name: "urgent" }],
          milestones: [{ title: "v1" }],
          projects: [
            {
              path: "site",
              issues: [
                {
                  title: "First",
                  author: "ada",
                  labels: ["bug"],
                  assignees: ["bob"],
                  milestone: "v1",
                },
                { title: "Second", author: "ada", notes: [{ author: "bob", body: "Seen" }] },
              ],
            },
          ],
        },
      ],
    },
  });
  await ask("POST /projects/acme%2Fsite/repository/commits", commit("main", "create"));
  await server.snapshots.save("start");
});
afterEach(() => server.snapshots.restore("start"));
afterAll(() => server.close());

const ask = async (request: string, body?: unknown, as?: string) => {
  const [method = "", path = ""] = request.replace("SITE", "/projects/acme%2Fsite").split(" ");
  const answer = await askServer({ ...server, token: as ?? server.token }, method, path, body);
  expect(answer.status, `${request}: ${JSON.stringify(answer.json)}`).toBeLessThan(300);
  return answer.json;
};
const commit = (branch: string, action: string, content = "one") => ({
  ...{ branch, commit_message: "Write", actions: [{ action, file_path: "a.txt", content }] },
});
const changes = () => server.changes({ since: "start" });
const nothing = { created: [], updated: [], deleted: [] };

it("Each table is told as a kind of record, or is named as internal", async () => {
  const store = await openMemory();
  await migrate(store, migrations, 0, loadNewest);
  const rows = await store.rows(
    `select name from pragma_table_list where schema = 'main' and type in ('table', 'virtual')
       and name not like 'sqlite_%' and name not like '%\\_search' escape '\\' and name not like '%\\_search\\_%' escape '\\'`,
  );
  const tables = rows.map(([name]) => String(name)).sort();
  const told = new Set(kinds.flatMap((kind) => Object.keys(kind.rows)));
  expect(tables.filter((name) => !told.has(name) && !(name in INTERNAL))).toEqual([]);
  expect([...told, ...Object.keys(INTERNAL)].filter((name) => !tables.includes(name))).toEqual([]);
  expect(Object.keys(INTERNAL).filter((name) => told.has(name))).toEqual([]);
  // What finds and compares them is SQL that the schema takes.
  for (const kind of kinds) {
    await store.rows(`${kind.find} where ${kind.key} in (select value from json_each('[1]'))`);
  }
  await store.close();
});

describe("GET changes", () => {
  it("is empty if nothing has changed, however much was read", async () => {
    await ask("GET SITE/issues/1");
    await ask("GET /todos", undefined, "ada-token");
    expect(await changes()).toEqual(nothing);
    await server.reset();
    expect(await server.changes()).toEqual(nothing);
  });

  it("tells what was created, updated and deleted as the API shows it", async () => {
    await ask("POST SITE/issues", { title: "New", labels: "bug", assignee_ids: [2] });
    await ask("PUT SITE/issues/1", {
      title: "Renamed",
      labels: "bug,urgent",
      state_event: "close",
    });
    await ask("DELETE SITE/issues/2");
    const answer = await tellServer(server, "GET", "changes?since=start");
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      created: [
        {
          type: "issue",
          path: "acme/site#3",
          record: expect.objectContaining({
            ...{ iid: 3, title: "New", state: "opened", labels: ["bug"] },
            assignees: [expect.objectContaining({ username: "ada" })],
          }),
        },
      ],
      updated: [
        {
          type: "issue",
          path: "acme/site#1",
          changes: {
            title: ["First", "Renamed"],
            state: ["opened", "closed"],
            labels: [["bug"], ["bug", "urgent"]],
          },
        },
      ],
      // Its note is gone with it.
      deleted: [
        {
          type: "issue",
          path: "acme/site#2",
          record: expect.objectContaining({ title: "Second" }),
        },
      ],
    });
    const names = Object.keys(answer.json.created[0].record);
    expect(names.filter((name) => /_at$|_count$|_links|web_url/.test(name))).toEqual([]);
    expect(JSON.stringify(answer.json)).not.toContain("changes-");
  });

  it("tells with all=1 of times, counts, and what follows", async () => {
    await ask("POST SITE/issues/1/notes", { body: "Hello" });
    await ask("PUT SITE/issues/1", { title: "Other" });
    const { created, updated } = await changes();
    expect(created.map(({ path }) => path)).toEqual(["acme/site#1 (note 2)"]);
    expect(updated).toEqual([
      { type: "issue", path: "acme/site#1", changes: { title: ["First", "Other"] } },
    ]);
    const { json } = await tellServer(server, "GET", "changes?since=start&all=1");
    const issue = json.updated.find(({ type }: { type: string }) => type === "issue");
    expect(issue.changes.user_notes_count).toEqual([0, 1]);
  });

  it("tells where branches have moved, and with which commits", async () => {
    const before = (await ask("GET SITE/repository/branches/main")).commit.id;
    await ask("POST SITE/repository/commits", commit("main", "update", "two"));
    const after = (await ask("GET SITE/repository/branches/main")).commit.id;
    expect(await changes()).toEqual({
      ...nothing,
      updated: [
        {
          ...{ type: "branch", path: "acme/site (branch main)", from: before, to: after },
          changes: { commit: [before, after] },
          commits: [expect.objectContaining({ id: after, title: "Write" })],
        },
      ],
    });
  });

  it("does not tell of what follows from a merge", async () => {
    await ask("POST SITE/repository/branches?branch=fix&ref=main");
    await ask("POST SITE/repository/commits", commit("fix", "update", "three"));
    await ask("POST SITE/merge_requests", {
      source_branch: "fix",
      target_branch: "main",
      title: "Fix",
    });
    await server.snapshots.save("open");
    await ask("PUT SITE/merge_requests/1/merge");
    expect(await server.changes({ since: "open" })).toEqual({
      ...nothing,
      updated: [
        { type: "merge request", path: "acme/site!1", changes: { state: ["opened", "merged"] } },
      ],
    });
  });

  it("does not tell of records whose labels, milestones or people are gone or renamed", async () => {
    await ask("DELETE /groups/acme/labels/bug");
    await ask("DELETE /groups/acme/milestones/1");
    await ask("PUT /groups/acme/labels/urgent", { new_name: "hot" });
    const { updated, deleted } = await changes();
    expect(updated).toEqual([
      { type: "label", path: "acme (label hot)", changes: { name: ["urgent", "hot"] } },
    ]);
    expect(deleted.map(({ path }) => path)).toEqual(["acme (label bug)", "acme (milestone v1)"]);
  });

  it("masks what logs mask, and has no secrets", async () => {
    await ask("POST SITE/variables", { key: "KEY", value: "first-value", masked: true });
    await ask("POST SITE/hooks", { url: "https://example.com", token: "hook-secret" });
    const { token } = await ask("POST SITE/triggers", { description: "t" });
    await ask("POST SITE/access_tokens", {
      name: "bot",
      scopes: ["api"],
      expires_at: "2026-02-01",
    });
    const text = JSON.stringify(await changes());
    expect(text).toContain('"value":"[MASKED]"');
    for (const secret of ["first-value", "hook-secret", token]) expect(text).not.toContain(secret);
    await server.snapshots.save("made");
    await ask("PUT SITE/variables/KEY", { value: "other-value" });
    expect((await server.changes({ since: "made" })).updated).toEqual([
      {
        ...{ type: "variable", path: "acme/site (variable KEY)" },
        changes: { value: ["[MASKED]", "[MASKED]"] },
      },
    ]);
  });

  it("tells of what files of a snippet hold, of settings, and of a release whose commit nobody has read yet", async () => {
    const files = [{ file_path: "a", content: "one" }];
    await ask("POST SITE/snippets", { title: "s", visibility: "private", files });
    await ask("POST SITE/releases", { tag_name: "v1", ref: "main", description: "d" });
    await server.snapshots.save("made");
    await server.snapshots.restore("made");
    await ask("DELETE SITE/releases/v1");
    const update = { action: "update", file_path: "a", content: "two" };
    await ask("PUT SITE/snippets/1", { files: [update] });
    await ask("PUT /application/settings?default_branch_name=trunk");
    expect(await server.changes({ since: "made" })).toEqual({
      created: [],
      updated: [
        {
          ...{ type: "snippet", path: "acme/site$1" },
          changes: { files: [[{ path: "a", content: "one" }], [{ path: "a", content: "two" }]] },
        },
        {
          ...{ type: "application settings", path: "instance (application settings)" },
          changes: { default_branch_name: [null, "trunk"] },
        },
      ],
      deleted: [expect.objectContaining({ type: "release", path: "acme/site (release v1)" })],
    });
  });

  it("leaves no trace, and goes on after restores in any order", async () => {
    await ask("POST SITE/issues", { title: "New" });
    const all = () => server.changes({ since: "start", all: true });
    // When a token was used last is written after the answer.
    const before = await vi.waitFor(async () => {
      const found = await all();
      expect(JSON.stringify(found)).toContain("last_used_at");
      return found;
    });
    await changes();
    expect(await all()).toEqual(before);
    await server.snapshots.save("later");
    await ask("DELETE SITE/issues/3");
    expect((await server.changes({ since: "later" })).deleted.map(({ path }) => path)).toEqual([
      "acme/site#3",
    ]);
    expect(await changes()).toEqual(nothing);
    await server.snapshots.restore("start");
    expect((await server.changes({ since: "later" })).deleted).toHaveLength(1);
    await server.snapshots.remove("later");
    const gone = await tellServer(server, "GET", "changes?since=later");
    expect(gone.status).toBe(404);
    expect(gone.json.message).toMatch(/^There is no snapshot later\. There are start/);
  });

  it("refuses what it does not know", async () => {
    expect((await tellServer(server, "GET", "changes?sinse=start")).json.message).toMatch(
      /Did you mean since\?/,
    );
    const wrong = await tellServer(server, "POST", "changes/expect", {
      created: [{ type: "isue" }],
    });
    expect(wrong.status).toBe(400);
    expect(wrong.json.message).toMatch(/isue\. Did you mean issue\?/);
  });
});

/** A change of each kind, and the type and path under which it is told. */
const EXAMPLES: [request: string, body: unknown, told: string][] = [
  [
    "POST /users",
    { username: "eve", name: "Eve", email: "eve@example.com", force_random_password: true },
    "user eve",
  ],
  ["PUT /user/status", { message: "Away" }, "user status root (status)"],
  ["POST /user/emails", { email: "r@example.com" }, "email root (email r@example.com)"],
  ["POST /users/2/follow", undefined, "follower ada (follower root)"],
  [
    "POST /users/2/personal_access_tokens",
    { name: "t", scopes: ["api"], expires_at: "2026-02-01" },
    "access token ada (access token t)",
  ],
  [
    "PUT SITE/notification_settings",
    { level: "watch" },
    "notification setting acme/site (notification setting of root)",
  ],
  ["POST /groups", { name: "Sub", path: "sub", parent_id: 4 }, "group acme/sub"],
  ["POST /projects", { name: "app", namespace_id: 4 }, "project acme/app"],
  ["POST SITE/members", { user_id: 1, access_level: 30 }, "member acme/site (member root)"],
  [
    "POST SITE/invitations",
    { email: "z@example.com", access_level: 30 },
    "invitation acme/site (invitation z@example.com)",
  ],
  ["POST SITE/star", undefined, "star acme/site (star root)"],
  ["POST SITE/labels", { name: "l", color: "#ff0000" }, "label acme/site (label l)"],
  ["POST SITE/milestones", { title: "m" }, "milestone acme/site (milestone m)"],
  [
    "POST SITE/badges",
    { name: "b", link_url: "https://a.example", image_url: "https://a.example" },
    "badge acme/site (badge b)",
  ],
  ["POST /groups/acme/variables", { key: "K", value: "v" }, "variable acme (variable K)"],
  ["POST /admin/ci/variables", { key: "K", value: "v" }, "variable instance (variable K)"],
  [
    "POST SITE/hooks",
    { url: "https://a.example" },
    "webhook acme/site (webhook https://a.example)",
  ],
  [
    "POST SITE/deploy_tokens",
    { name: "d", scopes: ["read_repository"] },
    "deploy token acme/site (deploy token d)",
  ],
  ["POST SITE/boards", { name: "b" }, "board acme/site (board b)"],
  [
    "POST /../graphql",
    { query: 'mutation { epicBoardCreate(input: { groupPath: "acme", name: "b" }) { errors } }' },
    "epic board acme (epic board b)",
  ],
  [
    "POST SITE/issues/1/links",
    { target_project_id: 1, target_issue_iid: 2 },
    "issue link acme/site#1 (link to acme/site#2)",
  ],
  [
    "POST SITE/approval_rules",
    { name: "r", approvals_required: 1, rule_type: "regular" },
    "approval rule acme/site (approval rule r)",
  ],
  [
    "POST /groups/acme/approval_rules",
    { name: "r", approvals_required: 1 },
    "approval rule acme (approval rule r)",
  ],
  [
    "POST /groups/acme/protected_branches",
    { name: "b" },
    "protected branch acme (protected branch b)",
  ],
  ["POST SITE/issues/1/notes", { body: "n" }, "note acme/site#1 (note 2)"],
  ["POST SITE/repository/commits/main/comments", { note: "n" }, "note acme/site (commit "],
  [
    "POST SITE/issues/2/notes/1/award_emoji",
    { name: "heart" },
    "award emoji acme/site#2 (note 1) (award emoji heart of root)",
  ],
  [
    "POST SITE/issues/1/add_spent_time",
    { duration: "1h" },
    "time spent acme/site#1 (time spent 1)",
  ],
  ["POST SITE/issues/1/subscribe", undefined, "subscription acme/site#1 (subscription root)"],
  [
    "POST /groups/acme/labels/bug/subscribe",
    undefined,
    "subscription acme (label bug, subscription root)",
  ],
  ["POST SITE/issues/1/todo", undefined, "todo acme/site#1 (todo of root)"],
  ["POST SITE/repository/branches?branch=a/b&ref=main", undefined, "branch acme/site (branch a/b)"],
  ["POST SITE/repository/tags?tag_name=v1&ref=main", undefined, "tag acme/site (tag v1)"],
  [
    "POST SITE/protected_branches?name=a/*",
    undefined,
    "protected branch acme/site (protected branch a/*)",
  ],
  ["POST SITE/protected_tags?name=v*", undefined, "protected tag acme/site (protected tag v*)"],
  [
    "POST SITE/releases",
    { tag_name: "v2", ref: "main", description: "d" },
    "release acme/site (release v2)",
  ],
  ["POST SITE/wikis", { title: "Home", content: "c" }, "wiki page acme/site (wiki page Home)"],
  [
    "POST SITE/snippets",
    { title: "s", visibility: "private", files: [{ file_path: "a", content: "b" }] },
    "snippet acme/site$1",
  ],
  [
    "POST SITE/pipeline_schedules",
    { description: "s", ref: "main", cron: "0 1 * * *" },
    "schedule acme/site (schedule s)",
  ],
  ["POST SITE/triggers", { description: "t" }, "trigger acme/site (trigger t)"],
  ["POST SITE/environments", { name: "e" }, "environment acme/site (environment e)"],
  ["POST SITE/statuses/main", { state: "success", name: "ci" }, "commit status acme/site (commit "],
  [
    "POST SITE/job_token_scope/groups_allowlist",
    { target_group_id: 4 },
    "job token scope acme/site (job token scope acme)",
  ],
  ["POST /user/runners", { runner_type: "instance_type" }, "runner instance (runner 1)"],
  ["POST /topics", { name: "t", title: "T" }, "topic instance (topic t)"],
  [
    "POST /broadcast_messages",
    { message: "b" },
    "broadcast message instance (broadcast message 1)",
  ],
  [
    "POST /applications",
    { name: "a", redirect_uri: "https://a.example", scopes: "api" },
    "application instance (application a)",
  ],
  [
    "PUT /application/settings?default_branch_name=trunk",
    undefined,
    "application settings instance (application settings)",
  ],
  ["POST /features/f?value=true", undefined, "feature instance (feature f)"],
];

it.each(EXAMPLES)("%s is told, and nothing else", async (request, body, told) => {
  if (request.includes("statuses/main")) {
    const { commit: head } = await ask("GET SITE/repository/branches/main");
    await ask(`POST SITE/statuses/${head.id}`, body);
  } else await ask(request, body);
  const { created, updated, deleted } = await changes();
  const all = [...created, ...updated, ...deleted].map(({ type, path }) => `${type} ${path}`);
  expect(all.join("\n")).toContain(told);
  const others = all.filter((one) => !one.startsWith("release") && !one.startsWith("tag"));
  expect(others.length).toBeLessThanOrEqual(1);
  await server.snapshots.restore("start");
  expect(await changes()).toEqual(nothing);
});
