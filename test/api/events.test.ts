import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApp } from "../../src/index.ts";
import { recordPush } from "../../src/resources/events/record.ts";
import { openStore } from "../../src/store/open.ts";
import { baseSeed, call, newDatabase, type Person, type TestApp, testApp } from "../helpers.ts";

type Group = NonNullable<typeof baseSeed.groups>[number];

const [acme, secret] = baseSeed.groups as [Group, Group];

let app: TestApp;
beforeAll(async () => {
  app = await testApp({
    seed: {
      ...baseSeed,
      users: (baseSeed.users ?? []).map((user) =>
        user.username === "developer"
          ? {
              ...user,
              tokens: [
                ...(user.tokens ?? []),
                { token: "reads-user", scopes: ["read_user"] },
                { token: "reads-api", scopes: ["read_api"] },
                { token: "sudo-only", scopes: ["sudo"] },
              ],
            }
          : user,
      ),
      groups: [
        {
          ...acme,
          projects: [
            {
              path: "site",
              name: "Site",
              visibility: "public",
              issues: [
                {
                  title: "Open issue",
                  author: "developer",
                  state: "closed",
                  created_at: "2026-03-01T10:00:00Z",
                  ended_by: "maintainer",
                  ended_at: "2026-03-02T23:59:59.999Z",
                  notes: [
                    { author: "guest", body: "Seen", created_at: "2026-03-02T00:00:00.000Z" },
                  ],
                },
                {
                  title: "Secret issue",
                  author: "reporter",
                  confidential: true,
                  created_at: "2026-03-03",
                  notes: [{ author: "reporter", body: "Psst", created_at: "2026-03-04" }],
                },
              ],
              merge_requests: [
                {
                  title: "A change",
                  author: "developer",
                  source_branch: "change",
                  state: "merged",
                  created_at: "2026-03-05",
                  ended_at: "2026-03-06",
                },
              ],
              pushes: [
                {
                  author: "developer",
                  ref: "change",
                  action: "created",
                  commit_count: 2,
                  commit_to: "c".repeat(40),
                  commit_title: "é".repeat(80),
                  created_at: "2026-03-07",
                },
                {
                  author: "developer",
                  ref: "change",
                  commit_from: "c".repeat(40),
                  commit_to: "d".repeat(40),
                  commit_title: "Fix",
                  created_at: "2026-03-08",
                },
                {
                  author: "developer",
                  ref: "v1",
                  ref_type: "tag",
                  action: "removed",
                  commit_count: 0,
                  commit_from: "d".repeat(40),
                  created_at: "2026-03-09",
                },
              ],
            },
            { path: "live", name: "Live", visibility: "public" },
          ],
        },
        {
          ...secret,
          projects: [
            {
              path: "vault",
              pushes: [{ author: "owner", ref: "main", created_at: "2026-02-01" }],
              merge_requests: [
                {
                  title: "Quiet",
                  author: "owner",
                  source_branch: "q",
                  created_at: "2026-02-02",
                  notes: [{ author: "owner", body: "hm", created_at: "2026-02-03" }],
                },
              ],
              issues: [{ title: "Plan", author: "owner", created_at: "2026-02-04" }],
            },
          ],
        },
      ],
    },
  });
});
afterAll(() => app.dispose());

interface Event {
  action_name: string;
  target_type: string | null;
  target_title: string | null;
  created_at: string;
}

const said = (answer: { json: Event[] }) =>
  answer.json.map(({ action_name, target_type }) =>
    target_type === null ? action_name : `${action_name} ${target_type}`,
  );

const list = (query: string, as: Person = "developer", path = "/projects/acme%2Fsite/events") =>
  app.call(`GET ${path}?${query}`, { as });

describe("events of a project", () => {
  it("have the right action names, newest first", async () => {
    expect(said(await list("", "reporter"))).toEqual([
      "deleted",
      "pushed",
      "pushed new",
      "accepted MergeRequest",
      "opened MergeRequest",
      "commented on Note",
      "opened Issue",
      "closed Issue",
      "commented on Note",
      "opened Issue",
    ]);
  });

  it("have GitLab's fields", async () => {
    const { json } = await list("action=closed");
    const { json: project } = await app.call("GET /projects/acme%2Fsite");
    const { json: issue } = await app.call("GET /projects/acme%2Fsite/issues/1");
    const author = {
      id: expect.any(Number),
      name: "The maintainer",
      username: "maintainer",
      state: "active",
      avatar_url: expect.any(String),
      web_url: "http://pm.test/maintainer",
    };
    expect(json).toEqual([
      {
        id: expect.any(Number),
        title: null,
        project_id: project.id,
        action_name: "closed",
        target_id: issue.id,
        target_iid: 1,
        target_type: "Issue",
        target_title: "Open issue",
        author_id: json[0].author.id,
        created_at: "2026-03-02T23:59:59.999Z",
        author,
        author_username: "maintainer",
        data: null,
      },
    ]);
  });

  it("include pushes", async () => {
    const { json } = await list("action=pushed");
    expect(json.map((event: { push_data: object }) => event.push_data)).toEqual([
      {
        commit_count: 0,
        action: "removed",
        ref_type: "tag",
        commit_from: "d".repeat(40),
        commit_to: null,
        ref: "v1",
        commit_title: null,
      },
      {
        commit_count: 1,
        action: "pushed",
        ref_type: "branch",
        commit_from: "c".repeat(40),
        commit_to: "d".repeat(40),
        ref: "change",
        commit_title: "Fix",
      },
      {
        commit_count: 2,
        action: "created",
        ref_type: "branch",
        commit_from: null,
        commit_to: "c".repeat(40),
        ref: "change",
        commit_title: "é".repeat(70),
      },
    ]);
    expect(json[0]).toMatchObject({ target_id: null, target_type: null, target_title: null });
    expect(json[0]).not.toHaveProperty("note");
  });

  it("include notes", async () => {
    const { json } = await list("action=commented", "stranger");
    expect(json).toHaveLength(1);
    expect(json[0]).toMatchObject({ target_type: "Note", target_title: null });
    expect(json[0].target_iid).toBe(json[0].target_id);
    expect(json[0]).not.toHaveProperty("push_data");
    const { json: issue } = await app.call("GET /projects/acme%2Fsite/issues/1");
    expect(json[0].note).toEqual({
      id: json[0].target_id,
      body: "Seen",
      attachment: null,
      author: expect.objectContaining({ username: "guest" }),
      created_at: "2026-03-02T00:00:00.000Z",
      system: false,
      noteable_id: issue.id,
      noteable_type: "Issue",
      noteable_iid: 1,
    });
  });

  it.each<[Person, number]>([
    ["anonymous", 8],
    ["stranger", 8],
    ["guest", 8],
    ["reporter", 10],
    ["developer", 10],
    ["admin", 10],
  ])(
    "of a public one show %s %i of 10: confidential issues and their notes are hidden",
    async (as, count) => {
      const answer = await list("", as);
      expect(answer.json).toHaveLength(count);
      // Hidden events are counted, as in GitLab.
      expect(answer.headers.get("x-total")).toBe("10");
      expect(answer.text.includes("Secret issue")).toBe(count === 10);
      expect(answer.text.includes("Psst")).toBe(count === 10);
    },
  );

  it.each<[Person, number, number]>([
    ["anonymous", 404, 0],
    ["stranger", 404, 0],
    ["guest", 200, 1],
    ["reporter", 200, 4],
    ["admin", 200, 4],
  ])(
    "of a private one answer %s %i and show %i: guests may not read code",
    async (as, status, count) => {
      const answer = await list("", as, "/projects/secret%2Fvault/events");
      expect(answer.status).toBe(status);
      if (status === 404) expect(answer.json).toEqual({ message: "404 Project Not Found" });
      else expect(answer.json).toHaveLength(count);
    },
  );

  it("of an unknown one answer 404", async () => {
    const answer = await list("", "developer", "/projects/1234567/events");
    expect([answer.status, answer.json]).toEqual([404, { message: "404 Project Not Found" }]);
  });

  it.each([
    ["action=created", 3],
    ["action=closed", 1],
    ["action=merged", 1],
    ["action=commented", 2],
    ["action=pushed", 3],
    ["action=reopened", 0],
    ["action=updated", 0],
    ["action=joined", 0],
    ["action=left", 0],
    ["action=destroyed", 0],
    ["action=expired", 0],
    ["target_type=issue", 3],
    ["target_type=merge_request", 2],
    ["target_type=note", 2],
    ["target_type=milestone", 0],
    ["target_type=project", 0],
    ["target_type=snippet", 0],
    ["target_type=user", 0],
    ["action=created&target_type=issue", 2],
    ["before=2026-03-02", 1],
    ["after=2026-03-02", 7],
    ["after=2026-03-01", 9],
    ["after=2026-3-1&before=2026-03-03", 2],
    ["before=", 10],
    ["scope=all", 10],
  ])("filter by %s to %i", async (query, count) => {
    const answer = await list(query);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.json).toHaveLength(count);
  });

  it.each([
    ["target_type=pipeline", "target_type", "does not have a valid value"],
    ["target_type=Issue", "target_type", "does not have a valid value"],
    ["action=", "action", "does not have a valid value"],
    ["action=opened", "action", "does not have a valid value"],
    ["sort=up", "sort", "does not have a valid value"],
    ["before=yesterday", "before", "is invalid"],
    ["after=2026-02-30", "after", "is invalid"],
  ])("refuse %s", async (query, name, problem) => {
    for (const path of ["/events", "/users/developer/events", "/projects/acme%2Fsite/events"]) {
      const { status, json } = await list(query, "developer", path);
      expect([status, json]).toEqual([400, { message: { [name]: [problem] } }]);
    }
  });

  it("are sorted and paginated", async () => {
    const up = (await list("sort=asc")).json.map((event: Event) => event.created_at);
    expect(up).toEqual([...up].sort());
    const down = (await list("sort=desc")).json.map((event: Event) => event.created_at);
    expect(down).toEqual([...up].reverse());
    const page = await list("per_page=4&page=3&sort=asc");
    expect(page.json.map((event: Event) => event.created_at)).toEqual(up.slice(8));
    expect(page.headers.get("x-total-pages")).toBe("3");
    expect(page.headers.get("x-next-page")).toBe("");
    expect(page.headers.get("link")).toMatch(/page=2.*rel="prev"/);
  });
});

describe("events of users", () => {
  it("are the caller's own; anonymous callers get none", async () => {
    expect((await app.call("GET /events")).status).toBe(401);
    const answer = await list("", "guest", "/events");
    expect(said(answer)).toEqual(["commented on Note"]);
    expect(answer.headers.get("x-total")).toBe("1");
    expect(answer.json[0]).not.toHaveProperty("data");
  });

  it("with scope=all cover everybody in the caller's projects", async () => {
    const all = await list("scope=all&per_page=100", "reporter", "/events");
    const names = new Set(
      all.json.map((event: { author_username: string }) => event.author_username),
    );
    expect(names).toEqual(new Set(["owner", "maintainer", "developer", "reporter", "guest"]));
    expect((await list("scope=all", "stranger", "/events")).json).toEqual([]);
    expect((await list("scope=mine", "guest", "/events")).json).toHaveLength(1);
  });

  it.each(["developer", "DEVELOPER"])("are found by user name: %s", async (name) => {
    const answer = await list("", "guest", `/users/${name}/events`);
    expect(answer.json).toHaveLength(6);
    expect(answer.headers.get("x-total")).toBe("6");
  });

  it("are found by id", async () => {
    const { json } = await app.call("GET /user", { as: "developer" });
    expect((await list("", "guest", `/users/${json.id}/events`)).json).toHaveLength(6);
    const unknown = await list("", "guest", "/users/42424242/events");
    expect([unknown.status, unknown.json]).toEqual([404, { message: "404 User Not Found" }]);
  });

  it("are limited to projects the caller can see", async () => {
    expect((await list("", "stranger", "/users/owner/events")).json).toEqual([]);
    expect((await list("", "guest", "/users/owner/events")).json).toHaveLength(1);
    expect((await list("", "owner", "/users/owner/events")).json).toHaveLength(4);
    expect((await list("", "stranger", "/users/reporter/events")).json).toEqual([]);
    expect((await app.call("GET /users/owner/events")).status).toBe(401);
  });

  it("need a scope: read_user for people's, api or read_api for projects'", async () => {
    const get = (path: string, token: string) =>
      app.call(`GET ${path}`, { headers: { "private-token": token } });
    for (const path of ["/events", "/users/guest/events"]) {
      expect((await get(path, "reads-user")).status).toBe(200);
      expect((await get(path, "reads-api")).status).toBe(200);
      const { status, json } = await get(path, "sudo-only");
      expect([status, json.error, json.scope]).toEqual([
        403,
        "insufficient_scope",
        "api read_api read_user",
      ]);
    }
    const project = "/projects/acme%2Fsite/events";
    expect((await get(project, "reads-api")).status).toBe(200);
    const { status, json } = await get(project, "reads-user");
    expect([status, json.error]).toEqual([403, "insufficient_scope"]);
  });
});

describe("changes through the API create events", () => {
  const LIVE = "/projects/acme%2Flive";
  const latest = async (count: number) =>
    said(await list(`per_page=${count}`, "developer", `${LIVE}/events`));

  it("for issues: opened, closed, reopened; not for other changes", async () => {
    await app.call(`POST ${LIVE}/issues`, { as: "guest", json: { title: "First" } });
    for (const query of [
      "title=Renamed",
      "state_event=close",
      "state_event=close",
      "state_event=reopen",
    ]) {
      expect((await app.call(`PUT ${LIVE}/issues/1?${query}`, { as: "developer" })).status).toBe(
        200,
      );
    }
    const { json } = await list("", "developer", `${LIVE}/events`);
    expect(said({ json })).toEqual(["opened Issue", "closed Issue", "opened Issue"]);
    expect(json[0].target_title).toBe("Renamed");
    expect(json[0].author_username).toBe("developer");
    const reopened = await list("action=reopened", "developer", `${LIVE}/events`);
    expect(said(reopened)).toEqual(["opened Issue"]);
  });

  it("for milestones: opened, closed, reopened, destroyed", async () => {
    const as = "developer";
    const { json } = await app.call(`POST ${LIVE}/milestones`, { as, json: { title: "v2" } });
    const path = `${LIVE}/milestones/${json.id}`;
    for (const event of ["close", "close", "activate"]) {
      await app.call(`PUT ${path}?state_event=${event}`, { as });
    }
    await app.call(`PUT ${path}?description=only`, { as });
    await app.call(`DELETE ${path}`, { as });
    expect(await latest(4)).toEqual([
      "destroyed Milestone",
      "opened Milestone",
      "closed Milestone",
      "opened Milestone",
    ]);
    const { json: events } = await list("per_page=1", as, `${LIVE}/events`);
    expect(events[0]).toMatchObject({ target_title: "v2", target_iid: json.iid });
    await app.call("POST /groups/acme/milestones", { as, json: { title: "of the group" } });
    expect((await latest(1))[0]).toBe("destroyed Milestone");
  });

  it("for members: joined and left, with the member as author", async () => {
    const { json: user } = await app.call("GET /user", { as: "stranger" });
    await app.call(`POST ${LIVE}/members`, {
      as: "maintainer",
      json: { user_id: user.id, access_level: 20 },
    });
    await app.call(`PUT ${LIVE}/members/${user.id}?access_level=30`, { as: "maintainer" });
    await app.call(`DELETE ${LIVE}/members/${user.id}`, { as: "maintainer" });
    expect(await latest(2)).toEqual(["left", "joined"]);
    const { json } = await list("action=left", "developer", `${LIVE}/events`);
    expect(json[0]).toMatchObject({ author_username: "stranger", target_type: null });
  });

  it("for projects: created", async () => {
    const { json } = await app.call("POST /projects", { as: "guest", json: { name: "Mine" } });
    const answer = await list("", "guest", `/projects/${json.id}/events`);
    expect(said(answer)).toEqual(["created Project"]);
    expect(answer.json[0]).toMatchObject({ target_id: json.id, target_title: "Mine" });
    expect((await list("target_type=project", "guest", "/events")).json).toHaveLength(1);
    await app.call(`DELETE /projects/${json.id}`, { as: "guest" });
    expect((await list("target_type=project", "guest", "/events")).json).toEqual([]);
  });

  it("only if the change succeeded", async () => {
    const before = await latest(100);
    await app.call(`POST ${LIVE}/issues`, { as: "guest", json: { title: "" } });
    await app.call(`PUT ${LIVE}/issues/1?state_event=close`, { as: "stranger" });
    await app.call(`POST ${LIVE}/issues/1/notes`, { as: "guest", json: {} });
    const labels = "z".repeat(300);
    const json = { title: "Rolled back", labels };
    expect((await app.call(`POST ${LIVE}/issues`, { as: "reporter", json })).status).toBe(400);
    expect(await latest(100)).toEqual(before);
  });
});

it("a merge request takes the last pushed head, and can be merged by naming it", async () => {
  const path = "/projects/acme%2Fsite/merge_requests";
  const json = { title: "t", source_branch: "change", target_branch: "main" };
  const made = await app.call(`POST ${path}`, { as: "developer", json });
  expect(made.json.sha).toBe("d".repeat(40));
  const merge = `PUT ${path}/${made.json.iid}/merge`;
  const wrong = await app.call(`${merge}?sha=${"c".repeat(40)}`, { as: "developer" });
  expect([wrong.status, wrong.json]).toEqual([
    409,
    { message: `SHA does not match HEAD of source branch: ${"d".repeat(40)}` },
  ]);
  const right = await app.call(`${merge}?sha=${"d".repeat(40)}`, { as: "developer" });
  expect([right.status, right.json.state]).toEqual([200, "merged"]);
});

it("a recorded push is an event, and updates the head of open merge requests", async () => {
  const { database, drop } = await newDatabase();
  const own = await createApp({ database });
  await own.admin.seed(baseSeed);
  const request = (path: string, json?: object) =>
    call(own, path, { as: "developer", ...(json && { json }) });
  const { json: project } = await request("GET /projects/acme%2Fsite");
  const { json: user } = await request("GET /user");
  const made = await request("POST /projects/acme%2Fsite/merge_requests", {
    title: "t",
    source_branch: "topic",
    target_branch: "main",
  });
  expect(made.json.sha).toBeNull();
  const store = await openStore(database);
  const push = {
    project_id: project.id,
    author_id: user.id,
    ref: "topic",
    ref_type: "branch" as const,
    push_action: "created" as const,
    commit_count: 1,
    commit_from: null,
    commit_to: "a".repeat(40),
    commit_title: "x".repeat(100),
  };
  await store.transaction((db) => recordPush(db, push, Date.now() + 1000));
  await store.close();
  const { json } = await request("GET /projects/acme%2Fsite/events?action=pushed");
  expect(json).toMatchObject([
    {
      action_name: "pushed new",
      author_username: "developer",
      target_id: null,
      push_data: {
        commit_count: 1,
        action: "created",
        ref_type: "branch",
        commit_from: null,
        commit_to: "a".repeat(40),
        ref: "topic",
        commit_title: "x".repeat(70),
      },
    },
  ]);
  const after = await request(`GET /projects/acme%2Fsite/merge_requests/${made.json.iid}`);
  expect(after.json.sha).toBe("a".repeat(40));
  await own.close();
  await drop();
});

it("a project's last activity follows its events, at most once an hour", async () => {
  const start = Date.parse("2026-11-01T12:00:00Z");
  let clock = start;
  const own = await testApp({ now: () => clock });
  const site = "/projects/acme%2Fsite";
  const lastActivity = async () =>
    Date.parse((await own.call(`GET ${site}`)).json.last_activity_at) - start;
  const MINUTE = 60_000;

  clock += 59 * MINUTE;
  const made = await own.call(`POST ${site}/issues`, { as: "developer", json: { title: "x" } });
  expect(made.status).toBe(201);
  expect(await lastActivity()).toBe(0);
  clock += MINUTE;
  const note = { as: "developer", json: { body: "x" } } as const;
  await own.call(`POST ${site}/issues/${made.json.iid}/notes`, note);
  expect(await lastActivity()).toBe(60 * MINUTE);
  clock += 60 * MINUTE;
  await own.admin.activity.recordPush({
    project: "acme/site",
    user: "developer",
    ref: "refs/heads/main",
    from: null,
    to: "a".repeat(40),
    commitCount: 1,
    commitTitle: "x",
  });
  expect(await lastActivity()).toBe(120 * MINUTE);
  clock += 60 * MINUTE;
  await own.call(`PUT ${site}/issues/${made.json.iid}`, { as: "developer", json: { title: "y" } });
  expect(await lastActivity()).toBe(120 * MINUTE);
  await own.dispose();
});
