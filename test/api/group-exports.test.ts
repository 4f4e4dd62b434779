// Groups as archives: what they have, who may write and read them, and what can't be read.
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { createFixtures, fixtureSeed, pathOf, placesIn } from "../fixtures.ts";
import { baseSeed, type Person, type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { resourceOf, routes } from "./routes.ts";

let app: TestApp;
/** The archive of the group with everything that the generated tests know, and some subgroups. */
let archive: Buffer;

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

beforeAll(async () => {
  app = await testApp({ seed: fixtureSeed(2), extra: toys });
  await createFixtures(app, 2);
  await furnish();
  archive = await exported("/groups/acme");
});
afterAll(() => app.dispose());

/** Sends a request that has to succeed, and returns its answer. */
async function done(request: string, json?: object | FormData, as: Person = "admin") {
  const sent = json instanceof FormData ? { body: json } : json && { json };
  const answer = await app.call(request, { as, ...sent });
  if (answer.status >= 300) throw new Error(`${request}: ${answer.status} ${answer.text}`);
  return answer.json;
}

/** Gives `acme` two subgroups, one below the other, with what groups have. */
async function furnish(): Promise<void> {
  const { id: parent_id } = await done("GET /groups/acme");
  const made = { visibility: "internal", description: "What is below", parent_id };
  const team = await done("POST /groups", { name: "A crew", path: "crew", ...made });
  const cell = { name: "A cell", path: "cell", parent_id: team.id, visibility: "private" };
  await done("POST /groups", { ...cell, subgroup_creation_level: "maintainer" });
  const at = "/groups/acme%2Fcrew";
  const { id: own } = await done(`POST ${at}/labels`, { name: "below", color: "#112233" });
  const { id: above } = await done("POST /groups/acme/labels", { name: "above", color: "#445566" });
  const board = await done(`POST ${at}/boards`, { name: "Work" });
  for (const label_id of [own, above]) {
    await done(`POST ${at}/boards/${board.id}/lists`, { label_id });
  }
  await done(`POST ${at}/milestones`, { title: "Soon", due_date: "2026-12-24" });
  const avatar = new FormData();
  avatar.append("avatar", new Blob([Buffer.from(PNG, "base64")]), "crew.png");
  await done(`PUT ${at}`, avatar);
  const first = await done(`POST ${at}/epics`, { title: "First", color: "#ff0000" });
  const sent = { title: "Second", labels: "below", parent_id: first.id, confidential: true };
  await done("POST /groups/acme%2Fcrew%2Fcell/epics", sent);
  await done(`POST ${at}/epics/${first.iid}/notes`, { body: "Said by somebody" }, "owner");
  await done(`POST ${at}/wikis`, { title: "Home", content: "What we do" });
  const gone = { name: "Gone", path: "gone", parent_id };
  const { id } = await done("POST /groups", gone);
  await app.store.transaction((db) =>
    db.run("update namespaces set marked_for_deletion_at = ? where id = ?", [1, id]),
  );
}

async function exported(group: string, as: Person = "admin"): Promise<Buffer> {
  const asked = await app.call(`POST ${group}/export`, { as });
  expect([asked.status, asked.json]).toEqual([202, { message: "202 Accepted" }]);
  await app.admin.maintenance.runArchives();
  const headers = { "private-token": `token-of-${as}` };
  const url = `http://pm.test/api/v4${group}/export/download`;
  const response = await app.fetch(new Request(url, { headers }));
  expect(response.headers.get("content-type")).toBe("application/gzip");
  return Buffer.from(await response.arrayBuffer());
}

function formOf(path: string, bytes: Uint8Array = archive, more: object = {}): FormData {
  const body = new FormData();
  const fields = { path, name: path, ...more };
  for (const [name, value] of Object.entries(fields)) body.append(name, String(value));
  body.append("file", new Blob([Uint8Array.from(bytes)]), "acme.gz");
  return body;
}

interface Importing {
  as?: Person;
  to?: TestApp;
  more?: object;
}

/** Imports an archive as a group at the top, and returns what its audit log says of the end. */
async function imported(bytes: Uint8Array, path: string, options: Importing = {}) {
  const { as = "admin", to = app, more = {} } = options;
  const asked = await to.call("POST /groups/import", { as, body: formOf(path, bytes, more) });
  expect([asked.status, asked.json]).toEqual([202, { message: "202 Accepted" }]);
  await to.admin.maintenance.runArchives();
  const [last] = await to.store.all<{ action: string; target: string }>(
    `select action, target from audit_events where action in ('group imported', 'group import failed')
     order by id desc limit 1`,
    [],
  );
  return last;
}

/** The lines of an archive, changed and packed again. */
function changed(change: (line: never, table: string) => unknown): Buffer {
  let table = "";
  const lines = gunzipSync(archive).toString().trimEnd().split("\n");
  const kept = lines.flatMap((text) => {
    const line = JSON.parse(text);
    table = Array.isArray(line) ? table : (line.table ?? table);
    const now = change(line as never, table);
    return now === undefined ? [] : [`${JSON.stringify(now)}\n`];
  });
  return gzipSync(kept.join(""));
}

/** Resources of groups whose records are about this server, secret, or not in archives of groups. */
const LEFT_OUT = [
  "Access requests",
  "Approval settings of groups",
  "Audit events",
  "CI variables",
  "Container registry",
  "Counts",
  "Custom attributes",
  "Deploy tokens",
  "Epic boards",
  "Events",
  "Exports and imports",
  "Group access tokens",
  "Group and project access tokens",
  "Integrations",
  "Invitations",
  "Issues",
  "Iterations",
  "Member roles",
  "Merge request approvals",
  "Merge requests",
  "Notification settings",
  "Packages",
  "Projects",
  "Protected environments",
  "Protected branches",
  "Push rules",
  "Releases",
  "Runners",
  "SCIM tokens and identities",
  "Search",
  "Security settings",
  "Service accounts",
  "Sharing",
  "Todos",
  "Topics",
  "Transfers",
  "Webhooks",
  "Composer packages",
  "Helm charts",
  "NuGet packages",
  "Maven packages",
  "Python packages",
  "npm packages",
];

/** What is shown of projects, or of this place. */
const OF_ELSEWHERE = [
  "id",
  "visibility",
  "web_url",
  "avatar_url",
  "projects",
  "shared_projects",
  "shared_with_groups",
];
/** Of labels, which projects have, too. */
const COUNTS = /^(open|closed)_(issues|merge_requests)_count$/;

function comparable(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.filter((entry) => !isBot(entry) && entry?.path !== "gone").map(comparable);
  }
  if (typeof value === "string") {
    return value.replaceAll("copy", "acme").replaceAll(/(groups|avatar|epics)\/\d+/g, "$1/N");
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(
    ([key]) => !OF_ELSEWHERE.includes(key) && !/_(id|at)$/.test(key) && !COUNTS.test(key),
  );
  return Object.fromEntries(entries.map(([key, inner]) => [key, comparable(inner)]));
}

const isBot = (entry: { username?: string } | null) => /_bot_/.test(entry?.username ?? "");

describe("a group that was exported and imported", () => {
  beforeAll(async () => {
    expect(await imported(archive, "copy", { more: { name: "Acme" } })).toEqual({
      action: "group imported",
      target: "copy",
    });
    // Who imports a group owns it.
    const { id } = await done("GET /user");
    await done(`DELETE /groups/copy/members/${id}?skip_subresources=true`);
  });

  const read = routes.filter(
    (route) =>
      route.method === "GET" &&
      route.path.startsWith("/groups/:id") &&
      // Lists of what projects have.
      !/\/(issues|projects|projects\/shared)$/.test(route.path) &&
      !LEFT_OUT.includes(resourceOf(route).name),
  );

  it.each([
    ["acme", "copy"],
    ["acme/crew", "copy/crew"],
    ["acme/crew/cell", "copy/crew/cell"],
  ])("has what the first one has, wherever one looks: %s", async (first, second) => {
    const [from, to] = [
      await placesIn(app, first, "acme/site"),
      await placesIn(app, second, "acme/site"),
    ];
    const different: unknown[] = [];
    for (const route of read) {
      const [one, other] = [
        await app.call(`GET ${pathOf(route, from)}`, { as: "admin" }),
        await app.call(`GET ${pathOf(route, to)}`, { as: "admin" }),
      ];
      const [left, right] = [one, other].map(({ status, json }) =>
        JSON.stringify([status, comparable(json)]),
      );
      if (left !== right) different.push([resourceOf(route).name, route.path, left, right]);
    }
    expect(different).toEqual([]);
  });

  it("is private at the top, and what is below it no more visible", async () => {
    for (const path of ["copy", "copy%2Fcrew", "copy%2Fcrew%2Fcell"]) {
      expect((await done(`GET /groups/${path}`)).visibility).toBe("private");
    }
  });

  it("has no projects, and no group that was to be deleted", async () => {
    expect(await done("GET /groups/copy/projects?include_subgroups=true")).toEqual([]);
    const below = await done("GET /groups/copy/descendant_groups");
    expect(below.map((group: { full_path: string }) => group.full_path).sort()).toEqual(
      expect.arrayContaining(["copy/crew", "copy/crew/cell"]),
    );
    expect(JSON.stringify(below)).not.toContain("gone");
  });

  it("has its boards, pictures, wikis and epics, with what is below them", async () => {
    const [board] = await done("GET /groups/copy%2Fcrew/boards");
    expect(board.lists.map(({ label }: { label: { name: string } }) => label.name)).toEqual([
      "below",
      "above",
    ]);
    const team = await done("GET /groups/copy%2Fcrew");
    expect(team.avatar_url).toContain(`/group/avatar/${team.id}/`);
    const epics = await done("GET /groups/copy%2Fcrew/epics");
    const [first] = epics.filter((epic: { title: string }) => epic.title === "First");
    expect(first).toMatchObject({ color: "#ff0000", iid: 1 });
    const [second] = await done("GET /groups/copy%2Fcrew%2Fcell/epics");
    expect(second).toMatchObject({ parent_id: first.id, labels: ["below"], confidential: true });
    const next = await done("POST /groups/copy%2Fcrew/epics", { title: "Third" });
    expect(next.iid).toBe(
      epics.filter((epic: { group_id: number }) => epic.group_id === team.id).length + 1,
    );
    const page = await done("GET /groups/copy%2Fcrew/wikis/Home");
    expect(page.content).toBe("What we do");
  });
});

it("a group in a group is as visible as that, and a subgroup's archive has what it uses of groups above", async () => {
  const { id } = await done("GET /groups/acme");
  const bytes = await exported("/groups/acme%2Fcrew");
  await imported(bytes, "again", { more: { parent_id: id } });
  expect((await done("GET /groups/acme%2Fagain")).visibility).toBe("public");
  const { id: above } = await done("GET /groups/acme%2Fagain/labels/above");
  expect((await done("GET /groups/acme/labels/above")).id).toBe(above);
  await imported(bytes, "alone");
  const labels = await done("GET /groups/alone/labels");
  expect(labels.map(({ name }: { name: string }) => name).sort()).toEqual(["above", "below"]);
});

it("an archive has no secrets and no addresses of people, and is read by another server", async () => {
  expect(gunzipSync(archive).toString()).not.toMatch(/token-of|@example|digest|secret_/);
  const other = await testApp({ seed: baseSeed });
  try {
    const end = await imported(archive, "copy", { to: other });
    expect(end).toEqual({ action: "group imported", target: "copy" });
    const authors = async (of: TestApp, group: string) => {
      const { json } = await of.call(`GET /groups/${group}/epics?include_descendant_groups=false`, {
        as: "admin",
      });
      return json.map(({ author }: { author: { username: string } }) => author.username);
    };
    expect(await authors(other, "copy")).toEqual(await authors(app, "acme"));
    expect((await check(other.store)).flatMap(({ problems }) => problems)).toEqual([]);
  } finally {
    await other.dispose();
  }
});

it("somebody who isn't an administrator becomes the author, and takes no members along", async () => {
  await imported(archive, "mine", { as: "stranger" });
  const members = await done("GET /groups/mine/members");
  expect(members).toMatchObject([{ username: "stranger", access_level: 50 }]);
  expect(await done("GET /groups/mine%2Fcrew/members")).toEqual([]);
  const epics = await done("GET /groups/mine/epics");
  const names = epics.map(({ author }: { author: { username: string } }) => author.username);
  expect([...new Set(names)]).toEqual(["stranger"]);
});

describe("who may", () => {
  it("export: owners", async () => {
    for (const [as, status] of [
      ["owner", 202],
      ["maintainer", 403],
      [undefined, 401],
    ] as const) {
      const asked = await app.call("POST /groups/acme/export", as ? { as } : {});
      expect([as, asked.status]).toEqual([as, status]);
      const got = await app.call("GET /groups/secret/export/download", as ? { as } : {});
      expect([as, got.status === 200]).toEqual([as, false]);
    }
    const hidden = await app.call("POST /groups/secret/export", { as: "stranger" });
    expect(hidden.status).toBe(404);
  });

  it("import: whoever may create a group there", async () => {
    const { id: acme } = await done("GET /groups/acme");
    const { id: secret } = await done("GET /groups/secret");
    const send = (as: Person | undefined, more: object) =>
      app.call("POST /groups/import", { ...(as && { as }), body: formOf("below", archive, more) });
    expect((await send("maintainer", { parent_id: acme })).status).toBe(403);
    expect((await send("stranger", { parent_id: secret })).status).toBe(404);
    expect((await send(undefined, {})).status).toBe(401);
    const [{ id }] = await done("GET /users?username=reporter");
    await done(`PUT /users/${id}`, { can_create_group: false });
    expect((await send("reporter", {})).status).toBe(403);
  });
});

it("an export is there for a day, and not before it was written", async () => {
  const { id } = await done("POST /groups", { name: "Kept", path: "kept" });
  const get = () => app.call(`GET /groups/${id}/export/download`, { as: "admin" });
  const none = [404, { message: "404 Not found or has expired" }];
  const first = await get();
  expect([first.status, first.json]).toEqual(none);
  await exported("/groups/kept");
  const again = await app.another({ background: false, now: () => Date.now() + 2 * 86_400_000 });
  await again.admin.maintenance.sweepDaily();
  await again.close();
  const last = await get();
  expect([last.status, last.json]).toEqual(none);
});

describe("what can't be imported", () => {
  it("is refused if the request shows it", async () => {
    const send = (body: FormData) => app.call("POST /groups/import", { as: "admin", body });
    const taken = await send(formOf("acme"));
    expect(taken.status).toBe(409);
    for (const path of ["-", "a b", "api"]) {
      expect([path, (await send(formOf(path))).status]).toEqual([path, 400]);
    }
    for (const name of ["file", "path", "name"]) {
      const body = formOf("lacking");
      body.delete(name);
      const { status, json } = await send(body);
      expect([status, json]).toEqual([400, { message: `400 (Bad request) "${name}" not given` }]);
    }
    const elsewhere = await send(formOf("lacking", archive, { organization_id: 2 }));
    expect([elsewhere.status, Object.keys(elsewhere.json.message)]).toEqual([
      400,
      ["organization_id"],
    ]);
    const nowhere = await send(formOf("lacking", archive, { parent_id: 999_999 }));
    expect(nowhere.status).toBe(404);
  });

  const cases: Record<string, [() => Buffer, string]> = {
    "is no archive": [() => Buffer.from("no"), "the file is not an archive, or damaged"],
    "is of a project": [
      () => changed((line) => ("format" in line ? { format: "pm-api project", version: 1 } : line)),
      "the file is not an archive of this format",
    ],
    "has no group": [
      () => changed((line, table) => (table === "namespaces" ? undefined : line)),
      "the archive does not begin with its group",
    ],
    "has a value that no group can have": [
      () =>
        changed((line: unknown[], table) =>
          Array.isArray(line) && table === "namespaces" ? line.with(5, 99) : line,
        ),
      "namespaces.visibility is not valid",
    ],
    "has groups with one path": [
      () =>
        changed((line: unknown[], table) =>
          Array.isArray(line) && table === "namespaces" && line[1] !== null
            ? line.with(3, "crew/x")
            : line,
        ),
      "a group can't have the path broken-4/crew/x",
    ],
    "has an epic that is something else": [
      () =>
        changed((line: unknown[], table) =>
          Array.isArray(line) && table === "issues"
            ? line.map((value) => (value === "epic" ? "task" : value))
            : line,
        ),
      "issues.issue_type is not valid",
    ],
  };
  it.each(Object.entries(cases))("%s", async (name, [bytes, reason]) => {
    const path = `broken-${Object.keys(cases).indexOf(name)}`;
    const end = await imported(bytes(), path);
    expect(end).toEqual({ action: "group import failed", target: reason });
  });
});

it("an import that a process has left, or whose group was deleted, is not read again", async () => {
  const send = (path: string) =>
    app.call("POST /groups/import", { as: "admin", body: formOf(path) });
  await send("left");
  await send("deleted");
  await app.store.transaction((db) =>
    db.run(
      "update group_imports set status = 'started' where namespace_id = (select id from namespaces where path = ?)",
      ["left"],
    ),
  );
  const { id } = await done("GET /groups/deleted");
  await done("DELETE /groups/deleted");
  await app.admin.maintenance.runArchives();
  const told = await done("GET /groups/left/audit_events");
  expect(told[0].details).toMatchObject({
    custom_message: "group import failed",
    target_details: "The server was stopped meanwhile. Delete what was made, and import it again.",
  });
  expect(await done("GET /groups/left/labels")).toEqual([]);
  expect(await app.store.rows("select 1 from group_imports where namespace_id = ?", [id])).toEqual(
    [],
  );
});

it("an epic that would be below itself has no parent", async () => {
  const circular = changed((line: unknown[], table) => {
    if (!Array.isArray(line) || table !== "work_item_parents") return line;
    return [line[1], line[1], line[2]];
  });
  expect((await imported(circular, "circle"))?.action).toBe("group imported");
  const [second] = await done("GET /groups/circle%2Fcrew%2Fcell/epics");
  expect(second.parent_id).toBe(null);
});

it("a group that has no epics gets a place for them only if its archive has some", async () => {
  await done("POST /groups", { name: "Bare", path: "bare" });
  await imported(await exported("/groups/bare"), "bare2");
  const { id } = await done("GET /groups/bare2");
  expect(await app.store.rows("select 1 from projects where namespace_id = ?", [id])).toEqual([]);
});
