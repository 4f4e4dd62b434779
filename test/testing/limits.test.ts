import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { ask, tell } from "./telling.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ limits: { perPage: 3 } });
});
afterEach(() => server.close());

const lengthOf = async (path: string) => (await ask(server, "GET", path)).json.length;

describe("limits", () => {
  it("are told with the defaults of those that nobody has set", async () => {
    expect(await tell(server, "GET", "limits")).toMatchObject({
      status: 200,
      json: {
        rateLimit: null,
        perPage: 3,
        maxPerPage: 100,
        countedTotal: 10_000,
        bodyBytes: 1_048_576,
        attachmentBytes: 10_485_760,
        signInsPerAccount: 10,
        signInsPerAddress: 100,
        requestsPerMinute: null,
      },
    });
  });

  it("change while the server runs, one by one, until the next reset", async () => {
    const { json } = await tell(server, "PUT", "limits", { perPage: 1 });
    expect(json).toMatchObject({ perPage: 1, maxPerPage: 100 });
    expect(await lengthOf("/projects")).toBe(1);
    await tell(server, "PUT", "limits", { bodyBytes: 100 });
    const large = { name: "x".repeat(200), path: "x" };
    expect((await ask(server, "POST", "/groups", large)).status).toBe(413);
    expect(await lengthOf("/projects")).toBe(1);
    await tell(server, "PUT", "limits", { bodyBytes: null });
    expect((await ask(server, "POST", "/groups", large)).status).toBe(201);
    await server.reset();
    expect(server.limits.get()).toMatchObject({ perPage: 3, bodyBytes: 1_048_576 });
    expect(await lengthOf("/projects")).toBe(2);
  });

  it("of requests begin to count when they are set", async () => {
    server.limits.set({ rateLimit: { requests: 1, retryAfter: 60 } });
    const statuses = async () => [
      (await ask(server, "GET", "/version")).status,
      (await ask(server, "GET", "/version")).status,
    ];
    expect(await statuses()).toEqual([200, 429]);
    expect(server.requests.at(-1)).toMatchObject({ by: "limit", status: 429 });
    await tell(server, "PUT", "limits", { rateLimit: { requests: 1 } });
    expect(await statuses()).toEqual([200, 429]);
    await tell(server, "PUT", "limits", { rateLimit: null, requestsPerMinute: { user: 1 } });
    expect(await statuses()).toEqual([200, 429]);
    await tell(server, "PUT", "limits", { requestsPerMinute: null });
    expect(await statuses()).toEqual([200, 200]);
  });

  it("are refused by name if they are wrong, or can't change", async () => {
    const messageOf = async (limits: object) => {
      const { status, json } = await tell(server, "PUT", "limits", limits);
      expect(status).toBe(400);
      return json.message;
    };
    expect(await messageOf({ prePage: 1 })).toMatch(/prePage is unknown. Did you mean perPage\?/);
    expect(await messageOf({ perPage: 0 })).toMatch(/perPage must be a whole number/);
    expect(await messageOf({ rateLimit: { request: 1 } })).toMatch(/Did you mean requests\?/);
    expect(await messageOf({ waitingRequests: 1 })).toMatch(/waitingRequests is unknown/);
    expect(() => server.limits.set({ perPage: -1 })).toThrow(/limits.set: perPage/);
  });
});
