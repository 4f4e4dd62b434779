// What pipelines include from elsewhere: other projects, components, other servers, templates, and artifacts of jobs.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject, runnerOf, sendArtifacts, takeJob } from "./_pipelines.ts";
import { zipped } from "./_zip.ts";

let app: TestApp;
/** A private project that developers may read, and not everybody. */
let tools: CiProject;
let project: CiProject;
let server: Server;
let origin: string;
/** Requests to the other server, by path. */
const asked: string[] = [];

const FILES: Readonly<Record<string, string>> = {
  "/a.yml": "remote: { script: x }",
  "/local.yml": "include: { local: ci/own.yml }",
  "/large.yml": `a: { script: "${"x".repeat(600 * 1024)}" }`,
};
const COMPONENT = `spec:
  inputs: { stage: { default: test }, shards: { type: number, default: 1 } }
---
unit: { stage: $[[ inputs.stage ]], script: make test, parallel: $[[ inputs.shards ]] }
`;

beforeAll(async () => {
  server = createServer(({ url = "" }, response) => {
    asked.push(url);
    if (url === "/moved.yml") response.writeHead(302, { location: "/a.yml" }).end();
    else if (url === "/loop.yml") response.writeHead(302, { location: "/loop.yml" }).end();
    else if (url === "/away.yml") response.writeHead(302, { location: "file:///etc/a.yml" }).end();
    else if (url === "/cut.yml") response.destroy();
    else response.writeHead(FILES[url] === undefined ? 404 : 200).end(FILES[url]);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  app = await testApp({
    webhooks: { allowLocalRequests: true },
    includes: {
      remote: true,
      templates: { "Jobs/Build.gitlab-ci.yml": "build: { script: make }" },
    },
  });
  tools = await ciProject(app, "tools", undefined);
  await tools.commit("ci/lint.yml", "include: more.yml\nlint: { script: make lint }\n");
  await tools.commit("more.yml", "more: { script: make more }\n");
  await tools.commit("templates/unit.yml", COMPONENT);
  await tools.commit("secret.txt", "secret");
  for (const tag of ["1.0.0", "1.2.0", "v2.0.0", "nightly"]) {
    const json = { tag_name: tag, ref: "main", description: "d" };
    expect((await tools.call("POST /releases", { as: "owner", json })).status).toBe(201);
  }
  project = await ciProject(app, "including", "own: { script: x }\n");
  await project.commit("ci/own.yml", "from-own: { script: x }\n");
});
afterAll(async () => {
  await app.dispose();
  server.close();
});

const lint = async (content: object | string, as: Person = "developer", more: object = {}) => {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const json = { content: text, include_jobs: true, ...more };
  return (await project.call("POST /ci/lint", { as, json })).json;
};
const including = (include: unknown) => ({ include, own: { script: "x" } });
const namesOf = ({ jobs }: { jobs: { name: string }[] }) => jobs.map(({ name }) => name);
const errorsOf = async (include: unknown, as?: Person) =>
  (await lint(including(include), as)).errors;

const NO_TOOLS =
  "Project `secret/tools` not found or access denied! Make sure any includes in the pipeline configuration are correctly defined.";

describe("another project's files", () => {
  it("are included with what these include of their project, and lint says where they are", async () => {
    const checked = await lint(including({ project: "secret/tools", file: "/ci/lint.yml" }));
    expect(checked.errors).toEqual([]);
    expect(namesOf(checked)).toEqual(["more", "lint", "own"]);
    const { json: branch } = await tools.call("GET /repository/branches/main", { as: "owner" });
    const sha = branch.commit.id;
    const at = (path: string) => ({
      blob: `http://pm.test/secret/tools/-/blob/${sha}/${path}`,
      raw: `http://pm.test/secret/tools/-/raw/${sha}/${path}`,
    });
    expect(checked.includes).toMatchObject([
      {
        ...{ type: "file", location: "ci/lint.yml", ...at("ci/lint.yml") },
        ...{ extra: { project: "secret/tools", ref: "HEAD" }, context_project: "secret/including" },
      },
      {
        ...{ type: "local", location: "more.yml", ...at("more.yml"), extra: {} },
        ...{ context_project: "secret/tools", context_sha: sha },
      },
    ]);
    expect(checked.merged_yaml).toContain("make lint");
  });

  it("are those of a tag, branch or commit", async () => {
    const file = "ci/lint.yml";
    for (const ref of ["1.0.0", "main", "$CI_DEFAULT_BRANCH"]) {
      expect(await errorsOf({ project: "secret/tools", file, ref })).toEqual([]);
    }
    expect(await errorsOf({ project: "secret/tools", file, ref: "nope" })).toEqual([
      "Project `secret/tools` reference `nope` does not exist!",
    ]);
  });

  it("are read as whoever makes the pipeline may read them", async () => {
    const include = { project: "secret/tools", file: "ci/lint.yml" };
    await app.call("POST /projects", { as: "stranger", json: { name: "mine" } });
    const check = async (as: Person) => {
      const json = { content: JSON.stringify(including(include)) };
      return (await app.call("POST /projects/stranger%2Fmine/ci/lint", { as, json })).json;
    };
    expect((await check("stranger")).errors).toEqual([NO_TOOLS]);
    expect((await check("admin")).errors).toEqual([]);
    // Neither a number nor another case tells more.
    const { id } = tools;
    expect(await errorsOf({ project: String(id), file: "ci/lint.yml" })).toEqual([
      NO_TOOLS.replace("secret/tools", String(id)),
    ]);
    expect(await errorsOf({ ...include, project: "Secret/TOOLS" })).toEqual([]);
  });

  it("make a pipeline, and a failed one if they are missing", async () => {
    const place = await ciProject(app, "made-of-others", undefined);
    await place.commit(
      ".gitlab-ci.yml",
      JSON.stringify(including([{ project: "secret/tools", file: "ci/lint.yml" }, "/gone.yml"])),
    );
    const made = await place.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
    expect([made.status, made.json.message]).toEqual([
      400,
      { base: ["Local file `gone.yml` does not exist!"] },
    ]);
    await place.commit("gone.yml", "gone: { script: x }\n");
    const again = await place.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
    expect(again.status).toBe(201);
    const { json: jobs } = await place.call(`GET /pipelines/${again.json.id}/jobs`, {
      as: "developer",
    });
    expect(jobs.map(({ name }: { name: string }) => name).sort()).toEqual([
      ...["gone", "lint", "more", "own"],
    ]);
  });

  it("can be the configuration itself", async () => {
    const place = await ciProject(app, "elsewhere", undefined);
    await place.commit("README.md", "Hello");
    const set = (ci_config_path: string) =>
      place.call("PUT ", { as: "owner", json: { ci_config_path } });
    const check = async () =>
      (await place.call("GET /ci/lint?include_jobs=true", { as: "developer" })).json;
    await set("ci/lint.yml@secret/tools");
    expect(namesOf(await check())).toEqual(["more", "lint"]);
    await set("ci/lint.yml@secret/tools:nope");
    expect((await check()).errors).toEqual([
      "Project `secret/tools` reference `nope` does not exist!",
    ]);
    await set(`${origin}/a.yml`);
    expect(namesOf(await check())).toEqual(["remote"]);
    const made = await place.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
    expect(made.status).toBe(201);
  });
});

it("what is included by a masked variable is shown to nobody", async () => {
  const json = { key: "HIDDEN", value: "hidden-name-1234", masked: true };
  expect((await project.call("POST /variables", { as: "owner", json })).status).toBe(201);
  const { errors } = await lint(including("$HIDDEN.yml"));
  expect(errors).toEqual(["Local file `[MASKED].yml` does not exist!"]);
});

describe("components", () => {
  const component = (version: string) => ({
    component: `$CI_SERVER_FQDN/secret/tools/unit@${version}`,
    inputs: { shards: 2 },
  });

  it.each(["1.0.0", "main", "~latest", "1", "1.2"])(
    "of version %s are included",
    async (version) => {
      const checked = await lint(including(component(version)));
      expect([checked.errors, namesOf(checked)]).toEqual([[], ["unit 1/2", "unit 2/2", "own"]]);
      expect(checked.includes[0]).toMatchObject({
        type: "component",
        location: `pm.test/secret/tools/unit@${version}`,
        blob: expect.stringMatching(
          /\/secret\/tools\/-\/blob\/[0-9a-f]{40}\/templates\/unit\.yml$/,
        ),
      });
    },
  );

  it("of versions that begin with a number are the newest such", async () => {
    await tools.commit("templates/unit.yml", COMPONENT.replace("unit:", "newest:"));
    for (const tag of ["1.10.0", "1.9.0"]) {
      const json = { tag_name: tag, ref: tag === "1.10.0" ? "main" : "1.0.0", description: "d" };
      expect((await tools.call("POST /releases", { as: "owner", json })).status).toBe(201);
    }
    expect(namesOf(await lint(including(component("1"))))[0]).toBe("newest 1/2");
    expect(namesOf(await lint(including(component("~latest"))))[0]).toBe("unit 1/2");
  });

  it("that are not shown are as those that are not there", async () => {
    await app.call("POST /projects", { as: "stranger", json: { name: "theirs" } });
    const of = async (version: string) => {
      const json = { content: JSON.stringify(including(component(version))) };
      const { json: checked } = await app.call("POST /projects/stranger%2Ftheirs/ci/lint", {
        as: "stranger",
        json,
      });
      return checked.errors;
    };
    for (const version of ["1.0.0", "~latest", "nope"]) {
      expect(await of(version)).toEqual([
        `Component 'pm.test/secret/tools/unit@${version}' - project does not exist or you don't have sufficient permissions`,
      ]);
    }
  });
});

describe("files of other servers", () => {
  it("are included, also after a redirect", async () => {
    expect(namesOf(await lint(including(`${origin}/a.yml`)))).toEqual(["remote", "own"]);
    const checked = await lint(including({ remote: `${origin}/moved.yml` }));
    expect(namesOf(checked)).toEqual(["remote", "own"]);
    expect(checked.includes[0]).toMatchObject({
      ...{ type: "remote", location: `${origin}/moved.yml`, blob: null },
      raw: `${origin}/moved.yml`,
    });
  });

  it("are kept if they say so", async () => {
    const count = () => asked.filter((path) => path === "/a.yml").length;
    const before = count();
    const kept = including({ remote: `${origin}/a.yml`, cache: true });
    for (let times = 0; times < 3; times += 1) expect((await lint(kept)).errors).toEqual([]);
    expect(count() - before).toBe(1);
    expect(await errorsOf({ remote: `${origin}/a.yml` })).toEqual([]);
    expect(count() - before).toBe(2);
  });

  it.each([
    ["/nope.yml", "of HTTP code `404` error"],
    ["/cut.yml", "of a socket error"],
    ["/loop.yml", "of too many redirects"],
    ["/away.yml", "of a socket error"],
    ["/large.yml", "it is too large"],
  ])("%s is refused", async (path, reason) => {
    expect(await errorsOf(origin + path)).toEqual([
      `Remote file \`${origin}${path}\` could not be fetched because ${reason}!`,
    ]);
  });

  it("include nothing of the project", async () => {
    expect(await errorsOf(`${origin}/local.yml`)).toEqual([
      "Local file `ci/own.yml` does not have project!",
    ]);
  });

  it("are not asked for unless the administrator allows it, nor on this machine", async () => {
    const content = JSON.stringify(including(`${origin}/a.yml`));
    const check = async (includes: object, webhooks: object) => {
      const other = await testApp({ includes, webhooks });
      try {
        const { json } = await other.call("POST /ci/lint", { as: "admin", json: { content } });
        return json.errors[0];
      } finally {
        await other.dispose();
      }
    };
    const before = asked.length;
    expect(await check({}, { allowLocalRequests: true })).toContain(
      "its administrator can, by the option includes.remote or --remote-includes on!",
    );
    expect(await check({ remote: true }, {})).toContain("Requests to localhost are not allowed!");
    expect(asked.length).toBe(before);
  });
});

describe("templates", () => {
  it("are the administrator's, and the server's own", async () => {
    const include = [{ template: "Jobs/Build.gitlab-ci.yml" }, { template: "Bash.gitlab-ci.yml" }];
    expect(namesOf(await lint(including(include)))).toEqual(["build", "test", "own", "deploy"]);
    expect(await errorsOf({ template: "../Bash.gitlab-ci.yml" })).toEqual([
      "Included file `../Bash.gitlab-ci.yml` is empty or does not exist!",
    ]);
  });
});

describe("a child pipeline", () => {
  /** Starts a pipeline of a configuration, and returns its bridge. */
  const start = async (name: string, configuration: object) => {
    const place = await ciProject(app, name, JSON.stringify(configuration));
    const made = await place.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
    expect(made.status).toBe(201);
    await app.admin.maintenance.runPipelines();
    const bridge = async () => {
      const path = `GET /pipelines/${made.json.id}/bridges`;
      return (await place.call(path, { as: "developer" })).json[0];
    };
    const jobsOf = async (pipeline: number) =>
      namesOf({
        jobs: (await place.call(`GET /pipelines/${pipeline}/jobs`, { as: "developer" })).json,
      });
    return { place, pipeline: made.json.id as number, bridge, jobsOf };
  };

  it("is made of another project's files, with inputs", async () => {
    const include = [
      { project: "secret/tools", file: "more.yml" },
      { project: "secret/tools", file: "templates/unit.yml", ref: "1.0.0", inputs: { shards: 2 } },
    ];
    const { bridge, jobsOf } = await start("child-of-tools", { start: { trigger: { include } } });
    const { status, downstream_pipeline: child } = await bridge();
    expect(status).toBe("success");
    expect((await jobsOf(child.id)).sort()).toEqual(["more", "unit 1/2", "unit 2/2"]);
  });

  it("is made of what a job has written", async () => {
    const trigger = { include: [{ artifact: "made.yml", job: "make" }], strategy: "depend" };
    const { place, bridge, jobsOf } = await start("dynamic", {
      make: { stage: "build", script: "x", artifacts: { paths: ["made.yml"] } },
      start: { stage: "test", trigger },
    });
    expect((await bridge()).status).toBe("created");
    const job = await takeJob(app, await runnerOf(app, place));
    const text = "one: { script: x }\ntwo: { script: x }\n";
    await sendArtifacts(app, job, zipped({ "made.yml": text }));
    await app.admin.jobs.finish(job.id, { status: "success" });
    await app.admin.maintenance.runPipelines();
    const { downstream_pipeline: child } = await bridge();
    expect((await jobsOf(child.id)).sort()).toEqual(["one", "two"]);
  });

  it("fails if the job has written nothing", async () => {
    const trigger = { include: [{ artifact: "made.yml", job: "nobody" }] };
    const { bridge } = await start("undynamic", { start: { trigger } });
    expect(await bridge()).toMatchObject({
      status: "failed",
      failure_reason: "downstream_pipeline_creation_failed",
    });
  });
});

const WITH_INPUTS = `spec:
  inputs:
    env: { options: [test, prod] }
    shards: { type: number, default: 1 }
---
"deploy-$[[ inputs.env ]]": { script: make, parallel: $[[ inputs.shards ]] }
`;

describe("inputs of a configuration", () => {
  let place: CiProject;
  beforeAll(async () => {
    place = await ciProject(app, "with-inputs", undefined);
    await place.commit(".gitlab-ci.yml", WITH_INPUTS);
  });
  const jobsOf = async (pipeline: number) =>
    namesOf({
      jobs: (await place.call(`GET /pipelines/${pipeline}/jobs`, { as: "developer" })).json,
    });

  it("are given with a pipeline", async () => {
    const run = (inputs?: unknown) =>
      place.call("POST /pipeline", { as: "developer", json: { ref: "main", inputs } });
    const made = await run({ env: "prod", shards: 2 });
    expect(made.status).toBe(201);
    expect((await jobsOf(made.json.id)).sort()).toEqual(["deploy-prod 1/2", "deploy-prod 2/2"]);
    const refused = async (inputs: unknown) => (await run(inputs)).json.message?.base;
    expect(await refused(undefined)).toEqual(["`env` input: required value has not been provided"]);
    expect(await refused({ env: "other" })).toEqual([
      "`env` input: `other` cannot be used because it is not in the list of allowed options",
    ]);
    expect(await refused({ env: "test", more: 1 })).toEqual(["unknown input arguments: more"]);
    const tooMany = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`i${at}`, "x"]));
    for (const wrong of ["text", [1], { env: { a: 1 } }, { "a b": "x" }, tooMany]) {
      const { status, json } = await run(wrong);
      expect([status, json]).toEqual([400, { error: "inputs is invalid" }]);
    }
  });

  it("are given with a trigger's token", async () => {
    const json = { description: "t" };
    const { json: trigger } = await place.call("POST /triggers", { as: "maintainer", json });
    const started = await place.call("POST /trigger/pipeline", {
      json: { token: trigger.token, ref: "main", inputs: { env: "test" } },
    });
    expect(started.status).toBe(201);
    expect(await jobsOf(started.json.id)).toEqual(["deploy-test 1/1"]);
  });

  it("are given with a schedule", async () => {
    const sent = { description: "s", ref: "main", cron: "0 1 * * *" };
    const inputs = [
      { name: "env", value: "prod" },
      { name: "shards", value: 2 },
    ];
    const made = await place.call("POST /pipeline_schedules", {
      as: "developer",
      json: { ...sent, inputs },
    });
    expect([made.status, made.json.inputs]).toEqual([201, inputs]);
    const path = `/pipeline_schedules/${made.json.id}`;
    expect((await place.call(`POST ${path}/play`, { as: "developer" })).status).toBe(201);
    const { json: pipelines } = await place.call(`GET ${path}/pipelines`, { as: "developer" });
    expect((await jobsOf(pipelines[0].id)).sort()).toEqual(["deploy-prod 1/2", "deploy-prod 2/2"]);
    const change = (json: object) => place.call(`PUT ${path}`, { as: "developer", json });
    const changed = await change({
      inputs: [
        { name: "shards", destroy: true },
        { name: "env", value: "test" },
      ],
    });
    expect(changed.json.inputs).toEqual([{ name: "env", value: "test" }]);
    expect((await change({ active: false })).json.inputs).toEqual([{ name: "env", value: "test" }]);
    expect((await change({ inputs: [{ value: 1 }] })).json).toEqual({ error: "inputs is invalid" });
    // Who may only read the schedule sees neither its variables nor its inputs.
    const { json: shown } = await place.call(`GET ${path}`, { as: "reporter" });
    expect([shown.description, "inputs" in shown]).toEqual(["s", false]);
  });

  it("are given by another project's job", async () => {
    const trigger = { project: "secret/with-inputs", inputs: { env: "prod", shards: 2 } };
    const configuration = JSON.stringify({ start: { trigger } });
    const above = await ciProject(app, "above-inputs", configuration);
    const made = await above.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
    await app.admin.maintenance.runPipelines();
    const { json } = await above.call(`GET /pipelines/${made.json.id}/bridges`, {
      as: "developer",
    });
    expect((await jobsOf(json[0].downstream_pipeline.id)).sort()).toEqual([
      ...["deploy-prod 1/2", "deploy-prod 2/2"],
    ]);
  });
});
