import { describe, expect, it } from "vitest";
import { everyone, type Person, type TestApp, tokenOf } from "../helpers.ts";
import { publishInProjects } from "./_packages.ts";
import { zipped } from "./_zip.ts";

// What `dotnet` sends and reads (learn.microsoft.com/nuget/api/overview).

let app: TestApp;
let project: string;
let number: number;
publishInProjects((given) => {
  ({ app, project, number } = given);
});

const nuspec = (version = "1.0.0", more = "", id = "Acme.Thing") =>
  `\ufeff<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd"><metadata>
<id>${id}</id><version>${version}</version><authors>Ann &amp; Rob</authors><description>A thing</description>
${more}</metadata></package>`;
const nupkg = (content = nuspec(), files = {}) =>
  zipped({ "Acme.Thing.nuspec": content, "lib/net8.0/Thing.dll": "MZ", ...files });
const push = (
  content: Buffer<ArrayBuffer> = nupkg(),
  as: Person = "developer",
  path = "",
  headers: Record<string, string> = {},
) => {
  const body = new FormData();
  body.append("package", new Blob([content]), "package.nupkg");
  return app.call(`PUT ${project}/packages/nuget${path}`, { as, body, headers });
};
const get = (path: string, as: Person = "reporter", headers = {}) =>
  app.call(`GET ${/^http/.test(path) ? path : `${project}/packages/nuget/${path}`}`, {
    as,
    headers,
  });
const files = async () =>
  Number((await app.store.rows("select count(*) from stored_files"))[0]?.[0]);

describe("a package of NuGet", () => {
  it("is pushed, found, told about, downloaded and deleted", async () => {
    const groups = `<dependencies><group targetFramework="net8.0"><dependency id="Other" version="[1.0,2.0)" /></group>
      <group targetFramework="netstandard2.0" /></dependencies><tags>a b</tags>`;
    const sent = await push(nupkg(nuspec("1.0.0.0", groups)));
    expect([sent.status, sent.json]).toEqual([201, { message: "201 Created" }]);
    for (const version of ["1.2.0-beta.2", "1.10.0", "1.2.0"]) await push(nupkg(nuspec(version)));
    const { json: index } = await get("index.json");
    const service = (type: string) =>
      index.resources.find((one: { "@type": string }) => one["@type"] === type)["@id"];
    const flat = await get(`${service("PackageBaseAddress/3.0.0")}/acme.thing/index.json`);
    expect(flat.json).toEqual({ versions: ["1.0.0", "1.2.0-beta.2", "1.2.0", "1.10.0"] });
    const file = `${service("PackageBaseAddress/3.0.0")}/acme.thing/1.0.0/acme.thing.1.0.0.nupkg`;
    expect((await get(file)).status).toBe(200);
    const told = JSON.parse(
      (await get(`${service("RegistrationsBaseUrl")}/acme.thing/index.json`)).text,
    );
    expect(told.items[0]).toMatchObject({ count: 4, lower: "1.0.0", upper: "1.10.0" });
    const own = told.items[0].items.at(-1);
    expect(own).toEqual((await get("metadata/ACME.Thing/1.0.json")).json);
    expect(own).toMatchObject({
      packageContent: file.replace("acme.thing/1.0.0", "Acme.Thing/1.0.0"),
      catalogEntry: {
        ...{ id: "Acme.Thing", version: "1.0.0", authors: "Ann & Rob", tags: "a b" },
        dependencyGroups: [
          { targetFramework: "net8.0", dependencies: [{ id: "Other", range: "[1.0,2.0)" }] },
          { targetFramework: "netstandard2.0", dependencies: [] },
        ],
      },
    });
    const removed = `DELETE ${service("PackagePublish/2.0.0").replace(/^.*v4/, "")}/acme.thing/1.2.0`;
    expect((await app.call(removed, { as: "developer" })).status).toBe(403);
    expect((await app.call(removed, { as: "maintainer" })).status).toBe(204);
    expect((await app.call(removed, { as: "maintainer" })).status).toBe(404);
    expect((await get("download/acme.thing/index")).json.versions).toHaveLength(3);
    for (const wrong of [
      "metadata/other/index.json",
      "metadata/acme.thing/9.9.json",
      "download/other/index.json",
      "download/acme.thing/9.9.9/acme.thing.9.9.9.nupkg",
      "download/acme.thing/1.0.0/acme.thing.1.0.0.exe",
      "download/acme.thing/1.0.0/acme.thing.1.0.0.snupkg",
    ]) {
      expect([wrong, (await get(wrong)).status]).toEqual([wrong, 404]);
    }
  });

  it("is searched in a project and a group", async () => {
    const name = `Find${number}`;
    for (const [id, version] of [
      [`${name}.A`, "1.0.0"],
      [`${name}.a`, "2.0.0-rc"],
      [`${name}.B`, "1.0.0"],
    ] as const) {
      await push(nupkg(nuspec(version, "", id)));
    }
    const of = async (query: string, place = `${project}/packages/nuget`) => {
      const { status, json } = await app.call(`GET ${place}/query${query}`, { as: "reporter" });
      expect(status).toBe(200);
      return [json.totalHits, json.data.map((one: { version: string }) => one.version)];
    };
    expect(await of("?q=find&prerelease=true&semVerLevel=2.0.0")).toEqual([
      2,
      ["2.0.0-rc", "1.0.0"],
    ]);
    expect(await of("?q=find&prerelease=false")).toEqual([2, ["1.0.0", "1.0.0"]]);
    expect(await of("?q=find&skip=1&take=1")).toEqual([2, ["1.0.0"]]);
    expect(await of("?q=nothing")).toEqual([0, []]);
    const group = "/groups/secret/-/packages/nuget";
    expect(await of(`?q=${name}`, group)).toEqual([2, ["2.0.0-rc", "1.0.0"]]);
    const told = await app.call(`GET ${group}/metadata/${name}.a/index.json`, { as: "reporter" });
    expect(JSON.parse(told.text).items[0].count).toBe(2);
    const { json } = await app.call(`GET ${group}/index.json`, { as: "reporter" });
    expect(json.resources.map((one: { "@type": string }) => one["@type"])).not.toContain(
      "PackagePublish/2.0.0",
    );
    expect((await app.call(`GET ${group}/metadata/${name}.a/index`, { as: "guest" })).status).toBe(
      404,
    );
  });

  it("is replaced by what is pushed last, in any case of its name", async () => {
    await push();
    const first = await get("download/acme.thing/1.0.0/acme.thing.1.0.0.nupkg");
    await push(nupkg(nuspec("1.0", "<tags>second</tags>", "ACME.thing")));
    const second = await get("download/acme.thing/1.0.0/acme.thing.1.0.0.nupkg");
    expect(second.headers.get("etag")).not.toBe(first.headers.get("etag"));
    expect((await get("metadata/acme.thing/1.0.0.json")).json.catalogEntry.tags).toBe("second");
    const listed = await app.call(`GET ${project}/packages?package_type=nuget`, { as: "reporter" });
    expect(listed.json).toHaveLength(1);
    expect((await push(nupkg(nuspec("7.0.0")), "developer", "/symbolpackage")).status).toBe(404);
    expect((await push(nupkg(), "developer", "/symbolpackage")).status).toBe(201);
    expect((await get("download/acme.thing/1.0.0/acme.thing.1.0.0.snupkg")).status).toBe(200);
  });

  it.each([
    ["no archive", () => Buffer.from("x")],
    ["no .nuspec", () => zipped({ "lib/a.nuspec": nuspec() })],
    ["two", () => nupkg(nuspec(), { "b.nuspec": nuspec() })],
    ["a large .nuspec", () => nupkg(nuspec("1.0.0", " ".repeat(270_000)))],
    ["a bomb", () => lying()],
    ["broken XML", () => nupkg("<package><metadata>")],
    ["deep XML", () => nupkg("<a>".repeat(20_000) + "</a>".repeat(20_000))],
    ["entities", () => nupkg(`<!DOCTYPE a [<!ENTITY a "x">]>${nuspec("1.0.0", "&a;")}`)],
    ["no id", () => nupkg(nuspec().replace(/<id>.*<\/id>/, ""))],
    ["an id that leads elsewhere", () => nupkg(nuspec("1.0.0", "", "../x"))],
    ["an id with a slash", () => nupkg(nuspec("1.0.0", "", "a/b"))],
    ["a version that is none", () => nupkg(nuspec("one"))],
    ["a path as its version", () => nupkg(nuspec("1.0.0-/../x"))],
  ])("is refused with %s", async (_, archive) => {
    const before = await files();
    const { status, text } = await push(archive() as Buffer<ArrayBuffer>);
    expect([status, text]).toEqual([400, expect.stringContaining("Validation failed")]);
    expect(await files()).toBe(before);
  });

  it("is for developers, and read by who may read the code", async () => {
    const statuses = [];
    for (const as of everyone) statuses.push((await push(nupkg(), as)).status);
    expect(statuses).toEqual([401, 404, 403, 403, 201, 201, 201, 201]);
    for (const path of [
      "index.json",
      "metadata/acme.thing/index.json",
      "query",
      "download/acme.thing/1.0.0/acme.thing.1.0.0.nupkg",
    ]) {
      const read = [];
      for (const as of everyone) read.push((await get(path, as)).status);
      expect(read).toEqual([401, 404, 403, 200, 200, 200, 200, 200]);
    }
    const asked = await get("index.json", "anonymous");
    expect(asked.headers.get("www-authenticate")).toBe('Basic realm="GitLab Packages Registry"');
    const rule = {
      package_name_pattern: "Acme.*",
      package_type: "nuget",
      minimum_access_level_for_push: "owner",
    };
    await app.call(`POST ${project}/packages/protection/rules`, { as: "maintainer", json: rule });
    expect((await push(nupkg(nuspec("2.0.0")))).json).toEqual({
      message: "403 Forbidden - Package protected.",
    });
  });

  it("takes a token as the key of an API, to push and delete only", async () => {
    const key = (token: string, more = {}) => ({ "x-nuget-apikey": token, ...more });
    const pushWith = (headers: Record<string, string>) => push(nupkg(), "anonymous", "", headers);
    expect((await pushWith(key(tokenOf("developer")))).status).toBe(201);
    expect((await pushWith(key(tokenOf("reporter")))).status).toBe(403);
    expect((await pushWith(key("wrong"))).status).toBe(401);
    const basic = `Basic ${Buffer.from(`any:${tokenOf("developer")}`).toString("base64")}`;
    expect((await pushWith(key("az", { authorization: basic }))).status).toBe(201);
    expect((await get("index.json", "anonymous", key(tokenOf("owner")))).status).toBe(401);
    const { json } = await app.call(`POST ${project}/deploy_tokens`, {
      as: "maintainer",
      json: { name: "x", scopes: ["write_package_registry"] },
    });
    expect((await pushWith(key(json.token))).status).toBe(201);
    const read = await app.call(`POST ${project}/deploy_tokens`, {
      as: "maintainer",
      json: { name: "y", scopes: ["read_package_registry"] },
    });
    expect((await pushWith(key(read.json.token))).status).toBe(403);
    const other = `GET /projects/acme%2Fsite/members`;
    const elsewhere = { headers: key(tokenOf("owner")) };
    const anonymous = await app.call(other);
    expect((await app.call(other, elsewhere)).status).toBe(anonymous.status);
  });

  it("is refused when it is too large, and has as many statements however many versions it has", async () => {
    const limit = (size: number) =>
      app.call("PUT /application/plan_limits", {
        as: "admin",
        json: { plan_name: "default", nuget_max_file_size: size },
      });
    await limit(10);
    expect((await push()).json).toEqual({ message: "400 Bad request - File is too large" });
    await limit(0);
    const counted = async () => {
      app.statements.length = 0;
      await get("metadata/acme.thing/index.json");
      await get("query");
      return app.statements.length;
    };
    await push();
    await counted();
    const one = await counted();
    for (let at = 1; at < 5; at += 1) await push(nupkg(nuspec(`1.0.${at}`)));
    expect(await counted()).toBe(one);
  });
});

/** A package whose .nuspec is longer than its archive says. */
function lying(): Buffer {
  const whole = nupkg(nuspec("1.0.0", " ".repeat(50_000)));
  const lie = Buffer.from(whole);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(Buffer.byteLength(nuspec("1.0.0", " ".repeat(50_000))));
  for (let at = lie.indexOf(length); at >= 0; at = lie.indexOf(length, at + 4)) {
    lie.writeUInt32LE(100, at);
  }
  return lie;
}
