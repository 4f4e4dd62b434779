import { afterEach, beforeEach, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { ask, tell } from "./telling.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(() => server.close());

it("a seed is added to what there is, and may name users that there are", async () => {
  const seed = {
    users: [{ username: "ada", tokens: [{ name: "ci", token: "adas-token" }] }],
    projects: [
      {
        namespace: "acme",
        path: "print",
        members: { ada: "developer" },
        issues: [{ title: "Ink", author: "root", assignees: ["ada"] }],
      },
    ],
  };
  const { status, json } = await tell(server, "POST", "seed", seed);
  expect(status).toBe(201);
  expect(json).toMatchObject({
    users: 1,
    projects: 1,
    issues: 1,
    groups: 0,
    tokens: [{ username: "ada", token: "adas-token" }],
  });
  const issues = await ask(
    { ...server, token: "adas-token" },
    "GET",
    "/projects/acme%2Fprint/issues",
  );
  expect(issues.json).toMatchObject([
    { author: { username: "root" }, assignees: [{ username: "ada" }] },
  ]);
  // Once more: both exist by now.
  const again = await tell(server, "POST", "seed", { projects: seed.projects });
  expect(again).toMatchObject({ status: 400, json: { message: "acme/print is taken" } });
  await server.reset();
  expect((await ask(server, "GET", "/projects/acme%2Fprint")).status).toBe(404);
});

it("a seed may be YAML, whatever it says it is", async () => {
  const yaml = "users:\n  - username: bob\n    tokens:\n      - token: bobs-token\n";
  for (const type of ["application/yaml", "application/x-www-form-urlencoded"]) {
    const response = await fetch(`${server.url}/-/test/seed`, {
      method: "POST",
      headers: { "content-type": type },
      body: yaml,
    });
    expect(response.status).toBe(201);
    expect((await ask({ ...server, token: "bobs-token" }, "GET", "/user")).json.username).toBe(
      "bob",
    );
    await server.reset();
  }
});

it("a seed is refused with the place of the mistake", async () => {
  const messageOf = async (seed: unknown) => {
    const { status, json } = await tell(server, "POST", "seed", seed);
    expect(status).toBe(400);
    return json.message;
  };
  expect(await messageOf({ user: [] })).toMatch(/Did you mean users\?/);
  expect(await messageOf({ groups: [{ path: "x", projects: [{ paht: "y" }] }] })).toMatch(
    /^groups\.0\.projects\.0\.pa(th|ht)/,
  );
  expect(await messageOf({ groups: [{ path: "x", members: { eve: "owner" } }] })).toBe(
    "the seed has no user eve",
  );
  expect(await messageOf('{"users": [\n  {"username": "x",}\n]}')).toMatch(
    /^The body is not JSON: .*line 2 column 20/,
  );
  expect(await messageOf("users:\n  - username: x\n username: y\n")).toMatch(
    /^The body is not YAML: .*line 3/,
  );
  expect(await messageOf("hello")).toMatch(/^seed: must be an object/);
  expect((await ask(server, "GET", "/users?username=x")).json).toEqual([]);
});
