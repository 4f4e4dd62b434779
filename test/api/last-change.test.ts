// The history of paths is compared with what Git's own client says, which must be installed.
import { afterAll, beforeAll, expect, it } from "vitest";
import { commitId, commitNumber } from "../../src/git/commits.ts";
import { lastChange } from "../../src/git/history.ts";
import { aheadBehind } from "../../src/git/merge-bases.ts";
import { Packs } from "../../src/git/packs.ts";
import { load, type Repository } from "../../src/git/repository.ts";
import { repeats } from "../forms.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { openWorkshop, randomHistory, type Workshop } from "./_git.ts";

let app: TestApp;
let workshop: Workshop;
let repository: Repository;
const git = (...args: string[]) => workshop.git("source.git", ...args);
beforeAll(async () => {
  app = await testApp();
  workshop = await openWorkshop(app);
  await workshop.importInto("source.git", randomHistory(8, 150));
  await git("push", "--quiet", "--mirror", workshop.url("secret/vault", "owner"));
  const [row] = await app.store.rows("select id from git_repositories");
  repository = await load(app.store, Packs.of(app.store), row?.[0] as number);
});
afterAll(async () => {
  await workshop.close();
  await app.dispose();
});

const numberOf = (id: string) => commitNumber(repository, id) as number;

it("the last change of a path is Git's, from the oldest commit on and from the newest", async () => {
  const all = (await git("rev-list", "--all")).split("\n");
  const some = repeats(10, 30);
  for (const ids of [all.slice(0, some), all.slice(-some).reverse()]) {
    for (const path of ["a", "d", "d/e", "g/h/i/j", "none"]) {
      for (const id of ids) {
        const found = await lastChange(repository, numberOf(id), path);
        const expected = await git("log", "-1", "--format=%H", id, "--", path);
        const name = found === undefined ? "" : commitId(repository, found);
        expect([id, path, name]).toEqual([id, path, expected]);
      }
    }
  }
});

it("commits ahead and behind are counted as Git does", async () => {
  for (const [one, other] of [
    ["main", "b1"],
    ["b1", "b2"],
    ["main", "main"],
    ["main", "main~5"],
  ] as const) {
    const [a, b] = (await git("rev-parse", one, other)).split("\n") as [string, string];
    const counts = await git("rev-list", "--left-right", "--count", `${one}...${other}`);
    const { ahead, behind } = aheadBehind(repository.graph, numberOf(a), numberOf(b ?? a));
    expect(`${ahead}\t${behind}`).toBe(counts);
  }
});
