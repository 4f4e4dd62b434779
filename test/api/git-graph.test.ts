// The commits of a repository, which each push adds to.
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { OidTable } from "../../src/git/oid-table.ts";
import { type TestApp, testApp, tokenOf } from "../helpers.ts";
import { newCommit, Objects, push, pushHeaders, pushOf, pushTo } from "../packs.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

it("each push looks at the commits that it brings", async () => {
  const COMMITS = 500;
  const objects = new Objects();
  const tree = objects.add("tree", "");
  let made = objects.commit(tree, []);
  for (let count = 1; count < COMMITS; count += 1) {
    made = objects.commit(tree, [made], { message: `${count}\n` });
  }
  await push(app, "acme/site", objects.pack, { "refs/heads/main": made });
  const headers = pushHeaders(tokenOf("owner"));
  const adding = vi.spyOn(OidTable.prototype, "add");
  let from = made.toString("hex");
  for (let count = 0; count < 10; count += 1) {
    const { oid: to, pack } = newCommit(`push ${count}`, from);
    const body = pushOf([{ name: "refs/heads/main", from, to }], pack);
    expect((await pushTo(app, "acme/site", body, headers)).text).toContain("ok refs/heads/main");
    from = to;
  }
  // The first push may look at all of them, to begin the graph that the others continue.
  expect(adding.mock.calls.length).toBeLessThan(2 * COMMITS);
  adding.mockRestore();
});

it("what a refused push brought is not among the commits of later ones", async () => {
  const headers = pushHeaders(tokenOf("owner"));
  const sent = (from: string | undefined, to: string, pack: Buffer) =>
    pushTo(app, "owner/late", pushOf([{ name: "refs/heads/main", from, to }], pack), headers);
  const path = "/projects/owner%2Flate/repository/commits";
  const statusOf = async (oid: string) =>
    (await app.call(`GET ${path}/${oid.slice(0, 12)}`, { as: "owner" })).status;
  const first = newCommit("first");
  await sent(undefined, first.oid, first.pack);
  const pushed = [first.oid];
  const refused: string[] = [];
  for (let count = 0; count < 6; count += 1) {
    const late = newCommit(`late ${count}`, pushed[0]);
    expect((await sent(first.oid, late.oid, late.pack)).text).toContain(
      count === 0 ? "ok refs/heads/main" : "fetch first",
    );
    if (count === 0) pushed.unshift(late.oid);
    else {
      refused.push(late.oid);
      expect(await statusOf(late.oid)).toBe(404);
    }
    const next = newCommit(`next ${count}`, pushed[0]);
    const { text } = await sent(pushed[0], next.oid, next.pack);
    expect(text).toContain("ok refs/heads/main");
    pushed.unshift(next.oid);
  }
  const { json } = await app.call(`GET ${path}`, { as: "owner" });
  expect(json.map(({ id }: { id: string }) => id)).toEqual(pushed);
  for (const oid of pushed) expect(await statusOf(oid)).toBe(200);
  for (const oid of refused) expect(await statusOf(oid)).toBe(404);
});

it("a new branch adds the commits that the default branch does not have", async () => {
  const objects = new Objects();
  const tree = objects.add("tree", "");
  const commits: { oid: Buffer; reached: Set<number> }[] = [];
  let seed = 7;
  const random = (below: number) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return (seed >>> 8) % below;
  };
  for (let number = 0; number < 80; number += 1) {
    // Several begin a history of their own; most are based on one or two of the last ones.
    const parents = new Set<number>();
    const count = number % 20 === 0 ? 0 : 1 + random(2);
    while (parents.size < Math.min(count, number))
      parents.add(Math.max(0, number - 1 - random(12)));
    const known = [...parents].map((parent) => commits[parent] as (typeof commits)[number]);
    commits.push({
      oid: objects.commit(
        tree,
        known.map(({ oid }) => oid),
        { message: `${number}\n` },
      ),
      reached: new Set([number, ...known.flatMap(({ reached }) => [...reached])]),
    });
  }
  const main = commits[50] as (typeof commits)[number];
  await push(app, "owner/lines", objects.pack, { "refs/heads/main": main.oid });
  const headers = pushHeaders(tokenOf("owner"));
  for (const [number, { oid }] of commits.entries()) {
    const change = { name: `refs/heads/b${number}`, to: oid.toString("hex") };
    await pushTo(app, "owner/lines", pushOf([change]), headers);
  }
  const { json } = await app.call("GET /projects/owner%2Flines/events?action=pushed&per_page=100", {
    as: "owner",
  });
  const counts = new Map<string, number>();
  for (const { push_data } of json) counts.set(push_data.ref, push_data.commit_count);
  for (const [number, { reached }] of commits.entries()) {
    const added = [...reached].filter((one) => !main.reached.has(one));
    expect(counts.get(`b${number}`), `b${number}`).toBe(added.length);
  }
});
