import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { everyone, type Person, type TestApp } from "../helpers.ts";
import { publishInProjects } from "./_packages.ts";

let app: TestApp;
let project: string;
publishInProjects((given) => {
  ({ app, project } = given);
});

/** A compressed tar archive of files by their paths. */
async function tgz(files: Readonly<Record<string, string | Buffer>>): Promise<Buffer<ArrayBuffer>> {
  const archive = pack();
  for (const [name, content] of Object.entries(files)) archive.entry({ name }, content);
  archive.finalize();
  const parts: Buffer[] = [];
  for await (const part of archive) parts.push(part as Buffer);
  return Buffer.from(gzipSync(Buffer.concat(parts)));
}
const yaml = (version: string, more = "") =>
  `apiVersion: v2\nname: thing\nversion: ${version}\nappVersion: "1.10"\n${more}`;

async function upload(
  content: string | Buffer<ArrayBuffer>,
  as: Person = "developer",
  channel = "stable",
  part = "chart",
) {
  const chart = typeof content === "string" ? await tgz({ "thing/Chart.yaml": content }) : content;
  const body = new FormData();
  body.append(part, new Blob([chart]), "any.tgz");
  return app.call(`POST ${project}/packages/helm/api/${channel}/charts`, { as, body });
}
const get = (path: string, as: Person = "reporter", headers = {}) =>
  app.call(`GET ${project}/packages/helm/${path}`, { as, headers });
const index = async (channel = "stable") => {
  const { status, headers, text } = await get(`${channel}/index.yaml`);
  expect([status, headers.get("content-type")]).toEqual([200, "text/yaml; charset=utf-8"]);
  return parse(text);
};
const files = async () =>
  Number((await app.store.rows("select count(*) from stored_files"))[0]?.[0]);

describe("a chart of Helm", () => {
  it("is uploaded to a channel, listed and downloaded", async () => {
    expect((await index()).entries).toEqual({});
    const about =
      'description: "A \\u2028 thing"\nkeywords: [a]\nmaintainers:\n- name: Ann\n  unknown: 1\nother: x\n';
    const sent = await upload(yaml("1.0.0", about));
    expect([sent.status, sent.json]).toEqual([201, { message: "201 Created" }]);
    await upload(yaml("v1.1.0-beta+b.1"));
    await upload(yaml("1.0.0"), "developer", "devel");
    const told = await index();
    expect(told).toMatchObject({
      apiVersion: "v1",
      serverInfo: { contextPath: `/api/v4${project}/packages/helm` },
    });
    expect(told.entries.thing.map(({ version }: { version: string }) => version)).toEqual([
      "v1.1.0-beta+b.1",
      "1.0.0",
    ]);
    expect(told.entries.thing[1]).toEqual({
      apiVersion: "v2",
      name: "thing",
      version: "1.0.0",
      appVersion: "1.10",
      description: "A \u2028 thing",
      keywords: ["a"],
      maintainers: [{ name: "Ann" }],
      created: expect.any(String),
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      urls: ["charts/thing-1.0.0.tgz"],
    });
    expect(Object.keys((await index("devel")).entries)).toEqual(["thing"]);
    const chart = await get(`stable/${told.entries.thing[0].urls[0]}`);
    expect([chart.status, chart.headers.get("etag")]).toEqual([
      200,
      `"${told.entries.thing[0].digest}"`,
    ]);
    for (const wrong of ["devel/charts/thing-1.1.0.tgz", "other/charts/thing-1.0.0.tgz"]) {
      expect((await get(wrong)).status).toBe(404);
    }
    const { json } = await app.call(`GET ${project}/packages?package_type=helm`, { as: "guest" });
    expect(json).toEqual({ message: "403 Forbidden" });
    const listed = await app.call(`GET ${project}/packages?package_type=helm`, { as: "reporter" });
    expect(listed.json).toHaveLength(2);
  });

  it("is replaced by what is uploaded last", async () => {
    await upload(yaml("1.0.0", "description: first\n"));
    const first = (await index()).entries.thing[0];
    await upload(yaml("1.0.0", "description: second\n"));
    const { thing } = (await index()).entries;
    expect(thing).toEqual([expect.objectContaining({ description: "second" })]);
    expect(thing[0].digest).not.toBe(first.digest);
    const got = await get("stable/charts/thing-1.0.0.tgz");
    expect(got.headers.get("etag")).toBe(`"${thing[0].digest}"`);
  });

  it.each([
    ["no archive", async () => Buffer.from("x")],
    ["no tar archive", async () => Buffer.from(gzipSync("x".repeat(2000)))],
    ["an empty archive", () => tgz({})],
    ["no Chart.yaml", () => tgz({ "thing/values.yaml": "a: 1", "Chart.yaml": yaml("1.0.0") })],
    ["one below", () => tgz({ "thing/charts/other/Chart.yaml": yaml("1.0.0") })],
    [
      "a bomb",
      () => tgz({ "thing/a": Buffer.alloc(65 * 2 ** 20), "thing/Chart.yaml": yaml("1.0.0") }),
    ],
    ["a large Chart.yaml", () => tgz({ "thing/Chart.yaml": yaml("1.0.0", "#".repeat(66_000)) })],
    ["broken YAML", () => tgz({ "thing/Chart.yaml": "a: [" })],
    ["aliases of aliases", () => tgz({ "thing/Chart.yaml": laughs() })],
    ["deep YAML", () => tgz({ "thing/Chart.yaml": `a: ${"[".repeat(9000)}` })],
    ["no name", () => tgz({ "thing/Chart.yaml": "apiVersion: v2\nversion: 1.0.0\n" })],
    [
      "a name that leads elsewhere",
      () => tgz({ "x/Chart.yaml": yaml("1.0.0").replace("thing", "../x") }),
    ],
    ["a version that is none", () => tgz({ "thing/Chart.yaml": yaml('"1.0"') })],
    ["a path as its version", () => tgz({ "thing/Chart.yaml": yaml('"1.0.0-/../x"') })],
    ["a number as a text", () => tgz({ "thing/Chart.yaml": yaml("1.0.0", "home: 1\n") })],
  ])("is refused with %s", async (_, archive) => {
    const before = await files();
    const { status, text } = await upload(await archive());
    expect([status, text]).toEqual([400, expect.stringContaining("Validation failed")]);
    expect(await files()).toBe(before);
  });

  it("is refused in channels and files that can't be, without its part, and when it is too large", async () => {
    for (const channel of ["a%2Fb", "-a", "a.", "a%00"]) {
      expect((await upload(yaml("1.0.0"), "developer", channel)).status).toBeOneOf([400, 404]);
      expect((await get(`${channel}/index.yaml`)).status).toBeOneOf([400, 404]);
    }
    expect((await upload(yaml("1.0.0"), "developer", "stable", "file")).status).toBe(400);
    const json = { plan_name: "default", helm_max_file_size: 10 };
    await app.call("PUT /application/plan_limits", { as: "admin", json });
    const large = await upload(yaml("1.0.0"));
    expect([large.status, large.json]).toEqual([
      400,
      { message: "400 Bad request - File is too large" },
    ]);
    const none = { plan_name: "default", helm_max_file_size: 0 };
    await app.call("PUT /application/plan_limits", { as: "admin", json: none });
  });

  it("is for developers, and read by who may read the code", async () => {
    const statuses = [];
    for (const as of everyone) statuses.push((await upload(yaml("1.0.0"), as)).status);
    expect(statuses).toEqual([401, 404, 403, 403, 201, 201, 201, 201]);
    for (const path of ["stable/index.yaml", "stable/charts/thing-1.0.0.tgz"]) {
      const read = [];
      for (const as of everyone) read.push((await get(path, as)).status);
      expect(read).toEqual([401, 404, 403, 200, 200, 200, 200, 200]);
    }
    const asked = await get("stable/index.yaml", "anonymous");
    expect(asked.headers.get("www-authenticate")).toBe('Basic realm="GitLab Packages Registry"');
    const rule = {
      package_name_pattern: "thin*",
      package_type: "helm",
      minimum_access_level_for_push: "owner",
    };
    await app.call(`POST ${project}/packages/protection/rules`, { as: "maintainer", json: rule });
    const refused = await upload(yaml("1.0.1"));
    expect(refused.json).toEqual({ message: "403 Forbidden - Package protected." });
  });

  it("is listed in batches, with names in order", async () => {
    for (let at = 0; at < 53; at += 1) {
      await upload(yaml(`1.0.${at}`).replace("thing", at === 1 ? "b" : "a"));
    }
    const { entries } = await index();
    expect(Object.entries(entries).map(([name, all]) => [name, (all as unknown[]).length])).toEqual(
      [
        ["a", 52],
        ["b", 1],
      ],
    );
  });
});

/** YAML whose aliases stand for billions of texts. */
function laughs(): string {
  const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
  for (let at = 1; at < 12; at += 1) {
    const before = Array(10)
      .fill(`*a${at - 1}`)
      .join(", ");
    lines.push(`a${at}: &a${at} [${before}]`);
  }
  return `${yaml("1.0.0")}${lines.join("\n")}\n`;
}
