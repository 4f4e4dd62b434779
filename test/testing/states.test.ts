import { createServer } from "node:http";
import { type AddressInfo, createConnection } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ now: "2026-01-01T00:00:00Z", limits: { unknownTokens: 3 } });
});
afterEach(() => server.close());

/** Gives an order to the server. */
async function tell(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}/-/test/${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, json: text === "" ? undefined : JSON.parse(text) };
}

async function ask(method: string, path: string, body?: unknown, token = server.token) {
  const response = await fetch(`${server.url}/api/v4${path}`, {
    method,
    headers: { "private-token": token, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, json: text === "" ? undefined : JSON.parse(text) };
}

const createIssue = (title: string) => ask("POST", "/projects/acme%2Fsite/issues", { title });
const titles = async () =>
  (await ask("GET", "/projects/acme%2Fsite/issues?sort=asc")).json.map(
    ({ title }: { title: string }) => title,
  );

describe("a reset", () => {
  it("keeps the key that signs tokens, since verifiers keep it, too", async () => {
    const keys = async () => (await fetch(`${server.url}/oauth/discovery/keys`)).json();
    const before = await keys();
    await server.reset();
    expect(await keys()).toEqual(before);
    const other = await startTestServer();
    try {
      const others = await fetch(`${other.url}/oauth/discovery/keys`);
      expect(await others.json()).not.toEqual(before);
    } finally {
      await other.close();
    }
  });

  it("gives the same ids, numbers and times again, of every kind", async () => {
    const script = async () => [
      (await createIssue("One")).json,
      (await ask("POST", "/projects/acme%2Fsite/issues/1/notes", { body: "Hello" })).json,
      (await ask("POST", "/groups", { name: "New", path: "new" })).json,
      (await ask("POST", "/projects", { name: "p", namespace_id: 1 })).json,
      (
        await ask("POST", "/users", {
          username: "x",
          name: "X",
          email: "x@example.com",
          reset_password: true,
        })
      ).json,
      (await ask("GET", "/events")).json,
    ];
    const first = await script();
    for (let round = 0; round < 2; round += 1) {
      await server.reset();
      expect(await titles()).toEqual([]);
      expect(await script()).toEqual(first);
    }
  });

  it("forgets what is kept outside of the database", async () => {
    const headers = { "private-token": server.token };
    const own = await server.app.fetch(`${server.url}/api/v4/user`, { headers });
    expect(own.status).toBe(200);
    const guess = async () => (await ask("GET", "/user", undefined, "wrong")).status;
    for (let round = 0; round < 2; round += 1) {
      expect([await guess(), await guess(), await guess(), await guess()]).toEqual([
        401, 401, 401, 429,
      ]);
      await server.reset();
    }
    // What was looked up before is looked up again.
    const { json } = await ask("POST", "/users", {
      ...{ username: "x", name: "X", email: "x@example.com", password: "long enough" },
      skip_confirmation: true,
    });
    const { token } = await server.admin.tokens.create({ user: "x", name: "t", scopes: ["api"] });
    expect((await ask("GET", "/user", undefined, token)).json.id).toBe(json.id);
    await server.reset();
    expect((await ask("GET", "/user", undefined, token)).status).toBe(401);
  });

  it("writes nothing of before into the new state, not even later", async () => {
    await ask("GET", "/user");
    await server.reset();
    // Last uses of tokens are written a tenth of a second later.
    await new Promise((resolve) => setTimeout(resolve, 250));
    const [first] = (await ask("GET", "/personal_access_tokens")).json;
    expect(first.last_used_at).toBeNull();
  });

  it("cuts off a request that does not end, and is not held up by it", async () => {
    const { hostname, port } = new URL(server.url);
    const socket = createConnection(Number(port), hostname);
    const answer = new Promise<string>((resolve) => {
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
        resolve(text);
      });
      socket.on("error", () => resolve(text));
    });
    socket.write(
      `POST /api/v4/projects/acme%2Fsite/issues HTTP/1.1\r\nHost: x\r\nPRIVATE-TOKEN: ${server.token}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 16\r\n\r\n{"title"',
    );
    await expect.poll(() => server.requests.length).toBe(1);
    await server.reset();
    socket.write(':"Late"}');
    expect(await answer).toMatch(/^HTTP\/1\.1 503 /);
    socket.destroy();
    expect(await titles()).toEqual([]);
  });

  it("takes any number at once, with requests between them", async () => {
    const work = [1, 2, 3, 4, 5].flatMap((number) => [createIssue(`${number}`), server.reset()]);
    await Promise.all(work);
    await server.reset();
    expect(await titles()).toEqual([]);
    expect((await createIssue("One")).json.iid).toBe(1);
  });

  it("ends deliveries to webhooks of before", async () => {
    let told = 0;
    const receiver = createServer((request, response) => {
      told += 1;
      request.resume();
      response.end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    const { port } = receiver.address() as AddressInfo;
    try {
      const url = `http://127.0.0.1:${port}`;
      await ask("POST", "/projects/acme%2Fsite/hooks", { url, issues_events: true });
      await createIssue("Told");
      await expect.poll(() => told).toBe(1);
      await server.reset();
      await createIssue("Untold");
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(told).toBe(1);
    } finally {
      receiver.close();
    }
  });
});

describe("snapshots", () => {
  it("are gone back to in any order, and survive resets", async () => {
    expect(await tell("PUT", "snapshots/empty")).toEqual({ status: 201, json: { name: "empty" } });
    await createIssue("One");
    server.clock.set("2026-02-01T00:00:00Z");
    await server.snapshots.save("one");
    await createIssue("Two");
    await server.snapshots.save("two");
    await createIssue("Three");
    const states: Record<string, string[]> = { empty: [], one: ["One"], two: ["One", "Two"] };
    for (const name of ["one", "two", "empty", "two", "two", "one", "empty", "one"]) {
      expect((await tell("POST", `snapshots/${name}/restore`)).status).toBe(204);
      expect(await titles()).toEqual(states[name]);
      expect(new Date(server.clock.now()).getUTCMonth()).toBe(name === "empty" ? 0 : 1);
      const { iid } = (await createIssue("More")).json;
      expect(iid).toBe((states[name] as string[]).length + 1);
      if (name === "two") await server.reset();
    }
    await server.reset();
    expect(await titles()).toEqual([]);
    expect((await tell("GET", "snapshots")).json).toEqual([
      { name: "empty" },
      { name: "one" },
      { name: "two" },
    ]);
  });

  it("have the state of now if they are saved again, also from a restored one", async () => {
    await server.snapshots.save("a");
    await createIssue("One");
    await server.snapshots.save("b");
    await server.snapshots.restore("b");
    await createIssue("Two");
    await server.snapshots.save("b");
    await server.snapshots.restore("a");
    expect(await titles()).toEqual([]);
    await server.snapshots.restore("b");
    expect(await titles()).toEqual(["One", "Two"]);
    await server.snapshots.remove("b");
    expect(await titles()).toEqual(["One", "Two"]);
    expect(server.snapshots.list()).toEqual(["a"]);
    await server.reset();
    expect(await titles()).toEqual([]);
  });

  it("are refused by name", async () => {
    expect(await tell("POST", "snapshots/none/restore")).toEqual({
      status: 404,
      json: { message: "There is no snapshot none. There are none" },
    });
    await tell("PUT", "snapshots/one");
    await tell("PUT", "snapshots/a%20b");
    expect((await tell("DELETE", "snapshots/none")).json.message).toBe(
      "There is no snapshot none. There are one, a b",
    );
    expect((await tell("PUT", `snapshots/${"x".repeat(201)}`)).status).toBe(400);
    expect((await tell("DELETE", "snapshots/one")).status).toBe(204);
    expect(server.snapshots.list()).toEqual(["a b"]);
  });

  it("are at most a hundred", async () => {
    for (let number = 0; number < 100; number += 1) await server.snapshots.save(`${number}`);
    const { status, json } = await tell("PUT", "snapshots/more");
    expect(status).toBe(409);
    expect(json.message).toMatch(/^There are 100 snapshots already/);
    expect((await tell("PUT", "snapshots/5")).status).toBe(201);
  });
});
