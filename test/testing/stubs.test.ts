import { afterEach, beforeEach, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { ask, tell } from "./telling.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ stubs: [{ path: "/api/v4/geo_nodes", body: [] }] });
});
afterEach(() => server.close());

it("stubs answer what the server lacks, and what it is to answer otherwise", async () => {
  const { status, json } = await tell(server, "PUT", "stubs", {
    id: "epics",
    method: "post",
    path: "/api/v4/groups/*/lost",
    status: 201,
    headers: { "X-Made": "here" },
    body: { id: 1 },
  });
  expect(status).toBe(200);
  expect(json).toMatchObject([{ path: "/api/v4/geo_nodes", used: 0 }, { id: "epics" }]);
  const made = await ask(server, "POST", "/groups/acme/lost", {});
  expect(made).toMatchObject({ status: 201, json: { id: 1 } });
  expect(made.headers.get("x-made")).toBe("here");
  expect((await ask(server, "GET", "/groups/acme/lost")).status).toBe(404);
  expect((await ask(server, "GET", "/geo_nodes")).json).toEqual([]);
  server.stubs.set({ path: /\/version$/, body: "old", status: 410 });
  expect(await ask(server, "GET", "/version")).toMatchObject({ status: 410, json: "old" });
  expect(server.requests.map(({ by }) => by)).toEqual(["stub", null, "stub", "stub"]);
  expect(server.received.list({ unmatched: true })).toHaveLength(1);
  const listed = (await tell(server, "GET", "stubs")).json;
  expect(listed).toMatchObject([{ used: 1 }, { used: 1 }, { path: "/\\/version$/", used: 1 }]);
});

it("stubs are replaced one by one, or all, and removed", async () => {
  await tell(server, "PUT", "stubs", { id: "a", path: "/api/v4/a", status: 201 });
  await tell(server, "PUT", "stubs", { id: "a", path: "/api/v4/a", status: 202 });
  // Faults affect stubs, too.
  server.faults.add({ path: "/api/v4/a", status: 503 });
  expect((await ask(server, "GET", "/a")).status).toBe(503);
  expect((await ask(server, "GET", "/a")).status).toBe(202);
  await tell(server, "PUT", "stubs", [{ path: "/api/v4/b" }, { path: "/api/v4/c", status: 204 }]);
  expect((await ask(server, "GET", "/a")).status).toBe(404);
  expect((await ask(server, "GET", "/b")).status).toBe(200);
  expect((await tell(server, "DELETE", `stubs/${encodeURIComponent("* /api/v4/b")}`)).status).toBe(
    204,
  );
  expect((await tell(server, "DELETE", "stubs/b")).status).toBe(404);
  expect((await ask(server, "GET", "/b")).status).toBe(404);
  expect((await tell(server, "DELETE", "stubs")).status).toBe(204);
  expect(server.stubs.list()).toEqual([]);
  await server.reset();
  expect((await ask(server, "GET", "/geo_nodes")).status).toBe(200);
});

it("stubs are refused by name if they are wrong", async () => {
  const messageOf = async (stub: object) => {
    const { status, json } = await tell(server, "PUT", "stubs", stub);
    expect(status).toBe(400);
    return json.message;
  };
  expect(await messageOf({ paths: "/x" })).toMatch(/paths is unknown. Did you mean path\?/);
  expect(await messageOf([{ path: "/x", status: 99 }])).toMatch(/0.status must be a whole number/);
  expect(await messageOf({})).toMatch(/path is missing/);
});
