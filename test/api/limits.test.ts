import { afterEach, describe, expect, it } from "vitest";
import { networkOf } from "../../src/accounts/attempts.ts";
import { csrfTokenOf } from "../../src/core/session.ts";
import type { AppOptions } from "../../src/index.ts";
import { type Person, sendFrom, type TestApp, testApp } from "../helpers.ts";
import { openSession } from "./sessions.ts";

const START = Date.parse("2026-06-15T12:00:00.000Z");
const MINUTE = 60_000;
let clock = START;
let app: TestApp;
async function start(limits: AppOptions["limits"] = {}) {
  clock = START;
  app = await testApp({ now: () => clock, limits });
}
afterEach(() => app?.dispose());

const guess = (ip: string, token = "no token") =>
  app.call("GET /projects", { ip, headers: { "private-token": token } });

const statuses = async (times: number, one: () => Promise<{ status: number }>) => {
  const found: number[] = [];
  for (let time = 0; time < times; time += 1) found.push((await one()).status);
  return found;
};

describe("guessing tokens", () => {
  it("is stopped per address, with all a client has to know", async () => {
    await start({ unknownTokens: 3 });
    expect(await statuses(4, () => guess("192.0.2.1"))).toEqual([401, 401, 401, 429]);
    clock += MINUTE;
    const { status, json, headers } = await guess("192.0.2.1");
    expect([status, json]).toEqual([429, { message: "429 Too Many Requests" }]);
    expect(Object.fromEntries(headers)).toMatchObject({
      "retry-after": "540",
      "ratelimit-limit": "3",
      "ratelimit-name": "unknown_tokens",
      "ratelimit-observed": "4",
      "ratelimit-remaining": "0",
      "ratelimit-reset": String((START + 10 * MINUTE) / 1000),
    });
    expect((await guess("192.0.2.2")).status).toBe(401);
    clock = START + 10 * MINUTE;
    expect((await guess("192.0.2.1")).status).toBe(401);
  });

  it("ends before the right one is found: it is answered as the wrong ones are", async () => {
    await start({ unknownTokens: 2 });
    await statuses(3, () => guess("192.0.2.1"));
    expect((await guess("192.0.2.1", "token-of-owner")).status).toBe(429);
    expect((await guess("192.0.2.2", "token-of-owner")).status).toBe(200);
    expect((await app.call("GET /projects", { ip: "192.0.2.1" })).status).toBe(200);
  });

  it("leaves those alone who used their token there before", async () => {
    await start({ unknownTokens: 2 });
    await guess("192.0.2.1", "token-of-guest");
    await statuses(3, () => guess("192.0.2.1"));
    expect((await guess("192.0.2.1", "token-of-guest")).status).toBe(200);
  });

  it("is no matter of tokens that are over, nor of those that are good", async () => {
    await start({ unknownTokens: 2 });
    const made = await app.admin.createToken({ user: "owner", name: "t", scopes: ["api"] });
    await app.admin.revokeToken(made.id);
    const of = { user: "owner", name: "t", scopes: ["api"], expires_at: "2020-01-01" };
    const expired = await app.admin.createToken(of);
    for (const token of [made.token, expired.token]) {
      expect(await statuses(5, () => guess("192.0.2.1", token))).toEqual(Array(5).fill(401));
    }
    expect(await app.store.rows("select * from attempts")).toEqual([]);
    app.statements.length = 0;
    await guess("192.0.2.1", "token-of-owner");
    expect(app.statements.filter((sql) => sql.includes("attempts"))).toEqual([]);
  });

  it("is counted together by several servers", async () => {
    await start({ unknownTokens: 4 });
    const other = await app.another();
    const there = () =>
      other.call("GET /user", { ip: "192.0.2.1", headers: { "private-token": "none" } });
    expect(await statuses(2, () => guess("192.0.2.1"))).toEqual([401, 401]);
    expect(await statuses(3, there)).toEqual([401, 401, 429]);
    expect((await guess("192.0.2.1")).status).toBe(429);
    await other.close();
  });

  it("writes nothing once it is refused, and counts job tokens too", async () => {
    await start({ unknownTokens: 2 });
    const job = () =>
      app.call("GET /projects/acme%2Fsite", { ip: "192.0.2.1", headers: { "job-token": "x" } });
    expect(await statuses(3, job)).toEqual([401, 401, 429]);
    app.statements.length = 0;
    expect(await statuses(5, () => guess("192.0.2.1"))).toEqual(Array(5).fill(429));
    expect(app.statements.filter((sql) => /^(insert|update|delete)/.test(sql))).toEqual([]);
  });

  it("can be left unlimited", async () => {
    await start({ unknownTokens: false });
    expect(await statuses(200, () => guess("192.0.2.1"))).toEqual(Array(200).fill(401));
  });
});

describe("an address", () => {
  it.each([
    ["", ""],
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002::1", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["::", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["fe80::", "fe80:0:0:0::/64"],
    ["nonsense", "nonsense"],
  ])("%j counts as %j", (ip, network) => {
    expect(networkOf(ip)).toBe(network);
  });
});

describe("signing in", () => {
  const PASSWORD = "correct horse";
  const COOKIE = "0".repeat(64);

  const signIn = (login: string, password: string, ip: string) => {
    const body = new URLSearchParams({ login, password, authenticity_token: csrfTokenOf(COOKIE) });
    const headers = { cookie: `_service_session=${COOKIE}` };
    const request = new Request("http://pm.test/users/sign_in", { method: "POST", headers, body });
    return sendFrom(app, ip, request);
  };
  const setPassword = async (id: number) => {
    await app.call(`PUT /users/${id}`, { as: "admin", json: { password: PASSWORD } });
  };
  const idOf = async (name: string) =>
    (await app.admin.listUsers()).find(({ username }) => username === name)?.id as number;

  it("is stopped for an account after wrong passwords from anywhere, with headers", async () => {
    await start({ signInsPerAccount: 3 });
    const ip = (() => {
      let last = 0;
      return () => {
        last += 1;
        return `192.0.2.${last}`;
      };
    })();
    expect(await statuses(3, () => signIn("owner", "wrong", ip()))).toEqual([401, 401, 401]);
    const { status, headers } = await signIn("OWNER", "wrong", ip());
    expect(status).toBe(429);
    expect(headers.get("retry-after")).toBe("600");
    expect(headers.get("ratelimit-name")).toBe("sign_ins");
    expect(headers.get("ratelimit-limit")).toBe("3");
    expect((await signIn("guest", "wrong", ip())).status).toBe(401);
    clock += 10 * MINUTE;
    expect((await signIn("owner", "wrong", ip())).status).toBe(401);
  });

  it("says the same of an account that does not exist", async () => {
    await start({ signInsPerAccount: 2 });
    for (const login of ["owner", "nobody", "nobody@x.test"]) {
      const found = await statuses(3, () => signIn(login, "wrong", "192.0.2.1"));
      expect([login, found]).toEqual([login, [401, 401, 429]]);
    }
  });

  it("lets one in where they are signed in, whatever strangers try elsewhere", async () => {
    await start({ signInsPerAccount: 2 });
    const owner = await idOf("owner");
    await setPassword(owner);
    await openSession(app, owner, { ip: "192.0.2.7", now: clock });
    await statuses(3, () => signIn("owner", "wrong", "192.0.2.1"));
    expect((await signIn("owner", PASSWORD, "192.0.2.1")).status).toBe(429);
    expect((await signIn("owner", PASSWORD, "192.0.2.7")).status).toBe(303);
    // There too no more than so many are tried.
    const there = await statuses(3, () => signIn("owner", "wrong", "192.0.2.7"));
    expect(there).toEqual([401, 401, 429]);
  });

  it("counts failures only, of an account and of an address", async () => {
    await start({ signInsPerAccount: 2, signInsPerAddress: 3 });
    await setPassword(await idOf("owner"));
    const right = () => signIn("owner", PASSWORD, "192.0.2.1");
    expect(await statuses(5, right)).toEqual(Array(5).fill(303));
    for (const login of ["a", "b", "c"]) {
      expect((await signIn(login, "wrong", "192.0.2.1")).status).toBe(401);
    }
    expect((await right()).status).toBe(429);
    expect((await signIn("owner", PASSWORD, "192.0.2.2")).status).toBe(303);
  });

  it("of many at once tries no more than may be", async () => {
    await start({ signInsPerAccount: 4 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => signIn("owner", "wrong", "192.0.2.1")),
    );
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(4);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(16);
  });

  it("leaves little behind, however many names are tried from an address, and that for minutes", async () => {
    await start({ signInsPerAddress: 5 });
    for (let index = 0; index < 20; index += 1) {
      await signIn(`${index}${"x".repeat(5000)}`, "wrong", "192.0.2.1");
    }
    const kept = await app.store.rows("select key from attempts");
    expect(kept).toHaveLength(6);
    expect(Math.max(...kept.map(([key]) => String(key).length))).toBeLessThanOrEqual(300);
    clock += 10 * MINUTE;
    await signIn("one", "wrong", "192.0.2.2");
    expect(await app.store.rows("select key from attempts")).toHaveLength(2);
  });

  it("can be left unlimited", async () => {
    await start({ signInsPerAccount: false, signInsPerAddress: false });
    const found = await statuses(12, () => signIn("owner", "wrong", "192.0.2.1"));
    expect(found).toEqual(Array(12).fill(401));
    expect(await app.store.rows("select key from attempts")).toEqual([]);
  });
});

describe("requests", () => {
  const as = (who: Person, ip = "192.0.2.1") => app.call("GET /projects", { as: who, ip });

  it("are unlimited, and nothing is said of it, unless that is asked for", async () => {
    await start();
    const { headers } = await as("owner");
    expect([...headers.keys()].filter((name) => name.startsWith("ratelimit"))).toEqual([]);
    expect(await app.store.rows("select * from attempts")).toEqual([]);
  });

  it("are counted per user, whatever the token and the address", async () => {
    await start({ requestsPerMinute: { user: 20 } });
    const seen: (string | null)[] = [];
    const { token } = await app.admin.createToken({ user: "owner", name: "t", scopes: ["api"] });
    for (let index = 0; index < 10; index += 1) {
      seen.push((await as("owner", `192.0.2.${index}`)).headers.get("ratelimit-remaining"));
      const headers = { "private-token": token };
      await app.call("GET /projects", { headers });
    }
    expect(seen).toEqual(["19", "17", "15", "13", "11", "9", "7", "5", "3", "1"]);
    clock += 15_000;
    const { status, headers } = await as("owner");
    expect(status).toBe(429);
    expect(Object.fromEntries(headers)).toMatchObject({
      "retry-after": "45",
      "ratelimit-limit": "20",
      "ratelimit-name": "authenticated_api",
      "ratelimit-observed": "21",
      "ratelimit-remaining": "0",
      "ratelimit-reset": String((START + MINUTE) / 1000),
    });
    expect((await as("guest")).status).toBe(200);
    expect((await as("anonymous")).status).toBe(200);
    clock = START + MINUTE;
    expect((await as("owner")).headers.get("ratelimit-remaining")).toBe("19");
  });

  it("are counted per address without a token, and by sudo for who really calls", async () => {
    await start({ requestsPerMinute: { user: 3, address: 2 } });
    expect(await statuses(3, () => as("anonymous"))).toEqual([200, 200, 429]);
    expect((await as("anonymous", "192.0.2.2")).status).toBe(200);
    const sudo = (name: string) => app.call(`GET /user?sudo=${name}`, { as: "admin" });
    const found = [
      await sudo("guest"),
      await sudo("owner"),
      await sudo("owner"),
      await sudo("guest"),
    ];
    expect(found.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect((await as("guest")).status).toBe(200);
  });

  it("of many at once let no more through, by several servers too", async () => {
    await start({ requestsPerMinute: { user: 50 } });
    const other = await app.another();
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        (index % 2 ? app : other).call("GET /version", { as: "owner" }),
      ),
    );
    const passed = answers.filter(({ status }) => status === 200).length;
    expect(passed).toBe(50);
    await other.close();
  });

  it("are written down once in so many", async () => {
    await start({ requestsPerMinute: { user: 1000 } });
    app.statements.length = 0;
    await statuses(100, () => as("owner"));
    expect(app.statements.filter((sql) => sql.includes("into attempts"))).toHaveLength(1);
  });
});
