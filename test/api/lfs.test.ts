import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { everyone, givePassword, PASSWORD, type TestApp, testApp } from "../helpers.ts";
import { batch, credentialsOf, LFS_JSON, lfs, objectOf, oidOf, put } from "./_lfs.ts";
import { basic } from "./_registry.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const VAULT = "secret/vault";
const FORBIDDEN = {
  message: "Access forbidden. Check your access level.",
  documentation_url: "http://localhost/help",
};
const NOT_FOUND = { message: "Not found.", documentation_url: "http://localhost/help" };

/** Uploads some content to a project. */
async function uploaded(content: string, project = "acme/site") {
  const { status, text } = await put(app, "owner", content, objectOf(content), project);
  expect([status, text]).toEqual([200, ""]);
  return objectOf(content);
}

/** How many files and objects are stored, and which projects have these. */
async function stored() {
  const one = async (sql: string) => Number((await app.store.rows(sql))[0]?.[0]);
  return {
    files: await one("select count(*) from stored_files"),
    objects: await one("select count(*) from lfs_objects"),
    links: await one("select count(*) from lfs_object_projects"),
  };
}

/** Asks for one object, with some credentials. */
const askingWith =
  (headers: Record<string, string>, object: object) => (operation: string, project: string) =>
    lfs(
      app,
      "anonymous",
      "POST info/lfs/objects/batch",
      { operation, objects: [object] },
      { headers },
      project,
    );

describe("a batch", () => {
  it("tells where objects are uploaded and downloaded, for two hours", async () => {
    const object = objectOf("one");
    const href = `http://localhost/acme/site.git/gitlab-lfs/objects/${object.oid}`;
    const asked = await batch(app, "developer", "upload", [object]);
    expect(asked.status).toBe(200);
    expect(asked.headers.get("content-type")).toBe(LFS_JSON);
    const header = {
      Authorization: expect.stringMatching(/^Basic /),
      "Content-Type": "application/octet-stream",
      "Transfer-Encoding": "chunked",
    };
    expect(asked.json).toEqual({
      objects: [
        { ...object, actions: { upload: { href: `${href}/3`, header, expires_in: 7200 } } },
      ],
    });
    // What the client sends is what it was told.
    const { Authorization: authorization } = asked.json.objects[0].actions.upload.header;
    const sent = await app.call(`PUT ${href}/3`, { body: "one", headers: { authorization } });
    expect([sent.status, sent.text]).toEqual([200, ""]);
    expect((await batch(app, "developer", "upload", [object])).json).toEqual({ objects: [object] });
    const found = await batch(app, "guest", "download", [object]);
    expect(found.json.objects).toEqual([
      {
        ...object,
        authenticated: true,
        actions: {
          download: {
            href,
            header: { Authorization: expect.any(String) },
            expires_in: 7200,
          },
        },
      },
    ]);
  });

  it("lets anybody download from a public project, without credentials", async () => {
    const object = await uploaded("for all");
    const { json } = await batch(app, "anonymous", "download", [object]);
    const href = `http://localhost/acme/site.git/gitlab-lfs/objects/${object.oid}`;
    expect(json.objects).toEqual([
      { ...object, authenticated: true, actions: { download: { href, header: {} } } },
    ]);
    expect((await app.call(`GET ${href}`)).text).toBe("for all");
  });

  it("tells of unknown objects one by one, and of sizes as they are", async () => {
    const object = await uploaded("known");
    const unknown = { oid: oidOf("unknown"), size: 7 };
    const { status, json } = await batch(app, "owner", "download", [
      unknown,
      { ...object, size: 4 },
    ]);
    expect(status).toBe(200);
    expect(json.objects).toMatchObject([
      {
        ...unknown,
        error: {
          code: 404,
          message: "Object does not exist on the server or you don't have permissions to access it",
        },
      },
      { ...object, actions: { download: {} } },
    ]);
  });

  it.each([
    ["an upper-case name", { oid: oidOf("a").toUpperCase(), size: 1 }],
    ["a name of 63 digits", { oid: oidOf("a").slice(1), size: 1 }],
    ["a path", { oid: "../../../etc/passwd", size: 1 }],
    ["a number", { oid: 5, size: 1 }],
    ["nothing", {}],
    ["a text", "x"],
    ["null", null],
    ["a negative size", { oid: oidOf("a"), size: -1 }],
    ["a part of a byte", { oid: oidOf("a"), size: 1.5 }],
    ["a size as text", { oid: oidOf("a"), size: "1" }],
    ["2^53", { oid: oidOf("a"), size: 2 ** 53 }],
    ["more than 5 GiB", { oid: oidOf("a"), size: 5 * 1024 ** 3 + 1 }],
  ])("refuses %s as an object, by itself", async (_, object) => {
    const good = await uploaded("good");
    for (const operation of ["download", "upload"]) {
      const { status, json } = await batch(app, "owner", operation, [object, good]);
      expect(status).toBe(200);
      expect(json.objects).toMatchObject([{ error: { code: 422 } }, good]);
      expect(json.objects[1].error).toBeUndefined();
    }
  });

  it("refuses other digests, operations, forms and numbers of objects", async () => {
    const object = objectOf("any");
    const other = await batch(app, "owner", "download", [object], "acme/site", {
      hash_algo: "sha512",
    });
    expect(other.json.objects).toMatchObject([{ error: { code: 409 } }]);
    const status = async (...args: Parameters<typeof batch>) => (await batch(...args)).status;
    expect(await status(app, "owner", "delete", [object])).toBe(422);
    expect(await status(app, "owner", "download", [])).toBe(404);
    expect(await status(app, "owner", "download", undefined)).toBe(404);
    expect(await status(app, "owner", "download", {})).toBe(404);
    expect(await status(app, "owner", "upload", Array(1000).fill(object))).toBe(200);
    expect(await status(app, "owner", "upload", Array(1001).fill(object))).toBe(413);
    const huge = await batch(app, "owner", "upload", Array(100_000).fill(object));
    expect(huge.status).toBe(413);
    expect(huge.json).toMatchObject({ message: expect.any(String) });
    const path = "POST info/lfs/objects/batch";
    const form = await lfs(app, "owner", path, "operation=download", {
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect(form.status).toBe(415);
    expect((await lfs(app, "owner", path, "{")).status).toBe(400);
  });

  it("costs as many statements whatever it asks for", async () => {
    const count = async (objects: unknown[]) => {
      app.statements.length = 0;
      expect((await batch(app, "owner", "download", objects)).status).toBe(200);
      return app.statements.length;
    };
    const some = Array.from({ length: 400 }, (_, at) => objectOf(`some ${at}`));
    expect(await count(some)).toBe(await count(some.slice(0, 1)));
  });
});

describe("rights", () => {
  it.each([
    [
      "acme/site",
      [200, 200, 200, 200, 200, 200, 200, 200],
      [401, 403, 403, 403, 200, 200, 200, 200],
    ],
    [VAULT, [401, 404, 403, 200, 200, 200, 200, 200], [401, 404, 403, 403, 200, 200, 200, 200]],
  ])("in %s are those of Git", async (project, downloads, uploads) => {
    const object = await uploaded("of rights", project);
    for (const [at, person] of everyone.entries()) {
      const [down, up] = [downloads[at] as number, uploads[at] as number];
      const answers = [
        await batch(app, person, "download", [object], project),
        await batch(app, person, "upload", [object], project),
        await lfs(app, person, `GET gitlab-lfs/objects/${object.oid}`, undefined, {}, project),
        await put(app, person, "of rights", object, project),
      ];
      expect([person, ...answers.map(({ status }) => status)]).toEqual([
        person,
        down,
        up,
        down,
        up,
      ]);
      for (const { status, json, headers, text } of answers) {
        if (status === 401) {
          expect(text).toBe("HTTP Basic: Access denied\n");
          expect(headers.get("www-authenticate")).toBe('Basic realm="GitLab"');
          expect(headers.get("lfs-authenticate")).toBe('Basic realm="GitLab"');
        }
        if (status === 403) expect(json).toEqual(FORBIDDEN);
        if (status === 404) expect(json).toEqual(NOT_FOUND);
      }
    }
  });

  it("are those of the token's scopes", async () => {
    const object = await uploaded("of scopes", VAULT);
    for (const [scope, down, up] of [
      ["api", 200, 200],
      ["read_api", 200, 403],
      ["read_repository", 200, 403],
      ["write_repository", 200, 200],
      ["read_user", 403, 403],
    ] as const) {
      const { json } = await app.call("POST /users/3/personal_access_tokens", {
        as: "admin",
        json: { name: scope, scopes: [scope] },
      });
      const headers = basic("any", json.token);
      const status = async (operation: string) =>
        (
          await lfs(
            app,
            "anonymous",
            "POST info/lfs/objects/batch",
            { operation, objects: [object] },
            { headers },
            VAULT,
          )
        ).status;
      expect([scope, await status("download"), await status("upload")]).toEqual([scope, down, up]);
    }
  });

  it("deploy tokens download what they may read, and upload nothing; their own header is told", async () => {
    const object = await uploaded("for deploy tokens", VAULT);
    const { json } = await app.call("POST /projects/secret%2Fvault/deploy_tokens", {
      as: "owner",
      json: { name: "reader", scopes: ["read_repository"] },
    });
    const headers = basic(json.username, json.token);
    const ask = askingWith(headers, object);
    const found = await ask("download", VAULT);
    expect(found.json.objects[0].actions.download.header).toEqual({
      Authorization: headers.authorization,
    });
    expect((await ask("upload", VAULT)).status).toBe(403);
    expect((await ask("download", "acme/team/core")).status).toBe(404);
  });

  it("jobs download what their token opens, and upload nothing", async () => {
    const object = await uploaded("for jobs", VAULT);
    const job = { project: VAULT, user: "owner" };
    const { token } = await app.admin.tokens.createForJob(job);
    const headers = basic("gitlab-ci-token", token);
    const ask = askingWith(headers, object);
    const { status, json } = await ask("download", VAULT);
    expect(status).toBe(200);
    const { href, header } = json.objects[0].actions.download;
    expect(header).toEqual({ Authorization: headers.authorization });
    expect((await app.call(`GET ${href}`, { headers: header })).text).toBe("for jobs");
    expect((await ask("upload", VAULT)).status).toBe(403);
    expect((await ask("download", "acme/team/core")).status).toBe(404);
  });

  it("passwords count like tokens, and wrong ones like none", async () => {
    await givePassword(app, "developer");
    const object = await uploaded("for passwords", VAULT);
    const status = async (password: string) =>
      (await askingWith(basic("developer", password), object)("upload", VAULT)).status;
    expect(await status(PASSWORD)).toBe(200);
    for (const wrong of ["wrong", "$1$wrong", "$1$00000000$wrong"]) {
      expect(await status(wrong)).toBe(401);
    }
  });

  it("an archived project keeps what it has", async () => {
    const { json } = await app.call("POST /projects", { as: "owner", json: { name: "old" } });
    const object = await uploaded("old", "owner/old");
    await app.call(`POST /projects/${json.id}/archive`, { as: "owner" });
    expect((await batch(app, "owner", "download", [object], "owner/old")).status).toBe(200);
    expect((await put(app, "owner", "new", objectOf("new"), "owner/old")).status).toBe(403);
    expect((await batch(app, "owner", "upload", [object], "owner/old")).status).toBe(403);
    expect(
      (await lfs(app, "owner", "POST info/lfs/locks", { path: "a" }, {}, "owner/old")).status,
    ).toBe(403);
  });

  it("a project can be without: then pushes go on", async () => {
    const { json } = await app.call("POST /projects", { as: "owner", json: { name: "without" } });
    expect(json.lfs_enabled).toBe(true);
    const off = await app.call(`PUT /projects/${json.id}`, {
      as: "owner",
      json: { lfs_enabled: false },
    });
    expect(off.json.lfs_enabled).toBe(false);
    const asked = await batch(app, "owner", "upload", [objectOf("x")], "owner/without");
    expect([asked.status, asked.json]).toEqual([403, FORBIDDEN]);
    expect((await put(app, "owner", "x", objectOf("x"), "owner/without")).status).toBe(403);
    const verified = await lfs(app, "owner", "POST info/lfs/locks/verify", {}, {}, "owner/without");
    expect([verified.status, verified.json]).toEqual([404, NOT_FOUND]);
    expect(
      (await batch(app, "stranger", "download", [objectOf("x")], "owner/without")).status,
    ).toBe(404);
  });

  it("projects of a group begin as the group says", async () => {
    const group = await app.call("POST /groups", {
      as: "owner",
      json: { name: "Small", path: "small", lfs_enabled: false },
    });
    expect(group.json.lfs_enabled).toBe(false);
    const made = await app.call("POST /projects", {
      as: "owner",
      json: { name: "site", namespace_id: group.json.id },
    });
    expect(made.json.lfs_enabled).toBe(false);
  });

  it("wikis, missing projects and other addresses have no objects", async () => {
    for (const project of ["acme/site.wiki", "acme/none", "acme"]) {
      const { status, json } = await batch(app, "owner", "download", [objectOf("x")], project);
      expect([project, status, json]).toEqual([project, 404, NOT_FOUND]);
    }
    for (const path of ["objects", `objects/${oidOf("x")}`, "other", "locks/1"]) {
      const { status } = await lfs(app, "owner", `GET info/lfs/${path}`);
      expect([path, status]).toEqual([
        path,
        path === "other" || path === "locks/1" || path === "objects" ? status : 501,
      ]);
      expect(status).toBeGreaterThanOrEqual(400);
    }
    const old = await lfs(app, "owner", "POST info/lfs/objects", { oid: oidOf("x"), size: 1 });
    expect([old.status, old.json.message]).toEqual([
      501,
      "Server supports batch API only, please update your Git LFS client to version 1.0.1 and up.",
    ]);
  });
});

describe("a token of a batch", () => {
  const tokenFor = async (operation: string, project: string) => {
    const object = objectOf(operation === "upload" ? `new ${project}` : "token");
    const { json } = await batch(app, "developer", operation, [object], project);
    return json.objects[0].actions[operation].header.Authorization as string;
  };
  const status = async (authorization: string, operation: string, project: string) =>
    (
      await lfs(
        app,
        "anonymous",
        "POST info/lfs/objects/batch",
        { operation, objects: [objectOf("token")] },
        { headers: { authorization } },
        project,
      )
    ).status;

  it("is for one project and one direction, and ends with the password, the account and its time", async () => {
    await uploaded("token", VAULT);
    await uploaded("token");
    await givePassword(app, "developer");
    const up = await tokenFor("upload", VAULT);
    const down = await tokenFor("download", VAULT);
    expect(await status(up, "upload", VAULT)).toBe(200);
    expect(await status(up, "download", VAULT)).toBe(200);
    expect(await status(down, "download", VAULT)).toBe(200);
    expect(await status(down, "upload", VAULT)).toBe(403);
    expect(await status(up, "download", "acme/site")).toBe(401);
    expect(await status(`${up.slice(0, -6)}AAAA`, "download", VAULT)).toBe(401);
    // It opens nothing else.
    const credentials = { headers: { authorization: up } };
    const refs = `http://localhost/${VAULT}.git/info/refs?service=git-upload-pack`;
    expect((await app.call(`GET ${refs}`, credentials)).status).toBe(401);
    const later = await app.another({ now: () => Date.now() + 7_300_000 });
    const late = await lfs(
      later,
      "anonymous",
      "POST info/lfs/objects/batch",
      { operation: "download", objects: [objectOf("token")] },
      { headers: { authorization: up } },
      VAULT,
    );
    expect(late.status).toBe(401);
    await later.close();
    const [user] = await app.store.rows("select id from users where username = 'developer'");
    await app.call(`POST /users/${user?.[0]}/block`, { as: "admin" });
    expect(await status(up, "download", VAULT)).toBe(401);
    await app.call(`POST /users/${user?.[0]}/unblock`, { as: "admin" });
    expect(await status(up, "download", VAULT)).toBe(200);
    await app.store.transaction((db) =>
      db.run("update users set password_hash = 'other' where username = 'developer'"),
    );
    expect(await status(up, "download", VAULT)).toBe(401);
  });
});

describe("an upload", () => {
  it("is refused unless its name and size are right, and nothing of it is kept", async () => {
    const before = await stored();
    const object = objectOf("right");
    for (const [content, named] of [
      ["wrong", object],
      ["right!", object],
      ["righ", object],
      ["right", { ...object, size: 4 }],
      ["right", { ...object, size: 6 }],
      ["right", { ...object, size: 5 * 1024 ** 3 }],
      ["", object],
      ["right", { ...object, oid: oidOf("other") }],
    ] as const) {
      const { status, json } = await put(app, "owner", content, named);
      expect([content, status, json.message]).toEqual([content, 400, "SHA256 or size mismatch"]);
    }
    for (const [path, expected] of [
      [`${object.oid}/-5`, 404],
      [`${object.oid}/x`, 404],
      [`${object.oid}/5.0`, 404],
      [`${object.oid}/0x5`, 404],
      [`${object.oid}/${2 ** 53}`, 413],
      [`${object.oid}/${5 * 1024 ** 3 + 1}`, 413],
      [`${object.oid}/99999999999999999999999`, 404],
      [`${object.oid.toUpperCase()}/5`, 404],
      [`${object.oid.slice(1)}/5`, 404],
      ["..%2F..%2Fetc%2Fpasswd/5", 404],
      [`..%2F${object.oid}/5`, 404],
      ["%00/5", 400],
    ] as const) {
      const { status } = await lfs(app, "owner", `PUT gitlab-lfs/objects/${path}`, undefined, {
        body: "right",
        headers: { "content-type": "application/octet-stream" },
      });
      expect([path, status]).toEqual([path, expected]);
    }
    expect(await stored()).toEqual(before);
  });

  it("needs no content length", async () => {
    const content = Buffer.alloc(700_000, "chunk");
    const object = objectOf(content);
    const body = new ReadableStream({
      start: (controller) => {
        for (let at = 0; at < content.length; at += 65_536) {
          controller.enqueue(new Uint8Array(content.subarray(at, at + 65_536)));
        }
        controller.close();
      },
    });
    const request = new Request(
      `http://localhost/acme/site.git/gitlab-lfs/objects/${object.oid}/${object.size}`,
      { method: "PUT", body, headers: credentialsOf("owner"), duplex: "half" } as RequestInit,
    );
    expect((await app.fetch(request)).status).toBe(200);
    const got = await lfs(app, "owner", `GET gitlab-lfs/objects/${object.oid}`);
    expect(oidOf(got.text)).toBe(object.oid);
  });

  it("that ends halfway leaves nothing", async () => {
    const before = await stored();
    const object = { oid: oidOf("half"), size: 2_000_000 };
    const body = new ReadableStream({
      pull: (controller) => {
        if (controller.desiredSize === null) return;
        sent += 1;
        if (sent > 20) controller.error(new Error("the client has left"));
        else controller.enqueue(new Uint8Array(65_536));
      },
    });
    let sent = 0;
    const request = new Request(
      `http://localhost/acme/site.git/gitlab-lfs/objects/${object.oid}/${object.size}`,
      { method: "PUT", body, headers: credentialsOf("owner"), duplex: "half" } as RequestInit,
    );
    const answer = await app.fetch(request);
    expect(answer.status).toBe(400);
    expect(await stored()).toEqual(before);
  });

  it("of what another project has is no link without its content", async () => {
    const object = await uploaded("a secret", VAULT);
    const asked = await batch(app, "stranger", "upload", [object]);
    expect(asked.status).toBe(403);
    const known = await batch(app, "developer", "upload", [object]);
    const unknown = await batch(app, "developer", "upload", [objectOf("another")]);
    const shape = ({ json }: typeof known) => Object.keys(json.objects[0].actions.upload);
    expect(shape(known)).toEqual(shape(unknown));
    const [lie] = [await put(app, "developer", "a secrex", object)];
    expect(lie.status).toBe(400);
    expect((await lfs(app, "developer", `GET gitlab-lfs/objects/${object.oid}`)).status).toBe(404);
    const before = await stored();
    expect((await put(app, "developer", "a secret", object)).status).toBe(200);
    expect((await lfs(app, "anonymous", `GET gitlab-lfs/objects/${object.oid}`)).text).toBe(
      "a secret",
    );
    // Its content is stored once.
    expect(await stored()).toEqual({ ...before, links: before.links + 1 });
  });

  it("is stored once if many send it at once", async () => {
    const before = await stored();
    const object = objectOf("at once");
    const projects = ["acme/site", VAULT, "acme/site", VAULT];
    const answers = await Promise.all(
      projects.map((project) => put(app, "owner", "at once", object, project)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await stored()).toEqual({
      files: before.files + 1,
      objects: before.objects + 1,
      links: before.links + 2,
    });
  });

  it("can be repeated, and of nothing", async () => {
    await uploaded("again");
    const before = await stored();
    await uploaded("again");
    expect(await stored()).toEqual(before);
    await uploaded("");
    expect((await lfs(app, "owner", `GET gitlab-lfs/objects/${oidOf("")}`)).text).toBe("");
  });
});

it("a download has parts, and is asked for without its content", async () => {
  const { oid } = await uploaded("0123456789");
  const get = (headers: Record<string, string> = {}) =>
    lfs(app, "anonymous", `GET gitlab-lfs/objects/${oid}`, undefined, { headers });
  const whole = await get();
  expect(whole.headers.get("content-type")).toBe("application/octet-stream");
  expect(whole.headers.get("accept-ranges")).toBe("bytes");
  const part = await get({ range: "bytes=4-" });
  expect([part.status, part.text, part.headers.get("content-range")]).toEqual([
    206,
    "456789",
    "bytes 4-9/10",
  ]);
  expect((await get({ range: "bytes=10-" })).status).toBe(416);
  const head = await app.call(`HEAD http://localhost/acme/site.git/gitlab-lfs/objects/${oid}`);
  expect([head.status, head.headers.get("content-length")]).toEqual([200, "10"]);
});

describe("forks", () => {
  it("have what their source has, also once that is gone; what comes later is taken without an upload", async () => {
    const { json: source } = await app.call("POST /projects", {
      as: "owner",
      json: { name: "source", visibility: "public" },
    });
    const early = await uploaded("early", "owner/source");
    const { json: fork } = await app.call(`POST /projects/${source.id}/fork`, { as: "developer" });
    expect(fork.path_with_namespace).toBe("developer/source");
    const late = await uploaded("late", "owner/source");
    const asked = await batch(app, "developer", "download", [early, late], "developer/source");
    expect(asked.json.objects).toMatchObject([{ actions: {} }, { error: { code: 404 } }]);
    expect(
      (await batch(app, "developer", "upload", [early, late], "developer/source")).json,
    ).toEqual({ objects: [early, late] });
    const gone = await uploaded("gone", "owner/source");
    await app.call(`DELETE /projects/${source.id}`, { as: "owner" });
    await app.admin.maintenance.sweepDaily();
    const sql = "select 1 from lfs_objects where oid = ?";
    expect(await app.store.rows(sql, [gone.oid])).toEqual([]);
    for (const { oid } of [early, late]) {
      const path = `GET gitlab-lfs/objects/${oid}`;
      const got = await lfs(app, "developer", path, undefined, {}, "developer/source");
      expect(got.status).toBe(200);
    }
  });

  it("take nothing from a source that the caller may not read", async () => {
    const { json: source } = await app.call("POST /projects", {
      as: "owner",
      json: { name: "closing", visibility: "public" },
    });
    await app.call(`POST /projects/${source.id}/fork`, { as: "stranger" });
    const object = await uploaded("closed", "owner/closing");
    await app.call(`PUT /projects/${source.id}`, { as: "owner", json: { visibility: "private" } });
    const asked = await batch(app, "stranger", "upload", [object], "stranger/closing");
    expect(asked.json.objects).toMatchObject([{ actions: { upload: {} } }]);
  });
});

it("statistics count what a project has", async () => {
  const { json } = await app.call("POST /projects", { as: "owner", json: { name: "counted" } });
  await uploaded("0123456789", "owner/counted");
  await uploaded("01234", "owner/counted");
  const { json: found } = await app.call(`GET /projects/${json.id}?statistics=true`, {
    as: "owner",
  });
  expect(found.statistics).toMatchObject({ lfs_objects_size: 15, storage_size: 15 });
});
