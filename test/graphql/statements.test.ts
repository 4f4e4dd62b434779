import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { ask } from "./ask.ts";

// Fields that clients ask for read as many statements for many rows as for one.

const COUNT = 6;
let app: TestApp;

beforeAll(async () => {
  const issue = (title: string) => ({ title, author: "owner" });
  const project = (path: string) => ({
    path,
    issues: [issue("One"), issue("Two")],
    issue_links: [{ source: 1, target: 2, link_type: "blocks" as const }],
    merge_requests: [
      { title: "Change", author: "owner", source_branch: "a", description: "Closes #1" },
    ],
    pipelines: [
      {
        user: "owner",
        ref: "main",
        sha: "1".repeat(40),
        jobs: [
          { name: "a", stage: "build" },
          { name: "b", stage: "test" },
        ],
      },
    ],
  });
  const projects = Array.from({ length: COUNT }, (_, index) => project(`p${index}`));
  app = await testApp({
    seed: {
      users: [{ username: "owner", tokens: [{ token: "token-of-owner", scopes: ["api"] }] }],
      groups: [{ path: "acme", members: { owner: "owner" }, projects }],
    },
  });
  await app.store.transaction(async (db) => {
    await db.run(
      `insert into releases (project_id, tag, author_id, created_at, updated_at, released_at)
       select id, 'v1', creator_id, 1, 1, 1 from projects`,
    );
    await db.run(
      `insert into release_links (release_id, name, url, link_type, updated_at)
       select id, 'here', 'https://a.test', 'other', 1 from releases`,
    );
    await db.run(
      `insert into protected_branches (project_id, name, is_wildcard, created_at, updated_at)
       select id, 'main', 0, 1, 1 from projects`,
    );
  });
  const [{ id }] = (await app.call("GET /users?username=owner", { as: "owner" })).json;
  const { json: group } = await app.call("GET /groups/acme", { as: "owner" });
  const { json: own } = await app.call("GET /groups/acme/projects", { as: "owner" });
  const places = [
    ...Array.from({ length: COUNT }, () => ({ runner_type: "group_type", group_id: group.id })),
    ...own.map((one: { id: number }) => ({ runner_type: "project_type", project_id: one.id })),
  ];
  for (const place of places) {
    const json = { ...place, tag_list: ["linux"] };
    const made = await app.call("POST /user/runners", { as: "owner", json });
    expect(made.status).toBe(201);
    await app.call("POST /jobs/request", { json: { token: made.json.token, system_id: "s_1" } });
  }
  for (let at = 0; at < COUNT; at += 1) {
    const json = { name: "One", approvals_required: 1, user_ids: [id] };
    const path = `POST /projects/acme%2Fp${at}/approval_rules`;
    expect((await app.call(path, { as: "owner", json })).status).toBe(201);
  }
});
afterAll(() => app.dispose());

it.each([
  'repository { empty rootRef branchNames(searchPattern: "*", offset: 0, limit: 9) }',
  "statistics { storageSize } languages { name }",
  "branchRules { nodes { name matchingBranchesCount branchProtection { allowForcePush } } }",
  "releases { nodes { name tagPath author { username } links { selfUrl } milestones { nodes { title } } } }",
  "releases { nodes { assets { count links { nodes { url } } sources { nodes { url } } } } }",
  "pipelines { nodes { stages { count nodes { status detailedStatus { group } } } } }",
  "pipelines { nodes { jobs { nodes { stage { name } } } stages { nodes { jobs { nodes { name } } } } } }",
  "issues { nodes { blocked blockedByCount blockedByIssues { count nodes { title } } } }",
  "issues { nodes { relatedMergeRequests { nodes { title } } timelogs { totalSpentTime } } }",
  "runners { count nodes { tagList jobCount projectCount status version jobExecutionStatus createdBy { username } ownerProject { path } } }",
  'runners(tagList: ["linux"], paused: false) { nodes { jobs { count nodes { name runnerManager { systemId } } } } }',
  "runners(sort: MOST_ACTIVE_DESC) { nodes { projects { count nodes { path } } groups { count nodes { path } } } }",
  'runners(search: "x") { count nodes { managers { count nodes { jobExecutionStatus } } userPermissions { updateRunner } } }',
  "mergeRequests { nodes { approvalState { approvalRulesOverwritten rules { name users { nodes { username } } } } } }",
])("%s", async (fields) => {
  const query = `query ($first: Int) { projects(first: $first) { nodes { ${fields} } } }`;
  const statementsOf = async (first: number) => {
    app.statements.length = 0;
    const { projects } = await ask(app, query, { first });
    expect(projects.nodes).toHaveLength(first);
    return app.statements.filter((sql) => sql.startsWith("select"));
  };
  await statementsOf(1);
  const few = await statementsOf(1);
  expect(await statementsOf(COUNT)).toHaveLength(few.length);
  expect(few.length).toBeLessThan(20);
});
