import { Gitlab } from "@gitbeaker/rest";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";

const PROJECT = "acme/tool";
let server: TestServer;
let api: InstanceType<typeof Gitlab>;

beforeAll(async () => {
  server = await startTestServer({
    seed: {
      users: [{ username: "ann", tokens: [{ token: "ann-token" }] }],
      groups: [{ path: "acme", members: { ann: "owner" }, projects: [{ path: "tool" }] }],
    },
  });
  api = new Gitlab({ host: server.url, token: "ann-token" });
  const actions = [{ action: "create" as const, filePath: "a.txt", content: "a" }];
  await api.Commits.create(PROJECT, "main", "Begin", actions);
});
afterAll(() => server.close());

it("makes, changes and removes releases with links", async () => {
  const made = await api.ProjectReleases.create(PROJECT, {
    tagName: "v1",
    ref: "main",
    description: "The first one",
    assets: { links: [{ name: "a", url: "https://a.test/a" }] },
  });
  expect(made).toMatchObject({ tag_name: "v1", description: "The first one" });
  const added = await api.ReleaseLinks.create(PROJECT, "v1", "b", "https://a.test/b");
  expect(await api.ReleaseLinks.all(PROJECT, "v1")).toHaveLength(2);
  const edited = await api.ReleaseLinks.edit(PROJECT, "v1", added.id, { name: "c" });
  expect(edited.name).toBe("c");
  await api.ReleaseLinks.remove(PROJECT, "v1", added.id);
  expect((await api.ProjectReleases.show(PROJECT, "v1")).assets.count).toBe(4);
  await api.ProjectReleases.edit(PROJECT, "v1", { name: "One" });
  expect((await api.ProjectReleases.all(PROJECT)).map(({ name }) => name)).toEqual(["One"]);
  await api.ProjectReleases.remove(PROJECT, "v1");
  expect(await api.ProjectReleases.all(PROJECT)).toEqual([]);
  expect((await api.Tags.show(PROJECT, "v1")).release).toBeNull();
});

it("lists and removes packages", async () => {
  const path = "/api/v4/projects/acme%2Ftool/packages/generic/tool/1.0/tool.txt";
  const headers = { "private-token": "ann-token" };
  await fetch(server.url + path, { method: "PUT", headers, body: "a tool" });
  const [found] = await api.Packages.all({ projectId: PROJECT });
  expect(found).toMatchObject({ name: "tool", version: "1.0", package_type: "generic" });
  const id = found?.id as number;
  expect(await api.Packages.allFiles(PROJECT, id)).toMatchObject([{ file_name: "tool.txt" }]);
  expect((await api.Packages.show(PROJECT, id)).id).toBe(id);
  await api.Packages.remove(PROJECT, id);
  expect(await api.Packages.all({ projectId: PROJECT })).toEqual([]);
});

it("reads templates of a project", async () => {
  const license = await api.ProjectTemplates.show(PROJECT, "licenses", "mit");
  expect(license).toMatchObject({ key: "mit", name: "MIT License" });
  expect((await api.ProjectTemplates.all(PROJECT, "gitignores")).length).toBeGreaterThan(10);
  const node = await api.ProjectTemplates.show(PROJECT, "dockerfiles", "Node");
  expect(node).toMatchObject({ name: "Node" });
});
