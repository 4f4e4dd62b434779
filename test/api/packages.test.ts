import { createHash } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { NOT_AVAILABLE, send } from "../graphql/ask.ts";
import { type Answer, everyone, type Person, type TestApp } from "../helpers.ts";
import { batch, objectOf } from "./_lfs.ts";
import { document } from "./_npm.ts";
import { publishInProjects } from "./_packages.ts";
import { basic, signIn } from "./_registry.ts";
import { zipped } from "./_zip.ts";

let app: TestApp;
let project: string;
let fullPath: string;
publishInProjects((given) => {
  ({ app, project, fullPath } = given);
});

const FILE = "/packages/generic/tool/1.0.0/tool.tar.gz";
const call = (request: string, as: Person, options: object = {}) => {
  const [method, path] = request.split(" ") as [string, string];
  return app.call(`${method} ${project}${path}`, { as, ...options });
};
const put = (body: string, path = FILE, as: Person = "developer") =>
  call(`PUT ${path}`, as, { body });
const shown = ({ status, json }: Answer) => [status, json];

describe("a generic package", () => {
  it("is uploaded and downloaded", async () => {
    expect(shown(await put("hello"))).toEqual([201, { message: "201 Created" }]);
    const got = await call(`GET ${FILE}`, "reporter");
    expect([got.status, got.text]).toEqual([200, "hello"]);
    expect(got.headers.get("content-disposition")).toBe(
      `attachment; filename="tool.tar.gz"; filename*=UTF-8''tool.tar.gz`,
    );
    const part = await call(`GET ${FILE}`, "reporter", { headers: { range: "bytes=1-2" } });
    expect([part.status, part.text]).toEqual([206, "el"]);
  });

  it("answers the file if asked to", async () => {
    const { status, json } = await put("hello", `${FILE}?select=package_file`);
    const sha256 = createHash("sha256").update("hello").digest("hex");
    expect(status).toBe(201);
    expect(json).toMatchObject({
      size: 5,
      file_name: "tool.tar.gz",
      file_sha256: sha256,
      file: { url: `http://pm.test/api/v4${project}${FILE}` },
    });
    const got = await app.call(`GET ${json.file.url}`, { as: "reporter" });
    expect(got.text).toBe("hello");
    const other = `${project}/packages/${json.package_id}/package_files`;
    const files = await app.call(`GET ${other}`, { as: "reporter" });
    expect(files.json).toMatchObject([{ id: json.id, file_sha256: sha256, size: 5 }]);
  });

  it("keeps several files of one name, of which the newest is downloaded", async () => {
    await put("one");
    await put("two");
    await put("deep", "/packages/generic/tool/1.0.0/linux/x64/tool");
    expect((await call(`GET ${FILE}`, "reporter")).text).toBe("two");
    const deep = await call("GET /packages/generic/tool/1.0.0/linux%2Fx64/tool", "reporter");
    expect(deep.text).toBe("deep");
    const [found] = (await call("GET /packages", "reporter")).json;
    const files = await call(`GET /packages/${found.id}/package_files`, "reporter");
    expect(files.json.map((one: { file_name: string }) => one.file_name)).toEqual([
      "tool.tar.gz",
      "tool.tar.gz",
      "linux/x64/tool",
    ]);
  });

  it.each([
    ["/packages/generic/a%20b/1.0/x", "package_name is invalid"],
    ["/packages/generic/a/1..0/x", "package_version is invalid"],
    ["/packages/generic/a/1.0/x%0Ay", "file_name is invalid"],
    ["/packages/generic/a/1.0/%2E%2E%2Fx", "file_name is invalid"],
  ])("can't be %s", async (path, error) => {
    app.statements.length = 0;
    expect(shown(await put("x", path))).toEqual([400, { error }]);
    expect(app.statements.filter((sql) => sql.startsWith("insert"))).toEqual([]);
  });

  it("takes tokens as the password of HTTP Basic, and those of jobs as Bearer", async () => {
    const id = project.slice("/projects/".length);
    const job = await app.admin.tokens.createForJob({ user: "developer", project: id });
    const basic = (name: string, secret: string) =>
      `Basic ${Buffer.from(`${name}:${secret}`).toString("base64")}`;
    for (const authorization of [
      basic("gitlab-ci-token", job.token),
      basic("developer", "token-of-developer"),
      `Bearer ${job.token}`,
      "Bearer token-of-developer",
    ]) {
      const headers = { authorization };
      const made = await call(`PUT ${FILE}`, "anonymous", { headers, body: authorization });
      expect([authorization, made.status]).toEqual([authorization, 201]);
      const { text } = await call(`GET ${FILE}`, "anonymous", { headers });
      expect(text).toBe(authorization);
    }
    const wrong = { headers: { authorization: basic("developer", "wrong") } };
    const refused = await call(`GET ${FILE}`, "anonymous", wrong);
    expect([refused.status, refused.json]).toEqual([401, { message: "401 Unauthorized" }]);
    // Other routes of the API know no HTTP Basic.
    const elsewhere = { headers: { authorization: basic("developer", "token-of-developer") } };
    expect((await app.call(`GET ${project}`, elsewhere)).status).toBe(404);
  });

  it("is for developers, and their jobs", async () => {
    const statuses = [];
    for (const as of everyone) statuses.push((await put("x", FILE, as)).status);
    expect(statuses).toEqual([404, 404, 403, 403, 201, 201, 201, 201]);
    const read = [];
    for (const as of everyone) read.push((await call(`GET ${FILE}`, as)).status);
    expect(read).toEqual([404, 404, 403, 200, 200, 200, 200, 200]);
    const id = project.slice("/projects/".length);
    const { token } = await app.admin.tokens.createForJob({ project: id, user: "developer" });
    const headers = { "job-token": token };
    const made = await call(`PUT ${FILE}`, "anonymous", { headers, body: "by a job" });
    expect(made.status).toBe(201);
    expect((await call(`GET ${FILE}`, "anonymous", { headers })).text).toBe("by a job");
    await call("POST /archive", "owner");
    expect((await put("x")).status).toBe(403);
    expect((await call(`GET ${FILE}`, "reporter")).status).toBe(200);
  });
});

describe("packages", () => {
  const names = ({ json }: Answer) =>
    json.map(({ name, version }: Record<string, string>) => `${name} ${version}`);

  it("are listed in the project and its groups", async () => {
    for (const path of ["b/1.0/f", "a/2.0/f", "a/1.0/f"])
      await put("x", `/packages/generic/${path}`);
    await put("x", "/packages/generic/unseen/1.0/f?status=hidden");
    const list = async (query: string) => names(await call(`GET /packages${query}`, "reporter"));
    expect(await list("")).toEqual(["b 1.0", "a 2.0", "a 1.0"]);
    expect(await list("?sort=desc")).toEqual(["a 1.0", "a 2.0", "b 1.0"]);
    expect(await list("?order_by=name")).toEqual(["a 2.0", "a 1.0", "b 1.0"]);
    expect(await list("?order_by=version")).toEqual(["b 1.0", "a 1.0", "a 2.0"]);
    expect(await list("?package_name=A")).toEqual(["a 2.0", "a 1.0"]);
    expect(await list("?package_version=2.0")).toEqual(["a 2.0"]);
    expect(await list("?package_type=npm")).toEqual([]);
    expect(await list("?status=hidden")).toEqual(["unseen 1.0"]);
    const group = await app.call("GET /groups/secret/packages?package_name=b", { as: "reporter" });
    expect(group.json.at(-1)).toMatchObject({
      name: "b",
      version: "1.0",
      package_type: "generic",
      status: "default",
      project_id: Number(project.slice("/projects/".length)),
      project_path: fullPath,
    });
    expect((await app.call("GET /groups/secret/packages", { as: "guest" })).json).toEqual([]);
  });

  it("are deleted with their files", async () => {
    await put("one");
    await put("two", "/packages/generic/tool/1.0.0/other");
    const [found] = (await call("GET /packages", "reporter")).json;
    const one = `/packages/${found.id}`;
    expect((await call(`GET ${one}`, "reporter")).json).toEqual(found);
    const [first, second] = (await call(`GET ${one}/package_files`, "reporter")).json;
    expect((await call(`DELETE ${one}/package_files/${first.id}`, "developer")).status).toBe(403);
    expect((await call(`DELETE ${one}/package_files/${first.id}`, "maintainer")).status).toBe(204);
    expect((await call(`GET ${FILE}`, "reporter")).status).toBe(404);
    expect((await call(`DELETE ${one}/package_files/${first.id}`, "maintainer")).status).toBe(404);
    expect((await call(`DELETE ${one}/package_files/${second.id}`, "maintainer")).status).toBe(204);
    // Without files it stays for a while.
    expect((await call(`GET ${one}`, "reporter")).status).toBe(200);
    expect((await call(`GET ${one}/package_files`, "reporter")).json).toEqual([]);
    await put("again");
    const [again] = (await call("GET /packages", "reporter")).json;
    expect(again.id).toBe(found.id);
    expect((await call(`DELETE /packages/${again.id}`, "maintainer")).status).toBe(204);
    await app.admin.maintenance.sweepFiles();
    expect((await call("GET /packages", "reporter")).json).toEqual([]);
    const { json } = await call("GET ?statistics=true", "reporter");
    expect(json.statistics.packages_size).toBe(0);
  });

  it("are deleted by the daily sweep once they have no files", async () => {
    const versions = ["kept", "emptied", "filled"];
    for (const version of versions) await put("x", `/packages/generic/swept/${version}/f`);
    const listed = async (): Promise<{ id: number; version: string }[]> =>
      (await call("GET /packages?package_name=swept", "reporter")).json;
    for (const { id, version } of await listed()) {
      if (version === "kept") continue;
      const [file] = (await call(`GET /packages/${id}/package_files`, "reporter")).json;
      await call(`DELETE /packages/${id}/package_files/${file.id}`, "maintainer");
    }
    await put("y", "/packages/generic/swept/filled/f");
    expect((await listed()).map(({ version }) => version).sort()).toEqual([...versions].sort());
    await app.admin.maintenance.sweepDaily();
    const left = await listed();
    expect(left.map(({ version }) => version).sort()).toEqual(["filled", "kept"]);
    for (const { id } of left) await call(`DELETE /packages/${id}`, "maintainer");
  });

  it("count in the project's statistics", async () => {
    await put("12345");
    await put("123", "/packages/generic/tool/2.0.0/f");
    const { json } = await call("GET ?statistics=true", "reporter");
    expect([json.statistics.packages_size, json.statistics.storage_size]).toEqual([8, 8]);
  });
});

describe("whether packages may be published again", () => {
  const FIELDS = `mavenDuplicatesAllowed mavenDuplicateExceptionRegex genericDuplicatesAllowed genericDuplicateExceptionRegex
    nugetDuplicatesAllowed nugetDuplicateExceptionRegex terraformModuleDuplicatesAllowed terraformModuleDuplicateExceptionRegex`;
  const change = async (settings: string, as: Person = "owner", place = "secret") => {
    const { data, errors } = await send(
      app,
      as,
      `mutation { updateNamespacePackageSettings(input: { namespacePath: "${place}", ${settings} }) {
        packageSettings { ${FIELDS} } errors } }`,
    );
    const { packageSettings, errors: refused } = data?.updateNamespacePackageSettings ?? {};
    return packageSettings ?? refused ?? errors?.map(({ message }) => message);
  };
  const DEFAULTS = {
    ...{ mavenDuplicatesAllowed: true, mavenDuplicateExceptionRegex: "" },
    ...{ genericDuplicatesAllowed: true, genericDuplicateExceptionRegex: "" },
    ...{ nugetDuplicatesAllowed: true, nugetDuplicateExceptionRegex: "" },
    ...{ terraformModuleDuplicatesAllowed: false, terraformModuleDuplicateExceptionRegex: "" },
  };
  const ALL = ["maven", "generic", "nuget"].flatMap((kind) => [
    `${kind}DuplicatesAllowed: true`,
    `${kind}DuplicateExceptionRegex: null`,
  ]);
  const DUPLICATE = [400, { message: "400 Bad request - Duplicate package is not allowed" }];
  afterEach(async () => {
    expect(await change(ALL.join(", "))).toMatchObject(DEFAULTS);
  });

  it("is seen and set by owners of a namespace, and nobody else", async () => {
    const shown = async (as: Person, path = "secret") => {
      const fields = `packageSettings { ${FIELDS} npmPackageRequestsForwarding nugetSymbolServerEnabled }`;
      const query = `{ group(fullPath: "${path}") { ${fields} } namespace(fullPath: "${path}") { ${fields} } }`;
      const { data, errors } = await send(app, as, query);
      expect(errors).toBeUndefined();
      return [data.group?.packageSettings, data.namespace?.packageSettings];
    };
    const nothing = { npmPackageRequestsForwarding: false, nugetSymbolServerEnabled: false };
    const defaults = { ...DEFAULTS, ...nothing };
    expect(await shown("owner")).toEqual([defaults, defaults]);
    expect(await shown("admin")).toEqual([defaults, defaults]);
    for (const as of everyone.filter((one) => one !== "owner" && one !== "admin")) {
      const seen = (await shown(as)).filter((one) => one !== undefined);
      expect([as, seen.every((one) => one === null)]).toEqual([as, true]);
      const answer = await change("genericDuplicatesAllowed: false", as);
      expect([as, answer]).toEqual([as, [NOT_AVAILABLE]]);
    }
    expect(await change("genericDuplicatesAllowed: false", "owner", "nothing")).toEqual([
      NOT_AVAILABLE,
    ]);
    const changed = await change(
      'genericDuplicatesAllowed: false, genericDuplicateExceptionRegex: "to+l"',
    );
    const now = {
      ...DEFAULTS,
      genericDuplicatesAllowed: false,
      genericDuplicateExceptionRegex: "to+l",
    };
    expect(changed).toEqual(now);
    expect((await shown("owner"))[0]).toEqual({ ...now, ...nothing });
    expect(await shown("owner", fullPath)).toEqual([undefined, null]);
    // One's own namespace.
    expect(await change("mavenDuplicatesAllowed: false", "developer", "developer")).toMatchObject({
      mavenDuplicatesAllowed: false,
    });
    expect((await shown("developer", "developer"))[1]).toMatchObject({
      mavenDuplicatesAllowed: false,
    });
    expect((await shown("maintainer", "developer"))[1]).toBeNull();
    expect(await change("mavenDuplicatesAllowed: true", "maintainer", "developer")).toEqual([
      NOT_AVAILABLE,
    ]);
  });

  it("has expressions that are read in linear time", async () => {
    for (const wrong of ["[", "(?:v.+|TEMP", "(?=x)", "x\\\\"]) {
      expect(await change(`mavenDuplicateExceptionRegex: "${wrong}"`)).toEqual([
        expect.stringContaining("is an invalid regular expression"),
      ]);
    }
    const long = await change(`mavenDuplicateExceptionRegex: "${"x".repeat(256)}"`);
    expect(long).toEqual([expect.stringContaining("255")]);
    const deep = "(([a-z]+)+)+!";
    await change(`genericDuplicatesAllowed: false, genericDuplicateExceptionRegex: "${deep}"`);
    const path = `/packages/generic/${"a".repeat(200)}/1.0.0/tool`;
    expect((await put("one", path)).status).toBe(201);
    expect(shown(await put("one", path))).toEqual(DUPLICATE);
  });

  it("decides about files of a generic package", async () => {
    const other = "/packages/generic/tool/1.0.0/other";
    await put("one");
    await change("genericDuplicatesAllowed: false");
    expect(shown(await put("two"))).toEqual(DUPLICATE);
    expect((await call(`GET ${FILE}`, "reporter")).text).toBe("one");
    expect((await put("one", other)).status).toBe(201);
    expect(shown(await put("two", other))).toEqual(DUPLICATE);
    for (const exception of ["to+l", "1\\\\..*"]) {
      await change(`genericDuplicateExceptionRegex: "${exception}"`);
      expect([exception, (await put("two")).status]).toEqual([exception, 201]);
    }
    await change('genericDuplicateExceptionRegex: "too"');
    expect(shown(await put("two"))).toEqual(DUPLICATE);
    // As in GitLab, exceptions of what may be are not.
    await change('genericDuplicatesAllowed: true, genericDuplicateExceptionRegex: "tool"');
    expect(shown(await put("two"))).toEqual(DUPLICATE);
  });

  it("decides about files of Maven packages, and builds of a snapshot", async () => {
    const send = async (file: string) =>
      (await put("a jar", `/packages/maven/com/acme/thing/${file}`)).status;
    const snapshot = (build: string) => `1.1-SNAPSHOT/thing-1.1-20260101.1200${build}.jar`;
    await change("mavenDuplicatesAllowed: false");
    for (const file of ["1.0/thing-1.0.jar", "1.0/thing-1.0.pom", snapshot("00-1")]) {
      expect([file, await send(file)]).toEqual([file, 200]);
      expect([file, await send(file)]).toEqual([file, 400]);
    }
    expect(await send(snapshot("01-2"))).toBe(400);
    expect(await send("1.0/thing-1.0.jar.sha1")).toBe(409);
    for (const _ of [1, 2]) expect(await send("maven-metadata.xml")).toBe(200);
    await change('mavenDuplicateExceptionRegex: ".*-SNAPSHOT"');
    expect(await send(snapshot("01-2"))).toBe(200);
    expect(await send("1.0/thing-1.0.jar")).toBe(400);
  });

  it("decides about packages of NuGet", async () => {
    const push = async (version: string) => {
      const nuspec = `<package><metadata><id>Acme.Thing</id><version>${version}</version>
        <authors>Ann</authors><description>A thing</description></metadata></package>`;
      const body = new FormData();
      body.append("package", new Blob([zipped({ "Acme.Thing.nuspec": nuspec })]), "package.nupkg");
      return shown(await call("PUT /packages/nuget", "developer", { body }));
    };
    await change("nugetDuplicatesAllowed: false");
    const made = [201, { message: "201 Created" }];
    expect(await push("1.0.0")).toEqual(made);
    const refused = [409, { message: "A package with the same name and version already exists" }];
    for (const version of ["1.0.0", "1.0", "1.0.0.0"]) expect(await push(version)).toEqual(refused);
    expect(await push("1.0.1")).toEqual(made);
    await change('nugetDuplicateExceptionRegex: "Acme.*"');
    expect(await push("1.0.0")).toEqual(made);
  });

  it("is not inherited by groups below, as in GitLab", async () => {
    await change("genericDuplicatesAllowed: false");
    const parent = await app.call("GET /groups/secret", { as: "owner" });
    const json = { name: "below", path: "below", parent_id: parent.json.id };
    const group = await app.call("POST /groups", { as: "owner", json });
    const place = { name: "tools", namespace_id: group.json.id };
    const made = await app.call("POST /projects", { as: "owner", json: place });
    const again = async () =>
      (await app.call(`PUT /projects/${made.json.id}${FILE}`, { as: "owner", body: "one" })).status;
    expect([await again(), await again()]).toEqual([201, 201]);
    await change("genericDuplicatesAllowed: false", "owner", "secret/below");
    expect(await again()).toBe(400);
  });
});

describe("tokens of the container registry and of Git LFS", () => {
  /** A request of each registry that needs a token, below the project or anywhere. */
  const requests = () => [
    `GET /api/v4${project}/packages/npm/tool`,
    `PUT /api/v4${project}/packages/npm/tool`,
    `GET /api/v4${project}/packages/maven/com/acme/thing/1.0/thing-1.0.jar`,
    `PUT /api/v4${project}/packages/maven/com/acme/thing/1.0/thing-1.0.jar`,
    `GET /api/v4${project}/packages/pypi/simple/tool`,
    `POST /api/v4${project}/packages/pypi`,
    `GET /api/v4${project}/packages/nuget/index.json`,
    `PUT /api/v4${project}/packages/nuget`,
    `POST /api/v4${project}/packages/composer`,
    `GET /api/v4${project}/packages/helm/stable/index.yaml`,
    `POST /api/v4${project}/packages/helm/api/stable/charts`,
    `GET /api/v4${project}/packages/go/pm.test/${fullPath}/@v/list`,
    `GET /api/v4${project}/packages/generic/tool/1.0.0/tool`,
    `PUT /api/v4${project}/packages/generic/tool/1.0.0/tool`,
    `GET /api/v4${project}/terraform/state/main`,
    `GET /api/v4${project}`,
    "GET /api/v4/user",
    `GET /${fullPath}.git/info/refs?service=git-upload-pack`,
  ];
  const statusOf = async (request: string, headers: Record<string, string>) => {
    const [method, path] = request.split(" ") as [string, string];
    const { status } = await app.call(`${method} http://pm.test${path}`, {
      headers: { "content-type": "application/json", ...headers },
      ...(method !== "GET" && { body: "{}" }),
    });
    return status;
  };

  it("open nothing else, however they are sent, nor each other's", async () => {
    await put("a tool", "/packages/generic/tool/1.0.0/tool");
    const published = { body: JSON.stringify(document("tool", "1.0.0")) };
    expect((await call("PUT /packages/npm/tool", "developer", published)).status).toBe(200);
    const images = `repository:${fullPath}:pull,push`;
    const { json } = await signIn(app, [images], basic("owner", "token-of-owner"));
    const object = objectOf("large");
    const asked = await batch(app, "owner", "upload", [object], fullPath);
    const { Authorization } = asked.json.objects[0].actions.upload.header;
    const [, encoded = ""] = Authorization.split(" ");
    const ofLfs = Buffer.from(encoded, "base64").toString().split(":")[1] as string;
    const blobs = `GET /v2/${fullPath}/tags/list`;
    const objects = `GET /${fullPath}.git/gitlab-lfs/objects/${object.oid}`;
    // Where each of them belongs it is one.
    expect(await statusOf(blobs, { authorization: `Bearer ${json.token}` })).toBe(404);
    expect(await statusOf(objects, { authorization: Authorization })).toBe(404);
    for (const [token, elsewhere] of [
      [json.token, objects],
      [ofLfs, blobs],
    ] as const) {
      for (const request of [...requests(), elsewhere]) {
        const ofNobody = await statusOf(request, {});
        if (request !== elsewhere) {
          const own = await statusOf(request, basicOrHeader(request, "token-of-owner"));
          expect(`${own} ${request}`).not.toBe(`${ofNobody} ${request}`);
        }
        for (const headers of [
          { authorization: `Bearer ${token}` },
          { "private-token": token },
          { "job-token": token },
          { "deploy-token": token },
          { "x-nuget-apikey": token },
          basic("owner", token),
          basic("gitlab-ci-token", token),
        ]) {
          const status = await statusOf(request, headers);
          expect([request, [401, ofNobody].includes(status), status]).toEqual([
            request,
            true,
            status,
          ]);
        }
      }
    }
  });
});

/** How the server takes a token in a request: Git by a password alone. */
const basicOrHeader = (request: string, token: string): Record<string, string> =>
  request.includes(".git/") ? basic("owner", token) : { "private-token": token };

describe("uploads of nobody", () => {
  // Forms are read to their end, and forgotten: many of their clients read no answer before.
  it("are refused before more than their beginning is read, if they are no forms", async () => {
    const below = `/api/v4${project}/packages`;
    const requests: [request: string, type: string][] = [
      [`PUT ${below}/generic/tool/1.0.0/tool`, "application/octet-stream"],
      [`PUT ${below}/npm/tool`, "application/json"],
      [`PUT ${below}/maven/com/acme/thing/1.0/thing-1.0.jar`, "application/octet-stream"],
      [`POST /api/v4${project}/terraform/state/main`, "application/json"],
      [`PUT /${fullPath}.git/gitlab-lfs/objects/${"a".repeat(64)}/99999999`, ""],
      [`PATCH /v2/${fullPath}/blobs/uploads/x`, "application/octet-stream"],
      [`PUT /v2/${fullPath}/manifests/1.0`, "application/vnd.oci.image.manifest.v1+json"],
      [`POST /${fullPath}.git/git-receive-pack`, "application/x-git-receive-pack-request"],
    ];
    const CHUNK = new Uint8Array(65_536);
    const seen: [string, boolean, number][] = [];
    for (const [request, type] of requests) {
      let read = 0;
      const body = new ReadableStream({
        pull: (controller) => {
          read += CHUNK.length;
          if (read > 64 * 1024 * 1024) controller.close();
          else controller.enqueue(CHUNK);
        },
      });
      const [method, path] = request.split(" ") as [string, string];
      const headers = type === "" ? {} : { "content-type": type };
      const init = { method, headers, body, duplex: "half" } as RequestInit;
      const { status } = await app.fetch(new Request(`http://pm.test${path}`, init));
      seen.push([request, [401, 403, 404].includes(status), Math.max(read, 1024 * 1024)]);
    }
    expect(seen).toEqual(requests.map(([request]) => [request, true, 1024 * 1024]));
  });
});
