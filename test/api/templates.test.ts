import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { everyone, type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const VAULT = "/projects/secret%2Fvault";
const SITE = "/projects/acme%2Fsite";

beforeAll(async () => {
  app = await testApp();
  const file = (path: string, content: string) => ({
    action: "create",
    file_path: `.gitlab/${path}`,
    content,
  });
  const actions = [
    file("issue_templates/Bug.md", "What happens?\n"),
    file("issue_templates/notes.txt", "none"),
    file("merge_request_templates/Fix.md", "What is fixed?\n"),
  ];
  const json = { branch: "main", commit_message: "Templates", actions };
  const made = await app.call(`POST ${VAULT}/repository/commits`, { as: "owner", json });
  expect(made.status).toBe(201);
});
afterAll(() => app.dispose());

const get = (path: string, as: Person = "anonymous") => app.call(`GET ${path}`, { as });

describe("licences", () => {
  it("are listed, and the popular ones", async () => {
    const { status, json, headers } = await get("/templates/licenses");
    expect([status, headers.get("x-total")]).toEqual([200, "13"]);
    expect(Object.keys(json[0])).toEqual([
      "key",
      "name",
      "nickname",
      "html_url",
      "source_url",
      "popular",
      "description",
      "conditions",
      "permissions",
      "limitations",
      "content",
    ]);
    const popular = await get("/templates/licenses?popular=1");
    const keys = popular.json.map(({ key }: { key: string }) => key);
    expect(keys).toEqual(["apache-2.0", "gpl-3.0", "mit"]);
    expect((await get("/templates/licenses?per_page=5&page=3")).json).toHaveLength(3);
  });

  it("are filled in (C095)", async () => {
    const named = "?project=My+Awesome+Project&fullname=Anton";
    const { json } = await get(`/templates/licenses/mit${named}`);
    expect(json).toMatchObject({ key: "mit", nickname: null, popular: true });
    const year = new Date().getUTCFullYear();
    expect(json.content).toContain(`Copyright (c) ${year} Anton\n`);
    const gpl = await get(`/templates/licenses/gpl-3.0${named}`);
    expect(gpl.json.content).toContain(`My Awesome Project\n    Copyright (C) ${year}  Anton`);
    const apache = await get(`/templates/licenses/apache-2.0${named}`);
    expect(apache.json.content).toContain(`Copyright ${year} Anton`);
    const odd = await get("/templates/licenses/mit?fullname=%24%26%5Byear%5D");
    expect(odd.json.content).toContain("$&[year]");
    expect((await get("/templates/licenses/MIT", "owner")).json.content).toContain("The owner");
    expect((await get("/templates/licenses/mit")).json.content).toContain("[fullname]");
    expect((await get("/templates/licenses/nope")).json).toEqual({
      message: "404 License Not Found",
    });
  });
});

describe("files", () => {
  it.each([
    ["gitignores", "Ruby", "*.gem", "gitignore"],
    ["gitlab_ci_ymls", "Ruby", "# Tests a project in Ruby", "gitlab_ci_yml"],
    ["dockerfiles", "Binary", "# A binary", "dockerfile"],
  ])("for %s are listed and read", async (kind, name, begin, one) => {
    const { json } = await get(`/templates/${kind}?per_page=100`);
    expect(json.length).toBeGreaterThan(9);
    const names = json.map(({ name }: { name: string }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(json[0]).toEqual({ key: names[0], name: names[0] });
    const found = await get(`/templates/${kind}/${name}`);
    expect([found.status, found.json.name]).toEqual([200, name]);
    expect(found.json.content.startsWith(begin)).toBe(true);
    for (const none of ["nope", "constructor", "__proto__"]) {
      const unknown = await get(`/templates/${kind}/${none}`);
      expect([unknown.status, unknown.json]).toEqual([404, { message: `404 ${one} Not Found` }]);
    }
    const odd = await get(`/templates/${kind}/${encodeURIComponent("C++")}`);
    expect(odd.status).toBe(kind === "dockerfiles" ? 404 : 200);
  });

  it("are not at their former addresses (C096)", async () => {
    for (const root of ["licenses", "gitignores", "gitlab_ci_ymls", "dockerfiles"]) {
      for (const path of [`/${root}`, `/${root}/mit`]) {
        const { status, json } = await get(path);
        expect([path, status, json]).toEqual([path, 404, { error: "404 Not Found" }]);
      }
    }
  });
});

describe("of a project", () => {
  it("are those of everybody, and its own", async () => {
    const names = async (type: string, as: Person = "reporter") =>
      (await get(`${VAULT}/templates/${type}`, as)).json.map(({ name }: { name: string }) => name);
    expect(await names("licenses")).toContain("MIT License");
    expect(await names("dockerfiles")).toContain("Node");
    expect(await names("issues", "guest")).toEqual(["Bug"]);
    expect(await names("merge_requests")).toEqual(["Fix"]);
    const bug = await get(`${VAULT}/templates/issues/Bug`, "guest");
    expect(bug.json).toEqual({ name: "Bug", content: "What happens?\n" });
    const node = await get(`${VAULT}/templates/gitignores/Node`, "reporter");
    expect(node.json.content).toContain("node_modules");
    const mit = await get(`${VAULT}/templates/licenses/mit?fullname=Ada`, "reporter");
    expect(mit.json).toMatchObject({ key: "mit", popular: true });
    expect(mit.json.content).toContain("Ada");
    for (const path of ["issues/nope", "issues/..%2Fissue_templates%2FBug", "dockerfiles/nope"]) {
      expect((await get(`${VAULT}/templates/${path}`, "reporter")).status).toBe(404);
    }
    expect((await get(`${SITE}/templates/issues`)).json).toEqual([]);
    expect((await get(`${SITE}/templates/issues/Bug`)).status).toBe(404);
  });

  it("are for those who may read the code, and of known types (C112, C113)", async () => {
    expect((await get(`${SITE}/templates/unknown`)).status).toBe(400);
    const statuses = async (path: string) => {
      const answers = [];
      for (const as of everyone) answers.push((await get(`${VAULT}/templates/${path}`, as)).status);
      return answers;
    };
    expect(await statuses("licenses")).toEqual([404, 404, 403, 200, 200, 200, 200, 200]);
    expect(await statuses("issues")).toEqual([404, 404, 200, 200, 200, 200, 200, 200]);
  });
});

it("templates of configurations have no mistakes and give jobs", async () => {
  const { json: listed } = await get("/templates/gitlab_ci_ymls?per_page=100");
  // Clients test with this list that they read a second page.
  expect(listed.length).toBeGreaterThan(20);
  for (const { key } of listed) {
    const { json } = await get(`/templates/gitlab_ci_ymls/${encodeURIComponent(key)}`);
    const checked = await app.call(`POST ${SITE}/ci/lint`, {
      as: "owner",
      json: { content: json.content, include_jobs: true },
    });
    expect([key, checked.json.errors, checked.json.jobs.length > 0]).toEqual([key, [], true]);
  }
});
