import { describe, expect, it } from "vitest";
import { Document } from "../../src/resources/npm-packages/document.ts";
import { type Answer, everyone, type Person, type TestApp } from "../helpers.ts";
import { digest, document, TGZ } from "./_npm.ts";
import { publishInProjects } from "./_packages.ts";

let app: TestApp;
let id: number;
let project: string;
let number: number;
publishInProjects((given) => {
  ({ app, id, project, number } = given);
});

const NAME = "@secret/thing";

const at = (name: string) => `${project}/packages/npm/${name.replace("/", "%2f")}`;
const send = (name: string, body: unknown, as: Person = "developer", headers = {}) =>
  app.call(`PUT ${at(name)}`, {
    as,
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });
const publish = (name: string, version: string, as: Person = "developer") =>
  send(name, document(name, version), as);
const get = (path: string, as: Person = "reporter", headers = {}) =>
  app.call(`GET ${path}`, { as, headers });
const shown = ({ status, json }: Answer) => [status, json];
const files = async () => (await app.store.rows("select count(*) from stored_files"))[0]?.[0];

describe("an npm package", () => {
  it("is published, read and downloaded", async () => {
    expect(shown(await publish(NAME, "1.0.0"))).toEqual([200, { ok: true }]);
    const told = await get(at(NAME));
    const tarball = `http://pm.test/api/v4${project}/packages/npm/${NAME}/-/${NAME}-1.0.0.tgz`;
    expect(told.status).toBe(200);
    expect(told.headers.get("content-type")).toBe("application/json");
    expect(told.json).toEqual({
      name: NAME,
      versions: {
        "1.0.0": {
          name: NAME,
          version: "1.0.0",
          description: "A thing",
          dependencies: { other: "^1.0.0" },
          dist: {
            shasum: digest("sha1", "hex", TGZ),
            integrity: `sha512-${digest("sha512", "base64", TGZ)}`,
            tarball,
          },
        },
      },
      "dist-tags": { latest: "1.0.0" },
      time: { "1.0.0": expect.stringMatching(/^\d{4}-.*Z$/) },
    });
    const got = await get(tarball);
    expect([got.status, got.text]).toEqual([200, TGZ.toString("utf8")]);
    expect(got.headers.get("content-length")).toBe(String(TGZ.length));
    expect(got.headers.get("content-disposition")).toContain('filename="thing-1.0.0.tgz"');
    expect((await get(tarball.replace("/-/@secret/", "/-/"))).status).toBe(200);
    expect((await get(tarball.replace("1.0.0", "1.0.1"))).status).toBe(404);
    expect((await get(`${at(NAME)}/-/other.zip`)).status).toBe(404);
  });

  it("is told in short to those who install", async () => {
    await publish(NAME, "1.0.0");
    const accept = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*";
    const told = await get(at(NAME), "reporter", { accept });
    expect(told.headers.get("content-type")).toBe("application/vnd.npm.install-v1+json");
    expect(told.headers.get("vary")).toContain("Accept");
    const json = JSON.parse(told.text);
    expect(json.time).toBeUndefined();
    expect(Object.keys(json.versions["1.0.0"])).toEqual([
      "name",
      "version",
      "dependencies",
      "dist",
    ]);
  });

  it("is the same with an escaped scope and without", async () => {
    await publish(NAME, "1.0.0");
    const answers = [];
    for (const name of ["@secret%2fthing", "@secret%2Fthing", "@secret/thing", "%40secret/thing"]) {
      answers.push((await get(`${project}/packages/npm/${name}`)).text);
    }
    expect(new Set(answers).size).toBe(1);
  });

  it("is 404 before it is published, for those who may publish it too", async () => {
    for (const as of ["reporter", "developer"] as const) {
      expect(shown(await get(at(NAME), as))).toEqual([404, { error: "404 Package Not Found" }]);
    }
  });

  it("may be published once with a version", async () => {
    await publish(NAME, "1.0.0");
    const before = await files();
    expect(shown(await publish(NAME, "1.0.0"))).toEqual([
      403,
      { message: "403 Forbidden - Package already exists." },
    ]);
    expect(await files()).toBe(before);
    expect((await publish(NAME, "1.0.1")).status).toBe(200);
    expect((await get(at(NAME))).json["dist-tags"]).toEqual({ latest: "1.0.1" });
    const both = await Promise.all([publish(NAME, "2.0.0"), publish(NAME, "2.0.0")]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 403]);
  });

  it("is for developers, and read by who may read the code", async () => {
    const statuses = [];
    for (const [index, as] of everyone.entries()) {
      statuses.push((await publish(NAME, `1.0.${index}`, as)).status);
    }
    expect(statuses).toEqual([401, 404, 403, 403, 200, 200, 200, 200]);
    const read = [];
    for (const as of everyone) read.push((await get(at(NAME), as)).status);
    expect(read).toEqual([404, 404, 403, 200, 200, 200, 200, 200]);
    await app.call(`POST ${project}/archive`, { as: "owner" });
    expect((await publish(NAME, "3.0.0")).status).toBe(403);
    expect((await get(at(NAME))).status).toBe(200);
  });

  it.each([
    ["a/b/c", "package_name"],
    ["@secret%2f..", "package_name"],
    ["@secret%2f..%2fother", "package_name"],
    ["a%00b", "package_name"],
    ["_hidden", "package_name"],
    ["__proto__", "package_name"],
    ["th%C3%AFng", "package_name"],
    ["a%20b", "package_name"],
    [`${"a".repeat(215)}`, "package_name"],
  ])("can't be called %s", async (name, attribute) => {
    const path = `${project}/packages/npm/${name}`;
    const body = JSON.stringify(document(decodeURIComponent(name), "1.0.0"));
    const { status, text } = await app.call(`PUT ${path}`, { as: "developer", body });
    expect([status, text]).toEqual([400, expect.stringContaining(attribute)]);
    expect((await get(path)).status).toBe(400);
  });

  it("may be called as what every object has", async () => {
    const tags = { constructor: "1.0.0", __proto__: null };
    expect(
      (await send("constructor", document("constructor", "1.0.0", { "dist-tags": tags }))).status,
    ).toBe(200);
    const { json } = await get(at("constructor"));
    expect(Object.entries(json["dist-tags"])).toEqual([
      ["constructor", "1.0.0"],
      ["latest", "1.0.0"],
    ]);
    const proto = JSON.stringify(document("constructor", "1.0.1")).replace(
      '"latest":',
      '"__proto__":',
    );
    expect((await send("constructor", proto)).status).toBe(200);
    const again = await get(at("constructor"));
    expect(again.text).toContain('"__proto__":"1.0.1"');
    const version = JSON.stringify(document("constructor", "1.0.2")).replaceAll(
      "1.0.2",
      "__proto__",
    );
    expect((await send("constructor", version)).status).toBe(400);
  });

  const other = Buffer.from("other bytes");
  it.each<[string, unknown, string]>([
    ["no JSON", "x", "message body does not match"],
    ["a list", [], "The document is invalid"],
    ["no version", document(NAME, "1.0.0", { versions: {} }), "Version is empty."],
    ["a version that is none", document(NAME, "1.0"), "Version is invalid"],
    ["another name", { ...document(NAME, "1.0.0"), name: "x" }, "name is not that of the address"],
    [
      "another file",
      document(NAME, "1.0.0", { _attachments: { "x.tgz": { data: "eHg=", length: 2 } } }),
      `_attachments must have ${NAME}-1.0.0.tgz only`,
    ],
    [
      "two files",
      document(NAME, "1.0.0", { _attachments: { a: { data: "eHg=" }, b: { data: "eHg=" } } }),
      "_attachments may have one file only",
    ],
    [
      "what is no base64",
      document(NAME, "1.0.0", { _attachments: { [`${NAME}-1.0.0.tgz`]: { data: "a*b=" } } }),
      "data of _attachments is not base64",
    ],
    [
      "another shasum or integrity",
      { ...document(NAME, "1.0.0"), _attachments: document(NAME, "1.0.0", {}, other)._attachments },
      "shasum is not that of the attachment",
    ],
    [
      "another length",
      document(NAME, "1.0.0", {
        _attachments: { [`${NAME}-1.0.0.tgz`]: { data: TGZ.toString("base64"), length: 3 } },
      }),
      "length is not that of the attachment",
    ],
    [
      "an empty file",
      document(NAME, "1.0.0", { _attachments: { [`${NAME}-1.0.0.tgz`]: { data: "" } } }),
      "The attachment is empty",
    ],
    [
      "a tag of another version",
      document(NAME, "1.0.0", { "dist-tags": { a: "2.0.0" } }),
      "dist-tags",
    ],
    [
      "a tag like a version",
      document(NAME, "1.0.0", { "dist-tags": { "1.0.0": "1.0.0" } }),
      "dist-tags",
    ],
    ["deep nesting", `${"[".repeat(100)}${"]".repeat(100)}`, "nested too deeply"],
    ["an endless manifest", huge(), "Package json structure is too large"],
  ])("is refused with %s", async (_, body, reason) => {
    const before = await files();
    const { status, json } = await send(NAME, body);
    expect([status, json.message ?? json.error]).toEqual([400, expect.stringContaining(reason)]);
    expect([await files(), (await get(at(NAME))).status]).toEqual([before, 404]);
  });

  it("is refused with another integrity", async () => {
    const made = document(NAME, "1.0.0");
    const wrong = JSON.stringify(made).replace(/sha512-[^"]+/, "sha512-AAAA");
    expect((await send(NAME, wrong)).status).toBe(400);
    const weak = JSON.stringify(made).replace(/sha512-[^"]+/, "sha1-AAAA");
    expect((await send(NAME, weak)).status).toBe(400);
  });

  it("is refused beyond the limit of its size, and by what is announced before it is read", async () => {
    await app.call("PUT /application/plan_limits", {
      as: "admin",
      json: { plan_name: "default", npm_max_file_size: 10 },
    });
    const { status, json } = await publish(NAME, "1.0.0");
    await app.call("PUT /application/plan_limits", {
      as: "admin",
      json: { plan_name: "default", npm_max_file_size: 0 },
    });
    expect([status, json.message]).toEqual([400, "400 Bad request - File is too large"]);
    const announced = await send(NAME, "{}", "developer", { "content-length": "999999999999" });
    expect(announced.status).toBe(413);
    const wide = `{"name":"${"a".repeat(17 * 1024 * 1024)}"}`;
    expect((await send(NAME, wide)).status).toBe(413);
  });

  it("arrives in pieces of any size", async () => {
    const tgz = Buffer.from(Array.from({ length: 1000 }, (_, index) => (index * 7) % 256));
    const body = Buffer.from(JSON.stringify(document(NAME, "1.0.0", {}, tgz)));
    for (let size = 1; size < 9; size += 1) {
      async function* pieces() {
        for (let from = 0; from < body.length; from += size) {
          yield body.subarray(from, from + size);
        }
      }
      const read = new Document();
      const chunks: Uint8Array[] = [];
      for await (const chunk of read.archive(pieces())) chunks.push(chunk);
      expect(Buffer.concat(chunks).equals(tgz)).toBe(true);
      expect(read.rest()).toMatchObject({ name: NAME, _attachments: {} });
    }
  });
});

/** A document with more of a manifest than is kept. */
function huge() {
  const made = document(NAME, "1.0.0");
  Object.assign(made.versions["1.0.0"] as object, { exports: "x".repeat(70_000) });
  return made;
}

describe("tags of an npm package", () => {
  const tags = (rest = "") => `${project}/packages/npm/-/package/@secret%2fthing/dist-tags${rest}`;
  const put = (tag: string, body: string, as: Person = "developer") =>
    app.call(`PUT ${tags(`/${tag}`)}`, {
      as,
      body,
      headers: { "content-type": "application/json" },
    });

  it("are set, listed and taken away", async () => {
    await publish(NAME, "1.0.0");
    await publish(NAME, "2.0.0");
    expect((await put("beta", '"1.0.0"')).status).toBe(204);
    expect(shown(await get(tags()))).toEqual([200, { latest: "2.0.0", beta: "1.0.0" }]);
    expect((await put("beta", '"2.0.0"')).status).toBe(204);
    expect((await get(tags())).json).toEqual({ latest: "2.0.0", beta: "2.0.0" });
    const [listed] = (await get(`${project}/packages?package_type=npm&sort=desc`)).json;
    expect(listed).toMatchObject({ name: NAME, version: "2.0.0", package_type: "npm" });
    expect(listed.tags.map(({ name }: { name: string }) => name)).toEqual(["latest", "beta"]);
    expect((await get(`${project}/packages/${listed.id}`)).json).toEqual(listed);
    expect((await app.call(`DELETE ${tags("/beta")}`, { as: "developer" })).status).toBe(204);
    expect((await app.call(`DELETE ${tags("/beta")}`, { as: "developer" })).status).toBe(404);
    expect((await get(tags())).json).toEqual({ latest: "2.0.0" });
  });

  it.each([
    ["beta", '"9.9.9"', 404],
    ["beta", "1.0.0", 400],
    ["beta", '"\\u0000"', 400],
    ["beta", "{}", 400],
    ["1.0.0", '"1.0.0"', 400],
    ["a%2Fb", '"1.0.0"', 400],
    ["a%00b", '"1.0.0"', 400],
    ["beta", `"${"1".repeat(2000)}"`, 413],
  ])("can't be %s for %s", async (tag, body, status) => {
    await publish(NAME, "1.0.0");
    expect((await put(tag, body)).status).toBe(status);
  });

  it("are for developers, and a hundred at most", async () => {
    await publish(NAME, "1.0.0");
    expect((await put("x", '"1.0.0"', "reporter")).status).toBe(403);
    expect((await get(tags(), "guest")).status).toBe(403);
    for (let index = 1; index < 100; index += 1) await put(`t${index}`, '"1.0.0"');
    expect((await put("one-more", '"1.0.0"')).status).toBe(400);
  });

  it("leave with their version, and latest is the highest release then", async () => {
    for (const version of ["1.10.0", "1.9.0", "2.0.0-rc.1", "3.0.0"]) await publish(NAME, version);
    const [last] = (await get(`${project}/packages?package_type=npm&sort=desc`)).json;
    const removed = await app.call(`DELETE ${project}/packages/${last.id}`, { as: "maintainer" });
    expect(removed.status).toBe(204);
    expect((await get(tags())).json).toEqual({ latest: "1.10.0" });
    expect((await get(at(NAME))).json["dist-tags"]).toEqual({ latest: "1.10.0" });
    expect((await publish(NAME, "3.0.0")).status).toBe(200);
  });
});

describe("npm deprecate", () => {
  it("sends the versions without their archives", async () => {
    await publish(NAME, "1.0.0");
    await publish(NAME, "2.0.0");
    const told = (await get(`${at(NAME)}?write=true`)).json;
    told.versions["1.0.0"].deprecated = "Too old";
    const sent = JSON.stringify(told);
    expect((await send(NAME, sent, "reporter")).status).toBe(403);
    expect(shown(await send(NAME, sent))).toEqual([200, { ok: true }]);
    const after = (await get(at(NAME))).json;
    expect(after.versions["1.0.0"].deprecated).toBe("Too old");
    expect(after.versions["2.0.0"].deprecated).toBeUndefined();
    after.versions["1.0.0"].deprecated = "";
    expect((await send(NAME, after)).status).toBe(200);
    expect((await get(at(NAME))).json.versions["1.0.0"].deprecated).toBeUndefined();
  });

  it.each([
    [{ versions: { "9.9.9": { deprecated: "x" } } }, 404],
    [{ versions: { "1.0.0": {} } }, 400],
    [{ versions: { "1.0.0": { deprecated: 1 } } }, 400],
    [{ versions: { "1.0.0": { deprecated: "x".repeat(2000) } } }, 400],
    [{}, 400],
    [null, 400],
  ])("of %j is %i", async (body, status) => {
    await publish(NAME, "1.0.0");
    const before = await files();
    expect((await send(NAME, body)).status).toBe(status);
    expect(await files()).toBe(before);
  });
});

describe("groups and the instance", () => {
  const group = `/groups/secret/-/packages/npm/@secret%2fthing`;
  const instance = "/packages/npm/@secret%2fthing";

  it("tell of the packages that the caller may read, with the addresses of their projects", async () => {
    const name = `@secret/p${number}`;
    const encoded = name.replace("/", "%2f");
    await publish(name, "1.0.0");
    for (const path of [`/groups/secret/-/packages/npm/${encoded}`, `/packages/npm/${encoded}`]) {
      const told = await get(path);
      expect([path, told.status]).toEqual([path, 200]);
      expect(told.json.versions["1.0.0"].dist.tarball).toContain(`${project}/packages/npm/`);
      const tags = await get(`${path.replace("npm/", "npm/-/package/")}/dist-tags`);
      expect(shown(tags)).toEqual([200, { latest: "1.0.0" }]);
      const statuses = [];
      for (const as of everyone) statuses.push((await get(path, as)).status);
      expect(statuses).toEqual([404, 404, 404, 200, 200, 200, 200, 200]);
    }
  });

  it("tell of packages of a scope only in the namespace of that name", async () => {
    await publish("@acme/stolen", "1.0.0");
    await publish("plain", "1.0.0");
    expect((await get("/packages/npm/@acme%2fstolen", "owner")).status).toBe(404);
    expect((await get("/packages/npm/plain", "owner")).status).toBe(404);
    expect((await get("/groups/secret/-/packages/npm/plain", "owner")).status).toBe(200);
    expect((await get("/groups/acme/-/packages/npm/plain", "owner")).status).toBe(404);
    expect((await get("/packages/npm/@secret%25/x")).status).toBe(400);
  });

  it("answer what is not there with 404, and forward nothing", async () => {
    const unknown = [group, instance].map((path) => path.replace("thing", "unknown"));
    for (const path of unknown) {
      expect(shown(await get(path))).toEqual([404, { error: "404 Package Not Found" }]);
    }
  });

  it("join the versions of several projects", async () => {
    const name = `@secret/joined${number}`;
    await publish(name, "1.0.0");
    const first = project;
    const groupId = (await app.call("GET /groups/secret", { as: "owner" })).json.id;
    const json = { name: `second${number}`, namespace_id: groupId };
    const made = await app.call("POST /projects", { as: "owner", json });
    project = `/projects/${made.json.id}`;
    await publish(name, "1.0.0");
    await publish(name, "1.1.0");
    const told = await get(`/groups/secret/-/packages/npm/${name.replace("/", "%2f")}`);
    expect(Object.keys(told.json.versions).sort()).toEqual(["1.0.0", "1.1.0"]);
    expect(told.json.versions["1.0.0"].dist.tarball).toContain(project);
    expect(told.json.versions["1.0.0"].dist.tarball).not.toContain(`${first}/`);
    expect(told.json["dist-tags"]).toEqual({ latest: "1.1.0" });
  });
});

it("answers audits, also compressed ones, with nothing", async () => {
  const { gzipSync } = await import("node:zlib");
  for (const base of [
    `${project}/packages/npm`,
    "/groups/secret/-/packages/npm",
    "/packages/npm",
  ]) {
    for (const path of ["advisories/bulk", "audits/quick"]) {
      const answer = await app.call(`POST ${base}/-/npm/v1/security/${path}`, {
        as: "reporter",
        body: gzipSync(JSON.stringify({ "@secret/thing": ["1.0.0"] })),
        headers: { "content-type": "application/json", "content-encoding": "gzip" },
      });
      expect(shown(answer)).toEqual([200, []]);
    }
  }
});

describe("tokens", () => {
  const using = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
  const sent = (version: string) => JSON.stringify(document(NAME, version));

  it("of deploying publish and read as their scopes say", async () => {
    const create = async (owner: string, scopes: string[]) => {
      const json = { name: "npm", scopes };
      return (await app.call(`POST ${owner}/deploy_tokens`, { as: "owner", json })).json.token;
    };
    const write = await create(project, ["write_package_registry"]);
    const read = await create(project, ["read_package_registry"]);
    const ofGroup = await create("/groups/secret", ["read_package_registry"]);
    const other = await create("/groups/acme", ["read_package_registry", "write_package_registry"]);
    const put = async (token: string) =>
      (await app.call(`PUT ${at(NAME)}`, { ...using(token), body: sent("1.0.0") })).status;
    expect([await put(read), await put(other), await put(write)]).toEqual([403, 404, 200]);
    const got = async (path: string, token: string) =>
      (await app.call(`GET ${path}`, using(token))).status;
    const tarball = `${at(NAME)}/-/thing-1.0.0.tgz`;
    expect([await got(at(NAME), read), await got(tarball, read)]).toEqual([200, 200]);
    expect([await got(at(NAME), write), await got(at(NAME), other)]).toEqual([403, 404]);
    const group = `/groups/secret/-/packages/npm/@secret%2fthing`;
    expect([await got(group, ofGroup), await got(group, other), await got(group, read)]).toEqual([
      200, 404, 404,
    ]);
    expect(await got(at(NAME), "gldt-wrong")).toBe(401);
    const [listed] = (await get(`${project}/packages`)).json;
    expect(listed.name).toBe(NAME);
  });

  it("of jobs publish in their project, and in others that take them", async () => {
    const { token } = await app.admin.tokens.createForJob({
      project: String(id),
      user: "developer",
    });
    const put = async (version: string) =>
      (await app.call(`PUT ${at(NAME)}`, { ...using(token), body: sent(version) })).status;
    expect(await put("1.0.0")).toBe(200);
    expect((await app.call(`GET ${at(NAME)}`, using(token))).status).toBe(200);
    const elsewhere = await app.call("GET /projects/secret%2Fvault", { as: "owner" });
    project = `/projects/${elsewhere.json.id}`;
    expect(await put("1.0.0")).toBe(403);
    expect((await app.call(`GET ${at(NAME)}`, using(token))).status).toBe(403);
  });

  it("of jobs find in groups and the instance what takes them", async () => {
    const name = `@secret/jobs${number}`;
    const paths = ["/groups/secret/-/packages/npm", "/packages/npm"].map(
      (base) => `${base}/${name.replace("/", "%2f")}`,
    );
    await publish(name, "1.0.0");
    const vault = (await app.call("GET /projects/secret%2Fvault", { as: "owner" })).json.id;
    const statuses = async (of: number, user: Person) => {
      const { token } = await app.admin.tokens.createForJob({ project: String(of), user });
      const found = [];
      for (const path of paths) found.push((await app.call(`GET ${path}`, using(token))).status);
      return found;
    };
    expect(await statuses(id, "developer")).toEqual([200, 200]);
    expect(await statuses(vault, "developer")).toEqual([404, 404]);
    const json = { target_project_id: vault };
    await app.call(`POST ${project}/job_token_scope/allowlist`, { as: "maintainer", json });
    expect(await statuses(vault, "developer")).toEqual([200, 200]);
    expect(await statuses(vault, "guest")).toEqual([404, 404]);
  });

  it("that only read publish nothing", async () => {
    const json = { name: "r", scopes: ["read_api"], access_level: 40 };
    const made = await app.call(`POST ${project}/access_tokens`, {
      as: "owner",
      json: { ...json, expires_at: "2030-01-01" },
    });
    const { token } = made.json;
    const put = await app.call(`PUT ${at(NAME)}`, { ...using(token), body: sent("1.0.0") });
    expect(put.status).toBe(403);
    expect((await app.call(`GET ${at(NAME)}`, using(token))).status).toBe(404);
  });
});

it("are protected by the rules of their project", async () => {
  const json = {
    package_name_pattern: "@secret/thi*",
    package_type: "npm",
    minimum_access_level_for_push: "maintainer",
  };
  await app.call(`POST ${project}/packages/protection/rules`, { as: "owner", json });
  expect(shown(await publish(NAME, "1.0.0"))).toEqual([
    403,
    { message: "403 Forbidden - Package protected." },
  ]);
  expect((await publish(NAME, "1.0.0", "maintainer")).status).toBe(200);
  expect((await publish("@secret/other", "1.0.0")).status).toBe(200);
});

it("count in statistics, with their digests among the files of packages", async () => {
  await publish(NAME, "1.0.0");
  const { json } = await get(`${project}?statistics=true`);
  expect(json.statistics.packages_size).toBe(TGZ.length);
  const [found] = (await get(`${project}/packages`)).json;
  const [file] = (await get(`${project}/packages/${found.id}/package_files`)).json;
  expect(file).toMatchObject({
    file_name: `${NAME}-1.0.0.tgz`,
    size: TGZ.length,
    file_md5: digest("md5", "hex", TGZ),
    file_sha1: digest("sha1", "hex", TGZ),
    file_sha256: digest("sha256", "hex", TGZ),
  });
});

it("tells of thousands of versions in bounded steps", async () => {
  await publish(NAME, "1.0.0");
  const [[packageId = 0, manifest] = []] = await app.store.rows(
    "select id, manifest from packages where project_id = ?",
    [id],
  );
  expect(manifest).toContain("A thing");
  for (let from = 0; from < 2000; from += 500) {
    await app.store.transaction(async (db) => {
      for (let index = from; index < from + 500; index += 1) {
        await db.run(
          `insert into packages (project_id, package_type, name, version, status, created_at, updated_at, manifest)
           select project_id, package_type, name, ?, status, created_at, updated_at, manifest from packages where id = ?`,
          [`2.0.${index}`, packageId as number],
        );
      }
    });
  }
  app.statements.length = 0;
  const told = await get(at(NAME));
  // Those without a file can't be installed.
  expect(Object.keys(told.json.versions)).toEqual(["1.0.0"]);
  expect(app.statements.length).toBeLessThan(20);
});
