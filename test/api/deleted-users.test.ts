import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { allResources } from "../../src/mounts.ts";
import { migrate } from "../../src/store/migrate.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";

const site = "/projects/acme%2Fsite";
const GHOST = { username: "ghost", name: "Ghost User", state: "active" };

const ok = async (app: TestApp, request: string, as: Person, json?: object) => {
  const answer = await app.call(request, { as, ...(json ? { json } : {}) });
  expect([request, answer.status]).toEqual([request, expect.toSatisfy((s: number) => s < 300)]);
  return answer.json;
};

const idOf = async (app: TestApp, username: string) =>
  (await app.call(`GET /users?username=${username}`)).json[0].id;

describe("records of a deleted user", () => {
  let app: TestApp;
  let developer: number;
  beforeAll(async () => {
    app = await testApp();
    developer = await idOf(app, "developer");
    await ok(app, `POST ${site}/issues`, "developer", { title: "Theirs" });
    await ok(app, `PUT ${site}/issues/1`, "developer", { state_event: "close" });
    await ok(app, `POST ${site}/issues/1/notes`, "developer", { body: "A word" });
    await ok(app, `POST ${site}/issues/1/award_emoji`, "developer", { name: "thumbsup" });
    await ok(app, `POST ${site}/issues/1/award_emoji`, "maintainer", { name: "thumbsup" });
    for (const source_branch of ["a", "b"]) {
      const request = { title: "Theirs", source_branch, target_branch: "main" };
      await ok(app, `POST ${site}/merge_requests`, "developer", request);
    }
    await ok(app, `PUT ${site}/merge_requests/1/merge`, "developer");
    await ok(app, `PUT ${site}/merge_requests/2`, "developer", { state_event: "close" });
    const snippet = { title: "t", file_name: "f", content: "c", visibility: "public" };
    const { id } = await ok(app, `POST ${site}/snippets`, "developer", snippet);
    await ok(app, `POST ${site}/snippets/${id}/notes`, "developer", { body: "My own" });
    await ok(app, `POST ${site}/snippets/${id}/award_emoji`, "developer", { name: "tada" });
    await ok(app, `POST ${site}/snippets/${id}/award_emoji`, "maintainer", { name: "tada" });
    const begun = await ok(app, `POST ${site}/merge_requests/1/discussions`, "owner", {
      body: "Why?",
    });
    const thread = `${site}/merge_requests/1/discussions/${begun.id}`;
    await ok(app, `POST ${thread}/notes`, "developer", { body: "Because" });
    await ok(app, `PUT ${thread}`, "developer", { resolved: true });
    await ok(app, "POST /snippets", "developer", { ...snippet, title: "Personal" });
    await ok(app, `POST ${site}/star`, "developer");
    await ok(app, `POST ${site}/star`, "guest");
    app.statements.length = 0;
    await ok(app, `DELETE /users/${developer}`, "admin");
  });
  afterAll(() => app.dispose());

  it("belong to the ghost user, and always have an author", async () => {
    const issue = await ok(app, `GET ${site}/issues/1`, "owner");
    expect(issue).toMatchObject({ author: GHOST, closed_by: GHOST, user_notes_count: 1 });
    const [note] = await ok(app, `GET ${site}/issues/1/notes?sort=asc`, "owner");
    expect(note).toMatchObject({ author: GHOST, body: "A word" });
    const merged = await ok(app, `GET ${site}/merge_requests/1`, "owner");
    expect(merged).toMatchObject({ author: GHOST, merged_by: GHOST });
    const closed = await ok(app, `GET ${site}/merge_requests/2`, "owner");
    expect(closed).toMatchObject({ author: GHOST, closed_by: GHOST });
    const snippets = await ok(app, `GET ${site}/snippets`, "owner");
    expect(snippets).toMatchObject([{ author: GHOST }]);
    const of = `${site}/snippets/${snippets[0].id}`;
    expect(await ok(app, `GET ${of}/notes`, "owner")).toMatchObject([{ author: GHOST }]);
    expect(await ok(app, `GET ${of}/award_emoji`, "owner")).toMatchObject([
      { user: GHOST },
      { user: { username: "maintainer" } },
    ]);
    const [thread] = await ok(app, `GET ${site}/merge_requests/1/discussions`, "owner");
    expect(thread.notes).toMatchObject([
      { author: { username: "owner" }, resolved: true, resolved_by: GHOST },
      { author: GHOST, resolved: true, resolved_by: GHOST },
    ]);
    expect(await ok(app, "GET /snippets/public", "owner")).toEqual([]);
    const awards = await ok(app, `GET ${site}/issues/1/award_emoji`, "owner");
    expect(awards.map(({ user }: { user: { username: string } }) => user.username)).toEqual([
      "ghost",
      "maintainer",
    ]);
  });

  it("are no longer counted", async () => {
    expect((await ok(app, site.replace("/", "GET /"), "owner")).star_count).toBe(1);
    expect((await ok(app, `GET ${site}/issues/1`, "owner")).upvotes).toBe(2);
    const events = await ok(app, `GET ${site}/events`, "owner");
    expect(events).toMatchObject([{ author_username: "owner", note: { body: "Why?" } }]);
    expect((await check(app.store)).flatMap(({ problems }) => problems)).toEqual([]);
  });

  it("are reassigned by one statement for each column that names an author", () => {
    const reassigned = app.statements.filter((sql) =>
      /^update \w+ set \w+_id = \? where/.test(sql),
    );
    expect(reassigned).toContain("update notes set author_id = ? where author_id = ?");
    expect(new Set(reassigned).size).toBe(reassigned.length);
  });

  it("go to one ghost, with each emoji awarded once", async () => {
    await ok(app, `DELETE /users/${await idOf(app, "maintainer")}`, "admin");
    const awards = await ok(app, `GET ${site}/issues/1/award_emoji`, "owner");
    expect(awards).toMatchObject([{ user: GHOST, name: "thumbsup" }]);
    const [snippet] = await ok(app, `GET ${site}/snippets`, "owner");
    const given = await ok(app, `GET ${site}/snippets/${snippet.id}/award_emoji`, "owner");
    expect(given).toMatchObject([{ user: GHOST, name: "tada" }]);
    expect(await ok(app, "GET /users?search=ghost", "owner")).toMatchObject([GHOST]);
    expect(await ok(app, "GET /users?search=ghost&active=true", "owner")).toEqual([]);
  });

  it("leave a ghost user that nobody can use", async () => {
    const ghost = await idOf(app, "ghost");
    for (const request of [
      `PUT /users/${ghost}?name=x`,
      `DELETE /users/${ghost}`,
      `POST /users/${ghost}/block`,
      `POST /users/${ghost}/unblock`,
    ]) {
      expect([request, (await app.call(request, { as: "admin" })).status]).toEqual([request, 403]);
    }
    expect((await app.call("GET /user?sudo=ghost", { as: "admin" })).status).toBe(404);
    const { json } = await app.call(`POST /users/${ghost}/impersonation_tokens`, {
      as: "admin",
      json: { name: "t", scopes: ["api"] },
    });
    const headers = { "private-token": json.token };
    expect((await app.call("GET /user", { headers })).status).toBe(403);
    await expect(app.admin.users.block("ghost")).rejects.toThrow("404 User Not Found");
    expect((await app.admin.users.list()).map(({ username }) => username)).not.toContain("ghost");
    const member = { user_id: ghost, access_level: 30 };
    expect((await app.call(`POST ${site}/members`, { as: "owner", json: member })).status).toBe(
      404,
    );
  });
});

it("belong to a ghost of another name if the user name is taken", async () => {
  const app = await testApp();
  await ok(app, "POST /groups", "owner", { name: "Ghost", path: "Ghost" });
  await ok(app, `POST ${site}/issues`, "developer", { title: "Theirs" });
  await ok(app, `DELETE /users/${await idOf(app, "developer")}`, "admin");
  expect(await ok(app, `GET ${site}/issues/1`, "owner")).toMatchObject({
    author: { username: "ghost1", name: "Ghost User" },
  });
  await app.dispose();
});

it("are reassigned in databases of older versions too", async () => {
  const app = await testApp();
  await ok(app, `POST ${site}/issues`, "developer", { title: "Theirs" });
  await ok(app, `PUT ${site}/issues/1?state_event=close`, "developer");
  await ok(app, `POST ${site}/star`, "guest");
  await ok(app, "POST /groups", "owner", { name: "Ghost", path: "Ghost" });
  // What an older version did on deleting a user.
  await app.store.transaction(async (db) => {
    await db.run("update issues set author_id = null, closed_by_id = null");
    await db.run("update projects set star_count = 5");
    await db.run("drop index users_ghost");
    await db.run("delete from schema_migrations where id like '20261122-70-%'");
  });
  const migrations = allResources.flatMap((resource) => resource.migrations);
  await migrate(app.store, migrations, Date.now());
  const issue = await ok(app, `GET ${site}/issues/1`, "owner");
  const ghost = { username: "ghost1", name: "Ghost User" };
  expect(issue).toMatchObject({ author: ghost, closed_by: ghost });
  expect((await ok(app, `GET ${site}`, "owner")).star_count).toBe(1);
  expect((await check(app.store)).flatMap(({ problems }) => problems)).toEqual([]);
  await app.dispose();
});
