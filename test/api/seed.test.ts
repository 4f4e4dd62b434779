import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commitNumber, readCommit, timeOf } from "../../src/git/commits.ts";
import { findRef } from "../../src/git/refs.ts";
import { type Seed, SeedError } from "../../src/index.ts";
import { openRecord } from "../../src/resources/repositories/open.ts";
import { findWikiRecord } from "../../src/resources/wikis/record.ts";
import { type TestApp, testApp } from "../helpers.ts";

const FOLDER = "00112233445566778899aabbccddeeff";

const seed: Seed = {
  users: [
    {
      username: "admin",
      admin: true,
      created_at: "2024-01-02",
      notification_settings: { level: "watch" },
      tokens: [{ token: "token-of-admin", scopes: ["api", "sudo"] }],
    },
    { username: "developer", tokens: [{ token: "token-of-developer" }] },
  ],
  groups: [
    {
      path: "acme",
      created_at: "2024-02-01",
      members: { admin: { role: "owner", joined_at: "2024-02-03" } },
      notification_settings: { admin: { level: "custom", new_note: true, new_issue: false } },
      milestones: [{ title: "v1", created_at: "2024-03-01T12:00:00+02:00" }],
      projects: [
        {
          path: "site",
          name: "The site",
          creator: "admin",
          created_at: "2024-04-01T09:30:00Z",
          members: { developer: { role: "developer", joined_at: "2024-04-02T10:00:00Z" } },
          notification_settings: { developer: { level: "mention" } },
          wiki: [
            {
              title: "Guides/Start",
              content: "one",
              author: "admin",
              created_at: "2024-05-01",
              edits: [
                { content: "two", author: "developer", created_at: "2024-05-02" },
                { content: "three", created_at: "2024-05-03" },
              ],
            },
          ],
          wiki_attachments: [
            { folder: FOLDER, file_name: "a b.txt", content: "ünï", author: "admin" },
            { folder: FOLDER, file_name: "dot.bin", content: "AAEC", encoding: "base64" },
          ],
          issues: [
            {
              title: "Open",
              author: "admin",
              assignees: ["developer"],
              award_emoji: { thumbsup: ["admin", "developer"] },
              todos: ["developer", "admin"],
              notes: [{ author: "admin", body: "Well", award_emoji: { heart: ["developer"] } }],
              created_at: "2024-06-01",
            },
            {
              title: "Closed",
              author: "admin",
              state: "closed",
              todos: ["developer"],
              created_at: "2024-06-01",
              ended_at: "2024-06-05T11:00:00Z",
            },
          ],
        },
        { path: "quiet" },
      ],
    },
  ],
};

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ seed, now: () => Date.parse("2024-07-01T00:00:00Z") });
});
afterAll(() => app.dispose());

const get = async (path: string, as: "admin" | "developer" = "admin") => {
  const { status, json } = await app.call(`GET ${path}`, { as });
  expect(status, path).toBe(200);
  return json;
};

describe("a seed", () => {
  it("can set when records were created", async () => {
    expect((await get("/user")).created_at).toBe("2024-01-02T00:00:00.000Z");
    expect((await get("/groups/acme")).created_at).toBe("2024-02-01T00:00:00.000Z");
    expect((await get("/groups/acme/milestones"))[0].created_at).toBe("2024-03-01T10:00:00.000Z");
    expect(await get("/projects/acme%2Fsite")).toMatchObject({
      created_at: "2024-04-01T09:30:00.000Z",
      creator_id: 1,
      last_activity_at: "2024-06-05T11:00:00.000Z",
    });
    const { created_at, last_activity_at } = await get("/projects/acme%2Fquiet");
    expect([created_at, last_activity_at]).toEqual(Array(2).fill("2024-07-01T00:00:00.000Z"));
  });

  it("creates events for created projects and new members", async () => {
    const events = await get("/projects/acme%2Fsite/events?sort=asc");
    expect(events.slice(0, 2)).toMatchObject([
      {
        action_name: "created",
        target_title: "The site",
        author_username: "admin",
        created_at: "2024-04-01T09:30:00.000Z",
      },
      {
        action_name: "joined",
        author_username: "developer",
        created_at: "2024-04-02T10:00:00.000Z",
      },
    ]);
    expect(await get("/projects/acme%2Fquiet/events")).toEqual([]);
    expect(await get("/groups/acme/members")).toMatchObject([{ access_level: 50 }]);
    expect(await get("/projects/acme%2Fsite/members")).toMatchObject([{ access_level: 30 }]);
  });

  it("can have notification settings", async () => {
    expect((await get("/notification_settings")).level).toBe("watch");
    expect((await get("/notification_settings", "developer")).level).toBe("participating");
    expect(await get("/groups/acme/notification_settings")).toMatchObject({
      level: "custom",
      events: { new_note: true, new_issue: false, close_issue: false },
    });
    const path = "/projects/acme%2Fsite/notification_settings";
    expect(await get(path, "developer")).toEqual({ level: "mention" });
  });

  it("can have every version of wiki pages, and attachments", async () => {
    const page = await get("/projects/acme%2Fsite/wikis/Guides%2FStart");
    expect(page.content).toBe("three");
    const { json } = await app.call("GET /projects/acme%2Fsite", { as: "developer" });
    const { row, head } = await findWikiRecord(app.store, json.id);
    const repository = await openRecord(app.store, row);
    const tip = await findRef(app.store, row?.id as number, head);
    const versions: string[] = [];
    for (let oid = tip?.oid; oid !== undefined; ) {
      const commit = await readCommit(repository, commitNumber(repository, oid) as number);
      versions.unshift(`${timeOf(commit.author).slice(0, 10)} ${commit.message}`);
      oid = commit.parents[0];
    }
    expect(versions.slice(0, 3)).toEqual([
      "2024-05-01 admin created page: Guides/Start",
      "2024-05-02 developer updated page: Guides/Start",
      "2024-05-03 updated page: Guides/Start",
    ]);
    expect(versions.slice(3).map((version) => version.slice(11))).toEqual([
      "Upload attachment a_b.txt",
      "Upload attachment dot.bin",
    ]);
    const uploads = `/projects/acme%2Fsite/wikis/uploads/${FOLDER}`;
    const text = await app.call(`GET ${uploads}/a_b.txt`, { as: "developer" });
    expect(text.text).toBe("ünï");
    const bytes = await app.call(`GET ${uploads}/dot.bin`, { as: "developer" });
    expect(bytes.text).toBe("\u0000\u0001\u0002");
  });

  it("can have emoji and todos", async () => {
    const issue = "/projects/acme%2Fsite/issues/1";
    expect((await get(issue)).upvotes).toBe(2);
    const [note] = await get(`${issue}/notes`);
    expect(await get(`${issue}/notes/${note.id}/award_emoji`)).toMatchObject([
      { name: "heart", user: { username: "developer" } },
    ]);
    expect(await get("/todos", "developer")).toMatchObject([
      { action_name: "assigned", author: { username: "admin" }, target: { title: "Open" } },
    ]);
    expect(await get("/todos")).toMatchObject([
      { action_name: "marked", author: { username: "admin" }, target: { title: "Open" } },
    ]);
    expect(await get("/todos?state=done", "developer")).toMatchObject([
      { action_name: "marked", target: { title: "Closed" } },
    ]);
  });
});

describe("an invalid seed", () => {
  const users = [{ username: "ada" }];
  const project = (rest: object) => ({
    users,
    groups: [{ path: "acme", projects: [{ path: "site", ...rest }] }],
  });

  it.each([
    [
      "an unknown emoji",
      project({ issues: [{ title: "x", author: "ada", award_emoji: { nonsense: ["ada"] } }] }),
      "there is no emoji nonsense",
    ],
    [
      "a folder that is none",
      project({ wiki_attachments: [{ folder: "x", file_name: "a", content: "" }] }),
      "groups.0.projects.0.wiki_attachments.0.folder: Invalid folder: 32 hexadecimal digits",
    ],
    [
      "a path that a project can't have",
      project({ path: "x.wiki" }),
      "acme/x.wiki: the path cannot end in '.wiki'",
    ],
    ["a creator who isn't there", project({ creator: "bob" }), "the seed has no user bob"],
    [
      "settings of nobody",
      project({ notification_settings: { bob: { level: "watch" } } }),
      "the seed has no user bob",
    ],
    [
      "a flag that isn't one",
      { users: [{ username: "ada", notification_settings: { level: "custom", new_car: true } }] },
      /^users\.0\.notification_settings\.new_car: /,
    ],
    [
      "an integration that needs more",
      project({ integrations: [{ slug: "slack" }] }),
      'the integration slack of acme/site: {"error":"webhook is missing"}',
    ],
    [
      "a setting that an integration does not have",
      project({ integrations: [{ slug: "asana", properties: { api_key: "k", room: "r" } }] }),
      "the integration asana has no room",
    ],
    [
      "an integration that groups can't have",
      { users, groups: [{ path: "acme", integrations: [{ slug: "jenkins" }] }] },
      "acme can't have the integration jenkins",
    ],
    [
      "an author of a page who isn't there",
      project({ wiki: [{ title: "home", content: "x", author: "bob" }] }),
      "the seed has no user bob",
    ],
  ])("is refused for %s, and nothing is stored", async (_name, data, message) => {
    const empty = await testApp({ seed: {} });
    const seeded = empty.admin.seed(data as Seed);
    await expect(seeded).rejects.toThrow(SeedError);
    await expect(seeded).rejects.toThrow(message);
    expect(await empty.admin.users.list()).toEqual([]);
    await empty.dispose();
  });
});

describe("what a seed says of CI and webhooks", () => {
  it("is shown as if it had happened, and told to no hook", async () => {
    const sha = "11".repeat(20);
    const users = [{ username: "admin", admin: true, tokens: [{ token: "token-of-admin" }] }];
    const jobs = [
      { name: "compile", stage: "build", duration: 30 },
      { name: "check", coverage: 87.5, duration: 60 },
      { name: "style", status: "failed", allow_failure: true, duration: 10 },
    ];
    const project = {
      path: "ci",
      environments: [{ name: "live", deployments: [{ user: "admin", ref: "main", sha }] }],
      pipelines: [
        { user: "admin", ref: "main", sha, jobs, created_at: "2026-01-01T12:00:00Z" },
        { user: "admin", ref: "main", sha, jobs: [{ name: "compile", status: "running" }] },
      ],
      hooks: [
        { url: "https://example.com/in", events: ["pipeline", "deployment"], token: "s3cret" },
      ],
      schedules: [
        {
          owner: "admin",
          description: "Nightly",
          ref: "main",
          cron: "0 2 * * *",
          variables: [{ key: "THOROUGH", value: "yes" }],
          runs: [2],
          created_at: "2026-01-01",
        },
      ],
      triggers: [{ owner: "admin", description: "Website", token: "glptt-of-website" }],
    };
    const seeded = await testApp({
      seed: { users, groups: [{ path: "acme", projects: [project] }] },
    });
    const get = async (path: string) =>
      (await seeded.call(`GET /projects/acme%2Fci${path}`, { as: "admin" })).json;
    const [newest, oldest] = await get("/pipelines");
    expect(newest).toMatchObject({ iid: 2, status: "running", sha });
    expect(await get(`/pipelines/${oldest.id}`)).toMatchObject({
      status: "success",
      created_at: "2026-01-01T12:00:00.000Z",
      started_at: "2026-01-01T12:00:02.000Z",
      finished_at: "2026-01-01T12:01:34.000Z",
      detailed_status: { label: "passed with warnings" },
    });
    const shown: { name: string; status: string; duration: number; coverage: number }[] = await get(
      `/pipelines/${oldest.id}/jobs`,
    );
    expect(
      shown
        .map(({ name, status, duration, coverage }) => [name, status, duration, coverage])
        .sort(),
    ).toEqual([
      ["check", "success", 60, 87.5],
      ["compile", "success", 30, null],
      ["style", "failed", 10, null],
    ]);
    expect(await get("/hooks")).toMatchObject([
      { url: "https://example.com/in", pipeline_events: true, push_events: false },
    ]);
    const [listed] = await get("/pipeline_schedules");
    const schedule = await get(`/pipeline_schedules/${listed.id}`);
    expect(schedule).toMatchObject({
      description: "Nightly",
      ref: "refs/heads/main",
      active: true,
      created_at: "2026-01-01T00:00:00.000Z",
      owner: { username: "admin" },
      last_pipeline: { id: newest.id },
      variables: [{ key: "THOROUGH", value: "yes" }],
    });
    // It waits for its next time, and does not make up for those since it was added.
    expect(Date.parse(schedule.next_run_at)).toBeGreaterThan(Date.now());
    expect(await get("/triggers")).toMatchObject([
      { token: "glptt-of-website", description: "Website", owner: { username: "admin" } },
    ]);
    expect(await seeded.store.rows("select count(*) from hook_deliveries")).toEqual([[0]]);
    await seeded.dispose();
  });

  it("names what can't be", async () => {
    const hooks = [{ url: "https://example.com/in", events: ["member"] }];
    const seed = { groups: [{ path: "acme", projects: [{ path: "ci", hooks }] }] };
    await expect(testApp({ seed })).rejects.toThrow("hooks of a project can't listen for member");
    const users = [{ username: "ada" }];
    const late = { owner: "ada", description: "Nightly", ref: "main", cron: "0 2 * * *" };
    const seedOf = (schedule: object) => ({
      users,
      groups: [{ path: "acme", projects: [{ path: "ci", schedules: [{ ...late, ...schedule }] }] }],
    });
    for (const [schedule, problem] of [
      [{ runs: [1] }, "acme/ci has no pipeline 1"],
      [{ cron: "at night" }, "at night is no expression of cron"],
      [{ cron_timezone: "Nowhere" }, "Nowhere is no time zone"],
    ] as const) {
      await expect(testApp({ seed: seedOf(schedule) })).rejects.toThrow(problem);
    }
  });
});
