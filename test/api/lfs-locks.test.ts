import { beforeEach, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { lfs } from "./_lfs.ts";

let app: TestApp;
beforeEach(async () => {
  app = await testApp();
  return () => app.dispose();
});

const lock = (person: Person, path: string) => lfs(app, person, "POST info/lfs/locks", { path });
const unlock = (person: Person, id: string | number, force?: boolean) =>
  lfs(app, person, `POST info/lfs/locks/${id}/unlock`, { force, ref: { name: "refs/heads/main" } });
const list = async (query = "") => (await lfs(app, "guest", `GET info/lfs/locks${query}`)).json;

it("a path is locked once, and who holds it is told", async () => {
  const made = await lock("developer", "images/a.psd");
  expect(made.status).toBe(201);
  expect(made.json).toEqual({
    lock: {
      id: expect.stringMatching(/^\d+$/),
      path: "images/a.psd",
      locked_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      owner: { name: "The developer" },
    },
  });
  const again = await lock("owner", "images/a.psd");
  expect([again.status, again.json]).toEqual([
    409,
    {
      message: "already locked",
      lock: made.json.lock,
      documentation_url: "http://localhost/help",
    },
  ]);
  expect((await lock("developer", "images/a.psd")).status).toBe(409);
  expect(await list("?refspec=refs%2Fheads%2Fmain")).toEqual({ locks: [made.json.lock] });
  expect(await list("?path=images/a.psd")).toEqual({ locks: [made.json.lock] });
  expect(await list("?path=images/b.psd")).toEqual({ locks: [] });
  expect(await list(`?id=${made.json.lock.id}`)).toEqual({ locks: [made.json.lock] });
  expect(await list("?id=99999999999999999999")).toEqual({ locks: [] });
  expect(await list(`?id=${made.json.lock.id}&path=other`)).toEqual({ locks: [] });
});

it("who holds a lock takes it away; others only as maintainers, with force", async () => {
  const { json } = await lock("developer", "a");
  const { id } = json.lock;
  const other = await unlock("owner", id);
  expect(other.status).toBe(403);
  expect(other.json.message).toMatch(/^a is locked by GitLab User \d+$/);
  expect(other.json.lock).toEqual(json.lock);
  const { json: second } = await lock("maintainer", "b");
  const forced = await unlock("developer", second.lock.id, true);
  expect([forced.status, forced.json.message]).toEqual([
    403,
    "You must have maintainer access to force delete a lock",
  ]);
  const own = await unlock("developer", id);
  expect([own.status, own.json]).toEqual([200, { lock: json.lock }]);
  expect((await unlock("owner", second.lock.id, true)).status).toBe(200);
  for (const unknown of [id, 0, -1, "x", "99999999999999999999"]) {
    const { status, json: answer } = await unlock("developer", unknown);
    expect([status, answer.message]).toEqual([404, "Lock not found"]);
  }
  expect(await list()).toEqual({ locks: [] });
});

it("locks belong to their project", async () => {
  const { json } = await lock("developer", "a");
  const elsewhere = await lfs(
    app,
    "owner",
    `POST info/lfs/locks/${json.lock.id}/unlock`,
    { force: true },
    {},
    "secret/vault",
  );
  expect(elsewhere.status).toBe(404);
  const found = await lfs(app, "owner", "GET info/lfs/locks", undefined, {}, "secret/vault");
  expect(found.json).toEqual({ locks: [] });
});

it("verifying divides them into those of the caller and of others, page by page", async () => {
  for (const [at, person] of (
    ["developer", "owner", "developer", "maintainer"] as const
  ).entries()) {
    await lock(person, `file ${at}`);
  }
  const verify = async (json: object) =>
    (await lfs(app, "developer", "POST info/lfs/locks/verify", json)).json;
  const paths = (locks: { path: string }[]) => locks.map(({ path }) => path);
  const all = await verify({ ref: { name: "refs/heads/main" } });
  expect([paths(all.ours), paths(all.theirs)]).toEqual([
    ["file 0", "file 2"],
    ["file 1", "file 3"],
  ]);
  expect(all.next_cursor).toBeUndefined();
  const first = await verify({ limit: 3 });
  expect([paths(first.ours), paths(first.theirs)]).toEqual([["file 0", "file 2"], ["file 1"]]);
  const rest = await verify({ limit: 3, cursor: first.next_cursor });
  expect([paths(rest.ours), paths(rest.theirs)]).toEqual([[], ["file 3"]]);
  const { locks, next_cursor } = await list("?limit=1");
  expect([paths(locks), typeof next_cursor]).toEqual([["file 0"], "string"]);
  const bad = await lfs(app, "developer", "POST info/lfs/locks/verify", { cursor: "x" });
  expect(bad.status).toBe(422);
});

it("only those who may push lock, unlock and verify; who may read lists", async () => {
  const statuses = async (person: Person) => [
    (await lock(person, `of ${person}`)).status,
    (await lfs(app, person, "POST info/lfs/locks/verify", {})).status,
    (await unlock(person, 99)).status,
    (await lfs(app, person, "GET info/lfs/locks")).status,
  ];
  expect(await statuses("anonymous")).toEqual([401, 401, 401, 200]);
  for (const person of ["stranger", "guest", "reporter"] as const) {
    expect(await statuses(person)).toEqual([403, 403, 403, 200]);
  }
  for (const person of ["developer", "maintainer", "owner", "admin"] as const) {
    expect(await statuses(person)).toEqual([201, 200, 404, 200]);
  }
});

it("bodies that can't be used are refused", async () => {
  const send = async (json: unknown, headers = {}) =>
    (await lfs(app, "developer", "POST info/lfs/locks", json, { headers })).status;
  expect(await send({})).toBe(400);
  expect(await send({ path: "" })).toBe(400);
  expect(await send({ path: ["a"] })).toBe(400);
  expect(await send({ path: "a\0b" })).toBe(400);
  expect(await send({ path: "a".repeat(4097) })).toBe(400);
  expect(await send("path=a", { "content-type": "application/x-www-form-urlencoded" })).toBe(415);
  expect(await send({ path: "../../etc/passwd" })).toBe(201);
});

it("a project has at most 10,000 locks", async () => {
  await lock("developer", "first");
  await app.store.transaction((db) =>
    db.run(
      `insert into lfs_locks (project_id, user_id, path, created_at)
       with recursive n (i) as (select 1 union all select i + 1 from n where i < 9999)
       select k.project_id, k.user_id, 'n' || n.i, k.created_at from n cross join lfs_locks k`,
    ),
  );
  expect((await lock("developer", "one more")).status).toBe(422);
});
