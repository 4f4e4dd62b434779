// Forks with repositories, and the statistics of projects.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verifyRepositories } from "../../src/git/verify.ts";
import { type Person, type TestApp, testApp, tokenOf } from "../helpers.ts";
import { newCommit, pushHeaders, pushOf, pushTo } from "../packs.ts";

let app: TestApp;
let tip = "";
let first = "";
beforeAll(async () => {
  app = await testApp();
  const one = newCommit("one");
  const two = newCommit("two", one.oid);
  [first, tip] = [one.oid, two.oid];
  await push([{ name: "refs/heads/main", to: one.oid }], one.pack);
  const names = ["refs/heads/other", "refs/tags/v1", "refs/notes/commits"];
  const others = names.map((name) => ({ name, to: two.oid }));
  await push([{ name: "refs/heads/main", from: one.oid, to: two.oid }, ...others], two.pack);
});
afterAll(() => app.dispose());

const headers = pushHeaders(tokenOf("owner"));
async function push(
  changes: Parameters<typeof pushOf>[0],
  pack?: Buffer,
  project = "acme/site",
): Promise<void> {
  const { text } = await pushTo(app, project, pushOf(changes, pack), headers);
  expect(text.match(/ok refs/g)).toHaveLength(changes.length);
}

const refsOf = async (project: string, as: Exclude<Person, "anonymous"> = "owner") => {
  const { authorization } = pushHeaders(tokenOf(as));
  const path = `http://pm.test/${project}.git/info/refs?service=git-receive-pack`;
  const { text } = await app.call(`GET ${path}`, { headers: { authorization } });
  const lines = [...text.matchAll(/([0-9a-f]{40}) (refs\/[^\0\n]+)/g)];
  return Object.fromEntries(lines.map(([, oid, name]) => [name, oid]));
};
const packs = async () => (await app.store.rows("select count(*) from git_packs"))[0]?.[0];

describe("a fork", () => {
  it("has the branches and tags, in the same packs", async () => {
    await app.call("POST /projects/acme%2Fsite/protected_branches", {
      as: "owner",
      json: { name: "release/*" },
    });
    const before = await packs();
    const { status, json } = await app.call("POST /projects/acme%2Fsite/fork", { as: "developer" });
    expect([status, json.default_branch]).toEqual([201, "main"]);
    expect(await packs()).toBe(before);
    expect(await refsOf("developer/site", "developer")).toEqual({
      "refs/heads/main": tip,
      "refs/heads/other": tip,
      "refs/tags/v1": tip,
    });
    const rules = await app.call(`GET /projects/${json.id}/protected_branches`, {
      as: "developer",
    });
    expect(rules.json.map(({ name }: { name: string }) => name)).toEqual(["main"]);
  });

  it("goes its own way", async () => {
    const made = newCommit("three", tip);
    const name = "refs/heads/main";
    const body = pushOf([{ name, from: tip, to: made.oid }], made.pack);
    const as = pushHeaders(tokenOf("developer"));
    expect((await pushTo(app, "developer/site", body, as)).text).toContain(`ok ${name}`);
    expect((await refsOf("developer/site", "developer"))[name]).toBe(made.oid);
    expect((await refsOf("acme/site"))[name]).toBe(tip);
  });

  it("stays when its source is packed again or deleted", async () => {
    const source = newCommit("source");
    await push([{ name: "refs/heads/main", to: source.oid }], source.pack, "owner/brief");
    await push([{ name: "refs/heads/x", to: source.oid }], undefined, "owner/brief");
    await push([{ name: "refs/heads/x", from: source.oid }], undefined, "owner/brief");
    await app.call("POST /projects/owner%2Fbrief/fork", { as: "admin" });
    await app.call("POST /projects/owner%2Fbrief/fork", {
      as: "owner",
      json: { path: "second", name: "second" },
    });
    await app.admin.maintenance.tidyRepositories();
    await app.call("DELETE /projects/owner%2Fbrief", { as: "owner" });
    const later = await app.another({ now: () => Date.now() + 3 * 86_400_000 });
    await later.admin.maintenance.tidyRepositories();
    await later.close();
    expect(await refsOf("owner/second")).toEqual({ "refs/heads/main": source.oid });
    expect(await verifyRepositories(app.store, 10)).toEqual([]);
  });

  it("of a repository without commits has none", async () => {
    const { json } = await app.call("POST /projects/secret%2Fvault/fork", { as: "owner" });
    expect(await refsOf(json.path_with_namespace)).toEqual({});
    const rules = await app.call(`GET /projects/${json.id}/protected_branches`, { as: "owner" });
    expect(rules.json).toEqual([]);
  });
});

describe("statistics", () => {
  const of = async (as: Person, path = "/projects/acme%2Fsite?statistics=true") =>
    (await app.call(`GET ${path}`, { as })).json;
  const stored = async (project: string): Promise<number> => {
    const [row] = await app.store.rows(
      `select sum(k.bytes) from git_packs k join git_repository_packs rk on rk.pack_id = k.id
       join git_repositories r on r.id = rk.repository_id join projects p on p.id = r.project_id
       where p.full_path = ?`,
      [project],
    );
    return Number(row?.[0]);
  };

  it("count the commits of the default branch, and bytes", async () => {
    const { statistics } = await of("reporter");
    const size = await stored("acme/site");
    expect(size).toBeGreaterThan(100);
    expect(statistics).toMatchObject({
      commit_count: 2,
      storage_size: size,
      repository_size: size,
      wiki_size: 0,
    });
    expect(
      (await of("developer", "/projects/developer%2Fsite?statistics=true")).statistics,
    ).toMatchObject({ commit_count: 3 });
  });

  it("follow force and other branches", async () => {
    const made = newCommit("forced", first);
    await push([{ name: "refs/heads/elsewhere", to: made.oid }], made.pack);
    expect((await of("reporter")).statistics.commit_count).toBe(2);
    await app.call("PATCH /projects/acme%2Fsite/protected_branches/main", {
      as: "owner",
      json: { allow_force_push: true },
    });
    await push([{ name: "refs/heads/main", from: tip, to: first }]);
    expect((await of("reporter")).statistics.commit_count).toBe(1);
  });

  it("are for reporters who ask, in lists too", async () => {
    expect(await of("guest")).not.toHaveProperty("statistics");
    expect(await of("anonymous")).not.toHaveProperty("statistics");
    expect(await of("owner", "/projects/acme%2Fsite")).not.toHaveProperty("statistics");
    const path = "/projects?statistics=true&order_by=path&sort=asc";
    const has = async (as: Person) =>
      Object.fromEntries(
        (await of(as, path)).map((one: { path_with_namespace: string; statistics?: object }) => [
          one.path_with_namespace,
          one.statistics !== undefined,
        ]),
      );
    expect(await has("reporter")).toMatchObject({ "acme/site": true, "developer/site": false });
    expect(await has("admin")).toMatchObject({ "acme/site": true, "secret/vault": true });
    const empty = await of("admin", "/projects/secret%2Fvault?statistics=true");
    expect(empty.statistics).toMatchObject({ commit_count: 0, repository_size: 0 });
  });
});

it("a fork of one branch has this alone, as its default branch", async () => {
  const fork = (json: object) =>
    app.call("POST /projects/acme%2Fsite/fork", { as: "maintainer", json });
  const { status, json } = await fork({
    branches: "other",
    path: "one-branch",
    mr_default_target_self: true,
  });
  expect([status, json.default_branch, json.mr_default_target_self]).toEqual([201, "other", true]);
  expect(await refsOf("maintainer/one-branch", "maintainer")).toEqual({ "refs/heads/other": tip });
  const counted = await app.call(`GET /projects/${json.id}?statistics=true`, { as: "maintainer" });
  expect(counted.json.statistics.commit_count).toBe(2);
  for (const branches of ["none", "a..b"]) {
    const refused = await fork({ branches, path: "no-branch" });
    expect([refused.status, refused.json]).toEqual([
      400,
      { message: { branches: ["is not a branch"] } },
    ]);
  }
});
