import { request } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { ask, tell } from "./telling.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(() => server.close());

/** The statuses that requests are answered with, one after another. */
async function statuses(paths: readonly string[], token = server.token): Promise<number[]> {
  const all: number[] = [];
  for (const path of paths) all.push((await ask({ ...server, token }, "GET", path)).status);
  return all;
}

const repeated = (path: string, times: number) => Array.from({ length: times }, () => path);

describe("faults", () => {
  it("are at most a thousand", async () => {
    const ids = Array.from({ length: 1000 }, () => server.faults.add({ status: 503 }));
    const { status, json } = await tell(server, "POST", "faults", { status: 503 });
    expect(status).toBe(409);
    expect(json.message).toMatch(/^There are 1000 faults already/);
    server.faults.remove(ids[0] as number);
    expect((await tell(server, "POST", "faults", { status: 503 })).status).toBe(201);
  });

  it("are added, listed with what is left of them, and removed", async () => {
    const added = await tell(server, "POST", "faults", {
      path: "/api/v4/*",
      status: 503,
      after: 1,
      times: 2,
    });
    expect(added).toMatchObject({
      status: 201,
      json: { id: 1, path: "/api/v4/*", status: 503, after: 1, times: 2, used: 0 },
    });
    await tell(server, "POST", "faults", { path: "/api/v4/version", times: "all" });
    server.faults.add({ path: /never/ });
    expect(await statuses(repeated("/user", 2))).toEqual([200, 503]);
    const { json } = await tell(server, "GET", "faults");
    expect(json).toMatchObject([
      { id: 1, after: 0, times: 1, used: 1 },
      { id: 2, times: "all", used: 0 },
      { id: 3, path: "/never/" },
    ]);
    expect((await tell(server, "DELETE", "faults/1")).status).toBe(204);
    expect((await tell(server, "DELETE", "faults/1")).status).toBe(404);
    expect((await tell(server, "DELETE", "faults/one")).status).toBe(400);
    expect(await statuses(["/user", "/version", "/version"])).toEqual([200, 500, 500]);
    expect((await tell(server, "DELETE", "faults")).status).toBe(204);
    expect((await tell(server, "GET", "faults")).json).toEqual([]);
    expect(await statuses(["/version"])).toEqual([200]);
  });

  it("are refused with the name that was probably meant", async () => {
    const messageOf = async (fault: object) => {
      const { status, json } = await tell(server, "POST", "faults", fault);
      expect(status).toBe(400);
      return json.message;
    };
    expect(await messageOf({ stats: 503 })).toMatch(/stats is unknown. Did you mean status\?/);
    expect(await messageOf({ route: "/projects/:id/isues/:issue_iid" })).toMatch(
      /route is unknown. Did you mean \/projects\/:id\/issues\/:issue_iid\?/,
    );
    expect(await messageOf({ probability: 2 })).toMatch(/probability must be a number from 0 to 1/);
    expect(await messageOf({ times: "some" })).toMatch(/times must be/);
    expect(await messageOf({ bytesPerSecond: 0 })).toMatch(/bytesPerSecond must be/);
  });

  it("match routes, as the reference and openapi.json have them", async () => {
    server.faults.add({ route: "/groups/:id/labels", times: "all" });
    server.faults.add({ route: "/api/v4/projects/{id}", method: "GET", times: "all" });
    expect(
      await statuses(["/groups/acme/labels", "/groups/1/labels", "/groups/acme", "/projects/1"]),
    ).toEqual([500, 500, 200, 500]);
    expect(await statuses(["/groups/acme/labels/bug", "/projects"])).toEqual([200, 200]);
    expect((await ask(server, "DELETE", "/projects/1")).status).toBe(202);
  });

  it("match users and their tokens, by name or secret", async () => {
    await server.admin.users.create({ username: "ada", name: "Ada", email: "ada@example.com" });
    const { token } = await server.admin.tokens.create({
      user: "ada",
      name: "ci",
      scopes: ["api"],
    });
    server.faults.add({ user: "ada", status: 503 });
    expect(await statuses(["/version"])).toEqual([200]);
    expect(await statuses(["/version", "/version"], token)).toEqual([503, 200]);
    server.faults.add({ token: "ci", status: 502 });
    server.faults.add({ token, status: 501 });
    server.faults.add({ token: "unknown", status: 500 });
    expect(await statuses(["/version"])).toEqual([200]);
    expect(await statuses(repeated("/version", 3), token)).toEqual([502, 501, 200]);
    expect(await statuses(["/version"], "unknown")).toEqual([500]);
    // With sudo, the caller is who they act as.
    server.faults.add({ user: "ada", status: 503 });
    expect(await statuses(["/user?sudo=ada"])).toEqual([503]);
    const git = `${server.url}/acme/app.git/info/refs?service=git-upload-pack`;
    server.faults.add({ user: "ada", status: 504 });
    const basic = `Basic ${Buffer.from(`ada:${token}`).toString("base64")}`;
    expect((await fetch(git, { headers: { authorization: basic } })).status).toBe(504);
  });

  it("that look who calls leave no trace of that", async () => {
    server.faults.add({ user: "nobody" });
    const one = await startTestServer({ limits: { unknownTokens: 2 } });
    one.faults.add({ user: "nobody" });
    const asked: number[] = [];
    for (let at = 0; at < 3; at += 1) {
      asked.push((await ask({ ...one, token: `unknown-${at}` }, "GET", "/user")).status);
    }
    expect(asked).toEqual([401, 401, 429]);
    await one.close();
  });

  it("match headers, in which * stands for any text", async () => {
    server.faults.add({ header: { "User-Agent": "gitbeaker/*" }, times: "all" });
    const status = async (agent: string) =>
      (await fetch(`${server.url}/-/health`, { headers: { "user-agent": agent } })).status;
    expect([await status("gitbeaker/44"), await status("curl/8")]).toEqual([500, 200]);
  });

  it("affect some of the requests, the same ones after each reset", async () => {
    const fault = { probability: 0.5, seed: 7 };
    const some = await startTestServer({ faults: [fault] });
    const made = async () => {
      const all: number[] = [];
      for (let at = 0; at < 20; at += 1) all.push((await ask(some, "GET", "/version")).status);
      return all;
    };
    const first = await made();
    expect(new Set(first)).toEqual(new Set([200, 500]));
    await some.reset();
    expect(await made()).toEqual(first);
    some.faults.clear();
    some.faults.add({ ...fault, seed: 8 });
    expect(await made()).not.toEqual(first);
    await some.close();
  });

  it("send half an answer", async () => {
    server.faults.add({ path: "/api/v4/groups/acme", truncate: 10, times: "all" });
    const { headers, text, isWhole } = await new Promise<{
      headers: NodeJS.Dict<string | string[]>;
      text: string;
      isWhole: boolean;
    }>((resolve, reject) => {
      const options = { headers: { "private-token": server.token } };
      request(`${server.url}/api/v4/groups/acme`, options, (answer) => {
        let text = "";
        const end = () => resolve({ headers: answer.headers, text, isWhole: answer.complete });
        answer.on("data", (chunk) => {
          text += chunk;
        });
        answer.on("end", end).on("error", end);
      })
        .on("error", reject)
        .end();
    });
    expect(Number(headers["content-length"])).toBeGreaterThan(100);
    expect(text).toMatch(/^\{"id":\d+,".{1,3}$/);
    expect(text).toHaveLength(10);
    expect(isWhole).toBe(false);
    server.faults.add({ path: "/api/v4/version", status: 200, body: "short", truncate: 2 });
    await expect(ask(server, "GET", "/version")).rejects.toThrow();
    expect(await statuses(["/version"])).toEqual([200]);
  });

  it("send a body slowly", async () => {
    server.faults.add({ path: "/api/v4/version", bytesPerSecond: 400 });
    const started = performance.now();
    const { status, json } = await ask(server, "GET", "/version");
    // Busy machines only make it later.
    expect(performance.now() - started).toBeGreaterThan(100);
    expect(status).toBe(200);
    expect(json.version).toBe("18.5.0-ee");
    server.faults.add({ status: 500, body: "x".repeat(1000), bytesPerSecond: 1 });
    const slow = ask(server, "GET", "/version").catch(() => "cut off");
    await server.received.wait({ status: 500 });
    await server.close();
    expect(await slow).toBe("cut off");
  });
});
