import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CallOptions, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject } from "./_pipelines.ts";
import { zipped } from "./_zip.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const ONE_JOB = "check:\n  script: [make]\n";

/** Makes a project with a runner of its own, and returns it with the runner's token. */
async function withRunner(name: string, configuration: string) {
  const project = await ciProject(app, name, configuration);
  const { json } = await app.call("POST /user/runners", {
    as: "owner",
    json: { runner_type: "project_type", project_id: project.id },
  });
  return { project, runner: json.token as string };
}

const ask = (token: string, more: object = {}) =>
  app.call("POST /jobs/request", { json: { token, system_id: "s_1", ...more } });

/** Starts a pipeline, and lets the runner take its first job. */
async function takeJob(project: CiProject, runner: string) {
  await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
  const { status, json } = await ask(runner);
  expect(status).toBe(201);
  return json as { id: number; token: string };
}

const write = (job: { id: number; token: string }, start: number, body: string) =>
  app.call(`PATCH /jobs/${job.id}/trace`, {
    headers: {
      "job-token": job.token,
      "content-type": "text/plain",
      "content-range": `${start}-${start + Buffer.byteLength(body) - 1}`,
    },
    body,
  } satisfies CallOptions);

const upload = (job: { id: number; token: string }, query: string, name: string) => {
  const form = new FormData();
  form.set("file", new File(["content"], name));
  return app.call(`POST /jobs/${job.id}/artifacts?${query}`, {
    headers: { "job-token": job.token },
    body: form,
  });
};

/** Adds entries to the beginning of an archive's directory, until it has so many bytes. */
function withDirectory(length: number, archive: Buffer): Buffer<ArrayBuffer> {
  const end = archive.subarray(archive.lastIndexOf("PK\x05\x06", undefined, "latin1"));
  const start = end.readUInt32LE(16);
  const entry = Buffer.alloc(46 + 0xffff);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(0xffff, 32);
  const added = Math.ceil(length / entry.length) * entry.length;
  end.writeUInt32LE(end.readUInt32LE(12) + added, 12);
  const entries = Buffer.alloc(added, entry);
  return Buffer.concat([archive.subarray(0, start), entries, archive.subarray(start)]);
}

describe("configurations", () => {
  it.each([
    ["a name", '"a\\0b": { script: make }'],
    ["a script", 'a: { script: "make\\0" }'],
    ["a tag", 'a: { script: make, tags: ["\\x00"] }'],
    ["the pipeline's name", 'workflow: { name: "a\\u0000" }\na: { script: make }'],
  ])("may not have a NUL in %s", async (what, text) => {
    const project = await ciProject(app, `nul-${what.replace(/\W/g, "-")}`, text);
    const { status, json } = await project.call("POST /pipeline", {
      as: "developer",
      json: { ref: "main" },
    });
    expect([status, json]).toEqual([
      400,
      { message: { base: ["control characters are not allowed"] } },
    ]);
  });

  it("are not given variables with a NUL", async () => {
    const text = "workflow: { name: $TITLE }\ncheck: { script: make }\n";
    const project = await ciProject(app, "nul-variables", text);
    const trigger = await project.call("POST /triggers", {
      as: "maintainer",
      json: { description: "t" },
    });
    const started = await project.call("POST /trigger/pipeline", {
      json: { token: trigger.json.token, ref: "main", variables: { TITLE: "a\0b" } },
    });
    expect([started.status, started.json]).toEqual([
      400,
      { message: { base: ["Variables can't contain null bytes"] } },
    ]);
  });
});

describe("runners", () => {
  let project: CiProject;
  let runner: string;
  beforeAll(async () => {
    ({ project, runner } = await withRunner("hostile", ONE_JOB));
  });

  it("may say anything about themselves", async () => {
    const long = `${"a".repeat(254)}\u{1f600}`;
    for (const [at, info] of [{ version: "a\0b", platform: long }, [1], "x", null].entries()) {
      const { status } = await ask(runner, { info, system_id: `odd_${at}` });
      expect(status).toBe(204);
    }
  });

  it("name artifacts as they like, which are stored under a name that headers can carry", async () => {
    const job = await takeJob(project, runner);
    const names = { junit: "a\0b", sast: "ü".repeat(3000), dast: "../../x", metrics: "a b" };
    for (const [type, name] of Object.entries(names)) {
      expect((await upload(job, `artifact_type=${type}`, name)).status).toBe(201);
    }
    const { json } = await project.call(`GET /jobs/${job.id}`, { as: "developer" });
    const stored = json.artifacts.map(({ filename }: { filename: string }) => filename);
    expect(stored).toHaveLength(4);
    for (const name of stored) expect(name).toMatch(/^[\w.]{1,255}$/);
  });

  it("say when artifacts expire, however late", async () => {
    const job = await takeJob(project, runner);
    const expiry = async (text: string) => {
      const sent = await upload(job, `expire_in=${encodeURIComponent(text)}`, "a.zip");
      if (sent.status !== 201) return sent.status;
      const { json } = await project.call(`GET /jobs/${job.id}`, { as: "developer" });
      return json.artifacts_expire_at;
    };
    expect(await expiry("99999999999999999 years")).toBe("9999-12-31T00:00:00.000Z");
    expect(await expiry("never")).toBeNull();
    expect(await expiry("banana")).toBe(400);
    expect(await expiry("-5 days")).toBe(400);
  });

  it("can't end a job by an impossible range of its log", async () => {
    const job = await takeJob(project, runner);
    expect((await write(job, 999_999_999_999_990, "x")).status).toBe(416);
    const { json } = await project.call(`GET /jobs/${job.id}`, { as: "developer" });
    expect(json.status).toBe("running");
  });

  it("write logs byte by byte, in which no secret is readable, at the same cost for each", async () => {
    const secret = `s3cret-${"a".repeat(60)}`;
    await project.call("POST /variables", {
      as: "maintainer",
      json: { key: "LONG", value: secret, masked: true },
    });
    const job = await takeJob(project, runner);
    const costs = new Set<number>();
    for (const [at, letter] of [...`<${secret}>`].entries()) {
      app.statements.length = 0;
      expect((await write(job, at, letter)).status).toBe(202);
      const ofLogs = app.statements.filter((sql) => sql.includes("ci_trace_parts"));
      if (letter !== ">" && at < secret.length) costs.add(ofLogs.length);
    }
    expect(costs.size).toBe(1);
    const { text } = await project.call(`GET /jobs/${job.id}/trace`, { as: "developer" });
    expect(text).toBe(`<${"*".repeat(secret.length)}>`);
  });

  it("wait for jobs a hundred at a time, and are then answered at once", async () => {
    const { project, runner } = await withRunner("waiting", ONE_JOB);
    const { headers } = await ask(runner);
    const last_update = headers.get("x-gitlab-last-update") ?? "";
    const answered: number[] = [];
    const asked = Array.from({ length: 101 }, async (_, at) => {
      const { status } = await ask(runner, { last_update, system_id: `s_${at}` });
      answered.push(status);
    });
    await Promise.race(asked);
    expect(answered).toEqual([204]);
    await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
    await Promise.all(asked);
    expect(answered.filter((status) => status === 201)).toHaveLength(1);
  });

  it("have a thousand processes: the one that was heard of longest ago is forgotten", async () => {
    const { runner } = await withRunner("processes", ONE_JOB);
    await app.store.transaction((db) =>
      db.run(`insert into runner_managers (runner_id, system_id, contacted_at, created_at)
        with recursive n(x) as (select 1 union all select x + 1 from n where x < 1000)
        select (select max(id) from runners), 'many_' || x, x, x from n`),
    );
    const known = async () =>
      (
        await app.store.rows(
          "select system_id from runner_managers where runner_id = (select max(id) from runners) order by contacted_at, id",
        )
      ).map(([name]) => name);
    const before = await known();
    await ask(runner, { system_id: "new" });
    const after = await known();
    expect(after).toHaveLength(before.length);
    expect(after).toContain("new");
    expect(after).not.toContain("many_1");
  });

  it("get jobs of a pipeline that runs at a cost that does not grow with its jobs", async () => {
    const { project, runner } = await withRunner("parallel", "a:\n  script: make\n  parallel: 3\n");
    await takeJob(project, runner);
    app.statements.length = 0;
    expect((await ask(runner)).status).toBe(201);
    expect(app.statements.filter((sql) => /from ci_jobs\s+where pipeline_id/.test(sql))).toEqual(
      [],
    );
  });

  it("are asked for no file of an archive with an endless directory", async () => {
    const { project, runner } = await withRunner("zips", ONE_JOB);
    const job = await takeJob(project, runner);
    const MEGABYTE = 1024 * 1024;
    for (const [length, expected] of [
      [MEGABYTE, 200],
      [33 * MEGABYTE, 404],
    ] as const) {
      const form = new FormData();
      form.set("file", new File([withDirectory(length, zipped({ "a.txt": "A" }))], "a.zip"));
      const sent = await app.call(`POST /jobs/${job.id}/artifacts`, {
        headers: { "job-token": job.token },
        body: form,
      });
      expect(sent.status).toBe(201);
      const file = `/jobs/${job.id}/artifacts/a.txt`;
      expect((await project.call(`GET ${file}`, { as: "developer" })).status).toBe(expected);
      await project.call(`DELETE /jobs/${job.id}/artifacts`, { as: "owner" });
    }
  });

  it("get no jobs of people who are blocked", async () => {
    await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
    const { json: developer } = await app.call("GET /user", { as: "developer" });
    await app.call(`POST /users/${developer.id}/block`, { as: "admin" });
    expect((await ask(runner)).status).toBe(204);
    await app.call(`POST /users/${developer.id}/unblock`, { as: "admin" });
    expect((await ask(runner)).status).toBe(201);
  });
});

describe("pipelines", () => {
  it("of protected tags are run only by those who may create such tags", async () => {
    const project = await ciProject(app, "protected-tags", "a:\n  script: x\n  when: manual\n");
    await project.call("POST /repository/tags", {
      as: "owner",
      json: { tag_name: "v1", ref: "main" },
    });
    await project.call("POST /protected_tags", { as: "owner", json: { name: "v*" } });
    const run = (as: "developer" | "maintainer") =>
      project.call("POST /pipeline", { as, json: { ref: "v1" } });
    const refused = await run("developer");
    expect([refused.status, refused.json.message.base[0]]).toEqual([
      400,
      expect.stringMatching(/^You do not have sufficient permission to run a pipeline on 'v1'/),
    ]);
    const { status, json: pipeline } = await run("maintainer");
    expect(status).toBe(201);
    const jobs = await project.call(`GET /pipelines/${pipeline.id}/jobs`, { as: "developer" });
    const job = `/jobs/${jobs.json[0].id}`;
    const changes = [
      `POST ${job}/play`,
      `POST ${job}/cancel`,
      `POST /pipelines/${pipeline.id}/cancel`,
    ];
    for (const change of changes) {
      expect((await project.call(change, { as: "developer" })).status).toBe(403);
    }
    expect((await project.call(changes[0] as string, { as: "maintainer" })).status).toBe(200);
    const schedule = (as: "developer" | "maintainer") =>
      project.call("POST /pipeline_schedules", {
        as,
        json: { description: "x", ref: "v1", cron: "0 1 * * *" },
      });
    expect((await schedule("developer")).status).toBe(403);
    expect((await schedule("maintainer")).status).toBe(201);
  });

  it("of a merge request from a fork are shown to those who see the fork's", async () => {
    const project = await ciProject(app, "upstream", "a: { script: x }\n");
    const fork = await project.call("POST /fork", {
      as: "developer",
      json: { path: "own", name: "Own", namespace_path: "developer" },
    });
    expect(fork.status).toBe(201);
    const own = `/projects/${fork.json.id}`;
    await app.call(`POST ${own}/repository/commits`, {
      as: "developer",
      json: {
        branch: "topic",
        start_branch: "main",
        commit_message: "Change",
        actions: [{ action: "create", file_path: "new.txt", content: "new" }],
      },
    });
    const { json: request } = await app.call(`POST ${own}/merge_requests`, {
      as: "developer",
      json: {
        title: "T",
        source_branch: "topic",
        target_branch: "main",
        target_project_id: project.id,
      },
    });
    const pipelines = `/merge_requests/${request.iid}/pipelines`;
    const { status } = await app.call(`POST ${own}/pipeline?ref=topic`, { as: "developer" });
    expect(status).toBe(201);
    const seen = async (as: "developer" | "maintainer") =>
      (await project.call(`GET ${pipelines}`, { as })).json.length;
    expect([await seen("developer"), await seen("maintainer")]).toEqual([1, 0]);
    await app.call(`PUT ${own}`, { as: "developer", json: { jobs_enabled: false } });
    expect((await project.call(`POST ${pipelines}`, { as: "developer" })).status).toBe(403);
    expect(await seen("developer")).toBe(0);
  });

  it("are nowhere to be seen when they are disabled", async () => {
    const project = await ciProject(app, "disabled-jobs", ONE_JOB);
    await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
    await project.call("POST /repository/branches?branch=topic&ref=main", { as: "developer" });
    await project.call("POST /merge_requests", {
      as: "developer",
      json: { title: "T", source_branch: "main", target_branch: "topic" },
    });
    const seen = async () => {
      const [request, commit] = [
        await project.call("GET /merge_requests/1", { as: "owner" }),
        await project.call(`GET /repository/commits/${project.sha}`, { as: "owner" }),
      ];
      return [request.json.head_pipeline, commit.json.last_pipeline];
    };
    expect(await seen()).toEqual([expect.any(Object), expect.any(Object)]);
    await project.call("PUT ", { as: "owner", json: { jobs_enabled: false } });
    expect(await seen()).toEqual([null, null]);
  });
});

describe("a project", () => {
  it("has a hundred schedules", async () => {
    const project = await ciProject(app, "schedules", ONE_JOB);
    await app.store.transaction((db) =>
      db.run(
        `insert into pipeline_schedules (project_id, description, ref, cron, cron_timezone, active, created_at, updated_at)
         with recursive n(x) as (select 1 union all select x + 1 from n where x < 99)
         select cast(? as bigint), 'x', 'refs/heads/main', '* * * * *', 'UTC', 0, 0, 0 from n`,
        [project.id],
      ),
    );
    const add = () =>
      project.call("POST /pipeline_schedules", {
        as: "developer",
        json: { description: "x", ref: "main", cron: "* * * * *" },
      });
    expect((await add()).status).toBe(201);
    const { status, json } = await add();
    expect([status, json]).toEqual([
      400,
      { message: { base: ["Maximum number of pipeline schedules (100) exceeded"] } },
    ]);
  });

  it("has a thousand statuses in a pipeline, and others in the next one", async () => {
    const project = await ciProject(app, "statuses", undefined);
    const report = (json: object) =>
      project.call(`POST /statuses/${project.sha}`, { as: "developer", json });
    const { json: first } = await report({ state: "running", name: "first", ref: "main" });
    await app.store.transaction((db) =>
      db.run(
        `insert into ci_jobs (project_id, pipeline_id, kind, name, stage, stage_index, ref, status, created_at, updated_at)
         with recursive n(x) as (select 1 union all select x + 1 from n where x < 999)
         select cast(? as bigint), cast(? as bigint), 'external', 'other-' || x, 'external', 0, 'main', 'success', 0, 0 from n`,
        [project.id, first.pipeline_id],
      ),
    );
    const { pipeline_id } = first;
    const changed = await report({ state: "success", name: "first", ref: "main" });
    expect([changed.status, changed.json.id]).toEqual([201, first.id]);
    const refused = await report({ state: "success", name: "new", ref: "main", pipeline_id });
    expect([refused.status, refused.json]).toEqual([
      422,
      { message: "The number of jobs has exceeded the limit" },
    ]);
    const added = await report({ state: "success", name: "new", ref: "main" });
    expect([added.status, added.json.pipeline_id > pipeline_id]).toEqual([201, true]);
  });
});

describe("searches", () => {
  it("find no milestones of a project that shows none", async () => {
    const project = await ciProject(app, "hidden-milestones", undefined);
    await project.call("POST /milestones", { as: "owner", json: { title: "unseen" } });
    const found = async () => {
      const { status, json } = await project.call("GET /search?scope=milestones&search=unseen", {
        as: "owner",
      });
      return [status, json.length];
    };
    expect(await found()).toEqual([200, 1]);
    await project.call("PUT ", {
      as: "owner",
      json: { issues_enabled: false, merge_requests_enabled: false },
    });
    expect(await found()).toEqual([200, 0]);
  });
});
