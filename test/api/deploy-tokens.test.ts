import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resources } from "../../src/resources/index.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";

const START = Date.parse("2026-06-15T12:00:00.000Z");
let clock = START;
let app: TestApp;
beforeAll(async () => {
  app = await testApp({ now: () => clock });
});
afterAll(() => app.dispose());

const VAULT = "/projects/secret%2Fvault";
const GROUP = "/groups/secret";
const FILE = "packages/generic/tool/1.0.0/tool.txt";

const create = (at: string, json: object, as: Person = "owner") =>
  app.call(`POST ${at}/deploy_tokens`, { as, json });
const using = (token: string) => ({ headers: { "deploy-token": token } });
const fetching = (project: string, login: string, token: string, service = "git-upload-pack") =>
  app.call(`GET http://pm.test/${project}.git/info/refs?service=${service}`, {
    headers: { authorization: `Basic ${Buffer.from(`${login}:${token}`).toString("base64")}` },
  });

describe.each([
  ["group", GROUP, { reading: 40, changing: 50 }],
  ["project", VAULT, { reading: 40, changing: 40 }],
] as const)("a deploy token of a %s", (_, at, needed) => {
  it("is created with a secret that no other answer has", async () => {
    const expires_at = "2026-07-01T00:00:00.000Z";
    const made = await create(at, { name: "ci", scopes: ["read_repository"], expires_at });
    const shown = {
      id: expect.any(Number),
      name: "ci",
      username: `gitlab+deploy-token-${made.json.id}`,
      expires_at,
      scopes: ["read_repository"],
      revoked: false,
      expired: false,
    };
    const { token, ...rest } = made.json;
    expect([made.status, rest]).toEqual([201, shown]);
    expect(token).toMatch(/^gldt-[0-9a-f]{40}$/);
    const got = await app.call(`GET ${at}/deploy_tokens/${rest.id}`, { as: "owner" });
    expect(got.json).toEqual(shown);
    const list = await app.call(`GET ${at}/deploy_tokens`, { as: "owner" });
    expect(list.json).toEqual([shown]);
    const all = await app.call("GET /deploy_tokens", { as: "admin" });
    expect(all.json).toContainEqual(shown);
    const stored = JSON.stringify(await app.store.rows("select * from deploy_tokens"));
    expect(stored).not.toContain(token);
  });

  it("needs a name, known scopes and a plain user name", async () => {
    const scopes = ["read_repository"];
    expect((await create(at, { scopes })).status).toBe(400);
    expect((await create(at, { name: "t" })).status).toBe(400);
    expect((await create(at, { name: "t", scopes: [] })).status).toBe(400);
    expect((await create(at, { name: "t", scopes: ["api"] })).status).toBe(400);
    expect((await create(at, { name: "t", scopes, username: "a b" })).status).toBe(400);
    const named = await create(at, { name: "t", scopes, username: "robot_1" });
    expect(named.json).toMatchObject({ username: "robot_1" });
  });

  it("is managed by those who may", async () => {
    const levels = { reporter: 20, developer: 30, maintainer: 40, owner: 50, admin: 60 };
    for (const [person, level] of Object.entries(levels)) {
      const as = person as Person;
      const read = await app.call(`GET ${at}/deploy_tokens`, { as });
      expect([as, read.status]).toEqual([as, level >= needed.reading ? 200 : 403]);
      const made = await create(at, { name: as, scopes: ["read_repository"] }, as);
      expect([as, made.status]).toEqual([as, level >= needed.changing ? 201 : 403]);
    }
    const { status } = await app.call("GET /deploy_tokens", { as: "owner" });
    expect(status).toBe(403);
  });

  it("fetches code by Git with its user name, and pushes none", async () => {
    const { json } = await create(at, { name: "git", scopes: ["read_repository"] });
    expect((await fetching("secret/vault", json.username, json.token)).status).toBe(200);
    expect((await fetching("secret/vault", "owner", json.token)).status).toBe(401);
    expect((await fetching("acme/team/core", json.username, json.token)).status).toBe(404);
    const push = await fetching("secret/vault", json.username, json.token, "git-receive-pack");
    expect(push.status).toBe(403);
    expect((await app.call(`GET ${VAULT}`, using(json.token))).status).toBe(404);
    const packages = await app.call(`GET ${VAULT}/packages`, using(json.token));
    expect([packages.status, packages.json.error]).toEqual([403, "insufficient_scope"]);
  });

  it("uploads and downloads packages as its scopes say", async () => {
    const reader = await create(at, { name: "r", scopes: ["read_package_registry"] });
    const scopes = ["read_package_registry", "write_package_registry"];
    const writer = await create(at, { name: "w", scopes });
    const put = (token: string) =>
      app.call(`PUT ${VAULT}/${FILE}`, { ...using(token), body: "hello" });
    expect((await put(reader.json.token)).status).toBe(403);
    expect((await put(writer.json.token)).status).toBe(201);
    for (const { json } of [reader, writer]) {
      const got = await app.call(`GET ${VAULT}/${FILE}`, using(json.token));
      expect([got.status, got.text]).toEqual([200, "hello"]);
      const list = await app.call(`GET ${VAULT}/packages`, using(json.token));
      expect(list.json).toMatchObject([{ name: "tool", version: "1.0.0" }]);
    }
    const other = await app.call(`GET /projects/acme%2Fteam%2Fcore/packages`, {
      ...using(reader.json.token),
    });
    expect(other.status).toBe(404);
    const git = await fetching("secret/vault", reader.json.username, reader.json.token);
    expect(git.status).toBe(403);
  });

  it("works until it is revoked or has expired", async () => {
    const scopes = ["read_repository", "read_package_registry"];
    const expires_at = new Date(clock + 60_000).toISOString();
    const short = (await create(at, { name: "short", scopes, expires_at })).json;
    const long = (await create(at, { name: "long", scopes })).json;
    const works = async ({ token, username }: { token: string; username: string }) => [
      (await app.call(`GET ${VAULT}/packages`, using(token))).status,
      (await fetching("secret/vault", username, token)).status,
    ];
    expect(await works(short)).toEqual([200, 200]);
    clock += 60_000;
    expect(await works(short)).toEqual([401, 401]);
    expect(await works(long)).toEqual([200, 200]);
    const names = async (active: boolean) => {
      const path = `GET ${at}/deploy_tokens?active=${active}&per_page=100`;
      return (await app.call(path, { as: "owner" })).json.map((one: { name: string }) => one.name);
    };
    expect(await names(false)).toEqual(["short"]);
    expect(await names(true)).toContain("long");
    const path = `${at}/deploy_tokens/${long.id}`;
    expect((await app.call(`DELETE ${path}`, { as: "developer" })).status).toBe(403);
    expect((await app.call(`DELETE ${path}`, { as: "owner" })).status).toBe(204);
    expect(await works(long)).toEqual([401, 401]);
    expect((await app.call(`GET ${path}`, { as: "owner" })).status).toBe(404);
  });
});

it("is not found elsewhere, nor acts as a user", async () => {
  const { json } = await create(VAULT, { name: "x", scopes: ["read_package_registry"] });
  const elsewhere = `/projects/acme%2Fsite/deploy_tokens/${json.id}`;
  expect((await app.call(`GET ${elsewhere}`, { as: "owner" })).status).toBe(404);
  expect((await app.call(`DELETE ${elsewhere}`, { as: "owner" })).status).toBe(404);
  const sudo = await app.call(`GET ${VAULT}/packages?sudo=owner`, using(json.token));
  expect(sudo.status).toBe(403);
  expect((await app.call("GET /user", using(json.token))).status).toBe(401);
  const wrong = await app.call(`GET ${VAULT}/packages`, using("gldt-0"));
  expect(wrong.status).toBe(401);
});

it("is accepted only for packages", () => {
  const opted = resources.flatMap(({ routes }) => routes.filter((route) => route.deployTokens));
  const shown = opted.map(({ method, path, deployTokens }) => `${method} ${path} ${deployTokens}`);
  const at = "/projects/:id/packages";
  const file = `${at}/generic/:package_name/:package_version/:file_name*`;
  const npm = `${at}/npm/:package_name*`;
  const tags = `${at}/npm/-/package/:package_name*/dist-tags`;
  const ofGroup = "/groups/:id/-/packages/npm";
  const audits = ["advisories/bulk", "audits/quick"].flatMap((path) =>
    [`${at}/npm`, ofGroup].map(
      (base) => `POST ${base}/-/npm/v1/security/${path} read_package_registry`,
    ),
  );
  const expected = [
    ...audits,
    `DELETE ${tags}/:tag write_package_registry`,
    `GET ${ofGroup}/-/package/:package_name*/dist-tags read_package_registry`,
    `GET ${ofGroup}/:package_name* read_package_registry`,
    `GET ${tags} read_package_registry`,
    `GET ${npm} read_package_registry`,
    `GET ${npm}/-/:file_name* read_package_registry`,
    `PUT ${npm} write_package_registry`,
    `PUT ${tags}/:tag write_package_registry`,
    ...["list", ":module_version.info", ":module_version.mod", ":module_version.zip"].map(
      (file) => `GET ${at}/go/:module_name*/@v/${file} read_package_registry`,
    ),
    `POST ${at}/composer write_package_registry`,
    `GET ${at}/composer/archives/:package_name* read_package_registry`,
    ...["packages", "p/:sha", "p2/:package_name*", ":package_name*"].map(
      (path) => `GET /group/:id/-/packages/composer/${path} read_package_registry`,
    ),
    `GET ${at}/helm/:channel/index.yaml read_package_registry`,
    `GET ${at}/helm/:channel/charts/:file_name.tgz read_package_registry`,
    `POST ${at}/helm/api/:channel/charts write_package_registry`,
    `GET ${at}/maven/:path* read_package_registry`,
    `GET /groups/:id/-/packages/maven/:path* read_package_registry`,
    `PUT ${at}/maven/:path* write_package_registry`,
    ...[`${at}/nuget`, "/groups/:id/-/packages/nuget"].flatMap((base) =>
      [
        "index",
        "query",
        "metadata/:package_name/index",
        "metadata/:package_name/:package_version",
      ].map((path) => `GET ${base}/${path} read_package_registry`),
    ),
    `GET ${at}/nuget/download/:package_name/index read_package_registry`,
    `GET ${at}/nuget/download/:package_name/:package_version/:package_filename read_package_registry`,
    `PUT ${at}/nuget write_package_registry`,
    `PUT ${at}/nuget/symbolpackage write_package_registry`,
    `DELETE ${at}/nuget/:package_name/:package_version write_package_registry`,
    `POST ${at}/pypi write_package_registry`,
    ...[`${at}/pypi`, "/groups/:id/-/packages/pypi"].flatMap((base) => [
      `GET ${base}/simple read_package_registry`,
      `GET ${base}/simple/:package_name read_package_registry`,
    ]),
    `GET ${at}/pypi/files/:sha256/:file_identifier read_package_registry`,
    `GET ${at} read_package_registry`,
    `GET ${at}/:package_id read_package_registry`,
    `GET ${at}/:package_id/package_files read_package_registry`,
    `GET ${file} read_package_registry`,
    `PUT ${file} write_package_registry`,
  ];
  expect(shown.sort()).toEqual(expected.sort());
});
