// Push rules of projects and groups: how they are asked for, and what they refuse, whatever a push is made with.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp, tokenOf } from "../helpers.ts";
import { entry, MULTIPLEXED, Objects, pushHeaders, pushOf, pushTo } from "../packs.ts";
import { openWorkshop } from "./_git.ts";
import { type CodeProject, newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
let project: CodeProject;
beforeAll(async () => {
  app = await testApp();
  project = await newCodeProject(app);
});
afterAll(() => app.dispose());
beforeEach(() => project.send("DELETE", "/push_rule", {}, "maintainer"));

const RULE = {
  commit_message_regex: null,
  commit_message_negative_regex: null,
  branch_name_regex: null,
  author_email_regex: null,
  file_name_regex: null,
  deny_delete_tag: false,
  member_check: false,
  prevent_secrets: false,
  max_file_size: 0,
  commit_committer_check: false,
  commit_committer_name_check: false,
  reject_unsigned_commits: false,
  reject_non_dco_commits: false,
};

const rule = (method: string, json: object = {}, as: Person = "maintainer") =>
  project.send(method, "/push_rule", json, as);
/** Gives the project a push rule. */
async function given(json: object): Promise<void> {
  const { status, text } = await rule("POST", json);
  expect(status, text).toBe(201);
}

describe("a push rule", () => {
  it("is null until there is one, and has all its attributes then", async () => {
    const none = await project.get("/push_rule", "maintainer");
    expect([none.status, none.text]).toEqual([200, "null"]);
    const made = await rule("POST", { commit_message_regex: "^JIRA-", max_file_size: 3 });
    expect(made.status).toBe(201);
    const expected = {
      ...RULE,
      id: expect.any(Number),
      project_id: project.id,
      created_at: expect.any(String),
      commit_message_regex: "^JIRA-",
      max_file_size: 3,
    };
    expect(made.json).toEqual(expected);
    expect((await project.get("/push_rule", "maintainer")).json).toEqual(expected);
    const again = await rule("POST", { member_check: true });
    expect([again.status, again.json]).toEqual([422, { message: "Project push rule exists" }]);
  });

  it("is changed attribute by attribute, and removed", async () => {
    const none = await rule("PUT", { member_check: true });
    expect([none.status, none.json]).toEqual([404, { message: "404 Push Rule Not Found" }]);
    await given({ commit_message_regex: "^JIRA-" });
    const all = {
      ...Object.fromEntries(
        Object.entries(RULE).map(([name, value]) => [name, value === false ? true : `^${name}`]),
      ),
      max_file_size: 7,
    };
    const changed = await rule("PUT", all);
    expect([changed.status, changed.json]).toMatchObject([200, all]);
    const cleared = await rule("PUT", RULE);
    expect([cleared.status, cleared.json]).toMatchObject([200, RULE]);
    expect((await rule("PUT", { commit_message_regex: "" })).json.commit_message_regex).toBe(null);
    expect((await rule("DELETE")).status).toBe(204);
    const gone = await rule("DELETE");
    expect([gone.status, gone.json]).toEqual([404, { message: "404 Push Rule Not Found" }]);
  });

  it.each([
    [{}, /are missing, at least one parameter must be provided/],
    [{ commit_message_regex: "(" }, { commit_message_regex: ["is an invalid regular expression"] }],
    [{ file_name_regex: "(?=x)" }, { file_name_regex: ["is an invalid regular expression"] }],
    [{ branch_name_regex: "((a{100}){100}){100}" }, { branch_name_regex: [expect.any(String)] }],
    [
      { author_email_regex: "a".repeat(512) },
      { author_email_regex: ["is too long (maximum is 511 characters)"] },
    ],
    [{ max_file_size: -1 }, { max_file_size: [expect.any(String)] }],
    [{ member_check: "maybe" }, { member_check: ["is invalid"] }],
  ])("is refused with %j", async (json, message) => {
    for (const method of ["POST", "PUT"]) {
      const answer = await rule(method, json);
      const expected = message instanceof RegExp ? expect.stringMatching(message) : message;
      expect([answer.status, answer.json]).toEqual([400, { message: expected }]);
    }
  });

  it("is for maintainers", async () => {
    for (const method of ["GET", "POST", "PUT", "DELETE"]) {
      const json = { member_check: true };
      const request = `${method} ${project.path}/push_rule`;
      const answer = await app.call(request, {
        as: "developer",
        ...(method !== "GET" && { json }),
      });
      expect([method, answer.status]).toEqual([method, 403]);
    }
  });

  it("is audited", async () => {
    await given({ member_check: true });
    await rule("PUT", { member_check: false });
    await rule("DELETE");
    const log = await app.call("GET /audit_events?per_page=3", { as: "admin" });
    expect(
      log.json.map(({ details }: { details: Record<string, string> }) => details["custom_message"]),
    ).toEqual(["push rule removed", "push rule changed", "push rule added"]);
  });
});

describe("a push rule of a group", () => {
  it("is copied to projects that are created in it or below, and to no others", async () => {
    const { json: group } = await app.call("POST /groups", {
      as: "owner",
      json: { name: "ruled", path: "ruled" },
    });
    const path = `GET /groups/${group.id}/push_rule`;
    const none = await app.call(path, { as: "owner" });
    expect([none.status, none.json]).toEqual([404, { message: "404 Push Rule Not Found" }]);
    const before = await create("before", group.id);
    const json = { commit_message_regex: "^R-", deny_delete_tag: true };
    const call = (request: string, sent: object) =>
      app.call(request.replace(" ", ` /groups/${group.id}`), { as: "owner", json: sent });
    const made = await call("POST /push_rule", json);
    expect(made.status).toBe(201);
    const { id, created_at, ...rest } = made.json;
    expect(rest).toEqual({ ...RULE, ...json });
    expect((await call("POST /push_rule", json)).status).toBe(422);
    const sub = { name: "below", path: "below", parent_id: group.id };
    const { json: below } = await app.call("POST /groups", { as: "owner", json: sub });
    const [one, other] = [await create("one", group.id), await create("two", below.id)];
    for (const made of [one, other]) expect(await ruleOf(made)).toMatchObject(json);
    expect(await ruleOf(before)).toBe(null);
    const nearer = { as: "owner", json: { member_check: true } } as const;
    await app.call(`POST /groups/${below.id}/push_rule`, nearer);
    const third = await ruleOf(await create("three", below.id));
    expect(third).toMatchObject({ commit_message_regex: null, member_check: true });
    expect((await call("PUT /push_rule", { max_file_size: 1 })).json.max_file_size).toBe(1);
    expect((await ruleOf(one)).max_file_size).toBe(0);
    expect((await call("DELETE /push_rule", {})).status).toBe(204);
    expect((await call("DELETE /push_rule", {})).status).toBe(404);
    expect(await ruleOf(one)).toMatchObject(json);
  });

  async function create(name: string, namespace_id: number): Promise<number> {
    const json = { name, namespace_id, initialize_with_readme: true };
    const made = await app.call("POST /projects", { as: "owner", json });
    expect(made.status, made.text).toBe(201);
    return made.json.id;
  }
  const ruleOf = async (id: number) =>
    (await app.call(`GET /projects/${id}/push_rule`, { as: "owner" })).json;
});

interface Made {
  readonly message?: string;
  readonly author?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly signature?: string;
}

let branches = 0;
/** Each commit is another one. */
let times = 0;
/** Pushes a commit to a new branch or tag with Git's protocol. Returns what Git shows. */
async function push(
  { message = "A commit\n", author = "Ada", files = { b: "text" }, signature = "" }: Made,
  name = `refs/heads/pushed${branches++}`,
): Promise<string> {
  const objects = new Objects();
  times += 1;
  const made = { message, author, signature, time: 1_700_000_000 + times };
  const commit = objects.commit(treeOf(objects, files), [], made);
  return send([{ name, to: commit.toString("hex") }], objects.pack);
}

function treeOf(objects: Objects, files: Readonly<Record<string, string>>): Buffer {
  const folders = new Map<string, Record<string, string>>();
  const entries: [string, Buffer][] = [];
  for (const [path, content] of Object.entries(files)) {
    const [folder, rest] = path.split(/\/(.*)/s);
    if (rest === undefined) {
      entries.push([path, entry("100644", path, objects.add("blob", content))]);
    } else folders.set(folder as string, { ...folders.get(folder as string), [rest]: content });
  }
  for (const [name, inner] of folders) {
    entries.push([`${name}/`, entry("40000", name, treeOf(objects, inner))]);
  }
  const sorted = entries.sort(([one], [other]) => (one < other ? -1 : 1));
  return objects.add("tree", Buffer.concat(sorted.map(([, bytes]) => bytes)));
}

async function send(changes: Parameters<typeof pushOf>[0], pack?: Buffer): Promise<string> {
  const headers = pushHeaders(tokenOf("developer"));
  return (await pushTo(app, project.fullPath, pushOf(changes, pack, MULTIPLEXED), headers)).text;
}

const isDone = expect.stringMatching(/^(?!.*(GitLab: |declined)).*ok refs/s);
const refused = (text: string) => expect.stringContaining(`GitLab: ${text}`);

describe("a push", () => {
  it.each<[string, object, Made, Made, string]>([
    [
      "messages that fit",
      { commit_message_regex: "^JIRA-" },
      { message: "Title\n\nJIRA-1 is done\n" },
      { message: "x\n" },
      "Commit message does not follow the pattern '^JIRA-'",
    ],
    [
      "messages without",
      { commit_message_negative_regex: "(?i)wip" },
      { message: "Done\n" },
      { message: "Wip: x\n" },
      "Commit message contains the forbidden pattern '(?i)wip'",
    ],
    [
      "addresses that fit",
      { author_email_regex: "^ada@example\\.com$" },
      {},
      { author: "Eve" },
      "Committer's email 'eve@example.com' does not follow the pattern '^ada@example\\.com$'",
    ],
    [
      "users",
      { member_check: true },
      { author: "Developer" },
      { author: "Eve" },
      "Author 'eve@example.com' is not a member of team",
    ],
    [
      "committers with their own address",
      { commit_committer_check: true },
      { author: "Developer" },
      { author: "Owner" },
      "You cannot push commits for 'owner@example.com'. You can only push commits if the committer email is one of your own verified emails.",
    ],
    [
      "committers with their own name",
      { commit_committer_name_check: true },
      { author: "The developer" },
      { author: "Owner" },
      "Your git username is inconsistent with GitLab account name",
    ],
    [
      "signed commits",
      { reject_unsigned_commits: true },
      { signature: "-----BEGIN PGP SIGNATURE-----\nx\n-----END PGP SIGNATURE-----" },
      {},
      "Commit must be signed with a GPG key",
    ],
    [
      "commits that are signed off",
      { reject_non_dco_commits: true },
      { message: "x\n\nSigned-off-by: Ada <ada@example.com>\n" },
      { message: "Signed-off-by nobody\n" },
      "Commit message must contain a DCO signoff",
    ],
    [
      "names of files",
      { file_name_regex: "(jar|exe)$" },
      { files: { a: "x" } },
      { files: { "lib/x.jar": "x" } },
      'File name lib/x.jar was prohibited by the pattern "(jar|exe)$".',
    ],
    [
      "files without secrets",
      { prevent_secrets: true },
      { files: { "id_rsa.pub": "x" } },
      { files: { ".ssh/id_rsa": "x" } },
      'File name .ssh/id_rsa was prohibited by the pattern "id_rsa$".',
    ],
    [
      "sizes of files",
      { max_file_size: 1 },
      { files: { a: "x".repeat(1024 * 1024) } },
      { files: { "b/large": "x".repeat(1024 * 1024 + 1) } },
      "File b/large is larger than the allowed size of 1 MB",
    ],
  ])("has to have %s", async (_, json, good, bad, text) => {
    await given(json);
    expect(await push(good)).toEqual(isDone);
    expect(await push(bad)).toEqual(refused(text));
    await rule("DELETE");
    expect(await push(bad)).toEqual(isDone);
  });

  it("is refused for one of its commits, whatever the others are like; old ones are not looked at", async () => {
    const objects = new Objects();
    const tree = treeOf(objects, { c: "text" });
    const old = objects.commit(tree, [], { message: "old\n" });
    const before = objects.pack;
    const bad = objects.commit(tree, [old], { message: "bad\n" });
    const good = objects.commit(tree, [bad], { message: "R-1\n" });
    const first = { name: "refs/heads/history", to: old.toString("hex") };
    expect(await send([first], before)).toEqual(isDone);
    await given({ commit_message_regex: "^R-" });
    const [from, to] = [old, good].map((oid) => oid.toString("hex"));
    const change = { name: "refs/heads/history", from, to };
    const text = "Commit message does not follow the pattern '^R-'";
    const others = new Objects();
    const other = others.commit(treeOf(others, { c: "text" }), [old], { message: "R-2\n" });
    expect(await send([change], objects.pack)).toEqual(refused(text));
    expect(await send([{ ...change, to: other.toString("hex") }], others.pack)).toEqual(isDone);
  });

  it("is refused in words that Git shows", async () => {
    await given({ commit_message_regex: "^JIRA-" });
    const workshop = await openWorkshop(app);
    try {
      const url = workshop.url(project.fullPath, "developer");
      await workshop.git("", "clone", "--quiet", url, "clone");
      await workshop.git("clone", "checkout", "--quiet", "-b", "shown");
      await workshop.git("clone", "commit", "--quiet", "--allow-empty", "-m", "x");
      const said = await workshop.failure("clone", "push", "origin", "shown");
      expect(said).toContain("remote: GitLab: Commit message does not follow the pattern '^JIRA-'");
      expect(said).toContain("pre-receive hook declined");
      await workshop.git("clone", "commit", "--quiet", "--amend", "--allow-empty", "-m", "JIRA-1");
      await workshop.git("clone", "push", "--quiet", "origin", "shown");
    } finally {
      await workshop.close();
    }
  });

  it("may not delete tags, which the API may", async () => {
    const [{ id }] = (await project.get("/repository/commits?ref_name=main")).json;
    for (const tag_name of ["t1", "t2"]) {
      await project.send("POST", "/repository/tags", { tag_name, ref: "main" });
    }
    await given({ deny_delete_tag: true });
    const change = { name: "refs/tags/t1", from: id };
    expect(await send([change])).toEqual(refused("You cannot delete a tag"));
    expect((await project.send("DELETE", "/repository/tags/t2")).status).toBe(204);
  });

  it("may only have branches with names that fit, but the default one", async () => {
    await given({ branch_name_regex: "^(feature|fix)/" });
    const text = "Branch name does not follow the pattern '^(feature|fix)/'";
    expect(await push({}, "refs/heads/feature/a")).toEqual(isDone);
    expect(await push({}, "refs/heads/other")).toEqual(refused(text));
    expect(await push({}, "refs/tags/other")).toEqual(isDone);
    const created = await project.send("POST", "/repository/branches?branch=x&ref=main");
    expect([created.status, created.json]).toEqual([400, { message: text }]);
    const path = "/repository/branches?branch=fix/x&ref=main";
    expect((await project.send("POST", path)).status).toBe(201);
    await project.commit("main", { "d.txt": "d" });
  });

  it("is refused if there is too much to look at", async () => {
    await given({ commit_message_regex: "^(?:[a-z]?){400}$" });
    expect(await push({ message: "x".repeat(33 * 1024) })).toEqual(
      refused("A text is too long for the push rules to be checked"),
    );
    const objects = new Objects();
    let commit: Buffer | undefined;
    for (let at = 0; at <= 10_000; at += 1) {
      const message = `Commit ${at}\n`;
      const tree = treeOf(objects, { n: "text" });
      commit = objects.commit(tree, commit ? [commit] : [], { message, time: 1_600_000_000 + at });
    }
    const change = { name: "refs/heads/long", to: commit?.toString("hex") };
    expect(await send([change], objects.pack)).toEqual(
      refused("The push is too large for the push rules to be checked."),
    );
  });
});

describe("the API", () => {
  const created = (message: string, path: string) =>
    project.send("POST", "/repository/commits", {
      branch: "main",
      commit_message: message,
      actions: [{ action: "create", file_path: path, content: "x" }],
    });

  it("makes no commits that do not fit", async () => {
    await given({ commit_message_regex: "^R-", file_name_regex: "exe$" });
    const text = "Commit message does not follow the pattern '^R-'";
    const bad = await created("x", "e1");
    expect([bad.status, bad.json]).toEqual([400, { message: text }]);
    expect((await created("R-1", "e1")).status).toBe(201);
    const file = await created("R-1", "e.exe");
    const prohibited = 'File name e.exe was prohibited by the pattern "exe$".';
    expect([file.status, file.json]).toEqual([400, { message: prohibited }]);
    const json = { branch: "main", content: "x", commit_message: "x" };
    const written = await project.send("POST", "/repository/files/f1", json);
    expect([written.status, written.json]).toEqual([400, { message: text }]);
    expect((await project.get("/repository/files/f1?ref=main")).status).toBe(404);
  });

  it("signs its commits itself, so to speak", async () => {
    await given({ reject_unsigned_commits: true, commit_committer_check: true });
    expect((await created("x", "g1")).status).toBe(201);
  });
});

describe("merging", () => {
  it("is refused for the message of the merge, which the merge request tells", async () => {
    await project.commit("merged", { "m.txt": "m" }, { from: "main" });
    const { iid } = await project.open("merged");
    await given({ commit_message_regex: "^R-" });
    const merge = (json: object) =>
      project.send("PUT", `/merge_requests/${iid}/merge`, json, "maintainer");
    const bad = await merge({ merge_commit_message: "x" });
    expect([bad.status, bad.json]).toEqual([422, { message: "Branch cannot be merged" }]);
    expect((await project.get(`/merge_requests/${iid}`)).json).toMatchObject({
      state: "opened",
      merge_error: "Commit message does not follow the pattern '^R-'",
    });
    const left =
      "select count(*) from git_packs p where not exists (select 1 from git_repository_packs r where r.pack_id = p.id)";
    expect(await app.store.rows(left)).toEqual([[0]]);
    const good = await merge({ merge_commit_message: "R-2" });
    expect([good.status, good.json]).toMatchObject([200, { state: "merged", merge_error: null }]);
  });
});
