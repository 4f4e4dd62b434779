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
    const user = "username active commitEmail jobTitle pronouns discord github";
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
    await app.admin.runPipelines();
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
        edges: [{ cursor: "1" }, { cursor: "2" }],
        count: 3,
        pageInfo: { hasNextPage: true, endCursor: "2" },
      },
    });
    const [rest] = await pipelines(`stages(first: 2, after: "2") { ${page} }`);
    expect(rest.stages).toMatchObject({
      nodes: [{ name: "three" }],
      pageInfo: { hasNextPage: false },
    });
    const [last] = await pipelines(`stages(last: 1) { nodes { name } }`);
    expect(last.stages.nodes).toEqual([{ name: "three" }]);
  });
});
