import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiError, DependencyError } from "../../src/index.ts";
import type { Seed } from "../../src/seed/input.ts";
import { baseSeed, type Person, type TestApp, testApp } from "../helpers.ts";

const fixture = (path: string) =>
  readFile(new URL(`../dependencies/fixtures/${path}`, import.meta.url), "utf8");

type Project = NonNullable<NonNullable<Seed["groups"]>[number]["projects"]>[number];
const dependencies: NonNullable<Project["dependencies"]> = [
  {
    name: "rack",
    version: "2.2.8",
    package_manager: "bundler",
    dependency_file_path: "Gemfile.lock",
    vulnerabilities: [{ name: "DDoS", severity: "unknown" }],
  },
  {
    name: "chalk",
    version: "4.1.2",
    package_manager: "yarn",
    dependency_file_path: "web/yarn.lock",
  },
  {
    name: "Zope",
    version: "5.8",
    package_manager: "pip",
    dependency_file_path: "requirements.txt",
  },
  { name: "debug", version: "1.0.5", package_manager: "yarn", dependency_file_path: "yarn.lock" },
];
const seed: Seed = {
  ...baseSeed,
  users: [
    ...(baseSeed.users ?? []),
    { username: "outsider", external: true, tokens: [{ token: "token-of-outsider" }] },
  ],
  groups: baseSeed.groups?.map((group) => ({
    ...group,
    projects: [
      ...(group.projects ?? []).map((project) => ({ ...project, dependencies })),
      ...["empty", "scanned"].map((path) => ({ path })),
      {
        path: "inner",
        visibility: group.visibility === "public" ? ("internal" as const) : ("private" as const),
        members: { outsider: "guest" as const },
        dependencies,
      },
    ],
  })),
};

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ seed });
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite/dependencies";
const VAULT = "/projects/secret%2Fvault/dependencies";
const list = (path: string, as: Person) => app.call(`GET ${path}`, { as });
const names = async (path: string) =>
  (await list(path, "developer")).json.map(({ name }: { name: string }) => name);

describe("GET /projects/:id/dependencies", () => {
  it("lists all dependencies of the project, by name", async () => {
    const { status, json } = await list(VAULT, "developer");
    expect(status).toBe(200);
    expect(json).toEqual([
      {
        name: "Zope",
        version: "5.8",
        package_manager: "pip",
        dependency_file_path: "requirements.txt",
        vulnerabilities: [],
      },
      {
        name: "chalk",
        version: "4.1.2",
        package_manager: "yarn",
        dependency_file_path: "web/yarn.lock",
        vulnerabilities: [],
      },
      {
        name: "debug",
        version: "1.0.5",
        package_manager: "yarn",
        dependency_file_path: "yarn.lock",
        vulnerabilities: [],
      },
      {
        name: "rack",
        version: "2.2.8",
        package_manager: "bundler",
        dependency_file_path: "Gemfile.lock",
        vulnerabilities: [{ name: "DDoS", severity: "unknown" }],
      },
    ]);
  });

  it("is empty if nothing was scanned", async () => {
    expect(await names("/projects/secret%2Fempty/dependencies")).toEqual([]);
  });

  it.each([
    ["package_manager=yarn", ["chalk", "debug"]],
    ["package_manager=yarn,bundler", ["chalk", "debug", "rack"]],
    ["package_manager=%20yarn%20,%20pip,", ["Zope", "chalk", "debug"]],
    ["package_manager[]=bundler&package_manager[]=pip", ["Zope", "rack"]],
    ["package_manager[]=bundler,pip", ["Zope", "rack"]],
    ["package_manager=maven", []],
    ["package_manager=", ["Zope", "chalk", "debug", "rack"]],
    ["package_manager", ["Zope", "chalk", "debug", "rack"]],
  ])("filters by package manager: %s", async (query, expected) => {
    expect(await names(`${VAULT}?${query}`)).toEqual(expected);
  });

  it.each(["nray,yarn", "yarn,nray", "Yarn", "__proto__", "yarn%20bundler"])(
    "rejects the package manager %s",
    async (word) => {
      const { status, json } = await list(`${VAULT}?package_manager=${word}`, "developer");
      expect([status, json]).toEqual([
        400,
        { message: { package_manager: ["does not have a valid value"] } },
      ]);
    },
  );

  it("is paginated", async () => {
    const { json, headers } = await list(`${VAULT}?per_page=1&page=2`, "developer");
    expect(json.map(({ name }: { name: string }) => name)).toEqual(["chalk"]);
    expect(
      ["x-page", "x-per-page", "x-total", "x-total-pages", "x-prev-page", "x-next-page"].map(
        (name) => headers.get(name),
      ),
    ).toEqual(["2", "1", "4", "4", "1", "3"]);
    expect(headers.get("link")).toContain('rel="next"');
    const filtered = await list(`${VAULT}?package_manager=yarn,pip&per_page=2`, "developer");
    expect(filtered.headers.get("x-total")).toBe("3");
    expect(filtered.headers.get("link")).toContain("package_manager=yarn%2Cpip");
  });

  const unauthorized = { message: "401 Unauthorized" };
  const forbidden = { message: "403 Forbidden" };
  const notFound = { message: "404 Project Not Found" };
  it.each<[Person, number, object | undefined, number, object | undefined]>([
    ["anonymous", 401, unauthorized, 401, unauthorized],
    ["stranger", 200, undefined, 404, notFound],
    ["guest", 200, undefined, 403, forbidden],
    ["reporter", 200, undefined, 200, undefined],
    ["developer", 200, undefined, 200, undefined],
    ["maintainer", 200, undefined, 200, undefined],
    ["owner", 200, undefined, 200, undefined],
    ["admin", 200, undefined, 200, undefined],
  ])(
    "requires access to the repository: %s gets %i of a public project",
    async (as, open, openBody, closed, closedBody) => {
      const publicly = await list(SITE, as);
      expect(publicly.status).toBe(open);
      if (openBody) expect(publicly.json).toEqual(openBody);
      const privately = await list(VAULT, as);
      expect(privately.status).toBe(closed);
      if (closedBody) expect(privately.json).toEqual(closedBody);
    },
  );

  it("treats internal projects as private for external users", async () => {
    const path = "/projects/acme%2Finner/dependencies";
    expect((await list(path, "stranger")).status).toBe(200);
    const { status } = await app.call(`GET ${path}`, {
      headers: { "private-token": "token-of-outsider" },
    });
    expect(status).toBe(403);
  });

  it.each<[Person, number]>([
    ["stranger", 0],
    ["guest", 0],
    ["reporter", 0],
    ["developer", 1],
    ["maintainer", 1],
    ["owner", 1],
    ["admin", 1],
  ])("shows vulnerabilities to developers and above: %s sees %i", async (as, seen) => {
    const { json } = await list(`${SITE}?package_manager=bundler`, as);
    expect(json[0].vulnerabilities).toHaveLength(seen);
  });

  it.each(["free", "premium"] as const)("belongs to ultimate, not to %s", async (tier) => {
    const lesser = await testApp({ tier });
    const { status, json } = await lesser.call(`GET ${SITE}`, { as: "owner" });
    expect([status, json]).toEqual([403, forbidden]);
    await lesser.dispose();
  });

  it("validates parameters before it checks access", async () => {
    expect((await list(`${VAULT}?package_manager=nray`, "stranger")).status).toBe(400);
    expect((await app.call(`GET ${VAULT}?package_manager=nray`)).status).toBe(401);
    expect((await list("/projects/acme%2Fnone/dependencies", "owner")).json).toEqual(notFound);
  });
});

describe("admin.dependencies.scan", () => {
  const PROJECT = "acme/scanned";
  const PATH = "/projects/acme%2Fscanned/dependencies";
  const npm = (packages: Record<string, string>) =>
    JSON.stringify({
      packages: Object.fromEntries(
        Object.entries(packages).map(([name, version]) => [`node_modules/${name}`, { version }]),
      ),
    });
  const shown = async () =>
    (await list(`${PATH}?per_page=100`, "developer")).json.map(
      (one: { name: string; version: string; dependency_file_path: string }) =>
        `${one.dependency_file_path} ${one.name} ${one.version}`,
    );

  it("replaces what was stored for the file, and leaves other files alone", async () => {
    const first = await app.admin.dependencies.scan(PROJECT, [
      { path: "package-lock.json", content: npm({ a: "1", b: "1" }) },
      { path: "./web/package-lock.json", content: npm({ c: "1" }) },
    ]);
    expect(first).toEqual({
      files: [
        { path: "package-lock.json", dependencies: 2, vulnerabilities: 0 },
        { path: "web/package-lock.json", dependencies: 1, vulnerabilities: 0 },
      ],
      skipped: 0,
    });
    await app.admin.dependencies.scan(PROJECT, [
      { path: "package-lock.json", content: npm({ b: "2" }) },
    ]);
    expect(await shown()).toEqual(["package-lock.json b 2", "web/package-lock.json c 1"]);
    await app.admin.dependencies.scan(PROJECT, [{ path: "package-lock.json", content: npm({}) }]);
    expect(await shown()).toEqual(["web/package-lock.json c 1"]);
  });

  it("changes nothing if one file can't be parsed", async () => {
    const before = await shown();
    const refused = app.admin.dependencies.scan(PROJECT, [
      { path: "package-lock.json", content: npm({ d: "1" }) },
      { path: "web/yarn.lock", content: "<<<<<<< HEAD" },
    ]);
    await expect(refused).rejects.toThrow(DependencyError);
    await expect(refused).rejects.toThrow(/^web\/yarn\.lock: /);
    expect(await shown()).toEqual(before);
  });

  it("finds projects by path, whatever its case, and by id", async () => {
    const { json } = await app.call("GET /projects/acme%2Fscanned", { as: "owner" });
    for (const name of ["ACME/Scanned", String(json.id)]) {
      expect((await app.admin.dependencies.scan(name, [])).files).toEqual([]);
    }
    await expect(app.admin.dependencies.scan("acme/none", [])).rejects.toThrow(ApiError);
  });

  it("takes hundreds, listed in pages", async () => {
    const content = await readFile(new URL("../../package-lock.json", import.meta.url), "utf8");
    const { files } = await app.admin.dependencies.scan(PROJECT, [
      { path: "package-lock.json", content },
    ]);
    const total = (files[0]?.dependencies ?? 0) + 1;
    const { json, headers } = await list(`${PATH}?per_page=100&page=2`, "developer");
    expect(json).toHaveLength(100);
    expect(headers.get("x-total")).toBe(String(total));
  });
});

describe("admin.dependencies.importReport", () => {
  const PATH = "/projects/secret%2Fscanned/dependencies";

  it("imports vulnerabilities, which a later scan of the file removes", async () => {
    const report = {
      path: "gl-dependency-scanning-report.json",
      content: await fixture("reports/gl-dependency-scanning-report.json"),
    };
    expect(await app.admin.dependencies.importReport("secret/scanned", report)).toEqual({
      files: [
        { path: "app/yarn.lock", dependencies: 2, vulnerabilities: 2 },
        { path: "api/Pipfile.lock", dependencies: 1, vulnerabilities: 0 },
      ],
      skipped: 1,
    });
    await app.admin.dependencies.importReport("secret/scanned", report);
    const { json } = await list(PATH, "developer");
    expect(json).toHaveLength(3);
    expect(json[1]).toEqual({
      name: "debug",
      version: "1.0.5",
      package_manager: "yarn",
      dependency_file_path: "app/yarn.lock",
      vulnerabilities: [
        { name: "Regular Expression Denial of Service", severity: "unknown" },
        { name: "Authentication bypass via incorrect DOM traversal", severity: "critical" },
      ],
    });
    await app.admin.dependencies.scan("secret/scanned", [
      { path: "app/yarn.lock", content: '# yarn lockfile v1\n\ndebug@1:\n  version "1.0.5"\n' },
    ]);
    const after = await list(PATH, "developer");
    expect(
      after.json.map(({ vulnerabilities }: { vulnerabilities: [] }) => vulnerabilities),
    ).toEqual([[], []]);
  });

  it("stores any text of a vulnerability unchanged", async () => {
    const name = 'a "quoted" \\ \u{1f4a3} \u2028 name';
    const bom = {
      bomFormat: "CycloneDX",
      specVersion: "1.7",
      components: [{ "bom-ref": "a", purl: "pkg:npm/a@1" }],
      vulnerabilities: [{ id: name, ratings: [{ severity: "low" }], affects: [{ ref: "a" }] }],
    };
    await app.admin.dependencies.importReport("secret/empty", {
      path: "out/bom.json",
      content: JSON.stringify(bom),
    });
    const { json } = await list("/projects/secret%2Fempty/dependencies", "developer");
    expect(json[0].dependency_file_path).toBe("bom.json");
    expect(json[0].vulnerabilities).toEqual([{ name: name.replace(/\s+/g, " "), severity: "low" }]);
  });

  it("reports what is wrong with a report", async () => {
    const refused = app.admin.dependencies.importReport("secret/scanned", {
      path: "x.json",
      content: "{",
    });
    await expect(refused).rejects.toThrow(/^x\.json: .*JSON/);
  });
});
