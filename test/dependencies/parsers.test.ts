import { readFile } from "node:fs/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  DEPENDENCY_FILES,
  DependencyError,
  readDependencyFiles,
  readDependencyReport,
} from "../../src/dependencies/index.ts";
import { runs, tryRandomly } from "../forms.ts";
import { expectLinear, expectQuick } from "../relative-time.ts";

const fixture = (path: string) => readFile(new URL(`./fixtures/${path}`, import.meta.url), "utf8");

/** The dependencies in a file, as `name version` each. */
async function read(path: string, content: string): Promise<string[]> {
  const [file] = await readDependencyFiles([{ path, content }]);
  return file?.dependencies.map(({ name, version }) => `${name} ${version}`) ?? [];
}

const readFixture = async (path: string) => read(path, await fixture(path));

async function problemOf(path: string, content: string): Promise<string> {
  const error = await read(path, content).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(DependencyError);
  return (error as Error).message;
}

/** Locked by both npm and Yarn for the same package.json. */
const SHOP = [
  "@sindresorhus/slugify 1.1.2",
  "@sindresorhus/transliterate 0.1.2",
  "ansi-styles 3.2.1",
  "ansi-styles 4.3.0",
  "chalk 4.1.2",
  "color-convert 1.9.3",
  "color-convert 2.0.1",
  "color-name 1.1.3",
  "color-name 1.1.4",
  "escape-string-regexp 2.0.0",
  "escape-string-regexp 4.0.0",
  "has-flag 4.0.0",
  "leftpad 0.0.1",
  "lodash.deburr 4.1.0",
  "lru-cache 6.0.0",
  "semver 7.5.4",
  "supports-color 7.2.0",
  "yallist 4.0.0",
];

describe("files written by npm, Yarn, Bundler and Composer", () => {
  it.each([
    "npm-v1/package-lock.json",
    "npm-v2/package-lock.json",
    "npm-v3/package-lock.json",
    "yarn-1/yarn.lock",
    "yarn-4/yarn.lock",
  ])("are read the same, with aliases resolved: %s", async (path) => {
    expect((await readFixture(path)).sort()).toEqual(SHOP);
  });

  it("are read from Bundler, without platforms", async () => {
    expect(await readFixture("bundler/Gemfile.lock")).toEqual([
      "billing 0.1.0",
      "mustermann 3.0.0",
      "nokogiri 1.15.4",
      "rack 2.2.8",
      "ruby2_keywords 0.0.5",
      "sinatra 3.1.0",
      "tracker 1.4.2",
    ]);
  });

  it("are read from Composer, including development dependencies", async () => {
    expect(await readFixture("composer/composer.lock")).toEqual([
      "acme/money dev-main",
      "doctrine/instantiator 1.5.0",
      "monolog/monolog 2.9.1",
      "psr/log v3.0.0",
    ]);
  });

  it("are read from this project's own lock file", async () => {
    const content = await readFile(new URL("../../package-lock.json", import.meta.url), "utf8");
    const found = await read("package-lock.json", content);
    const { packages } = JSON.parse(content) as {
      packages: Record<string, { name?: string; version: string }>;
    };
    const installed = Object.entries(packages)
      .filter(([path]) => path.includes("node_modules/"))
      .map(
        ([path, { name, version }]) => `${name ?? path.split("node_modules/").at(-1)} ${version}`,
      );
    expect(new Set(found)).toEqual(new Set(installed));
    expect(found.length).toBeGreaterThan(200);
  });
});

describe("pom.xml", () => {
  it("takes versions from properties and its own dependency management", async () => {
    expect(await readFixture("maven/pom.xml")).toEqual([
      "com.example/money 2.10",
      "com.fasterxml.jackson.core/jackson-databind 2.15.2",
      "junit/junit 4.13.2",
      "org.slf4j/slf4j-api 1.10",
      "org.unknown/from-the-parent ",
      "org.unknown/looping ",
    ]);
  });

  it("may have no dependencies", async () => {
    expect(await read("pom.xml", "<project><artifactId>a</artifactId></project>")).toEqual([]);
  });
});

describe("Python", () => {
  it("reads pinned versions and ranges from requirements.txt", async () => {
    expect(await readFixture("pip/requirements.txt")).toEqual([
      "Flask 2.3.3",
      "click 8.1.7",
      "itsdangerous ",
      "jinja2 3.1.2",
      "numpy ==1.26.*",
      "packaging ~=23.0",
      "requests >=2.28,<3",
      "six ",
      "tracker ",
    ]);
  });

  it("reads locked versions from Pipfile.lock, in all categories", async () => {
    expect(await readFixture("pipenv/Pipfile.lock")).toEqual([
      "click 8.1.7",
      "flask 2.3.3",
      "iniconfig 2.0.0",
      "shop ",
      "sphinx 7.2.6",
      "tracker d15fea6375e07114bd371dc5d3c957f404abfd42",
    ]);
  });
});

describe("details", () => {
  it("leaves out workspaces, and strips passwords from URLs", async () => {
    const lock = {
      lockfileVersion: 1,
      dependencies: {
        own: { version: "file:packages/own" },
        git: { version: "git+https://user:secret@git.example.com/a.git#d15fea6" },
        tarball: { version: "https://user:secret@files.example.com/a.tgz" },
      },
    };
    expect(await read("package-lock.json", JSON.stringify(lock))).toEqual([
      "git d15fea6",
      "tarball ",
    ]);
    const workspaces = {
      packages: {
        "": { name: "root" },
        "packages/own": { version: "1.0.0" },
        "node_modules/own": { resolved: "packages/own", link: true },
        "packages/own/node_modules/@a/b": { version: "2.0.0" },
      },
    };
    expect(await read("package-lock.json", JSON.stringify(workspaces))).toEqual(["@a/b 2.0.0"]);
  });

  it("reads Windows line ends and byte order marks", async () => {
    expect(await read("requirements.txt", "\uFEFFa==1\r\nb==2\r\n")).toEqual(["a 1", "b 2"]);
    const lock = (await fixture("bundler/Gemfile.lock")).replaceAll("\n", "\r\n");
    expect(await read("Gemfile.lock", lock)).toHaveLength(7);
    const yarn = (await fixture("yarn-1/yarn.lock")).replaceAll("\n", "\r\n");
    expect(await read("yarn.lock", yarn)).toHaveLength(SHOP.length);
  });

  it("counts duplicates once", async () => {
    expect(await read("requirements.txt", "a==1\na==1\na==2")).toEqual(["a 1", "a 2"]);
  });

  it("supports every file name listed, in any folder", async () => {
    const empty = '{"_meta":{},"packages":[]}';
    for (const name of DEPENDENCY_FILES) {
      const content = name === "pom.xml" ? "<project/>" : /json|Pip|comp/.test(name) ? empty : "";
      expect(await read(`a/b/${name}`, content), name).toEqual([]);
    }
  });

  it.each(DEPENDENCY_FILES)("parses any text as %s, or reports what is wrong", async (name) => {
    const piece = fc.constantFrom(..."{}[]<>\"':,=@#&*!|-\n\\ $".split(""), "a", "1", "__proto__");
    const text = fc.oneof(
      fc.string(),
      fc.array(piece).map((pieces) => pieces.join("")),
      fc.json(),
    );
    await tryRandomly(
      fc.asyncProperty(text, async (content) => {
        const error = await read(name, content).catch((reason: unknown) => reason);
        if (error instanceof Error) expect(error).toBeInstanceOf(DependencyError);
      }),
      { numRuns: runs(100, 1000) },
    );
  });
});

describe("an unreadable file", () => {
  it.each([
    ["app/README.md", "", /^app\/README\.md: is none of the files that are read/],
    ["app/package-lock.json", "{", /^app\/package-lock\.json: .*JSON/],
    ["package-lock.json", "[]", /is no JSON object$/],
    ["package-lock.json", "{}", /has neither packages nor dependencies$/],
    [
      "package-lock.json",
      '{"packages":{"node_modules/a":1}}',
      /packages\.node_modules\/a is no obj/,
    ],
    ["package-lock.json", '{"packages":{"node_modules/":{}}}', /a name is empty$/],
    ["composer.lock", '{"packages":{"a":1}}', /packages is no array$/],
    ["composer.lock", '{"packages":[{}]}', /a name is empty$/],
    ["composer.lock", "{}", /has no packages$/],
    ["Gemfile.lock", "<<<<<<< HEAD\n", /has no section such as GEM$/],
    ["Pipfile.lock", '{"default":{"a":[]}}', /default\.a is no object$/],
    ["Pipfile.lock", "{}", /has neither _meta nor default$/],
    ["a/requirements.txt", "a==1\n\\\n=b", /^a\/requirements\.txt: line 2 is no requirement: =b$/],
    ["requirements.txt", "a == 1 oops", /line 1 is no requirement/],
    ["yarn.lock", "# yarn lockfile v1\n\na@1\n  version", /^yarn\.lock: Expected/],
    ["yarn.lock", "a: [1\nb: 2", /^yarn\.lock: /],
    ["yarn.lock", '{"a": 1}', /a has no version$/],
    ["pom.xml", "<project><a></b></project>", /^pom\.xml: line 1: Expected closing tag/],
    ["pom.xml", "hello", /^pom\.xml: /],
    ["pom.xml", "<settings><a>1</a></settings>", /has no <project>$/],
    [
      "pom.xml",
      "<project><dependencies><dependency><artifactId>a</artifactId></dependency></dependencies></project>",
      /has a dependency without groupId or artifactId$/,
    ],
  ])("is reported by name with the reason: %s %s", async (path, content, problem) => {
    expect(await problemOf(path, content)).toMatch(problem);
  });

  it("is refused for values no database column can store", async () => {
    const lock = (name: string, version = "1") =>
      JSON.stringify({ packages: { [`node_modules/${name}`]: { version } } });
    const problem = (name: string, version?: string) =>
      problemOf("package-lock.json", lock(name, version));
    expect(await problem("x".repeat(256))).toMatch(/a name is longer than 255 characters$/);
    expect(await problem("x", "1".repeat(256))).toMatch(/the version of x is longer/);
    expect(await problem("a\u0000b")).toMatch(/characters that belong in none$/);
    expect(await problem("\u{1b}[2J")).toMatch(/characters that belong in none$/);
    expect(await problem("a\ud800")).toMatch(/characters that belong in none$/);
  });
});

describe("hostile files", () => {
  async function quickly(path: string, content: string): Promise<unknown> {
    let result: unknown;
    const parse = async () => {
      result = await read(path, content).catch((error: unknown) => error);
    };
    await expectQuick(parse, 300, path);
    if (result instanceof Error) expect(result).toBeInstanceOf(DependencyError);
    return result;
  }

  it("don't expand entities, anchors or properties without limit", async () => {
    const entities = [..."bcdefghij"]
      .map((name, at) => `<!ENTITY ${name} "${`&${"abcdefghij"[at]};`.repeat(10)}">`)
      .join("");
    const laughs = `<!DOCTYPE l [<!ENTITY a "lol">${entities}]><project><dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId><version>&j;</version></dependency></dependencies></project>`;
    expect(await quickly("pom.xml", laughs)).toEqual(["g/a &j;"]);
    expect(
      await quickly("pom.xml", '<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]><project/>'),
    ).toBeInstanceOf(DependencyError);

    const properties = [..."bcdefghijklmnop"]
      .map((name, at) => `<${name}>${`\${${"abcdefghijklmnop"[at]}}`.repeat(20)}</${name}>`)
      .join("");
    const growing = `<project><properties><a>lol</a>${properties}</properties><dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId><version>\${p}</version></dependency></dependencies></project>`;
    expect(await quickly("pom.xml", growing)).toEqual(["g/a "]);

    const anchors = [..."bcdefghij"]
      .map((name, at) => `${name}: &${name} [${Array(9).fill(`*${"abcdefghij"[at]}`).join(",")}]`)
      .join("\n");
    expect(await quickly("yarn.lock", `a: &a ["lol"]\n${anchors}\n`)).toBeInstanceOf(
      DependencyError,
    );
  });

  it("don't overflow the stack by nesting", async () => {
    const nest = (open: string, close: string, times: number) =>
      open.repeat(times) + close.repeat(times);
    const deep = `{"lockfileVersion":1${nest(',"dependencies":{"a":{"version":"1"', "}}", 50_000)}}`;
    expect(await quickly("package-lock.json", deep)).toEqual(["a 1"]);
    expect(await quickly("pom.xml", nest("<a>", "</a>", 50_000))).toBeInstanceOf(DependencyError);
    expect(await quickly("yarn.lock", `a: ${nest("[", "]", 50_000)}`)).toBeInstanceOf(
      DependencyError,
    );
    const indented = Array.from({ length: 2000 }, (_, at) => `${"  ".repeat(at)}a:`).join("\n");
    expect(await quickly("yarn.lock", `# yarn lockfile v1\n\n${indented}\n`)).toBeInstanceOf(
      DependencyError,
    );
  });

  it("don't pollute prototypes, and such names are ordinary", async () => {
    const lock =
      '{"lockfileVersion":1,"dependencies":{"__proto__":{"version":"1","polluted":"y"},"constructor":{"version":"2"}}}';
    expect(await quickly("package-lock.json", lock)).toEqual(["__proto__ 1", "constructor 2"]);
    expect(
      await quickly("Pipfile.lock", '{"__proto__":{"a":{"version":"==1"}},"_meta":{}}'),
    ).toEqual(["a 1"]);
    await quickly(
      "yarn.lock",
      '# yarn lockfile v1\n\n__proto__:\n  version "1"\n  polluted "y"\nconstructor@1:\n  version "2"\n',
    );
    await quickly("yarn.lock", '__proto__:\n  version: 1\n  polluted: "y"\n');
    await quickly(
      "pom.xml",
      "<project><properties><__proto__><polluted>y</polluted></__proto__></properties></project>",
    );
    expect("polluted" in {}).toBe(false);
  });

  it.each<[string, string]>([
    ["requirements.txt", `a${" ".repeat(200_000)}b`],
    ["requirements.txt", `a<=1${",<=1".repeat(20_000)},!`],
    ["requirements.txt", "a\\\n".repeat(50_000)],
    ["requirements.txt", `a[${"[".repeat(200_000)}`],
    ["requirements.txt", `${"#".repeat(200_000)}`],
    ["Gemfile.lock", `GEM\n    ${"a".repeat(200_000)} (${"1".repeat(200_000)}`],
    ["yarn.lock", `#${"\n".repeat(200_000)}x: 1`],
    ["yarn.lock", "#\n".repeat(100_000)],
    ["pom.xml", "<".repeat(200_000)],
    ["pom.xml", `<project>${"${".repeat(100_000)}</project>`],
    ["pom.xml", `<project ${'a="1" '.repeat(20_000)}></project>`],
    ["pom.xml", `<!DOCTYPE ${"[".repeat(100_000)}`],
    ["pom.xml", `<!--${"-".repeat(200_000)}`],
  ])("are parsed in linear time: %s", async (path, content) => {
    await quickly(path, content);
  });

  it("are refused above 64 MiB", async () => {
    expect(await problemOf("yarn.lock", " ".repeat(64 * 1024 * 1024 + 1))).toBe(
      "yarn.lock: is larger than 64 MiB",
    );
  });
});

/** The contents of a report by file: `manager name version [vulnerability severity]` each. */
async function report(content: unknown, path = "dir/bom.json") {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const { files, skipped } = await readDependencyReport({ path, content: text });
  const byFile = files.map(({ path: file, dependencies }) => [
    file,
    dependencies.map(({ package_manager, name, version, vulnerabilities }) =>
      [
        package_manager,
        name,
        version,
        ...vulnerabilities.map((v) => `${v.name}: ${v.severity}`),
      ].join(" "),
    ),
  ]);
  return { files: Object.fromEntries(byFile) as Record<string, string[]>, skipped };
}

describe("CycloneDX", () => {
  const bom = (more: object, specVersion = "1.5") => ({
    bomFormat: "CycloneDX",
    specVersion,
    ...more,
  });
  const property = (name: string, value: string) => ({
    name: `gitlab:dependency_scanning:${name}`,
    value,
  });

  it("is read as npm writes it, under the report's own name", async () => {
    const { files, skipped } = await report(await fixture("reports/npm.cdx.json"), "npm.cdx.json");
    expect(skipped).toBe(0);
    expect(files["npm.cdx.json"]?.map((line) => line.replace("npm ", "")).sort()).toEqual(SHOP);
  });

  it.each(["1.4", "1.5", "1.6", "1.7"])("is read in version %s", async (version) => {
    expect((await report(bom({ components: [] }, version))).files).toEqual({ "bom.json": [] });
  });

  it("derives package managers from package URLs, and skips those the API does not know", async () => {
    const components = [
      { name: "x", purl: "pkg:gem/rack@2.2.8?platform=ruby" },
      { name: "x", purl: "pkg:composer/monolog/monolog@2.9.1" },
      { name: "x", purl: "pkg:maven/org.slf4j/slf4j-api@1.10?type=jar#a/b" },
      { name: "x", purl: "pkg:npm/%40a/b@1.0.0%2Bbuild" },
      { name: "x", purl: "pkg:npm/@a/c@1.0.0" },
      { name: "x", purl: "pkg:npm/@a/d", version: "3" },
      { name: "x", purl: "pkg:PyPI/django@4.2", components: [{ purl: "pkg:pypi/nested@1" }] },
      { name: "x", purl: "pkg:golang/example.com/tool@v1.0.0" },
      { type: "file", name: "README" },
    ];
    expect(await report(bom({ components }))).toEqual({
      files: {
        "bom.json": [
          "npm @a/b 1.0.0+build",
          "npm @a/c 1.0.0",
          "npm @a/d 3",
          "pip django 4.2",
          "composer monolog/monolog 2.9.1",
          "pip nested 1",
          "maven org.slf4j/slf4j-api 1.10",
          "bundler rack 2.2.8",
        ],
      },
      skipped: 2,
    });
  });

  it("takes files and package managers from GitLab's properties, a component's before the document's", async () => {
    const { files } = await report(
      bom({
        metadata: {
          properties: [property("input_file:path", "app/yarn.lock"), property("x", "y")],
        },
        components: [
          { purl: "pkg:npm/a@1" },
          { purl: "pkg:pypi/b@1", properties: [property("input_file:path", "api/Pipfile.lock")] },
          { purl: "pkg:npm/c@1", properties: [property("package_manager:name", "pnpm")] },
        ],
      }),
    );
    expect(files).toEqual({
      "app/yarn.lock": ["yarn a 1", "npm c 1"],
      "api/Pipfile.lock": ["pip b 1"],
    });
  });

  it("empties a file it names without components", async () => {
    const metadata = { properties: [property("input_file:path", "web/yarn.lock")] };
    expect((await report(bom({ metadata }))).files).toEqual({ "web/yarn.lock": [] });
  });

  it("gives vulnerabilities the worst of their ratings", async () => {
    const affects = [{ ref: "a" }];
    const rated = (id: string, ...ratings: object[]) => ({ id, ratings, affects });
    const { files } = await report(
      bom({
        components: [
          { "bom-ref": "a", purl: "pkg:npm/a@1" },
          { "bom-ref": "b b", purl: "pkg:npm/b@1" },
        ],
        vulnerabilities: [
          rated("worst", { severity: "low" }, { severity: "critical" }, { severity: "unknown" }),
          rated("none", { severity: "none" }),
          rated("score", { score: 7.5, method: "CVSSv31" }),
          rated("unrated"),
          rated("strange", { severity: "awful" }),
          { ...rated("fixed", { severity: "high" }), analysis: { state: "resolved" } },
          { ...rated("wrong", { severity: "high" }), analysis: { state: "false_positive" } },
          { ...rated("real", { severity: "high" }), analysis: { state: "exploitable" } },
          {
            id: "linked",
            affects: [{ ref: "urn:cdx:f08a6ccd-4dce-4759-bd84-c626675d60a7/1#b%20b" }],
          },
          { id: "elsewhere", affects: [{ ref: "nowhere" }] },
        ],
      }),
    );
    expect(files["bom.json"]).toEqual([
      "npm a 1 worst: critical none: info score: high unrated: unknown strange: unknown real: high",
      "npm b 1 linked: unknown",
    ]);
  });

  it.each<[object, RegExp]>([
    [bom({}, "1.3"), /^dir\/bom\.json: is CycloneDX 1\.3: 1\.4 to 1\.7 are read$/],
    [{ bomFormat: "CycloneDX" }, /is CycloneDX of no version/],
    [bom({ components: {} }), /components is no array$/],
    [bom({ components: [1] }), /components\[0\] is no object$/],
    [bom({ components: [{ purl: "npm/a@1" }] }), /npm\/a@1 is no package URL$/],
    [bom({ components: [{ purl: "pkg:npm/%zz@1" }] }), /has a malformed escape$/],
    [{ spdxVersion: "SPDX-2.3" }, /is neither a CycloneDX SBOM nor a dependency scanning report/],
    [{ scan: { type: "sast" }, dependency_files: [] }, /is neither/],
  ])("is refused if it can't be read: %j", async (content, problem) => {
    await expect(report(content)).rejects.toThrow(problem);
  });

  it("is traversed without recursion", async () => {
    const deep = `{"bomFormat":"CycloneDX","specVersion":"1.6","components":${'[{"purl":"pkg:npm/a@1","components":'.repeat(20_000)}[]${"}]".repeat(20_000)}}`;
    expect((await report(deep)).files).toEqual({ "bom.json": ["npm a 1"] });
  });
});

describe("GitLab's dependency scanning report", () => {
  it("has dependencies by file and vulnerabilities by location", async () => {
    expect(await report(await fixture("reports/gl-dependency-scanning-report.json"))).toEqual({
      files: {
        "app/yarn.lock": [
          "yarn debug 1.0.5 Regular Expression Denial of Service: unknown Authentication bypass via incorrect DOM traversal: critical",
          "yarn ms 0.6.2",
        ],
        "api/Pipfile.lock": ["pip Django 1.11.4"],
      },
      skipped: 1,
    });
  });

  it("with very many vulnerabilities of one component is parsed in linear time", async () => {
    const component = { "bom-ref": "a", purl: "pkg:npm/a@1" };
    const reports = new Map<number, string>();
    for (const length of [5000, 40_000]) {
      const vulnerabilities = Array.from({ length }, (_, at) => ({
        id: `CVE-${at}`,
        affects: [{ ref: "a" }],
      }));
      const components = Array.from({ length: length / 20 }, () => component);
      const bom = { bomFormat: "CycloneDX", specVersion: "1.6", components, vulnerabilities };
      reports.set(length, JSON.stringify(bom));
    }
    await expectLinear(async (length) => {
      const content = reports.get(length) as string;
      const { files } = await readDependencyReport({ path: "bom.json", content });
      expect(files[0]?.dependencies[0]?.vulnerabilities).toHaveLength(length);
    }, 40_000);
  });
});
