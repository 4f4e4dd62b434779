// Rules about branches and tags as records. What they decide is in git-rights.test.ts.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { newCommit, push } from "../packs.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const BRANCHES = "/projects/acme%2Fsite/protected_branches";
const TAGS = "/projects/acme%2Fsite/protected_tags";
const post = (path: string, json: object, as: Person = "maintainer") =>
  app.call(`POST ${path}`, { as, json });
const level = (access_level: number, access_level_description: string) => [
  {
    id: expect.any(Number),
    access_level,
    access_level_description,
    deploy_key_id: null,
    user_id: null,
    group_id: null,
  },
];

describe("protected branches", () => {
  it("are for maintainers unless levels are given", async () => {
    const made = await post(BRANCHES, { name: "main" });
    const rule = {
      id: expect.any(Number),
      name: "main",
      push_access_levels: level(40, "Maintainers"),
      merge_access_levels: level(40, "Maintainers"),
      unprotect_access_levels: level(40, "Maintainers"),
      allow_force_push: false,
      code_owner_approval_required: false,
      inherited: false,
    };
    expect([made.status, made.json]).toEqual([201, rule]);
    expect((await app.call(`GET ${BRANCHES}/main`, { as: "reporter" })).json).toEqual(rule);
    const levels = { push_access_level: 0, merge_access_level: 30, allow_force_push: true };
    const wild = await post(BRANCHES, { name: "feature/*", ...levels });
    expect(wild.json).toMatchObject({
      name: "feature/*",
      push_access_levels: level(0, "No one"),
      merge_access_levels: level(30, "Developers + Maintainers"),
      allow_force_push: true,
    });
    const found = await app.call(`GET ${BRANCHES}/feature%2F*`, { as: "reporter" });
    expect(found.json).toEqual(wild.json);
    const admins = await post(BRANCHES, { name: "admins", push_access_level: "60" });
    expect(admins.json.push_access_levels).toEqual(level(60, "Instance admins"));
  });

  it("are listed, the oldest first, and found by a part of their name", async () => {
    const names = async (query = "") =>
      (await app.call(`GET ${BRANCHES}${query}`, { as: "reporter" })).json.map(
        ({ name }: { name: string }) => name,
      );
    expect(await names()).toEqual(["main", "feature/*", "admins"]);
    expect(await names("?search=FEAT")).toEqual(["feature/*"]);
    expect(await names("?per_page=1&page=3")).toEqual(["admins"]);
  });

  it("are there once", async () => {
    const again = await post(BRANCHES, { name: "main" });
    expect([again.status, again.json.message]).toEqual([
      409,
      "Protected branch 'main' already exists",
    ]);
  });

  it.each([
    [{ name: "x", push_access_level: 20 }, { push_access_level: ["does not have a valid value"] }],
    [
      { name: "x", merge_access_level: 50 },
      { merge_access_level: ["does not have a valid value"] },
    ],
    [
      { name: "x", push_access_level: true },
      { push_access_level: ["does not have a valid value"] },
    ],
    [{ name: " " }, { name: ["can't be blank"] }],
    [{}, '400 (Bad request) "name" not given'],
  ])("%j is refused", async (json, message) => {
    const refused = await post(BRANCHES, json);
    expect([refused.status, refused.json.message]).toEqual([400, message]);
  });

  it("are changed and removed", async () => {
    const patch = (name: string, allow_force_push: boolean) =>
      app.call(`PATCH ${BRANCHES}/${name}`, { as: "maintainer", json: { allow_force_push } });
    const changed = await patch("main", true);
    expect([changed.status, changed.json.allow_force_push]).toEqual([200, true]);
    expect((await patch("nothing", true)).json).toEqual({ message: "404 Not found" });
    const remove = (name: string, headers = {}) =>
      app.call(`DELETE ${BRANCHES}/${name}`, { as: "maintainer", headers });
    const old = { "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT" };
    expect((await remove("main", old)).status).toBe(412);
    expect((await remove("main")).status).toBe(204);
    const gone = await remove("main");
    expect([gone.status, gone.json]).toEqual([404, { message: "404 Not found" }]);
  });

  it("are in the audit log", async () => {
    const { json } = await app.call("GET /audit_events", { as: "admin" });
    const said = json.map(({ details }: { details: Record<string, string> }) => [
      details["custom_message"],
      details["target_details"],
    ]);
    expect(said.slice(0, 2)).toEqual([
      ["branch unprotected", "main of acme/site"],
      ["branch protection changed", "main of acme/site"],
    ]);
    expect(said).toContainEqual(["branch protected", "feature/* of acme/site"]);
  });

  it("with wildcards are limited in number", async () => {
    for (let at = 0; at < 99; at += 1) {
      expect((await post(BRANCHES, { name: `wild${at}*` })).status).toBe(201);
    }
    const refused = await post(BRANCHES, { name: "another*" });
    expect(refused.status).toBe(400);
    expect(refused.json.message.name[0]).toContain("wildcard");
    expect((await post(BRANCHES, { name: "another" })).status).toBe(201);
  });
});

describe("protected tags", () => {
  it("have a level for creating them", async () => {
    const made = await post(TAGS, { name: "v*" });
    const rule = { name: "v*", create_access_levels: level(40, "Maintainers") };
    expect([made.status, made.json]).toEqual([201, rule]);
    const open = await post(TAGS, { name: "open/*", create_access_level: 30 });
    expect(open.json.create_access_levels).toEqual(level(30, "Developers + Maintainers"));
    const { json } = await app.call(`GET ${TAGS}`, { as: "maintainer" });
    expect(json).toEqual([made.json, open.json]);
    expect((await app.call(`GET ${TAGS}/v*`, { as: "maintainer" })).json).toEqual(rule);
  });

  it("are there once, and can be removed", async () => {
    const again = await post(TAGS, { name: "v*" });
    expect([again.status, again.json.message]).toEqual([422, ["Name has already been taken"]]);
    const bad = await post(TAGS, { name: "w", create_access_level: 10 });
    expect(bad.json.message).toEqual({ create_access_level: ["does not have a valid value"] });
    const remove = () => app.call(`DELETE ${TAGS}/v*`, { as: "maintainer" });
    expect((await remove()).status).toBe(204);
    expect((await remove()).json).toEqual({ message: "404 Not found" });
    expect((await app.call(`GET ${TAGS}/v*`, { as: "maintainer" })).status).toBe(404);
  });
});

describe("branches", () => {
  const at = "/projects/secret%2Fvault/repository";
  const rules = "/projects/secret%2Fvault/protected_branches";
  beforeAll(async () => {
    const { oid, pack } = newCommit("x");
    const names = ["heads/main", "heads/b", "heads/f/a/b", "tags/v1", "tags/w"];
    const refs = Object.fromEntries(names.map((name) => [`refs/${name}`, Buffer.from(oid, "hex")]));
    expect(await push(app, "secret/vault", pack, refs)).toContain("ok refs/heads/main");
  });
  const shown = async (name: string, as: Person = "developer") => {
    const { json } = await app.call(`GET ${at}/branches/${encodeURIComponent(name)}`, { as });
    return [json.protected, json.developers_can_push, json.developers_can_merge, json.can_push];
  };
  const put = (path: string, as: Person = "maintainer", json: object = {}) =>
    app.call(`PUT ${at}/branches/${path}`, { as, json });

  it("say what protects them, to each caller", async () => {
    expect(await shown("main")).toEqual([true, false, false, false]);
    expect(await shown("main", "maintainer")).toEqual([true, false, false, true]);
    expect(await shown("b", "reporter")).toEqual([false, false, false, false]);
    expect(await shown("b")).toEqual([false, false, false, true]);
    await post(rules, { name: "f/*", push_access_level: 0, merge_access_level: 30 });
    for (const as of ["developer", "owner", "admin"] as const) {
      expect(await shown("f/a/b", as)).toEqual([true, false, true, false]);
    }
    const { json } = await app.call(`GET ${at}/branches`, { as: "developer" });
    expect(json.map((one: { protected: boolean }) => one.protected)).toEqual([false, true, true]);
  });

  it("are protected and unprotected", async () => {
    const made = await put("b/protect", "maintainer", { developers_can_push: true });
    expect(made.status).toBe(200);
    expect(made.json).toMatchObject({
      name: "b",
      protected: true,
      developers_can_push: true,
      developers_can_merge: false,
    });
    // What is left out stays.
    const changed = await put("b/protect", "maintainer", { developers_can_merge: true });
    expect(changed.json).toMatchObject({ developers_can_push: true, developers_can_merge: true });
    expect(await shown("b")).toEqual([true, true, true, true]);
    await put("b/protect", "maintainer", { developers_can_push: false });
    expect(await shown("b")).toEqual([true, false, true, false]);
    const { json } = await app.call(`GET ${rules}/b`, { as: "reporter" });
    expect(json.push_access_levels).toEqual(level(40, "Maintainers"));
    for (const _ of [1, 2]) {
      const undone = await put("b/unprotect");
      expect([undone.status, undone.json.protected]).toEqual([200, false]);
    }
    // Only the rule of this very name is removed.
    expect((await put("f%2Fa%2Fb/unprotect")).json.protected).toBe(true);
  });

  it("are merged into by those who may", async () => {
    const requests = "/projects/secret%2Fvault/merge_requests";
    const merge = async (target_branch: string, as: Person) => {
      changes += 1;
      const actions = [{ action: "create", file_path: `change-${changes}`, content: "c" }];
      const commit = { branch: "b", commit_message: "Change", actions };
      await post("/projects/secret%2Fvault/repository/commits", commit, "owner");
      const json = { title: "M", source_branch: "b", target_branch };
      const { json: made } = await post(requests, json, "owner");
      const { status } = await app.call(`PUT ${requests}/${made.iid}/merge`, { as });
      await app.call(`DELETE ${requests}/${made.iid}`, { as: "owner" });
      return status;
    };
    const statuses: number[] = [];
    let changes = 0;
    for (const target of ["main", "f/a/b"]) {
      for (const as of ["reporter", "developer", "maintainer"] as const) {
        statuses.push(await merge(target, as));
      }
    }
    // Developers may merge into the second one, to which nobody may push.
    expect(statuses).toEqual([401, 401, 200, 401, 200, 200]);
  });

  it("are left alone by others, and have to exist", async () => {
    for (const action of ["protect", "unprotect"]) {
      expect((await put(`b/${action}`, "developer")).status).toBe(403);
      expect((await put(`none/${action}`)).json).toEqual({ message: "404 Branch Not Found" });
      const bad = await put(`b*/${action}`);
      expect([bad.status, bad.json.message]).toEqual([400, "The branch refname is invalid"]);
    }
  });

  it("have tags beside them, which say so, too", async () => {
    await post("/projects/secret%2Fvault/protected_tags", { name: "v*" });
    const { json } = await app.call(`GET ${at}/tags?order_by=name&sort=asc`, { as: "developer" });
    expect(
      json.map((tag: { name: string; protected: boolean }) => [tag.name, tag.protected]),
    ).toEqual([
      ["v1", true],
      ["w", false],
    ]);
    const { json: one } = await app.call(`GET ${at}/tags/v1`, { as: "developer" });
    expect(one.protected).toBe(true);
  });
});

describe("rules", () => {
  it("let nobody do what nobody is to do, in no way", async () => {
    const { json } = await app.call("POST /projects", {
      as: "owner",
      json: { name: "Kept from all", visibility: "public", initialize_with_readme: true },
    });
    const path = `/projects/${json.id}`;
    const commit = (branch: string, start_branch?: string) =>
      app.call(`POST ${path}/repository/files/${branch}-${start_branch}.txt`, {
        as: "owner",
        json: { branch, start_branch, content: "x", commit_message: "Write" },
      });
    expect((await commit("main")).status).toBe(201);
    expect((await commit("offer", "main")).status).toBe(201);
    const rule = `${path}/protected_branches/main`;
    const { json: found } = await app.call(`GET ${rule}`, { as: "owner" });
    const nobody = ([{ id }]: [{ id: number }]) => [{ access_level: 0 }, { id, _destroy: true }];
    const closed = await app.call(`PATCH ${rule}`, {
      as: "owner",
      json: {
        allowed_to_push: nobody(found.push_access_levels),
        allowed_to_merge: nobody(found.merge_access_levels),
      },
    });
    expect(closed.status).toBe(200);
    expect((await commit("main", "offer")).status).toBeGreaterThanOrEqual(400);
    const refused = await app.call(`PUT ${path}/repository/files/main-undefined.txt`, {
      as: "owner",
      json: { branch: "main", content: "y", commit_message: "Write" },
    });
    expect(refused.status).toBe(403);
    const { oid, pack } = newCommit("by push");
    const pushed = await push(app, json.path_with_namespace, pack, {
      "refs/heads/main": Buffer.from(oid, "hex"),
    });
    expect(pushed).not.toContain("ok refs/heads/main");
    const { json: request } = await app.call(`POST ${path}/merge_requests`, {
      as: "owner",
      json: { title: "Offer", source_branch: "offer", target_branch: "main" },
    });
    const merged = await app.call(`PUT ${path}/merge_requests/${request.iid}/merge`, {
      as: "owner",
    });
    expect(merged.status).toBe(401);
    const tags = await app.call(`POST ${path}/protected_tags`, {
      as: "owner",
      json: { name: "v*", allowed_to_create: [{ access_level: 0 }] },
    });
    expect(tags.json.create_access_levels).toEqual(level(0, "No one"));
    const tag = await app.call(`POST ${path}/repository/tags`, {
      as: "owner",
      json: { tag_name: "v1", ref: "main" },
    });
    expect(tag.status).toBeGreaterThanOrEqual(400);
  });
});
