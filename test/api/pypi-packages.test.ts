import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type Answer, everyone, type Person, type TestApp } from "../helpers.ts";
import { publishInProjects } from "./_packages.ts";

let app: TestApp;
let project: string;
publishInProjects((given) => {
  ({ app, project } = given);
});

const CONTENT = "not really an archive";
const SHA256 = createHash("sha256").update(CONTENT).digest("hex");
const WHEEL = "acme_thing-1.0.0-py3-none-any.whl";
const SIMPLE = "application/vnd.pypi.simple.v1+json";

/** Sends what `twine upload` sends. */
function upload(
  fields: Record<string, string> = {},
  file = WHEEL,
  as: Person = "developer",
  headers: Record<string, string> = {},
) {
  const form = new FormData();
  const sent = {
    ":action": "file_upload",
    protocol_version: "1",
    name: "acme-thing",
    version: "1.0.0",
    filetype: "bdist_wheel",
    pyversion: "py3",
    metadata_version: "2.1",
    summary: "A thing",
    requires_python: ">=3.8",
    sha256_digest: SHA256,
    md5_digest: "x",
    ...fields,
  };
  for (const [name, value] of Object.entries(sent)) form.append(name, value);
  for (const classifier of ["One", "Two"]) form.append("classifiers", classifier);
  form.append("content", new Blob([CONTENT]), file);
  return app.call(`POST ${project}/packages/pypi`, { as, body: form, headers });
}
const get = (path: string, as: Person = "reporter", headers = {}) =>
  app.call(`GET ${path}`, { as, headers });
const simple = (name = "acme-thing", as: Person = "reporter", headers = {}) =>
  get(`${project}/packages/pypi/simple/${name}`, as, headers);
const shown = ({ status, json }: Answer) => [status, json];
const files = async () =>
  Number((await app.store.rows("select count(*) from stored_files"))[0]?.[0]);
const basic = (text: string) => ({
  authorization: `Basic ${Buffer.from(text).toString("base64")}`,
});

describe("a Python package", () => {
  it("is uploaded, listed and downloaded", async () => {
    expect(shown(await upload())).toEqual([201, { message: "201 Created" }]);
    const place = `http://pm.test/api/v4${project}/packages/pypi/files/${SHA256}/${WHEEL}`;
    const told = await simple();
    expect(told.status).toBe(200);
    expect(told.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(told.headers.get("vary")).toContain("Accept");
    expect(told.text).toContain(
      `<a href="${place}#sha256=${SHA256}" data-requires-python="&gt;=3.8">${WHEEL}</a>`,
    );
    const json = JSON.parse((await simple("acme-thing", "reporter", { accept: SIMPLE })).text);
    expect(json).toEqual({
      meta: { "api-version": "1.1" },
      name: "acme-thing",
      versions: ["1.0.0"],
      files: [
        {
          filename: WHEEL,
          url: place,
          hashes: { sha256: SHA256 },
          size: CONTENT.length,
          "requires-python": ">=3.8",
        },
      ],
    });
    const got = await get(place);
    expect([got.status, got.text]).toEqual([200, CONTENT]);
    expect(got.headers.get("content-disposition")).toContain(`filename="${WHEEL}"`);
    for (const wrong of [
      place.replace(
        SHA256,
        SHA256.replace(/./, (digit) => (digit === "0" ? "1" : "0")),
      ),
      place.replace("1.0.0", "1.0.1"),
      place.replace(WHEEL, "..%2fx"),
    ]) {
      expect([wrong, (await get(wrong)).status]).toEqual([wrong, 404]);
    }
    const listed = await get(`${project}/packages?package_type=pypi`);
    expect(listed.json).toMatchObject([
      { name: "acme-thing", version: "1.0.0", package_type: "pypi" },
    ]);
    const [file] = (await get(`${project}/packages/${listed.json[0].id}/package_files`)).json;
    expect(file).toMatchObject({ file_name: WHEEL, file_sha256: SHA256, size: CONTENT.length });
  });

  it("is the same by all spellings of its name, with a slash and without", async () => {
    await upload({ name: "Acme.Thing" });
    const answers = [];
    for (const name of ["acme-thing", "acme_Thing", "Acme--Thing/", "ACME.THING/"]) {
      answers.push((await simple(name)).text);
    }
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain(WHEEL);
  });

  it("is in the indexes of its project and of the groups around it", async () => {
    await upload();
    await upload({ name: "b" }, "b-1.0.0.tar.gz");
    for (const [path, folder] of [
      ["simple", "simple/"],
      ["simple/", ""],
    ] as const) {
      const { text } = await get(`${project}/packages/pypi/${path}`);
      const links = text.match(/<a .*?<\/a>/g);
      expect(links).toEqual([
        `<a href="${folder}acme-thing/">acme-thing</a>`,
        `<a href="${folder}b/">b</a>`,
      ]);
    }
    const group = "/groups/secret/-/packages/pypi/simple";
    const named = async (as: Person, path = group) => {
      const { status, text } = await get(path, as, { accept: SIMPLE });
      return status === 200 ? JSON.parse(text).projects : status;
    };
    expect(await named("reporter")).toContainEqual({ name: "acme-thing" });
    expect(await named("guest")).toEqual([]);
    expect([await named("stranger"), await named("anonymous")]).toEqual([404, 401]);
    const found = await get(`${group}/acme-thing`);
    expect(found.text).toContain(`/api/v4${project}/packages/pypi/files/${SHA256}/${WHEEL}`);
    expect((await get(`${group}/acme-thing`, "guest")).status).toBe(404);
  });

  it("has several files of a version, each name once", async () => {
    await upload();
    expect((await upload({ filetype: "sdist" }, "acme-thing-1.0.0.tar.gz")).status).toBe(201);
    const before = await files();
    expect(shown(await upload())).toEqual([
      400,
      { message: "400 Bad request - Validation failed: File name has already been taken" },
    ]);
    expect(await files()).toBe(before);
    expect((await upload({ version: "1.1" }, "acme_thing-1.1.zip")).status).toBe(201);
    const { text } = await simple();
    expect(text.match(/#sha256=/g)?.length).toBe(3);
    expect((await get(`${project}/packages`)).json.length).toBe(2);
    const both = await Promise.all(
      [1, 2].map(() => upload({ version: "2.0" }, "acme_thing-2.0.zip")),
    );
    expect(both.map(({ status }) => status).sort()).toEqual([201, 400]);
  });

  it("is for developers, and read by who may read the code", async () => {
    const statuses = [];
    for (const [index, as] of everyone.entries()) {
      const fields = { version: `1.${index}` };
      statuses.push((await upload(fields, `acme_thing-1.${index}.zip`, as)).status);
    }
    expect(statuses).toEqual([401, 404, 403, 403, 201, 201, 201, 201]);
    const read = [];
    for (const as of everyone) read.push((await simple("acme-thing", as)).status);
    expect(read).toEqual([401, 404, 403, 200, 200, 200, 200, 200]);
    await app.call(`POST ${project}/archive`, { as: "owner" });
    expect((await upload({ version: "3" }, "acme_thing-3.zip")).status).toBe(403);
    expect((await simple()).status).toBe(200);
  });

  it("asks visitors for HTTP Basic where there is nothing for them, whether it is there or not", async () => {
    await upload();
    const absent = "/projects/987654321/packages/pypi/simple/acme-thing";
    const answers = [await simple("acme-thing", "anonymous"), await get(absent, "anonymous")];
    answers.push(await upload({}, WHEEL, "anonymous"));
    answers.push(await simple("acme-thing", "anonymous", basic("__token__:wrong")));
    for (const { status, headers } of answers) {
      expect([status, headers.get("www-authenticate")]).toEqual([
        401,
        'Basic realm="GitLab Packages Registry"',
      ]);
    }
    const { json } = await app.call("POST /projects/acme%2Fsite/deploy_tokens", {
      as: "maintainer",
      json: { name: "x", scopes: ["read_package_registry"] },
    });
    const site = "/projects/acme%2Fsite/packages/pypi/simple/";
    const withToken = basic(`${json.username}:${json.token}`);
    expect((await get(site, "anonymous", withToken)).status).toBe(200);
    expect((await simple("acme-thing", "anonymous", withToken)).status).toBe(404);
  });

  it.each([
    [{ name: "-bad" }, WHEEL, "name"],
    [{ name: "a/b" }, WHEEL, "name"],
    [{ name: "" }, WHEEL, "name"],
    [{ version: "one" }, WHEEL, "version"],
    [{ version: "1.0/../2" }, WHEEL, "version"],
    [{ version: "1.0-1-1-1x" }, WHEEL, "version"],
    [{}, "other-1.0.0.zip", "File name is invalid"],
    [{}, "acme_thing", "File name is invalid"],
    [{}, "acme_thing-1 0.zip", "File name is invalid"],
    [{ sha256_digest: "0".repeat(64) }, WHEEL, "sha256_digest"],
    [{ requires_python: "x".repeat(256) }, WHEEL, "requires_python"],
  ])("is refused with %j as %s", async (fields, file, named) => {
    const before = await files();
    const { status, text } = await upload(fields, file);
    expect([status, text.includes(named)]).toEqual([400, true]);
    expect(await files()).toBe(before);
  });

  it("is refused with a digest that is none, or when it is too large", async () => {
    expect((await upload({ sha256_digest: "x" })).status).toBe(422);
    const limit = (size: number) =>
      app.call("PUT /application/plan_limits", {
        as: "admin",
        json: { plan_name: "default", pypi_max_file_size: size },
      });
    expect((await limit(4)).json.pypi_max_file_size).toBe(4);
    expect(shown(await upload())).toEqual([
      400,
      { message: "400 Bad request - File is too large" },
    ]);
    await limit(0);
    expect((await upload()).status).toBe(201);
  });

  it.each(["1", "1.0", "1.0a1", "1.0.dev4", "2!1.0.post1", "1.0+local.1", "v1.0rc1", "1.0-1"])(
    "may have the version %s",
    async (version) => {
      expect((await upload({ version }, `acme_thing-${version}.zip`)).status).toBe(201);
      const { text } = await simple("acme-thing", "reporter", { accept: SIMPLE });
      const [file] = JSON.parse(text).files;
      expect((await get(file.url)).text).toBe(CONTENT);
    },
  );

  it("may be protected, shows nothing as markup, and is no one else's", async () => {
    const rule = {
      package_name_pattern: "acme-*",
      package_type: "pypi",
      minimum_access_level_for_push: "owner",
    };
    await app.call(`POST ${project}/packages/protection/rules`, { as: "maintainer", json: rule });
    expect(shown(await upload())).toEqual([403, { message: "403 Forbidden - Package protected." }]);
    await upload({ requires_python: `">'<script>` }, WHEEL, "owner");
    expect((await simple()).text).not.toContain("<script");
    expect(shown(await simple("other"))).toEqual([404, { message: "404 Not found" }]);
  });

  it("takes the same number of statements however many files there are", async () => {
    const counted = async () => {
      app.statements.length = 0;
      await simple();
      return app.statements.length;
    };
    await upload();
    const one = await counted();
    for (let number = 2; number < 8; number += 1) {
      await upload({ version: `${number}` }, `acme_thing-${number}.zip`);
    }
    expect(await counted()).toBe(one);
  });
});
