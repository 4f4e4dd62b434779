import { randomBytes } from "node:crypto";
import { cp, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createSecrets } from "../../src/core/secrets.ts";
import { Leases } from "../../src/jobs/leases.ts";
import { updateFromMirrors } from "../../src/resources/pull-mirrors/worker.ts";
import { SECRET_KEY, type TestApp, testApp, tokenOf, waitFor } from "../helpers.ts";
import { randomHistory, shareWorkshop, type Workshop } from "./_git.ts";
import { type Backend, PRIVATE_CHAINS, redirectInChain, startBackend } from "./_http-backend.ts";
import { oidOf, pointerTo, put as upload } from "./_lfs.ts";

const MINUTE = 60_000;
let app: TestApp;
let workshop: Workshop;
let backend: Backend;
/** How far the clock of the application is ahead, in milliseconds. */
let ahead = 0;

shareWorkshop(
  async (opened) => {
    ({ app, workshop } = opened);
    await workshop.importInto("origin", randomHistory(1, 30));
    backend = await startBackend(workshop.folder, "mirror:s3cr%t");
  },
  {
    now: () => Date.now() + ahead,
    webhooks: { deliver: false, allowLocalRequests: true },
  },
);

afterAll(() => backend.close());

const call: TestApp["call"] = (request, options) => app.call(request, { as: "owner", ...options });

let name = "";
let count = 0;
const path = () => `/projects/owner%2F${name}`;
const mirrorPath = () => `${path()}/mirror/pull`;
const get = async () => (await call(`GET ${mirrorPath()}`)).json;
const put = (json: object, as: "owner" | "maintainer" = "owner") =>
  call(`PUT ${mirrorPath()}`, { as, json });
const update = () => app.admin.maintenance.updateMirrors();

/** The branches and tags of a repository below, with what they are for. */
const listed = (where: string) =>
  workshop.git(
    where,
    "for-each-ref",
    "--format=%(refname) %(objectname)",
    "refs/heads",
    "refs/tags",
  );
const there = () => listed(`${name}-there`);
/** Those of the project. */
async function here(): Promise<string> {
  const text = await workshop.git("", "ls-remote", workshop.url(`owner/${name}`, "owner"));
  return text
    .split("\n")
    .map((line) => line.split("\t").reverse().join(" "))
    .filter((line) => /^refs\/(heads|tags)\//.test(line) && !line.includes("^{}"))
    .sort()
    .join("\n");
}
const urlOf = (where: string) => `${backend.url.replace("//", "//mirror:s3cr%25t@")}/${where}`;

/** Commits to a branch of the repository there. */
async function commitThere(branch: string, message: string, from = branch) {
  const tree = await workshop.git(`${name}-there`, "rev-parse", `${from}^{tree}`);
  const made = ["commit-tree", tree, "-p", from, "-m", message];
  const commit = await workshop.git(`${name}-there`, ...made);
  await workshop.git(`${name}-there`, "update-ref", `refs/heads/${branch}`, commit);
  return commit;
}

/** Commits to a branch of the project. */
const commitHere = (branch: string, file = "here.txt") =>
  call(`POST ${path()}/repository/files/${file}`, {
    json: { branch, commit_message: "Here", content: "x" },
  });

/** Has the project updated from the repository there, which is done. */
async function mirrored(more: object = {}) {
  const answer = await put({ url: urlOf(`${name}-there`), enabled: true, ...more });
  expect([answer.status, answer.text]).toEqual([200, answer.text]);
  expect(answer.json.update_status).toBe("scheduled");
  await update();
  return get();
}

/** Updates again, as half an hour later. */
async function later() {
  ahead += 31 * MINUTE;
  expect(await update()).toEqual({ updates: 1 });
  return get();
}

beforeEach(async () => {
  count += 1;
  name = `p${count}`;
  backend.instead = () => undefined;
  // Mirrors of earlier tests have no part in later ones.
  await app.store.transaction((db) => db.run("update pull_mirrors set enabled = 0"));
  const folder = (where: string) => join(workshop.folder, where);
  await cp(folder("origin"), folder(`${name}-there`), { recursive: true });
  await call("POST /projects", { json: { name } });
});

describe("updates", () => {
  it("bring all branches and tags, and later what is new", async () => {
    const first = await mirrored();
    expect(await here()).toBe(await there());
    expect(first).toMatchObject({ update_status: "finished", last_error: null, enabled: true });
    expect(first.last_successful_update_at).toBe(first.last_update_at);
    const commit = await commitThere("main", "Newer");
    await workshop.git(`${name}-there`, "branch", "new", "main~2");
    await workshop.git(`${name}-there`, "tag", "-a", "-m", "A tag", "v1", "main");
    expect(await update()).toEqual({ updates: 0 });
    const second = await later();
    expect(second).toMatchObject({ update_status: "finished", last_error: null });
    expect(await here()).toBe(await there());
    const branch = await call(`GET ${path()}/repository/branches/main`);
    expect(branch.json.commit.id).toBe(commit);
    const events = await call(`GET ${path()}/events?action=pushed`);
    expect(events.json.map(shownOf)).toEqual(
      expect.arrayContaining(["branch main", "branch new", "tag v1"]),
    );
    expect(events.json[0].author_username).toBe("owner");
    await workshop.git("", "clone", "--quiet", workshop.url(`owner/${name}`, "owner"), `${name}-c`);
    await workshop.git(`${name}-c`, "fsck", "--strict");
  });

  it("bring the objects of Git LFS that pointers name, as imports by URL do", async () => {
    const source = `owner/${name}`;
    const contents = ["large", "larger", "largest"].map((text) => `${name} ${text}`);
    const [first, second, third] = contents as [string, string, string];
    const commit = (file: string, content: string) =>
      call(`POST /projects/owner%2F${name}/repository/files/${file}`, {
        json: { branch: "main", commit_message: file, content: pointerTo(content) },
      });
    for (const content of [first, third]) await upload(app, "owner", content, undefined, source);
    await commit("first", first);
    await commit("second", second);
    const imported = `${name}-imported`;
    const import_url = workshop.url(source, "owner");
    await call("POST /projects", { json: { name: imported, import_url } });
    const mirror = `/projects/owner%2F${name}-mirror`;
    await call("POST /projects", { json: { name: `${name}-mirror` } });
    await call(`PUT ${mirror}/mirror/pull`, { json: { url: import_url, enabled: true } });
    await update();
    const left = `Some objects of Git LFS could not be fetched:\n\n${oidOf(second)} (Object does not exist on the server or you don't have permissions to access it)`;
    const oids = async (of: string) => {
      const found = await app.store.rows(
        `select o.oid from lfs_objects o join lfs_object_projects l on l.object_id = o.id
         join projects p on p.id = l.project_id where p.full_path = ?`,
        [`owner/${of}`],
      );
      return found.flat().sort();
    };
    const shown = await call(`GET /projects/owner%2F${imported}`);
    expect(shown.json).toMatchObject({ import_status: "finished", import_error: left });
    expect(await oids(imported)).toEqual([oidOf(first)]);
    const state = async () => (await call(`GET ${mirror}/mirror/pull`)).json;
    expect(await state()).toMatchObject({ update_status: "failed", last_error: left });
    await upload(app, "owner", second, undefined, source);
    await commit("third", third);
    ahead += 31 * MINUTE;
    await update();
    expect(await state()).toMatchObject({ update_status: "finished", last_error: null });
    expect(await oids(`${name}-mirror`)).toEqual(contents.map(oidOf).sort());
    const raw = await call(`GET ${mirror}/repository/files/second/raw?ref=main&lfs=true`);
    expect(raw.text).toBe(second);
  });

  it("take the default branch from there if the project has none", async () => {
    await workshop.git(`${name}-there`, "branch", "trunk", "main");
    await workshop.git(`${name}-there`, "symbolic-ref", "HEAD", "refs/heads/trunk");
    await mirrored();
    expect((await call(`GET ${path()}`)).json.default_branch).toBe("trunk");
  });

  it("remove nothing, and bring back what was removed here", async () => {
    await mirrored();
    await workshop.git(`${name}-there`, "branch", "-D", "b1");
    await call(`DELETE ${path()}/repository/branches/b2`);
    await later();
    expect(await here()).toContain("refs/heads/b1 ");
    expect(await here()).toContain("refs/heads/b2 ");
  });

  it("leave diverged branches, and say so, unless they are to be overwritten", async () => {
    await mirrored();
    expect((await commitHere("main")).status).toBe(201);
    const kept = await here();
    await commitThere("main", "There");
    const moved = await commitThere("b1", "There, too");
    const left = await later();
    expect(left).toMatchObject({
      update_status: "failed",
      last_error:
        "Some refs have diverged from the mirrored repository and have not been updated:\n\nrefs/heads/main",
    });
    expect(await here()).toBe(kept.replace(/(refs\/heads\/b1) \w+/, `$1 ${moved}`));
    await put({ mirror_overwrites_diverged_branches: true });
    expect(await later()).toMatchObject({ update_status: "finished", last_error: null });
    expect(await here()).toBe(await there());
  });

  it("move tags that were moved there, protected ones as well", async () => {
    await workshop.git(`${name}-there`, "tag", "v1", "main~1");
    await mirrored();
    await call(`POST ${path()}/protected_tags`, { json: { name: "v*", create_access_level: 0 } });
    await workshop.git(`${name}-there`, "tag", "-f", "v1", "main");
    expect((await later()).last_error).toBeNull();
    expect(await here()).toBe(await there());
  });

  it("are refused by no protection and no push rule", async () => {
    await mirrored();
    const rule = { commit_message_regex: "^JIRA-", branch_name_regex: "^never" };
    expect((await call(`POST ${path()}/push_rule`, { json: rule })).status).toBe(201);
    await call(`DELETE ${path()}/protected_branches/main`);
    const json = { name: "main", push_access_level: 0, merge_access_level: 0 };
    expect((await call(`POST ${path()}/protected_branches`, { json })).status).toBe(201);
    await commitThere("main", "Whatever");
    await commitThere("other", "Whatever", "main");
    expect((await later()).last_error).toBeNull();
    expect(await here()).toBe(await there());
  });

  it("of protected branches, or those with some names, and of all tags", async () => {
    await mirrored({ mirror_branch_regex: "^(main|b[12])$" });
    const heads = async () => (await here()).match(/refs\/heads\/\S+/g);
    expect(await heads()).toEqual(["refs/heads/b1", "refs/heads/b2", "refs/heads/main"]);
    const tags = (text: string) => text.match(/refs\/tags\/\S+/g);
    expect(tags(await here())).toEqual(tags(await there()));
    const changed = await put({ only_mirror_protected_branches: true });
    expect(changed.json).toMatchObject({
      only_mirror_protected_branches: true,
      mirror_branch_regex: null,
    });
    const commit = await commitThere("main", "Protected");
    await commitThere("b1", "Not protected");
    await later();
    expect(await here()).toContain(`refs/heads/main ${commit}`);
    expect(await here()).not.toContain((await there()).match(/refs\/heads\/b1 \w+/)?.[0]);
  });

  it("start pipelines only if they are to", async () => {
    const where = `${name}-work`;
    await workshop.git("", "clone", "--quiet", `${name}-there`, where);
    const push = async (script: string) => {
      await writeFile(`${workshop.folder}/${where}/.gitlab-ci.yml`, `job: { script: ${script} }\n`);
      await workshop.git(where, "add", ".");
      await workshop.git(where, "commit", "--quiet", "-m", script);
      await workshop.git(where, "push", "--quiet", "origin", "HEAD:main");
    };
    const pipelines = async () => {
      await app.admin.maintenance.runPipelines();
      return (await call(`GET ${path()}/pipelines`)).json;
    };
    await push("one");
    await mirrored();
    expect(await pipelines()).toEqual([]);
    await put({ mirror_trigger_builds: true });
    await push("two");
    await later();
    expect(await pipelines()).toMatchObject([{ source: "push", ref: "main" }]);
  });

  it("refresh merge requests", async () => {
    await mirrored();
    await workshop.git(`${name}-there`, "branch", "feature", "main");
    await commitThere("feature", "One");
    await later();
    const json = { source_branch: "feature", target_branch: "main", title: "Feature" };
    const { iid, sha } = (await call(`POST ${path()}/merge_requests`, { json })).json;
    const commit = await commitThere("feature", "Two");
    await later();
    const request = (await call(`GET ${path()}/merge_requests/${iid}`)).json;
    expect([sha === commit, request.sha]).toEqual([false, commit]);
  });

  it("fetch only what is not here, also of branches with commits of their own", async () => {
    await mirrored();
    const newest = async () =>
      (await app.store.rows("select objects from git_packs order by id desc limit 1"))[0];
    await commitThere("main", "One");
    await later();
    expect(await newest()).toEqual([1]);
    await commitHere("main");
    // Nothing there is for a commit that is here as well.
    for (const line of (await there()).split("\n")) {
      const [ref = ""] = line.split(" ");
      if (ref !== "refs/heads/main") await workshop.git(`${name}-there`, "update-ref", "-d", ref);
    }
    await put({ mirror_overwrites_diverged_branches: true });
    await commitThere("main", "Two");
    await later();
    expect(await newest()).toEqual([1]);
    expect(await here()).toContain(await there());
  });

  it("look again at what others push meanwhile", async () => {
    await mirrored();
    const commit = await commitThere("main", "There");
    await commitThere("b1", "There, too");
    backend.before = ({ method }) => {
      if (method !== "POST") return undefined;
      backend.before = () => undefined;
      return commitHere("b1");
    };
    expect((await later()).last_error).toMatch(/^Some refs have diverged .*\n\nrefs\/heads\/b1$/);
    expect(await here()).toContain(`refs/heads/main ${commit}`);
  });

  it("come from another application of this kind", async () => {
    await workshop.pushedFrom(`${name}-there`, `${name}-source`);
    await mirrored({ url: workshop.url(`owner/${name}-source`, "owner") });
    expect(await here()).toBe(await there());
    const json = { branch: "main", commit_message: "More", content: "x" };
    await call(`POST /projects/owner%2F${name}-source/repository/files/more`, { json });
    await later();
    const branch = await call(`GET /projects/owner%2F${name}-source/repository/branches/main`);
    expect(await here()).toContain(`refs/heads/main ${branch.json.commit.id}`);
  });

  it("of an empty repository change nothing", async () => {
    await workshop.git("", "init", "--quiet", "--bare", `${name}-empty`);
    const after = await mirrored({ url: urlOf(`${name}-empty`) });
    expect(after).toMatchObject({ update_status: "finished", last_error: null });
    expect(await here()).toBe("");
  });

  it("are made in the background", async () => {
    const webhooks = { deliver: true, allowLocalRequests: true, interval: 10 };
    const other = await app.another({ webhooks });
    await put({ url: urlOf(`${name}-there`), enabled: true });
    await waitFor(async () => (await get()).update_status === "finished");
    expect(await here()).toBe(await there());
    await other.close();
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
      [302, { location: "http://other.test/x/info/refs?service=git-upload-pack" }],
    ],
  ] as const)("by %s are shown, and tried again", async (_, error, answer) => {
    backend.instead = () => answer as never;
    const failed = await mirrored();
    expect(failed).toMatchObject({
      update_status: "failed",
      last_error: typeof error === "string" ? error : expect.stringMatching(error),
      last_successful_update_at: null,
    });
    expect(JSON.stringify(failed)).not.toContain("s3cr");
    backend.instead = () => undefined;
    ahead += MINUTE;
    expect(await update()).toEqual({ updates: 1 });
    expect((await get()).last_error).toBeNull();
    expect(await here()).toBe(await there());
  });

  it("by a chain of redirects to a private address come before any request to it", async () => {
    await mirrored();
    for (const [to, hops, problem] of PRIVATE_CHAINS) {
      const asked = redirectInChain(backend, to, hops);
      const { last_error } = await later();
      expect([to, last_error, asked()]).toEqual([to, problem, hops + 1]);
      backend.instead = () => undefined;
      ahead += 40 * MINUTE;
      await update();
    }
    expect(await here()).toBe(await there());
  });

  it("are tried again after a minute, two, half an hour, an hour and so on, up to a day", async () => {
    backend.instead = () => [502, {}];
    await mirrored();
    for (const minutes of [1, 2, 30, 60, 120, 240, 480, 960, 1440, 1440]) {
      ahead += (minutes - 0.5) * MINUTE;
      expect([minutes, await update()]).toEqual([minutes, { updates: 0 }]);
      ahead += 0.6 * MINUTE;
      expect([minutes, await update()]).toEqual([minutes, { updates: 1 }]);
    }
    // Whoever asks for it begins anew.
    expect((await call(`POST ${mirrorPath()}`)).status).toBe(200);
    await update();
    ahead += 1.1 * MINUTE;
    expect(await update()).toEqual({ updates: 1 });
  });

  it("follow if the user may no longer push to all branches", async () => {
    await call(`POST ${path()}/members`, {
      json: { user_id: await idOf("maintainer"), access_level: 40 },
    });
    expect((await put({ url: urlOf(`${name}-there`), enabled: true }, "maintainer")).status).toBe(
      200,
    );
    await call(`PUT ${path()}/members/${await idOf("maintainer")}`, { json: { access_level: 30 } });
    await update();
    expect(await get()).toMatchObject({
      update_status: "failed",
      last_error: "The mirror user is not allowed to push code to all branches on this project.",
    });
    expect(await here()).toBe("");
    // Whoever sets it up next is the user of the changes.
    await mirrored();
    expect(await here()).toBe(await there());
  });

  it("follow from what is no pack, and store nothing", async () => {
    const refs = `0000000000000000000000000000000000000001 refs/heads/main\0side-band-64k`;
    const lines = (...texts: string[]) =>
      texts.map((text) => (text.length + 4).toString(16).padStart(4, "0") + text).join("");
    const list = `${lines("# service=git-upload-pack\n")}0000${lines(refs)}0000`;
    const answers: [string, string | RegExp][] = [
      [lines("NAK\n", "\x01nonsense, and more of it"), "the pack's format is unknown"],
      [lines("NAK\n", "\x03no disk\n"), "the server can't send the objects: no disk"],
      [lines("ERR upload-pack: not our ref"), /^the server can't send the objects: upload-pack/],
      [lines("NAK\n", "\x01PACK\0\0\0\x02\0\0\0\0"), /./],
      ["zzzz", "the answer is none of a Git repository"],
    ];
    const packs = () => app.store.rows("select count(*) from git_packs");
    const before = await packs();
    for (const [text, error] of answers) {
      const server = await serving((url) =>
        url.includes("info/refs")
          ? ["application/x-git-upload-pack-advertisement", list]
          : ["application/x-git-upload-pack-result", text],
      );
      const failed = await mirrored({ url: `${server.url}/x.git` });
      const expected = typeof error === "string" ? error : expect.stringMatching(error);
      expect([text, failed.last_error]).toEqual([text, expected]);
      await server.close();
    }
    expect(await packs()).toEqual(before);
  });

  it("end answers that are too long", async () => {
    const settings = { receive_max_input_size: 1 };
    const admin = { as: "admin" as const };
    await call("PUT /application/settings", { ...admin, json: settings });
    const blob = randomBytes(2_000_000).toString("hex");
    const history =
      "commit refs/heads/large\ncommitter A <a@example.com> 1600000000 +0000\ndata 1\nx\n" +
      `M 100644 inline a\ndata ${blob.length}\n${blob}\n`;
    await workshop.importInto(`${name}-large`, history);
    const failed = await mirrored({ url: urlOf(`${name}-large`) });
    expect(failed.last_error).toBe("the answer is too long");
    await call("PUT /application/settings", { ...admin, json: { receive_max_input_size: 0 } });
    ahead += MINUTE;
    await update();
    expect((await get()).last_error).toBeNull();
  });

  it("end what hangs", async () => {
    const hanging = createServer(() => undefined);
    await new Promise<void>((resolve) => hanging.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}/a.git`;
    await put({ url, enabled: true });
    const { store } = app;
    const now = () => Date.now() + ahead;
    const leases = new Leases({ store, now, onError: () => undefined, every: 2 ** 30 });
    const secrets = createSecrets({ secretKey: SECRET_KEY }, ":memory:", false);
    const outgoing = { allowLocal: true };
    const working = { store, now, leases, onError: () => undefined, secrets, outgoing };
    expect(await updateFromMirrors({ ...working, url: undefined, limit: 50 })).toBe(1);
    expect((await get()).last_error).toBe("the update took longer than ten minutes");
    await leases.close();
    hanging.closeAllConnections();
    hanging.close();
  });
});

describe("requests to update now", () => {
  const ask = (json?: object, as: "owner" | "developer" = "owner") =>
    call(`POST ${mirrorPath()}`, { as, ...(json && { json }) });

  it("wait until five minutes after the last update", async () => {
    await mirrored();
    const asked = await ask();
    expect([asked.status, asked.text]).toEqual([200, ""]);
    expect(await update()).toEqual({ updates: 0 });
    ahead += 5.1 * MINUTE;
    expect(await update()).toEqual({ updates: 1 });
    ahead += 5.1 * MINUTE;
    await ask();
    await ask();
    expect(await update()).toEqual({ updates: 1 });
  });

  it("may be webhooks of GitHub, with the token in their address", async () => {
    await mirrored();
    await commitThere("main", "Pushed to GitHub");
    ahead += 6 * MINUTE;
    const repository = { id: 1, name: "x", full_name: "acme/x", private: false };
    const payload = { ref: "refs/heads/main", before: "0", after: "1", repository, commits: [] };
    const answer = await app.call(`POST ${mirrorPath()}?private_token=${tokenOf("owner")}`, {
      as: "anonymous",
      json: payload,
      headers: { "x-github-event": "push" },
    });
    expect([answer.status, answer.text]).toEqual([200, ""]);
    await update();
    expect(await here()).toBe(await there());
  });

  it("are heard after a mirror was not enabled for a time", async () => {
    await put({ url: urlOf(`${name}-there`), enabled: true });
    await put({ enabled: false });
    await update();
    expect(await here()).toBe("");
    expect((await put({ enabled: true })).json.update_status).toBe("scheduled");
    await update();
    expect(await here()).toBe(await there());
  });

  it("are refused without a mirror that is enabled", async () => {
    const refused = { message: "The project is not mirrored" };
    const without = await ask();
    expect([without.status, without.json]).toEqual([400, refused]);
    expect((await call(`GET ${mirrorPath()}`)).json).toEqual(refused);
    await mirrored();
    expect((await put({ enabled: false })).json.enabled).toBe(false);
    const disabled = await ask();
    expect([disabled.status, disabled.json]).toEqual([400, refused]);
    ahead += 31 * MINUTE;
    expect(await update()).toEqual({ updates: 0 });
  });
});

describe("settings", () => {
  it("show no credentials, and store them encrypted", async () => {
    const answer = await put({ url: urlOf(`${name}-there`) });
    const shown = `${backend.url.replace("//", "//*****:*****@")}/${name}-there`;
    expect([answer.status, answer.json]).toEqual([
      200,
      {
        id: answer.json.id,
        enabled: false,
        url: shown,
        update_status: "none",
        last_error: null,
        last_update_at: null,
        last_update_started_at: null,
        last_successful_update_at: null,
        mirror_trigger_builds: false,
        only_mirror_protected_branches: false,
        mirror_overwrites_diverged_branches: false,
        mirror_branch_regex: null,
      },
    ]);
    expect(await get()).toEqual(answer.json);
    const rows = await app.store.rows("select * from pull_mirrors");
    expect(JSON.stringify(rows)).not.toContain("s3cr");
  });

  it("take the user and the password apart from the address, which others are not for", async () => {
    const url = `${backend.url}/${name}-there`;
    const auth = { auth_user: "mirror", auth_password: "s3cr%t" };
    expect((await mirrored({ url, ...auth })).last_error).toBeNull();
    expect(await here()).toBe(await there());
    const moved = await put({ url });
    expect(moved.json.url).toBe(url);
    await update();
    expect((await get()).last_error).toBe("the credentials are refused");
    await put({ auth_user: "mirror", auth_password: "s3cr%t" });
    await update();
    expect(await get()).toMatchObject({
      last_error: null,
      url: url.replace("//", "//*****:*****@"),
    });
    expect((await put({ auth_password: "" })).json.url).toBe(url.replace("//", "//*****@"));
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
    const answer = await put({ url, enabled: true });
    expect([answer.status, answer.json]).toEqual([400, { message: { url: [problem] } }]);
    expect((await call(`GET ${mirrorPath()}`)).status).toBe(400);
  });

  it("need an address, and refuse what excludes each other and what is no expression", async () => {
    const refusals: [object, object][] = [
      [{ enabled: true }, { message: { url: ["can't be blank"] } }],
      [{ auth_user: "a" }, { message: { url: ["can't be blank"] } }],
      [
        { only_mirror_protected_branches: true, mirror_branch_regex: "a" },
        { error: "mirror_branch_regex, only_mirror_protected_branches are mutually exclusive" },
      ],
      [
        { mirror_branch_regex: "(" },
        { message: { mirror_branch_regex: ["is not a valid regular expression"] } },
      ],
    ];
    for (const [json, body] of refusals) {
      const answer = await put(json);
      expect([json, answer.status, answer.json]).toEqual([json, 400, body]);
    }
  });

  it("are refused for this machine and its networks, unless these are allowed", async () => {
    const strict = await app.another({ webhooks: { deliver: false } });
    const json = { url: "http://127.0.0.1:8080/a.git", enabled: true };
    const answer = await strict.call(`PUT ${mirrorPath()}`, { as: "owner", json });
    expect([answer.status, answer.json.message.url]).toEqual([
      400,
      ["is blocked: Requests to localhost are not allowed"],
    ]);
    await put(json);
    await strict.admin.maintenance.updateMirrors();
    expect((await get()).last_error).toBe("Requests to localhost are not allowed");
    await strict.close();
  });

  it("are part of seeds", async () => {
    const url = "https://mirror:s3cr@git.example.com/a.git";
    const project = { namespace: "ada", path: "p", pull_mirror: { url, user: "ada" } };
    const users = [{ username: "ada", tokens: [{ token: "ada-token" }] }];
    const seeded = await testApp({ seed: { users, projects: [project] } });
    const { json } = await seeded.call("GET /projects/ada%2Fp/mirror/pull", {
      headers: { "private-token": "ada-token" },
    });
    expect(json).toMatchObject({ enabled: true, url: "https://*****:*****@git.example.com/a.git" });
    await seeded.dispose();
  });

  it("are attributes of projects, too", async () => {
    const set = (json: object) => call(`PUT ${path()}`, { json });
    const none = {
      mirror: false,
      mirror_trigger_builds: false,
      only_mirror_protected_branches: false,
      mirror_overwrites_diverged_branches: false,
    };
    expect((await set(none)).json).toMatchObject(none);
    expect((await call(`GET ${mirrorPath()}`)).status).toBe(400);
    for (const json of [{ mirror: true }, { mirror_trigger_builds: true }]) {
      const refused = await set(json);
      expect([refused.status, refused.json]).toEqual([
        400,
        { message: { import_url: ["can't be blank"] } },
      ]);
    }
    const wrong = await set({ import_url: "ssh://git@example.com/a.git" });
    expect(wrong.json.message).toEqual({
      import_url: ["is blocked: Only allowed schemes are http, https"],
    });
    const all = { mirror: true, mirror_trigger_builds: true, mirror_branch_regex: "^main$" };
    const answer = await set({ ...all, import_url: urlOf(`${name}-there`) });
    expect(answer.json).toMatchObject({ ...none, mirror: true, mirror_trigger_builds: true });
    expect((await get()).mirror_branch_regex).toBe("^main$");
    await update();
    expect((await here()).match(/refs\/heads\/\S+/g)).toEqual(["refs/heads/main"]);
    const others = {
      only_mirror_protected_branches: true,
      mirror_overwrites_diverged_branches: true,
    };
    expect((await set(others)).json).toMatchObject({ ...others, mirror: true });
    expect(await get()).toMatchObject({ ...others, mirror_branch_regex: null });
    expect((await set({ mirror: false })).json).toMatchObject({ ...others, mirror: false });
    expect((await get()).enabled).toBe(false);
    const sent = { ...all, name: `${name}-new`, import_url: urlOf(`${name}-there`) };
    const created = await call("POST /projects", { json: sent });
    expect([created.status, created.json.mirror]).toEqual([201, true]);
    await update();
    const branches = await call(`GET /projects/${created.json.id}/repository/branches`);
    expect(branches.json).toMatchObject([{ name: "main" }]);
    const unset = await call("POST /projects", { json: { name: `${name}-none`, mirror: true } });
    expect([unset.status, unset.json]).toEqual([
      400,
      { message: { import_url: ["can't be blank"] } },
    ]);
    const free = await app.another({ tier: "free" });
    const refused = await free.call(`PUT ${path()}`, { as: "owner", json: { mirror: true } });
    expect(refused.status).toBe(403);
    await free.close();
  });

  it("are for maintainers, and for the tier premium", async () => {
    const refused = await app.call(`GET ${mirrorPath()}`, { as: "developer" });
    expect(refused.status).toBe(404);
    await call(`POST ${path()}/members`, {
      json: { user_id: await idOf("developer"), access_level: 30 },
    });
    expect((await app.call(`GET ${mirrorPath()}`, { as: "developer" })).status).toBe(403);
    const free = await app.another({ tier: "free" });
    expect((await free.call(`GET ${mirrorPath()}`, { as: "owner" })).status).toBe(403);
    await free.close();
  });
});

/** What an event of a push says that it was of. */
const shownOf = ({ push_data: data }: { push_data: { ref: string; ref_type: string } }) =>
  `${data.ref_type} ${data.ref}`;

const idOf = async (username: string) =>
  (await call(`GET /users?username=${username}`)).json[0].id as number;

/** A server that answers with a type and a text, by the request's address. */
async function serving(answer: (url: string) => [type: string, text: string]) {
  const server = createServer(({ url = "" }, response) => {
    const [type, text] = answer(url);
    response.writeHead(200, { "content-type": type }).end(Buffer.from(text, "latin1"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
