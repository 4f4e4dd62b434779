import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { everyone, type Person, type TestApp, tokenOf } from "../helpers.ts";
import { publishInProjects } from "./_packages.ts";

let app: TestApp;
let project: string;
let number: number;
let fullPath: string;
publishInProjects((given) => {
  ({ app, project, number, fullPath } = given);
});

const JAR = "com/acme/thing/1.0/thing-1.0.jar";
const digest = (algorithm: string, text: string) =>
  createHash(algorithm).update(text).digest("hex");
const at = (path: string) => `${project}/packages/maven/${path}`;
const put = (path: string, body: string, as: Person = "developer") =>
  app.call(`PUT ${at(path)}`, { as, body });
const get = (path: string, as: Person = "reporter", headers = {}) =>
  app.call(`GET ${path}`, { as, headers });
const text = async (path: string) => {
  const answer = await get(at(path));
  return answer.status === 200 ? answer.text : answer.status;
};
const packagesOf = async (query = "") =>
  (await get(`${project}/packages?package_type=maven${query}`)).json.map(
    ({ name, version }: { name: string; version: string | null }) => [name, version],
  );

describe("a file of a Maven package", () => {
  it("is uploaded and downloaded, with digests that nobody has sent", async () => {
    const made = await put(JAR, "a jar");
    expect([made.status, made.text]).toEqual([200, ""]);
    const got = await get(at(JAR));
    expect([got.status, got.text]).toEqual([200, "a jar"]);
    expect(got.headers.get("content-disposition")).toContain('filename="thing-1.0.jar"');
    for (const algorithm of ["md5", "sha1", "sha256", "sha512"]) {
      expect(await text(`${JAR}.${algorithm}`)).toBe(digest(algorithm, "a jar"));
    }
    const head = await app.call(`HEAD ${at(JAR)}`, { as: "reporter" });
    expect([head.status, head.text, head.headers.get("content-length")]).toEqual([200, "", "5"]);
    expect(await packagesOf()).toEqual([["com/acme/thing", "1.0"]]);
    const [{ id }] = (await get(`${project}/packages`)).json;
    expect((await get(`${project}/packages/${id}/package_files`)).json).toMatchObject([
      { file_name: "thing-1.0.jar", size: 5, file_sha1: digest("sha1", "a jar") },
    ]);
    for (const path of [
      `${JAR}x`,
      "com/acme/thing/1.1/thing-1.0.jar",
      "com/acme/thing/1.0/x.sha1",
    ]) {
      expect([path, await text(path)]).toEqual([path, 404]);
    }
  });

  it("is compared with the digests that are sent", async () => {
    await put(JAR, "a jar");
    const answers = async (sent: (algorithm: string) => string) => {
      const found = [];
      for (const algorithm of ["sha1", "md5", "sha256", "sha512"]) {
        found.push((await put(`${JAR}.${algorithm}`, sent(algorithm))).status);
      }
      return found;
    };
    expect(await answers((algorithm) => digest(algorithm, "a jar"))).toEqual([204, 200, 200, 200]);
    const named = (algorithm: string) => `${digest(algorithm, "a jar").toUpperCase()}  thing.jar\n`;
    expect(await answers(named)).toEqual([204, 200, 200, 200]);
    expect(await answers((algorithm) => digest(algorithm, "other"))).toEqual([409, 409, 409, 409]);
    expect(await answers(() => "no digest")).toEqual([400, 400, 400, 400]);
    expect(await answers(() => "a".repeat(2000))).toEqual([400, 400, 400, 400]);
    expect((await put("com/acme/thing/2.0/x.jar.sha1", digest("sha1", "x"))).status).toBe(404);
    expect(await packagesOf()).toEqual([["com/acme/thing", "1.0"]]);
  });

  it("may be deployed again: the newest one is downloaded", async () => {
    const path = "com/acme/thing/1.0-SNAPSHOT";
    for (const build of ["1", "2"]) {
      await put(`${path}/thing-1.0-${build}.jar`, `build ${build}`);
      await put(`${path}/thing.jar`, `build ${build}`);
      await put(`${path}/maven-metadata.xml`, `<metadata>${build}</metadata>`);
      await put("com/acme/thing/maven-metadata.xml", `<metadata>all ${build}</metadata>`);
    }
    expect(await text(`${path}/thing-1.0-1.jar`)).toBe("build 1");
    expect(await text(`${path}/thing.jar`)).toBe("build 2");
    expect(await text(`${path}/thing.jar.md5`)).toBe(digest("md5", "build 2"));
    expect(await text(`${path}/maven-metadata.xml`)).toBe("<metadata>2</metadata>");
    expect(await text("com/acme/thing/maven-metadata.xml")).toBe("<metadata>all 2</metadata>");
    expect(await packagesOf()).toEqual([["com/acme/thing", "1.0-SNAPSHOT"]]);
    expect(await packagesOf("&include_versionless=true")).toEqual([
      ["com/acme/thing", "1.0-SNAPSHOT"],
      ["com/acme/thing", null],
    ]);
    const [{ id }] = (await get(`${project}/packages?package_version=1.0-SNAPSHOT`)).json;
    const files = (await get(`${project}/packages/${id}/package_files`)).json;
    const metadata = files.filter(
      ({ file_name }: { file_name: string }) => file_name === "maven-metadata.xml",
    );
    expect([files.length, metadata.length]).toEqual([5, 1]);
  });

  it("is for developers, and downloaded by who may read the code", async () => {
    const statuses = [];
    for (const as of everyone) statuses.push((await put(JAR, "x", as)).status);
    expect(statuses).toEqual([401, 404, 403, 403, 200, 200, 200, 200]);
    const read = [];
    for (const as of everyone) read.push((await get(at(JAR), as)).status);
    expect(read).toEqual([401, 404, 403, 200, 200, 200, 200, 200]);
    const asked = await get(at(JAR), "anonymous");
    expect(asked.headers.get("www-authenticate")).toBe('Basic realm="GitLab Packages Registry"');
    const basic = Buffer.from(`anybody:${tokenOf("reporter")}`).toString("base64");
    const known = await get(at(JAR), "anonymous", { authorization: `Basic ${basic}` });
    expect(known.status).toBe(200);
    await app.call(`POST ${project}/archive`, { as: "owner" });
    expect((await put(JAR, "x")).status).toBe(403);
    expect((await get(at(JAR))).status).toBe(200);
  });

  it("is found in the groups around its project, and by the project's own name", async () => {
    const path = `${fullPath}/thing/1.0/thing-1.0.pom`;
    await put(path, "mine");
    const [group, instance] = ["/groups/secret/-/packages/maven", "/packages/maven"];
    const statuses = async (from: string, of = path) => {
      const found = [];
      for (const as of everyone) found.push((await get(`${from}/${of}`, as)).status);
      return found;
    };
    expect(await statuses(group)).toEqual([401, 404, 404, 200, 200, 200, 200, 200]);
    expect(await statuses(instance)).toEqual([401, 404, 404, 200, 200, 200, 200, 200]);
    expect((await get(`${instance}/${path}.sha1`)).text).toBe(digest("sha1", "mine"));
    // Who takes another project's name is not found by it.
    const other = await app.call("POST /projects", { as: "owner", json: { name: `o${number}` } });
    const taken = `/projects/${other.json.id}/packages/maven/${path}`;
    await app.call(`PUT ${taken}`, { as: "owner", body: "not mine" });
    expect((await get(`${instance}/${path}`, "owner")).text).toBe("mine");
    await put(JAR, "x");
    expect((await get(`${group}/${JAR}`)).status).toBe(200);
    expect((await get(`${instance}/${JAR}`)).status).toBe(404);
  });

  it.each([
    "thing.jar",
    "1.0/thing.jar",
    "com%2f..%2fthing/1.0/x.jar",
    "com/acme/thing/1.0%2f..",
    "com%2f%2fthing/1.0/x.jar",
    "com/acme/thing/1.0/.sha1",
    "com/a%20b/1.0/x.jar",
    "com/a%00b/1.0/x.jar",
    `com/${"x".repeat(256)}/1.0/x.jar`,
    `${"x/".repeat(600)}x.jar`,
    "maven-metadata.xml",
  ])("can't be at %.40s", async (path) => {
    for (const { status, text } of [await put(path, "x"), await get(at(path))]) {
      expect([status, text.includes("path")]).toEqual([400, true]);
    }
  });

  it("is refused where it is protected, or too large", async () => {
    const rule = {
      package_name_pattern: "com/acme/*",
      package_type: "maven",
      minimum_access_level_for_push: "owner",
    };
    await app.call(`POST ${project}/packages/protection/rules`, { as: "maintainer", json: rule });
    const refused = await put(JAR, "x");
    expect([refused.status, refused.json]).toEqual([
      403,
      { message: "403 Forbidden - Package protected." },
    ]);
    expect((await put("com/other/thing/1.0/x.jar", "x")).status).toBe(200);
    const limit = (size: number) =>
      app.call("PUT /application/plan_limits", {
        as: "admin",
        json: { plan_name: "default", maven_max_file_size: size },
      });
    await limit(2);
    const stored = () => app.store.rows("select count(*) from stored_files");
    const before = await stored();
    const large = await put("com/other/thing/1.0/y.jar", "xyz");
    expect([large.status, large.json]).toEqual([
      400,
      { message: "400 Bad request - File is too large" },
    ]);
    expect(await stored()).toEqual(before);
    await limit(0);
  });
});
