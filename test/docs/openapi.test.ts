import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { unknownTables } from "../../docs/generate/columns.ts";
import { inOpenApi } from "../../docs/generate/documented.ts";
import { TAGS } from "../../docs/generate/tags.ts";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { document as npmDocument } from "../api/_npm.ts";
import { allSchemas, openapi as document, undocumented } from "../documented.ts";
import { NUPKG } from "../fixtures.ts";
import { sshKeyOf } from "../helpers.ts";
import { entry, Objects, pushHeaders, pushOf } from "../packs.ts";
import { gpgKeyOf } from "../pgp.ts";

const read = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), "utf8");

const objects = new Objects();
const blob = objects.add("blob", "Text\n");
const tree = objects.add("tree", entry("100644", "a.txt", blob));
const signature = "-----BEGIN PGP SIGNATURE-----\n\nwsBz\n-----END PGP SIGNATURE-----";
const [BLOB, COMMIT] = [blob, objects.commit(tree, [], { signature })].map((name) =>
  name.toString("hex"),
) as [string, string];

/** Pushes a signed commit with a file to a branch: the seed signs nothing. */
async function pushSigned(): Promise<void> {
  const changes = [{ name: "refs/heads/signed", to: COMMIT }];
  const response = await fetch(`${server.url}/acme/site.git/git-receive-pack`, {
    method: "POST",
    headers: pushHeaders(server.token),
    body: new Uint8Array(pushOf(changes, objects.pack)),
  });
  expect(await response.text()).toContain("unpack ok");
}

/** The issue that is opened below; the seed's have no program. */
const OPENED = "5";

let server: TestServer;
let oauthToken: string;
beforeAll(async () => {
  const seed = JSON.parse(/^```json\n(.*?)^```$/ms.exec(read("testing.md"))?.[1] as string);
  server = await startTestServer({ seed });
  const send = (method: string, path: string, body: object) =>
    fetch(`${server.url}/api/v4${path}`, {
      method,
      headers: { "private-token": server.token, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const post = (path: string, body: object) => send("POST", path, body);
  const project = "/projects/acme%2Fsite";
  const deployers = { deploy_access_levels: [{ access_level: 40 }] };
  for (const [path, body] of [
    [`${project}/issues`, { title: "Open", assignee_ids: [1], labels: "css" }],
    [`${project}/snippets`, { title: "t", file_name: "f", content: "c", visibility: "public" }],
    [`${project}/merge_requests/1/award_emoji`, { name: "heart" }],
    [`${project}/approval_rules`, { name: "a", approvals_required: 1, usernames: ["ada"] }],
    [`${project}/merge_requests/1/notes/2/award_emoji`, { name: "heart" }],
    [`${project}/snippets/1/notes/6/award_emoji`, { name: "heart" }],
    ["/snippets", { title: "t", file_name: "f", content: "c", visibility: "public" }],
    [`${project}/boards`, { name: "Work" }],
    [`${project}/boards/3/lists`, { label_id: 1 }],
    [`${project}/fork`, { namespace: "ada", path: "fork" }],
    ["/applications", { name: "a", redirect_uri: "https://a.example.com", scopes: "api" }],
    ["/users/1/impersonation_tokens", { name: "i", scopes: ["api"] }],
    ["/user/keys", { title: "k", key: sshKeyOf(1) }],
    [`${project}/deploy_keys`, { title: "k", key: sshKeyOf(2) }],
    [`${project}/deploy_tokens`, { name: "t", scopes: ["read_repository"] }],
    ["/groups/acme/deploy_tokens", { name: "t", scopes: ["read_repository"] }],
    ["/user/gpg_keys", { key: gpgKeyOf(1) }],
    ["/user/emails", { email: "further@example.com" }],
    [`${project}/invitations`, { email: "nobody@example.com", access_level: 10 }],
    ["/groups/acme/invitations", { email: "nobody@example.com", access_level: 10 }],
    ["/broadcast_messages", { message: "m" }],
    // Their names are tried out like ids.
    [`${project}/protected_branches`, { name: "1" }],
    [`${project}/protected_tags`, { name: "1" }],
    [`${project}/access_tokens`, { name: "t", scopes: ["api"] }],
    ["/groups/acme/access_tokens", { name: "t", scopes: ["api"] }],
    [`${project}/variables`, { key: "1", value: "v" }],
    ["/groups/acme/variables", { key: "1", value: "v" }],
    ["/admin/ci/variables", { key: "1", value: "v" }],
    [`${project}/hooks`, { url: "https://hooks.example.invalid" }],
    ["/groups/acme/hooks", { url: "https://hooks.example.invalid" }],
    ["/hooks", { url: "https://hooks.example.invalid" }],
    [`${project}/triggers`, { description: "t" }],
    [`${project}/feature_flags_user_lists`, { name: "l", user_xids: "1" }],
    [`${project}/feature_flags`, { name: "f", version: "new_version_flag" }],
    [`${project}/freeze_periods`, { freeze_start: "0 23 * * 5", freeze_end: "0 7 * * 1" }],
    [`${project}/protected_environments`, { name: "1", ...deployers }],
    ["/groups/acme/protected_environments", { name: "production", ...deployers }],
    [`${project}/pipeline_schedules`, { description: "s", ref: "main", cron: "0 1 * * *" }],
    [`${project}/pipeline_schedules/1/variables`, { key: "1", value: "v" }],
    ["/groups/acme/protected_branches", { name: "1" }],
    ["/groups/acme/wikis", { title: "guides/Home", content: "c" }],
    ["/project_aliases", { project_id: 1, name: "1" }],
  ] as const) {
    expect([path, (await post(path, body)).status]).toEqual([path, 201]);
  }
  for (const place of ["/users/1", "/groups/acme", project]) {
    const set = await fetch(`${server.url}/api/v4${place}/custom_attributes/1?value=v`, {
      method: "PUT",
      headers: { "private-token": server.token as string },
    });
    expect([place, set.status]).toEqual([place, 200]);
  }
  // Nothing answers there, which their logs say.
  for (const hook of [`${project}/hooks/1/test/issues_events`, "/hooks/3"]) await post(hook, {});
  await post("/groups/acme/hooks/2/test/issues_events", {});
  for (const issuable of [
    `${project}/issues/1`,
    `${project}/merge_requests/1`,
    "/groups/acme/epics/1",
  ]) {
    const changed = await send("PUT", issuable, {
      add_labels: "new",
      ...(issuable.includes("/issues/") && { weight: 7 }),
      ...(issuable.includes("epics") ? { state_event: "close" } : { milestone_id: null }),
    });
    expect([issuable, changed.status]).toEqual([issuable, 200]);
  }
  const fortnights = `mutation { iterationCadenceCreate(input: { groupPath: "acme", title: "Fortnights", automatic: true,
    active: true, startDate: "${new Date().toISOString().slice(0, 10)}", durationInWeeks: 2, iterationsInAdvance: 1 }) { errors } }`;
  const planned = await fetch(`${server.url}/api/graphql`, {
    method: "POST",
    headers: { "private-token": server.token, "content-type": "application/json" },
    body: JSON.stringify({ query: fortnights }),
  });
  expect(await planned.json()).toEqual({ data: { iterationCadenceCreate: { errors: [] } } });
  const action = { body: '/iteration [cadence:"Fortnights"] --current' };
  expect((await post(`${project}/issues/1/notes`, action)).status).toBe(202);
  const state = await post(`${project}/terraform/state/production`, { serial: 1 });
  expect(state.status).toBe(200);
  await pushSigned();
  // Merge request 2, which can be merged, and whose rules can be changed.
  const actions = [{ action: "create", file_path: "logo.txt", content: "Larger\n" }];
  const commit = { branch: "text", start_branch: "main", commit_message: "Describe it", actions };
  expect((await post(`${project}/repository/commits`, commit)).status).toBe(201);
  const request = { title: "Text", source_branch: "text", target_branch: "main" };
  expect((await (await post(`${project}/merge_requests`, request)).json()).iid).toBe(2);
  const rule = { name: "a", approvals_required: 0 };
  expect((await post(`${project}/merge_requests/2/approval_rules`, rule)).status).toBe(201);
  const blocked = await post(`${project}/merge_requests/1/blocks`, {
    blocking_merge_request_id: 2,
  });
  expect(blocked.status).toBe(201);
  const comments = `${project}/repository/commits/${COMMIT}/comments`;
  expect((await post(comments, { note: "Why?" })).status).toBe(201);
  // Merge request 3, in a merge train that it does not leave: its pipeline runs.
  const trains = { merge_trains_enabled: true };
  expect((await send("PUT", project, trains)).status).toBe(200);
  const trained = {
    ...commit,
    branch: "train",
    actions: [{ ...actions[0], file_path: "train.txt" }],
  };
  expect((await post(`${project}/repository/commits`, trained)).status).toBe(201);
  const boarding = { ...request, source_branch: "train" };
  expect((await (await post(`${project}/merge_requests`, boarding)).json()).iid).toBe(3);
  expect((await post(`${project}/merge_trains/merge_requests/3`, {})).status).toBe(201);
  const secure = new FormData();
  secure.append("name", "key");
  secure.append("file", new Blob(["key"]), "key");
  const kept = await fetch(`${server.url}/api/v4${project}/secure_files`, {
    method: "POST",
    headers: { "private-token": server.token },
    body: secure,
  });
  expect(kept.status).toBe(201);
  const domain = { domain: "www.example.com" };
  expect((await post(`${project}/pages/domains`, domain)).status).toBe(201);
  const configuration = 'check: { script: [make], resource_group: "1" }\n';
  const configured = await post(`${project}/repository/commits`, {
    branch: "ci",
    start_branch: "main",
    commit_message: "Check",
    actions: [{ action: "create", file_path: ".gitlab-ci.yml", content: configuration }],
  });
  expect(configured.status).toBe(201);
  expect((await post(`${project}/pipeline`, { ref: "ci" })).status).toBe(201);
  expect((await post("/user/runners", { runner_type: "instance_type" })).status).toBe(201);
  const drafts = `${project}/merge_requests/1/draft_notes`;
  expect((await post(drafts, { note: "Later" })).status).toBe(201);
  const uploaded = await fetch(
    `${server.url}/api/v4${project}/packages/generic/tool/1.0/tool.txt`,
    { method: "PUT", headers: { "private-token": server.token as string }, body: "a tool" },
  );
  expect(uploaded.status).toBe(201);
  const nuget = new FormData();
  nuget.append("package", new Blob([NUPKG]), "thing.nupkg");
  await fetch(`${server.url}/api/v4${project}/packages/nuget`, {
    method: "PUT",
    headers: { "private-token": server.token },
    body: nuget,
  });
  const content = JSON.stringify({ name: "acme/thing" });
  const composer = { action: "create", file_path: "composer.json", content };
  await post(`${project}/repository/commits`, {
    ...{ branch: "composer", start_branch: "main", commit_message: "Name it" },
    actions: [composer],
  });
  const version = await post(`${project}/packages/composer`, { branch: "composer" });
  expect(version.status).toBe(201);
  const published = await fetch(`${server.url}/api/v4${project}/packages/npm/@acme%2Fthing`, {
    method: "PUT",
    headers: { "private-token": server.token as string },
    body: JSON.stringify(npmDocument("@acme/thing", "1.0.0")),
  });
  expect(published.status).toBe(200);
  const { token, scim_url } = await (
    await post("/groups/acme/scim_tokens", { name: "IdP" })
  ).json();
  const provisioned = await fetch(`${scim_url}/Users`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/scim+json" },
    body: JSON.stringify({ userName: "scim@example.com", externalId: "1" }),
  });
  expect(provisioned.status).toBe(201);
  const granted = await fetch(`${server.url}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "password",
      username: "ada",
      password: "difference engine",
      scope: "api openid",
    }),
  });
  oauthToken = (await granted.json()).access_token;
});
afterAll(() => server.close());

/** Candidate addresses of a path: its ids are tried out, since it is unknown which exist. */
function addressesOf(path: string): string[] {
  const id = path.startsWith("/group") ? "acme" : "acme%2Fsite";
  const own = path
    .replace("{id}", id)
    .replace("{feature_flag_name}", "f")
    .replace("state/{name}", "state/production")
    .replace(/^(\/groups\/.*\/protected_environments)\/\{name\}/, "$1/production")
    .replace("{slug}", "guides%2FHome")
    .replace("{branch}", "main")
    .replace("{tag_name}", "v1.0")
    .replace(/(\/nuget\/\w+)\/\{package_name\}/, "$1/Acme.Thing")
    .replace("{package_version}", "1.0.0.json")
    .replace(
      /(\/composer\/.*)\{package_name\}/,
      path.includes("p2") ? "$1acme%2Fthing" : "$1acme%2Fthing$$0",
    )
    .replace("composer/p/{sha}", "composer/p/0")
    .replace("{package_name}", "@acme%2Fthing")
    .replace("{file_path}", "README.md")
    .replace("licenses/{name}", "licenses/mit")
    .replace("gitlab_ci_ymls/{name}", "gitlab_ci_ymls/Go")
    .replace("templates/{type}/{name}", "templates/gitignores/Go")
    .replace("{type}", "licenses")
    .replace(/(dockerfiles|gitignores)\/\{name\}/, "$1/Node")
    .replace("{sha}", path.includes("/blobs/") ? BLOB : COMMIT)
    .replace("epic_boards/{board_id}", "epic_boards/2")
    .replace("{board_id}", path.startsWith("/groups") ? "1" : "3")
    .replace("boards/3/lists/{list_id}", "boards/3/lists/9")
    .replace("{domain}", "www.example.com")
    .replace(
      "merge_requests/{merge_request_iid}",
      path.includes("merge_trains") ? "merge_requests/3" : "$&",
    )
    .replace("{merge_request_iid}", /merge_ref|versions|approval_rules/.test(path) ? "2" : "1")
    .replace("{issue_iid}", path.endsWith("user_agent_detail") ? OPENED : "1")
    .replace(/\{(noteable_id|\w*iid)\}/, "1");
  const ids = [1, 2, 3, 4, 5, 6, 7, 8];
  const filled = (text: string, number: number) =>
    text.replace(/\{(\w+)\}/, (_, name) =>
      name === "discussion_id" ? number.toString(16).padStart(40, "0") : String(number),
    );
  return ids.flatMap((first) => ids.map((second) => filled(filled(own, first), second)));
}

/** Required queries by the last segment of a path. */
const QUERIES: Readonly<Record<string, string>> = {
  "{file_path}": "?ref=main",
  blame: "?ref=main",
  compare: "?from=v1.0&to=main",
  latest: "?ref=ci",
  merge_base: "?refs[]=main&refs[]=v1.0",
  search: "?scope=issues&search=a",
  issues_count: "?group_path=acme",
  merge_requests_count: "?group_path=acme",
  new_members_count: "?group_path=acme",
  avatar: "?email=ada@example.com",
  metrics: "?metric=deployment_frequency",
  render: "?link_url=https://a.example.com&image_url=https://a.example.com/a.svg",
};

const gets = Object.entries(document.paths).flatMap(([path, { get, servers }]) =>
  get?.responses["200"]?.content?.["application/json"]
    ? [{ path, base: servers ? "" : "/api/v4" }]
    : [],
);

describe("openapi.json", () => {
  it("is a valid OpenAPI document", async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
  });

  it("has valid schemas (JSON Schema 2020-12) only", () => {
    const schemas = allSchemas();
    expect(schemas.length).toBeGreaterThan(1000);
    const ajv = new Ajv2020({ strict: false });
    const invalid = schemas.filter(({ schema }) => !ajv.validateSchema(schema));
    expect(invalid.map(({ at }) => at)).toEqual([]);
    expect(JSON.stringify(document)).not.toContain('"type":[]');
  });

  it("describes every tag, and only refers to existing tables", () => {
    expect(Object.keys(TAGS).sort()).toEqual(inOpenApi.map(({ name }) => name).sort());
    expect(unknownTables).toEqual([]);
  });

  it("has paths without wildcards", () => {
    expect(Object.keys(document.paths).filter((path) => path.includes("*"))).toEqual([]);
  });

  it("documents the answers of most GETs", () => {
    expect(gets.length).toBeGreaterThan(60);
  });

  const seen = new Set<string>();
  it.each(gets)("matches GET $path", async ({ path, base }) => {
    const query = QUERIES[path.split("/").at(-1) as string] ?? "";
    for (const address of new Set(addressesOf(path))) {
      for (const token of [server.token, "bob-token", undefined]) {
        const headers: HeadersInit = path.startsWith("/oauth")
          ? { authorization: `Bearer ${oauthToken}` }
          : token
            ? { "private-token": token }
            : {};
        const response = await fetch(server.url + base + address + query, { headers });
        const { status, headers: sent } = response;
        if (status === 200) seen.add(path);
        const answer = { status, headers: sent, json: await response.json() };
        expect(undocumented("GET", base + address, answer)).toBeUndefined();
      }
    }
  });

  it("was checked against all of them", () => {
    const unseen = gets.map(({ path }) => path).filter((path) => !seen.has(path));
    // They take the token of a job that runs, or of Unleash's clients, what a job has stored, the fingerprint of a key, a
    // version, a tag that is signed, a service account, an integration, a module of Go, an image of containers, or another
    // server: see test/api/{runners,feature-flags,changelogs,service-accounts,integrations,go-packages,container-registry,bulk-imports,random}.test.ts.
    expect(unseen.sort()).toEqual([
      "/bulk_imports",
      "/bulk_imports/entities",
      "/bulk_imports/{import_id}",
      "/bulk_imports/{import_id}/entities",
      "/bulk_imports/{import_id}/entities/{entity_id}",
      "/bulk_imports/{import_id}/entities/{entity_id}/failures",
      "/dependency_list_exports/{export_id}",
      "/dependency_list_exports/{export_id}/download",
      "/feature_flags/unleash/{project_id}/client/features",
      "/feature_flags/unleash/{project_id}/features",
      "/groups/{id}/approval_rules/{approval_rule_id}",
      "/groups/{id}/integrations/{slug}",
      "/groups/{id}/service_accounts/{user_id}/personal_access_tokens",
      ...[
        "/job",
        "/jwt/auth",
        "/keys",
        "/projects/{id}/integrations/{slug}",
        "/projects/{id}/jobs/{job_id}/artifacts/tree",
        "/projects/{id}/packages/go/{module_name}/@v/{module_version}.info",
      ],
      "/projects/{id}/registry/repositories/{repository_id}/tags",
      "/projects/{id}/registry/repositories/{repository_id}/tags/{tag_name}",
      "/projects/{id}/repository/changelog",
      "/projects/{id}/repository/tags/{tag_name}/signature",
      "/projects/{id}/service_accounts/{user_id}/personal_access_tokens",
      "/projects/{id}/services/{slug}",
      "/registry/repositories/{repository_id}",
      "/v2",
      "/v2/{repository}/referrers/{digest}",
      "/v2/{repository}/tags/list",
    ]);
  });
});
