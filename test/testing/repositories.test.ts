import { describe, expect, it } from "vitest";
import { startTestServer } from "../../src/testing.ts";

const TOKEN = "root-token";
const seed = {
  users: [{ username: "root", admin: true, tokens: [{ token: TOKEN }] }, { username: "ada" }],
  groups: [
    {
      path: "acme",
      members: { root: "owner" as const, ada: "developer" as const },
      projects: [
        {
          path: "site",
          pushes: [
            { author: "root", ref: "main", commits: [{ message: "A", files: { "a.md": "a\n" } }] },
            {
              author: "root",
              ref: "next",
              start_branch: "main",
              commits: [{ message: "B", files: { "b.md": "b\n" } }],
            },
          ],
          merge_requests: [{ title: "Next", author: "ada", source_branch: "next" }],
        },
      ],
    },
  ],
};
const commit = { branch: "next", commit_message: "C" };

// A database in memory has one connection. Nothing of a repository has been read when a server starts.
describe("a server in memory", () => {
  it.each([
    ["POST /repository/branches", { branch: "new", ref: "next" }],
    ["PUT /repository/branches/main/protect", {}],
    ["PUT /repository/branches/main/unprotect", {}],
    ["DELETE /repository/branches/next", {}],
    ["POST /repository/tags", { tag_name: "v1", ref: "next", message: "One" }],
    ["POST /repository/files/c.md", { ...commit, content: "c\n" }],
    ["PUT /repository/files/b.md", { ...commit, content: "c\n" }],
    ["POST /repository/commits", { ...commit, actions: [{ action: "delete", file_path: "b.md" }] }],
    ["POST /repository/commits/next/cherry_pick", { branch: "main" }],
    ["POST /repository/commits/next/revert", { branch: "next" }],
    ["POST /repository/commits/next/comments", { note: "?", path: "b.md", line: 1 }],
    ["POST /wikis", { title: "Home", content: "Hello" }],
    ["PUT /merge_requests/1", { target_branch: "main" }],
    ["PUT /merge_requests/1/merge", {}],
    ["PUT /merge_requests/1/rebase", {}],
    ["GET /merge_requests/1/merge_ref", undefined],
    ["POST /merge_requests/1/approve", {}],
    ["POST /merge_requests/1/discussions", { body: "Why?" }],
    ["POST /fork", { name: "fork", path: "fork" }],
  ])("answers %s first", async (request, json) => {
    const server = await startTestServer({ seed });
    const [method, path] = request.split(" ") as [string, string];
    const answer = await fetch(`${server.url}/api/v4/projects/acme%2Fsite${path}`, {
      method,
      headers: { "private-token": TOKEN, "content-type": "application/json" },
      ...(json && { body: JSON.stringify(json) }),
    });
    expect([answer.status, await answer.text()]).toEqual([
      expect.toSatisfy((status: number) => status < 300),
      expect.anything(),
    ]);
    await server.close();
  });
});

it.each([
  [
    '{ project(fullPath: "acme/site") { mergeRequest(iid: "1") { commitCount diffStats { path } } } }',
  ],
  [
    `mutation { mergeRequestUpdate(input: {projectPath: "acme/site", iid: "1", title: "New"}) {
      mergeRequest { commitCount diffStats { path } } } }`,
  ],
])("answers %s first in memory", async (query) => {
  await using server = await startTestServer({ seed });
  const answer = await fetch(`${server.url}/api/graphql`, {
    method: "POST",
    headers: { "private-token": TOKEN, "content-type": "application/json" },
    body: JSON.stringify({ query }),
  });
  const { data, errors } = await answer.json();
  expect(errors).toBeUndefined();
  const { mergeRequest } = data.project ?? data.mergeRequestUpdate;
  expect(mergeRequest).toEqual({ commitCount: 1, diffStats: [{ path: "b.md" }] });
});

it("makes pipelines of pushes before the next answer, and those that they start", async () => {
  await using server = await startTestServer({ seed });
  const call = async (path: string, json?: object) => {
    const response = await fetch(`${server.url}/api/v4/projects/acme%2Fsite${path}`, {
      method: json ? "POST" : "GET",
      headers: { "private-token": TOKEN, "content-type": "application/json" },
      ...(json && { body: JSON.stringify(json) }),
    });
    return response.json();
  };
  const file = (path: string, content: string) => ({ action: "create", file_path: path, content });
  const made = await call("/repository/commits", {
    ...commit,
    branch: "main",
    actions: [
      file(".gitlab-ci.yml", "start: { trigger: { include: child.yml } }"),
      file("child.yml", "check: { script: [make] }"),
    ],
  });
  expect(await call("/pipelines")).toMatchObject([{ sha: made.id, status: "success" }]);
  const [child] = await call("/pipelines?source=parent_pipeline");
  expect(child).toMatchObject({ sha: made.id, status: "pending" });
});

it("archives of projects are written and read", async () => {
  const server = await startTestServer({ seed });
  const headers = { "private-token": TOKEN };
  const api = `${server.url}/api/v4/projects`;
  const get = async (path: string) => (await fetch(`${api}${path}`, { headers })).json();
  const until = async (path: string, key: string) => {
    while ((await get(path))[key] !== "finished") await new Promise((next) => setTimeout(next, 20));
  };
  await fetch(`${api}/acme%2Fsite/export`, { method: "POST", headers });
  await until("/acme%2Fsite/export", "export_status");
  const archive = await fetch(`${api}/acme%2Fsite/export/download`, { headers });
  const body = new FormData();
  for (const [name, value] of Object.entries({ path: "copy", namespace: "acme" })) {
    body.append(name, value);
  }
  body.append("file", await archive.blob(), "site.gz");
  await fetch(`${api}/import`, { method: "POST", headers, body });
  await until("/acme%2Fcopy/import", "import_status");
  const requests = await get("/acme%2Fcopy/merge_requests");
  expect(requests.map(({ title }: { title: string }) => title)).toEqual(["Next"]);
  await server.close();
});

it.each([
  ["cancel", "pending"],
  ["play", "manual"],
  ["retry", "failed"],
  ["erase", "failed"],
])("a job is answered to %s, whose commit nobody has read", async (verb, status) => {
  await using server = await startTestServer({ seed });
  const call = async (method: string, path: string, json?: object) => {
    const response = await fetch(`${server.url}/api/v4/projects/acme%2Fsite${path}`, {
      method,
      headers: { "private-token": TOKEN, "content-type": "application/json" },
      ...(json && { body: JSON.stringify(json) }),
    });
    return response.json();
  };
  const content =
    "later: { script: make, when: manual, allow_failure: false }\nnow: { script: make }";
  await call("POST", "/repository/commits", {
    branch: "main",
    commit_message: "CI",
    actions: [{ action: "create", file_path: ".gitlab-ci.yml", content }],
  });
  const jobs = await call("GET", "/jobs");
  const named = status === "manual" ? "later" : "now";
  const { id, commit } = jobs.find(({ name }: { name: string }) => name === named);
  if (status === "failed") await server.finishJob(id, { status: "failed", log: "No" });
  await server.snapshots.save("before");
  await server.snapshots.restore("before");
  expect(await call("POST", `/jobs/${id}/${verb}`, {})).toMatchObject({ name: named, commit });
});
