// What names of objects find: only what the project's references reach. The packs of its repository have more, such as all
// branches of a private fork that has a merge request.

import { deflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp, tokenOf } from "../helpers.ts";
import { entry, head, Objects, oid, pack, pushHeaders, pushOf, pushTo } from "../packs.ts";
import { routes } from "./routes.ts";

let app: TestApp;
/** The id of the public project, and of the private fork. */
let id = 0;
let forkId = 0;
let iid = 0;

/** Objects by what they are, in hex. */
const names: Record<string, string> = {};
const SECRET = "the secret of the fork";
const nobodys = "dead".repeat(10);

const hex = (name: Buffer) => name.toString("hex");
const put = async (
  project: string,
  as: Exclude<Person, "anonymous">,
  changes: Parameters<typeof pushOf>[0],
  objects?: Objects,
) => {
  const { text } = await pushTo(
    app,
    project,
    pushOf(changes, objects?.pack),
    pushHeaders(tokenOf(as)),
  );
  return text;
};

/** A commit of one file, whose blob and tree get names, too. */
function made(objects: Objects, name: string, content: string, parents: readonly string[] = []) {
  const blob = objects.add("blob", content);
  const tree = objects.add("tree", entry("100644", "a", blob));
  const commit = objects.commit(
    tree,
    parents.map((parent) => Buffer.from(parent, "hex")),
    { message: `${name}\n` },
  );
  names[`${name} blob`] = hex(blob);
  names[`${name} tree`] = hex(tree);
  names[name] = hex(commit);
  return hex(commit);
}

beforeAll(async () => {
  app = await testApp();
  const create = { name: "shown", visibility: "public", initialize_with_readme: false };
  id = (await app.call("POST /projects", { as: "owner", json: create })).json.id;
  const objects = new Objects();
  const main = made(objects, "main", "main\n");
  expect(
    await put("owner/shown", "owner", [{ name: "refs/heads/main", to: main }], objects),
  ).toContain("ok refs/heads/main");
  const fork = await app.call(`POST /projects/${id}/fork`, { as: "stranger" });
  forkId = fork.json.id;
  await app.call(`PUT /projects/${forkId}`, { as: "stranger", json: { visibility: "private" } });
  const own = new Objects();
  const offer = made(own, "offer", "offer\n", [main]);
  const base = made(own, "secret base", `${SECRET}, at first\n`, [main]);
  const secret = made(own, "secret", `${SECRET}\n`, [base]);
  const tag = own.add("tag", `object ${names["secret blob"]}\ntype blob\ntag t\n\n${SECRET}\n`);
  names["secret tag"] = hex(tag);
  const changes = [
    { name: "refs/heads/offer", to: offer },
    { name: "refs/heads/secret", to: secret },
    { name: "refs/tags/t", to: hex(tag) },
  ];
  expect((await put("stranger/shown", "stranger", changes, own)).match(/ok refs/g)).toHaveLength(3);
  const request = await app.call(`POST /projects/${forkId}/merge_requests`, {
    as: "stranger",
    json: { title: "Offer", source_branch: "offer", target_branch: "main", target_project_id: id },
  });
  expect(request.status).toBe(201);
  iid = request.json.iid;
});
afterAll(() => app.dispose());

const p = () => `/projects/${id}`;

/** Parameters that name commits, or may. */
const NAMING = [
  ...["sha", "ref", "ref_name", "refs", "from", "to", "start_sha", "start_branch", "content_ref"],
  ...["dry_run_ref", "commit_id", "commits", "position", "default_branch"],
];

/** A request for each route that has one; `$` is the name of an object. */
const requests: Record<string, object | undefined> = {
  "GET /repository/tree?ref=$": undefined,
  "GET /repository/tree?ref=$~1": undefined,
  "GET /repository/archive?sha=$": undefined,
  "GET /repository/archive.zip?sha=$": undefined,
  "GET /packages/composer/archives/x?sha=$": undefined,
  "GET /repository/contributors?ref=$": undefined,
  "GET /repository/compare?from=main&to=$": undefined,
  "GET /repository/compare?from=$&to=main": undefined,
  "GET /repository/compare?from=$&to=main&from_project_id=ID": undefined,
  "GET /repository/merge_base?refs[]=main&refs[]=$": undefined,
  "GET /repository/blobs/$": undefined,
  "GET /repository/blobs/$/raw": undefined,
  "GET /repository/files/a?ref=$": undefined,
  "GET /repository/files/a/raw?ref=$": undefined,
  "GET /repository/files/a/blame?ref=$": undefined,
  "GET /repository/commits?ref_name=$": undefined,
  "GET /repository/commits?ref_name=main..$": undefined,
  "GET /repository/commits?ref_name=$..main": undefined,
  "GET /repository/commits/$": undefined,
  "GET /repository/commits/$/diff": undefined,
  "GET /repository/commits/$/refs": undefined,
  "GET /repository/commits/$/comments": undefined,
  "POST /repository/commits/$/comments": { note: "x" },
  "GET /repository/commits/$/merge_requests": undefined,
  "GET /repository/commits/$/sequence": undefined,
  "GET /repository/commits/$/signature": undefined,
  "GET /repository/commits/$/statuses": undefined,
  "GET /repository/commits/$/discussions": undefined,
  "GET /repository/commits/$/discussions/1": undefined,
  "GET /repository/commits/$/discussions/1/notes": undefined,
  "GET /repository/commits/$/discussions/1/notes/1": undefined,
  "PUT /repository/commits/$/discussions/1/notes/1": { body: "x" },
  "DELETE /repository/commits/$/discussions/1/notes/1": undefined,
  "POST /repository/commits/$/discussions": { body: "x" },
  "POST /repository/commits/$/discussions/1/notes": { body: "x" },
  "POST /repository/commits/$/cherry_pick": { branch: "main", dry_run: true },
  "POST /repository/commits/$/revert": { branch: "main", dry_run: true },
  "POST /repository/commits": {
    branch: "x",
    start_sha: "$",
    commit_message: "x",
    actions: [{ action: "create", file_path: "b", content: "" }],
  },
  "POST /repository/branches": { branch: "x", ref: "$" },
  "POST /repository/tags": { tag_name: "x", ref: "$" },
  "POST /repository/files/b": {
    branch: "x",
    start_branch: "$",
    commit_message: "x",
    content: "x",
  },
  "PUT /repository/files/a": { branch: "x", start_branch: "$", commit_message: "x", content: "x" },
  "DELETE /repository/files/a": { branch: "x", start_branch: "$", commit_message: "x" },
  "POST /releases": { tag_name: "x", ref: "$" },
  "POST /statuses/$": { state: "success" },
  "POST /deployments": { sha: "$", ref: "main", tag: false, environment: "e", status: "running" },
  "POST /pipeline": { ref: "$" },
  "POST /pipeline_schedules": { ref: "$", description: "x", cron: "0 1 * * *" },
  "GET /ci/lint?content_ref=$": undefined,
  "GET /ci/lint?sha=$": undefined,
  "POST /ci/lint": { content: "a: {script: x}", dry_run: true, ref: "$" },
  "GET /search?scope=blobs&search=secret&ref=$": undefined,
  "GET /-/search?scope=commits&search=secret&ref=$": undefined,
  "GET /repository/changelog?version=1.0.0&from=$": undefined,
  "GET /repository/changelog?version=1.0.0&from=main&to=$": undefined,
  "POST /repository/changelog": { version: "1.0.0", from: "$", to: "main", branch: "x" },
  "GET /pipelines?sha=$": undefined,
  "GET /pipelines/latest?ref=$": undefined,
  "GET /jobs/artifacts/$/download?job=x": undefined,
  "GET /jobs/artifacts/$/raw/x?job=x": undefined,
  "POST /merge_requests/IID/discussions": { body: "x", commit_id: "$" },
  "POST /merge_requests/IID/context_commits": { commits: ["$"] },
  "DELETE /merge_requests/IID/context_commits": { commits: ["$"] },
  "POST /merge_requests/IID/draft_notes": { note: "x", commit_id: "$" },
  "POST /merge_requests": { title: "x", source_branch: "$", target_branch: "main" },
  "PUT /merge_requests/IID": { target_branch: "$" },
  "PUT ": { default_branch: "$" },
};

/** Routes with such a parameter that look up no commit by its name, or not by that of the caller's choice. */
const OTHERS = [
  // The digest of a document.
  "GET /group/:id/-/packages/composer/p/:sha",
  "POST /projects",
  "POST /projects/user/:user_id",
  "POST /groups",
  "PUT /groups/:id",
  "GET /user/activities",
  "GET /projects/:id/jobs",
  "POST /projects/:id/merge_requests/:merge_request_iid/approve",
  "POST /projects/:id/merge_requests/:merge_request_iid/status_check_responses",
  "PUT /projects/:id/merge_requests/:merge_request_iid/merge",
  "POST /projects/:id/merge_trains/merge_requests/:merge_request_iid",
  "PUT /projects/:id/merge_requests/:merge_request_iid/draft_notes/:draft_note_id",
  "PUT /projects/:id/pipeline_schedules/:pipeline_schedule_id",
  "POST /projects/:id/trigger/pipeline",
  "POST /projects/:id/ref/:ref*/trigger/pipeline",
  "GET /snippets/:snippet_id/files/:ref/:file_path/raw",
  "GET /projects/:id/snippets/:snippet_id/files/:ref/:file_path/raw",
];

const positioned = (base: string, at: string) => ({
  body: "x",
  position: {
    base_sha: base,
    start_sha: base,
    head_sha: at,
    position_type: "text",
    new_path: "a",
    old_path: "a",
    new_line: 1,
  },
});

async function answerTo(request: string, json: object | undefined, name: string) {
  const filled = (text: string) =>
    text.replaceAll("$", name).replace("IID", String(iid)).replace("ID", String(id));
  const [method, path] = filled(request).split(" ") as [string, string];
  const body = json === undefined ? {} : { json: JSON.parse(filled(JSON.stringify(json))) };
  const answer = await app.call(`${method} ${p()}${path}`, { as: "owner", ...body });
  // A schedule is made for whatever name.
  const text = answer.text.replace(/"(id|\w+_at)":("[^"]*"|\d+)/g, '"$1":0');
  return { status: answer.status, text: text.replaceAll(name, "$") };
}

describe("an object of another branch of a private fork", () => {
  it("is requested by every route that takes a name", () => {
    const patterns = Object.keys(requests).map((request) =>
      request.replace(/\?.*/, "").replaceAll(/\/(\$|IID|1|a|b|x)(?=\/|$)/g, "/:"),
    );
    const naming = routes.filter(({ input }) => NAMING.some((name) => input && name in input));
    const left = naming
      .map(({ method, path }) => `${method} ${path}`)
      .filter((route) => !OTHERS.includes(route) && !/\/(topics|boards)/.test(route))
      .filter(
        (route) =>
          !patterns.includes(
            route
              .replace("/projects/:id", "")
              .replaceAll(/:\w+\*?/g, ":")
              .replace(".:", ".zip"),
          ),
      );
    expect(left).toEqual([]);
  });

  it.each(Object.entries(requests))("is nobody's for %s", async (request, json) => {
    const expected = await answerTo(request, json, nobodys);
    const isBlob = request.includes("/blobs/");
    for (const name of isBlob
      ? ["secret blob", "secret base blob"]
      : ["secret", "secret base", "secret tag"]) {
      const { status, text } = await answerTo(request, json, names[name] as string);
      expect({ name, status, text }).toEqual({ name, ...expected });
    }
    expect(expected.text).not.toContain(SECRET);
  });

  it("has no lines to write about", async () => {
    const { secret, "secret base": base, offer, main } = names as Record<string, string>;
    for (const path of [
      `/merge_requests/${iid}/discussions`,
      `/merge_requests/${iid}/draft_notes`,
      `/repository/commits/${main}/discussions`,
    ]) {
      for (const [from, to, status] of [
        [base, secret, 400],
        [main, secret, 400],
        [secret, main, 400],
        [main, offer, 201],
      ] as const) {
        const json = { note: "x", ...positioned(from as string, to as string) };
        const answer = await app.call(`POST ${p()}${path}`, { as: "owner", json });
        expect({ path, from, to, status: answer.status }).toEqual({ path, from, to, status });
      }
    }
  });

  it("is not compared with the fork's name, and is with it by those who may read the fork", async () => {
    const path = `${p()}/repository/compare?from=${names["secret"]}&to=main&from_project_id=${forkId}`;
    expect((await app.call(`GET ${path}`, { as: "owner" })).status).toBe(400);
    expect((await app.call(`GET ${path}`, { as: "stranger" })).status).toBe(200);
  });
});

/** A request of a client to fetch. */
async function fetched(lines: readonly string[], version: 0 | 2, as: Person = "anonymous") {
  const line = (text: string) => `${(text.length + 5).toString(16).padStart(4, "0")}${text}\n`;
  const body =
    version === 2
      ? `${line("command=fetch")}0001${lines.map(line).join("")}0000`
      : `${lines.map(line).join("")}0000${line("done")}`;
  return app.call(`POST http://pm.test/owner/shown.git/git-upload-pack`, {
    headers: {
      "content-type": "application/x-git-upload-pack-request",
      ...(version === 2 && { "git-protocol": "version=2" }),
      ...(as !== "anonymous" && { authorization: pushHeaders(tokenOf(as)).authorization }),
    },
    body,
  });
}

describe("Git", () => {
  it("does not send what is not shown", async () => {
    const hidden = ["secret", "secret base", "secret tree", "secret blob", "secret tag"];
    for (const name of hidden) {
      const want = `want ${names[name]}`;
      for (const [lines, version] of [
        [[want, "done"], 2],
        [[want], 0],
      ] as const) {
        const { text } = await fetched(lines, version);
        expect({ name, text }).toMatchObject({ text: expect.stringContaining("not our ref") });
      }
    }
    for (const name of ["main", "offer", "offer tree", "offer blob", "main blob"]) {
      const { text } = await fetched([`want ${names[name]}`, "done"], 2);
      expect({ name, text }).toMatchObject({ text: expect.stringContaining("PACK") });
    }
  });

  it("does not say that it is there", async () => {
    const { text } = await fetched(
      [`want ${names["main"]}`, `have ${names["secret"]}`, `have ${names["offer"]}`],
      2,
    );
    expect(text).toContain(`ACK ${names["offer"]}`);
    expect(text).not.toContain(`ACK ${names["secret"]}`);
  });

  it("does not send what is behind it to clients that say their history ends there", async () => {
    const { text } = await fetched(
      [
        `want ${names["main"]}`,
        `shallow ${names["secret"]}`,
        "deepen 5",
        "deepen-relative",
        "done",
      ],
      2,
    );
    expect(text).not.toContain(`unshallow ${names["secret"]}`);
  });

  it("takes no push that makes it part of the project", async () => {
    const { secret, main } = names as Record<string, string>;
    const name = "refs/heads/mine";
    const missing = expect.stringMatching(/missing/);
    expect(await put("owner/shown", "owner", [{ name, to: secret as string }])).toEqual(missing);
    const tag = { name: "refs/tags/mine", to: names["secret blob"] as string };
    expect(await put("owner/shown", "owner", [tag])).toEqual(missing);

    const bytes = (what: string) => Buffer.from(names[what] as string, "hex");
    const pushed = (objects: Objects, commit: Buffer) =>
      put("owner/shown", "owner", [{ name, to: hex(commit) }], objects);
    const child = new Objects();
    expect(
      await pushed(child, child.commit(bytes("main tree"), [Buffer.from(secret as string, "hex")])),
    ).toEqual(missing);
    const sameTree = new Objects();
    expect(await pushed(sameTree, sameTree.commit(bytes("secret tree"), [bytes("main")]))).toEqual(
      missing,
    );
    const sameBlob = new Objects();
    const tree = sameBlob.add("tree", entry("100644", "b", bytes("secret blob")));
    expect(await pushed(sameBlob, sameBlob.commit(tree, [bytes("main")]))).toEqual(missing);

    // A delta that copies all of the blob.
    const content = `${SECRET}\n`;
    const delta = Buffer.from([content.length, content.length, 0x90, content.length]);
    const blob = Buffer.concat([
      head("ref", delta.length),
      bytes("secret blob"),
      deflateSync(delta),
    ]);
    const thin = pack([blob]);
    const body = pushOf(
      [{ name: "refs/tags/thin", to: hex(oid("blob", Buffer.from(content))) }],
      thin,
    );
    const { text } = await pushTo(app, "owner/shown", body, pushHeaders(tokenOf("owner")));
    expect(text).not.toContain("ok refs/tags/thin");

    const good = new Objects();
    const whole = good.add("tree", entry("100644", "b", bytes("offer blob")));
    const commit = good.commit(whole, [bytes("main")], { message: `from ${main}` });
    expect(await pushed(good, commit)).toContain("ok refs/heads/mine");
  });

  it("takes an object that the client brings itself, whatever is hidden", async () => {
    const brought = new Objects();
    const blob = brought.add("blob", `${SECRET}\n`);
    const tree = brought.add("tree", entry("100644", "c", blob));
    const commit = brought.commit(tree, [Buffer.from(names["main"] as string, "hex")]);
    const change = { name: "refs/heads/brought", to: hex(commit) };
    expect(await put("owner/shown", "owner", [change], brought)).toContain("ok refs/heads/brought");
    // Now it is the project's own; what was not brought is not.
    const status = async (name: string) =>
      (await app.call(`GET ${p()}/repository/blobs/${names[name]}`)).status;
    expect([await status("secret blob"), await status("secret base blob")]).toEqual([200, 404]);
    const removal = { name: change.name, from: change.to };
    expect(await put("owner/shown", "owner", [removal])).toContain("ok refs/heads/brought");
    expect(await status("secret blob")).toBe(404);
  });
});

describe("what is shown", () => {
  const status = async (path: string, as: Person = "anonymous") =>
    (await app.call(`GET ${p()}/repository${path}`, { as })).status;
  const all = (name: string) =>
    Promise.all([
      status(`/commits/${names[name]}`),
      status(`/tree?ref=${names[name]}`),
      status(`/files/a/raw?ref=${names[name]}`),
      status(`/blobs/${names[`${name} blob`]}/raw`),
      status(`/commits/${names[name]?.slice(0, 12)}`),
    ]);

  it("is a merge request's version, also an earlier one, and those of deleted branches", async () => {
    expect(await all("offer")).toEqual([200, 200, 200, 200, 200]);
    const objects = new Objects();
    const again = made(objects, "again", "again\n", [names["main"] as string]);
    const change = { name: "refs/heads/offer", from: names["offer"], to: again };
    expect(await put("stranger/shown", "stranger", [change], objects)).toContain(
      "ok refs/heads/offer",
    );
    expect(await all("offer")).toEqual([200, 200, 200, 200, 200]);
    expect(await all("again")).toEqual([200, 200, 200, 200, 200]);
    await put("stranger/shown", "stranger", [{ name: "refs/heads/offer", from: again }]);
    expect(await all("again")).toEqual([200, 200, 200, 200, 200]);
    expect((await fetched([`want ${names["offer"]}`, "done"], 2)).text).toContain("PACK");
    expect(await all("secret")).toEqual([404, 404, 404, 404, 404]);
    await app.call(`PUT ${p()}/merge_requests/${iid}/merge`, { as: "owner" });
    await app.call(`DELETE /projects/${forkId}`, { as: "stranger" });
    expect(await all("offer")).toEqual([200, 200, 200, 200, 200]);
  });

  it("is not what a deleted or replaced branch of its own had", async () => {
    const objects = new Objects();
    const gone = made(objects, "gone", "gone\n", [names["main"] as string]);
    const kept = made(objects, "kept", "kept\n", [names["main"] as string]);
    const changes = [
      { name: "refs/heads/gone", to: gone },
      { name: "refs/heads/kept", to: kept },
    ];
    expect(await put("owner/shown", "owner", changes, objects)).toContain("ok refs/heads/kept");
    expect(await all("gone")).toEqual([200, 200, 200, 200, 200]);
    await app.call(`DELETE ${p()}/repository/branches/gone`, { as: "owner" });
    expect(await all("gone")).toEqual([404, 404, 404, 404, 404]);
    expect(await all("kept")).toEqual([200, 200, 200, 200, 200]);
    await app.admin.maintenance.tidyRepositories();
    expect(await all("gone")).toEqual([404, 404, 404, 404, 404]);
    expect(await all("kept")).toEqual([200, 200, 200, 200, 200]);
    expect(await all("offer")).toEqual([200, 200, 200, 200, 200]);
  });

  it("is found out once for each change of references, and a newest commit at once", async () => {
    const objects = new Objects();
    const lost = made(objects, "lost", "lost\n", [names["main"] as string]);
    await put("owner/shown", "owner", [{ name: "refs/heads/lost", to: lost }], objects);
    await put("owner/shown", "owner", [{ name: "refs/heads/lost", from: lost }]);
    const listed = async (name: string) => {
      const before = app.statements.length;
      await status(`/commits/${names[name]}`);
      return app.statements
        .slice(before)
        .filter((sql) =>
          /select name, oid, peeled from git_refs where repository_id = \? order/.test(sql),
        ).length;
    };
    expect(await listed("kept")).toBe(0);
    expect(await listed("lost")).toBe(1);
    expect([await listed("lost"), await listed("main"), await listed("kept")]).toEqual([0, 0, 0]);
  });
});
