// Protected environments of projects and groups: how they are asked for, and who may deploy then, and with whose approval.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject } from "./_pipelines.ts";

let app: TestApp;
/** The ids of people and groups. */
const ids: Record<string, number> = {};
beforeAll(async () => {
  app = await testApp({ background: false });
  for (const user of (await app.call("GET /users?per_page=100", { as: "admin" })).json) {
    ids[user.username] = user.id;
  }
  for (const group of (await app.call("GET /groups", { as: "admin" })).json) {
    ids[group.path] = group.id;
  }
});
afterAll(() => app.dispose());

const SHIP = `
build: {stage: build, script: [make]}
ship: {stage: deploy, script: [deploy], environment: {name: production, on_stop: close}}
close: {stage: deploy, script: [close], when: manual, environment: {name: production, action: stop}}
`;
const BY_HAND = "ship: {script: [deploy], environment: production, when: manual}\n";

let project: CiProject;
let projects = 0;
async function newProject(configuration: string): Promise<void> {
  projects += 1;
  project = await ciProject(app, `guarded${projects}`, configuration);
}
beforeEach(() => newProject(SHIP));

const call = (method: string, path = "", json: object = {}, as: Person = "maintainer") =>
  project.call(`${method} /protected_environments${path}`, {
    as,
    ...(method !== "GET" && { json }),
  });
async function protect(deploy_access_levels: object[], approval_rules?: object[]) {
  const json = { name: "production", deploy_access_levels, approval_rules };
  const made = await call("POST", "", json);
  expect(made.status, made.text).toBe(201);
  return made.json;
}

type Jobs = Readonly<Record<string, number>>;
/** Starts a pipeline, and returns the ids of its jobs by their names. */
async function start(as: Person = "developer"): Promise<Jobs> {
  const made = await project.call("POST /pipeline", { as, json: { ref: "main" } });
  expect(made.status, made.text).toBe(201);
  const { json } = await project.call(`GET /pipelines/${made.json.id}/jobs`, { as });
  return Object.fromEntries(json.map(({ name, id }: { name: string; id: number }) => [name, id]));
}
const finish = (id: number | undefined) =>
  app.admin.jobs.finish(id as number, { status: "success" });
const jobOf = async (id: number | undefined) =>
  (await project.call(`GET /jobs/${id}`, { as: "developer" })).json;
const act = (id: number | undefined, what: string, as: Person) =>
  project.call(`POST /jobs/${id}/${what}`, { as });
const deployment = async () => {
  const { json } = await project.call("GET /deployments?sort=desc", { as: "developer" });
  return json[0];
};
const say = (id: number, json: object, as: Person = "maintainer") =>
  project.call(`POST /deployments/${id}/approval`, { as, json });

const grant = {
  id: expect.any(Number),
  access_level: null,
  user_id: null,
  group_id: null,
  group_inheritance_type: 0,
};
const MAINTAINERS = { ...grant, access_level: 40, access_level_description: "Maintainers" };

describe("protected environments of a project", () => {
  it("are added, listed, changed and removed", async () => {
    const made = await protect(
      [{ access_level: 40 }, { user_id: ids["developer"] }],
      [{ group_id: ids["secret"], group_inheritance_type: 1, required_approvals: 2 }],
    );
    const developer = {
      ...grant,
      user_id: ids["developer"],
      access_level_description: "The developer",
    };
    const rule = {
      ...grant,
      group_id: ids["secret"],
      group_inheritance_type: 1,
      access_level_description: "Secret",
      required_approvals: 2,
    };
    const expected = {
      name: "production",
      deploy_access_levels: [MAINTAINERS, developer],
      required_approval_count: 0,
      approval_rules: [rule],
    };
    expect(made).toEqual(expected);
    expect((await call("GET")).json).toEqual([expected]);
    expect((await call("GET", "/production")).json).toEqual(expected);
    const [first, second] = made.deploy_access_levels;
    const changed = await call("PUT", "/production", {
      deploy_access_levels: [
        { id: first.id, _destroy: true },
        { id: second.id, access_level: 30 },
        { access_level: 60 },
      ],
      approval_rules: [{ id: made.approval_rules[0].id, required_approvals: 1 }],
    });
    expect([changed.status, changed.json]).toEqual([
      200,
      {
        ...expected,
        deploy_access_levels: [
          { ...grant, access_level: 30, access_level_description: "Developers + Maintainers" },
          { ...grant, access_level: 60, access_level_description: "Instance admins" },
        ],
        approval_rules: [{ ...rule, required_approvals: 1 }],
      },
    ]);
    expect((await call("DELETE", "/production")).status).toBe(204);
    for (const method of ["GET", "PUT", "DELETE"]) {
      const gone = await call(method, "/production");
      expect([gone.status, gone.json]).toEqual([404, { message: "404 Not found" }]);
    }
    const review = { name: "review/x", deploy_access_levels: [{ access_level: 40 }] };
    await call("POST", "", review);
    expect((await call("GET", "/review%2Fx")).json.name).toBe("review/x");
  });

  it.each([
    [{ deploy_access_levels: [] }, 400, '400 (Bad request) "name" not given'],
    [{ name: "x" }, 400, '400 (Bad request) "deploy_access_levels" not given'],
    [{ name: "x", deploy_access_levels: [{ access_level: 50 }] }, 400, expect.any(Object)],
    [
      { name: "production", deploy_access_levels: [{ access_level: 40 }] },
      409,
      "Protected environment 'production' already exists",
    ],
    [
      { name: "x", deploy_access_levels: [{ user_id: 4711 }] },
      422,
      ["Deploy access levels user must be a member of the project"],
    ],
    [
      { name: "x", deploy_access_levels: [], approval_rules: [{ group_id: 4711 }] },
      422,
      ["Approval rules group must have access to the project"],
    ],
    [
      { name: "x", deploy_access_levels: [{ group_inheritance_type: 1 }] },
      422,
      ["Deploy access levels must have one of access level, user and group in each entry"],
    ],
    [{ name: "a  b?", deploy_access_levels: [] }, 422, [expect.stringMatching(/^Name can/)]],
    [
      { name: "x", deploy_access_levels: [], required_approval_count: 1 },
      400,
      { required_approval_count: [expect.any(String)] },
    ],
  ])("are refused with %j", async (json, status, message) => {
    await protect([{ access_level: 40 }]);
    const answer = await call("POST", "", json);
    expect([answer.status, answer.json]).toEqual([status, { message }]);
    expect((await call("GET")).json).toHaveLength(1);
  });

  it("are for maintainers, and audited", async () => {
    await protect([{ access_level: 40 }]);
    expect((await call("GET", "", {}, "developer")).status).toBe(403);
    await call("PUT", "/production", { deploy_access_levels: [] });
    await call("DELETE", "/production");
    const { json } = await app.call("GET /audit_events?per_page=3", { as: "admin" });
    expect(json.map((one: { details: object }) => one.details)).toMatchObject([
      { custom_message: "environment unprotected" },
      { custom_message: "environment protection changed" },
      { custom_message: "environment protected" },
    ]);
  });
});

describe("deploying", () => {
  it("fails for whoever may not; others may", async () => {
    await protect([{ access_level: 40 }]);
    const refused = await start();
    await finish(refused["build"]);
    expect(await jobOf(refused["ship"])).toMatchObject({
      status: "failed",
      failure_reason: "protected_environment_failure",
      started_at: null,
    });
    expect(await deployment()).toMatchObject({ status: "failed" });
    expect((await act(refused["ship"], "retry", "developer")).status).toBe(403);
    const retried = await act(refused["ship"], "retry", "maintainer");
    expect([retried.status, retried.json.status]).toEqual([201, "pending"]);
    const made = await start("maintainer");
    await finish(made["build"]);
    expect((await jobOf(made["ship"])).status).toBe("pending");
  });

  it.each<[string, object, boolean]>([
    ["a user", { user: "developer" }, true],
    ["another user", { user: "reporter" }, false],
    ["a group", { group: "secret" }, true],
    ["developers", { access_level: 30 }, true],
    ["administrators", { access_level: 60 }, false],
  ])("may be for %s", async (_, grant, may) => {
    const { user, group, ...level } = grant as { user?: string; group?: string };
    const entry = {
      ...level,
      ...(user && { user_id: ids[user] }),
      ...(group && { group_id: ids[group] }),
    };
    await protect([entry]);
    const jobs = await start();
    await finish(jobs["build"]);
    expect((await jobOf(jobs["ship"])).status).toBe(may ? "pending" : "failed");
  });

  it("by hand is refused, and so is stopping, and recording a deployment", async () => {
    const first = await start();
    await finish(first["build"]);
    await finish(first["ship"]);
    const [{ id: environment }] = (await project.call("GET /environments", { as: "developer" }))
      .json;
    await protect([{ access_level: 40 }]);
    expect((await act(first["close"], "play", "developer")).status).toBe(403);
    const stop = `POST /environments/${environment}/stop`;
    expect((await project.call(stop, { as: "developer" })).status).toBe(403);
    const json = {
      environment: "production",
      sha: project.sha,
      ref: "main",
      tag: false,
      status: "success",
    };
    expect((await project.call("POST /deployments", { as: "developer", json })).status).toBe(403);
    const made = await project.call("POST /deployments", { as: "maintainer", json });
    expect(made.status).toBe(201);
    expect((await project.call(stop, { as: "maintainer" })).status).toBe(200);
  });

  it("is not given to runners whose job may not deploy any more", async () => {
    const jobs = await start();
    await finish(jobs["build"]);
    expect((await jobOf(jobs["ship"])).status).toBe("pending");
    await protect([{ access_level: 40 }]);
    const runner = { runner_type: "project_type", project_id: project.id };
    const { token } = (await app.call("POST /user/runners", { as: "owner", json: runner })).json;
    const asked = await app.call("POST /jobs/request", { json: { token } });
    expect(asked.status).toBe(204);
    expect(await jobOf(jobs["ship"])).toMatchObject({
      status: "failed",
      failure_reason: "protected_environment_failure",
    });
  });

  it("follows the tiers that groups protect", async () => {
    const { json: group } = await app.call("POST /groups", {
      as: "owner",
      json: { name: `tiers${projects}`, path: `tiers${projects}` },
    });
    const request = (method: string, path: string, json: object) =>
      app.call(`${method} /groups/${group.id}/protected_environments${path}`, {
        as: "owner",
        json,
      });
    const wrong = await request("POST", "", { name: "prod", deploy_access_levels: [] });
    expect([wrong.status, wrong.json]).toEqual([
      422,
      { message: ["Name is not included in the list"] },
    ]);
    await app.call(`PUT /projects/${project.id}/transfer`, {
      as: "owner",
      json: { namespace: group.id },
    });
    const member = { user_id: ids["developer"], access_level: 30 };
    await app.call(`POST /groups/${group.id}/members`, { as: "owner", json: member });
    const owners = { name: "production", deploy_access_levels: [{ access_level: 50 }] };
    const made = await request("POST", "", owners);
    expect([made.status, made.json.deploy_access_levels]).toMatchObject([
      201,
      [{ access_level: 50, access_level_description: "Owners" }],
    ]);
    const refused = await start();
    await finish(refused["build"]);
    expect((await jobOf(refused["ship"])).failure_reason).toBe("protected_environment_failure");
    const levels = { deploy_access_levels: [{ access_level: 30 }] };
    expect((await request("PUT", "/production", levels)).status).toBe(200);
    const let_ = await start();
    await finish(let_["build"]);
    expect((await jobOf(let_["ship"])).status).toBe("pending");
  });
});

describe("approvals", () => {
  const rules = [
    { access_level: 40, required_approvals: 1 },
    { user_id: 0, required_approvals: 1 },
  ];
  const guard = () =>
    protect(
      [{ access_level: 30 }],
      [rules[0] as object, { ...rules[1], user_id: ids["reporter"] }],
    );

  it("block a deployment until all rules have theirs; then its job starts", async () => {
    await guard();
    const jobs = await start();
    await finish(jobs["build"]);
    expect((await jobOf(jobs["ship"])).status).toBe("manual");
    const blocked = await deployment();
    expect(blocked).toMatchObject({
      status: "blocked",
      pending_approval_count: 2,
      approvals: [],
      approval_summary: {
        rules: [
          {
            user_id: null,
            group_id: null,
            access_level: 40,
            access_level_description: "Maintainers",
            required_approvals: 1,
            deployment_approvals: [],
          },
          { user_id: ids["reporter"], access_level_description: "The reporter" },
        ],
      },
    });
    const played = await act(jobs["ship"], "play", "developer");
    expect([played.status, played.json]).toEqual([
      400,
      { message: "400 Bad request - Unplayable Job" },
    ]);
    const own = await say(blocked.id, { status: "approved" }, "developer");
    expect([own.status, own.json]).toEqual([
      400,
      { message: "You cannot approve your own deployment." },
    ]);
    const first = await say(blocked.id, { status: "approved", comment: "Go" });
    const approval = {
      user: expect.objectContaining({ username: "maintainer" }),
      status: "approved",
      created_at: expect.any(String),
      comment: "Go",
    };
    expect([first.status, first.json]).toEqual([201, approval]);
    const one = await project.call(`GET /deployments/${blocked.id}`, { as: "developer" });
    expect(one.json).toMatchObject({
      status: "blocked",
      pending_approval_count: 1,
      approvals: [approval],
      approval_summary: { rules: [{ deployment_approvals: [approval] }, {}] },
    });
    const named = { status: "approved", represented_as: "Nobody" };
    expect((await say(blocked.id, named, "reporter")).status).toBe(400);
    const last = { status: "approved", represented_as: "The reporter" };
    expect((await say(blocked.id, last, "reporter")).status).toBe(201);
    expect(await jobOf(jobs["ship"])).toMatchObject({ status: "pending" });
    expect(await deployment()).toMatchObject({ status: "created", pending_approval_count: 0 });
    const late = await say(blocked.id, { status: "approved" });
    expect([late.status, late.json]).toEqual([
      400,
      { message: "This deployment is not waiting for approvals." },
    ]);
    await finish(jobs["ship"]);
    expect((await deployment()).status).toBe("success");
  });

  it("that are refused end the job", async () => {
    await guard();
    const jobs = await start();
    await finish(jobs["build"]);
    const { id } = await deployment();
    const outsider = await say(id, { status: "approved" }, "owner");
    expect(outsider.status).toBe(201);
    expect((await say(id, { status: "rejected" })).status).toBe(201);
    expect(await jobOf(jobs["ship"])).toMatchObject({
      status: "failed",
      failure_reason: "deployment_rejected",
    });
    expect(await deployment()).toMatchObject({ status: "failed", pending_approval_count: 0 });
  });

  it("are asked for once somebody starts a job by hand", async () => {
    await newProject(BY_HAND);
    await guard();
    const jobs = await start();
    expect((await deployment()).status).toBe("created");
    const played = await act(jobs["ship"], "play", "developer");
    expect([played.status, played.json.status]).toEqual([200, "manual"]);
    const { id, status } = await deployment();
    expect(status).toBe("blocked");
    await say(id, { status: "approved" });
    await say(id, { status: "approved" }, "reporter");
    expect((await jobOf(jobs["ship"])).status).toBe("pending");
  });

  it("are for those whom a rule names, of deployments that there are", async () => {
    await protect([{ access_level: 30 }], [{ access_level: 40 }]);
    const jobs = await start("maintainer");
    await finish(jobs["build"]);
    const { id } = await deployment();
    expect((await say(id, { status: "approved" }, "guest")).status).toBe(403);
    expect((await say(id, { status: "approved" }, "developer")).status).toBe(400);
    expect((await say(4711, { status: "approved" })).status).toBe(404);
    expect((await say(id, { status: "maybe" })).json).toEqual({
      message: { status: ["does not have a valid value"] },
    });
  });
});
