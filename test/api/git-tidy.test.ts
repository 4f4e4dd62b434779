// What is done with repositories in the background, and what `db check` and `db copy` make of them. Needs Git's client.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { copy } from "../../src/database/copy.ts";
import { migrations } from "../../src/database/schema.ts";
import { migrate } from "../../src/store/migrate.ts";
import { openStore } from "../../src/store/open.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { openWorkshop, randomHistory, type Workshop } from "./_git.ts";

const DAY = 86_400_000;
let now = Date.parse("2026-11-22T12:00:00Z");
let app: TestApp;
let workshop: Workshop;
let git: Workshop["git"];
let url: string;
beforeAll(async () => {
  app = await testApp({ now: () => now });
  workshop = await openWorkshop(app);
  ({ git } = workshop);
  url = workshop.url("acme/site", "owner");
  await workshop.importInto("source.git", randomHistory(4, 80));
  await git("source.git", "push", "--quiet", url, "main~1:refs/heads/main");
  await git("source.git", "push", "--quiet", "--mirror", url);
});
afterAll(async () => {
  await workshop.close();
  await app.dispose();
});

const problems = async () =>
  (await check(app.store)).find(({ name }) => name === "repositories")?.problems;
const countOf = async (table: string) => {
  const [row] = await app.store.rows(`select count(*) from ${table}`);
  return row?.[0];
};

it("a copy of the database has the repositories", async () => {
  const target = await openStore(":memory:");
  await migrate(target, migrations, now);
  await copy(app.store, target, undefined);
  const checked = await check(target);
  expect(checked.flatMap(({ problems }) => problems)).toEqual([]);
  const [row] = await target.rows("select count(*) from git_refs");
  expect(row?.[0]).toBe(await countOf("git_refs"));
  await target.close();
});

it("what nothing reaches any more is left out, and deleted a day later", async () => {
  expect(await app.admin.maintenance.tidyRepositories()).toEqual({ repositories: 0, packs: 0 });
  await git("", "clone", "--quiet", url, "work");
  await git("work", "checkout", "--quiet", "-b", "lost");
  await writeFile(join(workshop.folder, "work", "lost"), "lost\n");
  await git("work", "add", "lost");
  await git("work", "commit", "--quiet", "-m", "Lost");
  const lost = await git("work", "rev-parse", "HEAD");
  await git("work", "push", "--quiet", "origin", "lost");
  await git("work", "push", "--quiet", "origin", ":lost");
  const fetchLost = ["fetch", "--quiet", url, lost];
  await git("", "init", "--quiet", "seeker");
  expect(await workshop.failure("seeker", ...fetchLost)).toContain(`not our ref ${lost}`);
  const before = await countOf("git_packs");
  expect(before).toBeGreaterThan(2);
  expect(await app.admin.maintenance.tidyRepositories()).toEqual({ repositories: 1, packs: 0 });
  expect(await countOf("git_packs")).toBe(Number(before) + 1);
  await git("", "init", "--quiet", "late");
  expect(await workshop.failure("late", ...fetchLost)).toContain(`not our ref ${lost}`);
  await git("", "clone", "--quiet", "--mirror", url, "mirror");
  await git("mirror", "fsck", "--full", "--strict");
  expect(await git("mirror", "for-each-ref")).toBe(await git("source.git", "for-each-ref"));
  now += DAY + 1;
  expect(await app.admin.maintenance.tidyRepositories()).toEqual({
    repositories: 0,
    packs: before,
  });
  expect(await countOf("git_packs")).toBe(1);
  expect(await problems()).toEqual([]);
});

it("a pack that was pushed by a process that died is deleted after a day", async () => {
  await app.store.transaction(async (db) => {
    await db.run("insert into git_packs (unused_since) values (?)", [now - DAY - 1]);
    await db.run("insert into git_packs (unused_since) values (?)", [now - DAY + 1]);
  });
  expect((await app.admin.maintenance.tidyRepositories()).packs).toBe(1);
});

it("packs of deleted projects are deleted, too", async () => {
  const { json } = await app.call("POST /projects", { as: "owner", json: { name: "Gone" } });
  await git("source.git", "push", "--quiet", workshop.url("owner/gone", "owner"), "main");
  expect((await app.call(`DELETE /projects/${json.id}`, { as: "owner" })).status).toBe(202);
  now += DAY + 1;
  expect((await app.admin.maintenance.tidyRepositories()).packs).toBe(2);
});

it("a damaged object or reference is found", async () => {
  const sql = "select bytes from git_pack_pieces order by pack_id, number limit 1";
  const [row] = await app.store.rows(sql);
  const bytes = Buffer.from(row?.[0] as Uint8Array);
  const change = (changed: Uint8Array) =>
    app.store.transaction((db) =>
      db.run("update git_pack_pieces set bytes = ? where number = 0", [changed]),
    );
  const damaged = Buffer.from(bytes);
  damaged[40] = (damaged[40] as number) ^ 1;
  await change(damaged);
  expect(await problems()).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^the repository of project \d+: the object [0-9a-f]{40} /),
    ]),
  );
  await change(bytes);
  expect(await problems()).toEqual([]);
  await app.store.transaction((db) =>
    db.run("update git_refs set oid = ? where name = 'refs/heads/main'", ["1".repeat(40)]),
  );
  expect(await problems()).toEqual([
    expect.stringContaining(`refs/heads/main is for ${"1".repeat(40)}, which is missing`),
  ]);
});
