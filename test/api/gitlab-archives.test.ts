// Archives of projects that GitLab has written, in the shapes that it writes, and hostile ones.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { pack as packTar } from "tar-stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
/** A repository as a bundle, and its commits. */
let bundle: Buffer;
let base = "";
let head = "";

beforeAll(async () => {
  app = await testApp({ webhooks: { deliver: false } });
  const folder = mkdtempSync(join(tmpdir(), "bundle-"));
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: folder, env }).toString().trim();
  const commit = (content: string, message: string) => {
    writeFileSync(join(folder, "a.txt"), content);
    git("add", "a.txt");
    git("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-qm", message);
    return git("rev-parse", "HEAD");
  };
  git("init", "-q", "-b", "main");
  base = commit("one\ntwo\nthree\n", "First");
  git("checkout", "-qb", "topic");
  head = commit("one\n2\nthree\n", "Second");
  git("update-ref", "refs/merge-requests/1/head", head);
  git("update-ref", "refs/keep-around/x", head);
  git("checkout", "-q", "main");
  git("tag", "v1");
  git("bundle", "create", "-q", "project.bundle", "--all");
  bundle = readFileSync(join(folder, "project.bundle"));
  rmSync(folder, { recursive: true });
});
afterAll(() => app.dispose());

const AT = "2025-03-04T05:06:07.000Z";
const at = { created_at: AT, updated_at: AT };
const SECRET = "0123456789abcdef0123456789abcdef";

/** What GitLab writes of a project, by path. */
function project(): Record<string, string | Buffer> {
  const lines = (...objects: object[]) => objects.map((one) => JSON.stringify(one)).join("\n");
  const user = { id: 7, username: "developer", public_email: "developer@example.com" };
  const bug = {
    title: "bug",
    color: "#ff0000",
    description: "Broken",
    type: "ProjectLabel",
    ...at,
  };
  const group = { title: "ours", color: "#00ff00", type: "GroupLabel", group_id: 3, ...at };
  const milestone = { title: "v1", iid: 4, state: "active", due_date: "2025-12-24", ...at };
  const position = {
    ...{ base_sha: base, start_sha: base, head_sha: head, old_path: "a.txt", new_path: "a.txt" },
    ...{ position_type: "text", old_line: null, new_line: 2, line_range: null },
  };
  const note = { author_id: 7, system: false, ...at };
  return {
    VERSION: "0.2.4\n",
    "tree/project.json": JSON.stringify({
      ...{ description: "From there", visibility_level: 0, archived: false, topics: "one,two" },
      ...{ merge_requests_ff_only_enabled: true, build_timeout: 1200 },
      project_feature: {
        ...{ issues_access_level: 20, wiki_access_level: 0, snippets_access_level: 10 },
        ...{ environments_access_level: 0, package_registry_access_level: 10 },
      },
    }),
    "tree/project/labels.ndjson": lines({ ...bug, priorities: [{ priority: 1 }] }),
    "tree/project/milestones.ndjson": lines(milestone),
    "tree/project/project_members.ndjson": lines({ access_level: 30, user_id: 7, user, ...at }),
    "tree/project/protected_branches.ndjson": lines({
      ...{ name: "main", allow_force_push: true, push_access_levels: [{ access_level: 40 }] },
      ...{ merge_access_levels: [{ access_level: 30 }], ...at },
    }),
    "tree/project/issues.ndjson": lines(
      {
        ...{ iid: 5, title: "First", description: `See /uploads/${SECRET}/a.txt`, state: "closed" },
        ...{ author_id: 7, closed_at: AT, confidential: false, weight: 2, ...at, milestone },
        label_links: [{ label: bug }, { label: group }],
        issue_assignees: [{ user_id: 7 }],
        notes: [
          {
            ...note,
            note: "So?",
            author: { name: "Dev" },
            award_emoji: [{ name: "tada", user_id: 7, ...at }],
          },
          { ...note, author_id: 99, note: "Gone", author: { name: "Gone" } },
        ],
        resource_state_events: [{ state: "closed", user_id: 7, created_at: AT }],
        resource_label_events: [{ action: "add", user_id: 7, label: bug, created_at: AT }],
        award_emoji: [{ name: "thumbsup", user_id: 7, ...at }],
      },
      { iid: 6, title: "Second", state: "opened", author_id: 99, ...at },
    ),
    "tree/project/merge_requests.ndjson": lines({
      ...{ iid: 1, title: "Change it", state: "opened", author_id: 7, ...at },
      ...{ source_branch: "topic", target_branch: "main", diff_head_sha: head },
      merge_request_diff: {
        ...{ base_commit_sha: base, start_commit_sha: base, head_commit_sha: head },
        ...{ files_count: 1, created_at: AT },
      },
      approvals: [{ user_id: 7, created_at: AT }],
      merge_request_reviewers: [{ user_id: 7, state: "reviewed", created_at: AT }],
      notes: [{ ...note, note: "Why 2?", type: "DiffNote", position: JSON.stringify(position) }],
    }),
    "tree/project/releases.ndjson": lines({
      ...{ tag: "v1", name: "One", description: "News", author_id: 7, released_at: AT, ...at },
      links: [{ name: "a", url: "https://example.com/a", link_type: "other" }],
    }),
    "tree/project/boards.ndjson": lines({
      ...{ name: "Work", hide_backlog_list: false, hide_closed_list: false },
      lists: [{ list_type: "label", position: 0, label: bug }],
    }),
    "tree/project/snippets.ndjson": lines({
      ...{ title: "A snippet", file_name: "a.sh", content: "ls", author_id: 7 },
      ...{ visibility_level: 0, notes: [], ...at },
    }),
    [`uploads/${SECRET}/a.txt`]: "What it says",
    "project.bundle": bundle,
  };
}

type Header = { name: string; type?: "symlink" | "directory"; linkname?: string };

/** A packed tar file. */
async function archiveOf(files: Record<string, string | Buffer>, more: Header[] = []) {
  const tar = packTar();
  for (const [name, content] of Object.entries(files)) tar.entry({ name: `./${name}` }, content);
  for (const header of more) tar.entry(header);
  tar.finalize();
  const parts: Buffer[] = [];
  for await (const part of tar) parts.push(part as Buffer);
  return gzipSync(Buffer.concat(parts));
}

let next = 0;
/** Imports an archive, and returns the project. */
async function imported(archive: Buffer, as: Person = "admin") {
  next += 1;
  const body = new FormData();
  body.append("path", `from-gitlab-${next}`);
  body.append("file", new Blob([new Uint8Array(archive)]), "export.tar.gz");
  const { status, json } = await app.call("POST /projects/import", { as, body });
  expect([status, json.import_status]).toEqual([201, "scheduled"]);
  await app.admin.maintenance.runArchives();
  const found = await app.call(`GET /projects/${json.id}/import`, { as });
  return { at: `/projects/${json.id}`, ...found.json };
}

const get = async (path: string) => (await app.call(`GET ${path}`, { as: "admin" })).json;

describe("an archive of GitLab", () => {
  let place = "";
  beforeAll(async () => {
    const { at: made, import_status, import_error } = await imported(await archiveOf(project()));
    expect([import_status, import_error]).toEqual(["finished", null]);
    place = made;
  });

  it("has its settings and its code", async () => {
    expect(await get(place)).toMatchObject({
      ...{ description: "From there", visibility: "private", topics: ["one", "two"] },
      ...{ merge_method: "ff", default_branch: "main", build_timeout: 1200 },
      ...{ issues_access_level: "enabled", wiki_access_level: "disabled" },
      ...{ snippets_access_level: "private", environments_access_level: "disabled" },
      package_registry_access_level: "private",
    });
    const branches = (await get(`${place}/repository/branches`)) as { name: string }[];
    expect(branches.map(({ name }) => name)).toEqual(["main", "topic"]);
    const [branch] = await get(`${place}/protected_branches`);
    expect(branch).toMatchObject({
      ...{ name: "main", allow_force_push: true },
      ...{
        push_access_levels: [{ access_level: 40 }],
        merge_access_levels: [{ access_level: 30 }],
      },
    });
    const members = (await get(`${place}/members`)) as Record<string, unknown>[];
    const developer = { username: "developer", access_level: 30 };
    expect(members).toContainEqual(expect.objectContaining(developer));
  });

  it("has its issues, merge requests and releases, by whom and when", async () => {
    const [second, first] = await get(`${place}/issues`);
    expect(first).toMatchObject({
      ...{ iid: 5, title: "First", state: "closed", weight: 2, closed_at: AT, created_at: AT },
      ...{ author: { username: "developer" }, milestone: { title: "v1", iid: 4 } },
      ...{ labels: ["bug", "ours"], assignees: [{ username: "developer" }], upvotes: 1 },
    });
    expect(second).toMatchObject({ iid: 6, author: { username: "admin" } });
    const notes = (await get(`${place}/issues/5/notes?sort=asc`)) as {
      body: string;
      author: { username: string };
    }[];
    expect(notes.map(({ body, author }) => [body, author.username])).toEqual([
      ["So?", "developer"],
      [`Gone\n\n*By Gone on ${AT} (imported from GitLab)*`, "admin"],
    ]);
    const request = await get(`${place}/merge_requests/1`);
    expect(request).toMatchObject({
      ...{ title: "Change it", sha: head, changes_count: "1" },
      diff_refs: { base_sha: base, start_sha: base, head_sha: head },
    });
    const [thread] = await get(`${place}/merge_requests/1/discussions`);
    expect(thread).toMatchObject({
      ...{ individual_note: false, notes: [{ body: "Why 2?", position: { new_line: 2 } }] },
    });
    const { approved_by: approved } = await get(`${place}/merge_requests/1/approvals`);
    expect(approved).toMatchObject([{ user: { username: "developer" } }]);
    const [release] = await get(`${place}/releases`);
    expect(release).toMatchObject({ tag_name: "v1", name: "One", released_at: AT });
    expect(release.assets.links).toMatchObject([{ name: "a", url: "https://example.com/a" }]);
    const [board] = await get(`${place}/boards`);
    expect(board.lists).toMatchObject([{ label: { name: "bug" } }]);
    const [snippet] = await get(`${place}/snippets`);
    expect(snippet).toMatchObject({ title: "A snippet", file_name: "a.sh" });
    const [, path] = /See (.*)/.exec(first.description) ?? [];
    expect((await app.call(`GET ${place}${path}`, { as: "admin" })).text).toBe("What it says");
    const created = await app.call(`POST ${place}/issues`, {
      as: "admin",
      json: { title: "Next" },
    });
    expect(created.json.iid).toBe(7);
  });

  it("is all of the importer's, who is no administrator", async () => {
    const { at: made } = await imported(await archiveOf(project()), "maintainer");
    const issues = (await get(`${made}/issues`)) as { author: { username: string } }[];
    expect(issues.map(({ author }) => author.username)).toEqual(["maintainer", "maintainer"]);
  });
});

/** Imports an archive of a group, and returns the events of its audit log. */
async function importedGroup(path: string, archive: Buffer) {
  const body = new FormData();
  body.append("path", path);
  body.append("name", path);
  body.append("file", new Blob([new Uint8Array(archive)]), "export.tar.gz");
  expect((await app.call("POST /groups/import", { as: "admin", body })).status).toBe(202);
  await app.admin.maintenance.runArchives();
  const { json } = await app.call(`GET /groups/${path}/audit_events`, { as: "admin" });
  return json.map(({ event_name, details }: { event_name: string; details: object }) =>
    JSON.stringify([event_name, details]),
  );
}

describe("an archive of a group of GitLab", () => {
  const lines = (...objects: object[]) => objects.map((one) => JSON.stringify(one)).join("\n");
  const below = { title: "Brire", color: "#d68d9d", group_id: 12, type: "GroupLabel", ...at };
  const user = { id: 7, username: "developer" };
  const epic = { author_id: 7, state: "opened", ...at };
  const group = (): Record<string, string> => ({
    "tree/groups/_all.ndjson": "11\n12",
    "tree/groups/12.json": lines({
      ...{ id: 12, parent_id: 11, name: "Below", path: "below", visibility_level: 20 },
    }),
    "tree/groups/11.json": lines({
      ...{ id: 11, parent_id: 3, name: "Top", path: "top", description: "From there" },
      ...{ visibility_level: 0, request_access_enabled: true },
    }),
    "tree/groups/11/labels.ndjson": lines({ ...below, title: "bug", group_id: 11 }),
    "tree/groups/12/labels.ndjson": lines(below),
    "tree/groups/12/milestones.ndjson": lines({ title: "v1", iid: 3, state: "active", ...at }),
    "tree/groups/12/badges.ndjson": lines({
      ...{ link_url: "https://example.com", image_url: "https://example.com/a.svg", ...at },
    }),
    "tree/groups/11/members.ndjson": lines({ access_level: 30, user_id: 7, user, ...at }),
    "tree/groups/12/boards.ndjson": lines({
      ...{ name: "Work", ...at },
      lists: [
        { list_type: "backlog" },
        { list_type: "label", position: 0, label: { ...below, title: "bug", group_id: 11 } },
      ],
    }),
    "tree/groups/11/epics.ndjson": lines(
      { ...epic, id: 40, iid: 2, title: "Child", parent: { id: 41, iid: 1 } },
      {
        ...{ ...epic, id: 41, iid: 1, title: "Parent", end_date: "2026-01-02" },
        label_links: [{ label: { ...below, title: "bug", group_id: 11 } }],
        notes: [{ note: "So?", author_id: 7, author: { name: "Dev" }, ...at }],
      },
    ),
  });

  it("has its groups, with labels, milestones, boards, badges, members and epics", async () => {
    const events = await importedGroup("from-top", await archiveOf(group()));
    expect(events.join()).not.toContain("failed");
    expect(await get("/groups/from-top")).toMatchObject({ description: "From there" });
    const [below] = await get("/groups/from-top/subgroups");
    expect(below).toMatchObject({ full_path: "from-top/below", visibility: "private" });
    const at = `/groups/${below.id}`;
    const names = (await get(`${at}/labels`)).map(({ name }: { name: string }) => name);
    expect(names).toEqual(["Brire", "bug"]);
    expect(await get(`${at}/milestones`)).toMatchObject([{ iid: 3, title: "v1" }]);
    expect(await get(`${at}/badges`)).toMatchObject([{ link_url: "https://example.com" }]);
    const [board] = await get(`${at}/boards`);
    expect(board).toMatchObject({ name: "Work", lists: [{ label: { name: "bug" } }] });
    const members = await get("/groups/from-top/members");
    expect(members).toContainEqual(
      expect.objectContaining({ username: "developer", access_level: 30 }),
    );
    const [parent] = await get("/groups/from-top/epics?search=Parent");
    expect(parent).toMatchObject({ iid: 1, labels: ["bug"], author: { username: "developer" } });
    const children = await get("/groups/from-top/epics/1/epics");
    expect(children).toMatchObject([{ iid: 2, title: "Child" }]);
    expect(await get(`/groups/from-top/epics/1/notes`)).toMatchObject([{ body: "So?" }]);
  });

  it.each<[string, Record<string, string>, RegExp]>([
    ["without a group", { x: "y" }, /one group at the top/],
    [
      "with two at the top",
      { "tree/groups/1.json": "{}", "tree/groups/2.json": "{}" },
      /one group/,
    ],
    ["in a circle", { "tree/groups/1.json": '{"parent_id":1}' }, /one group at the top/],
    ["of a project", { "tree/project.json": "{}" }, /one group at the top/],
  ])("%s is refused", async (name, files, reason) => {
    const path = name.replaceAll(" ", "-");
    const events = await importedGroup(path, await archiveOf(files));
    expect(events.join()).toMatch(reason);
  });
});

describe("a hostile archive", () => {
  const withLine = (line: string) => ({ ...project(), "tree/project/issues.ndjson": line });
  /** The first header of a file says that something else follows. */
  const changed = (archive: Buffer, change: (header: Buffer) => void) => {
    change(archive);
    archive.write("        ", 148);
    const sum = archive.subarray(0, 512).reduce((all, byte) => all + byte, 0);
    archive.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    return gzipSync(archive);
  };
  const header = (name: string) => {
    const block = Buffer.alloc(1024);
    block.write(name);
    block.write("00000000010\0", 124);
    block.write("ustar\x0000", 257);
    block.write("0", 156);
    return block;
  };
  it.each<[string, () => Promise<Buffer>, RegExp]>([
    [
      "that leads above it",
      () => archiveOf({ "../../etc/x": "y", ...project() }),
      /leads elsewhere/,
    ],
    [
      "with links",
      () => archiveOf(project(), [{ name: "x", type: "symlink", linkname: "/etc/passwd" }]),
      /has links/,
    ],
    ["with lines that are no JSON", () => archiveOf(withLine("{")), /no JSON object/],
    ["with lists instead of objects", () => archiveOf(withLine("[1]")), /no JSON object/],
    [
      "with a line without end",
      () => archiveOf(withLine(`{"title":"${"ab".repeat(9 << 20)}"}`)),
      /too long a line|grows to more/,
    ],
    [
      "that grows",
      () => archiveOf({ bomb: Buffer.alloc(8 << 20), ...project() }),
      /grows to more than 200 times/,
    ],
    [
      "with values that can't be",
      () => archiveOf(withLine('{"iid":-1,"title":[],"state":"x"}')),
      /issues\.\w+ is not valid/,
    ],
    [
      "whose repository is none",
      () => archiveOf({ ...project(), "project.bundle": "hello\n\n" }),
      /no bundle/,
    ],
    [
      "whose repository is not whole",
      () =>
        archiveOf({ ...project(), "project.bundle": `# v2 git bundle\n-${"0".repeat(40)}\n\n` }),
      /not complete/,
    ],
    [
      "whose repository is cut",
      () => archiveOf({ ...project(), "project.bundle": bundle.subarray(0, -30) }),
      /repository/,
    ],
    ["without a project", () => archiveOf({ x: "y" }), /none of a project/],
    ["of an old GitLab", () => archiveOf({ "project.json": "{}" }), /before 13/],
    [
      "that is cut short",
      async () => gzipSync(header("tree/project.json").subarray(0, 512 + 4)),
      /damaged/,
    ],
    [
      "with a name of a gigabyte",
      async () =>
        changed(header("x"), (block) => {
          block.write("L", 156);
          block.write("10000000000\0", 124);
        }),
      /too long a name/,
    ],
    ["with a wrong sum", async () => gzipSync(header("x")), /damaged/],
  ])("%s is refused", async (_, make, reason) => {
    const { import_status, import_error } = await imported(await make());
    expect([import_status, import_error]).toEqual(["failed", expect.stringMatching(reason)]);
  });
});
