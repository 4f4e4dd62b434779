import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ask, send } from "./ask.ts";

let app: TestApp;

beforeAll(async () => {
  app = await testApp();
  const create = async (path: string, json: object) => {
    const { status, json: created } = await app.call(`POST ${path}/milestones`, {
      as: "owner",
      json,
    });
    expect(status).toBe(201);
    return created;
  };
  const site = "/projects/acme%2Fsite";
  await create(site, {
    title: "past",
    start_date: "2020-01-01",
    due_date: "2020-02-01",
    description: "Old",
  });
  const done = await create(site, { title: "done", due_date: "2021-01-01" });
  await app.call(`PUT ${site}/milestones/${done.id}`, {
    as: "owner",
    json: { state_event: "close" },
  });
  await create(site, { title: "future", start_date: "2998-01-01", due_date: "2999-01-01" });
  await create(site, { title: "open end" });
  await create("/groups/acme%2Fteam", { title: "team" });
  const { json: groups } = await app.call("GET /groups/acme/milestones", { as: "owner" });
  const issues = [
    ["acme%2Fsite", { title: "one" }],
    ["acme%2Fsite", { title: "two", confidential: true }],
    ["acme%2Fteam%2Fcore", { title: "three" }],
  ] as const;
  for (const [project, values] of issues) {
    await app.call(`POST /projects/${project}/issues`, {
      as: "owner",
      json: { ...values, milestone_id: groups[0].id },
    });
  }
  await app.call("PUT /projects/acme%2Fsite/issues/1", {
    as: "owner",
    json: { state_event: "close" },
  });
});
afterAll(() => app.dispose());

const SITE = 'project(fullPath: "acme/site")';
const ACME = 'group(fullPath: "acme")';
const TEAM = 'group(fullPath: "acme/team")';

const titles = async (place: string, args: string, as: Person = "owner") => {
  const data = await ask(
    app,
    `{ place: ${place} { milestones${args} { nodes { title } } } }`,
    {},
    as,
  );
  return data.place.milestones.nodes.map(({ title }: { title: string }) => title);
};

describe("a milestone", () => {
  it("has the values that REST shows", async () => {
    const { project } = await ask(
      app,
      `{ ${SITE} { milestones(title: "past") { nodes { id iid title description state dueDate startDate expired
        upcoming createdAt updatedAt webPath groupMilestone projectMilestone subgroupMilestone
        project { fullPath } group { fullPath } stats { totalIssuesCount closedIssuesCount } } } } }`,
    );
    const { json } = await app.call("GET /projects/acme%2Fsite/milestones?title=past", {
      as: "owner",
    });
    const withoutMilliseconds = (at: string) => at.replace(/\.\d+Z$/, "Z");
    expect(project.milestones.nodes).toEqual([
      {
        id: `gid://gitlab/Milestone/${json[0].id}`,
        iid: String(json[0].iid),
        title: "past",
        description: "Old",
        state: "active",
        dueDate: "2020-02-01",
        startDate: "2020-01-01",
        expired: true,
        upcoming: false,
        createdAt: withoutMilliseconds(json[0].created_at),
        updatedAt: withoutMilliseconds(json[0].updated_at),
        webPath: new URL(json[0].web_url).pathname,
        groupMilestone: false,
        projectMilestone: true,
        subgroupMilestone: false,
        project: { fullPath: "acme/site" },
        group: null,
        stats: { totalIssuesCount: 0, closedIssuesCount: 0 },
      },
    ]);
  });

  it("counts the issues that the caller may see", async () => {
    const stats = async (as: Person) => {
      const query = `{ ${ACME} { milestones { nodes { groupMilestone stats { totalIssuesCount closedIssuesCount } } } } }`;
      return (await ask(app, query, {}, as)).group.milestones.nodes;
    };
    const counted = (totalIssuesCount: number) => [
      { groupMilestone: true, stats: { totalIssuesCount, closedIssuesCount: 1 } },
    ];
    expect(await stats("owner")).toEqual(counted(3));
    expect(await stats("guest")).toEqual(counted(2));
    expect(await stats("stranger")).toEqual(counted(1));
    expect(await stats("anonymous")).toEqual(counted(1));
  });

  it("is found by its global id by those who may see it", async () => {
    const { group } = await ask(
      app,
      `{ ${TEAM} { milestones { nodes { id subgroupMilestone } } } }`,
    );
    expect(group.milestones.nodes).toMatchObject([{ subgroupMilestone: true }]);
    const find = (as: Person) =>
      ask(
        app,
        "query ($id: MilestoneID!) { milestone(id: $id) { title } }",
        { id: group.milestones.nodes[0].id },
        as,
      );
    expect(await find("guest")).toEqual({ milestone: { title: "team" } });
    expect(await find("stranger")).toEqual({ milestone: null });
  });
});

describe("lists of milestones", () => {
  it.each([
    [SITE, "", ["past", "done", "future", "open end"]],
    [SITE, "(sort: DUE_DATE_DESC)", ["future", "done", "past", "open end"]],
    [SITE, "(sort: CREATED_DESC)", ["open end", "future", "done", "past"]],
    [SITE, "(sort: UPDATED_DESC, first: 1)", ["open end"]],
    [SITE, "(sort: EXPIRED_LAST_DUE_DATE_ASC)", ["future", "open end", "past", "done"]],
    [SITE, "(sort: EXPIRED_LAST_DUE_DATE_DESC)", ["future", "open end", "done", "past"]],
    [SITE, "(state: closed)", ["done"]],
    [SITE, "(state: active)", ["past", "future", "open end"]],
    [SITE, '(title: "future")', ["future"]],
    [SITE, '(searchTitle: "EN")', ["open end"]],
    [SITE, '(containingDate: "2998-06-01")', ["future"]],
    [SITE, '(timeframe: {start: "2019-12-01", end: "2020-12-31"})', ["past", "done"]],
    [SITE, '(ids: ["gid://gitlab/Milestone/0"])', []],
    [SITE, "(includeAncestors: true)", ["past", "done", "v1", "future", "open end"]],
    [ACME, "", ["v1"]],
    [ACME, "(includeDescendants: true)", ["past", "done", "v1", "future", "open end", "team"]],
    [TEAM, "", ["team"]],
    [TEAM, "(includeAncestors: true)", ["v1", "team"]],
  ])("%s %s", async (place, args, expected) => {
    expect(await titles(place, args)).toEqual(expected);
  });

  it("leave out those of places that the caller may not see", async () => {
    const below = "(includeDescendants: true)";
    expect(await titles(ACME, below, "stranger")).toEqual([
      "past",
      "done",
      "v1",
      "future",
      "open end",
    ]);
    const { errors } = await send(
      app,
      "owner",
      `{ ${SITE} { milestones(containingDate: "someday") { count } } }`,
    );
    expect(errors).toHaveLength(1);
  });
});
