import { afterAll, beforeAll, expect } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { type Case, describeCases } from "./_cases.ts";
import { ciProject, THREE_STAGES } from "./_pipelines.ts";

let app: TestApp;
/** Used in requests and bodies: `{P}` is replaced by the project's path. */
const known: Record<string, string | number> = {};

beforeAll(async () => {
  app = await testApp();
  const project = await ciProject(app, "cases", THREE_STAGES);
  const other = await ciProject(app, "other-cases", THREE_STAGES);
  Object.assign(known, { P: project.path, P2: other.path, S: project.sha, id: project.id });
  for (const title of ["First of all", "Second"]) {
    await project.call("POST /issues", { as: "owner", json: { title } });
  }
  await project.call("POST /labels", { as: "owner", json: { name: "bug", color: "#ff0000" } });
});
afterAll(() => app.dispose());

const unauthorized = { message: "401 Unauthorized" };
const forbidden = { message: "403 Forbidden" };
const notGiven = (name: string) => ({ message: `400 (Bad request) "${name}" not given` });
const some = expect.arrayContaining([expect.anything()]);
const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);

const P = "{P}";
const PUB = "/projects/acme%2Fsite";
const issue = `${P}/issues/1`;
const deploying = { environment: "production", ref: "main", tag: false, status: "success" };
const estimated = { time_estimate: 144_000, human_time_estimate: "1w" };

/** Numbered cases of CI/CD, releases, hooks and what is around them, not covered by other tests. */
const cases: Record<string, Case[]> = {
  triggers: [
    ["C061", `POST ${P}/triggers`, "maintainer", 400, notGiven("description")],
    [
      "C062",
      `POST ${P}/triggers`,
      "maintainer",
      201,
      {
        id: expect.any(Number),
        token: expect.stringMatching(/^glptt-/),
        description: "t",
        owner: { username: "maintainer" },
        last_used: null,
      },
      { form: { description: "t" } },
    ],
    ["C063", `POST ${P}/triggers?description=t`, "developer", 403, forbidden],
    [
      "C064",
      `POST ${P}/trigger/pipeline?token={token}&ref=main`,
      "anonymous",
      201,
      { sha: "{S}", source: "trigger" },
    ],
    ["C065", `POST ${P}/trigger/pipeline?ref=main`, "anonymous", 400, notGiven("token")],
    [
      "C066",
      `POST ${P}/trigger/pipeline?token={token}&ref=other-branch`,
      "anonymous",
      400,
      { message: { base: ["Reference not found"] } },
    ],
    ["C067", "POST {P2}/trigger/pipeline?token={token}&ref=main", "anonymous", 404],
    [
      "C068",
      `POST ${P}/trigger/pipeline?token={token}&ref=main&variables=value`,
      "anonymous",
      400,
      { message: { variables: ["is invalid"] } },
    ],
  ],
  schedules: [
    [
      "C069",
      `POST ${P}/pipeline_schedules`,
      "maintainer",
      201,
      { active: true, cron_timezone: "UTC", next_run_at: instant, ref: "refs/heads/main" },
      { form: { description: "Nightly", ref: "main", cron: "0 1 * * *" } },
    ],
    [
      "C070",
      `POST ${P}/pipeline_schedules`,
      "maintainer",
      400,
      { message: { cron: some } },
      { form: { description: "Nightly", ref: "main", cron: "bad" } },
    ],
    [
      "C071",
      `GET ${P}/pipeline_schedules/99999`,
      "maintainer",
      404,
      { message: "404 Pipeline Schedule Not Found" },
    ],
  ],
  variables: [
    [
      "C072",
      `POST ${P}/variables`,
      "maintainer",
      201,
      { key: "A", value: "b", variable_type: "env_var", protected: false },
      { form: { key: "A", value: "b" } },
    ],
    [
      "C073",
      `POST ${P}/variables`,
      "maintainer",
      400,
      { message: { key: some } },
      { form: { key: "A", value: "b" } },
    ],
    ["C074", `GET ${P}/variables`, "developer", 403, forbidden],
    ["C075", `GET ${P}/variables/NOPE`, "maintainer", 404, { message: "404 Variable Not Found" }],
    [
      "C076",
      `POST ${P}/variables`,
      "maintainer",
      201,
      { environment_scope: "staging" },
      { form: { key: "A", value: "c", environment_scope: "staging" } },
    ],
    ["C076", `GET ${P}/variables/A`, "maintainer", 409],
    [
      "C076",
      `GET ${P}/variables/A?filter[environment_scope]=staging`,
      "maintainer",
      200,
      { value: "c" },
    ],
  ],
  "environments and deployments": [
    [
      "C077",
      `POST ${P}/environments?name=mepmep`,
      "developer",
      201,
      { name: "mepmep", slug: "mepmep", external_url: null, state: "available" },
    ],
    ["C078", `POST ${P}/environments?name=mepmep`, "developer", 400, { message: some }],
    [
      "C079",
      `POST ${P}/environments?name=x&slug=y`,
      "developer",
      400,
      { error: "slug is automatically generated and cannot be changed" },
    ],
    [
      "C080",
      `POST ${P}/environments?name=review/fix-1`,
      "developer",
      201,
      { slug: "review-fix-1-mma7oi" },
    ],
    ["C081", `DELETE ${P}/environments/{environment}`, "maintainer", 403],
    ["C081", `POST ${P}/environments/{environment}/stop`, "maintainer", 200, { state: "stopped" }],
    ["C081", `DELETE ${P}/environments/{environment}`, "maintainer", 204],
    [
      "C082",
      `POST ${P}/deployments`,
      "developer",
      201,
      { status: "success", sha: "{S}", environment: { name: "production" } },
      { json: { ...deploying, sha: "{S}" } },
    ],
    [
      "C083",
      `POST ${P}/deployments`,
      "developer",
      400,
      { message: { sha: ["The commit does not exist"] } },
      { json: { ...deploying, sha: "dead" } },
    ],
  ],
  releases: [
    [
      "C084",
      `POST ${P}/releases`,
      "developer",
      201,
      { tag_name: "v1", name: "R", description: "d", assets: { links: [] }, commit: { id: "{S}" } },
      { form: { tag_name: "v1", ref: "main", name: "R", description: "d" } },
    ],
    [
      "C085",
      `POST ${P}/releases?tag_name=v1&ref=main`,
      "developer",
      409,
      { message: "Release already exists" },
    ],
    [
      "C086",
      `POST ${P}/releases?tag_name=v9`,
      "developer",
      422,
      { message: "Ref is not specified" },
    ],
    [
      "C088",
      `POST ${P}/releases/v1/assets/links?name=Build&url=https://example.com/build`,
      "developer",
      201,
      { name: "Build", link_type: "other" },
    ],
    [
      "C088",
      `POST ${P}/releases/v1/assets/links?name=Build&url=https://example.com/build`,
      "developer",
      400,
    ],
    ["C087", `DELETE ${P}/releases/v1`, "developer", 200, { tag_name: "v1" }],
  ],
  hooks: [
    [
      "C089",
      `POST ${P}/hooks?url=http://example.com&token=s`,
      "maintainer",
      201,
      { push_events: true, issues_events: false, enable_ssl_verification: true },
    ],
    [
      "C090",
      `POST ${P}/hooks?url=ftp://example.com`,
      "maintainer",
      422,
      { error: "Invalid url given" },
    ],
    ["C091", `POST ${P}/hooks`, "maintainer", 400, notGiven("url")],
    ["C092", `POST ${P}/hooks?url=http://127.0.0.1/x`, "maintainer", 422],
    ["C094", `PUT ${P}/hooks/{hook}`, "maintainer", 400, { error: "No parameters provided" }],
  ],
  templates: [
    [
      "C095",
      "GET /templates/licenses/mit?project=My+Awesome+Project&fullname=Anton",
      "anonymous",
      200,
      { key: "mit", content: expect.stringContaining(`${new Date().getFullYear()} Anton`) },
    ],
    ["C096", "GET /licenses", "anonymous", 404, { error: "404 Not Found" }],
    ["C112", `GET ${PUB}/templates/unknown`, "anonymous", 400],
    ["C113", `GET ${P}/templates/licenses`, "guest", 403, forbidden],
  ],
  issues: [
    ["C097", `POST ${issue}/time_estimate?duration=1w`, "reporter", 200, estimated],
    [
      "C097",
      `POST ${issue}/add_spent_time?duration=2h`,
      "reporter",
      201,
      { ...estimated, human_total_time_spent: "2h" },
    ],
    [
      "C098",
      `POST ${issue}/add_spent_time?duration=-1w`,
      "reporter",
      400,
      { message: { base: ["Time to subtract exceeds the total time spent"] } },
    ],
    [
      "C099",
      `POST ${issue}/links?target_project_id={id}&target_issue_iid=2`,
      "reporter",
      201,
      { source_issue: { iid: 1 }, target_issue: { iid: 2 }, link_type: "relates_to" },
    ],
    ["C099", `POST ${issue}/links?target_project_id={id}&target_issue_iid=2`, "reporter", 409],
    [
      "C100",
      `POST ${issue}/notes`,
      "reporter",
      202,
      { commands_changes: expect.anything() },
      { json: { body: "/close" } },
    ],
    ["C100", `GET ${issue}`, "reporter", 200, { state: "closed", user_notes_count: 0 }],
    [
      "C101",
      `POST ${issue}/discussions?body=x`,
      "reporter",
      201,
      { id: expect.stringMatching(/^[0-9a-f]{40}$/), individual_note: false },
    ],
    ["C101", `POST ${issue}/discussions/{discussion}/notes?body=y`, "reporter", 201, { body: "y" }],
    [
      "C101",
      `GET ${issue}/discussions/{discussion}`,
      "reporter",
      200,
      { notes: [{ body: "x" }, { body: "y" }] },
    ],
    [
      "C102",
      `GET ${issue}/discussions/azerty`,
      "reporter",
      404,
      { message: "404 Discussion Not Found" },
    ],
    ["C103", `PUT ${issue}?add_labels=bug`, "reporter", 200, { labels: ["bug"] }],
    [
      "C103",
      `GET ${issue}/resource_label_events`,
      "reporter",
      200,
      [
        {
          action: "add",
          label: { name: "bug" },
          user: { username: "reporter" },
          resource_type: "Issue",
        },
      ],
    ],
    [
      "C104",
      `GET ${issue}/participants`,
      "reporter",
      200,
      expect.arrayContaining([expect.objectContaining({ username: "owner" })]),
    ],
  ],
  "namespaces, search, Markdown and settings": [
    ["C105", "GET /namespaces", "anonymous", 401, unauthorized],
    [
      "C106",
      "GET /namespaces/acme/exists",
      "admin",
      200,
      { exists: true, suggests: [expect.any(String)] },
    ],
    ["C107", "GET /search?scope=unknown&search=a", "developer", 400],
    ["C108", "GET /search?scope=projects&search=a", "anonymous", 401, unauthorized],
    [
      "C109",
      `GET ${P}/search?scope=issues&search=First`,
      "developer",
      200,
      [{ iid: 1, title: "First of all" }],
    ],
    [
      "C110",
      "POST /markdown",
      "developer",
      201,
      { html: expect.stringContaining("<strong>x</strong>") },
      { form: { text: "**x**" } },
    ],
    ["C114", `POST ${P}/access_tokens?name=t`, "maintainer", 400],
    [
      "C115",
      `POST ${PUB}/access_requests`,
      "stranger",
      201,
      { username: "stranger", requested_at: instant },
    ],
  ],
};

describeCases(() => app, known, cases, {
  C062: ({ token }) => Object.assign(known, { token }),
  C080: ({ id }) => Object.assign(known, { environment: id }),
  C089: ({ id }) => Object.assign(known, { hook: id }),
  C101: ({ id }) => Object.assign(known, { discussion: known["discussion"] ?? id }),
});
