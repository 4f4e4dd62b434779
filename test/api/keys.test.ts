import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, sshKeyOf, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const ids: Record<string, number> = {};
beforeAll(async () => {
  app = await testApp();
  for (const name of ["owner", "guest"]) ids[name] = (await app.admin.users.get(name)).id;
});
afterAll(() => app.dispose());

const post = (path: string, as: Person, json: object) => app.call(`POST ${path}`, { as, json });
const taken = (attribute: string) => ({ message: { [attribute]: ["has already been taken"] } });
let keys = 0;
const newKey = () => {
  keys += 1;
  return sshKeyOf(keys);
};

describe("SSH keys", () => {
  it("are shown with their owner's name instead of a comment", async () => {
    const key = newKey();
    const json = { title: " laptop ", key: `  ${key} me@laptop\n`, usage_type: "auth" };
    const made = await post("/user/keys", "guest", json);
    const shown = {
      id: expect.any(Number),
      title: "laptop",
      created_at: expect.stringMatching(/^20.*Z$/),
      expires_at: null,
      last_used_at: null,
      usage_type: "auth",
      key: `${key} The guest (pm.test)`,
    };
    expect([made.status, made.json]).toEqual([201, shown]);
    const of = `/users/${ids["guest"]}/keys`;
    expect((await app.call("GET /user/keys", { as: "guest" })).json).toEqual([shown]);
    expect((await app.call(`GET ${of}`)).json).toEqual([shown]);
    const path = `/user/keys/${made.json.id}`;
    expect((await app.call(`GET ${path}`, { as: "guest" })).json).toEqual(shown);
    expect((await app.call(`GET ${of}/${made.json.id}`)).json).toEqual(shown);
    const other = await app.call(`GET ${path}`, { as: "owner" });
    expect([other.status, other.json]).toEqual([404, { message: "404 Key Not Found" }]);
    expect((await app.call(`DELETE ${path}`, { as: "guest" })).status).toBe(204);
    expect((await app.call(`DELETE ${path}`, { as: "guest" })).status).toBe(404);
  });

  it("belong to one user", async () => {
    const key = newKey();
    expect((await post("/user/keys", "guest", { title: "k", key })).status).toBe(201);
    const again = await post("/user/keys", "owner", { title: "k", key });
    expect([again.status, again.json]).toEqual([400, taken("fingerprint_sha256")]);
  });

  it("of others are added and removed by administrators", async () => {
    const of = `/users/${ids["owner"]}/keys`;
    const expires_at = "2030-01-01T00:00:00.000Z";
    const made = await post(of, "admin", { title: "k", key: newKey(), expires_at });
    expect(made.json).toMatchObject({ expires_at, usage_type: "auth_and_signing" });
    expect(made.json.key).toContain(" The owner (");
    expect((await app.call(`DELETE ${of}/${made.json.id}`, { as: "admin" })).status).toBe(204);
    const missing = await post("/users/4711/keys", "admin", { title: "k", key: newKey() });
    expect(missing.json).toEqual({ message: "404 User Not Found" });
  });

  it.each(["rsa", "ed25519", "ec"] as const)("may be of the type %s", async (type) => {
    const { publicKey } =
      type === "rsa"
        ? generateKeyPairSync("rsa", { modulusLength: 2048 })
        : type === "ec"
          ? generateKeyPairSync("ec", { namedCurve: "P-256" })
          : generateKeyPairSync("ed25519");
    const jwk = publicKey.export({ format: "jwk" });
    const bytes = (text = "") => Buffer.from(text, "base64url");
    const number = (text = "") => Buffer.concat([Buffer.of(0), bytes(text)]);
    const parts = {
      rsa: [Buffer.from("ssh-rsa"), bytes(jwk.e), number(jwk.n)],
      ed25519: [Buffer.from("ssh-ed25519"), bytes(jwk.x)],
      ec: [
        Buffer.from("ecdsa-sha2-nistp256"),
        Buffer.from("nistp256"),
        Buffer.concat([Buffer.of(4), bytes(jwk.x), bytes(jwk.y)]),
      ],
    }[type];
    const written = parts.flatMap((part) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(part.length);
      return [length, part];
    });
    const key = `${parts[0]} ${Buffer.concat(written).toString("base64")}`;
    const made = await post("/user/keys", "guest", { title: type, key });
    expect([made.status, made.json.key]).toEqual([201, `${key} The guest (pm.test)`]);
  });

  const sound = sshKeyOf(4711);
  it.each([
    ["a text", "hello"],
    ["no key", "ssh-ed25519"],
    ["another type", sound.replace("ssh-ed25519", "ssh-rsa")],
    ["an unsafe type", sound.replace("ssh-ed25519", "ssh-dss")],
    ["a name that all objects have", sound.replace("ssh-ed25519", "constructor")],
    ["a short key", sound.slice(0, -8)],
    ["a longer key", `${sound}AAAA`],
    ["two lines", `${sound}\n${sound}`],
    ["other characters", `${sound}!`],
  ])("with %s are refused", async (_, key) => {
    const refused = await post("/user/keys", "guest", { title: "k", key });
    expect([refused.status, refused.json]).toEqual([400, { message: { key: ["is invalid"] } }]);
  });

  it("need a title", async () => {
    const missing = await post("/user/keys", "guest", { key: newKey() });
    expect(missing.json).toEqual({ message: '400 (Bad request) "title" not given' });
    const blank = await post("/user/keys", "guest", { key: newKey(), title: " " });
    expect(blank.json).toEqual({ message: { title: ["can't be blank"] } });
  });

  it("die with their user", async () => {
    const key = newKey();
    const { id } = await app.admin.users.get("stranger");
    await post("/user/keys", "stranger", { title: "k", key });
    await app.call(`DELETE /users/${id}`, { as: "admin" });
    expect((await post("/user/keys", "guest", { title: "k", key })).status).toBe(201);
  });
});

describe("deploy keys", () => {
  const SITE = "/projects/acme%2Fsite/deploy_keys";
  const CORE = "/projects/acme%2Fteam%2Fcore/deploy_keys";
  const VAULT = "/projects/secret%2Fvault/deploy_keys";

  it("belong to projects", async () => {
    const key = `${newKey()} comment`;
    const made = await post(SITE, "maintainer", { title: "ci", key: ` ${key}\n` });
    const shown = {
      id: expect.any(Number),
      title: "ci",
      created_at: expect.stringMatching(/^20.*Z$/),
      expires_at: null,
      last_used_at: null,
      usage_type: "auth_and_signing",
      key,
      fingerprint: expect.stringMatching(/^([0-9a-f]{2}:){15}[0-9a-f]{2}$/),
      fingerprint_sha256: expect.stringMatching(/^SHA256:[A-Za-z0-9+/]{43}$/),
      can_push: false,
    };
    expect([made.status, made.json]).toEqual([201, shown]);
    expect((await app.call(`GET ${SITE}`, { as: "maintainer" })).json).toEqual([shown]);
    const one = await app.call(`GET ${SITE}/${made.json.id}`, { as: "maintainer" });
    expect(one.json).toEqual(shown);
    const again = await post(SITE, "owner", { title: "other", key, can_push: true });
    expect([again.status, again.json]).toEqual([201, made.json]);
    const elsewhere = await app.call(`GET ${CORE}/${made.json.id}`, { as: "maintainer" });
    expect([elsewhere.status, elsewhere.json]).toEqual([404, { message: "404 Not found" }]);
  });

  it("have the fingerprints of ssh-keygen", async () => {
    const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFZ0yBuYuIZgPcqdRqzYxT7eGhYrZbTDzsVl7QmZsDYO";
    const { json } = await post(SITE, "maintainer", { title: "k", key });
    expect(json).toMatchObject({
      fingerprint: "01:f0:9a:fe:da:bb:11:d3:e4:ed:1f:54:61:52:46:70",
      fingerprint_sha256: "SHA256:C18Fo7z3PuVaW23sYD2dRu/kMLJNwaukuGgQqGYMLCI",
    });
  });

  it("are joined from other projects that the caller maintains, or public", async () => {
    const key = newKey();
    const { json: made } = await post(SITE, "maintainer", { title: "shared", key });
    const joined = await post(CORE, "maintainer", { title: "x", key, can_push: true });
    expect([joined.status, joined.json.id, joined.json.title]).toEqual([201, made.id, "shared"]);
    expect([made.can_push, joined.json.can_push]).toEqual([false, true]);
    const { json: own } = await app.call("POST /projects", { as: "guest", json: { name: "own" } });
    const foreign = await post(`/projects/${own.id}/deploy_keys`, "guest", { title: "x", key });
    expect([foreign.status, foreign.json]).toEqual([400, taken("deploy_key.fingerprint_sha256")]);
    const enable = (id: number, as: Person) =>
      app.call(`POST /projects/${own.id}/deploy_keys/${id}/enable`, { as });
    const hidden = await enable(made.id, "guest");
    expect([hidden.status, hidden.json]).toEqual([404, { message: "404 Deploy key Not Found" }]);
    const open = await post("/deploy_keys", "admin", { title: "open", key: newKey() });
    expect(open.status).toBe(201);
    for (const _ of [1, 2]) {
      const enabled = await enable(open.json.id, "guest");
      expect([enabled.status, enabled.json.id, enabled.json.can_push]).toEqual([
        201,
        open.json.id,
        false,
      ]);
    }
    expect((await enable(4711, "admin")).status).toBe(404);
    expect((await enable(made.id, "admin")).status).toBe(201);
  });

  it("are changed", async () => {
    const { json: made } = await post(VAULT, "maintainer", { title: "old", key: newKey() });
    const put = (json: object, as: Person = "maintainer") =>
      app.call(`PUT ${VAULT}/${made.id}`, { as, json });
    expect((await put({ title: "new" })).json).toMatchObject({ title: "new", can_push: false });
    expect((await put({ can_push: true })).json).toMatchObject({ title: "new", can_push: true });
    expect((await put({ title: " " })).status).toBe(400);
    expect((await put({})).json.message).toContain("title, can_push are missing");
    const { json: open } = await post("/deploy_keys", "admin", { title: "open", key: newKey() });
    await app.call(`POST ${VAULT}/${open.id}/enable`, { as: "maintainer" });
    const rename = (as: Person) =>
      app.call(`PUT ${VAULT}/${open.id}`, { as, json: { title: "renamed" } });
    expect((await rename("maintainer")).status).toBe(403);
    expect((await rename("admin")).json.title).toBe("renamed");
  });

  it("are listed with their projects by administrators", async () => {
    const [writing, reading] = ["projects_with_write_access", "projects_with_readonly_access"];
    const { json } = await app.call("GET /deploy_keys", { as: "admin" });
    const shared = json.find(({ title }: { title: string }) => title === "shared");
    expect(shared[writing]).toEqual([
      {
        id: expect.any(Number),
        description: null,
        name: "Core",
        name_with_namespace: "Acme / Team / Core",
        path: "core",
        path_with_namespace: "acme/team/core",
        created_at: expect.stringMatching(/^20.*Z$/),
      },
    ]);
    const paths = shared[reading].map((one: Record<string, string>) => one["path_with_namespace"]);
    expect(paths).toEqual(["acme/site", "guest/own"]);
    const { json: open } = await app.call("GET /deploy_keys?public=true", { as: "admin" });
    expect(open.map(({ title }: { title: string }) => title)).toEqual(["open", "renamed"]);
  });

  it("die with their last project, unless they are public", async () => {
    const key = newKey();
    const { json: made } = await post(VAULT, "maintainer", { title: "k", key });
    const remove = (path: string) => app.call(`DELETE ${path}/${made.id}`, { as: "maintainer" });
    await post(CORE, "maintainer", { title: "k", key });
    const old = { "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT" };
    const stale = await app.call(`DELETE ${VAULT}/${made.id}`, { as: "maintainer", headers: old });
    expect(stale.status).toBe(412);
    expect((await remove(VAULT)).status).toBe(204);
    expect((await remove(VAULT)).status).toBe(404);
    expect((await app.call(`GET ${CORE}/${made.id}`, { as: "maintainer" })).status).toBe(200);
    expect((await remove(CORE)).status).toBe(204);
    expect((await post("/user/keys", "guest", { title: "k", key })).status).toBe(201);
    // So they do if it is deleted as a whole.
    const { json: own } = await app.call("POST /projects", {
      as: "owner",
      json: { name: "brief" },
    });
    const other = newKey();
    await post(`/projects/${own.id}/deploy_keys`, "owner", { title: "k", key: other });
    const user = () => post("/user/keys", "guest", { title: "k", key: other });
    expect((await user()).json).toEqual(taken("fingerprint_sha256"));
    await app.call(`DELETE /projects/${own.id}`, { as: "owner" });
    expect((await user()).status).toBe(201);
  });

  it("that are none are refused", async () => {
    const refused = await post(SITE, "maintainer", { title: "k", key: "x" });
    expect([refused.status, refused.json]).toEqual([
      400,
      { message: { "deploy_key.key": ["is invalid"] } },
    ]);
  });
});
