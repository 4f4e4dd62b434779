import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { kindOf, ROOT, testFiles } from "../run/kinds.ts";
import { BUDGET_SECONDS, buildsOf, checksOf, type Mode, type Pass, passesOf } from "../run/plan.ts";
import { reachOf } from "../run/reach.ts";
import { SHARES, shareOf } from "../run/share.ts";
import weights from "../run/weights.json" with { type: "json" };

const nothing = reachOf([]);
const shares = Array.from({ length: SHARES }, (_, share) => share);
const planOf = (share: number, mode: Mode = "share", reach = nothing) => ({ mode, share, reach });
/** Where each pass runs which file. */
const runsOf = (passes: readonly Pass[]) =>
  passes.flatMap(({ name, files }) => files.map((file) => `${file}: ${name}`));
const sum = (some: readonly { seconds: number }[]) =>
  some.reduce((total, { seconds }) => total + seconds, 0);

describe("a share", () => {
  it("of any commit takes no more CPU time than the budget", () => {
    for (const share of shares) {
      const passes = passesOf(planOf(share));
      const seconds = sum(passes) + sum(buildsOf(passes)) + sum(checksOf(planOf(share)));
      expect(seconds, `share ${share + 1} of ${SHARES}`).toBeLessThan(BUDGET_SECONDS);
    }
  });

  it("has every test file on SQLite, or where else it runs, within some commits", () => {
    const whole = new Set(runsOf(passesOf(planOf(0, "all"))));
    const shared = new Set(shares.flatMap((share) => runsOf(passesOf(planOf(share)))));
    const missing = [...whole].filter((run) => !shared.has(run));
    // The one file runs the same code as the build: what starts it, and a server, are enough.
    expect(missing.filter((run) => !run.includes(": tests of the binary"))).toEqual([]);
    for (const share of shares) {
      const [onSqlite] = passesOf(planOf(share));
      expect(onSqlite?.files).toEqual(testFiles().filter((file) => kindOf(file) === "app"));
    }
  });

  it("has what a change reaches, on both engines", () => {
    const reached = reachOf(["src/resources/wikis/queries.ts", "cli/commands/user.ts"]);
    for (const share of shares) {
      const runs = runsOf(passesOf(planOf(share, "share", reached)));
      expect(runs).toContain("test/api/wikis.test.ts: tests on PostgreSQL");
      expect(runs).toContain("test/graphql/wikis.test.ts: tests on PostgreSQL");
      expect(runs).toContain("test/cli/user.test.ts: tests of the build");
    }
  });

  it("follows from the commit, unless it is named", () => {
    expect(shareOf("")).toBeLessThan(SHARES);
    expect([shareOf("1/4"), shareOf("4/4"), shareOf("48/48")]).toEqual([0, 36, 47]);
    for (const wrong of ["0/4", "5/4", "1/5", "x", "1"]) {
      expect(() => shareOf(wrong)).toThrow("names no share");
    }
  });
});

describe("what a change reaches", () => {
  it.each([
    ["test/api/labels.test.ts", "test/api/labels.test.ts"],
    ["test/api/_git.ts", "test/api/git-merge.test.ts"],
    ["src/resources/labels/queries.ts", "test/api/labels.test.ts"],
    ["src/git/inflate.ts", "test/api/commits.test.ts"],
    ["src/store/drivers/postgres/open.ts", "test/store/conformance.test.ts"],
    ["src/core/pagination.ts", "test/api/issues.test.ts"],
    ["src/core/globs.ts", "test/core/code-owners.test.ts"],
    ["docs/guide.md", "test/docs/links.test.ts"],
    ["src/web/sign-in.ts", "test/e2e/pages.test.ts"],
    ["package.json", "test/package/install.test.ts"],
    ["examples/express/server.mjs", "test/examples/examples.test.ts"],
  ])("%s: %s", (changed, test) => {
    expect([...reachOf([changed]).tests]).toContain(test);
  });

  it("is not everything", () => {
    const { tests } = reachOf(["src/resources/wikis/queries.ts"]);
    expect(tests.size).toBeLessThan(testFiles().length / 5);
  });
});

it("recorded weights are of files that are there", () => {
  const files = new Set(testFiles());
  const recorded = Object.values(weights.files).flatMap((ofPass) => Object.keys(ofPass));
  expect(recorded.filter((file) => !files.has(file))).toEqual([]);
});

it("the scripts are the ones that CONTRIBUTING tells of", () => {
  const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"));
  const text = readFileSync(`${ROOT}CONTRIBUTING.md`, "utf8");
  const names = Object.keys(scripts).filter((name) => name.startsWith("test:"));
  expect(names.filter((name) => !text.includes(`npm run ${name}`))).toEqual([]);
});
