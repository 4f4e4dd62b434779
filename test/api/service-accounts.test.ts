import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PASSWORD, type Person, type TestApp, testApp } from "../helpers.ts";
import { Visitor } from "../visitor.ts";

// Cases R79 and R80 of what GitLab answers.

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const ask = async (request: string, as: Person = "owner", json?: object) => {
  const { status, json: answer } = await app.call(request, { as, ...(json && { json }) });
  return [status, answer];
};

const GENERATED = /^service_account_((group|project)_\d+_)?[0-9a-f]{32}$/;

describe("service accounts of the instance", () => {
  it("are made, listed and changed by administrators, and nobody signs in as one", async () => {
    const [status, made] = await ask("POST /service_accounts", "admin");
    expect([status, made]).toEqual([
      201,
      {
        id: expect.any(Number),
        name: "Service account user",
        username: expect.stringMatching(GENERATED),
        email: `${made.username}@noreply.pm.test`,
      },
    ]);
    const json = { name: "Robot", username: "robot", email: "robot@example.com" };
    const [, robot] = await ask("POST /service_accounts", "admin", json);
    expect(robot).toEqual({ id: robot.id, ...json });
    expect((await ask("GET /service_accounts", "admin"))[1]).toEqual([robot, made]);
    expect((await ask("GET /service_accounts?order_by=username&sort=asc", "admin"))[1]).toEqual([
      robot,
      made,
    ]);
    const changed = { ...robot, name: "R2", username: "r2" };
    expect(
      await ask(`PATCH /service_accounts/${robot.id}`, "admin", { name: "R2", username: "r2" }),
    ).toEqual([200, changed]);
    expect((await ask(`GET /users/${robot.id}`, "admin"))[1]).toMatchObject({
      username: "r2",
      bot: true,
      state: "active",
    });
    expect(await ask("POST /service_accounts", "admin", { username: "owner" })).toEqual([
      400,
      { message: "400 Bad request - Username has already been taken" },
    ]);
    expect(
      await ask(`PATCH /service_accounts/${robot.id}`, "admin", { email: "guest@example.com" }),
    ).toEqual([400, { message: "400 Bad request - Email has already been taken" }]);
    for (const request of ["GET", "POST"]) {
      expect(await ask(`${request} /service_accounts`)).toEqual([
        403,
        { message: "403 Forbidden" },
      ]);
    }
    const { json: guests } = await app.call("GET /users?username=guest", { as: "admin" });
    expect(await ask(`PATCH /service_accounts/${guests[0].id}?name=x`, "admin")).toEqual([
      404,
      { message: "404 User Not Found" },
    ]);
    await ask(`PUT /users/${robot.id}`, "admin", { password: PASSWORD });
    const visitor = new Visitor(app);
    await visitor.get("/users/sign_in");
    const signedIn = await visitor.post("/users/sign_in", { login: "r2", password: PASSWORD });
    expect(signedIn.status).toBe(401);
    const of = async (filter: string) =>
      (await ask(`GET /users?per_page=100&${filter}`, "admin"))[1].map(
        ({ username }: { username: string }) => username,
      );
    expect(await of("humans=true")).not.toContain("r2");
    expect(await of("exclude_humans=true")).toContain("r2");
    const graph = await app.call("POST /api/graphql", {
      as: "owner",
      json: { query: '{ user(username: "r2") { type bot human } }' },
    });
    expect(graph.json.data.user).toEqual({ type: "SERVICE_ACCOUNT", bot: true, human: false });
  });
});

describe.each([
  ["group", "/groups/acme", "maintainer"],
  ["project", "/projects/acme%2Fsite", "developer"],
] as const)("service accounts of a %s", (kind, path, below) => {
  const of = `${path}/service_accounts`;

  it("have tokens, which can be rotated and revoked", async () => {
    const [status, made] = await ask(`POST ${of}`);
    expect([status, made.username]).toEqual([201, expect.stringMatching(GENERATED)]);
    const tokens = `${of}/${made.id}/personal_access_tokens`;
    const [created, token] = await ask(`POST ${tokens}`, "owner", {
      name: "deploy",
      scopes: ["api"],
      description: "for deploying",
      expires_at: "2099-01-01",
    });
    expect([created, token]).toEqual([
      201,
      expect.objectContaining({ name: "deploy", scopes: ["api"], user_id: made.id }),
    ]);
    const who = async (secret: string) => {
      const { status, json } = await app.call("GET /user", {
        headers: { "private-token": secret },
      });
      return [status, json.username];
    };
    expect(await who(token.token)).toEqual([200, made.username]);
    // It is a member of nothing until it is made one.
    const seen = await app.call("GET /projects/secret%2Fvault", {
      headers: { "private-token": token.token },
    });
    expect(seen.status).toBe(404);
    const { token: _, ...shown } = token;
    const active = { ...shown, last_used_at: expect.anything() };
    expect(await ask(`GET ${tokens}?state=active`)).toEqual([
      200,
      [expect.objectContaining({ id: active.id })],
    ]);
    expect(await ask(`GET ${tokens}?search=nothing`)).toEqual([200, []]);
    const [rotated, next] = await ask(`POST ${tokens}/${token.id}/rotate`, "owner", {
      expires_at: "2098-01-01",
    });
    expect([rotated, next]).toEqual([
      200,
      expect.objectContaining({ name: "deploy", expires_at: "2098-01-01" }),
    ]);
    expect((await who(token.token))[0]).toBe(401);
    expect((await who(next.token))[0]).toBe(200);
    expect(await ask(`POST ${tokens}/${token.id}/rotate`)).toEqual([
      400,
      { message: "400 Bad request - Token already revoked" },
    ]);
    expect((await ask(`DELETE ${tokens}/${next.id}`))[0]).toBe(204);
    expect((await who(next.token))[0]).toBe(401);
    expect(await ask(`DELETE ${tokens}/424242`)).toEqual([
      404,
      { message: "404 Personal Access Token Not Found" },
    ]);
    expect(await ask(`POST ${tokens}`, "owner", { name: "x", scopes: ["nonsense"] })).toEqual([
      400,
      { message: { scopes: ["can only contain available scopes"] } },
    ]);
  });

  it("are listed, changed and deleted by who manages them", async () => {
    const [, made] = await ask(`POST ${of}`, "owner", { name: "Deployer" });
    const [, listed] = await ask(`GET ${of}`);
    expect(listed[0]).toEqual(made);
    expect(await ask(`PATCH ${of}/${made.id}`, "owner", { name: "Other" })).toEqual([
      200,
      { ...made, name: "Other" },
    ]);
    for (const request of [`GET ${of}`, `POST ${of}`, `DELETE ${of}/${made.id}`]) {
      expect((await ask(request, below))[0]).toBe(403);
    }
    const elsewhere = kind === "group" ? "/groups/secret" : "/projects/secret%2Fvault";
    expect(await ask(`DELETE ${elsewhere}/service_accounts/${made.id}`, "admin")).toEqual([
      404,
      { message: "404 User Not Found" },
    ]);
    expect((await ask(`DELETE ${of}/${made.id}`))[0]).toBe(204);
    expect(await ask(`DELETE ${of}/${made.id}`)).toEqual([404, { message: "404 User Not Found" }]);
    expect((await ask(`GET /users/${made.id}`, "admin"))[0]).toBe(404);
  });

  it("are as many as there are seats", async () => {
    const { json } = await app.call(`GET ${path}`, { as: "owner" });
    const column = kind === "group" ? "namespace_id" : "project_id";
    const [, listed] = await ask(`GET ${of}?per_page=100`);
    await app.store.transaction(async (db) => {
      for (let at = listed.length; at < 100; at += 1) {
        const name = `${kind}${at}`;
        await db.run(
          "insert into users (username, name, email, created_at, updated_at) values (?, ?, ?, 0, 0)",
          [name, name, name],
        );
        await db.run(
          `insert into service_accounts (user_id, ${column})
           select id, ? from users where username = ?`,
          [json.id, name],
        );
      }
    });
    expect(await ask(`POST ${of}`)).toEqual([
      400,
      {
        message: "400 Bad request - No more seats are available to create Service Account User",
      },
    ]);
  });
});

it("service accounts belong to topmost groups", async () => {
  expect(await ask("POST /groups/acme%2Fteam/service_accounts", "admin")).toEqual([
    400,
    { message: "400 Bad request - Service accounts belong to topmost groups" },
  ]);
});

it("service accounts are blocked once their project is deleted", async () => {
  const [, project] = await ask("POST /projects", "owner", { name: "short" });
  const of = `/projects/${project.id}/service_accounts`;
  const [, { id }] = await ask(`POST ${of}`);
  const [, { token }] = await ask(`POST ${of}/${id}/personal_access_tokens`, "owner", {
    name: "t",
    scopes: ["api"],
  });
  await ask(`DELETE /projects/${project.id}`);
  const { status } = await app.call("GET /user", { headers: { "private-token": token } });
  expect(status).toBe(403);
});
