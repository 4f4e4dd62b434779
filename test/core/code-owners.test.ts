import { describe, expect, it } from "vitest";
import { CodeOwners } from "../../src/core/code-owners.ts";
import { expectLinear, expectQuick } from "../relative-time.ts";

/** The owners' names of a path, by section. */
function ownersOf(file: string, path: string): Record<string, string> {
  return Object.fromEntries(
    new CodeOwners(file)
      .entriesOf(path)
      .map(({ section, owners: { names, emails, roles } }) => [
        section,
        [...names, ...emails, ...roles].join(" "),
      ]),
  );
}

/** Whether a pattern fits a path. */
const fits = (pattern: string, path: string) =>
  new CodeOwners(`${pattern} @ada`).entriesOf(path).length > 0;

describe("patterns", () => {
  it.each([
    ["*", "a", true],
    ["*", "a/b/.c", true],
    ["/README.md", "README.md", true],
    ["/README.md", "docs/README.md", false],
    ["README.md", "README.md", true],
    ["README.md", "a/b/README.md", true],
    ["README.md", "a/XREADME.md", false],
    ["internal/README.md", "docs/internal/README.md", true],
    ["internal/README.md", "docs/README.md", false],
    ["/docs/", "docs/a/b.md", true],
    ["/docs/", "docs", false],
    ["/docs/", "other/docs/a", false],
    ["docs/", "other/docs/a", true],
    ["/docs", "docs/a", false],
    ["/docs/*", "docs/a", true],
    ["/docs/*", "docs/a/b", false],
    ["*.rb", "lib/a.rb", true],
    ["*.rb", "lib/a.rbx", false],
    ["/docs/*spec*", "docs/qa_specs.rb", true],
    ["/docs/*/README.md", "docs/api/README.md", true],
    ["/docs/*/README.md", "docs/a/b/README.md", false],
    ["/docs/**/*.md", "docs/index.md", true],
    ["/docs/**/*.md", "docs/a/b/index.md", true],
    ["/db/**/index.md", "db/index.txt", false],
    ["/docs/**", "docs/a", true],
    ["/docs/**", "docs/a/b", false],
    ["/a?c", "abc", true],
    ["/a?c", "a/c", false],
    ["/[a-c]x", "bx", true],
    ["/[^a-c]x", "bx", false],
    ["/[a-", "[a-", true],
    ["/a\\*", "a*", true],
    ["/a\\*", "ab", false],
    ["/a\\ b", "a b", true],
    ["\\#a", "#a", true],
    ["/**/a/**/b", "x/a/y/a/z/b", true],
    ["/**/a/**/b", "x/a/y/c", false],
  ])("%s and %s: %s", (pattern, path, expected) => {
    expect(fits(pattern, path)).toBe(expected);
  });

  it.each([
    ["star", (stars: number) => `/${"*a".repeat(stars)}*b`, (length: number) => "a".repeat(length)],
    [
      "pair of stars",
      (stars: number) => `/${"**/a/".repeat(stars)}b`,
      (length: number) => `${"a/".repeat(length)}c`,
    ],
  ])("are tried in linear time, however often a %s could begin", async (_, pattern, path) => {
    const tryOut = (stars: number, length: number) =>
      expect(fits(pattern(stars), path(length))).toBe(false);
    // With backtracking into each star it takes seconds, and with more of them it would not end in a lifetime.
    await expectQuick(() => tryOut(12, 28), 5);
    await expectLinear((length) => tryOut(400, 400 + length), 8000);
    await expectLinear((stars) => tryOut(stars, 4000), 2000);
  });
});

describe("a CODEOWNERS file", () => {
  it("names users, groups, roles and addresses", () => {
    const file = "a @Ada @acme/Tools eve@a.test @@maintainers @@guest plain\n";
    expect(new CodeOwners(file).entriesOf("a")).toEqual([
      {
        pattern: "a",
        section: "codeowners",
        approvals: 0,
        owners: { names: ["ada", "acme/tools"], emails: ["eve@a.test"], roles: ["maintainer"] },
      },
    ]);
  });

  it("takes the last line that fits, in each section", () => {
    const file = `
# Everything @nobody
* @admin

[README Owners]
README.md @one @two
internal/README.md @four

[README other owners]
README.md @three
`;
    expect(ownersOf(file, "README.md")).toEqual({
      codeowners: "admin",
      "README Owners": "one two",
      "README other owners": "three",
    });
    expect(ownersOf(file, "internal/README.md")).toEqual({
      codeowners: "admin",
      "README Owners": "four",
      "README other owners": "three",
    });
  });

  it("takes the later one of two equal lines", () => {
    expect(ownersOf("*.md @one\na.md @two\n*.md @three", "a.md")).toEqual({ codeowners: "three" });
  });

  it("gives lines without owners those of their section", () => {
    const file = "[Docs][2] @docs @eve\ndocs/\ndocs/api/ @api\n[docs]\nREADME @ada\n";
    expect(ownersOf(file, "docs/a")).toEqual({ Docs: "docs eve" });
    expect(ownersOf(file, "docs/api/a")).toEqual({ Docs: "api" });
    expect(ownersOf(file, "README")).toEqual({ Docs: "ada" });
    const approvals = ["docs/a", "README"].map(
      (path) => new CodeOwners(file).entriesOf(path)[0]?.approvals,
    );
    expect(approvals).toEqual([2, 0]);
  });

  it("leaves out what an exclusion fits, whatever follows", () => {
    const file = "* @all\n!pom.xml\n!*.rb\n/special/*.rb @ruby\n[Ruby]\n*.rb @team";
    expect(ownersOf(file, "pom.xml")).toEqual({});
    expect(ownersOf(file, "special/a.rb")).toEqual({ Ruby: "team" });
  });

  it("says which sections are optional: those without a line that is not", () => {
    const file = "^[Go]\n*.go @a\n^[Both]\n*.a @a\n[both]\n*.b @b\n^[Broken\n[Docs]\n*.md @a";
    const owners = new CodeOwners(file);
    const optional = ["Go", "Both", "Docs"].map((section) => owners.isOptional(section));
    expect(optional).toEqual([true, false, false]);
    expect(ownersOf(file, "a.b")).toEqual({ Both: "b" });
  });
});
