import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { type CallOptions, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const send = (request: string, json: object, as: CallOptions["as"] = "admin") =>
  app.call(request, { as, json });
const idOf = async (path: string) => (await app.call(`GET ${path}`, { as: "admin" })).json.id;
const reserved = (name: string, attribute = "path") => ({
  message: { [attribute]: [`${name} is a reserved name`] },
});

const TOP = [
  ..."- admin api assets autocomplete ci dashboard explore favicon.ico files groups".split(" "),
  ..."health_check help import invites jwt login oauth profile projects public robots.txt s".split(
    " ",
  ),
  ..."search snippets u unsubscribes uploads users v2 abuse_reports 404.html".split(" "),
  ...["apple-touch-icon-precomposed.png", "header_logo_1.png", "Dashboard"],
];
const NESTED =
  "badges blame blob builds commits create create_dir edit files find_file new preview raw refs tree update wikis Tree".split(
    " ",
  );

describe("reserved words", () => {
  it.each(TOP.filter((word) => word !== "-"))("no group at the top is called %s", async (path) => {
    const { status, json } = await send("POST /groups", { name: path, path });
    expect([status, json]).toEqual([400, reserved(path)]);
  });

  it.each(TOP.filter((word) => /^\w+$/.test(word)))("no user is called %s", async (username) => {
    const user = { username, name: "One", email: `${username}@one.test`, password: "12345678x" };
    const { status, json } = await send("POST /users", user);
    // There is one who is called so.
    if (username === "admin") expect(status).toBe(400);
    else expect([status, json]).toEqual([400, reserved(username, "username")]);
  });

  it.each(NESTED)("no project and no subgroup is called %s", async (path) => {
    const group = await idOf("/groups/acme");
    const project = await send("POST /projects", { name: path, path, namespace_id: group });
    expect([project.status, project.json]).toEqual([400, reserved(path)]);
    const subgroup = await send("POST /groups", { name: path, path, parent_id: group });
    expect([subgroup.status, subgroup.json]).toEqual([400, reserved(path)]);
  });

  it("are names below, or at the top, where nothing is", async () => {
    const group = await idOf("/groups/acme");
    for (const path of ["admin", "dashboard", "search"]) {
      const { status } = await send("POST /projects", { name: path, path, namespace_id: group });
      expect(status).toBe(201);
    }
    expect((await send("POST /groups", { name: "Tree", path: "tree" })).status).toBe(201);
  });

  it("can't be reached by a change, a transfer, a fork, an import or a push", async () => {
    const site = "/projects/acme%2Fsite";
    const renamed = await send(`PUT ${site}`, { path: "raw" });
    expect([renamed.status, renamed.json]).toEqual([400, reserved("raw")]);
    const group = await send("PUT /groups/acme", { path: "explore" });
    expect([group.status, group.json]).toEqual([400, reserved("explore")]);
    const subgroup = await send("PUT /groups/acme%2Fteam", { path: "blob" });
    expect([subgroup.status, subgroup.json]).toEqual([400, reserved("blob")]);
    const user = await send(`PUT /users/${await idOf("/user")}`, { username: "help" });
    expect([user.status, user.json]).toEqual([400, reserved("help", "username")]);

    await send("POST /groups", { name: "Wikis", path: "wikis" });
    const down = { group_id: await idOf("/groups/acme") };
    const lowered = await send("POST /groups/wikis/transfer", down);
    expect([lowered.status, lowered.json]).toEqual([400, reserved("wikis")]);
    const parent_id = down.group_id;
    await send("POST /groups", { name: "Public", path: "public", parent_id });
    const raised = await send("POST /groups/acme%2Fpublic/transfer", {});
    expect([raised.status, raised.json]).toEqual([400, reserved("public")]);

    const fork = await send(`POST ${site}/fork`, { path: "commits", name: "Fork" });
    expect([fork.status, fork.json]).toEqual([400, reserved("commits")]);
    const body = new FormData();
    body.append("path", "tree");
    body.append("namespace", "acme");
    body.append("file", new Blob(["no archive"]), "site.gz");
    const imported = await app.call("POST /projects/import", { as: "admin", body });
    expect([imported.status, imported.json]).toEqual([400, reserved("tree")]);
    const url = "http://pm.test/acme/refs.git/info/refs?service=git-receive-pack";
    const basic = Buffer.from("admin:token-of-admin").toString("base64");
    const pushed = await app.call(`GET ${url}`, { headers: { authorization: `Basic ${basic}` } });
    expect([pushed.status, await app.call("GET /projects/acme%2Frefs", { as: "admin" })]).toEqual([
      expect.any(Number),
      expect.objectContaining({ status: 404 }),
    ]);
  });

  it("are refused in seeds and by operators; only a seed's user may be called admin", async () => {
    const seed = (json: object) => app.admin.seed(json as never);
    await expect(seed({ groups: [{ path: "explore" }] })).rejects.toThrow();
    await expect(
      seed({ groups: [{ path: "fine", subgroups: [{ path: "tree" }] }] }),
    ).rejects.toThrow();
    await expect(
      seed({ groups: [{ path: "fine", projects: [{ path: "wikis" }] }] }),
    ).rejects.toThrow();
    await expect(seed({ users: [{ username: "search" }] })).rejects.toThrow();
    const made = app.admin.users.create({ username: "files", name: "F", email: "f@f.test" });
    await expect(made).rejects.toThrow("files is a reserved name");
  });

  it("that are taken from before are told by a check of the database", async () => {
    const found = async () =>
      (await check(app.store)).find(({ name }) => name === "reserved names")?.problems;
    expect(await found()).toEqual([]);
    await send("POST /groups", { name: "Old", path: "older" });
    const project = await send("POST /projects", { name: "Old", path: "oldest" });
    await app.store.transaction(async (db) => {
      await db.run(
        "update namespaces set path = 'dashboard', full_path = 'dashboard' where path = 'older'",
      );
      await db.run(
        "update projects set path = 'blob', full_path = 'admin/blob' where path = 'oldest'",
      );
    });
    expect(await found()).toEqual([
      expect.stringMatching(/^group \d+ \(dashboard\) has a reserved name: rename it$/),
      `project ${project.json.id} (admin/blob) has a reserved name: rename it`,
    ]);
  });
});
