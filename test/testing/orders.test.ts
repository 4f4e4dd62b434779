import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { ask as askWorld, tell as tellWorld } from "./telling.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ now: "2026-01-01T00:00:00Z" });
});
afterEach(() => server.close());

const tell = (method: string, path: string, body?: unknown, of: { url: string } = server) =>
  tellWorld(of, method, path, body);

/** Asks a world's API as the owner of its token. */
const ask = (of: { url: string; token: string }, path: string, body?: unknown) =>
  askWorld(of, body === undefined ? "GET" : "POST", path, body);

const created = { name: "New", path: "new" };

describe("orders", () => {
  it("are refused by name if there is none such", async () => {
    const { status, json } = await tell("POST", "rest");
    expect(status).toBe(404);
    expect(json.message).toMatch(/^There is no \/-\/test\/rest\. Did you mean reset\? There are /);
    const wrong = await tell("GET", "reset");
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get("allow")).toBe("POST");
  });

  it("are refused with the name that was probably meant", async () => {
    const { status, json } = await tell("PUT", "clock", { advanse: 5 });
    expect(status).toBe(400);
    expect(json.message).toBe(
      "PUT /-/test/clock: advanse is unknown. Did you mean advance? There are now, advance, frozen",
    );
    expect(await tell("PUT", "clock", "{")).toMatchObject({
      status: 400,
      json: { message: expect.stringMatching(/^The body is not JSON: /) },
    });
    expect((await tell("POST", "reset", { all: true })).status).toBe(400);
    expect((await tell("POST", "reset?all=1")).status).toBe(400);
  });

  it("are not taken from pages of other sites", async () => {
    for (const headers of [
      { origin: "https://evil.example" },
      { "sec-fetch-site": "cross-site" },
    ] as Record<string, string>[]) {
      const { status } = await fetch(`${server.url}/-/test/reset`, { method: "POST", headers });
      expect(status).toBe(403);
    }
  });

  it("are not requests of the world", async () => {
    await tell("GET", "worlds");
    expect(server.requests).toEqual([]);
  });
});

describe("reset", () => {
  it("returns to the seed", async () => {
    await ask(server, "/groups", created);
    expect((await ask(server, "/groups/new")).status).toBe(200);
    expect((await tell("POST", "reset", null)).status).toBe(204);
    expect((await ask(server, "/groups/new")).status).toBe(404);
  });
});

describe("the clock", () => {
  it("is set, moved, stopped and let run", async () => {
    expect((await tell("GET", "clock")).json).toEqual({
      now: "2026-01-01T00:00:00.000Z",
      frozen: true,
    });
    const later = { now: "2026-02-01", advance: 1000 };
    expect((await tell("PUT", "clock", later)).json.now).toBe("2026-02-01T00:00:01.000Z");
    await ask(server, "/groups", created);
    expect((await ask(server, "/groups/new")).json.created_at).toBe("2026-02-01T00:00:01.000Z");
    expect((await tell("PUT", "clock", { frozen: false })).json).toMatchObject({ frozen: false });
    const { json } = await tell("PUT", "clock", { frozen: true });
    expect(json.frozen).toBe(true);
    expect(Date.parse(json.now)).toBeGreaterThanOrEqual(Date.parse("2026-02-01T00:00:01Z"));
    expect((await tell("PUT", "clock", { now: "soon" })).status).toBe(400);
  });
});

describe("worlds", () => {
  it("are at most a hundred beside the first one, also if they are added at once", async () => {
    const added = await Promise.all(
      Array.from({ length: 102 }, () => tell("POST", "worlds", { prefix: true })),
    );
    const refused = added.filter(({ status }) => status !== 201);
    expect(refused.map(({ status }) => status)).toEqual([409, 409]);
    expect(refused[0]?.json.message).toMatch(/^100 worlds have been added already/);
    await tell("DELETE", "worlds/1");
    expect((await tell("POST", "worlds", { prefix: true })).status).toBe(201);
  });

  const seed = { users: [{ username: "ann", tokens: [{ token: "anns" }] }] };
  const tokenOf = (world: { tokens: Record<string, string> }) => Object.values(world.tokens)[0];

  it("have data, a clock and a port of their own", async () => {
    const { status, json: other } = await tell("POST", "worlds", { seed });
    expect(status).toBe(201);
    expect(other).toMatchObject({ id: "1", tokens: { ann: "anns" }, version: "18.5.0-ee" });
    expect(other.url).not.toBe(server.url);
    expect((await ask({ url: other.url, token: "anns" }, "/user")).json.username).toBe("ann");
    expect((await ask({ ...server, token: "anns" }, "/user")).status).toBe(401);
    await tell("PUT", "clock", { now: "2030-01-01" }, other);
    expect((await tell("GET", "clock")).json.now).toBe("2026-01-01T00:00:00.000Z");
    expect((await tell("GET", "worlds")).json).toMatchObject([{ id: "main" }, other]);
    expect((await tell("DELETE", "worlds/1")).status).toBe(204);
    await expect(fetch(other.url)).rejects.toThrow();
    expect((await tell("DELETE", "worlds/1")).status).toBe(404);
    expect((await tell("DELETE", "worlds/main")).status).toBe(404);
  });

  it("share a port below a path, which every link has", async () => {
    const { json: other } = await tell("POST", "worlds", { prefix: true });
    expect(other.url).toBe(`${server.url}/-/worlds/1`);
    const token = tokenOf(other) as string;
    const { json } = await ask({ url: other.url, token }, "/groups", created);
    expect(json.web_url).toBe(`${other.url}/groups/new`);
    expect((await ask(server, "/groups/new")).status).toBe(404);
    await tell("POST", "reset", undefined, other);
    expect((await ask({ url: other.url, token }, "/groups/new")).status).toBe(404);
    await tell("DELETE", "worlds/1");
    expect((await ask({ url: other.url, token }, "/groups/acme")).status).toBe(404);
  });

  it("are not added from a seed that is wrong", async () => {
    const { status, json } = await tell("POST", "worlds", { seed: { user: [] } });
    expect(status).toBe(400);
    expect(json.message).toMatch(/Did you mean users\?/);
    expect((await tell("GET", "worlds")).json).toHaveLength(1);
  });
});
