import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;

beforeAll(async () => {
  app = await testApp();
  await app.call("PUT /projects/acme%2Fsite", {
    as: "owner",
    json: { description: "Our pages", topics: ["web", "docs"] },
  });
  await app.call("POST /projects/acme%2Fteam%2Fcore/archive", { as: "owner" });
  await app.call("POST /projects", {
    as: "developer",
    json: { name: "Mine", visibility: "private" },
  });
  await app.call("POST /projects/acme%2Fsite/issues", { as: "owner", json: { title: "Open" } });
});
afterAll(() => app.dispose());

describe("a project", () => {
  it("has the values that REST shows", async () => {
    const { project } = await ask(
      app,
      `{ project(fullPath: "Acme/Site") { id fullPath path name nameWithNamespace description visibility
        archived webUrl avatarUrl createdAt lastActivityAt starCount forksCount openIssuesCount
        httpUrlToRepo sshUrlToRepo issuesEnabled wikiEnabled snippetsEnabled mergeRequestsEnabled
        requestAccessEnabled isForked topics group { fullPath } namespace { fullPath }
        maxAccessLevel { integerValue } repository { empty exists rootRef } } }`,
    );
    const { json } = await app.call("GET /projects/acme%2Fsite", { as: "owner" });
    const withoutMilliseconds = (at: string) => at.replace(/\.\d+Z$/, "Z");
    expect(project).toEqual({
      id: `gid://gitlab/Project/${json.id}`,
      fullPath: json.path_with_namespace,
      path: json.path,
      name: json.name,
      nameWithNamespace: json.name_with_namespace,
      description: "Our pages",
      visibility: json.visibility,
      archived: false,
      webUrl: json.web_url,
      avatarUrl: json.avatar_url,
      createdAt: withoutMilliseconds(json.created_at),
      lastActivityAt: withoutMilliseconds(json.last_activity_at),
      starCount: json.star_count,
      forksCount: json.forks_count,
      openIssuesCount: 1,
      httpUrlToRepo: json.http_url_to_repo,
      sshUrlToRepo: json.ssh_url_to_repo,
      issuesEnabled: json.issues_enabled,
      wikiEnabled: json.wiki_enabled,
      snippetsEnabled: json.snippets_enabled,
      mergeRequestsEnabled: json.merge_requests_enabled,
      requestAccessEnabled: json.request_access_enabled,
      isForked: false,
      topics: ["web", "docs"],
      group: { fullPath: "acme" },
      namespace: { fullPath: "acme" },
      maxAccessLevel: { integerValue: 50 },
      repository: { empty: true, exists: false, rootRef: null },
    });
  });

  it("is null for those who may not see it", async () => {
    for (const as of ["anonymous", "stranger"] as const) {
      const { data, errors } = await send(app, as, '{ project(fullPath: "secret/vault") { id } }');
      expect([data, errors]).toEqual([{ project: null }, undefined]);
    }
  });

  it("has a namespace, but no group, if it is a user's own", async () => {
    const query = '{ project(fullPath: "developer/mine") { group { id } namespace { fullPath } } }';
    expect(await ask(app, query, {}, "developer")).toEqual({
      project: { group: null, namespace: { fullPath: "developer" } },
    });
  });

  it("has no count of issues if they are disabled", async () => {
    const enable = (issues_enabled: boolean) =>
      app.call("PUT /projects/acme%2Fsite", { as: "owner", json: { issues_enabled } });
    await enable(false);
    const query = '{ project(fullPath: "acme/site") { openIssuesCount issues { count } } }';
    expect(await ask(app, query)).toEqual({
      project: { openIssuesCount: null, issues: { count: 0 } },
    });
    await enable(true);
    expect(await ask(app, query)).toEqual({
      project: { openIssuesCount: 1, issues: { count: 1 } },
    });
  });

  const may = `adminProject adminIssue createIssue createLabel createMergeRequestIn createSnippet pushCode`;
  it.each<[Person, string, string[]]>([
    ["anonymous", "acme/site", []],
    // From a fork, whoever sees a project may open merge requests in it.
    ["stranger", "acme/site", ["createIssue", "createMergeRequestIn"]],
    ["guest", "acme/site", ["createIssue", "createMergeRequestIn"]],
    [
      "reporter",
      "acme/site",
      ["adminIssue", "createIssue", "createLabel", "createMergeRequestIn", "createSnippet"],
    ],
    ["developer", "acme/site", may.split(" ").slice(1)],
    ["maintainer", "acme/site", may.split(" ")],
    ["maintainer", "acme/team/core", ["adminProject"]],
  ])("tells what %s may do with %s", async (as, path, expected) => {
    const query = `{ project(fullPath: "${path}") { userPermissions { ${may} } } }`;
    const { userPermissions } = (await ask(app, query, {}, as)).project;
    expect(Object.keys(userPermissions).filter((name) => userPermissions[name])).toEqual(expected);
  });
});

describe("lists of projects", () => {
  const paths = async (args: string, as: Person = "owner") => {
    const { data, errors } = await send(app, as, `{ projects${args} { nodes { fullPath } } }`);
    if (errors) return errors[0].message;
    return data.projects.nodes.map(({ fullPath }: { fullPath: string }) => fullPath);
  };
  const [SITE, CORE, VAULT, MINE] = [
    "acme/site",
    "acme/team/core",
    "secret/vault",
    "developer/mine",
  ];

  it.each<[string, unknown, Person?]>([
    ["", [VAULT, CORE, SITE]],
    ['(sort: "id_asc")', [SITE, CORE, VAULT]],
    ['(sort: "name_asc")', [CORE, SITE, VAULT]],
    ['(sort: "path_desc")', [VAULT, SITE, CORE]],
    ['(sort: "height")', '"height" is not an order of projects'],
    ['(search: "SIT")', [SITE]],
    ['(search: "acme")', []],
    ['(search: "acme", searchNamespaces: true)', [CORE, SITE]],
    ["(membership: true)", [VAULT, CORE, SITE]],
    ["(membership: true)", [], "stranger"],
    ["(minAccessLevel: MAINTAINER)", [MINE], "developer"],
    ["(minAccessLevel: DEVELOPER, personal: false)", [MINE, VAULT, CORE, SITE], "developer"],
    ["(personal: true)", [MINE], "developer"],
    ["(personal: true)", [], "anonymous"],
    ['(fullPaths: ["ACME/site", "none", "developer/mine"])', [SITE]],
    ['(namespacePath: "acme")', [SITE]],
    ["(archived: ONLY)", [CORE]],
    ["(archived: EXCLUDE)", [VAULT, SITE]],
    ["(archived: INCLUDE)", [VAULT, CORE, SITE]],
    ["(visibilityLevel: public)", [SITE]],
    ['(topics: ["web", "docs"])', [SITE]],
    ['(topics: ["we"])', []],
    ["(withIssuesEnabled: true, withMergeRequestsEnabled: true)", [VAULT, CORE, SITE]],
    ["(ids: [])", []],
    [
      `(fullPaths: [${Array.from({ length: 51 }, () => '"x"')}])`,
      "You cannot provide more than 50 full_paths",
    ],
  ])("%s", async (args, expected, as = "owner") => {
    expect(await paths(args, as)).toEqual(expected);
  });

  it("show each caller what REST lists", async () => {
    for (const as of ["anonymous", "stranger", "developer", "admin"] as const) {
      const { json } = await app.call("GET /projects?order_by=id", { as });
      const listed = json.map((one: { path_with_namespace: string }) => one.path_with_namespace);
      expect(await paths("", as)).toEqual(listed);
    }
  });

  it("of a group", async () => {
    const { group } = await ask(
      app,
      `{ group(fullPath: "acme") { own: projects { nodes { fullPath } }
        all: projects(includeSubgroups: true) { count nodes { fullPath } }
        active: projects(includeSubgroups: true, includeArchived: false) { nodes { fullPath } } } }`,
    );
    expect(group).toEqual({
      own: { nodes: [{ fullPath: SITE }] },
      all: { count: 2, nodes: [{ fullPath: CORE }, { fullPath: SITE }] },
      active: { nodes: [{ fullPath: SITE }] },
    });
  });
});

describe("starProject", () => {
  const star = async (id: string, starred: boolean, as: Person = "guest") =>
    send(
      app,
      as,
      "mutation ($input: StarProjectInput!) { starProject(input: $input) { count errors } }",
      { input: { projectId: id, starred } },
    );

  it("stars and takes the star back, once", async () => {
    const { id } = (await ask(app, '{ project(fullPath: "acme/site") { id } }')).project;
    for (const [starred, count] of [
      [true, "1"],
      [true, "1"],
      [false, "0"],
      [false, "0"],
    ] as const) {
      const { data } = await star(id, starred);
      expect(data.starProject).toEqual({ count, errors: [] });
      const { json } = await app.call("GET /projects/acme%2Fsite", { as: "guest" });
      expect(String(json.star_count)).toBe(count);
    }
  });

  it("refuses projects that the caller may not see", async () => {
    const { id } = (await ask(app, '{ project(fullPath: "secret/vault") { id } }')).project;
    const { data, errors } = await star(id, true, "stranger");
    expect([data, errors?.[0].message]).toEqual([{ starProject: null }, NOT_AVAILABLE]);
  });
});
