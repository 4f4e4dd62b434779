import {
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  type JWTPayload,
  jwtVerify,
} from "jose";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startTestServer } from "../../src/testing.ts";
import { call as callOn, engine, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject } from "./_pipelines.ts";

const ISSUER = "https://pm.example.com/prefix";

let clock = Date.UTC(2026, 10, 21, 12);
let app: TestApp;
beforeAll(async () => {
  app = await testApp({ now: () => (clock += 1), url: ISSUER });
});
afterAll(() => app.dispose());

interface PayloadVariable {
  readonly key: string;
  readonly value: string;
  readonly masked: boolean;
  readonly public: boolean;
  readonly file: boolean;
}

const as = "owner";

/** Makes a project with a configuration and a runner of its own. */
async function projectWith(name: string, configuration: string) {
  const project = await ciProject(app, name, configuration);
  const { json: runner } = await app.call("POST /user/runners", {
    as,
    json: { runner_type: "project_type", project_id: project.id },
  });
  const request = () => app.call("POST /jobs/request", { json: { token: runner.token } });
  return { project, runner: runner as { id: number; token: string }, request };
}

/** Starts a pipeline of a branch or tag, and gets the variables of its next job. */
async function variablesOf(
  { project, request }: { project: CiProject; request: () => ReturnType<TestApp["call"]> },
  ref = "main",
) {
  const started = await project.call("POST /pipeline", { as, json: { ref } });
  expect([started.status, started.text]).toEqual([201, started.text]);
  const { status, json, text } = await request();
  expect([status, text]).toEqual([201, text]);
  const variables = json.variables as PayloadVariable[];
  const find = (key: string) => variables.find((one) => one.key === key);
  return { pipeline: started.json, job: json, variables, find };
}

const said = (variable: PayloadVariable | undefined): JWTPayload =>
  decodeJwt(variable?.value ?? "");

/** Verifies a token by the keys that the application publishes. */
async function verified(token: string, audience: string): Promise<JWTPayload> {
  const { createLocalJWKSet } = await import("jose");
  const keys = createLocalJWKSet((await app.call("GET /oauth/discovery/keys")).json);
  const currentDate = new Date(clock);
  return (await jwtVerify(token, keys, { issuer: ISSUER, audience, currentDate })).payload;
}

describe("id_tokens of a job", () => {
  it("say which job it is, in texts, and are masked", async () => {
    const made = await projectWith(
      "claims",
      "build: { script: make, timeout: 10m, id_tokens: { T: { aud: https://v.example.com } } }",
    );
    const { project, runner } = made;
    const { pipeline, job, variables, find } = await variablesOf(made);
    const { user } = pipeline;
    const token = find("T");
    expect(token).toMatchObject({ masked: true, public: false, file: false });
    const [{ kid }] = (await app.call("GET /oauth/discovery/keys")).json.keys;
    expect(decodeProtectedHeader(token?.value ?? "")).toEqual({ typ: "JWT", kid, alg: "RS256" });
    const claims = await verified(token?.value ?? "", "https://v.example.com");
    const { iat } = claims as { iat: number };
    const namespace = (await app.call("GET /groups/secret", { as })).json.id;
    expect(claims).toEqual({
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      aud: "https://v.example.com",
      iss: ISSUER,
      iat: expect.any(Number),
      nbf: iat - 5,
      exp: iat + 600,
      sub: "project_path:secret/claims:ref_type:branch:ref:main",
      namespace_id: String(namespace),
      namespace_path: "secret",
      project_id: String(project.id),
      project_path: "secret/claims",
      user_id: String(user.id),
      user_login: "owner",
      user_email: expect.stringContaining("@"),
      user_access_level: "owner",
      groups_direct: ["acme", "secret"],
      pipeline_id: String(pipeline.id),
      pipeline_source: "api",
      job_id: String(job.id),
      ref: "main",
      ref_type: "branch",
      ref_path: "refs/heads/main",
      ref_protected: "false",
      runner_id: runner.id,
      runner_environment: "self-hosted",
      sha: project.sha,
      project_visibility: "private",
      ci_config_ref_uri: "pm.example.com/prefix/secret/claims//.gitlab-ci.yml@refs/heads/main",
      ci_config_sha: project.sha,
      job_project_id: String(project.id),
      job_project_path: "secret/claims",
      job_namespace_id: String(namespace),
      job_namespace_path: "secret",
    });
    expect(variables.filter(({ key }) => key.startsWith("CI_JOB_JWT"))).toEqual([]);
    const stored = await app.store.rows("select * from ci_job_specs");
    expect(JSON.stringify(stored)).not.toContain(token?.value.slice(0, 40));
  });

  it("are several, with lists of audiences in which variables are replaced, and come from `default`", async () => {
    const made = await projectWith(
      "audiences",
      `
variables: { HOST: vault.example.com, AUDIENCE: "https://$HOST" }
default: { id_tokens: { D: { aud: default } } }
own:
  stage: build
  script: make
  id_tokens:
    ONE: { aud: "$AUDIENCE" }
    TWO: { aud: ["$CI_SERVER_URL", "https://x/\${CI_PROJECT_PATH}", "$UNKNOWN"] }
inherited: { stage: deploy, script: make }
`,
    );
    const { find, job } = await variablesOf(made);
    expect(find("D")).toBeUndefined();
    expect(said(find("ONE")).aud).toBe("https://vault.example.com");
    expect(said(find("TWO")).aud).toEqual([ISSUER, "https://x/secret/audiences", "$UNKNOWN"]);
    expect(said(find("ONE")).jti).not.toBe(said(find("TWO")).jti);
    await app.call(`PUT /jobs/${job.id}`, { json: { token: job.token, state: "success" } });
    await app.admin.maintenance.runPipelines();
    const next = await made.request();
    const [token] = next.json.variables.filter((one: PayloadVariable) => one.key === "D");
    expect(said(token)).toMatchObject({ aud: "default", exp: expect.any(Number) });
  });

  it("tell of protected branches, of tags and of environments", async () => {
    const made = await projectWith(
      "places",
      "deploy: { script: make, environment: { name: prod/eu, action: start }, id_tokens: { T: { aud: x } } }",
    );
    const { project } = made;
    await project.call("POST /protected_branches", { as, json: { name: "main" } });
    const json = { name: "prod/eu", deploy_access_levels: [{ access_level: 40 }] };
    const protecting = await project.call("POST /protected_environments", { as, json });
    expect(protecting.status).toBe(201);
    const { find } = await variablesOf(made);
    expect(said(find("T"))).toMatchObject({
      ref_protected: "true",
      environment: "prod/eu",
      environment_protected: "true",
      deployment_tier: "production",
      environment_action: "start",
    });
    await project.call("POST /repository/tags", { as, json: { tag_name: "v1", ref: "main" } });
    const ofTag = await variablesOf(made, "v1");
    expect(said(ofTag.find("T"))).toMatchObject({
      sub: "project_path:secret/places:ref_type:tag:ref:v1",
      ref: "v1",
      ref_type: "tag",
      ref_path: "refs/tags/v1",
      ref_protected: "false",
    });
  });

  it("have the subject that the project wants", async () => {
    const made = await projectWith("subjects", "a: { script: make, id_tokens: { T: { aud: x } } }");
    const name = "ci_id_token_sub_claim_components";
    const set = (value: unknown) => made.project.call("PUT ", { as, json: { [name]: value } });
    const shown = async () => (await made.project.call("GET ", { as })).json[name];
    expect(await shown()).toEqual(["project_path", "ref_type", "ref"]);
    for (const [value, subject] of [
      [["project_path"], "project_path:secret/subjects"],
      [["project_path", "ref"], "project_path:secret/subjects:ref:main"],
      [
        ["project_path", "ref", "ref_type"],
        "project_path:secret/subjects:ref:main:ref_type:branch",
      ],
    ] as const) {
      expect((await set(value)).status).toBe(200);
      expect(await shown()).toEqual(value);
      const { find, job } = await variablesOf(made);
      expect(said(find("T")).sub).toBe(subject);
      await app.call(`PUT /jobs/${job.id}`, { json: { token: job.token, state: "success" } });
    }
    for (const value of [
      [],
      ["ref"],
      ["ref", "project_path"],
      ["project_path", "user_id"],
      ["project_path", "ref", "ref"],
    ]) {
      const refused = await set(value);
      expect([value, refused.status, Object.keys(refused.json.message ?? {})]).toEqual([
        value,
        400,
        [name],
      ]);
    }
  });

  it("name the source project of a merge request, and where it runs", async () => {
    const made = await projectWith(
      "requests",
      "a: { script: make, id_tokens: { T: { aud: x } }, rules: [{ if: $CI_MERGE_REQUEST_IID }] }",
    );
    const { project } = made;
    await project.call("POST /repository/branches", {
      as,
      json: { branch: "feature", ref: "main" },
    });
    await project.call("POST /repository/commits", {
      as,
      json: {
        branch: "feature",
        commit_message: "Change",
        actions: [{ action: "create", file_path: "b", content: "b" }],
      },
    });
    const request = { title: "Change", source_branch: "feature", target_branch: "main" };
    await project.call("POST /merge_requests", { as, json: request });
    await app.admin.maintenance.runPipelines();
    const { json } = await made.request();
    const token = json.variables.find((one: PayloadVariable) => one.key === "T");
    expect(said(token)).toMatchObject({
      sub: "project_path:secret/requests:ref_type:branch:ref:feature",
      ref: "feature",
      ref_path: "refs/heads/feature",
      pipeline_source: "merge_request_event",
      project_path: "secret/requests",
      job_project_path: "secret/requests",
    });
  });

  it("are no tokens of this server", async () => {
    const made = await projectWith(
      "strangers",
      "a: { script: make, id_tokens: { T: { aud: x } } }",
    );
    const { find, job } = await variablesOf(made);
    const token = find("T")?.value ?? "";
    for (const headers of [
      { authorization: `Bearer ${token}` },
      { "private-token": token },
      { "job-token": token },
    ] as Record<string, string>[]) {
      expect((await app.call("GET /projects/1", { headers })).status).toBe(401);
      expect((await app.call("GET /job", { headers })).status).toBe(401);
    }
    const userinfo = { headers: { authorization: `Bearer ${token}` } };
    expect((await app.call("GET /oauth/userinfo", userinfo)).status).toBe(401);
    expect((await app.call("GET /v2/", userinfo)).status).not.toBe(200);
    const update = await app.call(`PUT /jobs/${job.id}`, { json: { token, state: "success" } });
    expect([400, 403]).toContain(update.status);
  });

  it("that can't be signed fail their job, which nobody would end otherwise", async () => {
    if (engine === "sqlite") return;
    const made = await projectWith("keyless", "a: { script: make, id_tokens: { T: { aud: x } } }");
    const { createApp } = await import("../../src/app.ts");
    const without = await createApp({
      database: app.database,
      background: false,
      now: () => clock,
      onError: () => {},
    });
    onTestFinished(() => without.close());
    await app.store.transaction((db) => db.run("delete from signing_keys"));
    const { json } = await made.project.call("POST /pipeline", { as, json: { ref: "main" } });
    const asked = { json: { token: made.runner.token } };
    expect((await callOn(without, "POST /jobs/request", asked)).status).toBe(503);
    const [job] = (await made.project.call(`GET /pipelines/${json.id}/jobs`, { as })).json;
    expect([job.status, job.failure_reason]).toEqual(["failed", "data_integrity_failure"]);
  });

  it("keep an audience as it is written that would be too long with its variables", async () => {
    const audiences = Array.from({ length: 20 }, (_, at) => `"$A$A$A${at}"`).join(", ");
    const made = await projectWith(
      "large",
      `
variables: { A: "${"$A$A".repeat(500)}" }
a: { script: make, id_tokens: { T: { aud: [${audiences}] } } }
`,
    );
    const { find } = await variablesOf(made);
    const { aud } = said(find("T"));
    expect(aud).toEqual(Array.from({ length: 20 }, (_, at) => `$A$A$A${at}`));
  });
});

it("verifiers find the keys by the issuer of a running server", async () => {
  const server = await startTestServer({
    seed: {
      users: [{ username: "ada", name: "Ada", tokens: [{ token: "ada-token", scopes: ["api"] }] }],
    },
  });
  onTestFinished(() => server.close());
  const send = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${server.url}/api/v4${path}`, {
      method,
      headers: { "private-token": "ada-token", "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    return response.json();
  };
  const project = await send("POST", "/projects", { name: "P", initialize_with_readme: true });
  await send("POST", `/projects/${project.id}/repository/commits`, {
    branch: "main",
    commit_message: "Configure [skip ci]",
    actions: [
      {
        action: "create",
        file_path: ".gitlab-ci.yml",
        content: "a: { script: make, id_tokens: { T: { aud: vault } } }",
      },
    ],
  });
  const { token } = await send("POST", "/user/runners", {
    runner_type: "project_type",
    project_id: project.id,
  });
  await send("POST", `/projects/${project.id}/pipeline`, { ref: "main" });
  const job = await send("POST", "/jobs/request", { token });
  const jwt = job.variables.find((one: PayloadVariable) => one.key === "T").value;
  const { iss = "" } = decodeJwt(jwt);
  const about = await fetch(`${iss}/.well-known/openid-configuration`);
  const { jwks_uri, issuer } = (await about.json()) as { jwks_uri: string; issuer: string };
  expect([iss, issuer]).toEqual([server.url, server.url]);
  const keys = createRemoteJWKSet(new URL(jwks_uri));
  const { payload } = await jwtVerify(jwt, keys, { issuer, audience: "vault" });
  expect(payload["ref_protected"]).toBe("true");
});

describe("secrets", () => {
  const can = { features: { vault_secrets: true } };
  /** What a runner gets of the secrets of a job, or why the job fails. */
  async function secretsOf(name: string, secrets: object, values: object, info: object = can) {
    const made = await projectWith(
      name,
      JSON.stringify({
        variables: values,
        a: { script: "make", id_tokens: { T: { aud: "x" }, U: { aud: "y" } }, secrets },
      }),
    );
    const { json } = await made.project.call("POST /pipeline", { as, json: { ref: "main" } });
    const asked = { json: { token: made.runner.token, info } };
    const { status, json: payload } = await app.call("POST /jobs/request", asked);
    if (status === 201) return payload.secrets;
    expect(status).toBe(204);
    const [job] = (await made.project.call(`GET /pipelines/${json.id}/jobs`, { as })).json;
    return [job.status, job.failure_reason];
  }
  const vault = {
    url: "https://vault.example.com/x",
    namespace: "n",
    auth: { name: "jwt", path: "jwt", data: { jwt: "$T", role: "r" } },
  };

  it("of Vault are named, with what the runner proves the job by", async () => {
    const secrets = {
      SHORT: { vault: "a/b/c@ops" },
      LONG: {
        vault: { engine: { name: "kv-v1", path: "kv" }, path: "p", field: "f" },
        file: false,
        token: "$U",
      },
    };
    const values = {
      ...{ HOST: "vault.example.com", VAULT_SERVER_URL: "https://$HOST/x" },
      ...{ VAULT_NAMESPACE: "n", VAULT_AUTH_ROLE: "r" },
    };
    const engine = { name: "kv-v2", path: "ops" };
    expect(await secretsOf("vaulted", secrets, values)).toEqual({
      SHORT: { vault: { engine, path: "a/b", field: "c", server: vault }, file: true },
      LONG: {
        vault: {
          ...secrets.LONG.vault,
          server: { ...vault, auth: { ...vault.auth, data: { jwt: "$U", role: "r" } } },
        },
        file: false,
      },
    });
  });

  it("of other providers are handed on in the runner's form", async () => {
    const secrets = {
      A: { azure_key_vault: { name: "n", version: "1" } },
      B: { gcp_secret_manager: { name: "n" }, token: "$U" },
      C: { aws_secrets_manager: "app/db#password" },
      D: { akeyless: { name: "n" }, token: "$T" },
    };
    const values = {
      ...{ AZURE_KEY_VAULT_SERVER_URL: "https://a", AZURE_CLIENT_ID: "c", AZURE_TENANT_ID: "t" },
      ...{ GCP_PROJECT_NUMBER: "1", GCP_WORKLOAD_IDENTITY_FEDERATION_POOL_ID: "pool" },
      ...{ GCP_WORKLOAD_IDENTITY_FEDERATION_PROVIDER_ID: "p", AKEYLESS_ACCESS_ID: "id" },
      ...{ AWS_REGION: "eu-west-1" },
    };
    expect(await secretsOf("elsewhere", secrets, values)).toEqual({
      A: {
        azure_key_vault: {
          ...{ name: "n", version: "1" },
          server: { url: "https://a", client_id: "c", tenant_id: "t", jwt: "$T" },
        },
        file: true,
      },
      B: {
        gcp_secret_manager: {
          ...{ name: "n", version: "latest" },
          server: {
            project_number: "1",
            workload_identity_federation_pool_id: "pool",
            workload_identity_federation_provider_id: "p",
            jwt: "$U",
          },
        },
        file: true,
      },
      C: {
        aws_secrets_manager: {
          ...{ secret_id: "app/db", field: "password" },
          server: { region: "eu-west-1" },
        },
        file: true,
      },
      D: { akeyless: { name: "n", server: { access_id: "id", jwt: "$T" } }, file: true },
    });
  });

  it("fail a job whose runner can't fetch them, or that has no server of them", async () => {
    const secrets = { A: { vault: "a/b" } };
    const there = { VAULT_SERVER_URL: "https://vault.example.com" };
    expect(await secretsOf("unable", secrets, there, {})).toEqual(["failed", "runner_unsupported"]);
    const none = ["failed", "secrets_provider_not_found"];
    expect(await secretsOf("nowhere", secrets, {})).toEqual(none);
    expect(await secretsOf("no-azure", { A: { azure_key_vault: { name: "n" } } }, {})).toEqual(
      none,
    );
  });
});
