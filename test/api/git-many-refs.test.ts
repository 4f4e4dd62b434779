// Pushes of many references take a few statements for each hundred of them, not some for each.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestApp, testApp, tokenOf } from "../helpers.ts";
import { newCommit, pushHeaders, pushOf, pushTo } from "../packs.ts";

let app: TestApp;
const headers = pushHeaders(tokenOf("owner"));
const first = newCommit("first");
const second = newCommit("second", first.oid);

beforeAll(async () => {
  app = await testApp();
  const main = pushOf([{ name: "refs/heads/main", to: first.oid }], first.pack);
  expect((await pushTo(app, "acme/site", main, headers)).text).toContain("ok refs/heads/main");
});
afterAll(() => app.dispose());

type Change = Parameters<typeof pushOf>[0][number];

/** Pushes changes, all of which must be made, and returns how many statements that took. */
async function statementsOf(changes: readonly Change[], pack?: Buffer): Promise<number> {
  app.statements.length = 0;
  const { text } = await pushTo(app, "acme/site", pushOf([...changes], pack), headers);
  const count = app.statements.length;
  expect(text.match(/ok refs/g)).toHaveLength(changes.length);
  return count;
}

const HUNDREDS = 20;
const named = (count: number, to: (at: number) => Omit<Change, "name">, kind: string) =>
  Array.from({ length: count }, (_, at) => ({
    name: `refs/${at % 4 === 0 ? "tags" : "heads"}/${kind}/${at}`,
    ...to(at),
  }));

it("creates, changes and deletes two thousand with a few statements for each hundred", async () => {
  // What is read for the first time is read before.
  await statementsOf(named(2, () => ({ to: first.oid }), "warm"));
  const many = 100 * HUNDREDS;
  const steps: [string, (count: number, kind: string) => Promise<number>][] = [
    ["create", (count, kind) => statementsOf(named(count, () => ({ to: first.oid }), kind))],
    [
      "change",
      (count, kind) =>
        statementsOf(
          named(count, () => ({ from: first.oid, to: second.oid }), kind),
          second.pack,
        ),
    ],
    ["delete", (count, kind) => statementsOf(named(count, () => ({ from: second.oid }), kind))],
  ];
  for (const [step, send] of steps) {
    const few = await send(100, "few");
    const all = await send(many, "many");
    expect([step, all, all < few + 20 * HUNDREDS]).toEqual([step, all, true]);
  }
  const { json } = await app.call("GET /projects/acme%2Fsite/events?action=pushed&per_page=100", {
    as: "owner",
  });
  expect(json.slice(0, 3).map((event: { push_data: object }) => event.push_data)).toEqual(
    [1999, 1998, 1997].map((at) =>
      expect.objectContaining({ ref: `many/${at}`, action: "removed", commit_from: second.oid }),
    ),
  );
});

it("tells which names clash, among many", async () => {
  const before = named(300, () => ({ to: first.oid }), "clash");
  await statementsOf(before);
  const { text } = await pushTo(
    app,
    "acme/site",
    pushOf([
      ...named(200, () => ({ to: first.oid }), "fine"),
      { name: "refs/heads/clash/1/below", to: first.oid },
      { name: "refs/heads/clash", to: first.oid },
      { name: "refs/heads/new", to: first.oid },
      { name: "refs/heads/new/below", to: first.oid },
      { name: "refs/tags/clash/8", from: first.oid },
      { name: "refs/tags/clash/8/below", to: first.oid },
      { name: "refs/heads/clash/3", from: second.oid, to: first.oid },
    ]),
    headers,
  );
  expect(text.match(/ok refs\/(heads|tags)\/fine/g)).toHaveLength(200);
  expect(text).toContain(
    "ng refs/heads/clash/1/below 'refs/heads/clash/1' exists; cannot create 'refs/heads/clash/1/below'",
  );
  expect(text).toMatch(/ng refs\/heads\/clash 'refs\/heads\/clash\/\d+' exists; cannot create/);
  expect(text).toContain("ok refs/heads/new\n");
  expect(text).toContain("ng refs/heads/new/below 'refs/heads/new' exists");
  expect(text).toContain("ok refs/tags/clash/8\n");
  expect(text).toContain("ok refs/tags/clash/8/below");
  expect(text).toContain("ng refs/heads/clash/3 fetch first");
});
