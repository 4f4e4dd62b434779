// Repositories that are imported from GitHub, of which emulate is one but for Git, and from Gitea.
import { createHash } from "node:crypto";
import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { createEmulator, type Emulator } from "emulate";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSecrets } from "../../src/core/secrets.ts";
import { type Server, serve } from "../../src/node.ts";
import { runImport } from "../../src/resources/bulk-imports/run.ts";
import { SEED } from "../forms.ts";
import { clock, type Person, SECRET_KEY, type TestApp, testApp } from "../helpers.ts";

/** What gives the repositories of the server that is imported from. */
let code: TestApp;
let coded: Server;
let github: Emulator;
/** In front of both, as on a server of one's own: the API below /api/v3, or /api/v1 of Gitea. */
let front: HttpServer;
let url = "";
let app: TestApp;
let ahead = 0;
/** Commits of emulate, and those of the repository. */
const shas = new Map<string, string>();
/** Answers instead of the API, if it answers. */
let instead: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;

const now = () => clock() + ahead;
const OPTIONS = {
  webhooks: { deliver: false, allowLocalRequests: true },
  secretKey: SECRET_KEY,
  now,
};

/** Sends a request to the emulated GitHub that has to succeed. */
async function there(request: string, json?: object, as = "octo") {
  const [method, path] = request.split(" ") as [string, string];
  const headers = { authorization: `Bearer token-of-${as}`, "content-type": "application/json" };
  const body = json && JSON.stringify(json);
  const answer = await fetch(github.url + path, { method, headers, ...(body && { body }) });
  if (!answer.ok) throw new Error(`${request}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

/** Sends a request to what gives repositories. */
async function coding(request: string, json?: object) {
  const answer = await code.call(request, { as: "admin", ...(json && { json }) });
  if (answer.status >= 300) throw new Error(`${request}: ${answer.status} ${answer.text}`);
  return answer.json;
}

/** Passes a request on, with the commits of the other one. */
async function pass(request: IncomingMessage, response: ServerResponse) {
  const path = request.url ?? "/";
  if (instead(request, response)) return;
  const isApi = path.startsWith("/api/v3/");
  const to = isApi ? github.url + path.slice("/api/v3".length) : coded.url + path;
  const { authorization, "content-type": type, "git-protocol": _, ...headers } = request.headers;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const answer = await fetch(to, {
    method: request.method ?? "GET",
    headers: {
      accept: String(headers.accept),
      ...(isApi
        ? { authorization: String(authorization) }
        : { authorization: `Basic ${Buffer.from("admin:token-of-admin").toString("base64")}` }),
      ...(type && { "content-type": type }),
    },
    ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
  });
  response.statusCode = answer.status;
  for (const name of ["content-type", "link", "x-ratelimit-remaining", "x-ratelimit-reset"]) {
    const value = answer.headers.get(name);
    if (value !== null) response.setHeader(name, value.replaceAll(github.url, `${url}/api/v3`));
  }
  if (isApi) {
    let text = await answer.text();
    for (const [from, sha] of shas) text = text.replaceAll(from, sha);
    response.end(text);
  } else if (path.includes("/info/refs")) {
    response.end(asPulls(Buffer.from(await answer.arrayBuffer())));
  } else response.end(Buffer.from(await answer.arrayBuffer()));
}

/** References with the code of merge requests under GitHub's names. */
function asPulls(bytes: Buffer): Buffer {
  const packets: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = Number.parseInt(bytes.toString("latin1", at, at + 4), 16);
    const line = length === 0 ? "" : bytes.toString("latin1", at + 4, at + length);
    at += Math.max(4, length);
    const renamed = line.replace(/refs\/merge-requests\/1\/(head|merge)/, "refs/pull/3/$1");
    packets.push(
      line === "" ? "0000" : (renamed.length + 4).toString(16).padStart(4, "0") + renamed,
    );
  }
  return Buffer.from(packets.join(""), "latin1");
}

const PEOPLE = ["octo", "developer", "nobody"];

beforeAll(async () => {
  code = await testApp({
    seed: {
      users: [
        {
          username: "admin",
          name: "A",
          admin: true,
          tokens: [{ token: "token-of-admin", scopes: ["api"] }],
        },
        { username: "octo", name: "Octo" },
      ],
    },
  });
  coded = await serve(code, { port: 0, grace: 100 });
  github = await createEmulator({
    service: "github",
    port: 0,
    seed: {
      tokens: Object.fromEntries(
        PEOPLE.map((login) => [`token-of-${login}`, { login, scopes: ["repo"] }]),
      ),
      github: {
        users: PEOPLE.map((login) => ({
          login,
          name: login,
          email: login === "octo" ? "admin@example.com" : `${login}@example.com`,
        })),
        repos: [{ owner: "octo", name: "site", auto_init: true, description: "A site" }],
      },
    },
  });
  front = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  await fill();
  app = await testApp(OPTIONS);
});
afterAll(async () => {
  front.closeAllConnections();
  front.close();
  await github.close();
  await coded.close();
  await code.dispose();
  await app.dispose();
});

const LARGE = "large ".repeat(1000);
const OID = createHash("sha256").update(LARGE).digest("hex");

/** Makes a branch with a pointer of Git LFS, whose object is there. */
async function commitLarge(id: number) {
  const authorization = `Basic ${Buffer.from("admin:token-of-admin").toString("base64")}`;
  const type = "application/vnd.git-lfs+json";
  const asked = await fetch(`${coded.url}/octo/site.git/info/lfs/objects/batch`, {
    method: "POST",
    headers: { authorization, accept: type, "content-type": type },
    body: JSON.stringify({ operation: "upload", objects: [{ oid: OID, size: LARGE.length }] }),
  });
  const { actions } = (await asked.json()).objects[0];
  const { "Transfer-Encoding": _, ...given } = actions.upload.header;
  const headers = { ...given, "content-type": "application/octet-stream" };
  const put = await fetch(actions.upload.href, { method: "PUT", headers, body: LARGE });
  expect(put.status).toBe(200);
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${OID}\nsize ${LARGE.length}\n`;
  await coding(`POST /projects/${id}/repository/commits`, {
    ...{ branch: "large", start_branch: "main", commit_message: "Large" },
    actions: [{ action: "create", file_path: "large.bin", content: pointer }],
  });
}

/** Makes the repository, twice: emulate has no Git. */
async function fill() {
  const namespace_id = (await coding("GET /namespaces/octo")).id;
  const { id } = await coding("POST /projects", { name: "site", namespace_id });
  const commit = (branch: string, content: string, more: object) =>
    coding(`POST /projects/${id}/repository/commits`, {
      ...{ branch, commit_message: branch, ...more },
      actions: [
        { action: "start_branch" in more ? "update" : "create", file_path: "a.txt", content },
      ],
    });
  const first = await commit("main", "one\ntwo\nthree\n", {});
  const second = await commit("topic", "one\n2\nthree\n", { start_branch: "main" });
  await commitLarge(id);
  const branches = { source_branch: "topic", target_branch: "main" };
  await coding(`POST /projects/${id}/merge_requests`, { title: "x", ...branches });
  await coding(`POST /projects/${id}/wikis`, { title: "home", content: "Hello" });

  const at = "/repos/octo/site";
  const [{ commit: base }] = await there(`GET ${at}/branches`);
  shas.set(base.sha, first.id);
  const { tree } = await there(`GET ${at}/git/commits/${base.sha}`);
  const changed = await there(`POST ${at}/git/trees`, {
    base_tree: tree.sha,
    tree: [{ path: "a.txt", mode: "100644", type: "blob", content: "x" }],
  });
  const head = await there(`POST ${at}/git/commits`, {
    ...{ message: "m", tree: changed.sha, parents: [base.sha] },
  });
  shas.set(head.sha, second.id);
  await there(`POST ${at}/git/refs`, { ref: "refs/heads/topic", sha: head.sha });

  await there(`PUT ${at}/collaborators/developer`, { permission: "push" });
  await there(`PUT ${at}/collaborators/nobody`, { permission: "pull" });
  await there(`POST ${at}/labels`, { name: "bug", color: "ff0000", description: "Broken" });
  await there(`POST ${at}/milestones`, { title: "v1", due_on: "2026-12-24T08:00:00Z" });
  const of = { labels: ["bug"], milestone: 1, assignees: ["developer"] };
  await there(`POST ${at}/issues`, { title: "First", body: "It fails", ...of }, "developer");
  await there(`POST ${at}/issues/1/comments`, { body: "Here, too" }, "nobody");
  await there(`PATCH ${at}/issues/1`, { state: "closed" });
  await there(`POST ${at}/issues`, { title: "Second", body: null }, "nobody");
  const pull = { title: "Change it", head: "topic", base: "main", body: "Better", draft: true };
  const { number } = await there(`POST ${at}/pulls`, pull, "developer");
  expect(number).toBe(3);
  await there(`POST ${at}/pulls/3/reviews`, { event: "APPROVE", body: "Good" });
  const line = { path: "a.txt", commit_id: head.sha, line: 2, side: "RIGHT" };
  await there(`POST ${at}/pulls/3/comments`, { body: "Why 2?", ...line }, "nobody");
  await there(`POST ${at}/releases`, { tag_name: "v1.0", name: "One", body: "News" });
}

const REPO = { personal_access_token: "token-of-octo", repo_id: 1 };
/** Asks for an import, into acme if nothing else is said. */
function ask(more: object = {}, as: Person = "admin", to = app) {
  ahead += 61_000;
  const json = { ...REPO, target_namespace: "acme", github_hostname: `${url}/api/v3`, ...more };
  return to.call("POST /import/github", { as, json });
}

/** What a project has that was imported, without what each server counts for itself. */
async function contents(at: string, to: TestApp) {
  const get = async (path: string) => {
    const { status, json } = await to.call(`GET ${at}${path}`, { as: "admin" });
    expect([path, status]).toEqual([path, 200]);
    return json;
  };
  // The number of a placeholder is each server's own.
  const named = (one: { author?: { username: string } | null }) =>
    one.author?.username.replace(/(_placeholder_user)_\d+$/, "$1");
  const [issues, requests] = [await get("/issues?sort=asc"), await get("/merge_requests")];
  const notes = async (path: string) =>
    (await get(`${path}/notes?sort=asc`)).map((note: Record<string, never>) => [
      ...[named(note), note["body"], note["system"], note["position"]],
    ]);
  const singles = (all: { iid: number }[]): Promise<Record<string, never>[]> =>
    Promise.all(all.map(({ iid }) => get(`/merge_requests/${iid}`)));
  return {
    issues: await Promise.all(
      issues.map(async (issue: Record<string, never>) => [
        ...[issue["iid"], issue["title"], issue["description"], issue["state"], named(issue)],
        ...[issue["labels"], issue["milestone"]?.["title"], issue["created_at"]],
        ...[issue["closed_at"], await notes(`/issues/${issue["iid"]}`)],
      ]),
    ),
    requests: await Promise.all(
      (await singles(requests)).map(async (one: Record<string, never>) => [
        ...[one["iid"], one["title"], one["description"], one["state"], named(one), one["sha"]],
        ...[one["source_branch"], one["diff_refs"], await notes(`/merge_requests/${one["iid"]}`)],
      ]),
    ),
  };
}

it("brings a repository with its issues, pull requests and releases", async () => {
  const { status, json } = await ask({ new_name: "My site" });
  expect([status, json]).toEqual([
    201,
    {
      ...{ id: expect.any(Number), name: "My site", full_path: "/acme/My-site" },
      ...{ full_name: "Acme / My site", refs_url: "/acme/My-site/refs" },
      ...{ import_source: "octo/site", import_status: "scheduled" },
      ...{ human_import_status_name: "scheduled", provider_link: "/octo/site" },
      ...{ relation_type: null, import_warning: null },
    },
  ]);
  await app.admin.maintenance.updateMirrors();
  const at = `/projects/${json.id}`;
  const project = (await app.call(`GET ${at}`, { as: "admin" })).json;
  expect(project).toMatchObject({
    ...{ import_status: "finished", import_type: "github", import_error: null },
    ...{ import_url: `${url}/octo/site.git`, description: "A site", visibility: "public" },
    default_branch: "main",
  });
  expect((await app.call(`GET ${at}/import`, { as: "admin" })).json).toMatchObject({
    ...{ import_status: "finished", import_type: "github" },
  });
  const first = await there("GET /repos/octo/site/issues/1");
  const pull = await there("GET /repos/octo/site/pulls/3");
  const base = shas.get(pull.base.sha);
  const head = shas.get(pull.head.sha);
  const refs = { base_sha: base, start_sha: base, head_sha: head };
  const { issues, requests } = await contents(at, app);
  expect(issues).toEqual([
    [
      ...[1, "First", "It fails", "closed", "developer", ["bug"], "v1"],
      ...[first.created_at, first.closed_at],
      expect.arrayContaining([["nobody_placeholder_user", "Here, too", false, undefined]]),
    ],
    [
      ...[2, "Second", "", "opened", "nobody_placeholder_user", [], undefined],
      ...[expect.any(String), null, []],
    ],
  ]);
  const position = { ...refs, new_path: "a.txt", old_path: "a.txt", new_line: 2, old_line: null };
  expect(requests).toEqual([
    [
      ...[3, "Draft: Change it", "Better", "opened", "developer", head, "topic", refs],
      [
        ["admin", "approved this merge request", true, undefined],
        ["admin", "**Review:** Approved\n\nGood", false, undefined],
        [
          ...["nobody_placeholder_user", "Why 2?", false],
          expect.objectContaining({ ...position, position_type: "text" }),
        ],
      ],
    ],
  ]);
  const approvals = await app.call(`GET ${at}/merge_requests/3/approvals`, { as: "admin" });
  expect(
    approvals.json.approved_by.map((one: Record<string, never>) => one["user"]?.["username"]),
  ).toEqual(["admin"]);
  const releases = (await app.call(`GET ${at}/releases`, { as: "admin" })).json;
  expect(releases[0]).toMatchObject({ tag_name: "v1.0", name: "One", description: "News" });
  const labels = (await app.call(`GET ${at}/labels`, { as: "admin" })).json;
  expect(labels.find(({ name }: { name: string }) => name === "bug")).toMatchObject({
    color: "#ff0000",
    description: "Broken",
  });
  const members = (await app.call(`GET ${at}/members`, { as: "admin" })).json;
  expect(
    members.map((one: Record<string, never>) => [one["username"], one["access_level"]]),
  ).toContainEqual(["developer", 30]);
  const wiki = await app.call(`GET ${at}/wikis/home`, { as: "admin" });
  expect(wiki.json.content).toBe("Hello");
  const file = await app.call(`GET ${at}/repository/files/a.txt/raw?ref=topic`, { as: "admin" });
  expect(file.text).toBe("one\n2\nthree\n");
  const large = `GET ${at}/repository/files/large.bin/raw?ref=large&lfs=true`;
  expect((await app.call(large, { as: "admin" })).text).toBe(LARGE);
  const settings = { bulk_import_enabled: true };
  await app.call("PUT /application/settings", { as: "admin", json: settings });
  expect((await app.call("GET /bulk_imports", { as: "admin" })).json).toEqual([]);
  expect(await app.store.rows("select token from bulk_imports")).toEqual([[null]]);
});

/** The ids of emulate count up, so it has no other repository with this one. */
const NOWHERE = 999;

describe("who may import", () => {
  it.each<[Person, number]>([
    ["anonymous", 401],
    ["stranger", 422],
    ["guest", 422],
    ["reporter", 422],
    ["developer", 422],
    ["maintainer", 201],
    ["owner", 201],
    ["admin", 201],
  ])("%s: %i", async (as, expected) => {
    const { status, json } = await ask({ new_name: `of-${as}` }, as);
    expect(status).toBe(expected);
    if (status !== 201) return;
    const cancel = (by: Person) =>
      app.call("POST /import/github/cancel", { as: by, json: { project_id: json.id } });
    expect((await cancel("stranger")).status).toBe(404);
    const canceled = await cancel(as);
    expect([canceled.status, canceled.json.import_status]).toEqual([200, "canceled"]);
    expect([(await cancel(as)).status, (await cancel("owner")).json]).toEqual([
      400,
      { message: "The import cannot be canceled because it is canceled" },
    ]);
    await app.admin.maintenance.updateMirrors();
    expect((await app.call(`GET /projects/${json.id}/issues`, { as: "admin" })).json).toEqual([]);
  });

  it("nobody where the setting has no github, or more often than six times a minute", async () => {
    const statuses = [];
    for (let count = 0; count < 7; count += 1) {
      statuses.push((await ask({ new_name: `often${count}` }, "owner")).status);
      ahead -= 61_000;
    }
    expect(statuses).toEqual([201, 201, 201, 201, 201, 201, 429]);
    const sources = (import_sources: string[]) =>
      app.call("PUT /application/settings", { as: "admin", json: { import_sources } });
    await sources(["git"]);
    expect((await ask()).status).toBe(403);
    await sources(["git", "github"]);
  });

  it("nobody what is not there, or where something is", async () => {
    instead = ({ headers }, response) => {
      const isWrong = headers.authorization === "Bearer wrong";
      if (isWrong) response.writeHead(401).end("{}");
      return isWrong;
    };
    const answers = [];
    for (const more of [
      { personal_access_token: "wrong" },
      { repo_id: NOWHERE },
      { target_namespace: "nowhere" },
      { new_name: "site" },
      { github_hostname: "ftp://127.0.0.1" },
      { github_hostname: "http://127.0.0.1:1024" },
      { optional_stages: { attachments_import: true } },
      { repo_id: "x" },
    ]) {
      const { status, json } = await ask(more);
      answers.push([status, json.error ?? json.errors ?? json.message]);
    }
    expect(answers).toEqual([
      [401, "Access denied to your GitHub account."],
      [422, "Import failed due to a GitHub error: HTTP 404"],
      [422, "Namespace or group to import repository into does not exist."],
      [422, expect.stringContaining("has already been taken")],
      [400, "Invalid URL: ftp://127.0.0.1"],
      [422, "Import failed due to a GitHub error: it can't be reached"],
      [400, { "optional_stages[attachments_import]": ["is not supported"] }],
      [400, { repo_id: ["is invalid"] }],
    ]);
    const careful = await testApp({ webhooks: { deliver: false }, secretKey: SECRET_KEY, now });
    const local = await ask({}, "admin", careful);
    expect([local.status, local.json.errors]).toEqual([400, `Invalid URL: ${url}`]);
    await careful.dispose();
  });
});

/** Does an import, interrupted at random points. */
async function withInterruptions(to: TestApp): Promise<number> {
  const secrets = createSecrets({ secretKey: SECRET_KEY }, "", false);
  const [[id]] = (await to.store.rows("select max(id) from bulk_imports")) as [[number]];
  const onError = (error: unknown) => expect(error).toBeUndefined();
  const settings = { store: to.store, now, secrets, outgoing: { allowLocal: true }, onError };
  let random = SEED >>> 0;
  let interruptions = 0;
  for (let isOpen = true; isOpen; ) {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    const interrupting = new AbortController();
    let left = 1 + ((random >>> 8) % 4);
    const onProgress = () => {
      left -= 1;
      if (left === 0 && interruptions < 10) interrupting.abort(new Error("interrupted"));
    };
    await runImport({ ...settings, onProgress }, id, interrupting.signal).catch((error) => {
      expect(error.message).toMatch(/interrupted|aborted/);
      interruptions += 1;
    });
    const [row] = await to.store.rows("select status from bulk_imports where id = ?", [id]);
    isOpen = row?.[0] === "started";
  }
  return interruptions;
}

it("is as whole if it was interrupted, whatever limits the server keeps, and takes what is new", async () => {
  const other = await testApp(OPTIONS);
  const { json } = await ask({ new_name: "site2" }, "admin", other);
  const asked: string[] = [];
  instead = ({ url: path = "" }, response) => {
    asked.push(path);
    // Each fourth request is one too many.
    if (!path.startsWith("/api/v3/") || asked.length % 4 > 0) return false;
    const reset = String(Math.floor(now() / 1000));
    if (asked.length % 8 === 0) response.writeHead(403, { "retry-after": "0" });
    else
      response.writeHead(429, {
        "x-ratelimit-remaining": "1",
        "x-ratelimit-reset": reset,
        "retry-after": "0",
      });
    response.end("{}");
    return true;
  };
  expect(await withInterruptions(other)).toBeGreaterThan(3);
  instead = () => false;
  const [whole] = (await app.call("GET /projects?search=My+site", { as: "admin" })).json;
  const at = `/projects/${json.id}`;
  expect(await contents(at, other)).toEqual(await contents(`/projects/${whole.id}`, app));
  const failures = await other.store.rows("select relation, message from bulk_import_failures");
  // emulate has no history of pull requests.
  expect(failures).toEqual([
    ["history of issues", expect.stringContaining("issues/3/events with 404")],
  ]);

  await there("POST /repos/octo/site/issues", { title: "Since then" }, "developer");
  const again = await other.admin.imports.fromGithub({
    ...{ url, token: "token-of-octo", repo: "octo/site", into: "acme", path: "site2" },
  });
  expect([again.status, again.failures]).toEqual(["finished", []]);
  const titles = (await other.call(`GET ${at}/issues?sort=asc`, { as: "admin" })).json;
  expect(titles.map(({ iid, title }: Record<string, never>) => [iid, title])).toEqual([
    [1, "First"],
    [2, "Second"],
    [4, "Since then"],
  ]);
  await other.dispose();
});

const person = (id: number, login: string) => ({ id, login, username: login });
/** What a server of Gitea answers, by path. */
function gitea(head: string, base: string): Record<string, unknown> {
  const [octo, dev, none] = [person(1, "octo"), person(2, "dev"), person(3, "none")];
  const at = "2026-01-02T03:04:05Z";
  const label = { id: 5, name: "bug", color: "00ff00", description: "" };
  const of = { created_at: at, updated_at: at, labels: [label], assignees: [dev] };
  const issue = { id: 11, number: 1, title: "One", body: "It fails", user: dev, state: "closed" };
  const branch = (ref: string, sha: string) => ({ ref, sha, repo: { id: 7 } });
  const repo = { id: 7, name: "site", full_name: "octo/site", owner: octo, private: true };
  const note = { created_at: at, updated_at: at };
  return {
    "/user": octo,
    "/users/dev": { ...dev, email: "developer@example.com" },
    "/users/none": { ...none, email: "none@noreply.example.org" },
    "/orgs/octo": { id: 1, username: "octo" },
    "/orgs/octo/labels": [{ ...label, id: 6, name: "all" }],
    "/repos/octo/site": { ...repo, has_issues: true, has_wiki: false, default_branch: "main" },
    "/repos/octo/site/labels": [label],
    "/repos/octo/site/milestones": [{ id: 8, title: "v1", state: "open", created_at: at }],
    "/repos/octo/site/issues": [{ ...issue, ...of, milestone: { id: 8 }, closed_at: at }],
    "/repos/octo/site/issues/1/comments": [{ id: 21, body: "So?", user: none, ...note }],
    "/repos/octo/site/issues/1/timeline": [
      { id: 31, type: "label", body: "1", label, user: octo, ...note },
      { id: 32, type: "milestone", milestone: { title: "v1" }, user: octo, ...note },
      { id: 33, type: "comment", body: "So?", user: none, ...note },
      { id: 34, type: "change_title", old_title: "1", new_title: "One", user: dev, ...note },
      { id: 35, type: "close", user: octo, ...note },
    ],
    "/repos/octo/site/issues/1/reactions": [{ user: dev, content: "+1", created_at: at }],
    "/repos/octo/site/issues/comments/21/reactions": [{ user: octo, content: "heart" }],
    "/repos/octo/site/pulls": [
      {
        ...{
          id: 12,
          number: 3,
          title: "Change it",
          body: "Better",
          user: dev,
          state: "open",
          ...of,
        },
        ...{ head: branch("topic", head), base: branch("main", base), merge_base: base },
      },
    ],
    "/repos/octo/site/issues/3/comments": [],
    "/repos/octo/site/issues/3/timeline": [],
    "/repos/octo/site/issues/3/reactions": [],
    "/repos/octo/site/pulls/3/reviews": [
      { id: 41, state: "APPROVED", user: octo, body: "", submitted_at: at, comments_count: 0 },
      { id: 42, state: "COMMENT", user: none, body: "", submitted_at: at, comments_count: 2 },
    ],
    "/repos/octo/site/pulls/3/reviews/42/comments": ["Why 2?", "Because"].map((body, index) => ({
      ...{ id: 51 + index, body, user: none, path: "a.txt", commit_id: head, ...note },
      ...{ position: 2, original_position: 0, diff_hunk: "@@ -1,3 +1,3 @@\n one\n-two\n+2" },
    })),
    "/repos/octo/site/releases": [
      { id: 61, tag_name: "v1", body: "", author: octo, created_at: at },
    ],
    "/repos/octo/site/collaborators": [dev],
    "/repos/octo/site/collaborators/dev/permission": { permission: "write" },
  };
}

it("brings a repository from Gitea", async () => {
  const pull = await there("GET /repos/octo/site/pulls/3");
  const [head, base] = [pull.head.sha, pull.base.sha].map((sha) => shas.get(sha) as string);
  const answers = gitea(head as string, base as string);
  instead = ({ url: path = "", headers }, response) => {
    if (!path.startsWith("/api/v1/")) return false;
    const { pathname, searchParams } = new URL(path, url);
    const answer = headers.authorization === "token secret" && answers[pathname.slice(7)];
    if (!answer || Number(searchParams.get("page") ?? 1) > 1) response.writeHead(404).end("{}");
    else response.end(JSON.stringify(answer));
    return true;
  };
  const given = { url, token: "secret", repo: "octo/site", into: "admin", path: "tea" };
  const report = await app.admin.imports.fromGitea(given);
  instead = () => false;
  expect([report.status, report.failures]).toEqual(["finished", []]);
  const { issues, requests } = await contents("/projects/admin%2Ftea", app);
  const at = "2026-01-02T03:04:05.000Z";
  expect(issues).toEqual([
    [
      ...[1, "One", "It fails", "closed", "developer", ["bug"], "v1", at, at],
      expect.arrayContaining([
        ["admin", "*Created by: none*\n\nSo?", false, undefined],
        ["developer", "changed title from **{-1-}** to **{+One+}**", true, undefined],
      ]),
    ],
  ]);
  const refs = { base_sha: base, start_sha: base, head_sha: head };
  const position = expect.objectContaining({ ...refs, new_line: 2, old_line: null });
  expect(requests).toEqual([
    [
      ...[3, "Change it", "Better", "opened", "developer", head, "topic", refs],
      [
        ["admin", "approved this merge request", true, undefined],
        ["admin", "*Created by: none*\n\nWhy 2?", false, position],
        ["admin", "*Created by: none*\n\nBecause", false, position],
      ],
    ],
  ]);
  const emoji = (await app.call("GET /projects/admin%2Ftea/issues/1/award_emoji", { as: "admin" }))
    .json;
  expect(emoji.map(({ name }: { name: string }) => name)).toEqual(["thumbsup"]);
  const names = (await app.call("GET /projects/admin%2Ftea/labels", { as: "admin" })).json;
  expect(names.map(({ name }: { name: string }) => name)).toEqual(
    expect.arrayContaining(["all", "bug"]),
  );
});
