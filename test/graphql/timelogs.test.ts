import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { baseSeed, type Person, type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;

const seconds = (at: string) => at.replace(/\.\d+Z$/, "Z");
const SITE = "/projects/acme%2Fsite";
const spent = (user: string, time_spent: string, day: string) => ({
  user,
  time_spent,
  summary: `${user} ${time_spent}`,
  spent_at: `2026-03-${day}T12:00:00Z`,
});

beforeAll(async () => {
  const [acme, ...others] = structuredClone(baseSeed.groups ?? []);
  const [site] = acme?.projects ?? [];
  Object.assign(site ?? {}, {
    issues: [
      {
        title: "Open",
        author: "guest",
        timelogs: [spent("developer", "1h", "01"), spent("owner", "3h", "02")],
      },
      {
        title: "Hidden",
        author: "owner",
        confidential: true,
        timelogs: [spent("owner", "2h", "03")],
      },
    ],
    merge_requests: [
      {
        title: "Work",
        author: "developer",
        source_branch: "a",
        target_branch: "main",
        timelogs: [spent("developer", "30m", "04")],
      },
    ],
  });
  app = await testApp({ seed: { ...baseSeed, groups: [acme, ...others] as never } });
});
afterAll(() => app.dispose());

interface Timelogs {
  count: number;
  nodes: { summary: string }[];
}

const summaries = async (on: string, args = "", as: Person = "owner") => {
  const query = `{ ${on} { timelogs${args} { count nodes { summary } } } }`;
  const { data, errors } = await send(app, as, query);
  if (errors) return errors[0].message;
  const { count, nodes } = Object.values<{ timelogs: Timelogs }>(data)[0]?.timelogs ?? {
    count: 0,
    nodes: [],
  };
  expect(count).toBe(nodes.length);
  return nodes.map(({ summary }) => summary);
};
const PROJECT = 'project(fullPath: "acme/site")';

describe("timelogs", () => {
  it("have the values that were logged, and their sums those that REST shows", async () => {
    const data = await ask(
      app,
      `{ ${PROJECT} { id issue(iid: "1") { id timeEstimate totalTimeSpent humanTimeEstimate
        humanTotalTimeSpent timelogs(first: 1) { nodes { id timeSpent spentAt summary
        user { username } project { id } issue { id } mergeRequest { id } } } } } }`,
    );
    const { json } = await app.call(`GET ${SITE}/issues/1`, { as: "owner" });
    const { issue, id } = data.project;
    expect(json.time_stats).toEqual({
      time_estimate: issue.timeEstimate,
      total_time_spent: issue.totalTimeSpent,
      human_time_estimate: issue.humanTimeEstimate,
      human_total_time_spent: issue.humanTotalTimeSpent,
    });
    expect(issue.humanTotalTimeSpent).toBe("4h");
    expect(issue.timelogs.nodes).toEqual([
      {
        id: expect.stringMatching(/^gid:\/\/gitlab\/Timelog\/\d+$/),
        timeSpent: 3600,
        spentAt: seconds("2026-03-01T12:00:00Z"),
        summary: "developer 1h",
        user: { username: "developer" },
        project: { id },
        issue: { id: issue.id },
        mergeRequest: null,
      },
    ]);
  });

  it.each([
    ["", ["developer 1h", "owner 3h", "owner 2h", "developer 30m"]],
    ["(sort: SPENT_AT_DESC, first: 4)", ["developer 30m", "owner 2h", "owner 3h", "developer 1h"]],
    ["(sort: TIME_SPENT_ASC)", ["developer 30m", "developer 1h", "owner 2h", "owner 3h"]],
    ['(username: "DEVELOPER")', ["developer 1h", "developer 30m"]],
    ['(startDate: "2026-03-02", endDate: "2026-03-03")', ["owner 3h", "owner 2h"]],
    ['(startTime: "2026-03-03T12:00:00Z")', ["owner 2h", "developer 30m"]],
    ['(endTime: "2026-03-01T12:00:00Z")', ["developer 1h"]],
    ['(endTime: "2026-03-01T11:59:59Z")', []],
    ['(projectId: "gid://gitlab/Project/999")', []],
  ])("of a project and its group are filtered and sorted: %s", async (args, expected) => {
    expect(await summaries(PROJECT, args)).toEqual(expected);
    expect(await summaries('group(fullPath: "acme")', args)).toEqual(expected);
  });

  it.each([
    [
      '(startDate: "2026-03-02", startTime: "2026-03-02")',
      "Provide either a start date or time, but not both",
    ],
    [
      '(endDate: "2026-03-02", endTime: "2026-03-02")',
      "Provide either an end date or time, but not both",
    ],
    [
      '(startDate: "2026-03-02", endDate: "2026-03-01")',
      "Start argument must be before End argument",
    ],
  ])("refuse %s", async (args, message) => {
    expect(await summaries(PROJECT, args)).toBe(message);
  });

  it("are hidden with what time was spent on", async () => {
    const visible = ["developer 1h", "owner 3h", "developer 30m"];
    expect(await summaries(PROJECT, "", "stranger")).toEqual(visible);
    expect(await summaries('user(username: "owner")', "", "guest")).toEqual(["owner 3h"]);
    expect(await summaries('user(username: "owner")')).toEqual(["owner 3h", "owner 2h"]);
  });

  it("of all projects need a scope, except for administrators", async () => {
    const all = async (as: Person, args = "") => {
      const { data, errors } = await send(app, as, `{ timelogs${args} { count } }`);
      return errors ? errors[0].message : data.timelogs.count;
    };
    const refusal = "Non-admin users must provide a group_id, project_id, or current username";
    expect(await all("guest")).toBe(refusal);
    expect(await all("guest", '(username: "owner")')).toBe(refusal);
    expect(await all("anonymous")).toBe(refusal);
    expect(await all("admin")).toBe(4);
    expect(await all("developer", '(username: "developer")')).toBe(2);
    const { json } = await app.call("GET /groups/acme", { as: "owner" });
    expect(await all("guest", `(groupId: "gid://gitlab/Group/${json.id}")`)).toBe(3);
  });
});

describe("changes", () => {
  const create = (input: object, as: Person = "reporter") =>
    send(
      app,
      as,
      `mutation ($input: TimelogCreateInput!) { timelogCreate(input: $input) { errors timelog {
        id timeSpent summary spentAt user { username } } } }`,
      { input: { summary: "Thinking", ...input } },
    );
  const destroy = (id: string, as: Person) =>
    send(
      app,
      as,
      "mutation ($id: TimelogID!) { timelogDelete(input: { id: $id }) { errors timelog { id } } }",
      { id },
    );
  const total = async (path: string) =>
    (await app.call(`GET ${SITE}/${path}/time_stats`, { as: "owner" })).json.total_time_spent;
  const gidOf = async (path: string, type: string) =>
    `gid://gitlab/${type}/${(await app.call(`GET ${SITE}/${path}`, { as: "owner" })).json.id}`;

  it.each([
    ["issues/1", "Issue"],
    ["merge_requests/1", "MergeRequest"],
  ])("log time on %s and remove it", async (path, type) => {
    const issuableId = await gidOf(path, type);
    const before = await total(path);
    const spentAt = "2026-02-01T10:00:00Z";
    const { data } = await create({ issuableId, timeSpent: "1h 30m", spentAt });
    const { timelog, errors } = data.timelogCreate;
    expect(errors).toEqual([]);
    expect(timelog).toMatchObject({
      timeSpent: 5400,
      summary: "Thinking",
      spentAt,
      user: { username: "reporter" },
    });
    expect(await total(path)).toBe(before + 5400);
    const refused = await destroy(timelog.id, "developer");
    expect(refused.errors?.[0].message).toBe(NOT_AVAILABLE);
    expect((await destroy(timelog.id, "reporter")).data.timelogDelete).toEqual({
      errors: [],
      timelog: null,
    });
    expect(await total(path)).toBe(before);
    expect((await destroy(timelog.id, "reporter")).errors?.[0].message).toBe(NOT_AVAILABLE);
    const other = (await create({ issuableId, timeSpent: "1m" })).data.timelogCreate.timelog;
    expect((await destroy(other.id, "maintainer")).data.timelogDelete.errors).toEqual([]);
  });

  it.each([
    [{ timeSpent: "soon" }, "Time spent must be formatted correctly. For example: 1h 30m."],
    [{ timeSpent: "0h" }, "Time spent can't be zero."],
    [{ timeSpent: "-9w" }, "Time to subtract exceeds the total time spent"],
    [{ timeSpent: "1h", spentAt: "2999-01-01" }, "Spent at can't be a future date and time."],
  ])("refuse %j", async (input, message) => {
    const issuableId = await gidOf("issues/1", "Issue");
    const { data } = await create({ issuableId, ...input });
    expect(data.timelogCreate).toEqual({ errors: [message], timelog: null });
  });

  it("need a reporter who can see the issue", async () => {
    const open = await gidOf("issues/1", "Issue");
    const unknown = "gid://gitlab/Issue/999";
    for (const [issuableId, as] of [
      [open, "guest"],
      [open, "anonymous"],
      [unknown, "owner"],
    ] as const) {
      const { data, errors } = await create({ issuableId, timeSpent: "1h" }, as);
      expect([data.timelogCreate, errors?.[0].message]).toEqual([null, NOT_AVAILABLE]);
    }
  });

  it("estimate an issue, alone and with other changes", async () => {
    const update = async (input: object, as: Person = "reporter") =>
      (
        await send(
          app,
          as,
          `mutation ($input: UpdateIssueInput!) { updateIssue(input: $input) { errors
            issue { title timeEstimate humanTimeEstimate } } }`,
          { input: { projectPath: "acme/site", iid: "1", ...input } },
        )
      ).data.updateIssue;
    const estimated = { title: "Open", timeEstimate: 28_800, humanTimeEstimate: "1d" };
    expect(await update({ timeEstimate: "1d" })).toEqual({ errors: [], issue: estimated });
    expect((await update({ timeEstimate: "soon", title: "Not kept" })).errors).toEqual([
      "Time estimate must have a valid format and be greater than or equal to zero.",
    ]);
    // As with due dates, an author who is no reporter changes only the rest.
    expect((await update({ timeEstimate: "1h", title: "Open" }, "guest")).issue).toEqual(estimated);
    const none = { title: "Opened", timeEstimate: 0, humanTimeEstimate: null };
    expect((await update({ timeEstimate: null, title: "Opened" })).issue).toEqual(none);
  });
});
