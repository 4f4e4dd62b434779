import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { queue } from "../../src/resources/remote-mirrors/queries.ts";
import { type TestApp, testApp, waitFor } from "../helpers.ts";
import { openWorkshop, randomHistory, shareWorkshop, type Workshop } from "./_git.ts";
import { type Backend, startBackend } from "./_http-backend.ts";
import { oidOf, pointerTo, put as upload } from "./_lfs.ts";

const CREDENTIALS = "mirror:s3cr%t";
let app: TestApp;
let workshop: Workshop;
let backend: Backend;

shareWorkshop(
  async (opened) => {
    ({ app, workshop } = opened);
    backend = await startBackend(workshop.folder, CREDENTIALS);
  },
  { webhooks: { deliver: true, allowLocalRequests: true, interval: 10 } },
);

afterAll(() => backend.close());

const call: TestApp["call"] = (request, options) => app.call(request, { as: "owner", ...options });

let name = "";
let count = 0;
const path = () => `/projects/owner%2F${name}`;
/** The repository there, whose branches and tags are listed with what they stand for. */
const listed = (where: string) =>
  workshop.git(
    where,
    "for-each-ref",
    "--format=%(refname) %(objectname)",
    "refs/heads",
    "refs/tags",
  );
const there = () => listed(`${name}-there`);
const here = () => listed(name);

const urlOf = (where: string) => `${backend.url.replace("//", "//mirror:s3cr%25t@")}/${where}`;

beforeEach(async () => {
  count += 1;
  name = `m${count}`;
  backend.instead = () => undefined;
  await workshop.pushed(name, randomHistory(count, 30));
  await workshop.git("", "init", "--quiet", "--bare", "--initial-branch=main", `${name}-there`);
  await workshop.git(`${name}-there`, "config", "http.receivepack", "true");
});

async function addMirror(more: object = {}) {
  const json = { url: urlOf(`${name}-there`), enabled: true, ...more };
  const added = await call(`POST ${path()}/remote_mirrors`, { json });
  expect([added.status, added.text]).toEqual([201, added.text]);
  return added.json;
}

const mirror = async (id: number) => (await call(`GET ${path()}/remote_mirrors/${id}`)).json;

/** Waits until a mirror is in a state. */
async function until(id: number, status: string) {
  await waitFor(async () => (await mirror(id)).update_status === status);
  return mirror(id);
}

async function sync(id: number, status = "finished") {
  expect((await call(`POST ${path()}/remote_mirrors/${id}/sync`)).status).toBe(204);
  return until(id, status);
}

describe("pushes", () => {
  it("all branches and tags when it is asked for, and each later push", async () => {
    const { id } = await addMirror();
    const after = await sync(id);
    expect(await there()).toBe(await here());
    expect(after).toMatchObject({ last_error: null, update_status: "finished" });
    expect(after.last_successful_update_at).toBe(after.last_update_at);
    expect(Date.parse(after.last_update_at)).toBeGreaterThanOrEqual(
      Date.parse(after.last_update_started_at),
    );
    await workshop.git(name, "branch", "later", "main~1");
    await workshop.git(name, "push", "--quiet", workshop.url(`owner/${name}`, "owner"), "later");
    await waitFor(async () => (await there()) === (await here()));
    const json = { branch: "later", commit_message: "By the API", content: "x" };
    await call(`POST ${path()}/repository/files/x`, { json });
    await until(id, "finished");
    await waitFor(async () => (await there()).includes("later"));
    const branch = await call(`GET ${path()}/repository/branches/later`);
    await waitFor(async () => (await there()).includes(branch.json.commit.id));
    // What was pushed can be read there.
    await workshop.git(`${name}-there`, "fsck", "--strict", "--connectivity-only");
  });

  it("removals of what is stored here, and leaves what is not", async () => {
    const { id } = await addMirror();
    await sync(id);
    await workshop.git("", "clone", "--quiet", `${name}-there`, `${name}-other`);
    await workshop.git(`${name}-other`, "commit", "--quiet", "--allow-empty", "-m", "Elsewhere");
    await workshop.git(`${name}-other`, "push", "--quiet", "origin", "HEAD:refs/heads/elsewhere");
    expect((await call(`DELETE ${path()}/repository/branches/b1`)).status).toBe(204);
    await waitFor(async () => !(await there()).includes("refs/heads/b1 "));
    expect(await there()).toContain("refs/heads/elsewhere");
  });

  it("what has diverged, unless it is to be kept", async () => {
    const { id } = await addMirror({ keep_divergent_refs: true });
    await sync(id);
    await workshop.git("", "clone", "--quiet", `${name}-there`, `${name}-other`);
    await workshop.git(`${name}-other`, "commit", "--quiet", "--allow-empty", "-m", "Elsewhere");
    await workshop.git(`${name}-other`, "push", "--quiet", "origin", "HEAD:main");
    const kept = await sync(id, "failed");
    expect(kept.last_error).toBe(
      "Some refs have diverged and have not been updated on the remote:\n\nrefs/heads/main",
    );
    expect(await there()).not.toBe(await here());
    await call(`PUT ${path()}/remote_mirrors/${id}`, { json: { keep_divergent_refs: false } });
    expect((await sync(id)).last_error).toBeNull();
    expect(await there()).toBe(await here());
  });

  it("only protected branches, or those with some names, and all tags", async () => {
    const { id } = await addMirror({ only_protected_branches: true });
    await sync(id);
    const heads = async () => (await there()).match(/refs\/heads\/\S+/g);
    expect(await heads()).toEqual(["refs/heads/main"]);
    expect((await there()).match(/refs\/tags\/\S+/g)).toEqual(
      (await here()).match(/refs\/tags\/\S+/g),
    );
    const json = { mirror_branch_regex: "^b[12]$" };
    const changed = await call(`PUT ${path()}/remote_mirrors/${id}`, { json });
    expect(changed.json).toMatchObject({ only_protected_branches: false, ...json });
    await sync(id);
    expect(await heads()).toEqual(["refs/heads/b1", "refs/heads/b2", "refs/heads/main"]);
  });

  it("objects of Git LFS first, each once, to another server", async () => {
    const other = await testApp();
    const there = await openWorkshop(other);
    try {
      const target = await other.call("POST /projects", { as: "owner", json: { name } });
      const url = there.url(`owner/${name}`, "owner");
      const { id } = await addMirror({ url });
      const send = (content: string) => upload(app, "owner", content, undefined, `owner/${name}`);
      const commit = (content: string) =>
        call(`POST ${path()}/repository/files/${content.length}`, {
          json: { branch: "main", commit_message: "Large", content: pointerTo(content) },
        });
      const raw = async (content: string) => {
        const file = `/projects/${target.json.id}/repository/files/${content.length}/raw`;
        return (await other.call(`GET ${file}?ref=main&lfs=true`, { as: "owner" })).text;
      };
      const objects = async () =>
        (
          await other.store.rows(
            "select o.oid from lfs_object_projects l join lfs_objects o on o.id = l.object_id order by l.id",
          )
        ).flat();
      const [small, large] = [`${name} small`, `${name} large`.repeat(100_000)];
      for (const content of [small, large]) {
        await send(content);
        await commit(content);
      }
      expect((await sync(id)).last_error).toBeNull();
      expect(await objects()).toEqual([small, large].map(oidOf));
      for (const content of [small, large]) expect(await raw(content)).toBe(content);
      // What the other server loses is its own: nothing is asked for twice.
      await other.store.transaction((db) => db.run("delete from lfs_object_projects"));
      const third = `${name} third`.repeat(2);
      await send(third);
      await commit(third);
      await sync(id);
      expect(await objects()).toEqual([oidOf(third)]);
      expect(await raw(third)).toBe(third);
      // Without them the code comes all the same, if the server takes it.
      await other.call(`PUT /projects/${target.json.id}`, {
        as: "owner",
        json: { lfs_enabled: false },
      });
      const last = `${name} last`.repeat(3);
      await send(last);
      await commit(last);
      const failed = await sync(id, "failed");
      expect(failed.last_error).toMatch(/^Error synchronizing LFS files:\n\n.*\b40\d$/);
      expect(await raw(last)).toBe(pointerTo(last));
      await other.call(`PUT /projects/${target.json.id}`, {
        as: "owner",
        json: { lfs_enabled: true },
      });
      expect((await sync(id)).last_error).toBeNull();
      expect(await raw(last)).toBe(last);
    } finally {
      await there.close();
      await other.dispose();
    }
  });

  it("nothing of a mirror that is not enabled", async () => {
    const { id } = await addMirror({ enabled: false });
    await call(`DELETE ${path()}/repository/branches/b2`);
    const refused = await call(`POST ${path()}/remote_mirrors/${id}/sync`);
    expect([refused.status, refused.json]).toEqual([
      400,
      {
        message: "Cannot proceed with the push mirroring. Please verify your mirror configuration.",
      },
    ]);
    expect((await mirror(id)).update_status).toBe("none");
  });

  it("again after it was not enabled for a time", async () => {
    const { id } = await addMirror();
    await sync(id);
    await call(`PUT ${path()}/remote_mirrors/${id}`, { json: { enabled: false } });
    await app.store.transaction((db) => queue(db, id, Date.now()));
    await until(id, "none");
    await call(`PUT ${path()}/remote_mirrors/${id}`, { json: { enabled: true } });
    await call(`DELETE ${path()}/repository/branches/b1`);
    await waitFor(async () => !(await there()).includes("refs/heads/b1 "));
  });

  it("to another application of this kind", async () => {
    const project = await call("POST /projects", { json: { name: `${name}-copy` } });
    const url = workshop.url(project.json.path_with_namespace, "owner");
    const { id } = await addMirror({ url });
    await sync(id);
    await workshop.git("", "clone", "--quiet", "--mirror", url, `${name}-copy`);
    expect(await listed(`${name}-copy`)).toBe(await here());
  });
});

describe("failures", () => {
  it.each([
    ["refused credentials", "the credentials are refused", [401, {}]],
    ["a missing repository", /^there is no such repository/, [404, {}]],
    ["a broken server", "the answer has the status 502", [502, {}]],
    ["another answer", "the answer is none of a Git repository", [200, {}]],
    [
      "another host",
      "the redirect leads to another host",
      [302, { location: "http://other.test/x/info/refs?service=git-receive-pack" }],
    ],
  ] as const)("by %s are shown, and tried again", async (_, error, answer) => {
    const { id } = await addMirror();
    backend.instead = () => answer as never;
    const failed = await sync(id, "to_retry");
    expect(failed.last_error).toEqual(
      typeof error === "string" ? error : expect.stringMatching(error),
    );
    expect(failed.last_successful_update_at).toBeNull();
    backend.instead = () => undefined;
    expect((await sync(id)).last_error).toBeNull();
    expect(await there()).toBe(await here());
  });

  it("that nobody foresaw do not keep a mirror from being updated", async () => {
    const { id } = await addMirror();
    backend.instead = () => [502, {}];
    await sync(id, "to_retry");
    await app.store.transaction((db) =>
      db.run("update remote_mirrors set update_status = 'started' where id = ?", [id]),
    );
    backend.instead = () => undefined;
    await sync(id);
    expect(await there()).toBe(await here());
  });

  it("stop after three tries, until the next push", async () => {
    const { id } = await addMirror();
    backend.instead = () => [401, {}];
    await sync(id, "to_retry");
    await app.store.transaction((db) =>
      db.run("update outbox set attempts = 2, due_at = 0 where worker = 'mirrors'"),
    );
    await until(id, "failed");
    backend.instead = () => undefined;
    await call(`DELETE ${path()}/repository/branches/b3`);
    await until(id, "finished");
    expect(await there()).toContain("refs/heads/main");
  });

  it("by a server that takes some changes only name these", async () => {
    await workshop.git(`${name}-there`, "config", "receive.denyDeletes", "true");
    const { id } = await addMirror();
    await sync(id);
    await call(`DELETE ${path()}/repository/branches/b1`);
    const failed = await until(id, "failed");
    expect(failed.last_error).toMatch(
      /^Some refs have not been accepted by the remote:\n\nrefs\/heads\/b1 \(/,
    );
  });

  it("by a redirect on the same host is none", async () => {
    const { id } = await addMirror({ url: urlOf(`${name}-moved`) });
    backend.instead = ({ url = "" }) =>
      url.includes("-moved") ? [301, { location: url.replace("-moved", "-there") }] : undefined;
    await sync(id);
    expect(await there()).toBe(await here());
  });
});

describe("settings", () => {
  it("show no credentials, and store them encrypted", async () => {
    const added = await addMirror();
    const shown = `${backend.url.replace("//", "//*****:*****@")}/${name}-there`;
    expect(added).toEqual({
      id: added.id,
      enabled: true,
      url: shown,
      auth_method: "password",
      update_status: "none",
      last_update_at: null,
      last_update_started_at: null,
      last_successful_update_at: null,
      last_error: null,
      only_protected_branches: false,
      keep_divergent_refs: false,
      mirror_branch_regex: null,
      host_keys: [],
    });
    expect((await call(`GET ${path()}/remote_mirrors`)).json).toEqual([added]);
    const rows = await app.store.rows("select * from remote_mirrors");
    expect(JSON.stringify(rows)).not.toContain("s3cr");
  });

  it.each([
    ["no", "is blocked: URI is invalid"],
    ["ssh://git@example.com/a.git", "is blocked: Only allowed schemes are http, https"],
    [
      "http://example.com:25/a.git",
      "is blocked: Only allowed ports are 22, 80, 443, and any over 1024",
    ],
    [
      "https://-a@example.com/a.git",
      "is blocked: Username needs to start with an alphanumeric character",
    ],
  ])("refuse the address %s", async (url, problem) => {
    const answer = await call(`POST ${path()}/remote_mirrors`, { json: { url } });
    expect([answer.status, answer.json]).toEqual([400, { message: { url: [problem] } }]);
  });

  it("refuse what excludes each other, and what is no expression", async () => {
    const { id } = await addMirror();
    const both = { only_protected_branches: true, mirror_branch_regex: "a" };
    const answer = await call(`PUT ${path()}/remote_mirrors/${id}`, { json: both });
    expect([answer.status, answer.json.error]).toEqual([
      400,
      "mirror_branch_regex, only_protected_branches are mutually exclusive",
    ]);
    const wrong = await call(`PUT ${path()}/remote_mirrors/${id}`, {
      json: { mirror_branch_regex: "(" },
    });
    expect(wrong.json.message).toEqual({
      mirror_branch_regex: ["is not a valid regular expression"],
    });
  });

  it("are at most ten of a project, and end with their removal", async () => {
    for (let made = 0; made < 10; made += 1) await addMirror({ enabled: false });
    const answer = await call(`POST ${path()}/remote_mirrors`, {
      json: { url: "https://example.com/a.git" },
    });
    expect([answer.status, answer.json.message]).toEqual([
      400,
      { base: ["Maximum number of push mirrors (10) exceeded for this project."] },
    ]);
    const [{ id }] = (await call(`GET ${path()}/remote_mirrors`)).json;
    expect((await call(`DELETE ${path()}/remote_mirrors/${id}`)).status).toBe(204);
    expect((await call(`GET ${path()}/remote_mirrors/${id}`)).status).toBe(404);
  });

  it("are refused for this machine and its networks, unless these are allowed", async () => {
    const strict = await app.another({ webhooks: { deliver: false } });
    const json = { url: "http://127.0.0.1:8080/a.git" };
    const answer = await strict.call(`POST ${path()}/remote_mirrors`, { as: "owner", json });
    expect([answer.status, answer.json.message.url]).toEqual([
      400,
      ["is blocked: Requests to localhost are not allowed"],
    ]);
    await strict.close();
  });
});
