// Code of other projects of a fork network: commits that start from theirs, and comparisons with them.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verifyRepositories } from "../../src/git/verify.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CodeProject, codeProject, lines, newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
/** A private project of a group, its fork, which only the maintainer sees, and a project of their own. */
let upstream: CodeProject;
let fork: CodeProject;
let foreign: CodeProject;
/** The heads of `main`: the fork's and the upstream's have gone ways of their own. */
let base = "";
let theirs = "";
let ours = "";
beforeAll(async () => {
  app = await testApp();
  upstream = await newCodeProject(app);
  foreign = await newCodeProject(app);
  base = (await upstream.get("/repository/branches/main")).json.commit.id;
  const { json } = await app.call(`POST ${upstream.path}/fork`, {
    as: "maintainer",
    json: { name: "fork", path: "fork" },
  });
  fork = codeProject(app, json.id, json.path_with_namespace);
  theirs = await upstream.commit("main", { "theirs.txt": lines(3) });
  ours = await fork.commit("main", { "ours.txt": "own\n" });
});
afterAll(() => app.dispose());

let branches = 0;
/** Asks the fork for a commit to a new branch that adds `new.txt`. */
const commitTo = (start: object, as: Person = "maintainer", project = fork) => {
  branches += 1;
  const actions = [{ action: "create", file_path: "new.txt", content: "new\n" }];
  const json = { branch: `b${branches}`, commit_message: "New", actions, ...start };
  return project.send("POST", "/repository/commits", json, as);
};

describe("a commit that starts from another project", () => {
  it("follows its branch, or a commit of it", async () => {
    const known = await commitTo({ start_project: upstream.id, start_sha: base });
    expect([known.status, known.json.parent_ids]).toEqual([201, [base]]);
    const start = { start_project: upstream.id, start_branch: "main" };
    const made = await commitTo(start);
    expect([made.status, made.json.parent_ids]).toEqual([201, [theirs]]);
    expect(made.json.web_url).toContain(`/${fork.fullPath}/-/commit/`);
    const sha = { start_project: upstream.fullPath, start_sha: theirs };
    expect((await commitTo(sha)).json.parent_ids).toEqual([theirs]);
    const tree = await fork.get(`/repository/tree?ref=${made.json.id}`, "maintainer");
    const names = tree.json.map(({ name }: { name: string }) => name);
    expect(names).toEqual(["a.txt", "new.txt", "theirs.txt"]);
    const { json: log } = await fork.get(
      `/repository/commits?ref_name=${made.json.id}`,
      "maintainer",
    );
    expect(log.map(({ id }: { id: string }) => id)).toEqual([made.json.id, theirs, base]);
  });

  it("follows the branch of the same name, if it names no other", async () => {
    await upstream.commit("same", { "same.txt": "" }, { from: "main" });
    const { json: same } = await upstream.get("/repository/branches/same");
    const made = await commitTo({ start_project: upstream.id, branch: "same" });
    expect([made.status, made.json.parent_ids]).toEqual([201, [same.commit.id]]);
    const again = await commitTo({ start_project: upstream.id, branch: "same" });
    expect([again.status, again.json.message]).toEqual([
      400,
      "A branch called 'same' already exists. Switch to that branch in order to make changes",
    ]);
    const forced = await commitTo({ start_project: upstream.id, branch: "same", force: true });
    expect([forced.status, forced.json.parent_ids]).toEqual([201, [same.commit.id]]);
  });

  it("may be in a repository that has no commits yet", async () => {
    const { json: source } = await app.call("POST /projects", {
      as: "maintainer",
      json: { name: "source" },
    });
    const { json } = await app.call(`POST /projects/${source.id}/fork`, {
      as: "maintainer",
      json: { name: "empty", path: "empty" },
    });
    const empty = codeProject(app, json.id, json.path_with_namespace);
    const first = await codeProject(app, source.id, "").commit("main", { "a.txt": "a\n" });
    const start = { start_project: source.id, branch: "main" };
    const made = await commitTo(start, "maintainer", empty);
    expect([made.status, made.json.parent_ids]).toEqual([201, [first]]);
  });

  it("may name its own project", async () => {
    const start = { start_project: fork.fullPath, start_branch: "main" };
    expect((await commitTo(start)).json.parent_ids).toEqual([ours]);
  });

  it("needs what it starts from there", async () => {
    const start_project = upstream.id;
    const answers = [
      await commitTo({ start_project, start_branch: "none" }),
      await commitTo({ start_project, start_sha: ours }),
      await commitTo({ start_project, start_sha: "abc1234" }),
      await commitTo({ start_sha: "1".repeat(40) }),
    ];
    expect(answers.map(({ status, json }) => [status, json.message])).toEqual([
      [400, "You can only create or edit files when you are on a branch"],
      [400, `Cannot find start_sha '${ours}'`],
      [400, "Invalid start_sha 'abc1234'"],
      [400, `Cannot find start_sha '${"1".repeat(40)}'`],
    ]);
  });

  it("needs a project of the fork network, whose code the caller may read", async () => {
    const outside = await commitTo({ start_project: foreign.id, start_branch: "main" });
    const refusal = "403 Forbidden - Project is not included in the fork network for";
    expect([outside.status, outside.json.message]).toEqual([403, `${refusal} ${foreign.fullPath}`]);
    const unknown = { status: 404, json: { message: "404 Project Not Found" } };
    expect(await commitTo({ start_project: "no/where", start_branch: "main" })).toMatchObject(
      unknown,
    );
    const json = { user_id: (await app.call("GET /user", { as: "stranger" })).json.id };
    await fork.send("POST", "/members", { ...json, access_level: 30 }, "maintainer");
    const start = { start_project: upstream.id, start_branch: "main" };
    expect(await commitTo(start, "stranger")).toMatchObject(unknown);
    await upstream.send("POST", "/members", { ...json, access_level: 10 }, "owner");
    const guest = await commitTo(start, "stranger");
    expect([guest.status, guest.json.message]).toEqual([403, `${refusal} ${upstream.fullPath}`]);
    await upstream.send("DELETE", `/members/${json.user_id}`, {}, "owner");
    await fork.send("DELETE", `/members/${json.user_id}`, {}, "maintainer");
  });
});

describe("a comparison with another project", () => {
  const compare = (query: string, as: Person = "maintainer", project = fork) =>
    project.get(`/repository/compare?${query}`, as);
  const paths = (json: { diffs: { new_path: string }[] }) => json.diffs.map((one) => one.new_path);
  const ids = (json: { commits: { id: string }[] }) => json.commits.map(({ id }) => id);

  it("shows what the project's own commit has besides", async () => {
    const { status, json } = await compare(`from=main&to=main&from_project_id=${upstream.id}`);
    expect([status, ids(json), paths(json)]).toEqual([200, [ours], ["ours.txt"]]);
    expect([json.commit.id, json.compare_same_ref]).toEqual([ours, false]);
    const back = await compare(
      `from=${ours}&to=main&from_project_id=${fork.id}`,
      "maintainer",
      upstream,
    );
    expect([ids(back.json), paths(back.json)]).toEqual([[theirs], ["theirs.txt"]]);
    const straight = await compare(
      `from=main&to=main&straight=true&from_project_id=${upstream.id}`,
    );
    expect(paths(straight.json).toSorted()).toEqual(["ours.txt", "theirs.txt"]);
    const own = await compare(`from=${base}&to=main&from_project_id=${fork.id}`);
    expect(ids(own.json)).toEqual([ours]);
  });

  it("finds each name in its project only", async () => {
    await upstream.commit("only", { "only.txt": "" }, { from: "main" });
    const other = `from_project_id=${upstream.id}`;
    expect((await compare(`from=only&to=main&${other}`)).status).toBe(200);
    for (const query of [`from=main&to=only&${other}`, `from=${ours}&to=main&${other}`]) {
      const { status, json } = await compare(query);
      expect([status, json.message]).toEqual([404, "404 Ref Not Found"]);
    }
  });

  it("needs a project of the fork network, whose code the caller may read", async () => {
    const notFork = (id: number, of: CodeProject) => ({
      status: 400,
      json: {
        message: `400 Bad request - Target project id:${id} is not a fork of project id:${of.id}`,
      },
    });
    const query = "from=main&to=main&from_project_id";
    expect(await compare(`${query}=${foreign.id}`)).toMatchObject(notFork(foreign.id, fork));
    expect(await compare(`${query}=99999`)).toMatchObject(notFork(99999, fork));
    expect(await compare(`${query}=${fork.id}`, "developer", upstream)).toMatchObject(
      notFork(fork.id, upstream),
    );
    const json = { user_id: (await app.call("GET /user", { as: "developer" })).json.id };
    await fork.send("POST", "/members", { ...json, access_level: 10 }, "maintainer");
    const { status, json: refused } = await compare(`${query}=${fork.id}`, "developer", upstream);
    expect([status, refused.message]).toEqual([
      403,
      "403 Forbidden - You don't have access to this fork's parent project",
    ]);
  });
});

it("nothing of it is lost when the other project is deleted", async () => {
  await app.call(`DELETE ${upstream.path}`, { as: "owner" });
  const later = await app.another({ now: () => Date.now() + 3 * 86_400_000 });
  await later.admin.maintenance.tidyRepositories();
  await later.close();
  expect(await verifyRepositories(app.store, 10)).toEqual([]);
  const { status } = await fork.get(`/repository/commits/${theirs}`, "maintainer");
  expect(status).toBe(200);
});
