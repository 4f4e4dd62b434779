import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PASSWORD, type TestApp, testApp } from "../helpers.ts";
import { Visitor } from "../visitor.ts";

// Cases R31 to R36 of what GitLab answers.

const DAY = 86_400_000;
let now = Date.parse("2026-06-15T12:34:56.789Z");

let app: TestApp;
const ids: Record<string, number> = {};
beforeAll(async () => {
  app = await testApp({ now: () => now });
  for (const { username, id } of (await app.call("GET /users?per_page=100", { as: "admin" }))
    .json) {
    ids[username] = id;
  }
});
afterAll(() => app.dispose());

const asAdmin = async (request: string) => {
  const { status, json } = await app.call(request, { as: "admin" });
  return [status, json];
};
const move = (name: string, user: number | undefined) => asAdmin(`POST /users/${user}/${name}`);
const stateOf = async (user: number | undefined) =>
  (await app.call(`GET /users/${user}`, { as: "admin" })).json.state;

let made = 0;
/** A new user with a token, in a state. */
async function newUser(state: "active" | "blocked_pending_approval" = "active") {
  made += 1;
  const username = `moderated${made}`;
  const user = { username, name: username, email: `${username}@example.com` };
  const { id } = await app.admin.users.create({ ...user, password: PASSWORD });
  const { token } = await app.admin.tokens.create({ user: username, name: "t", scopes: ["api"] });
  if (state !== "active") await app.admin.users.update(username, { state });
  const ask = async (request = "GET /user") => {
    const { status, json } = await app.call(request, { headers: { "private-token": token } });
    return [status, json.message ?? json.username];
  };
  return { id, username, token, ask };
}

const DEACTIVATED =
  "403 Forbidden - Your account has been deactivated by your administrator. Please log back in from a web browser to reactivate your account.";

describe("users", () => {
  it("are deactivated and activated", async () => {
    const user = await newUser();
    expect(await move("deactivate", user.id)).toEqual([201, true]);
    expect(await stateOf(user.id)).toBe("deactivated");
    expect(await user.ask()).toEqual([403, DEACTIVATED]);
    expect(await move("deactivate", user.id)).toEqual([201, null]);
    expect(await move("unblock", user.id)).toEqual([
      403,
      { message: "403 Forbidden - Deactivated users cannot be unblocked by the API" },
    ]);
    const listed = await app.call("GET /users?deactivated=true", { as: "admin" });
    expect(listed.json.map(({ id }: { id: number }) => id)).toEqual([user.id]);
    expect(await move("activate", user.id)).toEqual([201, true]);
    expect(await move("activate", user.id)).toEqual([201, true]);
    expect(await user.ask()).toEqual([200, user.username]);
  });

  it("are not deactivated while blocked, active, or no person", async () => {
    expect(await move("activate", ids["blocked"])).toEqual([
      403,
      { message: "Error occurred. A blocked user must be unblocked to be activated" },
    ]);
    expect(await move("deactivate", ids["blocked"])).toEqual([
      403,
      { message: "Error occurred. A blocked user cannot be deactivated" },
    ]);
    const user = await newUser();
    await user.ask();
    await app.store.transaction((db) =>
      db.run("update users set last_activity_on = '2026-06-15' where id = ?", [user.id]),
    );
    const active = (days: number) => ({
      message: `The user you are trying to deactivate has been active in the past ${days} days and cannot be deactivated`,
    });
    expect(await move("deactivate", user.id)).toEqual([403, active(90)]);
    const settings = "PUT /application/settings?deactivate_dormant_users_period";
    await asAdmin(`${settings}=30`);
    expect(await move("deactivate", user.id)).toEqual([403, active(30)]);
    now += 31 * DAY;
    expect(await move("deactivate", user.id)).toEqual([201, true]);
    now -= 31 * DAY;
    await asAdmin(`${settings}=90`);
    const json = { name: "bot", scopes: ["api"], access_level: 30, expires_at: "2026-07-01" };
    const bot = await app.call("POST /projects/acme%2Fsite/access_tokens", { as: "owner", json });
    expect(await move("deactivate", bot.json.user_id)).toEqual([
      403,
      { message: "Internal users cannot be deactivated" },
    ]);
  });

  it("are approved or rejected", async () => {
    const user = await newUser("blocked_pending_approval");
    expect(await user.ask()).toEqual([
      403,
      "403 Forbidden - Your account is pending approval from your administrator and hence blocked.",
    ]);
    expect(await move("block", user.id)).toEqual([201, null]);
    expect(await move("approve", user.id)).toEqual([201, { message: "Success" }]);
    expect(await user.ask()).toEqual([200, user.username]);
    expect(await move("approve", user.id)).toEqual([
      409,
      { message: "The user you are trying to approve is not pending approval" },
    ]);
    expect(await move("reject", user.id)).toEqual([
      409,
      { message: "This user does not have a pending request" },
    ]);
    const other = await newUser("blocked_pending_approval");
    expect(await move("reject", other.id)).toEqual([200, { message: "Success" }]);
    expect(await asAdmin(`GET /users/${other.id}`)).toEqual([
      404,
      { message: "404 User Not Found" },
    ]);
  });

  it("are banned, which hides what they wrote from all but administrators", async () => {
    const user = await newUser();
    await app.call(`POST /projects/acme%2Fsite/members`, {
      as: "owner",
      json: { user_id: user.id, access_level: 30 },
    });
    const headers = { "private-token": user.token };
    const project = "/projects/acme%2Fsite";
    const written = await app.call(`POST ${project}/issues`, { headers, json: { title: "Spam" } });
    const request = await app.call(`POST ${project}/merge_requests`, {
      headers,
      json: { title: "Spam", source_branch: "spam", target_branch: "main" },
    });
    expect([written.status, request.status]).toEqual([201, 201]);
    const other = await app.call(`POST ${project}/issues`, { as: "owner", json: { title: "Ham" } });
    const notes = `${project}/issues/${other.json.iid}/notes`;
    await app.call(`POST ${notes}`, { headers, json: { body: "Buy" } });
    const seen = async (as: "owner" | "admin" | "stranger") => {
      const of = async (path: string) => {
        const { status, json } = await app.call(`GET ${path}`, { as });
        return Array.isArray(json) ? json.length : status;
      };
      return [
        await of(`${project}/issues?search=Spam`),
        await of(`${project}/issues/${written.json.iid}`),
        await of(`${project}/merge_requests?search=Spam`),
        await of(`${project}/merge_requests/${request.json.iid}`),
        await of(notes),
      ];
    };
    expect(await seen("owner")).toEqual([1, 200, 1, 200, 1]);
    expect(await move("ban", user.id)).toEqual([201, true]);
    expect(await user.ask()).toEqual([403, "403 Forbidden - Your account has been blocked."]);
    expect(await seen("owner")).toEqual([0, 404, 0, 404, 0]);
    expect(await seen("stranger")).toEqual([0, 404, 0, 404, 0]);
    expect(await seen("admin")).toEqual([1, 200, 1, 200, 1]);
    const graph = await app.call("POST /api/graphql", {
      as: "owner",
      json: {
        query: `{ user(username: "${user.username}") { state }
          project(fullPath: "acme/site") { issues(search: "Spam") { nodes { iid } }
            mergeRequests(iids: ["${request.json.iid}"]) { nodes { iid } } } }`,
      },
    });
    expect(graph.json.data).toEqual({
      user: { state: "banned" },
      project: { issues: { nodes: [] }, mergeRequests: { nodes: [] } },
    });
    for (const name of ["ban", "block", "unblock"] as const) {
      const answers = { ban: [403, { message: "You cannot ban banned users." }] };
      const answer = { ...answers, block: [201, null], unblock: [201, false] }[name];
      expect(await move(name, user.id)).toEqual(answer);
    }
    expect(await move("unban", user.id)).toEqual([201, true]);
    expect(await move("unban", user.id)).toEqual([
      403,
      { message: "You cannot unban active users." },
    ]);
    expect(await seen("owner")).toEqual([1, 200, 1, 200, 1]);
    expect(await user.ask()).toEqual([200, user.username]);
  });

  it.each(["blocked", "deactivated", "banned", "blocked_pending_approval"] as const)(
    "who are %s are let in nowhere",
    async (state) => {
      const user = await newUser();
      const login = await app.fetch(
        new Request("http://pm.test/oauth/token", {
          method: "POST",
          body: new URLSearchParams({
            grant_type: "password",
            username: user.username,
            password: PASSWORD,
          }),
        }),
      );
      expect(login.status).toBe(200);
      const { access_token } = (await login.json()) as { access_token: string };
      const doors = async () => {
        const bearer = { authorization: `Bearer ${access_token}` };
        const basic = (password: string) => ({
          authorization: `Basic ${Buffer.from(`${user.username}:${password}`).toString("base64")}`,
        });
        const git = "http://pm.test/acme/site.git/info/refs?service=git-upload-pack";
        const json = { query: "{ currentUser { username } }" };
        const granted = await app.fetch(
          new Request("http://pm.test/oauth/token", {
            method: "POST",
            body: new URLSearchParams({
              grant_type: "password",
              username: user.username,
              password: PASSWORD,
            }),
          }),
        );
        return [
          (await user.ask())[0],
          (await app.call("GET /user", { headers: bearer })).status,
          (
            await app.call("POST /api/graphql", {
              headers: { "private-token": user.token },
              json,
            })
          ).status,
          (await app.call(`GET ${git}`, { headers: basic(user.token) })).status,
          (await app.call(`GET ${git}`, { headers: basic(PASSWORD) })).status,
          granted.status,
        ];
      };
      expect(await doors()).toEqual([200, 200, 200, 200, 200, 200]);
      await app.admin.users.update(user.username, { state });
      expect(await doors()).toEqual([403, 403, 403, 401, 401, 400]);
      const listed = await app.call(`GET /users?username=${user.username}`, { as: "admin" });
      expect(listed.json[0].state).toBe(state);
      await app.admin.users.update(user.username, { state: "active" });
      expect((await user.ask())[0]).toBe(200);
    },
  );

  it("become active by signing in if they are deactivated, and only then", async () => {
    const user = await newUser();
    await move("deactivate", user.id);
    const visitor = new Visitor(app);
    await visitor.get("/users/sign_in");
    const sent = { login: user.username, password: PASSWORD };
    expect((await visitor.post("/users/sign_in", sent)).status).toBe(303);
    expect(await stateOf(user.id)).toBe("active");
    const audited = await app.admin.auditEvents.list({ user: user.username, limit: 3 });
    expect(audited.map(({ action }) => action)).toEqual([
      "signed in",
      "user activated",
      "user deactivated",
    ]);
    for (const state of ["banned", "blocked_pending_approval"] as const) {
      await app.admin.users.update(user.username, { state });
      const other = new Visitor(app);
      await other.get("/users/sign_in");
      expect((await other.post("/users/sign_in", sent)).status).toBe(401);
      expect(await stateOf(user.id)).toBe(state);
    }
  });

  it("of an embedding app become active by being signed in there", async () => {
    const host = await testApp({ authenticate: () => "guest" });
    await host.admin.users.update("guest", { state: "deactivated" });
    expect((await host.call("GET /user")).json).toMatchObject({ state: "active" });
    expect(await host.admin.users.get("guest")).toMatchObject({ state: "active" });
    await host.dispose();
  });

  it("are deactivated by the daily sweep if the settings say so", async () => {
    const [idle, never, busy] = [await newUser(), await newUser(), await newUser()];
    await app.store.transaction(async (db) => {
      await db.run("update users set last_activity_on = '2026-03-01' where id = ?", [idle.id]);
      await db.run("update users set last_activity_on = '2026-06-01' where id = ?", [busy.id]);
      await db.run("update users set created_at = ? where id = ?", [now - 91 * DAY, never.id]);
    });
    const states = () => Promise.all([idle, never, busy].map(({ id }) => stateOf(id)));
    await app.admin.maintenance.sweepDaily();
    expect(await states()).toEqual(["active", "active", "active"]);
    await asAdmin("PUT /application/settings?deactivate_dormant_users=true");
    now += DAY;
    await app.admin.maintenance.sweepDaily();
    expect(await states()).toEqual(["deactivated", "deactivated", "active"]);
    expect(await stateOf(ids["admin"])).toBe("active");
  });

  it("are moderated by administrators only, and only if they exist", async () => {
    for (const name of ["activate", "deactivate", "approve", "reject", "ban", "unban"]) {
      const { status, json } = await app.call(`POST /users/${ids["guest"]}/${name}`, {
        as: "developer",
      });
      expect([status, json]).toEqual([403, { message: "403 Forbidden" }]);
      expect(await move(name, 424242)).toEqual([404, { message: "404 User Not Found" }]);
    }
  });

  it("are not locked out if they are the last administrator", async () => {
    for (const name of ["ban", "deactivate"]) {
      const [status] = await move(name, ids["admin"]);
      expect(status).toBe(403);
    }
    expect(await stateOf(ids["admin"])).toBe("active");
  });
});

describe("two-factor authentication", () => {
  it("is turned off for others than administrators", async () => {
    const off = (user: number | undefined) => asAdmin(`PATCH /users/${user}/disable_two_factor`);
    const user = await newUser();
    expect(await off(user.id)).toEqual([
      400,
      { message: "400 Bad request - Two-factor authentication is not enabled for this user" },
    ]);
    await app.store.transaction((db) =>
      db.run(
        "insert into two_factor (user_id, secret, enabled_at, last_step) values (?, 's', 1, 0)",
        [user.id],
      ),
    );
    expect((await off(user.id))[0]).toBe(204);
    expect((await asAdmin(`GET /users/${user.id}`))[1].two_factor_enabled).toBe(false);
    const [status, json] = await off(ids["admin"]);
    expect([status, json.message]).toEqual([
      403,
      "403 Forbidden - Two-factor authentication for admins cannot be disabled via the API. Use the Rails console",
    ]);
  });
});
