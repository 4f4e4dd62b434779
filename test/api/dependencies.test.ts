import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiError, DependencyError } from "../../src/index.ts";
import type { Seed } from "../../src/seed/input.ts";
import { baseSeed, everyone, type Person, type TestApp, testApp } from "../helpers.ts";
import { ciProject, runnerOf, takeJob } from "./_pipelines.ts";

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

/** A dependency as lists have it. */
interface Listed {
  readonly name: string;
  readonly version: string;
  readonly dependency_file_path: string;
  readonly vulnerabilities: readonly object[];
}

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

describe("exports", () => {
  const start = (place: string, json: object = {}, as: Person = "developer") =>
    app.call(`POST ${place}/dependency_list_exports`, { as, json });
  /** Starts an export, and downloads it. */
  const exported = async (place: string, json: object = {}, as: Person = "developer") => {
    const made = await start(place, json, as);
    expect(made.status, made.text).toBe(201);
    const shown = await app.call(`GET /dependency_list_exports/${made.json.id}`, { as });
    expect([shown.status, shown.json]).toEqual([200, made.json]);
    return app.call(`GET /dependency_list_exports/${made.json.id}/download`, { as });
  };

  it("are ready at once, for whoever asked for them", async () => {
    const { json } = await start("/projects/acme%2Fsite");
    const self = expect.stringMatching(`/api/v4/dependency_list_exports/${json.id}$`);
    expect(json).toEqual({
      ...{ id: expect.any(Number), status: "finished", has_finished: true },
      ...{ export_type: "dependency_list", send_email: false, expires_at: expect.any(String) },
      ...{ self, download: `${json.self}/download` },
    });
    for (const end of ["", "/download"]) {
      const path = `GET /dependency_list_exports/${json.id}${end}`;
      expect((await app.call(path)).status).toBe(401);
      expect((await app.call(path, { as: "owner" })).status).toBe(404);
      expect((await app.call(path, { as: "developer" })).status).toBe(200);
    }
    expect((await app.call("GET /dependency_list_exports/999", { as: "developer" })).status).toBe(
      404,
    );
    expect((await start("/projects/acme%2Fsite", { send_email: true })).status).toBe(400);
    expect((await start("/projects/acme%2Fsite", { export_type: "sbom" })).status).toBe(400);
  });

  it("are in GitLab's formats", async () => {
    const whole = await exported("/projects/secret%2Fvault");
    const rack = {
      ...{ name: "rack", version: "2.2.8", packager: "bundler", package_manager: "bundler" },
      location: { blob_path: null, path: "Gemfile.lock" },
      ...{ licenses: [], vulnerabilities: [{ name: "DDoS", severity: "unknown" }] },
    };
    expect(whole.json).toMatchObject({ report: { status: "ok" } });
    expect(whole.json.dependencies).toHaveLength(4);
    expect(whole.json.dependencies[3]).toEqual(rack);
    const table = await exported("/projects/secret%2Fvault", { export_type: "csv" });
    expect(table.headers.get("content-disposition")).toMatch(/^attachment; .*\.csv"$/);
    expect(table.text.split("\n").slice(0, 2)).toEqual([
      "Name,Version,Packager,Location,License Identifiers,Project,Vulnerabilities Detected,Vulnerability IDs",
      "Zope,5.8,pip,requirements.txt,,secret/vault,0,",
    ]);
    const bom = await exported("/projects/secret%2Fvault", { export_type: "cyclonedx_1_6_json" });
    expect(bom.json).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.6", version: 1 });
    expect(bom.json.components.map(({ purl }: { purl: string }) => purl)).toEqual([
      ...["pkg:pypi/Zope@5.8", "pkg:npm/chalk@4.1.2", "pkg:npm/debug@1.0.5", "pkg:gem/rack@2.2.8"],
    ]);
    const array = await exported("/groups/secret");
    const projects = new Set(array.json.map(({ project }: { project: string }) => project));
    expect([...projects]).toEqual(expect.arrayContaining(["secret/inner", "secret/vault"]));
    const tables = await exported("/groups/secret", { export_type: "csv" });
    expect(tables.text.split("\n")).toHaveLength(array.json.length + 2);
  });

  it("of a pipeline have the components that its jobs have reported", async () => {
    const project = await ciProject(app, "materials", JSON.stringify({ scan: { script: "scan" } }));
    const made = await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
    const send = async (job: { id: number; token: string }, bom: string) => {
      const form = new FormData();
      form.append("file", new Blob([gzipSync(bom) as BlobPart]), "gl-sbom.cdx.json");
      const query = "artifact_type=cyclonedx&artifact_format=gzip";
      const sent = await app.call(`POST /jobs/${job.id}/artifacts?${query}`, {
        ...{ headers: { "job-token": job.token }, body: form },
      });
      expect(sent.status, sent.text).toBe(201);
    };
    const components = [
      { type: "library", name: "a", version: "1", purl: "pkg:npm/a@1" },
      { type: "library", name: "b", version: "2" },
    ];
    const place = `/pipelines/${made.json.id}`;
    expect((await exported(place, { export_type: "sbom" })).json.components).toEqual([]);
    const bom = { bomFormat: "CycloneDX", components: [...components, components[0]] };
    await send(await takeJob(app, await runnerOf(app, project)), JSON.stringify(bom));
    const merged = await exported(place, { export_type: "sbom" });
    expect(merged.json).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.4", components });
    const broken = await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
    await send(await takeJob(app, await runnerOf(app, project)), "no JSON");
    const refused = await exported(`/pipelines/${broken.json.id}`, { export_type: "sbom" });
    expect([refused.status, refused.json]).toEqual([
      400,
      { error: "the bill of materials is no JSON" },
    ]);
    expect((await start(place, { export_type: "csv" })).status).toBe(400);
    expect((await start("/pipelines/999", { export_type: "sbom" })).status).toBe(404);
  });

  it("are what the newest pipeline of the default branch has reported", async () => {
    const project = await ciProject(app, "reported", JSON.stringify({ scan: { script: "scan" } }));
    const runner = await runnerOf(app, project);
    const report = async (ref: string, bom: string, type = "cyclonedx") => {
      await project.call("POST /pipeline", { as: "owner", json: { ref } });
      const job = await takeJob(app, runner);
      const form = new FormData();
      form.append("file", new Blob([gzipSync(bom) as BlobPart]), "gl-sbom.cdx.json.gz");
      await app.call(`POST /jobs/${job.id}/artifacts?artifact_type=${type}&artifact_format=gzip`, {
        ...{ headers: { "job-token": job.token }, body: form },
      });
      await app.call(`PUT /jobs/${job.id}`, { json: { token: job.token, state: "success" } });
      await app.admin.maintenance.runPipelines();
      const { json } = await project.call("GET /dependencies", { as: "developer" });
      return json.map(({ name, version, dependency_file_path, vulnerabilities }: Listed) => [
        ...[name, version, dependency_file_path, vulnerabilities.length],
      ]);
    };
    const bom = (file: string, ...names: string[]) =>
      JSON.stringify({
        ...{ bomFormat: "CycloneDX", specVersion: "1.5" },
        metadata: {
          properties: [{ name: "gitlab:dependency_scanning:input_file:path", value: file }],
        },
        components: names.map((name) => ({
          ...{ type: "library", name, version: "1.0", purl: `pkg:npm/${name}@1.0` },
        })),
      });
    // Two files, as a runner sends what one pattern finds.
    const both = bom("package-lock.json", "a", "b") + bom("web/package-lock.json", "c");
    const first = [
      ["a", "1.0", "package-lock.json", 0],
      ["b", "1.0", "package-lock.json", 0],
      ["c", "1.0", "web/package-lock.json", 0],
    ];
    expect(await report("main", both)).toEqual(first);
    await project.call("POST /repository/branches?branch=topic&ref=main", { as: "owner" });
    expect(await report("topic", bom("package-lock.json", "z"))).toEqual(first);
    for (const broken of ["no JSON", "[1]", '{"bomFormat":"CycloneDX"}', `${both}{`]) {
      expect(await report("main", broken)).toEqual(first);
    }
    expect(await report("main", bom("package-lock.json", "a"))).toEqual([first[0], first[2]]);
  });

  it("are for those who may see the dependencies, also when they download them", async () => {
    const statuses: Record<string, number[]> = {};
    for (const as of everyone) {
      statuses[as] = [];
      for (const place of ["/projects/secret%2Fvault", "/groups/secret"]) {
        statuses[as]?.push((await start(place, {}, as)).status);
      }
    }
    expect(statuses).toEqual({
      anonymous: [401, 401],
      stranger: [404, 404],
      guest: [403, 403],
      reporter: [201, 403],
      developer: [201, 201],
      maintainer: [201, 201],
      owner: [201, 201],
      admin: [201, 201],
    });
    const hidden = await exported("/projects/secret%2Fvault", {}, "reporter");
    expect(hidden.json.dependencies[3].vulnerabilities).toEqual([]);
    const { json: mine } = await start("/groups/secret", {}, "developer");
    const [user] = (await app.call("GET /users?username=developer", { as: "admin" })).json;
    const member = `/groups/secret/members/${user.id}`;
    const before = await app.call(`PUT ${member}`, { as: "owner", json: { access_level: 20 } });
    expect(before.status, before.text).toBe(200);
    const path = `GET /dependency_list_exports/${mine.id}/download`;
    expect((await app.call(path, { as: "developer" })).status).toBe(403);
    await app.call(`PUT ${member}`, { as: "owner", json: { access_level: 30 } });
  });
});
