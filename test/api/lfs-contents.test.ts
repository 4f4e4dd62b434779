import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { sweepObjects } from "../../src/resources/lfs/sweep.ts";
import { baseSeed, type TestApp, tokenOf, waitFor } from "../helpers.ts";
import { shareWorkshop, type Workshop } from "./_git.ts";
import { batch, lfs, objectOf, oidOf, pointerTo, put } from "./_lfs.ts";

let app: TestApp;
let workshop: Workshop;
let git: Workshop["git"];
shareWorkshop(
  (opened) => {
    ({ app, workshop, git } = opened);
  },
  // Exports and imports are work in the background.
  { seed: baseSeed, background: true },
);

const at = (...path: string[]) => join(workshop.folder, ...path);

/** Content larger than what is read at once. */
const LARGE = Buffer.alloc(700_001, "A large object. ").toString();

/** A new project of the owner, with some files, the objects of some of which it has. */
async function projectWith(name: string, files: Record<string, string>, contents: string[]) {
  const { json } = await app.call("POST /projects", {
    as: "owner",
    json: { name, visibility: "public" },
  });
  for (const content of contents) {
    const { status } = await put(app, "owner", content, objectOf(content), `owner/${name}`);
    expect(status).toBe(200);
  }
  const actions = Object.entries(files).map(([file_path, content]) => ({
    action: "create",
    file_path,
    content,
  }));
  const made = await app.call(`POST /projects/${json.id}/repository/commits`, {
    as: "owner",
    json: { branch: "main", commit_message: "Add files", actions },
  });
  expect(made.status).toBe(201);
  return json.id as number;
}

it("a file is its pointer, or with lfs=true the object, if there is one", async () => {
  const id = await projectWith(
    "contents",
    {
      "a b.png": pointerTo(LARGE),
      "missing.bin": pointerTo("missing"),
      "secret.bin": pointerTo("a secret"),
      "plain.txt": "plain",
    },
    [LARGE],
  );
  await put(app, "owner", "a secret", objectOf("a secret"), "secret/vault");
  const raw = (path: string, query = "") =>
    app.call(`GET /projects/${id}/repository/files/${encodeURIComponent(path)}/raw${query}`);
  expect((await raw("a b.png")).text).toBe(pointerTo(LARGE));
  expect((await raw("a b.png", "?lfs=false")).text).toBe(pointerTo(LARGE));
  const found = await raw("a b.png", "?lfs=true");
  expect(found.text).toBe(LARGE);
  expect(found.headers.get("content-type")).toBe("image/png");
  expect(found.headers.get("content-security-policy")).toContain("sandbox");
  // Nobody gets an object that the project does not have by writing its pointer.
  expect((await raw("missing.bin", "?lfs=true")).text).toBe(pointerTo("missing"));
  expect((await raw("secret.bin", "?lfs=true")).text).toBe(pointerTo("a secret"));
  expect((await raw("plain.txt", "?lfs=true")).text).toBe("plain");
  const page = (path: string, headers = {}) =>
    app.call(`GET http://localhost/owner/contents/-/raw/main/${path}`, { headers });
  expect((await page("a%20b.png")).text).toBe(LARGE);
  const part = await page("a%20b.png", { range: "bytes=0-7" });
  expect([part.status, part.text]).toEqual([206, "A large "]);
  expect((await page("secret.bin")).text).toBe(pointerTo("a secret"));
  const attached = await page("a%20b.png?inline=false");
  expect(attached.headers.get("content-disposition")).toContain("attachment");

  await app.call(`PUT /projects/${id}`, { as: "owner", json: { lfs_enabled: false } });
  expect((await raw("a b.png", "?lfs=true")).text).toBe(pointerTo(LARGE));
  expect((await page("a%20b.png")).text).toBe(pointerTo(LARGE));
});

it("archives have the objects, unless they are not asked for", async () => {
  const id = await projectWith(
    "archives",
    {
      "docs/large.bin": pointerTo(LARGE),
      "docs/small.bin": pointerTo("small"),
      "docs/missing.bin": pointerTo("missing"),
      "README.md": "# Archives",
    },
    [LARGE, "small"],
  );
  const path = `http://localhost/api/v4/projects/${id}/repository/archive`;
  const fetched = async (address: string, name: string) => {
    const answer = await app.fetch(new Request(address));
    expect(answer.status).toBe(200);
    writeFileSync(at(name), Buffer.from(await answer.arrayBuffer()));
    return at(name);
  };
  const member = (archive: string, file: string) =>
    archive.endsWith(".zip")
      ? execFileSync("unzip", ["-p", archive, `*/${file}`], { maxBuffer: 1e7 }).toString()
      : execFileSync("tar", ["-xOf", archive, "--wildcards", `*/${file}`], {
          maxBuffer: 1e7,
        }).toString();
  for (const ending of ["tar", "tar.gz", "zip"]) {
    for (const address of [
      `${path}.${ending}`,
      `http://localhost/owner/archives/-/archive/main/archives-main.${ending}`,
    ]) {
      const archive = await fetched(address, `all.${ending}`);
      expect(member(archive, "docs/large.bin")).toBe(LARGE);
      expect(member(archive, "docs/small.bin")).toBe("small");
      expect(member(archive, "docs/missing.bin")).toBe(pointerTo("missing"));
      expect(member(archive, "README.md")).toBe("# Archives");
    }
    const without = await fetched(`${path}.${ending}?include_lfs_blobs=false`, `no.${ending}`);
    expect(member(without, "docs/large.bin")).toBe(pointerTo(LARGE));
  }
});

it("GraphQL tells which files stand for objects", async () => {
  await projectWith("graph", { "large.bin": pointerTo("x"), "README.md": "# Graph" }, ["x"]);
  const query = `{ project(fullPath: "owner/graph") { repository {
    tree { blobs { nodes { name lfsOid } } }
    blobs(paths: ["large.bin", "README.md"]) { nodes { name lfsOid } } } } }`;
  const { json } = await app.call("POST http://localhost/api/graphql", { json: { query } });
  const expected = [
    { name: "README.md", lfsOid: null },
    { name: "large.bin", lfsOid: oidOf("x") },
  ];
  const { tree, blobs } = json.data.project.repository;
  expect(tree.blobs.nodes).toEqual(expected);
  expect(blobs.nodes).toEqual(expect.arrayContaining(expected));
});

it("a push with pointers whose objects were not uploaded is refused, until they are", async () => {
  await app.call("POST /projects", { as: "owner", json: { name: "pushed" } });
  await git("", "init", "--quiet", "-b", "main", "pushed");
  const commit = async (name: string, content: string) => {
    writeFileSync(at("pushed", name), content);
    await git("pushed", "add", ".");
    await git("pushed", "commit", "--quiet", "-m", `Add ${name}`);
  };
  const push = () =>
    git("pushed", "push", "--quiet", workshop.url("owner/pushed", "owner"), "main");
  await commit("large.bin", pointerTo("to push"));
  // Also if it is gone again in the last commit.
  await git("pushed", "rm", "--quiet", "large.bin");
  await git("pushed", "commit", "--quiet", "-m", "Remove it");
  await expect(push()).rejects.toThrow(
    'GitLab: LFS objects are missing. Ensure LFS is properly set up or try a manual "git lfs push --all".',
  );
  // Another project's object is none of this one.
  await put(app, "owner", "to push", objectOf("to push"), "secret/vault");
  await expect(push()).rejects.toThrow("LFS objects are missing");
  await put(app, "owner", "to push", objectOf("to push"), "owner/pushed");
  await push();
  // What looks like a pointer and is none is a file.
  await commit("like.txt", `${pointerTo("none").replace("sha256:", "sha256:x")}`);
  await push();
  await commit("other.bin", pointerTo("elsewhere"));
  await expect(push()).rejects.toThrow("LFS objects are missing");
  await app.call("PUT /projects/owner%2Fpushed", { as: "owner", json: { lfs_enabled: false } });
  await push();
  // What is there already is not looked at again, although its object is missing.
  await app.call("PUT /projects/owner%2Fpushed", { as: "owner", json: { lfs_enabled: true } });
  await commit("more.txt", "more");
  await push();
});

it("a push that would create its project is refused, too, and objects of no project are unknown", async () => {
  await git("", "init", "--quiet", "-b", "main", "created");
  writeFileSync(at("created", "a.bin"), pointerTo("created"));
  await git("created", "add", ".");
  await git("created", "commit", "--quiet", "-m", "Add a file");
  const asked = await batch(app, "owner", "upload", [objectOf("created")], "owner/created");
  expect(asked.status).toBe(404);
  await expect(
    git("created", "push", workshop.url("owner/created", "owner"), "main"),
  ).rejects.toThrow("LFS objects are missing");
});

it("objects are deleted with their last project", async () => {
  const content = "only here";
  const id = await projectWith("last", { "a.bin": pointerTo(content) }, [content]);
  const { json: fork } = await app.call(`POST /projects/${id}/fork`, { as: "developer" });
  const files = async () => {
    const [row] = await app.store.rows("select count(*) from stored_files");
    return Number(row?.[0]);
  };
  const all = await files();
  await app.call(`DELETE /projects/${id}`, { as: "owner" });
  await sweepObjects(app.store);
  const download = `GET http://localhost/developer/last.git/gitlab-lfs/objects/${oidOf(content)}`;
  expect((await app.call(download)).text).toBe(content);
  await app.call(`DELETE /projects/${fork.id}`, { as: "developer" });
  await sweepObjects(app.store);
  await app.admin.maintenance.sweepFiles();
  const [left] = await app.store.rows("select 1 from lfs_objects where oid = ?", [oidOf(content)]);
  expect(left).toBeUndefined();
  expect(await files()).toBe(all - 1);
});

it("a merge request brings the objects of its fork, and no others", async () => {
  const id = await projectWith("target", { "README.md": "# Target" }, []);
  const { json: fork } = await app.call(`POST /projects/${id}/fork`, { as: "developer" });
  const contents = ["of the fork", "added later", "of nobody"];
  const add = (branch: string, start: string, name: string, content: string) =>
    app.call(`POST /projects/${fork.id}/repository/files/${name}`, {
      as: "developer",
      json: { branch, start_branch: start, content: pointerTo(content), commit_message: name },
    });
  const [first, later, other] = contents as [string, string, string];
  for (const content of [first, later]) {
    await put(app, "developer", content, objectOf(content), "developer/target");
  }
  await put(app, "owner", other, objectOf(other), "secret/vault");
  await add("work", "main", "a.bin", first);
  await add("work", "work", "b.bin", other);
  const known = async () => {
    const { json } = await batch(app, "owner", "download", contents.map(objectOf), "owner/target");
    return json.objects.map((object: object) => "actions" in object);
  };
  expect(await known()).toEqual([false, false, false]);
  const opened = await app.call(`POST /projects/${fork.id}/merge_requests`, {
    as: "developer",
    json: { source_branch: "work", target_branch: "main", target_project_id: id, title: "Work" },
  });
  expect(opened.status).toBe(201);
  expect(await known()).toEqual([true, false, false]);
  await add("work", "work", "c.bin", later);
  expect(await known()).toEqual([true, true, false]);
});

it("what others have locked can't be changed, on no branch, until it is unlocked", async () => {
  const id = await projectWith("locked", { "a.bin": "one", "b.bin": "two" }, []);
  await app.call(`POST /projects/${id}/members`, {
    as: "owner",
    json: { user_id: 4, access_level: 40 },
  });
  const { username } = (await app.call("GET /users/4", { as: "admin" })).json;
  const ask = (request: string, json: object) =>
    lfs(app, username, request, json, {}, "owner/locked");
  const { json } = await ask("POST info/lfs/locks", { path: "a.bin" });
  const refusal = `The path 'a.bin' is locked in Git LFS by The ${username}`;
  await git("", "clone", "--quiet", workshop.url("owner/locked", "owner"), "locked");
  const change = async (branch: string, ...files: string[]) => {
    await git("locked", "checkout", "--quiet", "-B", branch, "origin/main");
    for (const file of files) writeFileSync(at("locked", file), `changed on ${branch}`);
    await git("locked", "add", ".");
    await git("locked", "commit", "--quiet", "-m", `Change ${files}`);
    return git("locked", "push", "--quiet", "origin", branch);
  };
  await expect(change("main", "b.bin", "a.bin")).rejects.toThrow(`GitLab: ${refusal}`);
  await expect(change("work", "a.bin")).rejects.toThrow(refusal);
  await change("other", "b.bin");
  const file = `PUT /projects/${id}/repository/files/a.bin`;
  const content = { branch: "main", content: "x", commit_message: "Change" };
  const refused = await app.call(file, { as: "owner", json: content });
  expect(refused.status).toBeLessThan(500);
  expect(refused.text).toContain("is locked in Git LFS by");
  // Who holds the lock may.
  expect((await app.call(file, { as: username, json: content })).status).toBe(200);
  await ask(`POST info/lfs/locks/${json.lock.id}/unlock`, {});
  expect((await app.call(file, { as: "owner", json: { ...content, content: "y" } })).status).toBe(
    200,
  );
});

it("archives of projects have their objects, which are what they say", async () => {
  const id = await projectWith(
    "exported",
    { "large.bin": pointerTo(LARGE), "empty.bin": pointerTo("") },
    [LARGE, "", "unused"],
  );
  await app.call(`POST /projects/${id}/export`, { as: "owner" });
  const path = `/projects/${id}/export`;
  await waitFor(async () => {
    const { json } = await app.call(`GET ${path}`, { as: "owner" });
    return json.export_status === "finished";
  });
  const headers = { "private-token": tokenOf("owner") };
  const answer = await app.fetch(
    new Request(`http://localhost/api/v4${path}/download`, { headers }),
  );
  const archive = Buffer.from(await answer.arrayBuffer());
  const imported = async (name: string, bytes: Buffer) => {
    const body = new FormData();
    body.append("path", name);
    body.append("file", new Blob([new Uint8Array(bytes)]), "archive.gz");
    const { json } = await app.call("POST /projects/import", { as: "owner", body });
    let status = "";
    await waitFor(async () => {
      const now = await app.call(`GET /projects/${json.id}/import`, { as: "owner" });
      status = now.json.import_status;
      return ["finished", "failed"].includes(status);
    });
    return status;
  };
  expect(await imported("imported", archive)).toBe("finished");
  const objects = [LARGE, "", "unused"].map(objectOf);
  const { json } = await batch(app, "owner", "download", objects, "owner/imported");
  expect(json.objects).toMatchObject(objects.map((object) => ({ ...object, actions: {} })));
  const file = await app.call(
    "GET /projects/owner%2Fimported/repository/files/large.bin/raw?lfs=true",
    { as: "owner" },
  );
  expect(file.text).toBe(LARGE);

  await put(app, "owner", "a secret", objectOf("a secret"), "secret/vault");
  const lines = gunzipSync(archive).toString();
  const changed = lines.replace(`{"lfs":"${oidOf("unused")}"}`, `{"lfs":"${oidOf("a secret")}"}`);
  expect(changed).not.toBe(lines);
  expect(await imported("forged", gzipSync(changed))).toBe("failed");
});
