// Creating and deleting branches and tags over the REST API. Git's own client, which must be installed, looks at them.
import { beforeAll, describe, expect, it } from "vitest";
import type { Person, TestApp } from "../helpers.ts";
import { shareWorkshop, type Workshop } from "./_git.ts";

let app: TestApp;
let workshop: Workshop;
let git: Workshop["git"];
shareWorkshop((opened) => {
  ({ app, workshop, git } = opened);
});

const call = (request: string, as: Person, json?: object, headers?: Record<string, string>) =>
  app.call(request, { as, ...(json && { json }), ...(headers && { headers }) });
const messageOf = ({ status, json }: { status: number; json: { message: unknown } }) => [
  status,
  json.message,
];

let counter = 0;
async function emptyProject() {
  counter += 1;
  const name = `p${counter}`;
  const { json: group } = await call("GET /groups/secret", "owner");
  const { json } = await call("POST /projects", "owner", { name, namespace_id: group.id });
  let clones = 0;
  return {
    path: `/projects/${json.id}`,
    repository: `/projects/${json.id}/repository`,
    clone: async () => {
      clones += 1;
      const where = `${name}-${clones}`;
      await git("", "clone", "--quiet", "--mirror", workshop.url(`secret/${name}`, "owner"), where);
      await git(where, "fsck", "--full", "--strict");
      return where;
    },
  };
}

/** A project with a commit on its unprotected branch `main`, and its name. */
async function newProject() {
  const project = await emptyProject();
  const actions = [{ action: "create", file_path: "a", content: "1" }];
  const first = { branch: "main", commit_message: "First", actions };
  const { json } = await call(`POST ${project.repository}/commits`, "maintainer", first);
  await call(`DELETE ${project.path}/protected_branches/main`, "maintainer");
  const commit = async (branch: string) => {
    counter += 1;
    const file = { branch, commit_message: "More", content: String(counter) };
    const made = await call(`POST ${project.repository}/files/${branch}-file`, "developer", file);
    expect(made.status).toBe(201);
  };
  return { ...project, first: json.id as string, commit };
}

describe("a branch", () => {
  let project: Awaited<ReturnType<typeof newProject>>;
  let url: string;
  beforeAll(async () => {
    project = await newProject();
    url = `${project.repository}/branches`;
  });
  const create = (json: object, as: Person = "developer") => call(`POST ${url}`, as, json);

  it("is created from a branch, a commit or a tag", async () => {
    await call(`POST ${project.repository}/tags`, "developer", {
      tag_name: "v1",
      ref: "main",
      message: "One",
    });
    for (const [at, ref] of ["main", project.first, project.first.slice(0, 10), "v1"].entries()) {
      const branch = `my.b/${at}`;
      const { status, json } = await create({ branch, ref });
      expect(status).toBe(201);
      expect(json).toMatchObject({ name: branch, default: false, merged: false });
      expect(json.commit.id).toBe(project.first);
    }
    const query = await app.call(`POST ${url}?branch=in.query&ref=main`, { as: "developer" });
    expect(query.status).toBe(201);
    const where = await project.clone();
    expect(await git(where, "for-each-ref", "--format=%(refname:short)", "refs/heads")).toBe(
      "in.query\nmain\nmy.b/0\nmy.b/1\nmy.b/2\nmy.b/3",
    );
  });

  it("is an event, without commits that the default branch has", async () => {
    await create({ branch: "noted", ref: "main" });
    const { json } = await call(`GET ${project.path}/events?action=pushed`, "developer");
    expect(json[0].push_data).toMatchObject({
      action: "created",
      ref: "noted",
      commit_count: 0,
      commit_title: null,
    });
  });

  it("can't have any name, or come from nowhere", async () => {
    for (const branch of ["new design", "refs/heads/x", "-x", "HEAD", "a..b", "x.lock", "a*"]) {
      expect(messageOf(await create({ branch, ref: "main" }))).toEqual([
        400,
        "Branch name is invalid",
      ]);
    }
    expect(messageOf(await create({ branch: "main", ref: "main" }))).toEqual([
      400,
      "Branch already exists",
    ]);
    expect(messageOf(await create({ branch: "main/x", ref: "main" }))).toEqual([
      400,
      "'refs/heads/main' exists; cannot create 'refs/heads/main/x'",
    ]);
    expect(messageOf(await create({ branch: "x", ref: "foo" }))).toEqual([
      400,
      "Failed to create branch 'x': invalid reference name 'foo'",
    ]);
    expect(messageOf(await create({ branch_name: "x", ref: "main" }))).toEqual([
      400,
      '400 (Bad request) "branch" not given',
    ]);
    expect(messageOf(await create({ branch: "a".repeat(40), ref: "main" }))).toEqual([
      400,
      "You cannot create a branch with a SHA-1 or SHA-256 branch name.",
    ]);
  });

  it("is deleted", async () => {
    await create({ branch: "gone/soon", ref: "main" });
    const where = `${url}/gone%2Fsoon`;
    const old = { "if-unmodified-since": "Mon, 01 Jan 1990 00:00:00 GMT" };
    expect((await call(`DELETE ${where}`, "developer", undefined, old)).status).toBe(412);
    const gone = await call(`DELETE ${where}`, "developer");
    expect([gone.status, gone.text]).toEqual([204, ""]);
    expect(messageOf(await call(`DELETE ${where}`, "developer"))).toEqual([
      404,
      "404 Branch Not Found",
    ]);
    expect(messageOf(await call(`DELETE ${url}/a*`, "developer"))).toEqual([
      400,
      "The branch refname is invalid",
    ]);
    expect(messageOf(await call(`DELETE ${url}/main`, "maintainer"))).toEqual([
      400,
      "The default branch of a project cannot be deleted.",
    ]);
  });

  it("that is protected is created and deleted by maintainers", async () => {
    const rule = { name: "kept*" };
    await call(`POST ${project.path}/protected_branches`, "maintainer", rule);
    const json = { branch: "kept", ref: "main" };
    await call(`POST ${project.path}/protected_branches`, "maintainer", {
      name: "none/*",
      push_access_level: 0,
      merge_access_level: 0,
    });
    expect(messageOf(await create({ branch: "none/x", ref: "main" }, "maintainer"))).toEqual([
      400,
      "You are not allowed to create protected branches on this project.",
    ]);
    expect((await create(json, "maintainer")).status).toBe(201);
    expect(messageOf(await call(`DELETE ${url}/kept`, "developer"))).toEqual([
      400,
      "You are not allowed to delete protected branches from this project. " +
        "Only a project maintainer or owner can delete a protected branch.",
    ]);
    expect((await call(`DELETE ${url}/kept`, "maintainer")).status).toBe(204);
  });

  it.each([
    ["anonymous", 404],
    ["guest", 403],
    ["reporter", 403],
  ] as const)("is not for %s, who gets %d", async (person, status) => {
    expect((await create({ branch: "x", ref: "main" }, person)).status).toBe(status);
    expect((await call(`DELETE ${url}/main`, person)).status).toBe(status);
    expect((await call(`DELETE ${project.repository}/merged_branches`, person)).status).toBe(
      status,
    );
  });

  it("of an empty project begins with a README", async () => {
    const empty = await emptyProject();
    const { status, json } = await call(`POST ${empty.repository}/branches`, "maintainer", {
      branch: "topic",
      ref: "main",
    });
    expect([status, json.name]).toEqual([201, "topic"]);
    expect(json.commit.message).toBe("Add README.md");
    const where = await empty.clone();
    expect(await git(where, "ls-tree", "-r", "--name-only", "topic")).toBe("README.md");
    expect(await git(where, "rev-parse", "main")).toBe(json.commit.id);
    const { json: shown } = await call(`GET ${empty.path}`, "owner");
    expect(shown).toMatchObject({ default_branch: "main", empty_repo: false });
  });
});

it("merged branches are deleted, but for protected ones and those of open merge requests", async () => {
  const project = await newProject();
  const url = `${project.repository}/branches`;
  const branches = ["old", "older", "kept", "wanted", "same", "ahead"];
  for (const branch of branches) {
    await call(`POST ${url}`, "developer", { branch, ref: "main" });
  }
  await call(`POST ${project.path}/protected_branches`, "maintainer", { name: "kep*" });
  const json = { source_branch: "wanted", target_branch: "main", title: "Wanted" };
  await call(`POST ${project.path}/merge_requests`, "developer", json);
  await project.commit("main");
  await project.commit("ahead");
  await call(`POST ${url}`, "developer", { branch: "equal", ref: "main" });
  const answer = await call(`DELETE ${project.repository}/merged_branches`, "developer");
  expect([answer.status, answer.json]).toEqual([202, { message: "202 Accepted" }]);
  const left = (await call(`GET ${url}`, "developer")).json.map(
    ({ name }: { name: string }) => name,
  );
  expect(left).toEqual(["ahead", "equal", "kept", "main", "wanted"]);
  await project.clone();
});

describe("a tag", () => {
  let project: Awaited<ReturnType<typeof newProject>>;
  let url: string;
  beforeAll(async () => {
    project = await newProject();
    url = `${project.repository}/tags`;
  });
  const create = (json: object, as: Person = "developer") => call(`POST ${url}`, as, json);

  it("is of a commit, or has a message", async () => {
    const light = await create({ tag_name: "v1", ref: "main", message: "" });
    expect(light.status).toBe(201);
    expect(light.json).toMatchObject({ name: "v1", message: "", target: project.first });
    const { status, json } = await create({ tag_name: "v/2", ref: "v1", message: " Two\nlines\n" });
    expect(status).toBe(201);
    expect(json).toMatchObject({ name: "v/2", commit: { id: project.first } });
    expect(json.target).not.toBe(project.first);
    const where = await project.clone();
    expect(await git(where, "cat-file", "-t", "v1")).toBe("commit");
    expect(await git(where, "rev-parse", "v/2")).toBe(json.target);
    expect(
      await git(where, "for-each-ref", "--format=%(taggername) %(contents)", "refs/tags/v/2"),
    ).toBe("The developer Two\nlines");
    const events = await call(`GET ${project.path}/events?action=pushed`, "developer");
    expect(events.json[0].push_data).toMatchObject({
      ref_type: "tag",
      action: "created",
      commit_count: 1,
      commit_to: json.target,
      ref: "v/2",
    });
  });

  it("can't have any name, or be of nothing", async () => {
    for (const tag_name of ["a b", "refs/tags/x", "-x", "HEAD", "x~1"]) {
      expect(messageOf(await create({ tag_name, ref: "main" }))).toEqual([400, "Tag name invalid"]);
    }
    expect(messageOf(await create({ tag_name: "v1", ref: "main" }))).toEqual([
      400,
      "Tag v1 already exists",
    ]);
    expect(messageOf(await create({ tag_name: "x", ref: "foo" }))).toEqual([
      400,
      "Target foo is invalid",
    ]);
  });

  it("is deleted", async () => {
    await create({ tag_name: "old", ref: "main" });
    const old = { "if-unmodified-since": "Mon, 01 Jan 1990 00:00:00 GMT" };
    expect((await call(`DELETE ${url}/old`, "developer", undefined, old)).status).toBe(412);
    expect((await call(`DELETE ${url}/old`, "developer")).status).toBe(204);
    expect(messageOf(await call(`DELETE ${url}/old`, "developer"))).toEqual([
      404,
      "404 Tag Not Found",
    ]);
  });

  it.each([
    ["anonymous", 404],
    ["guest", 403],
    ["reporter", 403],
  ] as const)("is not for %s, who gets %d", async (person, status) => {
    expect((await create({ tag_name: "x", ref: "main" }, person)).status).toBe(status);
    expect((await call(`DELETE ${url}/v1`, person)).status).toBe(status);
  });
});

describe("a project", () => {
  it("may begin with a README", async () => {
    const json = { name: "Begun", description: "What it is", initialize_with_readme: true };
    const made = await call("POST /projects", "owner", json);
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({ default_branch: "main", empty_repo: false });
    expect(made.json.readme_url).toBe(`${made.json.web_url}/-/blob/main/README.md`);
    await git("", "clone", "--quiet", workshop.url("owner/begun", "owner"), "begun");
    await git("begun", "fsck", "--full", "--strict");
    expect(await git("begun", "log", "--format=%an %B")).toBe("The owner Initial commit");
    expect(await git("begun", "show", "HEAD:README.md")).toBe("# Begun\n\nWhat it is");
    const { json: events } = await call("GET /projects/owner%2Fbegun/events", "owner");
    const names = events.map(({ action_name }: { action_name: string }) => action_name);
    expect(names.sort()).toEqual(["created", "pushed new"]);
  });

  it("may begin on another branch", async () => {
    const json = { name: "Other", initialize_with_readme: true, default_branch: "trunk" };
    const made = await call("POST /projects", "owner", json);
    expect(made.json.default_branch).toBe("trunk");
    expect(made.json.readme_url).toMatch(/\/-\/blob\/trunk\/README\.md$/);
    const bad = { ...json, name: "Bad", default_branch: "a b" };
    expect((await call("POST /projects", "owner", bad)).status).toBe(400);
    expect((await call("GET /projects/owner%2Fbad", "owner")).status).toBe(404);
  });

  it("has a default branch that exists", async () => {
    const project = await newProject();
    const put = (default_branch: string) =>
      call(`PUT ${project.path}`, "owner", { default_branch });
    expect(messageOf(await put("nope"))).toEqual([
      400,
      { base: ["Could not change HEAD: branch 'nope' does not exist"] },
    ]);
    await call(`POST ${project.repository}/branches`, "developer", { branch: "next", ref: "main" });
    await call(`POST ${project.repository}/files/readme`, "developer", {
      branch: "next",
      commit_message: "A README",
      content: "",
    });
    const { status, json } = await put("next");
    expect([status, json.default_branch]).toEqual([200, "next"]);
    expect(json.readme_url).toMatch(/\/-\/blob\/next\/readme$/);
    const where = await project.clone();
    expect(await git(where, "symbolic-ref", "HEAD")).toBe("refs/heads/next");
    expect((await put("main")).json.readme_url).toBe(null);
  });
});
