import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CiProject, ciProject, THREE_STAGES } from "../api/_pipelines.ts";
import { everyone, type Person, type TestApp, testApp } from "../helpers.ts";
import { ask, messagesOf, NOT_AVAILABLE, post, send } from "./ask.ts";

let app: TestApp;
let project: CiProject;
/** Numbers of groups, projects and runners by their names. */
const ids: Record<string, number> = {};
/** The tokens of runners. */
const tokens: Record<string, string> = {};

const gid = (type: string, id: number | undefined) => `gid://gitlab/${type}/${id}`;
const runnerGid = (name: string) => gid("Ci::Runner", ids[name]);

async function make(name: string, place: object, more: object = {}) {
  const { json, status, text } = await app.call("POST /user/runners", {
    as: "admin",
    json: { ...place, description: `Runner ${name}`, ...more },
  });
  expect([status, text]).toEqual([201, text]);
  ids[name] = json.id;
  tokens[name] = json.token;
}

const heard = (name: string) =>
  app.call("POST /jobs/request", {
    json: {
      token: tokens[name],
      system_id: "s_1",
      info: { version: "17.1.0", revision: "abc", platform: "linux", architecture: "amd64" },
    },
    ip: "192.0.2.7",
  });

beforeAll(async () => {
  app = await testApp();
  project = await ciProject(app, "built", THREE_STAGES);
  ids["built"] = project.id;
  for (const path of ["acme", "acme/team", "secret"]) {
    ids[path] = (
      await app.call(`GET /groups/${encodeURIComponent(path)}`, { as: "admin" })
    ).json.id;
  }
  for (const path of ["acme/site", "acme/team/core", "secret/vault"]) {
    const url = `GET /projects/${encodeURIComponent(path)}`;
    ids[path] = (await app.call(url, { as: "admin" })).json.id;
  }
  const ofGroup = (path: string) => ({ runner_type: "group_type", group_id: ids[path] });
  const ofProject = (path: string) => ({ runner_type: "project_type", project_id: ids[path] });
  await make("shared", { runner_type: "instance_type" }, { tag_list: ["docker", "linux"] });
  await make("of acme", ofGroup("acme"), { tag_list: ["linux"], maintenance_note: "Be careful" });
  await make("of team", ofGroup("acme/team"), { paused: true });
  await make("of secret", ofGroup("secret"));
  await make("of site", ofProject("acme/site"), { locked: true, maximum_timeout: 3600 });
  await make("of core", ofProject("acme/team/core"), { access_level: "ref_protected" });
  await make("of vault", ofProject("secret/vault"));
  await make("of built", ofProject("built"), { run_untagged: true });
  const made = await project.call("POST /pipeline?ref=main", { as: "developer" });
  expect(made.status).toBe(201);
  expect((await heard("of built")).status).toBe(201);
});
afterAll(() => app.dispose());

const FIELDS = `id description runnerType status paused locked runUntagged tagList accessLevel maximumTimeout
  jobExecutionStatus jobCount contactedAt createdAt`;
const FILTERS = `$type: CiRunnerType, $status: CiRunnerStatus, $paused: Boolean, $tagList: [String!], $search: String,
  $first: Int, $after: String`;
const FILTERED =
  "type: $type, status: $status, paused: $paused, tagList: $tagList, search: $search, first: $first, after: $after";
const PAGE = `nodes { ${FIELDS} } pageInfo { hasNextPage endCursor }`;

const LISTS = {
  all: `query All(${FILTERS}) { runners(${FILTERED}) { ${PAGE} } }`,
  owned: `query Owned(${FILTERS}) { currentUser { runners(${FILTERED}) { ${PAGE} } } }`,
  group: `query OfGroup($fullPath: ID!, ${FILTERS}) { group(fullPath: $fullPath) { runners(${FILTERED}) { ${PAGE} } } }`,
  project: `query OfProject($fullPath: ID!, ${FILTERS}) {
    project(fullPath: $fullPath) { runners(${FILTERED}) { ${PAGE} } } }`,
};
type Found = { nodes: { id: string; description: string }[]; pageInfo: object };
/** The connection of an answer. */
const listOf = (data: Record<string, never>): Found => {
  const [root] = Object.values(data) as unknown as [Found | { runners: Found }];
  return "runners" in root ? root.runners : root;
};
const named = (found: Found) =>
  found.nodes.map(({ description }) => description.replace("Runner ", ""));
const namesOf = async (list: keyof typeof LISTS, variables: object = {}, as: Person = "admin") =>
  named(listOf(await ask(app, LISTS[list], variables, as)));

/** The names of the runners of a REST list; none if it is refused. */
async function restNames(path: string, as: Person): Promise<string[]> {
  const { status, json } = await app.call(`GET ${path}`, { as });
  if (status !== 200) return [];
  return json.map(({ description }: { description: string }) => description.replace("Runner ", ""));
}

describe("runners", () => {
  it("have what REST shows", async () => {
    const { json: rest } = await app.call(`GET /runners/${ids["of built"]}`, { as: "owner" });
    const { runner } = await ask(
      app,
      `query One($id: CiRunnerID!) { runner(id: $id) { ${FIELDS} active maintenanceNote ipAddress version revision
        platformName architectureName executorName shortSha tokenExpiresAt adminUrl projectCount createdBy { username }
        ownerProject { fullPath } projects { count nodes { fullPath } } groups { count nodes { id } }
        managers { count nodes { id systemId status version revision platformName architectureName ipAddress contactedAt
          createdAt jobExecutionStatus runner { id } } } } }`,
      { id: runnerGid("of built") },
    );
    expect(runner).toEqual({
      id: runnerGid("of built"),
      description: rest.description,
      runnerType: "PROJECT_TYPE",
      status: "ONLINE",
      paused: false,
      active: true,
      locked: false,
      runUntagged: true,
      tagList: [],
      accessLevel: "NOT_PROTECTED",
      maximumTimeout: null,
      maintenanceNote: null,
      jobExecutionStatus: "ACTIVE",
      jobCount: 1,
      contactedAt: rest.contacted_at.replace(/\.\d+Z/, "Z"),
      createdAt: rest.created_at.replace(/\.\d+Z/, "Z"),
      createdBy: { username: "admin" },
      ipAddress: rest.ip_address,
      version: "17.1.0",
      revision: "abc",
      platformName: "linux",
      architectureName: "amd64",
      executorName: null,
      shortSha: null,
      tokenExpiresAt: null,
      adminUrl: null,
      projectCount: 1,
      ownerProject: { fullPath: "secret/built" },
      projects: { count: 1, nodes: [{ fullPath: "secret/built" }] },
      groups: { count: 0, nodes: [] },
      managers: {
        count: 1,
        nodes: [
          {
            id: expect.stringMatching(/^gid:\/\/gitlab\/Ci::RunnerManager\/\d+$/),
            systemId: "s_1",
            status: "ONLINE",
            version: "17.1.0",
            revision: "abc",
            platformName: "linux",
            architectureName: "amd64",
            ipAddress: rest.ip_address,
            contactedAt: expect.any(String),
            createdAt: expect.any(String),
            jobExecutionStatus: "ACTIVE",
            runner: { id: runnerGid("of built") },
          },
        ],
      },
    });
    const { runner: other } = await ask(
      app,
      `{ runner(id: "${runnerGid("of acme")}") { ${FIELDS} maintenanceNote groups { nodes { fullPath } } projectCount } }`,
    );
    expect(other).toMatchObject({
      status: "NEVER_CONTACTED",
      runnerType: "GROUP_TYPE",
      tagList: ["linux"],
      maintenanceNote: "Be careful",
      jobExecutionStatus: "IDLE",
      jobCount: 0,
      contactedAt: null,
      groups: { nodes: [{ fullPath: "acme" }] },
      projectCount: null,
    });
  });

  it("have jobs, which those who manage them see", async () => {
    const query = `query Jobs($id: CiRunnerID!, $statuses: [CiJobStatus!], $first: Int, $after: String) {
      runner(id: $id) { id jobs(statuses: $statuses, first: $first, after: $after) {
        nodes { id name status createdAt finishedAt duration webPath runner { id } runnerManager { systemId } }
        pageInfo { hasNextPage endCursor } } } }`;
    const id = runnerGid("of built");
    const { json: rest } = await app.call(`GET /runners/${ids["of built"]}/jobs`, { as: "owner" });
    const data = await ask(app, query, { id, first: 1 });
    expect(data.runner.jobs).toEqual({
      nodes: [
        {
          id: gid("Ci::Build", rest[0].id),
          name: "compile",
          status: "RUNNING",
          createdAt: expect.any(String),
          finishedAt: null,
          duration: null,
          webPath: `/secret/built/-/jobs/${rest[0].id}`,
          runner: { id },
          runnerManager: { systemId: "s_1" },
        },
      ],
      pageInfo: { hasNextPage: false, endCursor: expect.any(String) },
    });
    const failed = await ask(app, query, { id, statuses: ["FAILED"] });
    expect(failed.runner.jobs.nodes).toEqual([]);
    const running = await ask(app, query, { id, statuses: ["RUNNING", "FAILED"] });
    expect(running.runner.jobs.nodes).toHaveLength(1);
    expect((await ask(app, query, { id, statuses: [] })).runner.jobs.nodes).toHaveLength(1);
  });

  it("have pages of jobs with some statuses", async () => {
    await make("worker", { runner_type: "project_type", project_id: project.id });
    const done: number[] = [];
    for (const status of ["success", "failed", undefined, "success"] as const) {
      const made = await project.call("POST /pipeline?ref=main", { as: "developer" });
      const { json } = await heard("worker");
      expect([made.status, json.id]).toEqual([201, expect.any(Number)]);
      if (!status) continue;
      await app.admin.jobs.finish(json.id, { status });
      done.push(json.id);
    }
    const id = runnerGid("worker");
    const page = async (args: string) => {
      const { runner } = await ask(
        app,
        `{ runner(id: "${id}") { jobs(statuses: [FAILED, SUCCESS, FAILED], ${args}) { count nodes { id }
          pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`,
      );
      const { nodes, ...rest } = runner.jobs;
      return {
        ...rest,
        jobs: nodes.map((job: { id: string }) => Number(job.id.split("/").at(-1))),
      };
    };
    const newest = [...done].reverse();
    const first = await page("first: 2");
    expect([first.count, first.jobs, first.pageInfo.hasNextPage]).toEqual([
      3,
      newest.slice(0, 2),
      true,
    ]);
    const second = await page(`first: 2, after: "${first.pageInfo.endCursor}"`);
    expect([second.jobs, second.pageInfo.hasNextPage]).toEqual([newest.slice(2), false]);
    const last = await page("last: 2");
    expect([last.jobs, last.pageInfo.hasPreviousPage]).toEqual([newest.slice(1), true]);
    const before = await page(`last: 2, before: "${last.pageInfo.startCursor}"`);
    expect([before.jobs, before.pageInfo.hasPreviousPage]).toEqual([newest.slice(0, 1), false]);
    await ask(app, DELETE, { input: { id } });
  });

  it("of the instance are shown to users, their jobs and processes to administrators", async () => {
    const id = runnerGid("shared");
    const query = `{ runner(id: "${id}") { description jobCount jobs { count nodes { id } } managers { count } } }`;
    const seen = await ask(app, query, {}, "stranger");
    expect(seen.runner).toEqual({
      description: "Runner shared",
      jobCount: null,
      jobs: { count: 0, nodes: [] },
      managers: { count: 0 },
    });
    expect((await ask(app, query, {}, "admin")).runner.jobCount).toBe(0);
    expect((await post(app, query)).json).toEqual({ data: { runner: null } });
  });
});

describe("lists of runners", () => {
  it("of all are for administrators", async () => {
    expect(await namesOf("all")).toEqual(await restNames("/runners/all", "admin"));
    for (const as of everyone) {
      if (as === "admin") continue;
      const answer = await post(app, LISTS.all, { as });
      expect([as, answer.json.data, messagesOf(answer)]).toEqual([
        as,
        { runners: null },
        [NOT_AVAILABLE],
      ]);
    }
  });

  it("are those of REST, for each caller", async () => {
    for (const as of everyone) {
      if (as === "anonymous") continue;
      expect([as, await namesOf("owned", {}, as)]).toEqual([as, await restNames("/runners", as)]);
    }
    const shownTo: Record<string, number> = {};
    for (const as of everyone) {
      for (const path of ["acme/site", "acme/team/core", "secret/vault", "secret/built"]) {
        const data = await ask(app, LISTS.project, { fullPath: path }, as);
        const seen = data.project === null ? [] : named(listOf(data));
        const rest = await restNames(`/projects/${encodeURIComponent(path)}/runners`, as);
        expect([as, path, seen]).toEqual([as, path, rest]);
        shownTo[as] = (shownTo[as] ?? 0) + seen.length;
      }
      for (const path of ["acme", "acme/team", "secret"]) {
        const query = `{ group(fullPath: "${path}") { runners(membership: ALL_AVAILABLE) { nodes { description } }
          direct: runners(membership: DIRECT) { nodes { description } } } }`;
        const { group } = await ask(app, query, {}, as);
        const seen = group === null ? [] : named(group.runners);
        const rest = await restNames(`/groups/${encodeURIComponent(path)}/runners`, as);
        // GitLab's GraphQL has those of projects below, too.
        expect([as, path, seen]).toEqual([as, path, expect.arrayContaining(rest)]);
        if (rest.length === 0) expect([as, path, seen]).toEqual([as, path, []]);
        if (group) {
          expect(named(group.direct)).toEqual(
            rest.length > 0 ? [`of ${path.split("/").at(-1)}`] : [],
          );
        }
      }
    }
    expect(Object.keys(shownTo).filter((as) => (shownTo[as] ?? 0) > 0)).toEqual([
      "maintainer",
      "owner",
      "admin",
    ]);
  });

  it("of a group have those of what is below it", async () => {
    expect(await namesOf("group", { fullPath: "acme" }, "owner")).toEqual([
      "of core",
      "of site",
      "of team",
      "of acme",
    ]);
    const { group } = await ask(
      app,
      `{ group(fullPath: "acme/team") { runners(membership: ALL_AVAILABLE) { count nodes { description } } } }`,
    );
    expect([group.runners.count, named(group.runners)]).toEqual([
      4,
      ["of core", "of team", "of acme", "shared"],
    ]);
  });

  it("show maintainers of projects the runners of groups above, as GitLab does", async () => {
    const id = ids["of acme"];
    const url = `GET /runners/${id}`;
    for (const as of ["maintainer", "owner", "admin"] as const) {
      const { runner } = await ask(
        app,
        `{ runner(id: "${runnerGid("of acme")}") { tagList } }`,
        {},
        as,
      );
      expect([as, runner]).toEqual([as, { tagList: ["linux"] }]);
      expect([as, (await app.call(url, { as })).status]).toEqual([as, 200]);
    }
    for (const as of ["stranger", "guest", "developer"] as const) {
      const { runner } = await ask(
        app,
        `{ runner(id: "${runnerGid("of acme")}") { tagList } }`,
        {},
        as,
      );
      expect([as, runner]).toEqual([as, null]);
      expect([as, (await app.call(url, { as })).status]).toEqual([as, 403]);
    }
    const refused = await app.call(`PUT /runners/${id}`, {
      as: "maintainer",
      json: { paused: true },
    });
    expect(refused.status).toBe(403);
  });

  it("are filtered", async () => {
    expect(await namesOf("all", { type: "INSTANCE_TYPE" })).toEqual(["shared"]);
    expect(await namesOf("all", { type: "GROUP_TYPE" })).toEqual([
      "of secret",
      "of team",
      "of acme",
    ]);
    expect(await namesOf("all", { status: "ONLINE" })).toEqual(["of built"]);
    expect(await namesOf("all", { status: "OFFLINE" })).toEqual([]);
    expect(await namesOf("all", { status: "NEVER_CONTACTED" })).toHaveLength(7);
    expect(await namesOf("all", { paused: true })).toEqual(["of team"]);
    expect(await namesOf("all", { paused: false })).toHaveLength(7);
    expect(await namesOf("all", { tagList: ["linux"] })).toEqual(["of acme", "shared"]);
    expect(await namesOf("all", { tagList: ["linux", "docker"] })).toEqual(["shared"]);
    expect(await namesOf("all", { search: "RUNNER OF s" })).toEqual(["of site", "of secret"]);
    expect(await namesOf("all", { search: tokens["of core"] })).toEqual(["of core"]);
    expect(await namesOf("all", { search: "glrt" })).toEqual([]);
    const more = async (args: string) =>
      named(
        (await ask(app, `{ runners(${args}) { nodes { description } } }`, {}, "admin")).runners,
      );
    expect(await more(`creatorUsername: "ADMIN", active: false`)).toEqual(["of team"]);
    expect(await more(`creatorUsername: "owner"`)).toEqual([]);
    const { json: admin } = await app.call("GET /user", { as: "admin" });
    expect(await more(`creatorId: "${gid("User", admin.id)}"`)).toHaveLength(8);
    expect(await more(`creatorId: "${gid("User", admin.id + 1)}"`)).toEqual([]);
  });

  it("are sorted, and have pages", async () => {
    const sorted = async (sort: string) =>
      named(
        (await ask(app, `{ runners(sort: ${sort}) { nodes { description } } }`, {}, "admin"))
          .runners,
      );
    const created = await sorted("CREATED_ASC");
    expect(created).toEqual([...(await sorted("CREATED_DESC"))].reverse());
    expect(created[0]).toBe("shared");
    expect((await sorted("CONTACTED_DESC"))[0]).toBe("of built");
    expect((await sorted("CONTACTED_ASC")).at(-1)).toBe("of built");
    expect((await sorted("MOST_ACTIVE_DESC"))[0]).toBe("of built");
    expect(await sorted("TOKEN_EXPIRES_AT_ASC")).toEqual(created);
    const all: string[] = [];
    let after: string | null = null;
    for (let pages = 0; pages < 3; pages += 1) {
      const variables: object = { first: 3, after };
      const { runners } = await ask(app, LISTS.all, variables, "admin");
      all.push(...named(runners));
      after = runners.pageInfo.endCursor;
      expect(runners.pageInfo.hasNextPage).toBe(pages < 2);
    }
    expect(all).toEqual([...created].reverse());
    for (const sort of ["CONTACTED_DESC", "MOST_ACTIVE_DESC"]) {
      const query = `query ($after: String) { runners(sort: ${sort}, first: 1, after: $after) {
        nodes { description } pageInfo { endCursor } } }`;
      const { runners } = await ask(app, query, {}, "admin");
      const next = await ask(app, query, { after: runners.pageInfo.endCursor }, "admin");
      expect([...named(runners), ...named(next.runners)]).toEqual((await sorted(sort)).slice(0, 2));
    }
  });
});

const CREATE = `mutation Create($input: RunnerCreateInput!) { runnerCreate(input: $input) {
  runner { ${FIELDS} ephemeralAuthenticationToken } errors } }`;
const UPDATE = `mutation Change($input: RunnerUpdateInput!) { runnerUpdate(input: $input) { runner { ${FIELDS} } errors } }`;
const DELETE =
  "mutation Remove($input: RunnerDeleteInput!) { runnerDelete(input: $input) { errors } }";
const refusal = (name: string) => ({
  data: { [name]: null },
  errors: [expect.objectContaining({ message: NOT_AVAILABLE })],
});

describe("changes of runners", () => {
  it("ids of groups and projects are found by their paths", async () => {
    const { group } = await ask(
      app,
      "query G($fullPath: ID!) { group(fullPath: $fullPath) { id } }",
      {
        fullPath: "acme",
      },
    );
    expect(group.id).toBe(gid("Group", ids["acme"]));
    const found = await ask(
      app,
      "query P($fullPath: ID!) { project(fullPath: $fullPath) { id } }",
      {
        fullPath: "acme/site",
      },
    );
    expect(found.project.id).toBe(gid("Project", ids["acme/site"]));
  });

  it("create them: only that answer has the token, which works", async () => {
    const input = {
      runnerType: "PROJECT_TYPE",
      projectId: gid("Project", ids["acme/site"]),
      description: "New",
      paused: false,
      locked: true,
      runUntagged: false,
      tagList: ["b", "a"],
      accessLevel: "REF_PROTECTED",
      maximumTimeout: 700,
      maintenanceNote: "Ours",
      groupId: null,
    };
    const { runnerCreate } = await ask(app, CREATE, { input });
    const { id, ephemeralAuthenticationToken: token, ...made } = runnerCreate.runner;
    expect(runnerCreate.errors).toEqual([]);
    expect(made).toMatchObject({
      description: "New",
      runnerType: "PROJECT_TYPE",
      status: "NEVER_CONTACTED",
      paused: false,
      locked: true,
      runUntagged: false,
      tagList: ["a", "b"],
      accessLevel: "REF_PROTECTED",
      maximumTimeout: 700,
    });
    expect(token).toMatch(/^glrt-/);
    expect((await app.call("POST /runners/verify", { json: { token } })).status).toBe(200);
    const again = await ask(
      app,
      `{ runner(id: "${id}") { ephemeralAuthenticationToken maintenanceNote } }`,
    );
    expect(again.runner).toEqual({ ephemeralAuthenticationToken: null, maintenanceNote: "Ours" });
    const update = await ask(
      app,
      `mutation { runnerUpdate(input: { id: "${id}", paused: true }) { runner { ephemeralAuthenticationToken } } }`,
    );
    expect(update.runnerUpdate.runner).toEqual({ ephemeralAuthenticationToken: null });
    await ask(app, DELETE, { input: { id } });
  });

  it("create them where the caller manages runners", async () => {
    const inputs = {
      instance: { runnerType: "INSTANCE_TYPE" },
      group: { runnerType: "GROUP_TYPE", groupId: gid("Group", ids["acme"]) },
      project: { runnerType: "PROJECT_TYPE", projectId: gid("Project", ids["acme/site"]) },
    };
    const may: Record<string, readonly string[]> = {
      admin: ["instance", "group", "project"],
      owner: ["group", "project"],
      maintainer: ["project"],
    };
    for (const as of everyone) {
      for (const [name, input] of Object.entries(inputs)) {
        const answer = await send(app, as, CREATE, { input });
        if (!may[as]?.includes(name)) {
          expect([as, name, answer]).toEqual([as, name, refusal("runnerCreate")]);
          continue;
        }
        const { runner, errors } = answer.data.runnerCreate;
        expect([as, name, errors]).toEqual([as, name, []]);
        await ask(app, DELETE, { input: { id: runner.id } }, as);
      }
    }
    const missing = async (input: object) =>
      (await send(app, "owner", CREATE, { input })).errors?.map(({ message }) => message);
    expect(await missing({ runnerType: "GROUP_TYPE" })).toEqual(["`group_id` is missing"]);
    expect(await missing({ runnerType: "PROJECT_TYPE" })).toEqual(["`project_id` is missing"]);
    const { data } = await send(app, "owner", CREATE, {
      input: { ...inputs.group, maximumTimeout: 1 },
    });
    expect(data.runnerCreate).toEqual({
      runner: null,
      errors: [expect.stringContaining("Maximum timeout")],
    });
  });

  it("change, pause and resume them", async () => {
    const id = runnerGid("of vault");
    const change = async (input: object) =>
      (await ask(app, UPDATE, { input: { id, ...input } })).runnerUpdate;
    const changed = await change({
      description: "Changed",
      tagList: ["z"],
      locked: true,
      runUntagged: false,
      accessLevel: "REF_PROTECTED",
      maximumTimeout: 900,
      maintenanceNote: null,
    });
    expect(changed).toMatchObject({
      errors: [],
      runner: {
        id,
        description: "Changed",
        tagList: ["z"],
        locked: true,
        runUntagged: false,
        accessLevel: "REF_PROTECTED",
        maximumTimeout: 900,
      },
    });
    expect((await change({ paused: true })).runner).toMatchObject({ paused: true, tagList: ["z"] });
    expect((await change({ paused: false })).runner.paused).toBe(false);
    expect((await change({ active: false })).runner.paused).toBe(true);
    const { json } = await app.call(`GET /runners/${ids["of vault"]}`, { as: "owner" });
    expect(json).toMatchObject({ description: "Changed", paused: true, tag_list: ["z"] });
    const wrong = await change({ maximumTimeout: 1 });
    expect(wrong).toEqual({ runner: null, errors: [expect.stringContaining("Maximum timeout")] });
    await change({ description: "Runner of vault", active: true, locked: false, tagList: [] });
  });

  it("are for those who manage them", async () => {
    const id = runnerGid("of site");
    const query = `{ runner(id: "${id}") { id } }`;
    for (const as of ["stranger", "guest", "reporter", "developer", "anonymous"] as const) {
      const input = { id, paused: true };
      expect([as, await send(app, as, UPDATE, { input })]).toEqual([as, refusal("runnerUpdate")]);
      expect([as, await send(app, as, DELETE, { input: { id } })]).toEqual([
        as,
        refusal("runnerDelete"),
      ]);
      expect((await send(app, as, query)).data.runner).toBeNull();
    }
    const unknown = gid("Ci::Runner", 999_999);
    expect(await send(app, "owner", DELETE, { input: { id: unknown } })).toEqual(
      refusal("runnerDelete"),
    );
    const wrong = await send(app, "owner", DELETE, { input: { id: gid("Project", 1) } });
    expect(wrong.errors?.map(({ message }) => message)).toEqual([
      expect.stringContaining("does not represent an instance of"),
    ]);
  });

  it("tell what one may do with them: what routes answer", async () => {
    const FIELDS = "userPermissions { readRunner updateRunner deleteRunner assignRunner }";
    const old = { "if-unmodified-since": "Thu, 01 Jan 1970 00:00:00 GMT" };
    for (const name of ["shared", "of acme", "of team", "of site", "of core", "of vault"]) {
      const path = `/runners/${ids[name]}`;
      for (const as of everyone) {
        if (as === "anonymous") continue;
        const statusOf = async (request: string, options: object = {}) =>
          (await app.call(request, { as, ...options })).status;
        const { runner } = await ask(
          app,
          `{ runner(id: "${runnerGid(name)}") { ${FIELDS} } }`,
          {},
          as,
        );
        const isRead = (await statusOf(`GET ${path}`)) === 200;
        expect([as, name, runner !== null]).toEqual([as, name, isRead]);
        if (!runner) continue;
        const updated = await statusOf(`PUT ${path}`, { json: {} });
        const removed = await statusOf(`DELETE ${path}`, { headers: old });
        const json = { runner_id: ids[name] };
        const assigned = await statusOf("POST /projects/secret%2Fbuilt/runners", { json });
        if (assigned === 201) {
          await app.call(`DELETE /projects/secret%2Fbuilt${path}`, { as });
        }
        expect([as, name, runner.userPermissions, updated, removed]).toEqual([
          as,
          name,
          {
            readRunner: true,
            updateRunner: updated === 200,
            deleteRunner: removed === 412,
            assignRunner: assigned === 201,
          },
          runner.userPermissions.updateRunner ? 200 : 403,
          runner.userPermissions.deleteRunner ? 412 : 403,
        ]);
      }
    }
  });

  it("remove one, or many", async () => {
    await make("first", { runner_type: "project_type", project_id: ids["acme/site"] });
    await make("second", { runner_type: "project_type", project_id: ids["acme/site"] });
    await make("third", { runner_type: "project_type", project_id: ids["acme/site"] });
    const input = { id: runnerGid("first") };
    expect((await ask(app, DELETE, { input })).runnerDelete).toEqual({ errors: [] });
    expect((await app.call(`GET /runners/${ids["first"]}`, { as: "owner" })).status).toBe(404);
    const query = `mutation Bulk($input: BulkRunnerDeleteInput!) { bulkRunnerDelete(input: $input) {
      deletedCount deletedIds errors } }`;
    const these = ["first", "second", "shared", "third"].map(runnerGid);
    const { bulkRunnerDelete } = await ask(app, query, { input: { ids: these } }, "maintainer");
    expect(bulkRunnerDelete).toEqual({
      deletedCount: 2,
      deletedIds: [runnerGid("second"), runnerGid("third")],
      errors: [`User does not have permission to delete runner(s) #${ids["shared"]}`],
    });
    const many = Array.from({ length: 51 }, (_, at) => gid("Ci::Runner", 900_000 + at));
    expect((await ask(app, query, { input: { ids: many } })).bulkRunnerDelete).toEqual({
      deletedCount: 0,
      deletedIds: [],
      errors: ["Can only delete up to 50 runners per call. Ignored the remaining runner(s)."],
    });
    expect((await ask(app, query, { input: {} })).bulkRunnerDelete.errors).toEqual([]);
  });

  it("let runners do jobs of more projects", async () => {
    const input = { runnerId: runnerGid("of core"), projectPath: "acme/site" };
    const assign = `mutation ($input: RunnerAssignToProjectInput!) { runnerAssignToProject(input: $input) { errors } }`;
    const unassign = `mutation ($input: RunnerUnassignFromProjectInput!) {
      runnerUnassignFromProject(input: $input) { errors } }`;
    const projects = async () => {
      const query = `{ runner(id: "${runnerGid("of core")}") { projectCount projects { nodes { path } } ownerProject { path } } }`;
      return (await ask(app, query)).runner;
    };
    expect((await ask(app, assign, { input })).runnerAssignToProject).toEqual({ errors: [] });
    expect(await projects()).toEqual({
      projectCount: 2,
      projects: { nodes: [{ path: "core" }, { path: "site" }] },
      ownerProject: { path: "core" },
    });
    const again = await ask(app, assign, { input });
    expect(again.runnerAssignToProject.errors).toHaveLength(1);
    expect(await send(app, "developer", unassign, { input })).toEqual(
      refusal("runnerUnassignFromProject"),
    );
    expect((await ask(app, unassign, { input })).runnerUnassignFromProject).toEqual({ errors: [] });
    expect((await projects()).projectCount).toBe(1);
  });

  it("replace the tokens by which runners are registered", async () => {
    const query = `mutation ($input: RunnersRegistrationTokenResetInput!) {
      runnersRegistrationTokenReset(input: $input) { token errors } }`;
    const inputs = [
      ["admin", { type: "INSTANCE_TYPE" }],
      ["owner", { type: "GROUP_TYPE", id: gid("Group", ids["acme"]) }],
      ["maintainer", { type: "PROJECT_TYPE", id: gid("Project", ids["acme/site"]) }],
    ] as const;
    for (const [as, input] of inputs) {
      const { runnersRegistrationTokenReset: reset } = await ask(app, query, { input }, as);
      expect(reset).toEqual({ token: expect.stringMatching(/^GR1348941/), errors: [] });
      const registered = await app.call("POST /runners", { json: { token: reset.token } });
      expect(registered.status).toBe(201);
      await app.call("DELETE /runners", { json: { token: registered.json.token } });
      expect(await send(app, "developer", query, { input })).toEqual(
        refusal("runnersRegistrationTokenReset"),
      );
    }
    const wrong = { type: "INSTANCE_TYPE", id: gid("Group", ids["acme"]) };
    expect((await send(app, "admin", query, { input: wrong })).errors).toHaveLength(1);
    const none = await send(app, "admin", query, { input: { type: "GROUP_TYPE" } });
    expect(none.errors).toHaveLength(1);
  });
});
