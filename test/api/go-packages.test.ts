import { describe, expect, it } from "vitest";
import { everyone, type Person, type TestApp, tokenOf } from "../helpers.ts";
import { publishInProjects } from "./_packages.ts";
import { unzipped } from "./_zip.ts";

let app: TestApp;
let project: string;
let module: string;
publishInProjects((given) => {
  ({ app, project } = given);
  module = `pm.test/${given.fullPath}`;
});

/** Commits files to `main`, and tags the commit. @returns its id */
async function commit(files: Record<string, string>, ...tags: string[]): Promise<string> {
  const known = await app.call(`GET ${project}/repository/tree?recursive=true&per_page=100`, {
    as: "owner",
  });
  const paths = known.status === 200 ? known.json.map(({ path }: { path: string }) => path) : [];
  const actions = Object.entries(files).map(([path, content]) => ({
    action: paths.includes(path) ? "update" : "create",
    file_path: path,
    content,
  }));
  const json = { branch: "main", commit_message: "x", actions };
  const made = await app.call(`POST ${project}/repository/commits`, { as: "owner", json });
  expect(made.status).toBe(201);
  for (const tag_name of tags) {
    const tagged = await app.call(`POST ${project}/repository/tags`, {
      as: "owner",
      json: {
        tag_name,
        ref: made.json.id,
        ...(tag_name.endsWith("1") && { message: "annotated" }),
      },
    });
    expect(tagged.status).toBe(201);
  }
  return made.json.id;
}
const get = (path: string, as: Person = "reporter", headers = {}) =>
  app.call(`GET ${project}/packages/go/${path}`, { as, headers });
const versions = async (name = module) => {
  const { status, text } = await get(`${name}/@v/list`);
  return status === 200 ? text.split("\n") : status;
};
/** The files of the archive of a version. */
async function filesOf(name: string, version: string): Promise<string[]> {
  const url = `http://pm.test/api/v4${project}/packages/go/${name}/@v/${version}.zip`;
  const answer = await app.fetch(
    new Request(url, { headers: { "private-token": tokenOf("reporter") } }),
  );
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/zip"]);
  return [...unzipped(Buffer.from(await answer.arrayBuffer())).keys()].sort();
}
const mod = (name: string) => `module ${name}\n\ngo 1.21\n`;

describe("a Go module", () => {
  it("has the tags that are versions, and whose go.mod is its own", async () => {
    expect(await versions()).toEqual([""]);
    await commit({ "a.go": "package a" }, "v0.1.0");
    await commit({ "go.mod": mod(module) }, "v1.0.1", "v1.0", "v1.1.0-beta.1", "1.2.3", "v1.3.0+x");
    await commit({ "go.mod": `// ours\n\nmodule "${module}" // here\n` }, "v1.2.0", "v2.0.0");
    await commit({ "go.mod": mod("example.com/other") }, "v1.4.0");
    expect(await versions()).toEqual(["v1.0.1", "v1.1.0-beta.1", "v1.2.0"]);
    for (const version of ["v0.1.0", "v1.0", "v1.4.0", "v2.0.0", "v9.9.9", "main", "v1.0.1+x"]) {
      expect([version, (await get(`${module}/@v/${version}.info`)).status]).toEqual([version, 404]);
    }
    const info = await get(`${module}/@v/v1.0.1.info`);
    expect(info.json).toEqual({ Version: "v1.0.1", Time: expect.stringMatching(/^\d{4}-.*Z$/) });
    const gomod = await get(`${module}/@v/v1.0.1.mod`);
    expect([gomod.text, gomod.headers.get("content-type")]).toEqual([
      mod(module),
      "text/plain; charset=utf-8",
    ]);
  });

  it("is downloaded without what Go leaves out", async () => {
    await commit(
      {
        "go.mod": mod(module),
        "a.go": "package a",
        "sub/b.go": "package b",
        "inner/go.mod": mod(`${module}/inner`),
        "inner/deep/c.go": "package c",
        "vendor/modules.txt": "x",
        "vendor/example.com/d/d.go": "package d",
      },
      "v1.0.0",
    );
    const names = ["a.go", "go.mod", "sub/b.go", "vendor/modules.txt"];
    expect(await filesOf(module, "v1.0.0")).toEqual(
      names.map((name) => `${module}@v1.0.0/${name}`),
    );
  });

  it("may be in a folder, or have a higher number in its name", async () => {
    await commit({ "go.mod": mod(module), "Tool/go.mod": mod(`${module}/Tool`) }, "v1.0.0");
    await commit({ "Tool/a.go": "package a" }, "Tool/v1.2.0");
    await commit({ "go.mod": mod(`${module}/v2`) }, "v2.0.0");
    await commit({ "v3/go.mod": mod(`${module}/v3`), "v3/a.go": "package a" }, "v3.1.0");
    expect(await versions(`${module}/%21tool`)).toEqual(["v1.0.0", "v1.2.0"]);
    expect(await versions(`${module}/v2`)).toEqual(["v2.0.0"]);
    expect(await versions(`${module}/v3`)).toEqual(["v3.1.0"]);
    expect(await filesOf(`${module}/v3`, "v3.1.0")).toContain(`${module}/v3@v3.1.0/a.go`);
    expect((await get(`${module}/v3/@v/v2.0.0.mod`)).status).toBe(404);
    expect(await filesOf(`${module}/!tool`, "v1.2.0")).toEqual([
      `${module}/Tool@v1.2.0/a.go`,
      `${module}/Tool@v1.2.0/go.mod`,
    ]);
  });

  it("has versions without a go.mod from 2 on, and those of commits", async () => {
    const id = await commit({ "a.go": "package a" }, "v2.0.0", "v2.1.0", "v1.0.0");
    expect(await versions()).toEqual(["v2.0.0+incompatible", "v2.1.0+incompatible"]);
    const incompatible = await get(`${module}/@v/v2.0.0+incompatible.mod`);
    expect(incompatible.text).toBe(`module ${module}\n`);
    const last = await commit({ "go.mod": mod(module) });
    const { json } = await app.call(`GET ${project}/repository/commits/${last}`, { as: "owner" });
    const time = new Date(json.committed_date).toISOString().replace(/\D/g, "").slice(0, 14);
    const statuses = [];
    for (const version of [
      `v0.0.0-${time}-${last.slice(0, 12)}`,
      `v1.0.1-0.${time}-${last.slice(0, 12)}`,
      `v0.0.0-${time}-${last.slice(0, 11)}`,
      `v0.0.0-20200101000000-${last.slice(0, 12)}`,
      `v0.0.0-${time}-${id.slice(0, 12)}`,
      `v0.0.0-${time}-000000000000`,
    ]) {
      statuses.push((await get(`${module}/@v/${version}.info`)).status);
    }
    expect(statuses).toEqual([200, 200, 404, 404, 404, 404]);
  });

  it.each([
    "pm.test/other/site",
    "x",
    "MODULE/..",
    "MODULE/v1",
    "MODULE/a%00b",
    "MODULEx",
    "../MODULE",
  ])("is no one else's: %s", async (name) => {
    await commit({ "go.mod": mod(module) }, "v1.0.0");
    for (const file of ["list", "v1.0.0.info", "v1.0.0.mod", "v1.0.0.zip"]) {
      const { status } = await get(`${name.replace("MODULE", module)}/@v/${file}`);
      expect([file, status]).toEqual([file, expect.toBeOneOf([400, 404])]);
    }
  });

  it("is for those who may read the code", async () => {
    await commit({ "go.mod": mod(module) }, "v1.0.0");
    for (const file of ["list", "v1.0.0.zip"]) {
      const read = [];
      for (const as of everyone) read.push((await get(`${module}/@v/${file}`, as)).status);
      expect(read).toEqual([401, 404, 403, 200, 200, 200, 200, 200]);
    }
    const asked = await get(`${module}/@v/list`, "anonymous");
    expect(asked.headers.get("www-authenticate")).toBe('Basic realm="GitLab Packages Registry"');
  });

  it("takes the same number of statements however many versions there are", async () => {
    await commit({ "go.mod": mod(module) }, "v1.0.0");
    const counted = async () => {
      app.statements.length = 0;
      await versions();
      return app.statements.length;
    };
    await counted();
    const one = await counted();
    const tags = Array.from({ length: 8 }, (_, at) => `v1.1.${at}`);
    await commit({ "a.go": "package a" }, ...tags);
    await counted();
    expect(await counted()).toBe(one);
    expect(await versions()).toHaveLength(9);
  });
});
