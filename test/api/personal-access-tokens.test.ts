import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { TokenRecord } from "../../src/index.ts";
import { everyone, type TestApp, testApp, waitFor } from "../helpers.ts";

const START = Date.parse("2026-06-15T12:34:56.789Z");
let clock = START;
let app: TestApp;
beforeAll(async () => {
  app = await testApp({ now: () => clock });
});
afterAll(() => app.dispose());

const admin: TestApp["call"] = (request, options) => app.call(request, { as: "admin", ...options });
const using = (token: string) => ({ headers: { "private-token": token } });

let made = 0;
let username: string;
let userId: number;
beforeEach(async () => {
  made += 1;
  clock = START + made * 86_400_000;
  username = `user${made}`;
  userId = (await app.admin.users.create({ username, name: "U", email: `${username}@example.com` }))
    .id;
});

type Made = TokenRecord & { token: string };
const newToken = (more: Partial<Parameters<TestApp["admin"]["tokens"]["create"]>[0]> = {}) =>
  app.admin.tokens.create({ user: username, name: "laptop", scopes: ["api"], ...more });
const refused = { message: "401 Unauthorized" };

describe("creating for a user", () => {
  const body = { name: "laptop", scopes: ["read_api"] };

  it("is for administrators", async () => {
    const request = `POST /users/${userId}/personal_access_tokens`;
    const statuses: number[] = [];
    for (const as of everyone) {
      statuses.push((await app.call(request, { as, json: body })).status);
    }
    expect(statuses).toEqual([401, 403, 403, 403, 403, 403, 403, 201]);
  });

  it("shows the token once", async () => {
    const { status, json } = await admin(`POST /users/${userId}/personal_access_tokens`, {
      json: { ...body, description: "for the train", expires_at: "2030-01-01" },
    });
    expect([status, json]).toEqual([
      201,
      {
        id: expect.any(Number),
        name: "laptop",
        description: "for the train",
        revoked: false,
        created_at: new Date(clock).toISOString(),
        scopes: ["read_api"],
        user_id: userId,
        last_used_at: null,
        active: true,
        expires_at: "2030-01-01",
        token: expect.stringMatching(/^pmat-[0-9a-f]{40}$/),
      },
    ]);
    const { token, ...rest } = json;
    expect((await admin(`GET /personal_access_tokens/${json.id}`)).json).toEqual(rest);
    expect((await app.call("GET /user", using(token))).json.id).toBe(userId);
    expect((await app.call("POST /projects?name=x", using(token))).status).toBe(403);
  });

  it.each([
    [{ scopes: ["api"] }, '400 (Bad request) "name" not given'],
    [{ name: "x" }, { scopes: ["can't be blank"] }],
    [{ name: "x", scopes: ["root"] }, { scopes: ["can only contain available scopes"] }],
  ])("refuses %j", async (json, message) => {
    const answer = await admin(`POST /users/${userId}/personal_access_tokens`, { json });
    expect([answer.status, answer.json]).toEqual([400, { message }]);
  });

  it("is 404 for an unknown user", async () => {
    const { status, json } = await admin("POST /users/4711/personal_access_tokens", { json: body });
    expect([status, json]).toEqual([404, { message: "404 User Not Found" }]);
  });
});

describe("creating one for oneself", () => {
  const path = "POST /user/personal_access_tokens";

  it("gives a token that can only replace, read and revoke itself, for a day", async () => {
    const json = { name: "Rotated", scopes: ["self_rotate"], description: "By itself" };
    const made = await app.call(path, { as: "developer", json });
    expect([made.status, made.json]).toMatchObject([
      201,
      {
        name: "Rotated",
        description: "By itself",
        scopes: ["self_rotate"],
        active: true,
        expires_at: new Date(clock + 86_400_000).toISOString().slice(0, 10),
        token: expect.any(String),
      },
    ]);
    const { token } = made.json;
    expect((await app.call("GET /personal_access_tokens/self", using(token))).json.id).toBe(
      made.json.id,
    );
    for (const refused of ["GET /user", "GET /projects", path]) {
      const answer = await app.call(refused, {
        ...using(token),
        ...(refused === path && { json }),
      });
      expect([refused, answer.status]).toEqual([refused, 403]);
    }
    const rotated = await app.call("POST /personal_access_tokens/self/rotate", using(token));
    expect([rotated.status, rotated.json]).toMatchObject([
      200,
      { name: "Rotated", scopes: ["self_rotate"], token: expect.any(String) },
    ]);
    expect((await app.call("GET /personal_access_tokens/self", using(token))).status).toBe(401);
    // Other tokens without `api` can't replace themselves.
    const reading = await newToken({ scopes: ["read_api"] });
    const kept = await app.call("POST /personal_access_tokens/self/rotate", using(reading.token));
    expect(kept.status).toBe(403);
  });

  it.each([
    [{ name: "x" }, '400 (Bad request) "scopes" not given'],
    [{ scopes: ["self_rotate"] }, '400 (Bad request) "name" not given'],
    [{ name: "x", scopes: ["api"] }, { scopes: ["does not have a valid value"] }],
    [{ name: "x", scopes: [] }, { scopes: ["can't be blank"] }],
    [
      { name: "x", scopes: ["k8s_proxy"], expires_at: "2999-01-01" },
      { expires_at: [expect.stringMatching(/^must be before \d{4}-\d\d-\d\d$/)] },
    ],
  ])("refuses %j", async (json, message) => {
    const answer = await app.call(path, { as: "developer", json });
    expect([answer.status, answer.json]).toEqual([400, { message }]);
  });

  it("is refused without a user", async () => {
    const json = { name: "x", scopes: ["self_rotate"] };
    expect((await app.call(path, { json })).status).toBe(401);
  });
});

describe("listing", () => {
  it("shows users their own, without impersonation tokens", async () => {
    const one = await newToken();
    await newToken({ impersonation: true });
    const { json, headers } = await app.call("GET /personal_access_tokens", using(one.token));
    expect(json.map(({ id }: Made) => id)).toEqual([one.id]);
    expect(headers.get("x-total")).toBe("1");
    const own = `GET /personal_access_tokens?user_id=${userId}`;
    expect((await app.call(own, using(one.token))).json).toHaveLength(1);
    const others = await app.call("GET /personal_access_tokens?user_id=1", using(one.token));
    expect([others.status, others.json]).toEqual([401, refused]);
  });

  it("shows administrators everybody's, or one user's", async () => {
    const one = await newToken();
    const acting = await newToken({ impersonation: true });
    const { json } = await admin(`GET /personal_access_tokens?user_id=${userId}`);
    expect(json.map(({ id }: Made) => id)).toEqual([one.id, acting.id]);
    const all = await admin("GET /personal_access_tokens?per_page=100");
    expect(all.json.map(({ user_id }: { user_id: number }) => user_id)).toContain(1);
    const nobody = await admin("GET /personal_access_tokens?user_id=4711");
    expect([nobody.status, nobody.json]).toEqual([404, { message: "404 Not Found" }]);
  });

  it("filters and sorts", async () => {
    const day = (days: number) => new Date(START + (made + days) * 86_400_000).toISOString();
    const never = await newToken({ name: "b never" });
    clock += 86_400_000;
    const soon = await newToken({ name: "c soon", expires_at: day(5).slice(0, 10) });
    clock += 86_400_000;
    const over = await newToken({ name: "a OVER", expires_at: day(1).slice(0, 10) });
    clock += 86_400_000;
    const gone = await newToken({ name: "d gone", expires_at: day(9).slice(0, 10) });
    await app.admin.tokens.revoke(gone.id);
    await app.store.transaction((db) =>
      db.run("update tokens set last_used_at = ? where id = ?", [Date.parse(day(1)), soon.id]),
    );
    await app.store.transaction((db) =>
      db.run("update tokens set last_used_at = ? where id = ?", [Date.parse(day(2)), over.id]),
    );
    const names = new Map([never, soon, over, gone].map(({ id, name }) => [id, name.slice(2)]));
    const list = async (query: string) => {
      const { status, json } = await admin(
        `GET /personal_access_tokens?user_id=${userId}&${query}`,
      );
      expect([query, status]).toEqual([query, 200]);
      return json.map(({ id }: Made) => names.get(id)).join(" ");
    };
    const at = (days: number) => encodeURIComponent(day(days));
    const found: Record<string, string> = {};
    const expected = {
      "state=active": "never soon",
      "state=inactive": "OVER gone",
      "revoked=true": "gone",
      "revoked=false": "never soon OVER",
      "search=over": "OVER",
      [`created_before=${at(1)}`]: "never",
      [`created_after=${at(1)}`]: "soon OVER gone",
      [`created_after=${day(1).slice(0, 10)}&created_before=${day(2).slice(0, 10)}`]: "soon",
      [`last_used_before=${at(2)}`]: "soon",
      [`last_used_after=${at(2)}`]: "OVER",
      [`expires_before=${day(6).slice(0, 10)}`]: "soon OVER",
      [`expires_after=${day(5).slice(0, 10)}`]: "soon gone",
      "sort=created_asc": "never soon OVER gone",
      "sort=created_desc": "gone OVER soon never",
      "sort=expires_asc": "OVER soon gone never",
      "sort=expires_desc": "never gone soon OVER",
      "sort=last_used_asc": "never gone soon OVER",
      "sort=last_used_desc": "OVER soon gone never",
      "sort=name_asc": "OVER never soon gone",
      "sort=name_desc": "gone soon never OVER",
      "per_page=1&page=2": "soon",
    };
    for (const query of Object.keys(expected)) found[query] = await list(query);
    expect(found).toEqual(expected);
    for (const query of ["state=dead", "sort=size", "created_after=soon", "revoked=perhaps"]) {
      expect((await admin(`GET /personal_access_tokens?${query}`)).status).toBe(400);
    }
  });
});

describe("one token", () => {
  it("is 401 to other users, whether it exists or not, and 404 to administrators", async () => {
    const { token } = await newToken();
    const acting = await newToken({ impersonation: true });
    const { json: own } = await app.call("GET /personal_access_tokens/self", using(token));
    for (const id of [1, 4711, acting.id]) {
      for (const request of [
        `GET /personal_access_tokens/${id}`,
        `POST /personal_access_tokens/${id}/rotate`,
      ]) {
        const { status, json } = await app.call(request, using(token));
        expect([request, status, json]).toEqual([request, 401, refused]);
      }
    }
    const again = await app.call(`GET /personal_access_tokens/${own.id}`, using(token));
    expect(again.json).toEqual({ ...own, last_used_at: again.json.last_used_at });
    for (const request of [
      "GET /personal_access_tokens/4711",
      "POST /personal_access_tokens/4711/rotate",
    ]) {
      const { status, json } = await admin(request);
      expect([status, json]).toEqual([404, { message: "404 Not Found" }]);
    }
    expect((await admin(`GET /personal_access_tokens/${own.id}`)).json.id).toBe(own.id);
  });

  it("is revoked immediately by its owner or an administrator", async () => {
    for (const by of ["owner", "administrator"]) {
      const { id, token } = await newToken();
      const request = `DELETE /personal_access_tokens/${id}`;
      const answer = by === "owner" ? await app.call(request, using(token)) : await admin(request);
      expect([answer.status, answer.text]).toEqual([204, ""]);
      const used = await app.call("GET /user", using(token));
      expect([used.status, used.json]).toEqual([401, refused]);
    }
    const { token } = await newToken();
    const others = await app.call("DELETE /personal_access_tokens/1", using(token));
    expect([others.status, others.json]).toEqual([400, { message: "400 Bad request" }]);
    const nothing = await app.call("DELETE /personal_access_tokens/4711", using(token));
    expect([nothing.status, nothing.json]).toEqual([404, { message: "404 Not found" }]);
  });

  it("is 412 if it was changed since", async () => {
    const { id } = await newToken();
    const headers = { "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT" };
    expect((await admin(`DELETE /personal_access_tokens/${id}`, { headers })).status).toBe(412);
  });

  it("can show and revoke itself, whatever its scope", async () => {
    for (const scope of ["api", "read_api", "read_user", "sudo"] as const) {
      for (const impersonation of [false, true]) {
        const { id, token } = await newToken({ scopes: [scope], impersonation });
        const self = await app.call("GET /personal_access_tokens/self", using(token));
        expect([self.status, self.json.id, self.json.scopes]).toEqual([200, id, [scope]]);
        expect((await app.call("DELETE /personal_access_tokens/self", using(token))).status).toBe(
          204,
        );
        expect((await app.call("GET /personal_access_tokens/self", using(token))).status).toBe(401);
      }
    }
  });
});

describe("rotating", () => {
  it("replaces it by a new token of the same kind, and answers 200", async () => {
    const old = await newToken({ scopes: ["api", "read_user"], name: "ci" });
    const { status, json } = await app.call(
      "POST /personal_access_tokens/self/rotate",
      using(old.token),
    );
    expect([status, json]).toEqual([
      200,
      {
        id: expect.any(Number),
        name: "ci",
        description: null,
        revoked: false,
        created_at: new Date(clock).toISOString(),
        scopes: ["api", "read_user"],
        user_id: userId,
        last_used_at: null,
        active: true,
        expires_at: null,
        token: expect.stringMatching(/^pmat-/),
      },
    ]);
    expect(json.id).not.toBe(old.id);
    expect((await app.call("GET /user", using(old.token))).status).toBe(401);
    expect((await app.call("GET /user", using(json.token))).status).toBe(200);
    const later = await app.call(
      `POST /personal_access_tokens/${json.id}/rotate?expires_at=2031-01-02`,
      using(json.token),
    );
    expect([later.status, later.json.expires_at]).toEqual([200, "2031-01-02"]);
  });

  it("expires in a week if the old one had an expiry date, and stays an impersonation token", async () => {
    const old = await newToken({ expires_at: "2030-01-01", impersonation: true });
    const { json } = await admin(`POST /personal_access_tokens/${old.id}/rotate`);
    expect(json.expires_at).toBe(new Date(clock + 7 * 86_400_000).toISOString().slice(0, 10));
    const { json: list } = await admin(`GET /users/${userId}/impersonation_tokens?state=active`);
    expect(list.map(({ id }: Made) => id)).toEqual([json.id]);
  });

  it("requires the scope api", async () => {
    const { token } = await newToken({ scopes: ["read_api", "read_user"] });
    const { status, json } = await app.call(
      "POST /personal_access_tokens/self/rotate",
      using(token),
    );
    expect([status, json.error]).toEqual([403, "insufficient_scope"]);
  });

  it("refuses a revoked token", async () => {
    const { id } = await newToken();
    await app.admin.tokens.revoke(id);
    const { status, json } = await admin(`POST /personal_access_tokens/${id}/rotate`);
    expect([status, json]).toEqual([400, { message: "400 Bad request - Token already revoked" }]);
  });

  it("revokes the whole family when a rotated token is rotated again", async () => {
    const first = await newToken();
    const rotate = (token: string) =>
      app.call("POST /personal_access_tokens/self/rotate", using(token));
    const second = (await rotate(first.token)).json;
    const third = (await rotate(second.token)).json;
    const other = await newToken({ name: "other" });
    // But merely using the old one, as a job might, revokes nothing.
    expect((await app.call("GET /user", using(second.token))).status).toBe(401);
    expect((await app.call("GET /user", using(third.token))).status).toBe(200);
    const again = await rotate(first.token);
    expect([again.status, again.json]).toEqual([401, refused]);
    expect((await app.call("GET /user", using(third.token))).status).toBe(401);
    expect((await app.call("GET /user", using(other.token))).status).toBe(200);
    const events = await app.admin.auditEvents.list({ action: "reuse of a token detected" });
    expect(events).toMatchObject([{ user: username, target: "laptop" }]);
  });

  it("has one winner among concurrent calls", async () => {
    const { token } = await newToken();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        app.call("POST /personal_access_tokens/self/rotate", using(token)),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });
});

describe("last_used_at", () => {
  const lastUse = async (id: number) =>
    (await admin(`GET /personal_access_tokens/${id}`)).json.last_used_at;

  it("is written after the answer, at most once a minute", async () => {
    const { id, token } = await newToken();
    const use = () => app.call("GET /user", using(token));
    const first = new Date(clock).toISOString();
    await use();
    await waitFor(async () => (await lastUse(id)) === first);
    const before = app.activity.filter((sql) => sql.startsWith("update tokens")).length;
    for (const seconds of [1, 20, 59]) {
      clock = Date.parse(first) + seconds * 1000;
      await use();
      await use();
    }
    clock = Date.parse(first) + 60_000;
    await use();
    await waitFor(async () => (await lastUse(id)) === new Date(clock).toISOString());
    const updates = app.activity.filter((sql) => sql.startsWith("update tokens"));
    // One for this token, one for the administrator who looked.
    expect(updates.length - before).toBeLessThanOrEqual(2);
    const [record] = await app.admin.tokens.list({ user: username });
    expect(record?.last_used_at).toBe(new Date(clock).toISOString());
  });

  it("is not written by two servers within the same minute", async () => {
    const { id, token } = await newToken();
    await app.call("GET /user", using(token));
    await waitFor(async () => (await lastUse(id)) !== null);
    const first = await lastUse(id);
    clock += 30_000;
    const other = await app.another();
    await other.call("GET /user", using(token));
    await other.close();
    expect(await lastUse(id)).toBe(first);
  });

  it("is not lost when the application closes", async () => {
    const { id, token } = await newToken();
    const other = await app.another();
    expect((await other.call("GET /user", using(token))).status).toBe(200);
    await other.close();
    expect(await lastUse(id)).toBe(new Date(clock).toISOString());
  });

  it("does not make reads wait for writers", async () => {
    const { token } = await newToken();
    await app.store.transaction(async (db) => {
      await db.run("update users set bio = 'x' where id = 1");
      expect((await app.call("GET /user", using(token))).status).toBe(200);
    });
  });
});
