import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { removeEmpty } from "../../src/resources/packages/queries.ts";
import { everyone, type Person, type TestApp, tokenOf } from "../helpers.ts";
import { publishInProjects } from "./_packages.ts";
import { unzipped } from "./_zip.ts";

let app: TestApp;
let project: string;
let number: number;
publishInProjects((given) => {
  ({ app, project, number } = given);
});

const GROUP = "/group/secret/-/packages/composer";
const name = () => `acme/thing${number}`;

/** Commits a composer.json to `main`. @returns the commit's id */
async function commit(content: object | string, tag?: string, of = project): Promise<string> {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const known = await app.call(`GET ${of}/repository/files/composer.json?ref=main`, {
    as: "owner",
  });
  const action = known.status === 200 ? "update" : "create";
  const json = {
    ...{ branch: "main", commit_message: "x" },
    actions: [{ action, file_path: "composer.json", content: text }],
  };
  const { json: made } = await app.call(`POST ${of}/repository/commits`, { as: "owner", json });
  if (tag) {
    const tagged = { tag_name: tag, ref: made.id, message: "annotated" };
    await app.call(`POST ${of}/repository/tags`, { as: "owner", json: tagged });
  }
  return made.id;
}
const publish = (json: object, as: Person = "developer", of = project) =>
  app.call(`POST ${of}/packages/composer`, { as, json });
const get = (path: string, as: Person = "reporter", headers = {}) =>
  app.call(`GET ${path}`, { as, headers });
const versions = async (of = name()) => {
  const { status, text } = await get(`${GROUP}/p2/${of}.json`);
  return status === 200 ? JSON.parse(text).packages[of] : status;
};

describe("a package for Composer", () => {
  it("is a tag or a branch, told to the groups around its project, and downloaded", async () => {
    const composer = {
      name: name(),
      description: "A thing",
      require: { php: ">=8" },
      extra: { a: [1] },
    };
    const sha = await commit({ ...composer, version: "9", dist: { url: "x" } }, "v1.0.0");
    const sent = await publish({ tag: "v1.0.0" });
    expect([sent.status, sent.json]).toEqual([201, { message: "201 Created" }]);
    expect((await publish({ branch: "main" })).status).toBe(201);
    const told = await versions();
    expect(Object.keys(told)).toEqual(["1.0.0", "dev-main"]);
    const url = `http://pm.test/api/v4${project}/packages/composer/archives/${name()}.zip?sha=${sha}`;
    expect(told["1.0.0"]).toEqual({
      ...composer,
      version: "1.0.0",
      dist: { type: "zip", url, reference: sha, shasum: "" },
      source: { type: "git", url: expect.stringMatching(/^git@.*\.git$/), reference: sha },
      uid: expect.any(Number),
    });
    const answer = await app.fetch(
      new Request(url, { headers: { "private-token": tokenOf("reporter") } }),
    );
    const files = unzipped(Buffer.from(await answer.arrayBuffer()));
    expect([...files.keys()].filter((path) => path.endsWith("/composer.json"))).toHaveLength(1);
    for (const wrong of [
      url.replace(sha, "0".repeat(40)),
      url.replace(sha, "main"),
      url.replace("thing", "other"),
    ]) {
      expect([wrong, (await get(wrong)).status]).toEqual([wrong, 404]);
    }
    await removeEmpty(app.store);
    const listed = await get(`${project}/packages?package_type=composer`);
    expect(listed.json).toHaveLength(2);
    await app.call(`DELETE ${project}/packages/${listed.json[0].id}`, { as: "maintainer" });
    expect(Object.keys(await versions())).toHaveLength(1);
  });

  it("is found by both generations of Composer", async () => {
    await commit({ name: name() }, "1.0");
    await publish({ tag: "1.0" });
    const two = await get(`${GROUP}/packages.json`, "reporter", { "user-agent": "Composer/2.5.5" });
    expect(two.json).toEqual({
      packages: [],
      "metadata-url": expect.stringMatching(
        /^\/api\/v4\/group\/\d+\/-\/packages\/composer\/p2\/%package%\.json$/,
      ),
    });
    const one = await get(`${GROUP}/packages.json`);
    const { sha256 } = one.json["provider-includes"]["p/%hash%.json"];
    const included = await get(`${GROUP}/p/${sha256}.json`);
    const digest = (text: string) => createHash("sha256").update(text).digest("hex");
    expect(digest(included.text)).toBe(sha256);
    const of = JSON.parse(included.text).providers[name()].sha256;
    const provided = one.json["providers-url"].replace("%package%", name()).replace("%hash%", of);
    const told = await get(`http://pm.test${provided}`);
    expect([told.status, digest(told.text)]).toEqual([200, of]);
    expect((await get(`${GROUP}/${name()}.json`)).status).toBe(404);
    expect((await get(`${GROUP}/p2/${name()}~dev.json`)).status).toBe(404);
  });

  it("has the version of its tag or branch, and the commit that was published last", async () => {
    await commit({ name: name().toUpperCase() }, "2.0.0-beta1");
    await publish({ tag: "2.0.0-beta1" });
    for (const [branch, version] of [
      ["1.x", "1.x-dev"],
      ["v1.2", "1.2.x-dev"],
      ["feature/a", "dev-feature/a"],
    ]) {
      const json = { branch, ref: "main" };
      await app.call(`POST ${project}/repository/branches`, { as: "owner", json });
      expect((await publish({ branch })).status).toBe(201);
      expect(Object.keys(await versions())).toContain(version);
    }
    expect(Object.keys(await versions())).toContain("2.0.0-beta1");
    await publish({ branch: "main" });
    const sha = await commit({ name: name(), type: "library" });
    await publish({ branch: "main" });
    expect((await versions())["dev-main"]).toMatchObject({
      type: "library",
      source: { reference: sha },
    });
  });

  it.each([
    [{ tag: "none" }, 404, "404 Tag Not Found"],
    [{ branch: "none" }, 404, "404 Branch Not Found"],
    [{}, 400, "exactly one parameter must be provided"],
    [{ tag: "v1.0.0", branch: "main" }, 400, "mutually exclusive"],
    [{ tag: "nightly" }, 400, "Version is invalid"],
  ])("is refused as %j", async (sent, status, said) => {
    await commit({ name: name() }, "nightly");
    const answer = await publish(sent);
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(said)]);
  });

  it.each([
    ["no JSON", "{", 422],
    ["a list", "[]", 422],
    ["too deep", `{"name":"acme/thing","a":${"[".repeat(100)}${"]".repeat(100)}}`, 422],
    ["too large", `{"name":"acme/thing","a":"${"x".repeat(70_000)}"}`, 422],
    ["without a name", "{}", 400],
    ["with a name that leads elsewhere", '{"name":"../thing"}', 400],
    ["with a name of one part", '{"name":"thing"}', 400],
    ["with a name that is none", '{"name":{"a":1}}', 400],
  ])("is refused with a composer.json that is %s", async (_, content, status) => {
    await commit(content);
    expect((await publish({ branch: "main" })).status).toBe(status);
  });

  it("is refused without a composer.json", async () => {
    const json = {
      ...{ branch: "main", commit_message: "x" },
      actions: [{ action: "create", file_path: "composer.json/a", content: "x" }],
    };
    await app.call(`POST ${project}/repository/commits`, { as: "owner", json });
    const answer = await publish({ branch: "main" });
    expect([answer.status, answer.json.message]).toEqual([
      422,
      "422 Unprocessable Entity - The file composer.json was not found.",
    ]);
  });

  it("is for developers, and read by who may read the code", async () => {
    await commit({ name: name() }, "1.0.0");
    const statuses = [];
    for (const as of everyone) statuses.push((await publish({ tag: "1.0.0" }, as)).status);
    expect(statuses).toEqual([401, 404, 403, 403, 201, 201, 201, 201]);
    const { sha } = JSON.parse(
      String(
        (await app.store.rows("select manifest from packages order by id desc limit 1"))[0]?.[0],
      ),
    );
    const statusesOf = async (path: string) => {
      const read = [];
      for (const as of everyone) read.push((await get(path, as)).status);
      return read;
    };
    const archive = `${project}/packages/composer/archives/${name()}.zip?sha=${sha}`;
    expect(await statusesOf(archive)).toEqual([401, 404, 403, 200, 200, 200, 200, 200]);
    const told = `${GROUP}/p2/${name()}.json`;
    expect(await statusesOf(told)).toEqual([401, 404, 404, 200, 200, 200, 200, 200]);
    const asked = await get(`${GROUP}/packages.json`, "anonymous");
    expect([asked.status, asked.headers.get("www-authenticate")]).toEqual([
      401,
      'Basic realm="GitLab Packages Registry"',
    ]);
    const rule = {
      package_name_pattern: "acme/*",
      package_type: "composer",
      minimum_access_level_for_push: "owner",
    };
    const ruled = await app.call(`POST ${project}/packages/protection/rules`, {
      as: "maintainer",
      json: rule,
    });
    if (ruled.status === 201) expect((await publish({ tag: "1.0.0" })).status).toBe(403);
  });
});
