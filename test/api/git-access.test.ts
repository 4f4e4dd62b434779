// Who may fetch and push, and what Git's client is told, request by request.
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { everyone, givePassword, PASSWORD, type TestApp, testApp, tokenOf } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  await givePassword(app, "owner");
  const { json: group } = await app.call("GET /groups/acme", { as: "owner" });
  const json = { name: "Inside", namespace_id: group.id, visibility: "internal" };
  const made = await app.call("POST /projects", { as: "owner", json });
  expect(made.status).toBe(201);
  // What only links let in: as members of the invited group are, or at most as reporters.
  const invited = (await app.call("GET /groups/secret", { as: "owner" })).json;
  for (const [path, group_access] of [
    ["lent", 50],
    ["dull", 20],
  ] as const) {
    const lent = (await app.call("POST /groups", { as: "admin", json: { name: path, path } })).json;
    const project = { name: "P", path: "p", namespace_id: lent.id };
    await app.call("POST /projects", { as: "admin", json: project });
    const link = { group_id: invited.id, group_access };
    const shared = await app.call(`POST /groups/${path}/share`, { as: "admin", json: link });
    expect(shared.status).toBe(201);
  }
});
afterAll(() => app.dispose());

const FETCH = "git-upload-pack";
const PUSH = "git-receive-pack";
const basic = (password: string, login = "any") => ({
  authorization: `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}`,
});

const ask = (project: string, service: string, headers: Record<string, string> = {}) =>
  app.call(`GET http://pm.test/${project}.git/info/refs?service=${service}`, { headers });

/** The statuses that everyone gets, from anonymous callers to administrators. */
async function statuses(project: string, service: string): Promise<number[]> {
  const found: number[] = [];
  for (const person of everyone) {
    const headers = person === "anonymous" ? {} : basic(tokenOf(person));
    found.push((await ask(project, service, headers)).status);
  }
  return found;
}

it.each([
  //                       anonymous stranger guest reporter developer maintainer owner admin
  ["acme/site", FETCH, [200, 200, 200, 200, 200, 200, 200, 200]],
  ["acme/site", PUSH, [401, 403, 403, 403, 200, 200, 200, 200]],
  ["acme/inside", FETCH, [401, 200, 200, 200, 200, 200, 200, 200]],
  ["acme/inside", PUSH, [401, 403, 403, 403, 200, 200, 200, 200]],
  ["secret/vault", FETCH, [401, 404, 403, 200, 200, 200, 200, 200]],
  ["secret/vault", PUSH, [401, 404, 403, 403, 200, 200, 200, 200]],
  ["lent/p", FETCH, [401, 404, 403, 200, 200, 200, 200, 200]],
  ["lent/p", PUSH, [401, 404, 403, 403, 200, 200, 200, 200]],
  ["dull/p", FETCH, [401, 404, 403, 200, 200, 200, 200, 200]],
  ["dull/p", PUSH, [401, 404, 403, 403, 403, 403, 403, 200]],
  ["secret/nothing", FETCH, [401, 404, 404, 404, 404, 404, 404, 404]],
  ["nothing", FETCH, [401, 404, 404, 404, 404, 404, 404, 404]],
])("%s: %s", async (project, service, expected) => {
  expect(await statuses(project, service)).toEqual(expected);
});

it("tells why, in plain text", async () => {
  const said = async (...args: Parameters<typeof ask>) => {
    const { status, text, headers } = await ask(...args);
    expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
    return [status, text.trim()];
  };
  const anonymous = await ask("secret/vault", FETCH);
  expect(anonymous.headers.get("www-authenticate")).toBe('Basic realm="GitLab"');
  expect(await said("secret/vault", FETCH)).toEqual([401, "HTTP Basic: Access denied"]);
  expect(await said("secret/vault", FETCH, basic(tokenOf("stranger")))).toEqual([
    404,
    "The project you were looking for could not be found or you don't have permission to view it.",
  ]);
  expect(await said("secret/vault", FETCH, basic(tokenOf("guest")))).toEqual([
    403,
    "You are not allowed to download code from this project.",
  ]);
  expect(await said("acme/site", PUSH, basic(tokenOf("guest")))).toEqual([
    403,
    "You are not allowed to push code to this project.",
  ]);
});

it.each([
  //                        anonymous stranger guest reporter developer maintainer owner admin
  ["private", FETCH, [401, 403, 200, 200, 200, 200, 200, 200]],
  ["private", PUSH, [401, 403, 403, 403, 200, 200, 200, 200]],
  ["disabled", FETCH, [401, 403, 403, 403, 403, 403, 403, 403]],
  ["disabled", PUSH, [401, 403, 403, 403, 403, 403, 403, 403]],
])("a public project whose repository is %s answers %s", async (level, service, expected) => {
  const change = async (to: string) => {
    const names = ["repository", "merge_requests", "builds"];
    const json = Object.fromEntries(names.map((name) => [`${name}_access_level`, to]));
    const { status } = await app.call("PUT /projects/acme%2Fsite", { as: "admin", json });
    expect(status).toBe(200);
  };
  await change(level);
  expect(await statuses("acme/site", service)).toEqual(expected);
  await change("enabled");
});

describe("credentials", () => {
  it("that are wrong are refused, also where none are needed", async () => {
    for (const headers of [
      basic("wrong", "owner"),
      basic("", "owner"),
      basic(PASSWORD, ""),
      basic("wrong", "nobody"),
      { authorization: "Basic ???" },
      { authorization: "Bearer token-of-owner" },
    ]) {
      expect((await ask("acme/site", FETCH, headers)).status).toBe(401);
    }
    await givePassword(app, "blocked");
    for (const secret of [tokenOf("blocked"), PASSWORD]) {
      const blocked = await ask("acme/site", FETCH, basic(secret, "blocked"));
      expect([blocked.status, blocked.text]).toEqual([401, "HTTP Basic: Access denied\n"]);
    }
  });

  it("may be a name or an address and a password, unless there is a second factor", async () => {
    expect((await ask("secret/vault", PUSH, basic(PASSWORD, "owner"))).status).toBe(200);
    const { id } = await app.admin.users.get("owner");
    const turnOn =
      "insert into two_factor (user_id, secret, enabled_at, last_step) values (?, 'x', 0, 0)";
    await app.store.transaction((db) => db.run(turnOn, [id]));
    expect((await ask("secret/vault", PUSH, basic(PASSWORD, "owner"))).status).toBe(401);
    expect((await ask("secret/vault", PUSH, basic(tokenOf("owner")))).status).toBe(200);
  });

  it("may be tokens with the scope", async () => {
    const tokenWith = async (...scopes: ("api" | "read_api" | "read_user")[]) => {
      const { token } = await app.admin.tokens.create({ user: "developer", name: "t", scopes });
      return token;
    };
    const reading = await tokenWith("read_api");
    expect((await ask("acme/site", FETCH, basic(reading))).status).toBe(200);
    const push = await ask("acme/site", PUSH, basic(reading));
    expect([push.status, push.text]).toEqual([403, "You are not allowed to upload code.\n"]);
    const other = await ask("acme/site", FETCH, basic(await tokenWith("read_user")));
    expect([other.status, other.text]).toEqual([403, "You are not allowed to download code.\n"]);
  });

  it("may be a CI job's token, for fetching from its project", async () => {
    const made = await app.admin.tokens.createForJob({
      user: "developer",
      project: "secret/vault",
    });
    const job = basic(made.token, "gitlab-ci-token");
    expect((await ask("secret/vault", FETCH, job)).status).toBe(200);
    expect((await ask("secret/vault", PUSH, job)).status).toBe(403);
    expect((await ask("acme/inside", FETCH, job)).status).toBe(404);
    expect((await ask("secret/vault", FETCH, basic(made.token, "other"))).status).toBe(401);
  });
});

describe("addresses", () => {
  const owner = basic(tokenOf("owner"));
  const status = async (request: string, options: object = {}) =>
    (await app.call(request.replace(" /", " http://pm.test/"), options)).status;

  it("without .git lead to those with it", async () => {
    const { status: code, headers } = await app.call(
      `GET http://pm.test/acme/site/info/refs?service=${FETCH}`,
    );
    const location = `http://pm.test/acme/site.git/info/refs?service=${FETCH}`;
    expect([code, headers.get("location")]).toEqual([301, location]);
    expect(await status(`POST /acme/site/${FETCH}`, { headers: owner })).toBe(404);
  });

  it("without a service are for clients that are too old", async () => {
    expect(await status("GET /acme/site.git/info/refs", { headers: owner })).toBe(403);
    expect(await status("GET /acme/site.git/info/refs")).toBe(401);
    expect(await status(`HEAD /acme/site.git/info/refs?service=${FETCH}`)).toBe(403);
    expect(await status("GET /acme/site.git/HEAD")).toBe(404);
  });

  it("answer bodies of Git only", async () => {
    for (const service of [FETCH, PUSH]) {
      const path = `POST /acme/site.git/${service}`;
      const type = { "content-type": `application/x-${service}-request` };
      expect(await status(path, { headers: owner, body: "0000" })).toBe(415);
      expect(await status(path, { headers: { ...owner, ...type }, body: "0000" })).toBe(200);
      expect(await status(path, { headers: { ...owner, ...type }, body: "zzzz" })).toBe(400);
      const gzip = { ...owner, ...type, "content-encoding": "gzip" };
      expect(await status(path, { headers: gzip, body: gzipSync("0000") })).toBe(200);
      expect(await status(path, { headers: gzip, body: "0000" })).toBe(400);
    }
  });

  it("of archived projects take no push", async () => {
    const { json } = await app.call("POST /projects", { as: "owner", json: { name: "Old" } });
    await app.call(`POST /projects/${json.id}/archive`, { as: "owner" });
    const push = await ask("owner/old", PUSH, owner);
    expect([push.status, push.text]).toEqual([
      403,
      "You can't push code to an archived project.\n",
    ]);
    expect((await ask("owner/old", FETCH, owner)).status).toBe(200);
  });
});
