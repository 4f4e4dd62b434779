import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { ISSUE } from "../../src/resources/issuables/issue.ts";
import { MERGE_REQUEST } from "../../src/resources/issuables/merge-request.ts";
import { ask } from "../graphql/ask.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const SITE = "/projects/acme%2Fsite";

beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const NONE = {
  time_estimate: 0,
  total_time_spent: 0,
  human_time_estimate: null,
  human_total_time_spent: null,
};

const problems = async () => (await check(app.store)).flatMap((one) => one.problems);

describe.each([ISSUE, MERGE_REQUEST])("the time of $one", ({ path, table, column }) => {
  let branch = 0;
  const create = async (json: object = {}) => {
    branch += 1;
    const { json: made } = await app.call(`POST ${SITE}/${path}`, {
      as: "developer",
      json: { title: "Work", source_branch: `b${branch}`, target_branch: "main", ...json },
    });
    return `${SITE}/${path}/${made.iid}`;
  };
  const send = (at: string, what: string, json: object = {}, as: Person = "reporter") =>
    app.call(`POST ${at}/${what}`, { as, json });

  it("is estimated and spent, as its answers say", async () => {
    const at = await create();
    const { status, json } = await app.call(`GET ${at}/time_stats`);
    expect([status, json]).toEqual([200, NONE]);
    const estimated = await send(at, "time_estimate", { duration: "1w" });
    expect([estimated.status, estimated.json]).toEqual([
      200,
      { ...NONE, time_estimate: 144_000, human_time_estimate: "1w" },
    ]);
    const spent = await send(at, "add_spent_time", { duration: "2h", summary: "Thinking" });
    const both = {
      time_estimate: 144_000,
      total_time_spent: 7200,
      human_time_estimate: "1w",
      human_total_time_spent: "2h",
    };
    expect([spent.status, spent.json]).toEqual([201, both]);
    expect((await send(at, "add_spent_time", { duration: "1h" })).json.total_time_spent).toBe(
      10_800,
    );
    expect((await send(at, "add_spent_time", { duration: "-1h" })).json).toEqual(both);
    expect((await app.call(`GET ${at}/time_stats`)).json).toEqual(both);
    expect((await app.call(`GET ${at}`)).json.time_stats).toEqual(both);
    const { json: listed } = await app.call(`GET ${SITE}/${path}`);
    expect(listed[0].time_stats).toEqual(both);
    const without = await send(at, "reset_time_estimate");
    expect([without.status, without.json.time_estimate]).toEqual([200, 0]);
    const reset = await send(at, "reset_spent_time");
    expect([reset.status, reset.json]).toEqual([200, NONE]);
    expect((await send(at, "reset_spent_time")).json).toEqual(NONE);
    const kept = await app.store.rows(
      `select l.time_spent, l.summary, u.username from timelogs l join users u on u.id = l.user_id
       where l.${column} = (select max(id) from ${table}) order by l.id`,
    );
    expect(kept).toEqual([
      [7200, "Thinking", "reporter"],
      [3600, null, "reporter"],
      [-3600, null, "reporter"],
      [-7200, null, "reporter"],
    ]);
    expect(await problems()).toEqual([]);
  });

  it.each([
    ["1mo 2w 3d 4h 5m 6s", 576_000 + 288_000 + 86_400 + 14_706, "1mo 2w 3d 4h 5m 6s"],
    ["3h30m", 12_600, "3h 30m"],
    ["  1D   2 H ", 36_000, "1d 2h"],
    ["1.5h", 5400, "1h 30m"],
    ["2", 7200, "2h"],
    ["0.5", 1800, "30m"],
    ["0", 0, null],
    ["5d", 144_000, "1w"],
    ["1s 1s", 2, "2s"],
  ])("takes %j as an estimate", async (duration, seconds, words) => {
    const { json } = await send(await create(), "time_estimate", { duration });
    expect([json.time_estimate, json.human_time_estimate]).toEqual([seconds, words]);
  });

  it.each(["", " ", "-", "x", "1x", "h", "1h 30", "1 2h", "1h-1m", "-1h", "1e3", "99999mo"])(
    "refuses %j as an estimate",
    async (duration) => {
      const at = await create();
      const { status, json } = await send(at, "time_estimate", { duration });
      expect([status, json.message]).toEqual([
        400,
        expect.stringContaining("Time estimate must have a valid format"),
      ]);
    },
  );

  it("can be neither negative nor more than a year", async () => {
    const at = await create();
    const refused = async (duration: string) => {
      const { status, json } = await send(at, "add_spent_time", { duration });
      return [status, json];
    };
    await send(at, "add_spent_time", { duration: "2h" });
    const base = (text: string) => [400, { message: { base: [text] } }];
    expect(await refused("-1w")).toEqual(base("Time to subtract exceeds the total time spent"));
    expect(await refused("8765h")).toEqual(base("Total time spent cannot exceed a year."));
    expect(await refused("soon")).toEqual([400, { message: { duration: ["is invalid"] } }]);
    const missing = await send(at, "add_spent_time");
    expect([missing.status, missing.json.message]).toEqual([
      400,
      '400 (Bad request) "duration" not given',
    ]);
    const nothing = await send(at, "add_spent_time", { duration: "0h" });
    expect([nothing.status, nothing.json.total_time_spent]).toEqual([201, 7200]);
    expect((await send(at, "add_spent_time", { duration: "-2h" })).json).toEqual(NONE);
  });

  it("is changed by reporters, and changes when it was updated", async () => {
    const at = await create();
    for (const what of ["time_estimate", "add_spent_time"]) {
      for (const as of ["stranger", "guest"] as const) {
        expect((await send(at, what, { duration: "1h" }, as)).status).toBe(403);
      }
    }
    const before = await app.call(`GET ${at}`);
    await send(at, "add_spent_time", { duration: "1h" });
    const after = await app.call(`GET ${at}`);
    expect(after.json.updated_at > before.json.updated_at).toBe(true);
  });

  it("is less when an entry is removed, and goes when it is deleted", async () => {
    const at = await create();
    await send(at, "add_spent_time", { duration: "1h" });
    await send(at, "add_spent_time", { duration: "2h" });
    const [first] = await app.store.rows("select max(id) - 1 from timelogs");
    const input = `{ id: "gid://gitlab/Timelog/${first?.[0]}" }`;
    await ask(app, `mutation { timelogDelete(input: ${input}) { errors } }`);
    expect((await app.call(`GET ${at}/time_stats`)).json.total_time_spent).toBe(7200);
    expect(await problems()).toEqual([]);
    await app.call(`DELETE ${at}`, { as: "owner" });
    const left = await app.store.rows(
      `select 1 from timelogs where ${column} not in (select id from ${table})`,
    );
    expect(left).toEqual([]);
  });
});

it("the time of a moved issue goes along", async () => {
  const { json } = await app.call(`POST ${SITE}/issues`, { as: "owner", json: { title: "Moved" } });
  const at = `${SITE}/issues/${json.iid}`;
  await app.call(`POST ${at}/time_estimate`, { as: "owner", json: { duration: "1d" } });
  await app.call(`POST ${at}/add_spent_time`, { as: "owner", json: { duration: "1h" } });
  const { id } = (await app.call("GET /projects/acme%2Fteam%2Fcore", { as: "owner" })).json;
  const moved = await app.call(`POST ${at}/move`, { as: "owner", json: { to_project_id: id } });
  expect(moved.json.time_stats).toMatchObject({ time_estimate: 28_800, total_time_spent: 3600 });
  expect(await problems()).toEqual([]);
});

it("the time of a deleted user stays, as the ghost user's", async () => {
  const other = await testApp();
  const { json } = await other.call(`POST ${SITE}/issues`, { as: "owner", json: { title: "T" } });
  const at = `${SITE}/issues/${json.iid}`;
  await other.call(`POST ${at}/add_spent_time`, { as: "developer", json: { duration: "1h" } });
  const [user] = (await other.call("GET /users?username=developer", { as: "admin" })).json;
  await other.call(`DELETE /users/${user.id}`, { as: "admin" });
  expect((await other.call(`GET ${at}/time_stats`)).json.total_time_spent).toBe(3600);
  expect(
    await other.store.rows("select u.username from timelogs l join users u on u.id = l.user_id"),
  ).toEqual([["ghost"]]);
  await other.dispose();
});
