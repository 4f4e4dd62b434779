import { execFileSync } from "node:child_process";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { createFixtures, fixtureSeed, pathOf, placesIn } from "../fixtures.ts";
import { type Answer, type Person, sshKeyOf, type TestApp, testApp, waitFor } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { resourceOf, routes } from "./routes.ts";

const SITE = "/projects/acme%2Fsite";
let app: TestApp;
/** The archive of the project with everything that the generated tests know. */
let archive: Buffer;

beforeAll(async () => {
  app = await testApp({ seed: fixtureSeed(2), background: true, extra: toys });
  await createFixtures(app, 2);
  archive = await exported(SITE);
});
afterAll(() => app.dispose());

const statusOf = async (project: string, as: Person = "admin") =>
  (await app.call(`GET ${project}/export`, { as })).json.export_status;

async function exported(project: string, query = ""): Promise<Buffer> {
  const asked = await app.call(`POST ${project}/export${query}`, { as: "admin" });
  expect([asked.status, asked.json]).toEqual([202, { message: "202 Accepted" }]);
  await waitFor(async () => (await statusOf(project)) === "finished");
  const headers = { "private-token": "token-of-admin" };
  const url = `http://pm.test/api/v4${project}/export/download`;
  const response = await app.fetch(new Request(url, { headers }));
  expect(response.headers.get("content-type")).toBe("application/gzip");
  return Buffer.from(await response.arrayBuffer());
}

function upload(bytes: Uint8Array<ArrayBuffer>, path: string, as: Person, to: TestApp) {
  const body = new FormData();
  body.append("path", path);
  body.append("namespace", as === "admin" ? "acme" : `${as}`);
  body.append("file", new Blob([bytes]), "site.ndjson.gz");
  return to.call("POST /projects/import", { as, body });
}

/** Imports an archive and waits for its end. */
async function imported(
  bytes: Uint8Array,
  path: string,
  as: Person = "admin",
  to = app,
): Promise<Answer> {
  const asked = await upload(Uint8Array.from(bytes), path, as, to);
  expect([asked.status, asked.json.import_status]).toEqual([201, "scheduled"]);
  const project = `/projects/${asked.json.id}`;
  let now = asked;
  await waitFor(async () => {
    now = await to.call(`GET ${project}/import`, { as });
    return !["scheduled", "started"].includes(now.json.import_status);
  });
  const shown = await to.call(`GET ${project}`, { as });
  expect(shown.json.import_status).toBe(now.json.import_status);
  return now;
}

/** The lines of an archive, changed and packed again. */
function changed(change: (line: unknown) => unknown): Buffer {
  const lines = gunzipSync(archive).toString().trimEnd().split("\n");
  const kept = lines.map((line) => change(JSON.parse(line))).filter((line) => line !== undefined);
  return gzipSync(`${kept.map((line) => JSON.stringify(line)).join("\n")}\n`);
}
/** Resources whose records are about this server, or secret. */
const LEFT_OUT = [
  "Access requests",
  "Audit events",
  "CI variables",
  "Commit statuses",
  "Custom attributes",
  "Dependencies",
  "Deploy keys",
  "Deploy tokens",
  "Deployments",
  "Draft notes",
  "Environments",
  "Events",
  "Exports and imports",
  "External status checks",
  "Feature flags",
  "Freeze periods",
  "Group and project access tokens",
  "Integrations",
  "Invitations",
  "Job token scope",
  "Jobs",
  "Metric images",
  "Notification settings",
  "Packages",
  "Composer packages",
  "Helm charts",
  "NuGet packages",
  "Maven packages",
  "Python packages",
  "npm packages",
  "Container registry",
  "Pipeline schedules",
  "Pipeline triggers",
  "Pipelines",
  "Projects",
  "Protected environments",
  "Merge request dependencies",
  "Merge trains",
  "Resource groups",
  // They name users' levels and the project's own path.
  "Protection rules",
  "Pull mirrors",
  "Push mirrors",
  // The rule of the group that the project is imported into holds.
  "Push rules",
  "Runners",
  "Secure files",
  "Sites",
  "Security settings",
  "Service accounts",
  "Sharing",
  "Terraform states",
  "Todos",
  "Topics",
  "Uploads",
  "Webhooks",
];

/** What is shown of pipelines, merges that are waited for, merge requests that block others and of groups' epics and iterations, which are left out. */
const OF_ELSEWHERE = [
  "detailed_merge_status",
  "epic",
  "epic_iid",
  "iteration",
  "head_pipeline",
  "last_pipeline",
  "latest_build_finished_at",
  "latest_build_started_at",
  "merge_when_pipeline_succeeds",
  "pipeline",
  "status",
];

/** What the same record is in both projects: without ids, and with the name and path of the first one. */
function comparable(value: unknown, name = ""): unknown {
  if (Array.isArray(value))
    return value.filter((entry) => !isBot(entry)).map((entry) => comparable(entry));
  if (typeof value === "string") {
    if (/^cop(y|ied)$/.test(value)) return name === "name" ? "Site" : "site";
    return value
      .replaceAll(/acme\/cop(y|ied)/g, "acme/site")
      .replaceAll(/Acme \/ cop(y|ied)/g, "Acme / Site")
      .replaceAll(/(projects|snippets|avatar)\/\d+/g, "$1/N");
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(
    ([key]) => key !== "id" && !key.endsWith("_id") && !OF_ELSEWHERE.includes(key),
  );
  return Object.fromEntries(entries.map(([key, inner]) => [key, comparable(inner, key)]));
}

const isBot = (entry: { username?: string } | null) =>
  /^project_\d+_bot_/.test(entry?.username ?? "");

const read = routes.filter(
  (route) =>
    route.method === "GET" &&
    route.source === "project" &&
    // Where a server has the repository.
    route.path !== "/projects/:id/storage" &&
    !route.path.includes("/resource_iteration_events") &&
    !LEFT_OUT.includes(resourceOf(route).name),
);

/** The answers that differ between the project and one that was imported. */
async function differencesOf(path: string, without?: RegExp) {
  const [from, to] = [
    await placesIn(app, "acme", "acme/site"),
    await placesIn(app, "acme", `acme/${path}`),
  ];
  const different: unknown[] = [];
  for (const route of read) {
    const [one, other] = [
      await app.call(`GET ${pathOf(route, from)}`, { as: "admin" }),
      await app.call(`GET ${pathOf(route, to)}`, { as: "admin" }),
    ];
    const [first, second] = [one, other].map(({ status, json }) =>
      JSON.stringify([status, comparable(json)]).replaceAll(without ?? /^$/g, ""),
    );
    if (first !== second) different.push([resourceOf(route).name, route.path, first, second]);
  }
  return different;
}

describe("a project that was exported and imported", () => {
  beforeAll(async () => {
    const { json } = await imported(archive, "copy");
    expect([json.import_status, json.import_error]).toEqual(["finished", null]);
  });

  it("has what the first one has, wherever one looks", async () => {
    expect(await differencesOf("copy")).toEqual([]);
  });

  it("has the settings of the first one", async () => {
    const [first, second] = [
      (await app.call(`GET ${SITE}`, { as: "admin" })).json,
      (await app.call("GET /projects/acme%2Fcopy", { as: "admin" })).json,
    ];
    const {
      created_at,
      last_activity_at,
      updated_at,
      star_count,
      forks_count,
      import_status,
      import_type,
      // Mirrors are not in archives.
      import_url,
      // It is shared with groups of this server.
      shared_with_groups,
      ...settings
    } = first;
    expect(comparable(second)).toMatchObject(comparable(settings) as object);
  });

  it("gives new records the next numbers", async () => {
    for (const kind of ["issues", "milestones"]) {
      const numbers = [];
      for (const project of [SITE, "/projects/acme%2Fcopy"]) {
        const json = { title: "One more" };
        numbers.push((await app.call(`POST ${project}/${kind}`, { as: "admin", json })).json.iid);
      }
      expect([kind, numbers[1]]).toEqual([kind, numbers[0]]);
    }
  });
});

/** What GitLab's archives do not have. */
const NOT_OF_GITLAB = [
  // Rules of single merge requests; links of issues; which issues merge requests close.
  /\/merge_requests\/:merge_request_iid\/approval_(rules|state)/,
  /\/issues\/:issue_iid\/links/,
  /\/(closes_issues|closed_by|related_issues|related_merge_requests)$/,
  // Versions but for the latest.
  /\/merge_requests\/:merge_request_iid\/versions/,
  // Members of the groups above become members of the project.
  /^\/projects\/:id\/members$/,
];

/** How many merge requests close an issue. */
const CLOSING = /"merge_requests_count":\d+,/g;

describe("a project that was exported as GitLab does, and imported", () => {
  let packed: Buffer;
  beforeAll(async () => {
    packed = await exported(SITE, "?format=gitlab");
    const { json } = await imported(packed, "copied");
    expect([json.import_status, json.import_error]).toEqual(["finished", null]);
  });

  it("has what the first one has but for what GitLab's format has no place for", async () => {
    const different = (await differencesOf("copied", CLOSING)) as [string, string][];
    expect(different.filter(([, path]) => !NOT_OF_GITLAB.some((one) => one.test(path)))).toEqual(
      [],
    );
  });

  it("has what merge requests change, for a GitLab", () => {
    const name = "tree/project/merge_requests.ndjson";
    const lines = execFileSync("tar", ["-xzO", name], { input: packed }).toString().trimEnd();
    const requests = lines.split("\n").map((line) => JSON.parse(line));
    const { diff_head_sha: sha, ...request } = requests.find((one) => one.merge_request_diff);
    const { merge_request_diff: diff, source_project_id, target_project_id } = request;
    expect([source_project_id, diff.state]).toEqual([target_project_id, "collected"]);
    expect(diff.merge_request_diff_commits[0]).toMatchObject({ relative_order: 0, sha });
    expect(diff.merge_request_diff_files[0].utf8_diff).toMatch(/^@@ /);
  });
});

it("an archive's own milestones keep their numbers, whatever is used of groups", async () => {
  const send = async (request: string, json: object) =>
    (await app.call(request, { as: "admin", json })).json;
  const { id: above } = await send("POST /groups/acme/milestones", { title: "Above" });
  const { id: namespace_id } = (await app.call("GET /groups/acme", { as: "admin" })).json;
  const made = await send("POST /projects", { name: "numbered", namespace_id });
  const project = `/projects/${made.id}`;
  await send(`POST ${project}/milestones`, { title: "Own" });
  await send(`POST ${project}/issues`, { title: "Later", milestone_id: above });
  const other = await testApp({ background: true });
  try {
    const { json } = await imported(await exported(project), "numbered", "admin", other);
    const { json: kept } = await other.call(`GET /projects/${json.id}/milestones`, { as: "admin" });
    const numbers = kept.map(({ iid, title }: { iid: number; title: string }) => [iid, title]);
    expect(numbers.sort()).toEqual([
      [1, "Own"],
      [2, "Above"],
    ]);
  } finally {
    await other.dispose();
  }
});

it("an archive has lists of milestones and people", async () => {
  const as = "admin";
  const made = await app.call("POST /projects?name=planned", { as });
  const project = `/projects/${made.json.id}`;
  const milestone = await app.call(`POST ${project}/milestones?title=soon`, { as });
  const [person] = (await app.call("GET /users?username=developer", { as })).json;
  const board = await app.call(`POST ${project}/boards?name=Plans`, { as });
  for (const json of [{ milestone_id: milestone.json.id }, { assignee_id: person.id }]) {
    const list = await app.call(`POST ${project}/boards/${board.json.id}/lists`, { as, json });
    expect(list.status).toBe(201);
  }
  const now = await imported(await exported(project), "planned-again");
  const [again] = (await app.call(`GET /projects/${now.json.id}/boards`, { as })).json;
  expect(again.lists).toMatchObject([
    { label: null, position: 0, milestone: { title: "soon", project_id: now.json.id } },
    { label: null, position: 1, assignee: { username: "developer" } },
  ]);
});

it("an archive leaves groups and deploy keys out of rules", async () => {
  const { json: group } = await app.call("GET /groups/acme", { as: "admin" });
  const sent = { name: "ruled", namespace_id: group.id };
  const { json: made } = await app.call("POST /projects", { as: "admin", json: sent });
  const key = { title: "k", key: sshKeyOf(9000), can_push: true };
  const { json: added } = await app.call(`POST /projects/${made.id}/deploy_keys`, {
    as: "admin",
    json: key,
  });
  const named = [{ group_id: group.id }, { deploy_key_id: added.id }];
  const rule = { name: "kept", allowed_to_push: named, allowed_to_merge: [{ access_level: 0 }] };
  const ruled = await app.call(`POST /projects/${made.id}/protected_branches`, {
    as: "admin",
    json: rule,
  });
  expect(ruled.json.push_access_levels).toHaveLength(2);
  await imported(await exported(`/projects/${made.id}`), "ruled-copy");
  const copy = await app.call("GET /projects/acme%2Fruled-copy/protected_branches/kept", {
    as: "admin",
  });
  expect(copy.json).toMatchObject({
    push_access_levels: [],
    merge_access_levels: [{ access_level: 0 }],
    unprotect_access_levels: [{ access_level: 40 }],
  });
});

it("an archive has no secrets and no addresses of people", () => {
  const text = gunzipSync(archive).toString();
  expect(text).not.toMatch(/token-of|@example|digest|secret_/);
});

it("an archive is read by another server, with people of other ids", async () => {
  const other = await testApp({ background: true });
  try {
    const { json } = await imported(archive, "copy", "admin", other);
    expect([json.import_status, json.import_error]).toEqual(["finished", null]);
    const { json: issues } = await other.call("GET /projects/acme%2Fcopy/issues", { as: "admin" });
    const { json: before } = await app.call(`GET ${SITE}/issues`, { as: "admin" });
    const authors = (list: { author: { username: string } }[]) =>
      list.map(({ author }) => author.username);
    // Another issue was created here since.
    expect(authors(issues)).toEqual(authors(before.slice(1)));
    expect((await check(other.store)).flatMap(({ problems }) => problems)).toEqual([]);
  } finally {
    await other.dispose();
  }
});

describe("somebody who isn't an administrator", () => {
  it("becomes the author of what others wrote, and takes no members along", async () => {
    const { json } = await imported(archive, "mine", "stranger");
    expect([json.import_status, json.import_error]).toEqual(["finished", null]);
    const project = "/projects/stranger%2Fmine";
    const issues = await app.call(`GET ${project}/issues`, { as: "stranger" });
    expect(issues.json.length).toBeGreaterThan(2);
    const authors = issues.json.map(
      (issue: { author: { username: string } }) => issue.author.username,
    );
    expect(new Set(authors)).toEqual(new Set(["stranger"]));
    const members = await app.call(`GET ${project}/members`, { as: "stranger" });
    expect(members.json).toMatchObject([{ username: "stranger", access_level: 50 }]);
    // Nor whom rules name.
    const rules = await app.call(`GET ${project}/protected_branches`, { as: "stranger" });
    expect(rules.json.length).toBeGreaterThan(1);
    for (const { push_access_levels } of rules.json) {
      expect(push_access_levels).toMatchObject([{ access_level: 40, user_id: null }]);
    }
  });

  it("gets a private project if its level is restricted for them", async () => {
    const restrict = (levels: string[]) =>
      app.call("PUT /application/settings", {
        as: "admin",
        json: { restricted_visibility_levels: levels },
      });
    const visibilityOf = async (path: string, as: Person) => {
      const { json } = await imported(archive, path, as);
      return (await app.call(`GET /projects/${json.id}`, { as })).json.visibility;
    };
    await restrict(["internal", "public"]);
    expect(await visibilityOf("hidden", "stranger")).toBe("private");
    expect(await visibilityOf("shown", "admin")).toBe("public");
    await restrict([]);
  });

  it("can't import into a group of others", async () => {
    const body = new FormData();
    for (const [name, value] of [
      ["path", "theirs"],
      ["namespace", "secret"],
    ] as const)
      body.append(name, value);
    body.append("file", new Blob([Uint8Array.from(archive)]), "site.gz");
    const { status, json } = await app.call("POST /projects/import", { as: "stranger", body });
    expect([status, json]).toEqual([404, { message: "404 Target Namespace Not Found" }]);
  });
});

describe("what can't be imported", () => {
  const lines = (change: (line: object) => unknown) => changed(change as never);
  const cases: Record<string, [() => Buffer, string]> = {
    "is no archive": [() => Buffer.from("no archive"), "the file is not an archive, or damaged"],
    "is cut off": [
      () => archive.subarray(0, archive.length / 2),
      "the file is not an archive, or damaged",
    ],
    "has no end": [
      () => lines((line) => ("end" in line ? undefined : line)),
      "the archive is cut short",
    ],
    "is of another format": [
      () => lines((line) => ("format" in line ? { ...line, format: "other" } : line)),
      "the file is not an archive of this format",
    ],
    "has no JSON": [
      () => gzipSync(`${JSON.stringify({ format: "pm-api project", version: 1 })}\n{`.concat("\n")),
      "the archive is damaged: a line is not JSON",
    ],
    "has a value that no record can have": [
      () => lines((line) => ("project" in line ? { project: { visibility: 99 } } : line)),
      "project.visibility is not valid",
    ],
    "has a reference to nothing": [
      () =>
        lines((line) =>
          "refs" in line
            ? { ...line, refs: [["refs/heads/main", "0".repeat(39).concat("1")]] }
            : line,
        ),
      "the reference refs/heads/main: missing necessary objects",
    ],
    "grows without end": [
      () => gzipSync(Buffer.alloc(8 * 1024 * 1024, " ")),
      "the archive grows to more than 200 times its size",
    ],
  };
  it.each(Object.entries(cases))("%s", async (name, [bytes, reason]) => {
    const { json } = await imported(bytes(), `broken-${Object.keys(cases).indexOf(name)}`);
    expect([json.import_status, json.import_error]).toEqual(["failed", reason]);
  });
});

it("an archive of another version is read as far as it is understood", async () => {
  const other = changed((line) =>
    (line as { table?: string }).table === "badges"
      ? { table: "medals", columns: ["id", "gold"] }
      : line,
  );
  const { json } = await imported(other, "newer");
  expect(json.import_status).toBe("finished");
  const { json: badges } = await app.call("GET /projects/acme%2Fnewer/badges", { as: "admin" });
  expect(badges.filter(({ kind }: { kind: string }) => kind === "project")).toEqual([]);
});

it("an archive whose merge requests have code that it lacks is imported without that code", async () => {
  const unknown = "1".repeat(40);
  let columns: string[] = [];
  const other = changed((line) => {
    if (!Array.isArray(line)) {
      const { table, columns: named = [] } = line as { table?: string; columns?: string[] };
      if (table !== undefined) columns = table === "merge_request_versions" ? named : [];
      return line;
    }
    return line.map((value, at) => (columns[at] === "head_sha" ? unknown : value));
  });
  const { json } = await imported(other, "lacking");
  expect([json.import_status, json.import_error]).toEqual(["finished", null]);
  const project = "/projects/acme%2Flacking/merge_requests/1";
  for (const path of ["", "/changes", "/diffs", "/commits", "/versions"]) {
    const { status, text } = await app.call(`GET ${project}${path}`, { as: "admin" });
    expect([path, status, text]).toEqual([path, 200, text]);
  }
  expect((await app.call(`GET ${project}/versions`, { as: "admin" })).json).toEqual([]);
});

it("an archive's files get names that uploads have", async () => {
  let count = 0;
  const other = changed((line) => {
    const { upload: sent } = line as { upload?: object };
    if (!sent) return line;
    count += 1;
    return { upload: { ...sent, file_name: 'a\r\nset-cookie: "x".txt' } };
  });
  expect(count).toBeGreaterThan(0);
  const { json } = await imported(other, "named");
  expect([json.import_status, json.import_error]).toEqual(["finished", null]);
  const { json: uploads } = await app.call("GET /projects/acme%2Fnamed/uploads", { as: "admin" });
  const clean = "a__set-cookie___x_.txt";
  expect(uploads.map(({ filename }: { filename: string }) => filename)).toEqual(
    Array.from({ length: count }, () => clean),
  );
  const got = await app.call(`GET /projects/acme%2Fnamed/uploads/${uploads[0].id}`, {
    as: "admin",
  });
  expect([got.status, got.headers.get("set-cookie")]).toEqual([200, null]);
  expect(got.headers.get("content-disposition")).toContain(clean);
});

it("there is an archive once it was asked for, for a day", async () => {
  const project = "/projects/secret%2Fvault";
  const get = (path: string) => app.call(`GET ${project}${path}`, { as: "admin" });
  expect((await get("/export")).json).toMatchObject({ path: "vault", export_status: "none" });
  expect((await get("/export/download")).status).toBe(404);
  expect((await get("/import")).json).toMatchObject({ import_status: "none", import_error: null });
  await exported(project);
  expect((await get("/export")).json._links.api_url).toMatch(/\/export\/download$/);
  const again = await app.another({ background: false, now: () => Date.now() + 2 * 86_400_000 });
  await again.admin.maintenance.sweepDaily();
  await again.close();
  expect((await get("/export")).json.export_status).toBe("none");
});
