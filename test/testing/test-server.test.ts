import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";
import { SeedError } from "../../src/index.ts";
import {
  type Seed,
  startTestServer,
  type TestServer,
  type TestServerOptions,
} from "../../src/testing.ts";

const running: TestServer[] = [];
async function start(options?: TestServerOptions): Promise<TestServer> {
  const server = await startTestServer(options);
  running.push(server);
  return server;
}
afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
});

/** Calls a server: `get(server, "/user")`, with the server's own token by default. */
async function call(
  server: TestServer,
  path: string,
  { token = server.token, ...init }: RequestInit & { token?: string } = {},
) {
  const response = await fetch(`${server.url}/api/v4${path}`, {
    ...init,
    headers: { "private-token": token, "content-type": "application/json" },
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type") === "application/json";
  return {
    status: response.status,
    headers: response.headers,
    json: isJson ? JSON.parse(text) : text,
  };
}

const created = { method: "POST", body: JSON.stringify({ name: "New", path: "new" }) };

describe("starting", () => {
  it("serves a small seed to its administrator by default", async () => {
    const server = await start();
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await call(server, "/user")).json).toMatchObject({ username: "root", is_admin: true });
    const boards = await call(server, "/groups/acme/boards");
    expect(boards.json).toMatchObject([
      { name: "Development", lists: [{ label: { name: "bug" } }, { label: { name: "feature" } }] },
    ]);
    const projects = await call(server, "/groups/acme/projects");
    expect(projects.headers.get("x-total")).toBe("2");
  });

  it("isolates servers from each other", async () => {
    const [one, other] = [await start(), await start()];
    await call(one, "/groups", created);
    expect((await call(one, "/groups/new")).status).toBe(200);
    expect((await call(other, "/groups/new")).status).toBe(404);
    expect((await call(other, "/user", { token: one.token })).status).toBe(401);
  });

  it("accepts the limits and the tier of an application", async () => {
    const server = await start({
      tier: "free",
      limits: { perPage: 1, maxPerPage: 1, countedTotal: 1, bodyBytes: 100 },
    });
    const page = await call(server, "/groups/acme/projects?per_page=50");
    expect(page.json).toHaveLength(1);
    expect(page.headers.get("x-total")).toBeNull();
    const board = { method: "POST", body: JSON.stringify({ name: "Second" }) };
    expect((await call(server, "/groups/acme/boards", board)).status).toBe(403);
    const large = { method: "POST", body: JSON.stringify({ name: "x".repeat(100) }) };
    expect((await call(server, "/groups", large)).status).toBe(413);
  });

  it("answers any number of requests at once", async () => {
    await using server = await startTestServer();
    const asked = Array.from({ length: 1200 }, () => call(server, "/user"));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect([...new Set(statuses)]).toEqual([200]);
  });

  it("can be disposed of", async () => {
    let url: string;
    {
      await using server = await startTestServer();
      url = server.url;
      expect((await call(server, "/user")).status).toBe(200);
    }
    await expect(fetch(url)).rejects.toThrow();
  });

  it("can be closed twice", async () => {
    const server = await startTestServer();
    await Promise.all([server.close(), server.close()]);
    await server.close();
  });
});

describe("the seed", () => {
  const ann = { username: "ann" };
  const root = { username: "root", admin: true };
  const whose = async (seed: Seed) =>
    (await call(await start({ seed }), "/user")).json.username as string;

  it("can be a JSON file, by path, URL or URL as text", async () => {
    const folder = await mkdtemp(join(tmpdir(), "pm-api-seed-"));
    const file = join(folder, "seed.json");
    await writeFile(file, JSON.stringify({ users: [ann] }));
    for (const seed of [file, pathToFileURL(file), pathToFileURL(file).href]) {
      expect((await call(await start({ seed }), "/user")).json.username).toBe("ann");
    }
    await writeFile(file, "users: none");
    await expect(startTestServer({ seed: file })).rejects.toThrow(SeedError);
    await expect(startTestServer({ seed: file })).rejects.toThrow(/seed\.json is not JSON/);
    await rm(folder, { recursive: true });
    await expect(startTestServer({ seed: file })).rejects.toThrow(/ENOENT/);
  });

  it("uses its administrator's token, else its first user's", async () => {
    const tokens = [{ token: "mine" }];
    expect(await whose({ users: [{ ...ann, tokens }, root] })).toBe("ann");
    expect(
      await whose({
        users: [
          { ...ann, tokens },
          { ...root, tokens: [{}] },
        ],
      }),
    ).toBe("root");
    const server = await start({ seed: { users: [ann, { username: "bob", tokens }] } });
    expect(server.token).toBe("mine");
  });

  it("issues a token if nobody has a valid one", async () => {
    expect(await whose({ users: [ann, root] })).toBe("root");
    expect(await whose({ users: [ann, { username: "bob" }] })).toBe("ann");
    for (const state of ["blocked", "banned", "deactivated"] as const) {
      expect(await whose({ users: [{ ...ann, state }, { username: "bob" }] })).toBe("bob");
    }
    const expired = [{ token: "old", expires_at: "2020-01-01" }];
    expect(await whose({ users: [{ ...ann, tokens: expired }] })).toBe("ann");
  });

  it("adds an administrator if it has no users", async () => {
    expect(await whose({})).toBe("root");
    expect(await whose({ users: [{ ...ann, state: "blocked" }] })).toBe("root");
  });

  it("may be an imported JSON file, whose words TypeScript types as string", async () => {
    const users = [{ username: "ann", state: "active" as string, tokens: [{ scopes: ["api"] }] }];
    const members: Record<string, string> = { ann: "owner" };
    const server = await start({
      seed: { users, groups: [{ path: "acme", visibility: "public" as string, members }] },
    });
    expect(await server.admin.members.list({ group: "acme" })).toMatchObject([{ role: "owner" }]);
  });

  it("is not modified", async () => {
    const seed: Seed = { users: [ann] };
    await start({ seed });
    expect(seed).toEqual({ users: [ann] });
  });

  it.each([
    [{ users: [{ name: "Nameless" }] }, /users\.0\.username: is missing/],
    [{ users: [{ usernme: "ann" }] }, /users\.0\.usernme: is unknown\. Did you mean username\?/],
    [{ groups: [{ path: "a", visibility: "publik" }] }, /visibility: must be one of private, int/],
    [{ users: null }, /users/],
    [{ users: [null] }, /users\.0/],
    [{ users: [{ username: "ann", tokens: "none" }] }, /users\.0\.tokens/],
    [{ groups: [{ path: "acme", members: { nobody: "owner" } }] }, /no user nobody/],
    [null, /seed/],
  ])("reports what is wrong with %j", async (seed, message) => {
    const failure = startTestServer({ seed: seed as Seed });
    await expect(failure).rejects.toThrow(SeedError);
    await expect(failure).rejects.toThrow(message);
  });
});

describe("the clock", () => {
  const newProject = async (server: TestServer, name: string) => {
    const body = JSON.stringify({ name });
    return (await call(server, "/projects", { method: "POST", body })).json.created_at;
  };

  it.each([
    "2026-02-03T04:05:06.789Z",
    new Date("2026-02-03T04:05:06.789Z"),
    Date.parse("2026-02-03T04:05:06.789Z"),
  ])("stands still at %s", async (now) => {
    const server = await start({ now });
    expect(await newProject(server, "one")).toBe("2026-02-03T04:05:06.789Z");
    server.clock.advance(1000);
    expect(await newProject(server, "two")).toBe("2026-02-03T04:05:07.789Z");
    server.clock.set("2027-01-01T00:00:00Z");
    expect(await newProject(server, "three")).toBe("2027-01-01T00:00:00.000Z");
    expect(server.clock.now()).toBe(Date.parse("2027-01-01T00:00:00Z"));
  });

  it("runs by default, and after being advanced", async () => {
    const server = await start();
    /** Whether it shows the real time, or a later one. */
    const isAhead = (milliseconds: number) => {
      const before = Date.now();
      const shown = server.clock.now() - milliseconds;
      return before <= shown && shown <= Date.now();
    };
    expect(isAhead(0)).toBe(true);
    server.clock.advance(86_400_000);
    expect(isAhead(86_400_000)).toBe(true);
    server.clock.set(0);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(server.clock.now()).toBe(0);
  });

  it("follows fake timers", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: new Date("2001-02-03T04:05:06Z") });
    try {
      const server = await start();
      expect(await newProject(server, "one")).toBe("2001-02-03T04:05:06.000Z");
    } finally {
      vi.useRealTimers();
    }
  });

  it("expires tokens", async () => {
    const seed: Seed = {
      users: [{ username: "ann", tokens: [{ token: "brief", expires_at: "2026-01-02" }] }],
    };
    const server = await start({ seed, now: "2026-01-01T23:59:59Z" });
    expect(server.token).toBe("brief");
    expect((await call(server, "/user")).status).toBe(200);
    server.clock.advance(1000);
    expect((await call(server, "/user")).status).toBe(401);
  });

  it("refuses invalid instants", async () => {
    await expect(startTestServer({ now: "yesterday" })).rejects.toThrow(TypeError);
    const server = await start();
    expect(() => server.clock.set(Number.NaN)).toThrow(TypeError);
    expect(() => server.clock.advance(Number.NaN)).toThrow(TypeError);
  });
});

describe("reset", () => {
  it("restores the seed with its ids and tokens", async () => {
    const server = await start({ now: "2026-01-01T00:00:00Z" });
    const state = async () =>
      Promise.all(
        ["/user", "/groups/acme", "/groups/acme/boards", "/groups/acme/labels", "/version"].map(
          async (path) => (await call(server, path)).json,
        ),
      );
    const before = await state();
    const first = (await call(server, "/groups", created)).json;
    await call(server, "/groups/acme/labels/bug", { method: "DELETE" });
    await server.reset();
    expect(await state()).toEqual(before);
    expect((await call(server, "/groups", created)).json).toEqual(first);
  });

  it("keeps generated tokens", async () => {
    const seed: Seed = {
      users: [
        { username: "ann", tokens: [{ name: "first" }, { name: "second", token: "known" }] },
        { username: "root", admin: true, tokens: [{}] },
      ],
    };
    const server = await start({ seed });
    const { token } = server;
    for (let round = 0; round < 3; round += 1) {
      expect(server.token).toBe(token);
      expect((await call(server, "/user")).json.username).toBe("root");
      expect((await call(server, "/user", { token: "known" })).json.username).toBe("ann");
      await server.reset();
    }
  });

  it("restores the clock, the faults and an empty list of requests", async () => {
    const server = await start({
      now: "2026-01-01T00:00:00Z",
      faults: [{ path: "/api/v4/version", status: 503 }],
      rateLimit: { requests: 2, retryAfter: 60 },
    });
    for (let round = 0; round < 2; round += 1) {
      expect(server.requests).toEqual([]);
      expect(server.clock.now()).toBe(Date.parse("2026-01-01T00:00:00Z"));
      expect((await call(server, "/version")).status).toBe(503);
      server.faults.add({ path: "/api/v4/user", status: 500, times: Infinity });
      expect((await call(server, "/user")).status).toBe(500);
      expect((await call(server, "/user")).status).toBe(429);
      expect(server.requests.map(({ status }) => status)).toEqual([503, 500, 429]);
      server.clock.set("2030-01-01T00:00:00Z");
      await server.reset();
    }
  });

  it("leaves nothing stale, not even destructured methods", async () => {
    const server = await start();
    const { admin, app, clock } = server;
    const { createUser, listUsers } = admin;
    const user = { username: "ann", name: "Ann", email: "ann@example.com" };
    for (let round = 0; round < 2; round += 1) {
      await createUser(user);
      expect((await listUsers()).map(({ username }) => username)).toEqual(["root", "ann"]);
      expect(await app.admin.users.list()).toHaveLength(2);
      const health = await app.fetch(new Request("http://pm.test/-/health"));
      expect(health.status).toBe(200);
      clock.set(0);
      await server.reset();
      expect(clock.now()).toBeGreaterThan(0);
    }
  });

  it("keeps listeners, unless they were ended", async () => {
    const server = await start();
    const told: string[] = [];
    const off = await server.app.on("group", ({ payload }) => told.push(payload.full_path));
    for (let round = 1; round <= 2; round += 1) {
      await call(server, "/groups", created);
      await expect.poll(() => told.length).toBe(round);
      await server.reset();
    }
    await off();
    await call(server, "/groups", created);
    await server.reset();
    expect(told).toHaveLength(2);
  });

  it("lets running requests finish", async () => {
    const server = await start({ faults: [{ delay: 50 }] });
    const slow = call(server, "/groups/acme");
    await expect.poll(() => server.requests.length).toBe(1);
    await server.reset();
    expect((await slow).status).toBe(200);
  });
});

describe("the rate limit", () => {
  it("is enforced until Retry-After has passed, and then starts anew", async () => {
    const server = await start({ rateLimit: { requests: 2, retryAfter: 1 } });
    const statuses = async (count: number) => {
      const all: number[] = [];
      for (let at = 0; at < count; at += 1) all.push((await call(server, "/user")).status);
      return all;
    };
    expect(await statuses(4)).toEqual([200, 200, 429, 429]);
    const refused = await call(server, "/user");
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(refused.headers.get("content-type")).toBe("text/plain");
    expect(refused.json).toBe("Retry later\n");
    await new Promise((resolve) => setTimeout(resolve, 1010));
    expect(await statuses(3)).toEqual([200, 200, 429]);
  });

  it("refuses one request after each full quota if retryAfter is 0", async () => {
    const server = await start({ rateLimit: { requests: 2, retryAfter: 0 } });
    for (let at = 0; at < 7; at += 1) await call(server, "/user");
    const statuses = server.requests.map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 429, 200, 200, 429, 200]);
  });
});

describe("faults", () => {
  it("apply to matching requests, as often as configured", async () => {
    const server = await start();
    server.faults.add({ method: "post", path: "/api/v4/groups", status: 502, times: 2 });
    expect((await call(server, "/groups")).status).toBe(200);
    expect((await call(server, "/groups", created)).status).toBe(502);
    expect((await call(server, "/groups/acme")).status).toBe(200);
    expect((await call(server, "/groups", created)).status).toBe(502);
    expect((await call(server, "/groups", created)).status).toBe(201);
  });

  it("match a path by a pattern, regardless of its flags, and ignore the query", async () => {
    const server = await start();
    server.faults.add({ path: /\/boards\/\d+$/g, status: 500, times: Infinity });
    expect((await call(server, "/groups/acme/boards")).status).toBe(200);
    for (let at = 0; at < 3; at += 1) {
      expect((await call(server, "/groups/acme/boards/1?x=1")).status).toBe(500);
    }
    server.faults.clear();
    expect((await call(server, "/groups/acme/boards/1")).status).toBe(200);
  });

  it("can wait for the Nth request, and apply one after another", async () => {
    const server = await start({ faults: [{ after: 1, status: 503 }, { status: 502 }] });
    server.faults.add({ status: 500 });
    const statuses: number[] = [];
    for (let at = 0; at < 4; at += 1) statuses.push((await call(server, "/user")).status);
    expect(statuses).toEqual([502, 503, 500, 200]);
  });

  it("answer like GitLab by default", async () => {
    const server = await start();
    const faulty = async (fault: Parameters<typeof server.faults.add>[0]) => {
      server.faults.add(fault);
      const { status, headers, json } = await call(server, "/user");
      return [status, headers.get("content-type"), json];
    };
    const type = "application/json";
    expect(await faulty({})).toEqual([500, type, { message: "500 Internal Server Error" }]);
    expect(await faulty({ status: 503 })).toEqual([
      503,
      type,
      { message: "503 Service Unavailable" },
    ]);
    expect(await faulty({ status: 429 })).toEqual([429, "text/plain", "Retry later\n"]);
    expect(await faulty({ status: 200, body: [] })).toEqual([200, type, []]);
    expect(await faulty({ status: 200, body: null })).toEqual([200, type, null]);
    const page = { "Content-Type": "text/html" };
    expect(await faulty({ status: 502, body: "<h1>Bad</h1>", headers: page })).toEqual([
      502,
      "text/html",
      "<h1>Bad</h1>",
    ]);
    expect(await faulty({ status: 204, body: "" })).toEqual([204, "text/plain", ""]);
  });

  it("delay the usual answer, or another", async () => {
    const server = await start();
    const timed = async () => {
      // Busy machines only make it later.
      const started = performance.now();
      const { status } = await call(server, "/user");
      return { status, late: performance.now() - started >= 195 };
    };
    server.faults.add({ delay: 200 });
    expect(await timed()).toEqual({ status: 200, late: true });
    server.faults.add({ delay: 200, status: 504 });
    expect(await timed()).toEqual({ status: 504, late: true });
  });

  it("cut the connection", async () => {
    const server = await start();
    server.faults.add({ disconnect: true });
    await expect(call(server, "/user")).rejects.toThrow("fetch failed");
    expect(server.requests).toMatchObject([{ path: "/api/v4/user", status: undefined }]);
    expect((await call(server, "/user")).status).toBe(200);
  });

  it("do not delay closing", async () => {
    const server = await startTestServer({ faults: [{ delay: 60_000, times: Infinity }] });
    const slow = Array.from({ length: 20 }, () => call(server, "/user"));
    const failures = Promise.allSettled(slow);
    await expect.poll(() => server.requests.length).toBe(20);
    await server.close();
    // None of them was answered, late.
    expect((await failures).every(({ status }) => status === "rejected")).toBe(true);
  });

  it("do not affect the application itself", async () => {
    const server = await start({ faults: [{ status: 500, times: Infinity }] });
    expect((await call(server, "/user")).status).toBe(500);
    const direct = await server.app.fetch(
      new Request("http://pm.test/api/v4/user", { headers: { "private-token": server.token } }),
    );
    expect(direct.status).toBe(200);
  });
});

it("records requests", async () => {
  const server = await start();
  await call(server, "/groups/acme/projects?per_page=1");
  await call(server, "/groups", created);
  await fetch(`${server.url}/elsewhere`);
  expect(server.requests).toMatchObject([
    { method: "GET", path: "/api/v4/groups/acme/projects", query: "per_page=1", status: 200 },
    { method: "POST", path: "/api/v4/groups", query: "", status: 201 },
    { method: "GET", path: "/elsewhere", query: "", status: 404 },
  ]);
});
