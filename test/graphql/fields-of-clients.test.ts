import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite";
const ask = async (query: string, as: Person = "developer") => {
  const { json } = await app.call("POST http://pm.test/api/graphql", { as, json: { query } });
  expect(json.errors).toBeUndefined();
  return json.data;
};
const send = async (request: string, json: object, as: Person = "developer") => {
  const answer = await app.call(request, { as, json });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json;
};

describe("fields of GraphQL that clients ask for", () => {
  it("of users", async () => {
    const user = "username active commitEmail jobTitle pronouns discord github gitpodEnabled";
    const profile = { job_title: "Engineer", pronouns: "they", discord: "1", github: "dev" };
    const { id } = (await app.call("GET /user", { as: "developer" })).json;
    await send(`PUT /users/${id}`, profile, "admin");
    const { currentUser } = await ask(`{ currentUser { ${user} } }`);
    expect(currentUser).toEqual({
      username: "developer",
      active: true,
      commitEmail: "developer@example.com",
      jobTitle: "Engineer",
      pronouns: "they",
      discord: "1",
      github: "dev",
      gitpodEnabled: false,
    });
    const seen = await ask(`{ user(username: "developer") { ${user} } }`, "guest");
    expect(seen.user).toEqual({ ...currentUser, commitEmail: null });
  });

  it("of merge requests and notes: threads, and whose merge requests were merged", async () => {
    const branches = { source_branch: "one", target_branch: "main" };
    const made = await send(`POST ${SITE}/merge_requests`, { title: "One", ...branches });
    const path = `${SITE}/merge_requests/${made.iid}/discussions`;
    for (const body of ["First", "Second"]) await send(`POST ${path}`, { body });
    const [first] = (await app.call(`GET ${path}`, { as: "developer" })).json;
    await send(`PUT ${path}/${first.id}`, { resolved: true });
    const query = `{ project(fullPath: "acme/site") { mergeRequest(iid: "${made.iid}") {
      resolvableDiscussionsCount resolvedDiscussionsCount notes { nodes { authorIsContributor } } } } }`;
    const read = async () => (await ask(query)).project.mergeRequest;
    expect(await read()).toMatchObject({
      resolvableDiscussionsCount: 2,
      resolvedDiscussionsCount: 1,
      notes: { nodes: [{ authorIsContributor: false }, { authorIsContributor: false }] },
    });
    await app.store.transaction((db) => db.run("update merge_requests set state = 'merged'"));
    expect((await read()).notes.nodes[0]).toEqual({ authorIsContributor: true });
    const other = await send(`POST ${SITE}/merge_requests`, {
      title: "Two",
      source_branch: "two",
      target_branch: "main",
    });
    const none = await ask(query.replace(`"${made.iid}"`, `"${other.iid}"`));
    expect(none.project.mergeRequest).toMatchObject({
      resolvableDiscussionsCount: 0,
      resolvedDiscussionsCount: 0,
    });
  });

  it("of pipelines: pages of stages, and errors", async () => {
    const config = ["one", "two", "three"].map((name) => `${name}: {stage: ${name}, script: [x]}`);
    const content = `stages: [one, two, three]\n${config.join("\n")}\n`;
    const file = { branch: "main", content, commit_message: "CI" };
    await send(`POST ${SITE}/repository/files/.gitlab-ci.yml`, file, "owner");
    await app.admin.maintenance.runPipelines();
    const pipelines = async (fields: string) =>
      (await ask(`{ project(fullPath: "acme/site") { pipelines { nodes { ${fields} } } } }`))
        .project.pipelines.nodes;
    const page = "nodes { name } edges { cursor } count pageInfo { hasNextPage endCursor }";
    const [pipeline] = await pipelines(
      `yamlErrors yamlErrorMessages all: stages { nodes { name } } stages(first: 2) { ${page} }`,
    );
    expect(pipeline).toEqual({
      yamlErrors: false,
      yamlErrorMessages: null,
      all: { nodes: [{ name: "one" }, { name: "two" }, { name: "three" }] },
      stages: {
        nodes: [{ name: "one" }, { name: "two" }],
        edges: [{ cursor: expect.any(String) }, { cursor: pipeline.stages.pageInfo.endCursor }],
        count: 3,
        pageInfo: { hasNextPage: true, endCursor: expect.any(String) },
      },
    });
    const { endCursor } = pipeline.stages.pageInfo;
    const [rest] = await pipelines(`stages(first: 2, after: "${endCursor}") { ${page} }`);
    expect(rest.stages).toMatchObject({
      nodes: [{ name: "three" }],
      pageInfo: { hasNextPage: false },
    });
    const [last] = await pipelines(`stages(last: 1) { nodes { name } }`);
    expect(last.stages.nodes).toEqual([{ name: "three" }]);
  });

  it("of stages: their jobs, and the stage of a job", async () => {
    const { project } = await ask(`{ project(fullPath: "acme/site") { pipelines(first: 1) { nodes {
      stages { nodes { id name status detailedStatus { group } jobs { nodes { name stage { id name } } } } } } } } }`);
    const [{ stages }] = project.pipelines.nodes;
    const [first] = stages.nodes;
    expect(first).toEqual({
      id: expect.stringMatching(/^gid:\/\/gitlab\/Ci::Stage\/\d+$/),
      name: "one",
      status: "pending",
      detailedStatus: { group: "pending" },
      jobs: { nodes: [{ name: "one", stage: { id: first.id, name: "one" } }] },
    });
    expect(stages.nodes.map(({ status }: { status: string }) => status)).toEqual([
      "pending",
      "created",
      "created",
    ]);
  });

  it("of issues: what blocks them, merge requests that refer to them, and iterations", async () => {
    const issue = async (title: string, more: object = {}) =>
      (await send(`POST ${SITE}/issues`, { title, ...more }, "owner")).iid;
    const blocked = await issue("Blocked");
    const secret = await issue("Secret", { confidential: true });
    for (const other of [await issue("Open"), await issue("Shut"), secret]) {
      await send(
        `POST ${SITE}/issues/${other}/links`,
        { target_project_id: "acme/site", target_issue_iid: blocked, link_type: "blocks" },
        "owner",
      );
    }
    await send(`PUT ${SITE}/issues/${blocked + 3}`, { state_event: "close" }, "owner");
    await send(`PUT ${SITE}/merge_requests/1`, { description: `Closes #${blocked}` });
    const read = (as: Person) =>
      ask(
        `{ project(fullPath: "acme/site") { issue(iid: "${blocked}") { blocked blockedByCount
          blockedByIssues { count nodes { title } } relatedMergeRequests { nodes { title } } } } }`,
        as,
      );
    expect((await read("owner")).project.issue).toEqual({
      blocked: true,
      blockedByCount: 2,
      blockedByIssues: { count: 2, nodes: [{ title: "Secret" }, { title: "Open" }] },
      relatedMergeRequests: { nodes: [{ title: "One" }] },
    });
    expect((await read("guest")).project.issue).toEqual({
      blocked: true,
      blockedByCount: 1,
      blockedByIssues: { count: 1, nodes: [{ title: "Open" }] },
      relatedMergeRequests: { nodes: [{ title: "One" }] },
    });
    const counts = await ask(`{ project(fullPath: "acme/site") {
      one: issues(iterationId: ["gid://gitlab/Iteration/1"]) { count }
      any: issues(iterationWildcardId: CURRENT) { count }
      none: issues(iterationWildcardId: NONE) { count } all: issues { count } } }`);
    const { one, any, none, all } = counts.project;
    expect([one.count, any.count, none.count]).toEqual([0, 0, all.count]);
    expect(all.count).toBeGreaterThan(2);
  });

  it("of repositories: branches, folders and files, for those who may read the code", async () => {
    const action = (file_path: string, content: string) => ({
      action: "create",
      file_path,
      content,
    });
    await send(
      `POST ${SITE}/repository/commits`,
      {
        branch: "topic",
        start_branch: "main",
        commit_message: "Add the source",
        actions: [
          action("src/a.ts", "a\n"),
          action("src/lib/b.ts", "b\n"),
          action("README.md", "# Site\n"),
        ],
      },
      "owner",
    );
    const entry = "name type path flatPath webPath";
    const fields = `repository { empty exists rootRef
      all: branchNames(searchPattern: "*", offset: 0, limit: 10)
      some: branchNames(searchPattern: "t*c", offset: 0, limit: 10)
      none: branchNames(searchPattern: "*", offset: 9, limit: 10)
      tree(ref: "topic", path: "src") { lastCommit { title } trees { nodes { ${entry} } }
        blobs { count nodes { ${entry} mode } } submodules { count } }
      deep: tree(ref: "topic", recursive: true) { blobs(first: 2) { nodes { path } pageInfo { hasNextPage } } }
      missing: tree(ref: "nosuch") { blobs { count } }
      paginatedTree(ref: "topic", path: "src", first: 1) { pageInfo { hasNextPage }
        nodes { trees { nodes { name } } blobs { nodes { name } } } }
      blobs(ref: "topic", paths: ["src/a.ts", "nosuch", "src"]) { nodes { path name size rawBlob webPath rawPath } } }`;
    const read = (as: Person) => ask(`{ project(fullPath: "acme/site") { ${fields} } }`, as);
    const { repository } = (await read("developer")).project;
    expect(repository).toEqual({
      empty: false,
      exists: true,
      rootRef: "main",
      all: ["main", "topic"],
      some: ["topic"],
      none: [],
      tree: {
        lastCommit: { title: "Add the source" },
        trees: {
          nodes: [
            {
              name: "lib",
              type: "tree",
              path: "src/lib",
              flatPath: "src/lib",
              webPath: "/acme/site/-/tree/topic/src/lib",
            },
          ],
        },
        blobs: {
          count: 1,
          nodes: [
            {
              name: "a.ts",
              type: "blob",
              path: "src/a.ts",
              flatPath: "src/a.ts",
              webPath: "/acme/site/-/blob/topic/src/a.ts",
              mode: "100644",
            },
          ],
        },
        submodules: { count: 0 },
      },
      deep: {
        blobs: {
          nodes: [{ path: ".gitlab-ci.yml" }, { path: "README.md" }],
          pageInfo: { hasNextPage: true },
        },
      },
      missing: null,
      paginatedTree: {
        pageInfo: { hasNextPage: true },
        nodes: [{ trees: { nodes: [{ name: "lib" }] }, blobs: { nodes: [] } }],
      },
      blobs: {
        nodes: [
          {
            path: "src/a.ts",
            name: "a.ts",
            size: "2",
            rawBlob: "a\n",
            webPath: "/acme/site/-/blob/topic/src/a.ts",
            rawPath: "/acme/site/-/raw/topic/src/a.ts",
          },
        ],
      },
    });
    await send("PUT /projects/acme%2Fsite", { visibility: "private" }, "owner");
    expect((await read("guest")).project).toEqual({ repository: null });
  });

  it("of projects: rules about branches, statistics, languages and releases", async () => {
    await send(
      `POST ${SITE}/releases`,
      {
        tag_name: "v1",
        ref: "main",
        name: "First",
        description: "**Now**",
        assets: { links: [{ name: "Binary", url: "https://a.test/b", filepath: "/bin/b" }] },
      },
      "owner",
    );
    const read = async (as: Person) =>
      (
        await ask(
          `{ project(fullPath: "acme/site") {
            branchRules { nodes { name isDefault isProtected matchingBranchesCount
              branchProtection { allowForcePush codeOwnerApprovalRequired
                pushAccessLevels { nodes { accessLevel accessLevelDescription } } }
              approvalRules { nodes { name approvalsRequired } } externalStatusChecks { nodes { name } } } }
            statistics { commitCount repositorySize storageSize } languages { name share }
            releases { nodes { tagName tagPath name descriptionHtml upcomingRelease commit { title } author { username }
              links { selfUrl } assets { count links { nodes { name url directAssetUrl linkType external } }
                sources { nodes { format } } } } }
            release(tagName: "v1") { name } } }`,
          as,
        )
      ).project;
    const [rest] = (await app.call(`GET ${SITE}/releases`, { as: "developer" })).json;
    const project = await read("developer");
    expect(project).toEqual({
      branchRules: {
        nodes: [
          {
            name: "main",
            isDefault: true,
            isProtected: true,
            matchingBranchesCount: 1,
            branchProtection: {
              allowForcePush: false,
              codeOwnerApprovalRequired: false,
              pushAccessLevels: {
                nodes: [{ accessLevel: 40, accessLevelDescription: "Maintainers" }],
              },
            },
            approvalRules: { nodes: [] },
            externalStatusChecks: { nodes: [] },
          },
        ],
      },
      statistics: {
        commitCount: expect.any(Number),
        repositorySize: expect.any(Number),
        storageSize: expect.any(Number),
      },
      languages: [],
      releases: {
        nodes: [
          {
            tagName: "v1",
            tagPath: rest.tag_path,
            name: "First",
            descriptionHtml: expect.stringContaining("<strong>Now</strong>"),
            upcomingRelease: false,
            commit: { title: rest.commit.title },
            author: { username: "owner" },
            links: { selfUrl: rest._links.self },
            assets: {
              count: rest.assets.count,
              links: {
                nodes: [
                  {
                    name: "Binary",
                    url: "https://a.test/b",
                    directAssetUrl: rest.assets.links[0].direct_asset_url,
                    linkType: "OTHER",
                    external: true,
                  },
                ],
              },
              sources: { nodes: [{ format: "zip" }, { format: "tar.gz" }, { format: "tar" }] },
            },
          },
        ],
      },
      release: { name: "First" },
    });
    const { statistics } = (
      await app.call(`GET /projects?statistics=true&search=site`, { as: "developer" })
    ).json.find(({ path }: { path: string }) => path === "site");
    expect(project.statistics).toEqual({
      commitCount: statistics.commit_count,
      repositorySize: statistics.repository_size,
      storageSize: statistics.storage_size,
    });
    const seen = await read("guest");
    expect(seen).toMatchObject({ branchRules: { nodes: [] }, statistics: null });
    const [release] = seen.releases.nodes;
    expect(release).toMatchObject({ tagName: "v1", tagPath: null, commit: null });
    expect(release.assets).toMatchObject({ count: 1, sources: { nodes: [] } });
  });

  it("of merge requests: the rules about their approvals, as REST has them", async () => {
    await send(`POST ${SITE}/approval_rules`, { name: "Two", approvals_required: 2 }, "owner");
    const [request] = (await app.call(`GET ${SITE}/merge_requests?state=opened`, { as: "owner" }))
      .json;
    await send(`POST ${SITE}/merge_requests/${request.iid}/approve`, {}, "owner");
    const path = `${SITE}/merge_requests/${request.iid}/approval_state`;
    const rest = (await app.call(`GET ${path}`, { as: "developer" })).json;
    const { project } =
      await ask(`{ project(fullPath: "acme/site") { mergeRequest(iid: "${request.iid}") {
      approvalState { approvalRulesOverwritten invalidApproversRules { name } rules { name type
        approvalsRequired approved section overridden containsHiddenGroups
        approvedBy { nodes { username } } eligibleApprovers { username } users { nodes { username } } } } } } }`);
    const { approvalState } = project.mergeRequest;
    const namesOf = (people: unknown) =>
      (people as { username: string }[]).map(({ username }) => ({ username }));
    expect(rest.rules.length).toBeGreaterThan(0);
    expect(approvalState.approvalRulesOverwritten).toBe(rest.approval_rules_overwritten);
    expect(approvalState.rules).toEqual(
      rest.rules.map((rule: Record<string, unknown>) => ({
        name: rule["name"],
        type: String(rule["rule_type"]).toUpperCase(),
        approvalsRequired: rule["approvals_required"],
        approved: rule["approved"],
        section: rule["section"],
        overridden: rule["overridden"],
        containsHiddenGroups: rule["contains_hidden_groups"],
        approvedBy: { nodes: namesOf(rule["approved_by"]) },
        eligibleApprovers: namesOf(rule["eligible_approvers"]),
        users: { nodes: namesOf(rule["users"]) },
      })),
    );
  });

  it("of time spent: the sum of all pages", async () => {
    const { iid } = await send(`POST ${SITE}/issues`, { title: "Timed" }, "owner");
    for (const duration of ["1h", "30m"]) {
      await send(`POST ${SITE}/issues/${iid}/add_spent_time`, { duration }, "owner");
    }
    const { project } = await ask(`{ project(fullPath: "acme/site") { issue(iid: "${iid}") {
      timelogs(first: 1) { totalSpentTime count nodes { timeSpent } } } } }`);
    expect(project.issue.timelogs).toMatchObject({ totalSpentTime: "5400", count: 2 });
  });

  it("of the caller: addresses, projects they contributed to, and preferences", async () => {
    await send("POST /user/emails", { email: "second@example.com" });
    const fields =
      "emails { nodes { email confirmedAt } } contributedProjects { nodes { fullPath } }";
    const { currentUser } = await ask(`{ currentUser { ${fields}
      userPreferences { issuesSort useWorkItemsView } personalAccessTokens { count } } }`);
    expect(currentUser).toEqual({
      emails: { nodes: [{ email: "second@example.com", confirmedAt: null }] },
      contributedProjects: { nodes: [{ fullPath: "acme/site" }] },
      userPreferences: { issuesSort: null, useWorkItemsView: null },
      personalAccessTokens: { count: expect.any(Number) },
    });
    const seen = await ask(`{ user(username: "developer") { ${fields} } }`, "stranger");
    expect(seen.user).toEqual({ emails: { nodes: [] }, contributedProjects: { nodes: [] } });
  });
});
