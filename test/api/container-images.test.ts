import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { baseSeed, type Person, type TestApp, testApp, tokenOf } from "../helpers.ts";
import {
  accessOf,
  basic,
  digestOf,
  IMAGE,
  INDEX,
  pushBlob,
  pusher,
  pushImage,
  putManifest,
  registryOf,
  signIn,
} from "./_registry.ts";

let app: TestApp;
const SITE = "acme/site";

beforeAll(async () => {
  app = await testApp({ seed: baseSeed });
  return () => app.close();
});

const codeOf = ({ json }: { json: { errors: { code: string }[] } }) => json.errors[0]?.code;
const raw = (request: string, headers: Record<string, string> = {}) =>
  app.call(request.replace(" /", " http://localhost/"), { headers });

describe("the token service", () => {
  const rights = (person: Person, scope: string) =>
    signIn(app, [scope], person === "anonymous" ? {} : basic(person, tokenOf(person))).then(
      (answer) => accessOf(answer)[0]?.actions ?? [],
    );

  it.each([
    ["anonymous", ["pull"], []],
    ["stranger", ["pull"], []],
    ["guest", ["pull"], []],
    ["reporter", ["pull"], ["pull"]],
    ["developer", ["pull", "push"], ["pull", "push"]],
    ["maintainer", ["pull", "push", "delete", "*"], ["pull", "push", "delete", "*"]],
    ["admin", ["pull", "push", "delete", "*"], ["pull", "push", "delete", "*"]],
  ] as const)(
    "gives %s %o of a public project, and %o of a private one",
    async (person, open, closed) => {
      expect(await rights(person, `repository:${SITE}/img:pull,push,delete,*`)).toEqual(open);
      expect(await rights(person, "repository:secret/vault:pull,push,delete,*")).toEqual(closed);
    },
  );

  it("takes passwords, and refuses wrong ones", async () => {
    await app.call("POST /users", {
      as: "admin",
      json: { username: "pia", name: "Pia", email: "pia@example.com", password: "long enough 1" },
    });
    const { status } = await signIn(app, [], basic("pia", "long enough 1"));
    expect(status).toBe(200);
    const wrong = await signIn(app, [], basic("pia", "wrong"));
    expect([wrong.status, codeOf(wrong)]).toEqual([401, "UNAUTHORIZED"]);
    expect(wrong.headers.get("content-type")).toContain("application/json");
  });

  it("answers 403 to nobody without a scope, and 404 for other services", async () => {
    const nobody = await signIn(app, []);
    expect([nobody.status, codeOf(nobody)]).toEqual([403, "DENIED"]);
    const other = await raw("GET /jwt/auth?service=other");
    expect([other.status, codeOf(other)]).toEqual([404, "UNAVAILABLE"]);
    expect((await raw("POST /jwt/auth")).status).toBe(405);
  });

  it("reads several scopes, and leaves out what can't be had", async () => {
    const scopes = [
      `repository:${SITE}:pull`,
      "repository:secret/vault:push repository:acme/team/core:pull,push",
      "registry:catalog:*",
      "repository:no/such:pull",
      "repository:acme/site/a/b/c:pull",
      "repository:ACME/site:pull",
      "nonsense",
    ];
    const answer = await signIn(app, scopes, basic("developer", tokenOf("developer")));
    expect(accessOf(answer).map(({ name, actions }) => [name, actions])).toEqual([
      [SITE, ["pull"]],
      ["secret/vault", ["push"]],
      ["acme/team/core", ["pull", "push"]],
    ]);
    const many = await signIn(app, Array(21).fill(`repository:${SITE}:pull`));
    expect(many.status).toBe(400);
  });

  it("has the claims of a token of GitLab's", async () => {
    const { json, headers } = await signIn(app, [], basic("ada", tokenOf("reporter")));
    expect(headers.get("cache-control")).toBe("no-store");
    const [head, claims] = json.token
      .split(".")
      .slice(0, 2)
      .map((part: string) => JSON.parse(Buffer.from(part, "base64url").toString()));
    expect(head).toEqual({ typ: "JWT", alg: "RS256" });
    expect(claims).toMatchObject({ aud: "container_registry", sub: "reporter", access: [] });
    expect(claims.exp - claims.iat).toBe(300);
    await app.call("PUT /application/settings", {
      as: "admin",
      json: { container_registry_token_expire_delay: 7 },
    });
    const later = await signIn(app, [], basic("ada", tokenOf("reporter")));
    expect(later.json.expires_in).toBe(420);
  });

  it.each([
    [["read_registry"], ["pull"]],
    [["write_registry"], ["push"]],
    [
      ["read_registry", "write_registry"],
      ["pull", "push"],
    ],
    [["read_api"], ["pull"]],
    [["api"], ["pull", "push", "delete"]],
  ])("gives a personal token with %o %o", async (scopes, actions) => {
    const { json } = await app.call(
      "POST /users/6/personal_access_tokens".replace("6", await idOf("maintainer")),
      {
        as: "admin",
        json: { name: "images", scopes },
      },
    );
    const answer = await signIn(
      app,
      [`repository:${SITE}:pull,push,delete`],
      basic("x", json.token),
    );
    expect(accessOf(answer)[0]?.actions).toEqual(actions);
  });

  it("refuses tokens without a scope of the registry", async () => {
    const { json } = await app.call(
      `POST /users/${await idOf("maintainer")}/personal_access_tokens`,
      {
        as: "admin",
        json: { name: "code", scopes: ["read_repository"] },
      },
    );
    const answer = await signIn(app, [`repository:${SITE}:pull`], basic("x", json.token));
    expect([answer.status, codeOf(answer)]).toEqual([403, "DENIED"]);
  });

  it("takes deploy tokens by their own name, where they belong", async () => {
    const { json } = await app.call("POST /projects/acme%2Fsite/deploy_tokens", {
      as: "maintainer",
      json: { name: "images", scopes: ["read_registry", "write_registry"] },
    });
    const scopes = [`repository:${SITE}:pull,push,delete`, "repository:secret/vault:pull,push"];
    const own = await signIn(app, scopes, basic(json.username, json.token));
    expect(accessOf(own).map(({ name, actions }) => [name, actions])).toEqual([
      [SITE, ["pull", "push"]],
    ]);
    expect((await signIn(app, scopes, basic("other", json.token))).status).toBe(401);
    const reader = await app.call("POST /projects/acme%2Fsite/deploy_tokens", {
      as: "maintainer",
      json: { name: "reader", scopes: ["read_registry"] },
    });
    const reading = await signIn(app, scopes, basic(reader.json.username, reader.json.token));
    expect(accessOf(reading)[0]?.actions).toEqual(["pull"]);
  });

  it("takes tokens of jobs: they change what their own project has, and pull from those that take them", async () => {
    const jobOf = async (user: string) => {
      const { token } = await app.admin.tokens.createForJob({ user, project: "secret/vault" });
      return basic("gitlab-ci-token", token);
    };
    const scopes = ["secret/vault", SITE, "acme/team/core"].map(
      (name) => `repository:${name}:pull,push,delete`,
    );
    const own = accessOf(await signIn(app, scopes, await jobOf("owner")));
    expect(own.map(({ name, actions }) => [name, actions])).toEqual([
      ["secret/vault", ["pull", "push", "delete"]],
      // What everybody may.
      [SITE, ["pull"]],
    ]);
    const { json } = await app.call("GET /projects/secret%2Fvault", { as: "owner" });
    await app.call("POST /projects/acme%2Fteam%2Fcore/job_token_scope/allowlist", {
      as: "owner",
      json: { target_project_id: json.id },
    });
    const listed = accessOf(await signIn(app, scopes.slice(2), await jobOf("owner")));
    expect(listed[0]?.actions).toEqual(["pull"]);
    const stranger = accessOf(await signIn(app, scopes, await jobOf("stranger")));
    expect(stranger.map(({ name }) => name)).toEqual([SITE]);
    const { authorization } = await jobOf("owner");
    const token = Buffer.from(authorization.slice(6), "base64").toString().split(":")[1];
    expect((await signIn(app, scopes, basic("ada", token as string))).status).toBe(401);
  });

  it("refuses OAuth2 tokens", async () => {
    const { json } = await raw(
      "POST /oauth/token?grant_type=password&username=pia&password=long%20enough%201",
    );
    expect(json.access_token).toBeTypeOf("string");
    const { status } = await signIn(
      app,
      [`repository:${SITE}:pull`],
      basic("oauth2", json.access_token),
    );
    expect(status).toBe(401);
  });

  it("gives nothing where the registry is disabled, and to members only where it is private", async () => {
    const path = "acme%2Fteam%2Fcore";
    const set = (level: string) =>
      app.call(`PUT /projects/${path}`, {
        as: "owner",
        json: { container_registry_access_level: level, visibility: "private" },
      });
    await set("disabled");
    expect(await rights("owner", "repository:acme/team/core:pull,push")).toEqual([]);
    await set("private");
    expect(await rights("reporter", "repository:acme/team/core:pull,push")).toEqual(["pull"]);
    await set("enabled");
    expect(await rights("developer", "repository:acme/team/core:pull,push")).toEqual([
      "pull",
      "push",
    ]);
  });

  it("refuses pushes to what a rule protects", async () => {
    await app.call("POST /projects/secret%2Fvault/registry/protection/repository/rules", {
      as: "owner",
      json: {
        repository_path_pattern: "secret/vault/safe*",
        minimum_access_level_for_push: "maintainer",
      },
    });
    const scope = ["repository:secret/vault/safe:pull,push"];
    const developer = await signIn(app, scope, basic("x", tokenOf("developer")));
    expect([developer.status, codeOf(developer)]).toEqual([403, "DENIED"]);
    expect(developer.json.errors[0].message).toBe("Pushing to protected repository path forbidden");
    expect(await rights("maintainer", scope[0] as string)).toEqual(["pull", "push"]);
    expect(await rights("developer", "repository:secret/vault/other:push")).toEqual(["push"]);
  });
});

async function idOf(username: string): Promise<string> {
  const { json } = await app.call(`GET /users?username=${username}`, { as: "admin" });
  return String(json[0].id);
}

describe("tokens", () => {
  it("are asked for", async () => {
    const { status, headers, json } = await raw("GET /v2/");
    expect(status).toBe(401);
    expect(headers.get("www-authenticate")).toBe(
      'Bearer realm="http://localhost/jwt/auth",service="container_registry"',
    );
    expect(headers.get("docker-distribution-api-version")).toBe("registry/2.0");
    expect(json).toEqual({
      errors: [{ code: "UNAUTHORIZED", message: "authentication required", detail: {} }],
    });
    const push = await raw(`POST /v2/${SITE}/blobs/uploads/`);
    expect(push.headers.get("www-authenticate")).toContain(`scope="repository:${SITE}:pull,push"`);
    const pull = await raw(`GET /v2/${SITE}/manifests/1.0`);
    expect(pull.headers.get("www-authenticate")).toContain(`scope="repository:${SITE}:pull"`);
  });

  it("open /v2/ to whoever has signed in", async () => {
    const client = await registryOf(app, "guest");
    const { status, json } = await client("GET ");
    expect([status, json]).toEqual([200, {}]);
  });

  it("are good for their repository and their actions only", async () => {
    const client = await registryOf(app, "reporter", `repository:${SITE}:pull,push`);
    const push = await client(`POST ${SITE}/blobs/uploads/`);
    expect([push.status, codeOf(push)]).toEqual([401, "UNAUTHORIZED"]);
    expect(push.headers.get("www-authenticate")).toContain('error="insufficient_scope"');
    expect((await client(`GET ${SITE}/tags/list`)).status).toBe(404);
    for (const other of ["secret/vault", `${SITE}/img`, "acme/team/core", "acme"]) {
      expect((await client(`GET ${other}/tags/list`)).status).toBe(401);
    }
  });

  it("of other kinds are none, and these are none elsewhere", async () => {
    for (const token of [tokenOf("admin"), "a.b.c", "eyJ.eyJ.", ""]) {
      const { status } = await raw("GET /v2/", { authorization: `Bearer ${token}` });
      expect(status).toBe(401);
    }
    expect((await raw("GET /v2/", basic("admin", tokenOf("admin")))).status).toBe(401);
    expect((await raw("GET /v2/", { "private-token": tokenOf("admin") })).status).toBe(401);
    const { json } = await signIn(app, [], basic("admin", tokenOf("admin")));
    for (const headers of [
      { authorization: `Bearer ${json.token}` },
      { "private-token": json.token },
      { "job-token": json.token },
    ]) {
      expect((await raw("GET /api/v4/user", headers)).status).toBe(401);
    }
    expect((await signIn(app, [], basic("admin", json.token))).status).toBe(401);
  });

  it("that were changed, have ended, or name no algorithm are refused", async () => {
    const { json } = await signIn(app, [`repository:${SITE}:pull`]);
    const [head, claims, signature] = json.token.split(".");
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const said = JSON.parse(Buffer.from(claims, "base64url").toString());
    const more = encode({ ...said, access: [{ ...said.access[0], actions: ["*"] }] });
    for (const token of [
      `${head}.${more}.${signature}`,
      `${encode({ typ: "JWT", alg: "none" })}.${claims}.`,
      `${encode({ typ: "JWT", alg: "HS256" })}.${claims}.${signature}`,
      `${head}.${claims}`,
      `${head}.${claims}.${signature}.`,
    ]) {
      expect((await raw("GET /v2/", { authorization: `Bearer ${token}` })).status).toBe(401);
    }
    const valid = { authorization: `Bearer ${json.token}` };
    expect((await raw("GET /v2/", valid)).status).toBe(200);
    const later = await app.another({ now: () => Date.now() + 3_600_000 });
    onTestFinished(() => later.close());
    const { status } = await later.call("GET http://localhost/v2/", { headers: valid });
    expect(status).toBe(401);
  });

  it("are signed by a key that the database has encrypted", async () => {
    const rows = await app.store.rows("select private_key from container_registry_keys");
    expect(rows.length).toBe(1);
    expect(String(rows[0]?.[0])).toMatch(/^\$1\$/);
  });
});

describe("blobs", () => {
  it("are pushed as a whole, and pulled", async () => {
    const client = await pusher(app);
    const content = "a layer";
    const { digest } = await pushBlob(client, SITE, content);
    const got = await client(`GET ${SITE}/blobs/${digest}`);
    expect([got.status, got.text]).toEqual([200, content]);
    expect(got.headers.get("docker-content-digest")).toBe(digest);
    const head = await client(`HEAD ${SITE}/blobs/${digest}`);
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(head.headers.get("content-length")).toBe(String(content.length));
    const part = await client(`GET ${SITE}/blobs/${digest}`, { headers: { range: "bytes=2-4" } });
    expect([part.status, part.text]).toEqual([206, "lay"]);
    const late = await client(`GET ${SITE}/blobs/${digest}`, { headers: { range: "bytes=99-" } });
    expect(late.status).toBe(416);
  });

  it("are pushed in parts, which follow each other", async () => {
    const client = await pusher(app);
    const begun = await client(`POST ${SITE}/blobs/uploads/`);
    expect(begun.status).toBe(202);
    const location = begun.headers.get("location")?.replace("/v2/", "") as string;
    expect(begun.headers.get("range")).toBe("0-0");
    expect(location).toContain(begun.headers.get("docker-upload-uuid"));
    const parts = ["x".repeat(300_000), "y".repeat(10), "z".repeat(262_144)];
    let size = 0;
    for (const body of parts) {
      const headers = { "content-range": `${size}-${size + body.length - 1}` };
      const { status, headers: answered } = await client(`PATCH ${location}`, { body, headers });
      size += body.length;
      expect([status, answered.get("range")]).toEqual([202, `0-${size - 1}`]);
    }
    const gap = await client(`PATCH ${location}`, {
      body: "late",
      headers: { "content-range": `${size + 1}-${size + 4}` },
    });
    expect([gap.status, codeOf(gap)]).toEqual([416, "BLOB_UPLOAD_INVALID"]);
    const told = await client(`GET ${location}`);
    expect([told.status, told.headers.get("range")]).toEqual([204, `0-${size - 1}`]);
    const whole = `${parts.join("")}end`;
    const ended = await client(`PUT ${location}?digest=${digestOf(whole)}`, { body: "end" });
    expect(ended.status).toBe(201);
    expect(ended.headers.get("location")).toBe(`/v2/${SITE}/blobs/${digestOf(whole)}`);
    expect((await client(`GET ${SITE}/blobs/${digestOf(whole)}`)).text).toBe(whole);
    expect((await client(`GET ${location}`)).status).toBe(404);
  });

  it("that another process has seen the beginning of are hashed at their end", async () => {
    const client = await pusher(app);
    const begun = await client(`POST ${SITE}/blobs/uploads/`);
    const location = begun.headers.get("location")?.replace("/v2/", "") as string;
    await client(`PATCH ${location}`, { body: "one" });
    const [row] = await app.store.rows("select file_id from container_uploads where size = 3");
    // As another process would have done it.
    await app.store.transaction(async (db) => {
      await db.run("update stored_file_pieces set bytes = ? where file_id = ?", [
        Buffer.from("onetwo"),
        row?.[0] as number,
      ]);
      await db.run("update container_uploads set size = 6 where file_id = ?", [row?.[0] as number]);
    });
    const { status } = await client(`PUT ${location}?digest=${digestOf("onetwo")}`);
    expect(status).toBe(201);
  });

  it("take SHA-512, too", async () => {
    const { createHash } = await import("node:crypto");
    const client = await pusher(app);
    const digest = `sha512:${createHash("sha512").update("long").digest("hex")}`;
    const { status } = await client(`POST ${SITE}/blobs/uploads/?digest=${digest}`, {
      body: "long",
    });
    expect(status).toBe(201);
    expect((await client(`GET ${SITE}/blobs/${digest}`)).text).toBe("long");
  });

  it("with another digest than they should have are refused, and gone", async () => {
    const client = await pusher(app);
    const other = digestOf("something else");
    const whole = await client(`POST ${SITE}/blobs/uploads/?digest=${other}`, { body: "content" });
    expect([whole.status, codeOf(whole)]).toEqual([400, "DIGEST_INVALID"]);
    const begun = await client(`POST ${SITE}/blobs/uploads/`);
    const location = begun.headers.get("location")?.replace("/v2/", "") as string;
    const malformed = await client(`PUT ${location}?digest=sha256:1`, { body: "content" });
    expect([malformed.status, codeOf(malformed)]).toEqual([400, "DIGEST_INVALID"]);
    expect((await client(`PUT ${location}`, { body: "content" })).status).toBe(400);
    const wrong = await client(`PUT ${location}?digest=${other}`, { body: "content" });
    expect([wrong.status, codeOf(wrong)]).toEqual([400, "DIGEST_INVALID"]);
    expect((await client(`GET ${location}`)).status).toBe(404);
    for (const digest of [other, "sha256:1", "md5:0", "..", "%2e%2e"]) {
      expect((await client(`HEAD ${SITE}/blobs/${digest}`)).status).toBeGreaterThanOrEqual(400);
    }
  });

  it("are taken from another repository that can be pulled; else an upload begins", async () => {
    const vault = await pusher(app, "secret/vault");
    const { digest } = await pushBlob(vault, "secret/vault", "a secret layer");
    const both = await registryOf(
      app,
      "maintainer",
      `repository:${SITE}/copy:pull,push`,
      "repository:secret/vault:pull",
    );
    const path = `${SITE}/copy/blobs/uploads/?mount=${digest}&from=secret/vault`;
    const taken = await both(`POST ${path}`);
    expect([taken.status, taken.headers.get("docker-content-digest")]).toEqual([201, digest]);
    expect((await both(`GET ${SITE}/copy/blobs/${digest}`)).text).toBe("a secret layer");
    const one = await pusher(app, `${SITE}/other`);
    const not = await one(`POST ${path.replace("/copy", "/other")}`);
    expect([not.status, not.headers.get("docker-upload-uuid")]).toEqual([202, expect.any(String)]);
    expect((await one(`HEAD ${SITE}/other/blobs/${digest}`)).status).toBe(404);
  });

  it("are stored once, and counted for each project once", async () => {
    const sizeOf = async (path: string) => {
      const { json } = await app.call(`GET /projects/${encodeURIComponent(path)}?statistics=true`, {
        as: "admin",
      });
      return json.statistics;
    };
    const before = (await sizeOf(SITE)).container_registry_size;
    const content = "c".repeat(1000);
    const site = await pusher(app);
    const image = await pusher(app, `${SITE}/twice`);
    const core = await pusher(app, "acme/team/core");
    await pushBlob(site, SITE, content);
    await pushBlob(image, `${SITE}/twice`, content);
    await pushBlob(core, "acme/team/core", content);
    const rows = await app.store.rows("select count(*) from container_blobs where digest = ?", [
      digestOf(content),
    ]);
    expect(Number(rows[0]?.[0])).toBe(1);
    const after = await sizeOf(SITE);
    expect(after.container_registry_size).toBe(before + 1000);
    expect(after.storage_size).toBeLessThan(1000);
    expect((await sizeOf("acme/team/core")).container_registry_size).toBe(1000);
  });

  it("are deleted unless a manifest needs them", async () => {
    const client = await pusher(app);
    const { digest } = await pushBlob(client, SITE, "to be deleted");
    expect((await client(`DELETE ${SITE}/blobs/${digest}`)).status).toBe(202);
    expect((await client(`HEAD ${SITE}/blobs/${digest}`)).status).toBe(404);
    expect((await client(`DELETE ${SITE}/blobs/${digest}`)).status).toBe(404);
    const { layers } = await pushImage(client, SITE, "needed");
    expect((await client(`DELETE ${SITE}/blobs/${layers[0]?.digest}`)).status).toBe(405);
    const developer = await pusher(app, SITE, "developer");
    expect((await developer(`DELETE ${SITE}/blobs/${digest}`)).status).toBe(401);
  });

  it("whose upload is cancelled leave nothing", async () => {
    const client = await pusher(app);
    const begun = await client(`POST ${SITE}/blobs/uploads/`);
    const location = begun.headers.get("location")?.replace("/v2/", "") as string;
    await client(`PATCH ${location}`, { body: "cancelled" });
    const files = async () => {
      const [row] = await app.store.rows("select count(*) from stored_files");
      return Number(row?.[0]);
    };
    const before = await files();
    expect((await client(`DELETE ${location}`)).status).toBe(204);
    expect(await files()).toBe(before - 1);
    const gone = await client(`PATCH ${location}`, { body: "more" });
    expect([gone.status, codeOf(gone)]).toEqual([404, "BLOB_UPLOAD_UNKNOWN"]);
  });

  it("can be uploaded by those only who began in that repository", async () => {
    const client = await pusher(app);
    const begun = await client(`POST ${SITE}/blobs/uploads/`);
    const uuid = begun.headers.get("docker-upload-uuid");
    const other = await pusher(app, "secret/vault");
    const { status } = await other(`PATCH secret/vault/blobs/uploads/${uuid}`, { body: "x" });
    expect(status).toBe(404);
  });
});

describe("names", () => {
  it.each([
    "acme/%2e%2e/site",
    "acme%2F..%2Fsite",
    "Acme/Site",
    "acme/site%00",
    "acme/site//img".replace("//", "/-/"),
    `acme/${"a".repeat(300)}`,
  ])("%s is none", async (name) => {
    const client = await pusher(app);
    const { status, json } = await client(`GET ${name}/tags/list`);
    expect([400, 401, 404]).toContain(status);
    expect(json.errors).toHaveLength(1);
  });

  it("are found however deep, and by the project's id when it moves", async () => {
    const group = await app.call("POST /groups", {
      as: "owner",
      json: { name: "Ships", path: "Ships" },
    });
    const { json } = await app.call("POST /projects", {
      as: "owner",
      json: { name: "Boat", path: "Boat", namespace_id: group.json.id },
    });
    const name = "ships/boat/img/x";
    const client = await pusher(app, name, "owner");
    await pushImage(client, name, "1.0");
    await app.call(`PUT /projects/${json.id}`, { as: "owner", json: { path: "ferry" } });
    expect((await client(`GET ${name}/tags/list`)).status).toBe(401);
    const moved = await pusher(app, "ships/ferry/img/x", "owner");
    expect((await moved("GET ships/ferry/img/x/tags/list")).json).toEqual({
      name: "ships/ferry/img/x",
      tags: ["1.0"],
    });
    // Who has a token for the old path does not reach what is there next.
    await app.call("POST /projects", {
      as: "owner",
      json: { name: "Boat", path: "boat", namespace_id: group.json.id },
    });
    expect((await client(`GET ${name}/tags/list`)).status).toBe(401);
  });
});

describe("manifests", () => {
  it("are kept as they were sent, and found by tag and digest", async () => {
    const client = await pusher(app, `${SITE}/exact`);
    const name = `${SITE}/exact`;
    const config = await pushBlob(client, name, "{}");
    const sent = ` {"schemaVersion": 2,\n\t"config": ${JSON.stringify(config)}, "layers": [] }\n`;
    const put = await putManifest(client, name, "v1", sent);
    expect([put.status, put.headers.get("docker-content-digest")]).toEqual([201, digestOf(sent)]);
    expect(put.headers.get("location")).toBe(`/v2/${name}/manifests/${digestOf(sent)}`);
    for (const reference of ["v1", digestOf(sent)]) {
      const got = await client(`GET ${name}/manifests/${reference}`);
      expect([got.status, got.text]).toEqual([200, sent]);
      expect(got.headers.get("content-type")).toBe(IMAGE);
      expect(got.headers.get("docker-content-digest")).toBe(digestOf(sent));
      const head = await client(`HEAD ${name}/manifests/${reference}`);
      expect([head.status, head.headers.get("content-length")]).toEqual([200, `${sent.length}`]);
    }
    const again = await putManifest(client, name, digestOf(sent), sent);
    expect(again.status).toBe(201);
    const unknown = await client(`GET ${name}/manifests/nothing`);
    expect([unknown.status, codeOf(unknown)]).toEqual([404, "MANIFEST_UNKNOWN"]);
  });

  it("are refused without what they need, and if they are none", async () => {
    const client = await pusher(app);
    const layer = { mediaType: "a/b", digest: digestOf("nowhere"), size: 7 };
    const config = await pushBlob(client, SITE, "{}");
    const image = { schemaVersion: 2, config, layers: [layer] };
    const missing = await putManifest(client, SITE, "x", image);
    expect([missing.status, codeOf(missing)]).toEqual([400, "MANIFEST_BLOB_UNKNOWN"]);
    expect(missing.json.errors[0].detail).toEqual({ digest: layer.digest });
    const child = { ...layer, mediaType: IMAGE };
    const index = await putManifest(
      client,
      SITE,
      "x",
      { schemaVersion: 2, manifests: [child] },
      INDEX,
    );
    expect(codeOf(index)).toBe("MANIFEST_BLOB_UNKNOWN");
    const good = { schemaVersion: 2, config, layers: [] };
    for (const [sent, type] of [
      ["no JSON", IMAGE],
      ["[]", IMAGE],
      ["[".repeat(100_000), IMAGE],
      [{ ...good, schemaVersion: 1 }, IMAGE],
      [{ ...good, mediaType: INDEX }, IMAGE],
      [{ ...good, config: undefined }, IMAGE],
      [{ ...good, layers: {} }, IMAGE],
      [{ ...good, layers: [{ ...config, digest: "sha256:../.." }] }, IMAGE],
      [{ ...good, layers: [{ ...config, size: -1 }] }, IMAGE],
      [{ ...good, layers: Array(1001).fill(config) }, IMAGE],
      [{ ...good, subject: "sha256" }, IMAGE],
      [good, "application/json"],
      [good, "application/vnd.docker.distribution.manifest.v1+json"],
    ] as const) {
      const { status, json } = await putManifest(client, SITE, "x", sent, type);
      expect([status, json.errors[0].code]).toEqual([400, "MANIFEST_INVALID"]);
    }
    const other = await putManifest(client, SITE, digestOf("other"), good);
    expect([other.status, codeOf(other)]).toEqual([400, "DIGEST_INVALID"]);
    const tag = await putManifest(client, SITE, "-x", good);
    expect([tag.status, codeOf(tag)]).toEqual([400, "TAG_INVALID"]);
    const large = await putManifest(client, SITE, "x", " ".repeat(4 * 1024 ** 2 + 1));
    expect([large.status, codeOf(large)]).toEqual([413, "SIZE_INVALID"]);
    expect((await client(`GET ${SITE}/manifests/x`)).status).toBe(404);
  });

  it("and blobs are not read of those who have no token", async () => {
    for (const request of [
      `PUT http://localhost/v2/${SITE}/manifests/x`,
      `POST http://localhost/v2/${SITE}/blobs/uploads/?digest=${digestOf("")}`,
    ]) {
      const { status, headers } = await app.call(request, {
        body: "x".repeat(5 * 1024 ** 2),
        headers: { "content-type": IMAGE, "transfer-encoding": "chunked" },
      });
      expect([status, headers.get("connection")]).toEqual([401, "close"]);
    }
  });

  it("of several platforms are listed by an index, which needs them", async () => {
    const name = `${SITE}/multi`;
    const client = await pusher(app, name);
    const { digest, manifest } = await pushImage(client, name, "amd64");
    const child = { mediaType: IMAGE, digest, size: manifest.length };
    const index = { schemaVersion: 2, mediaType: INDEX, manifests: [child] };
    expect((await putManifest(client, name, "all", index, INDEX)).status).toBe(201);
    const got = await client(`GET ${name}/manifests/all`);
    expect(got.headers.get("content-type")).toBe(INDEX);
    const refused = await client(`DELETE ${name}/manifests/${digest}`);
    expect([refused.status, codeOf(refused)]).toEqual([409, "MANIFEST_REFERENCED"]);
  });

  it("are deleted by digest with their tags; by a tag only the tag is", async () => {
    const name = `${SITE}/deleted`;
    const client = await pusher(app, name);
    const { digest, manifest } = await pushImage(client, name, "one");
    await putManifest(client, name, "two", manifest);
    expect((await client(`DELETE ${name}/manifests/one`)).status).toBe(202);
    expect((await client(`GET ${name}/manifests/one`)).status).toBe(404);
    expect((await client(`GET ${name}/manifests/two`)).status).toBe(200);
    expect((await client(`DELETE ${name}/manifests/${digest}`)).status).toBe(202);
    expect((await client(`GET ${name}/manifests/two`)).status).toBe(404);
    expect((await client(`DELETE ${name}/manifests/${digest}`)).status).toBe(404);
    expect((await client(`GET ${name}/tags/list`)).json.tags).toEqual([]);
  });

  it("are refused in archived projects", async () => {
    const { json } = await app.call("POST /projects", { as: "owner", json: { name: "Old" } });
    const name = json.path_with_namespace;
    const client = await pusher(app, name, "owner");
    await pushImage(client, name, "1");
    await app.call(`POST /projects/${json.id}/archive`, { as: "owner" });
    const scope = `repository:${name}:pull,push,delete`;
    const answer = await signIn(app, [scope], basic("owner", tokenOf("owner")));
    expect(accessOf(answer)[0]?.actions).toEqual(["pull"]);
  });
});

describe("tags", () => {
  it("are listed by name, in pages", async () => {
    const name = `${SITE}/tags`;
    const client = await pusher(app, name);
    const { manifest } = await pushImage(client, name, "b");
    for (const tag of ["d", "a", "c"]) await putManifest(client, name, tag, manifest);
    const all = await client(`GET ${name}/tags/list`);
    expect(all.json).toEqual({ name, tags: ["a", "b", "c", "d"] });
    expect(all.headers.get("link")).toBeNull();
    const some = await client(`GET ${name}/tags/list?n=2`);
    expect(some.json.tags).toEqual(["a", "b"]);
    expect(some.headers.get("link")).toBe(`</v2/${name}/tags/list?n=2&last=b>; rel="next"`);
    const rest = await client(`GET ${name}/tags/list?n=2&last=b`);
    expect(rest.json.tags).toEqual(["c", "d"]);
    expect(rest.headers.get("link")).toBeNull();
    expect((await client(`GET ${name}/tags/list?n=0`)).json.tags).toEqual([]);
  });
});

describe("referrers", () => {
  it("are those with a subject, which need not be there, also by their type", async () => {
    const name = `${SITE}/signed`;
    const client = await pusher(app, name);
    const { digest, manifest } = await pushImage(client, name, "1.0");
    const config = await pushBlob(client, name, "{}", "application/vnd.oci.empty.v1+json");
    const subject = { mediaType: IMAGE, digest, size: manifest.length };
    const sign = (artifactType: string) =>
      JSON.stringify({
        schemaVersion: 2,
        mediaType: IMAGE,
        artifactType,
        config,
        layers: [],
        subject,
        annotations: { by: "ada" },
      });
    for (const type of ["sig/a", "sig/b"]) {
      const sent = sign(type);
      const put = await putManifest(client, name, digestOf(sent), sent);
      expect([put.status, put.headers.get("oci-subject")]).toEqual([201, digest]);
    }
    const referrers = async (query: string) => {
      const { text, headers } = await client(`GET ${name}/referrers/${query}`);
      return { json: JSON.parse(text), headers };
    };
    const { json, headers } = await referrers(digest);
    expect(headers.get("content-type")).toBe(INDEX);
    expect(json.manifests.map((one: { artifactType: string }) => one.artifactType)).toEqual([
      "sig/a",
      "sig/b",
    ]);
    expect(json.manifests[0]).toEqual({
      mediaType: IMAGE,
      digest: digestOf(sign("sig/a")),
      size: sign("sig/a").length,
      artifactType: "sig/a",
      annotations: { by: "ada" },
    });
    const some = await referrers(`${digest}?artifactType=sig%2Fb`);
    expect(some.json.manifests).toHaveLength(1);
    expect(some.headers.get("oci-filters-applied")).toBe("artifactType");
    expect((await referrers(digestOf("none"))).json.manifests).toEqual([]);
  });
});
