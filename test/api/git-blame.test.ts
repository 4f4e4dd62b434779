// Lines are blamed on the commits that Git's own `git blame` names; it must be installed.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blame } from "../../src/git/blame.ts";
import { commitId } from "../../src/git/commits.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { changingHistory } from "./_changing-history.ts";
import { openWorkshop, randomOf, type Workshop } from "./_git.ts";

// For more or other histories: RANDOM_RUNS=100 RANDOM_SEED=2 npx vitest run --project sqlite test/api/git-blame.test.ts
const runs = Number(process.env["RANDOM_RUNS"] ?? 2);
const firstSeed = Number(process.env["RANDOM_SEED"] ?? 1);
const COMMITS = 60;
const FILES = 12;

let app: TestApp;
let workshop: Workshop;
let git: Workshop["git"];
beforeAll(async () => {
  app = await testApp();
  workshop = await openWorkshop(app);
  ({ git } = workshop);
});
afterAll(async () => {
  await workshop.close();
  await app.dispose();
});

describe.each(Array.from({ length: runs }, (_, at) => firstSeed + at))("history %d", (seed) => {
  it.each(["wild", "calm"])("is blamed as git blame does, if it is %s", async (kind) => {
    const source = `${kind}-${seed}`;
    const history = changingHistory(seed, COMMITS, kind === "calm");
    const repository = await workshop.pushed(source, history);
    const draw = randomOf(seed);
    for (let file = 0; file < FILES; file += 1) {
      const tag = `c${1 + draw(COMMITS)}`;
      const listed = await git(source, "ls-tree", "-r", tag);
      const files = listed.split("\n").filter((line) => line.startsWith("100"));
      const path = files[draw(files.length)]?.split("\t")[1];
      if (path === undefined) continue;
      const lines = await git(source, "blame", "-s", "-l", "--root", tag, "--", path);
      const expected = lines === "" ? [] : lines.split("\n").map((line) => line.slice(0, 40));
      const oid = await git(source, "rev-parse", tag);
      const commit = repository.graph.commitOf(repository.findHex(oid));
      const range = { from: 0, to: expected.length };
      const runs = (await blame(repository, commit, path, range)) ?? [];
      const found = runs.flatMap(({ commit, count }) =>
        Array.from({ length: count }, () => commitId(repository, commit)),
      );
      expect([tag, path, found]).toEqual([tag, path, expected]);
    }
  });
});
