// Pushes to paths without a project, what clients are told after a push, and how many pushes are received at once.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp, tokenOf } from "../helpers.ts";
import { MULTIPLEXED, newCommit, pushHeaders, pushOf, pushTo } from "../packs.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

type Caller = Exclude<Person, "anonymous">;
const as = (person: Caller) => pushHeaders(tokenOf(person));
const push = (project: string, person: Caller, branch = "main") => {
  const { oid, pack } = newCommit(`${project} ${branch}`);
  const body = pushOf([{ name: `refs/heads/${branch}`, to: oid }], pack, MULTIPLEXED);
  return pushTo(app, project, body, as(person));
};
const ask = async (project: string, person: Caller, service = "git-receive-pack") => {
  const { status, text } = await app.call(
    `GET http://pm.test/${project}.git/info/refs?service=${service}`,
    { headers: as(person) },
  );
  return { status, text: text.trim() };
};
const get = (project: string, person: Caller = "owner") =>
  app.call(`GET /projects/${encodeURIComponent(project)}`, { as: person });
const NOT_FOUND =
  "The project you were looking for could not be found or you don't have permission to view it.";

describe("a project that was renamed", () => {
  const rename = (project: string, path: string) =>
    app.call(`PUT /projects/${encodeURIComponent(project)}`, { as: "owner", json: { path } });

  it("is found at its former path by Git, and a push says where it is", async () => {
    expect((await push("owner/first", "owner")).text).toContain("ok refs/heads/main");
    expect((await rename("owner/first", "second")).status).toBe(200);
    expect((await ask("owner/first", "owner", "git-upload-pack")).status).toBe(200);
    expect((await ask("owner/first.wiki", "owner", "git-upload-pack")).status).toBe(200);
    const { text } = await push("Owner/First", "owner", "other");
    expect(text).toContain("Project 'Owner/First' was moved to 'owner/second'.");
    expect(text).toContain("  git remote set-url origin http://pm.test/owner/second.git");
    expect(text).toContain("ok refs/heads/other");
    expect((await push("owner/second", "owner", "third")).text).not.toContain("was moved");
    expect((await get("owner/first")).status).toBe(301);
  });

  it("is as hidden there as it is", async () => {
    expect((await ask("owner/first", "stranger", "git-upload-pack")).text).toBe(NOT_FOUND);
    const { status } = await app.call(
      "GET http://pm.test/owner/first.git/info/refs?service=git-upload-pack",
    );
    expect(status).toBe(401);
  });

  it("leaves its former path to others", async () => {
    const json = { name: "Another", path: "first" };
    expect((await app.call("POST /projects", { as: "owner", json })).status).toBe(201);
    const { text } = await push("owner/first", "owner");
    expect(text).toContain("ok refs/heads/main");
    expect(text).not.toContain("was moved");
    expect((await app.call("DELETE /projects/owner%2Ffirst", { as: "owner" })).status).toBe(202);
    expect((await ask("owner/first", "owner", "git-upload-pack")).status).toBe(200);
  });

  it("is found when its group was renamed, until another group has the path", async () => {
    const group = async (path: string) =>
      (await app.call("POST /groups", { as: "owner", json: { name: path, path } })).json.id;
    const id = await group("old-group");
    expect((await push("old-group/code", "owner")).text).toContain("ok refs/heads/main");
    const json = { path: "new-group" };
    expect((await app.call(`PUT /groups/${id}`, { as: "owner", json })).status).toBe(200);
    const { text } = await push("old-group/code", "owner", "more");
    expect(text).toContain("Project 'old-group/code' was moved to 'new-group/code'.");
    await group("old-group");
    expect((await ask("old-group/code", "owner", "git-upload-pack")).text).toBe(NOT_FOUND);
    expect((await ask("new-group/code", "owner", "git-upload-pack")).status).toBe(200);
  });
});

describe("a push to a path without a project", () => {
  it("creates a private one, in a transaction of its own, and says so", async () => {
    expect((await ask("acme/pushed", "maintainer")).status).toBe(200);
    expect((await get("acme/pushed")).status).toBe(404);
    const { status, text } = await push("acme/pushed", "maintainer", "trunk");
    expect(status).toBe(200);
    expect(text).toContain("The private project acme/pushed was successfully created.");
    expect(text).toContain("  git remote add origin http://pm.test/acme/pushed.git");
    expect(text).toContain("ok refs/heads/trunk");
    const { json } = await get("acme/pushed");
    expect(json).toMatchObject({
      name: "pushed",
      visibility: "private",
      default_branch: "trunk",
      path_with_namespace: "acme/pushed",
    });
    const events = await app.call(`GET /projects/${json.id}/events`, { as: "owner" });
    expect(events.json.map((one: Record<string, string>) => one["action_name"]).sort()).toEqual([
      "created",
      "pushed new",
    ]);
    const again = await push("acme/pushed", "maintainer", "other");
    expect(again.text).toContain("ok refs/heads/other");
    expect(again.text).not.toContain("created");
  });

  it("does so in the pusher's own namespace and below groups", async () => {
    expect((await push("guest/mine", "guest")).text).toContain("ok refs/heads/main");
    expect((await push("acme/team/fresh", "owner")).text).toContain("ok refs/heads/main");
    const write = await app.admin.tokens.create({
      user: "guest",
      name: "w",
      scopes: ["write_repository"],
    });
    const { oid, pack } = newCommit("w");
    const body = pushOf([{ name: "refs/heads/main", to: oid }], pack);
    const made = await pushTo(app, "guest/w", body, pushHeaders(write.token));
    expect(made.text).toContain("ok refs/heads/main");
  });

  it.each([
    ["acme/none", "developer"],
    ["acme/none", "stranger"],
    ["owner/none", "maintainer"],
    ["secret/none", "stranger"],
    ["nothing/none", "admin"],
    ["none", "admin"],
  ] as const)("is 404 for %s by a %s", async (path, person) => {
    expect(await ask(path, person)).toEqual({ status: 404, text: NOT_FOUND });
    expect((await push(path, person)).status).toBe(404);
    expect((await get(path, "admin")).status).toBe(404);
  });

  it("creates none at the address of a wiki", async () => {
    const text = "The wiki you were looking for could not be found.";
    expect(await ask("acme/none.wiki", "owner")).toEqual({ status: 404, text });
    expect((await push("acme/none.wiki", "owner")).status).toBe(404);
    expect((await push("acme/site.wiki", "owner")).status).toBe(200);
    for (const path of ["acme/none.wiki", "acme/none", "acme/site.wiki"]) {
      expect((await get(path, "admin")).status).toBe(404);
    }
  });

  it("needs a token that may push", async () => {
    const { token } = await app.admin.tokens.create({
      user: "owner",
      name: "r",
      scopes: ["read_repository"],
    });
    const { authorization } = pushHeaders(token);
    const refused = await app.call(
      "GET http://pm.test/acme/none.git/info/refs?service=git-receive-pack",
      { headers: { authorization } },
    );
    expect([refused.status, refused.text]).toEqual([403, "You are not allowed to upload code.\n"]);
    expect((await ask("acme/none", "owner", "git-upload-pack")).status).toBe(404);
  });

  it.each([
    ["acme/-dash", "Path can contain only"],
    ["acme/a%20b", "Path can contain only"],
    ["acme/x.atom", "Path can contain only"],
    ["acme/team", "has already been taken"],
  ])("is 422 for %s", async (path, reason) => {
    const refused = await ask(path, "owner");
    expect(refused.status).toBe(422);
    expect(refused.text).toContain("Could not create project: ");
    expect(refused.text).toContain(reason);
    expect((await push(path, "owner")).status).toBe(422);
  });

  it("keeps the project if the pack is refused, and creates none for a probe", async () => {
    const headers = as("owner");
    expect((await pushTo(app, "acme/probe", Buffer.from("0000"), headers)).status).toBe(200);
    expect((await get("acme/probe")).status).toBe(404);
    const body = pushOf([{ name: "refs/heads/main", to: "1".repeat(40) }], newCommit("x").pack);
    const refused = await pushTo(app, "acme/probe", body, headers);
    expect(refused.text).toContain("missing necessary objects");
    expect((await get("acme/probe")).json).toMatchObject({ empty_repo: true });
  });

  it("counts towards the limit of projects", async () => {
    const { id } = await app.admin.users.get("reporter");
    await app.call(`PUT /users/${id}`, { as: "admin", json: { projects_limit: 0 } });
    const refused = await ask("reporter/one", "reporter");
    expect(refused.status).toBe(422);
    expect(refused.text).toContain("Your project limit is reached.");
  });

  it("creates one if two come at once", async () => {
    const both = await Promise.all([
      push("acme/twice", "owner", "main"),
      push("acme/twice", "owner", "other"),
    ]);
    const taken = both.filter(({ text }) => text.includes("ok refs"));
    const refused = both.filter(({ status }) => status === 422);
    expect(taken.length + refused.length).toBe(2);
    expect(taken.length).toBeGreaterThan(0);
  });
});

describe("after a push", () => {
  it("clients are told where merge requests are, and of no page that there is not", async () => {
    await push("acme/site", "maintainer", "main");
    const fresh = await push("acme/site", "developer", "feature/a");
    expect(fresh.text).not.toContain("http://");
    await push("acme/site", "developer", "opened");
    const json = { title: "M", source_branch: "opened", target_branch: "main" };
    const { json: request } = await app.call("POST /projects/acme%2Fsite/merge_requests", {
      as: "developer",
      json,
    });
    const { text } = await app.call(
      "GET http://pm.test/acme/site.git/info/refs?service=git-upload-pack",
    );
    const from = /([0-9a-f]{40}) refs\/heads\/opened/.exec(text)?.[1];
    const made = newCommit("more", from);
    const body = pushOf(
      [{ name: "refs/heads/opened", from, to: made.oid }],
      made.pack,
      MULTIPLEXED,
    );
    const more = await pushTo(app, "acme/site", body, as("developer"));
    const address = `http://pm.test/api/v4/projects/${request.project_id}/merge_requests/${request.iid}`;
    expect(more.text).toContain(`\nView merge request for opened:\n  ${address}\n`);
    expect((await app.call(`GET ${address}`, { as: "guest" })).json.iid).toBe(request.iid);
    const quiet = await pushTo(
      app,
      "acme/site",
      pushOf([{ name: "refs/heads/opened", from: made.oid }], undefined, MULTIPLEXED),
      as("developer"),
    );
    expect(quiet.text).not.toContain("merge request");
  });

  it("but not of the default branch, nor in projects without merge requests", async () => {
    expect((await push("owner/quiet", "owner")).text).not.toContain("merge request");
    await app.call("PUT /projects/owner%2Fquiet", {
      as: "owner",
      json: { merge_requests_enabled: false },
    });
    const { text } = await push("owner/quiet", "owner", "other");
    expect(text).toContain("ok refs/heads/other");
    expect(text).not.toContain("merge request");
  });
});

it("a user's slow pushes delay only their own", async () => {
  await push("acme/busy", "owner");
  /** A push that sends half of itself, until it is told to go on. */
  const begin = (branch: string, person: Caller) => {
    const { oid, pack } = newCommit(`busy ${branch}`);
    const body = pushOf([{ name: `refs/heads/${branch}`, to: oid }], pack);
    const half = body.length - 30;
    let finish = () => {};
    let begun = () => {};
    const waiting = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const isReceived = new Promise<void>((resolve) => {
      begun = resolve;
    });
    let pulls = 0;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      pulls += 1;
      if (pulls === 1) controller.enqueue(new Uint8Array(body.subarray(0, half)));
      else {
        begun();
        await waiting;
        controller.enqueue(new Uint8Array(body.subarray(half)));
        controller.close();
      }
    };
    const stream = new ReadableStream({ pull }, { highWaterMark: 0 });
    const request = new Request("http://pm.test/acme/busy.git/git-receive-pack", {
      method: "POST",
      headers: as(person),
      body: stream,
      duplex: "half",
    } as RequestInit);
    const answer = { text: "" };
    const answered = app.fetch(request).then(async (response) => {
      answer.text = await response.text();
    });
    return { finish, isReceived, answer, answered };
  };
  const slow = [begin("s1", "maintainer"), begin("s2", "maintainer")];
  for (const { isReceived } of slow) await isReceived;
  const third = begin("s3", "maintainer");
  third.finish();
  // Those of others are received meanwhile, from the first to the last byte.
  for (const branch of ["o1", "o2", "o3"]) {
    expect((await push("acme/busy", "owner", branch)).text).toContain(`ok refs/heads/${branch}`);
  }
  expect(third.answer.text).toBe("");
  slow[0]?.finish();
  await third.answered;
  expect(third.answer.text).toContain("ok refs/heads/s3");
  slow[1]?.finish();
  for (const { answered, answer } of slow) {
    await answered;
    expect(answer.text).toContain("ok refs");
  }
});
