import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { type Hooked, startHooked } from "./_hooks.ts";

const PROJECT = "/projects/acme%2Fsite";
const FLAGS = `${PROJECT}/feature_flags`;
const LISTS = `${PROJECT}/feature_flags_user_lists`;
const version = "new_version_flag";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const call: TestApp["call"] = (request, options) =>
  app.call(request, { as: "developer", ...options });

async function made(name: string, more: object = {}) {
  const added = await call(`POST ${FLAGS}`, { json: { name, version, ...more } });
  expect([added.status, added.text]).toEqual([201, added.text]);
  return added.json;
}

const everywhere = { name: "default", parameters: {}, scopes: [{ environment_scope: "*" }] };

describe("flags", () => {
  it("are made, shown, listed by state, changed and deleted", async () => {
    const added = await made("new_search", { description: "Faster", strategies: [everywhere] });
    const [{ id, scopes }] = added.strategies;
    expect(added).toEqual({
      name: "new_search",
      description: "Faster",
      active: true,
      version,
      created_at: added.created_at,
      updated_at: added.updated_at,
      scopes: [],
      strategies: [{ id, name: "default", parameters: {}, scopes, user_list: null }],
    });
    expect(scopes).toEqual([{ id: expect.any(Number), environment_scope: "*" }]);
    expect((await call(`GET ${FLAGS}/new_search`)).json).toEqual(added);
    const namesOf = async (scope: string) =>
      (await call(`GET ${FLAGS}?scope=${scope}`)).json.map(({ name }: { name: string }) => name);
    expect([await namesOf("enabled"), await namesOf("disabled")]).toEqual([["new_search"], []]);
    const off = await call(`PUT ${FLAGS}/new_search`, { json: { active: false } });
    expect([off.status, off.json.active, off.json.strategies]).toEqual([
      200,
      false,
      added.strategies,
    ]);
    expect(await namesOf("disabled")).toEqual(["new_search"]);
    const gone = await call(`DELETE ${FLAGS}/new_search`);
    expect([gone.status, gone.json.name]).toEqual([200, "new_search"]);
    expect((await call(`GET ${FLAGS}/new_search`)).status).toBe(404);
  });

  it("change strategies and scopes by their ids", async () => {
    const { strategies } = await made("steps", {
      strategies: [
        everywhere,
        {
          name: "userWithId",
          parameters: { userIds: "a,b" },
          scopes: [{ environment_scope: "p" }],
        },
      ],
    });
    const [first, second] = strategies;
    const json = {
      name: "steps_2",
      strategies: [
        { id: first.id, _destroy: true },
        {
          id: second.id,
          parameters: { userIds: "c" },
          scopes: [
            { id: second.scopes[0].id, environment_scope: "q" },
            { environment_scope: "review/*" },
          ],
        },
      ],
    };
    const changed = await call(`PUT ${FLAGS}/steps`, { json });
    expect(changed.json.strategies).toEqual([
      {
        id: second.id,
        name: "userWithId",
        parameters: { userIds: "c" },
        scopes: [
          { id: second.scopes[0].id, environment_scope: "q" },
          { id: expect.any(Number), environment_scope: "review/*" },
        ],
        user_list: null,
      },
    ]);
    const unknown = await call(`PUT ${FLAGS}/steps_2`, { json: { strategies: [{ id: 99 }] } });
    expect(unknown.status).toBe(404);
    await call(`DELETE ${FLAGS}/steps_2`);
  });

  it.each([
    [{ name: "1a" }, /^Name can contain only lowercase letters/],
    [{ name: "a".repeat(64) }, "Name is too long (maximum is 63 characters)"],
    [{ name: "taken" }, "Name has already been taken"],
    [{ version: "legacy_flag" }, "Version is invalid"],
    [{ strategies: [{ name: "none" }] }, "Strategies name strategy name is invalid"],
    [
      { strategies: [{ name: "default", parameters: { a: "b" } }] },
      "Strategies parameters must be empty",
    ],
    [
      { strategies: [{ name: "default", parameters: { a: 1 } }] },
      "Strategies parameters must be an object of texts",
    ],
    [
      { strategies: [{ name: "userWithId", parameters: {} }] },
      "Strategies parameters parameters are invalid",
    ],
    [
      { strategies: [{ name: "userWithId", parameters: { userIds: "a,a" } }] },
      "Strategies parameters userIds must be a string of unique comma separated values each 256 characters or less",
    ],
    [
      {
        strategies: [
          { name: "gradualRolloutUserId", parameters: { groupId: "d", percentage: "101" } },
        ],
      },
      "Strategies parameters percentage must be a string between 0 and 100 inclusive",
    ],
    [
      {
        strategies: [
          { name: "flexibleRollout", parameters: { groupId: "d", rollout: "5", stickiness: "x" } },
        ],
      },
      "Strategies parameters stickiness parameter must be default, userId, sessionId, or random",
    ],
    [{ strategies: [{ name: "gitlabUserList" }] }, "Strategies user list can't be blank"],
    [
      { strategies: [{ name: "gitlabUserList", user_list_id: 999 }] },
      "Strategies user list must belong to the same project",
    ],
    [
      {
        strategies: [
          { name: "default", scopes: [{ environment_scope: "a" }, { environment_scope: "a" }] },
        ],
      },
      "Strategies scopes environment scope has already been taken",
    ],
    [
      {
        strategies: [
          {
            name: "userWithId",
            parameters: { userIds: Array.from({ length: 4000 }, (_, at) => `u${at}`).join(",") },
          },
        ],
      },
      "Strategies are too long (maximum is 16384 characters)",
    ],
  ])("refuse %j", async (json, problem) => {
    if ((await call(`GET ${FLAGS}/taken`)).status === 404) await made("taken");
    const answer = await call(`POST ${FLAGS}`, { json: { name: "other", version, ...json } });
    expect([answer.status, answer.json]).toEqual([
      400,
      { message: [typeof problem === "string" ? problem : expect.stringMatching(problem)] },
    ]);
  });

  it("are for developers", async () => {
    expect((await call(`GET ${FLAGS}`, { as: "reporter" })).status).toBe(403);
    expect((await call(`POST ${PROJECT}/feature_flags_client/reset_token`)).status).toBe(403);
  });

  it("are at most two hundred of a project", async () => {
    const project = await app.call("POST /projects", { as: "owner", json: { name: "many" } });
    const insert = `insert into feature_flags (project_id, name, active, strategies, next_id, created_at, updated_at)
      values (?, ?, 1, '[]', 1, 1, 1)`;
    await app.store.transaction(async (db) => {
      for (let at = 0; at < 200; at += 1) await db.run(insert, [project.json.id, `f${at}`]);
    });
    const json = { name: "one_more", version };
    const path = `/projects/${project.json.id}/feature_flags`;
    const answer = await app.call(`POST ${path}`, { as: "owner", json });
    expect([answer.status, answer.json.message]).toEqual([
      400,
      ["Project has too many feature flags (maximum is 200)"],
    ]);
  });
});

describe("lists of users", () => {
  it("are made, searched, changed, and deleted unless a strategy has them", async () => {
    const added = await call(`POST ${LISTS}`, { json: { name: "Testers", user_xids: "1,2" } });
    const { id, iid, created_at, updated_at } = added.json;
    const { json: site } = await call(`GET ${PROJECT}`);
    expect([added.status, added.json]).toEqual([
      201,
      { id, iid, project_id: site.id, name: "Testers", user_xids: "1,2", created_at, updated_at },
    ]);
    expect((await call(`GET ${LISTS}?search=test`)).json).toEqual([added.json]);
    expect((await call(`GET ${LISTS}?search=other`)).json).toEqual([]);
    const again = await call(`POST ${LISTS}`, { json: { name: "Testers", user_xids: "" } });
    expect([again.status, again.json.message]).toEqual([400, ["Name has already been taken"]]);
    const changed = await call(`PUT ${LISTS}/${iid}`, { json: { user_xids: "3" } });
    expect([changed.status, changed.json.user_xids]).toEqual([200, "3"]);
    const wrong = await call(`PUT ${LISTS}/${iid}`, { json: { user_xids: "3, 4" } });
    expect(wrong.status).toBe(400);
    const strategies = [{ name: "gitlabUserList", user_list_id: id, scopes: [] }];
    const flag = await made("listed", { strategies });
    expect(flag.strategies[0].user_list).toEqual({ id, iid, name: "Testers", user_xids: "3" });
    const used = await call(`DELETE ${LISTS}/${iid}`);
    expect([used.status, used.json.message]).toEqual([
      409,
      "User list is associated with a strategy",
    ]);
    await call(`DELETE ${FLAGS}/listed`);
    expect((await call(`DELETE ${LISTS}/${iid}`)).status).toBe(204);
    expect((await call(`GET ${LISTS}/${iid}`)).status).toBe(404);
  });
});

it("at most fifty strategies of a project have a list of users", async () => {
  const project = await app.call("POST /projects", { as: "owner", json: { name: "listed" } });
  const path = `/projects/${project.json.id}`;
  const ask = (request: string, json: object) => app.call(request, { as: "owner", json });
  const list = { name: "A", user_xids: "1" };
  const { json } = await ask(`POST ${path}/feature_flags_user_lists`, list);
  const listed = { name: "gitlabUserList", user_list_id: json.id };
  const some = (count: number) => Array.from({ length: count }, () => listed);
  for (const [name, count, status] of [
    ["a", 20, 201],
    ["b", 20, 201],
    ["c", 11, 400],
    ["c", 10, 201],
  ] as const) {
    const flag = { name, version, strategies: some(count) };
    expect([name, (await ask(`POST ${path}/feature_flags`, flag)).status]).toEqual([name, status]);
  }
  const more = await ask(`PUT ${path}/feature_flags/c`, { strategies: some(1) });
  expect([more.status, more.json.message]).toEqual([
    400,
    ["Project has too many strategies with user lists (maximum is 50)"],
  ]);
});

describe("Unleash's clients", () => {
  const reset = async () =>
    (await call(`POST ${PROJECT}/feature_flags_client/reset_token`, { as: "maintainer" })).json
      .token;
  let base = "";
  beforeAll(async () => {
    base = `/feature_flags/unleash/${(await call(`GET ${PROJECT}`)).json.id}`;
  });
  const ask = (path: string, token: string, environment: string) =>
    app.call(`GET ${base}${path}`, {
      headers: { "unleash-instanceid": token, "unleash-appname": environment },
    });

  it("read the flags of their environment with the project's token, until there is another", async () => {
    const { json: list } = await call(`POST ${LISTS}`, { json: { name: "A", user_xids: "7,8" } });
    await made("everywhere", { strategies: [everywhere], active: false });
    await made("reviewed", {
      strategies: [
        {
          name: "gitlabUserList",
          user_list_id: list.id,
          scopes: [{ environment_scope: "review/*" }],
        },
        {
          name: "flexibleRollout",
          parameters: { groupId: "d", rollout: "50", stickiness: "userId" },
          scopes: [{ environment_scope: "production" }],
        },
      ],
    });
    const token = await reset();
    const off = {
      name: "everywhere",
      description: "",
      enabled: false,
      strategies: [{ name: "default", parameters: {} }],
    };
    const on = (strategy: object) => ({
      name: "reviewed",
      description: "",
      enabled: true,
      strategies: [strategy],
    });
    const inReview = await ask("/client/features", token, "review/7");
    expect([inReview.status, inReview.json]).toEqual([
      200,
      { version: 1, features: [off, on({ name: "userWithId", parameters: { userIds: "7,8" } })] },
    ]);
    const inProduction = await ask("/features", token, "production");
    const rollout = { groupId: "d", rollout: "50", stickiness: "userId" };
    expect(inProduction.json.features[1]).toEqual(
      on({ name: "flexibleRollout", parameters: rollout }),
    );
    expect((await ask("/client/features", token, "other")).json.features).toEqual([off]);
    const byQuery = `GET ${base}/client/features?instance_id=${token}&app_name=other`;
    expect((await app.call(byQuery)).json.features).toEqual([off]);
    for (const path of ["register", "metrics"]) {
      const headers = { "unleash-instanceid": token };
      const told = await app.call(`POST ${base}/client/${path}`, { headers, json: { a: 1 } });
      expect([path, told.status]).toEqual([path, 200]);
    }
    expect(await reset()).not.toBe(token);
    for (const wrong of [token, "", "glffct-x"]) {
      const refused = await ask("/client/features", wrong, "production");
      expect([refused.status, refused.json]).toEqual([401, { message: "401 Unauthorized" }]);
    }
    const stored = await app.store.rows("select * from feature_flag_clients");
    expect(JSON.stringify(stored)).not.toContain("glffct");
  });
});

describe("webhooks", () => {
  let hooked: Hooked;
  beforeAll(async () => {
    hooked = await startHooked();
  });
  afterAll(() => hooked.dispose());

  it("are told when a flag is switched", async () => {
    await hooked.listen(PROJECT, "feature_flag");
    await hooked.call(`POST ${FLAGS}`, { name: "told", version });
    await hooked.call(`PUT ${FLAGS}/told`, { description: "Still on" });
    await hooked.call(`PUT ${FLAGS}/told`, { active: false });
    const [sent] = await hooked.next();
    expect(sent).toMatchObject({
      event: "Feature Flag Hook",
      object_kind: "feature_flag",
      user: { username: "maintainer" },
      user_url: "https://pm.example.com/maintainer",
      object_attributes: { name: "told", description: "Still on", active: false },
      project: { path_with_namespace: "acme/site" },
    });
  });
});
