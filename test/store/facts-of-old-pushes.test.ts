// Repositories that were pushed before commits were counted and READMEs were noted.
import { afterEach, beforeEach, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeEach(async () => {
  app = await testApp();
});
afterEach(() => app.dispose());

const site = async () => {
  const { json } = await app.call("GET /projects/acme%2Fsite?statistics=true", { as: "owner" });
  return [json.statistics.commit_count, json.readme_url];
};
const commit = (file_path: string, project = "acme%2Fsite") =>
  app.call(`POST /projects/${project}/repository/files/${file_path}`, {
    as: "owner",
    json: { branch: "main", commit_message: "Add", content: "text\n" },
  });

/** Puts the database back to what the previous version had. */
const goBack = () =>
  app.store.transaction(async (db) => {
    await db.run("delete from schema_migrations where id = '20261123-04-git-facts-of-old-pushes'");
    await db.run("alter table git_repositories drop column is_noted");
    await db.run("update git_repositories set commit_count = 0, readme = null");
  });

it("are looked at when an application has started with the new version", async () => {
  expect(await app.admin.maintenance.sweepDaily()).toBeDefined();
  await commit("docs.md");
  await commit("README.md");
  const known = await site();
  expect(known).toEqual([2, "http://pm.test/acme/site/-/blob/main/README.md"]);
  await goBack();
  expect(await site()).toEqual([0, null]);
  const upgraded = await app.another();
  const { json: fork } = await app.call("POST /projects/acme%2Fsite/fork", { as: "stranger" });
  expect(await upgraded.admin.maintenance.sweepDaily()).toBeDefined();
  expect(await site()).toEqual(known);
  const path = `GET /projects/${fork.id}?statistics=true`;
  const { json } = await app.call(path, { as: "stranger" });
  expect(json.statistics.commit_count).toBe(2);
  await upgraded.close();
});

it("are left alone if somebody has pushed since", async () => {
  await commit("README.md");
  await goBack();
  const upgraded = await app.another();
  await commit("docs.md");
  expect((await site())[0]).toBe(2);
  await upgraded.admin.maintenance.sweepDaily();
  expect((await site())[0]).toBe(2);
  expect(await app.store.rows("select 1 from git_repositories where is_noted = 0")).toEqual([]);
  await upgraded.close();
});
