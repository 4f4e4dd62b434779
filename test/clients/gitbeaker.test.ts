import {
  AccessLevel,
  type GitbeakerRequestError,
  GitbeakerRetryError,
  GitbeakerTimeoutError,
  Gitlab,
} from "@gitbeaker/rest";
import { describe, expect, it } from "vitest";
import { type Seed, startTestServer } from "../../src/testing.ts";
import { refusal, serving, users } from "./gitbeaker.ts";

const seed: Seed = {
  users,
  groups: [
    {
      path: "acme",
      name: "Acme",
      members: { ann: "owner" },
      labels: [{ name: "Doing" }, { name: "Review" }, { name: "front / end", color: "#336699" }],
      milestones: [{ title: "v1", due_date: "2026-12-24" }],
      boards: [{ name: "Work", lists: ["Doing", "Review"] }],
      projects: [1, 2, 3, 4, 5].map((at) => ({
        path: `app-${at}`,
        name: `App ${at}`,
        boards: at === 1 ? [{ name: "Sprint", lists: ["Review"] }] : [],
      })),
      subgroups: [{ path: "team", projects: [{ path: "core", milestones: [{ title: "m1" }] }] }],
    },
    ...Array.from({ length: 6 }, (_, at) => ({ path: `group-${at}`, members: { ann: "owner" } })),
    { path: "secret" },
  ] as Seed["groups"],
  projects: [{ namespace: "ann", path: "notes" }],
};

const { server, ann: gitlab, root } = await serving(seed, 4);

describe("boards of projects", () => {
  const project = "acme/app-1";

  it("are listed, shown, created, changed and removed", async () => {
    const boards = await gitlab.ProjectIssueBoards.all(project);
    expect(boards).toMatchObject([
      {
        name: "Sprint",
        project: { name: "App 1", path_with_namespace: project },
        lists: [{ label: { name: "Review" }, position: 0 }],
      },
    ]);
    const id = boards[0]?.id as number;
    expect(await gitlab.ProjectIssueBoards.show(project, id)).toEqual(boards[0]);
    const made = await gitlab.ProjectIssueBoards.create(project, "Second");
    const options = { name: "Renamed", labels: "Doing", weight: 2 } as const;
    const changed = await gitlab.ProjectIssueBoards.edit(project, made.id, options);
    expect(changed).toMatchObject({ name: "Renamed", labels: [{ name: "Doing" }], weight: 2 });
    await gitlab.ProjectIssueBoards.remove(project, made.id);
    expect(await gitlab.ProjectIssueBoards.all(project)).toHaveLength(1);
  });

  it("have lists", async () => {
    const [board] = await gitlab.ProjectIssueBoards.all(project);
    const id = board?.id as number;
    const [doing] = await gitlab.ProjectLabels.all(project, { search: "Doing" });
    const labelId = doing?.id as number;
    const list = await gitlab.ProjectIssueBoards.createList(project, id, { labelId });
    expect(list).toMatchObject({ label: { name: "Doing" }, position: 1 });
    await gitlab.ProjectIssueBoards.editList(project, id, list.id, 0);
    const lists = await gitlab.ProjectIssueBoards.allLists(project, id);
    expect(lists.map(({ label }) => label.name)).toEqual(["Doing", "Review"]);
    await gitlab.ProjectIssueBoards.removeList(project, id, list.id);
    const left = await gitlab.ProjectIssueBoards.allLists(project, id);
    expect(left).toMatchObject([{ label: { name: "Review" }, position: 0 }]);
  });
});

describe("boards", () => {
  it("are listed with their lists, and shown", async () => {
    const boards = await gitlab.GroupIssueBoards.all("acme");
    expect(boards).toMatchObject([
      {
        name: "Work",
        group: { name: "Acme" },
        lists: [
          { label: { name: "Doing" }, position: 0 },
          { label: { name: "Review" }, position: 1 },
        ],
      },
    ]);
    const [board] = boards;
    expect(await gitlab.GroupIssueBoards.show("acme", board?.id as number)).toEqual(board);
  });

  it("are created, scoped and removed", async () => {
    const made = await gitlab.GroupIssueBoards.create("acme", "Second");
    const [milestone] = await gitlab.GroupMilestones.all("acme");
    const { id } = await gitlab.Users.showCurrentUser();
    const changed = await gitlab.GroupIssueBoards.edit("acme", made.id, {
      name: "Scoped",
      assigneeId: id,
      milestoneId: milestone?.id as number,
      labels: "Doing, front / end",
      weight: 4,
    });
    expect(changed).toMatchObject({
      name: "Scoped",
      assignee: { username: "ann" },
      milestone: { title: "v1", due_date: "2026-12-24" },
      weight: 4,
      lists: [],
    });
    expect((changed["labels"] as { name: string }[]).map(({ name }) => name)).toEqual([
      "Doing",
      "front / end",
    ]);
    await gitlab.GroupIssueBoards.remove("acme", made.id);
    expect(await refusal(gitlab.GroupIssueBoards.show("acme", made.id))).toEqual([
      404,
      "404 Not found",
    ]);
  });

  it("have lists that are added, moved and removed", async () => {
    const [board] = await gitlab.GroupIssueBoards.all("acme");
    const boardId = board?.id as number;
    const label = await gitlab.GroupLabels.show("acme", "front / end");
    const options: object = { labelId: label.id };
    const list = await gitlab.GroupIssueBoards.createList("acme", boardId, options);
    expect(list).toMatchObject({ label: { name: "front / end" }, position: 2 });
    await gitlab.GroupIssueBoards.editList("acme", boardId, list.id, 0);
    const lists = await gitlab.GroupIssueBoards.allLists("acme", boardId);
    expect(lists.map((one) => one.label.name)).toEqual(["front / end", "Doing", "Review"]);
    await gitlab.GroupIssueBoards.removeList("acme", boardId, list.id);
    const shown = gitlab.GroupIssueBoards.showList("acme", boardId, list.id);
    expect(await refusal(shown)).toEqual([404, "404 Not found"]);
  });
});

describe("groups", () => {
  it("are found by path and by id", async () => {
    const team = await gitlab.Groups.show("acme/team");
    expect(team).toMatchObject({
      full_path: "acme/team",
      web_url: `${server.url}/groups/acme/team`,
    });
    expect(await gitlab.Groups.show(team.id)).toEqual(team);
  });

  it("are created, changed, searched and removed", async () => {
    const { id } = await gitlab.Groups.create("New", "new", { visibility: "public" });
    const below = await gitlab.Groups.create("Below", "below", { parentId: id });
    expect(below.full_path).toBe("new/below");
    expect(await gitlab.Groups.allSubgroups("new")).toMatchObject([{ path: "below" }]);
    await gitlab.Groups.edit(id, { name: "Newer", description: "Changed" });
    expect(await gitlab.Groups.search("newer")).toMatchObject([
      { name: "Newer", description: "Changed", visibility: "public" },
    ]);
    await gitlab.Groups.remove(id);
    expect(await refusal(gitlab.Groups.show("new/below"))).toEqual([404, "404 Group Not Found"]);
  });

  it("have projects", async () => {
    const projects = await gitlab.Groups.allProjects("acme");
    expect(projects.map(({ path }) => path)).toEqual(["app-5", "app-4", "app-3", "app-2", "app-1"]);
  });
});

describe("projects", () => {
  it("are found by path and by id", async () => {
    const project = await gitlab.Projects.show("acme/team/core");
    expect(project).toMatchObject({ path_with_namespace: "acme/team/core" });
    expect(await gitlab.Projects.show(project.id)).toEqual(project);
  });

  it("are created, changed, archived and removed", async () => {
    const made = await gitlab.Projects.create({ name: "My Site", topics: ["web", "docs"] });
    expect(made).toMatchObject({ path_with_namespace: "ann/my-site", topics: ["web", "docs"] });
    const changed = await gitlab.Projects.edit(made.id, { description: "New", lfsEnabled: false });
    expect(changed).toMatchObject({ description: "New", lfs_enabled: false });
    expect((await gitlab.Projects.archive(made.id)).archived).toBe(true);
    expect((await gitlab.Projects.unarchive(made.id)).archived).toBe(false);
    await gitlab.Projects.remove(made.id);
    expect(await refusal(gitlab.Projects.show(made.id))).toEqual([404, "404 Project Not Found"]);
  });

  it("are starred", async () => {
    expect((await gitlab.Projects.star("acme/app-1")).star_count).toBe(1);
    const starred = await gitlab.Projects.all({ starred: true });
    expect(starred.map(({ path }) => path)).toEqual(["app-1"]);
    // GitLab answers 304 to a second star, which gitbeaker throws.
    expect((await refusal(gitlab.Projects.star("acme/app-1")))[0]).toBe(304);
    expect((await gitlab.Projects.unstar("acme/app-1")).star_count).toBe(0);
  });

  it("are searched and filtered", async () => {
    expect(await gitlab.Projects.search("app 3")).toMatchObject([{ path: "app-3" }]);
    const own = await gitlab.Projects.all({ owned: true, simple: true });
    expect(own.map(({ path }) => path).sort()).toContain("notes");
  });
});

describe("members", () => {
  it.each(["GroupMembers", "ProjectMembers"] as const)("of %s", async (resource) => {
    const members = gitlab[resource];
    const source = resource === "GroupMembers" ? "acme" : "acme/app-1";
    const [bob] = await gitlab.Users.all({ username: "bob" });
    const userId = bob?.id as number;
    const added = await members.add(source, AccessLevel.REPORTER, { userId });
    expect(added).toMatchObject({ username: "bob", access_level: 20, expires_at: null });
    const again = members.add(source, AccessLevel.REPORTER, { userId });
    expect(await refusal(again)).toEqual([409, "Member already exists"]);
    const changed = await members.edit(source, userId, AccessLevel.DEVELOPER, {
      expiresAt: "2027-01-01",
    });
    expect(changed).toMatchObject({ access_level: 30, expires_at: "2027-01-01" });
    expect(await members.show(source, userId)).toEqual(changed);
    const everybody = await members.all(source, { includeInherited: true });
    expect(everybody.map(({ username }) => username).sort()).toEqual(["ann", "bob"]);
    await members.remove(source, userId);
    expect(await refusal(members.show(source, userId))).toEqual([404, "404 Not found"]);
  });
});

describe("labels", () => {
  it.each(["GroupLabels", "ProjectLabels"] as const)("of %s", async (resource) => {
    const labels = gitlab[resource];
    const source = resource === "GroupLabels" ? "acme" : "acme/app-1";
    expect((await labels.all(source)).map(({ name }) => name)).toEqual([
      "Doing",
      "Review",
      "front / end",
    ]);
    const made = await labels.create(source, "ünï & co", "#00ff00", { description: "Words" });
    expect(await labels.show(source, "ünï & co")).toEqual(made);
    const again = labels.create(source, "ünï & co", "#00ff00");
    expect(await refusal(again)).toEqual([409, "Label already exists"]);
    const changed = await labels.edit(source, made.id, { newName: "plain", priority: 3 });
    expect(changed).toMatchObject({ name: "plain", color: "#00ff00", description: "Words" });
    await labels.remove(source, "plain");
    expect(await refusal(labels.show(source, "plain"))).toEqual([404, "404 Label Not Found"]);
  });
});

describe("milestones", () => {
  it.each(["GroupMilestones", "ProjectMilestones"] as const)("of %s", async (resource) => {
    const milestones = gitlab[resource];
    const source = resource === "GroupMilestones" ? "acme" : "acme/team/core";
    expect(await milestones.all(source)).toHaveLength(1);
    const made = await milestones.create(source, "v2", {
      startDate: "2026-01-01",
      dueDate: "2026-02-01",
    });
    expect(made).toMatchObject({ iid: 2, state: "active", start_date: "2026-01-01" });
    const changed = await milestones.edit(source, made.id, { stateEvent: "close", title: "v2.0" });
    expect(changed).toMatchObject({ state: "closed", title: "v2.0", due_date: "2026-02-01" });
    expect(await milestones.show(source, made.id)).toEqual(changed);
    const closed = await milestones.all(source, { state: "closed" });
    expect(closed.map(({ title }) => title)).toEqual(["v2.0"]);
    await milestones.remove(source, made.id);
    expect((await refusal(milestones.show(source, made.id)))[0]).toBe(404);
  });
});

describe("users", () => {
  it("are the caller, others by id, and lists", async () => {
    const me = await gitlab.Users.showCurrentUser();
    expect(me).toMatchObject({ username: "ann", name: "Ann", web_url: `${server.url}/ann` });
    expect(await gitlab.Users.show(me.id)).toMatchObject({ username: "ann" });
    const all = await gitlab.Users.all({ perPage: 1 });
    expect(all.map(({ username }) => username)).toEqual(["bob", "ann", "root"]);
  });

  it("are created, changed, blocked and removed by administrators", async () => {
    const made = await root.Users.create({
      username: "carl",
      name: "Carl",
      email: "carl@example.com",
      forceRandomPassword: true,
    });
    expect(made).toMatchObject({ username: "carl", email: "carl@example.com" });
    expect(await root.Users.edit(made.id, { bio: "Hi" })).toMatchObject({ bio: "Hi" });
    expect(await root.Users.block(made.id)).toBe(true);
    expect((await root.Users.show(made.id)).state).toBe("blocked");
    expect(await root.Users.unblock(made.id)).toBe(true);
    await root.Users.remove(made.id);
    expect(await refusal(root.Users.show(made.id))).toEqual([404, "404 User Not Found"]);
  });
});

describe("impersonation tokens", () => {
  it("are issued, used, listed and revoked", async () => {
    const { id } = await gitlab.Users.showCurrentUser();
    const tokens = root.UserImpersonationTokens;
    const made = await tokens.create(id, "robot", ["api"], { expiresAt: "2026-04-01" });
    expect(made).toMatchObject({
      name: "robot",
      scopes: ["api"],
      impersonation: true,
      active: true,
      expires_at: "2026-04-01",
    });
    const robot = new Gitlab({ host: server.url, token: made.token as string });
    expect((await robot.Users.showCurrentUser()).username).toBe("ann");
    expect(await tokens.all(id, { state: "active" })).toMatchObject([{ id: made.id }]);
    expect(await tokens.show(id, made.id)).not.toHaveProperty("token");
    await tokens.revoke(id, made.id);
    expect(await refusal(robot.Users.showCurrentUser())).toEqual([401, "401 Unauthorized"]);
    expect(await tokens.all(id, { state: "inactive" })).toMatchObject([{ revoked: true }]);
  });
});

describe("pages", () => {
  it("are all fetched", async () => {
    const groups = await gitlab.Groups.all();
    expect(groups).toHaveLength(8);
    expect(new Set(groups.map(({ id }) => id)).size).toBe(8);
    const asked = server.requests.filter(({ path }) => path === "/api/v4/groups");
    expect(asked.map(({ query }) => query)).toEqual(["", "page=2&per_page=4"]);
  });

  it("keep their filters", async () => {
    const found = await gitlab.Groups.all({ search: "group-", perPage: 1, skipGroups: [4] });
    expect(found.every(({ path }) => path.startsWith("group-"))).toBe(true);
    expect(found.length).toBeGreaterThan(4);
    expect(server.requests.every(({ query }) => query.includes("search=group-"))).toBe(true);
  });

  it("include pagination data", async () => {
    const { data, paginationInfo } = await gitlab.Groups.all({
      perPage: 3,
      page: 2,
      showExpanded: true,
      pagination: "offset",
    });
    expect(data).toHaveLength(3);
    expect(paginationInfo).toEqual({
      total: 8,
      next: 3,
      current: 2,
      previous: 1,
      perPage: 3,
      totalPages: 3,
    });
  });

  it("stop at a given limit", async () => {
    expect(await gitlab.Groups.all({ perPage: 3, maxPages: 2 })).toHaveLength(6);
  });

  it("have no totals in large collections", async () => {
    const small = await startTestServer({ seed, limits: { countedTotal: 5 } });
    const client = new Gitlab({ host: small.url, token: "ann-token" });
    const { data, paginationInfo } = await client.Groups.all({
      perPage: 3,
      showExpanded: true,
      pagination: "offset",
    });
    expect(data).toHaveLength(8);
    expect(paginationInfo).toMatchObject({ total: Number.NaN, totalPages: Number.NaN, next: null });
    await small.close();
  });

  it("can be fetched by keyset", async () => {
    const projects = await gitlab.Projects.all({
      pagination: "keyset",
      orderBy: "id",
      sort: "asc",
      perPage: 2,
    });
    const ids = projects.map(({ id }) => id);
    expect(ids).toHaveLength(7);
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    const queries = server.requests.map(({ query }) => query);
    expect(queries).toHaveLength(5);
    expect(queries.slice(1).every((query) => query.includes("id_after="))).toBe(true);
    const { data } = await gitlab.Projects.all({
      pagination: "keyset",
      orderBy: "id",
      sort: "desc",
      perPage: 3,
      showExpanded: true,
    });
    expect(data.map(({ id }) => id)).toEqual(ids.reverse());
  });

  it("can be fetched by keyset only when ordered by id", async () => {
    const call = gitlab.Projects.all({
      pagination: "keyset",
      orderBy: "name",
      sort: "asc",
      perPage: 2,
    });
    expect(await refusal(call)).toEqual([
      405,
      "Keyset pagination is not yet available for this type of request",
    ]);
  });
});

describe("clients", () => {
  it("receive the status and the headers on request", async () => {
    const shown = await gitlab.Groups.show("acme", { showExpanded: true });
    expect(shown.status).toBe(200);
    expect(shown.headers["content-type"]).toBe("application/json");
    const made = await gitlab.Groups.create("New", "new", { showExpanded: true });
    expect(made.status).toBe(201);
    const gone = await gitlab.GroupLabels.remove("acme", "Doing", { showExpanded: true });
    expect(gone.status).toBe(204);
  });

  it("can camelize", async () => {
    const camel = new Gitlab({ host: server.url, token: "ann-token", camelize: true });
    expect(await camel.Groups.show("acme")).toMatchObject({ fullPath: "acme" });
    expect((await camel.Groups.all({ perPage: 3 })).length).toBe(8);
  });

  it("can send their token as an OAuth token", async () => {
    const bearer = new Gitlab({ host: server.url, oauthToken: "ann-token" });
    expect((await bearer.Users.showCurrentUser()).username).toBe("ann");
  });

  it("can ask for the version", async () => {
    expect(await gitlab.Metadata.show()).toMatchObject({ version: expect.any(String) });
  });

  it("can time out", async () => {
    server.faults.add({ delay: 5000 });
    const hasty = new Gitlab({ host: server.url, token: "ann-token", queryTimeout: 50 });
    await expect(hasty.Groups.show("acme")).rejects.toThrow(GitbeakerTimeoutError);
  });

  it("retry what may work later", async () => {
    server.faults.add({ status: 429, times: 2 });
    server.faults.add({ status: 502, body: "<h1>Bad gateway</h1>" });
    expect((await gitlab.Groups.show("acme")).path).toBe("acme");
    expect(server.requests.map(({ status }) => status)).toEqual([429, 429, 502, 200]);
    server.faults.add({ status: 429, times: Infinity });
    await expect(gitlab.Groups.show("acme")).rejects.toThrow(GitbeakerRetryError);
  });
});

describe("errors", () => {
  it("contain the API's message", async () => {
    const stranger = new Gitlab({ host: server.url, token: "nobody" });
    const reader = new Gitlab({ host: server.url, token: "reader" });
    expect(await refusal(stranger.Groups.all())).toEqual([401, "401 Unauthorized"]);
    expect(await refusal(gitlab.Groups.show("secret"))).toEqual([404, "404 Group Not Found"]);
    expect(await refusal(gitlab.Users.block(1))).toEqual([403, "403 Forbidden"]);
    expect(await refusal(reader.Groups.create("New", "new"))).toEqual([403, "insufficient_scope"]);
    expect(await refusal(gitlab.Groups.create("Acme", "acme"))).toEqual([
      409,
      '{"path":["has already been taken"]}',
    ]);
    expect(await refusal(gitlab.Groups.create("Bad", "no way"))).toEqual([
      400,
      expect.stringMatching(/^\{"path":\["can contain only letters/),
    ]);
    const [board] = await gitlab.GroupIssueBoards.all("acme");
    const heavy = gitlab.GroupIssueBoards.edit("acme", board?.id as number, { weight: 10 });
    expect(await refusal(heavy)).toEqual([400, '{"weight":["must be between 0 and 9"]}']);
    const nameless = gitlab.Groups.create(undefined as unknown as string, "new");
    expect(await refusal(nameless)).toEqual([400, '400 (Bad request) "name" not given']);
    expect(await refusal(gitlab.GeoNodes.all())).toEqual([404, "404 Not Found"]);
  });

  it("contain the answer", async () => {
    const error = await gitlab.Groups.show("nowhere").catch((reason: unknown) => reason);
    const { cause } = error as GitbeakerRequestError;
    expect(cause?.request.url).toBe(`${server.url}/api/v4/groups/nowhere`);
    expect(cause?.response.headers.get("x-request-id")).toMatch(/^[\w-]{36}$/);
  });
});
