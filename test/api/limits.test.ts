import { afterAll, describe, expect, it } from "vitest";
import { csrfTokenOf } from "../../src/core/http/session-cookie.ts";
import type { AppOptions } from "../../src/index.ts";
import {
  givePassword,
  PASSWORD,
  type Person,
  sendFrom,
  type TestApp,
  testApp,
} from "../helpers.ts";
import { openSession } from "./sessions.ts";

const MINUTE = 60_000;
const strict = { unknownTokens: 3, signInsPerAccount: 3, signInsPerAddress: 5 };
const off = { unknownTokens: false, signInsPerAccount: false, signInsPerAddress: false } as const;
const counted = { requestsPerMinute: { user: 20, address: 2 } };

let clock = Date.parse("2026-06-15T12:00:00.000Z");
const apps = new Map<AppOptions["limits"], TestApp>();
let app: TestApp;

/** Starts the application with these limits, at a time when all earlier windows have ended; returns that time. */
async function start(limits: AppOptions["limits"] = {}): Promise<number> {
  clock += 60 * MINUTE;
  app = apps.get(limits) ?? (await testApp({ now: () => clock, limits }));
  apps.set(limits, app);
  await app.store.transaction((db) => db.run("delete from attempts"));
  return clock;
}
afterAll(() => Promise.all([...apps.values()].map((one) => one.dispose())));

let last = 0;
/** An address not used before. */
function newAddress(): string {
  last += 1;
  return `198.51.100.${last}`;
}

const guess = (ip: string, token = "no token") =>
  app.call("GET /projects", { ip, headers: { "private-token": token } });

const statuses = async (times: number, one: () => Promise<{ status: number }>) => {
  const found: number[] = [];
  for (let time = 0; time < times; time += 1) found.push((await one()).status);
  return found;
};

describe("guessing tokens", () => {
  it("is stopped per address, with the usual rate limit headers", async () => {
    const begun = await start(strict);
    const ip = newAddress();
    expect(await statuses(4, () => guess(ip))).toEqual([401, 401, 401, 429]);
    clock += MINUTE;
    const { status, json, headers } = await guess(ip);
    expect([status, json]).toEqual([429, { message: "429 Too Many Requests" }]);
    expect(Object.fromEntries(headers)).toMatchObject({
      "retry-after": "540",
      "ratelimit-limit": "3",
      "ratelimit-name": "unknown_tokens",
      "ratelimit-observed": "4",
      "ratelimit-remaining": "0",
      "ratelimit-reset": String((begun + 10 * MINUTE) / 1000),
    });
    expect((await guess(newAddress())).status).toBe(401);
    clock = begun + 10 * MINUTE;
    expect((await guess(ip)).status).toBe(401);
  });

  it("does not reveal the right token: it is answered like wrong ones", async () => {
    await start(strict);
    const ip = newAddress();
    const { token } = await app.admin.tokens.createForJob({ project: "acme/site", user: "owner" });
    await statuses(4, () => guess(ip));
    expect((await guess(ip, "token-of-owner")).status).toBe(429);
    const headers = { "job-token": token };
    expect((await app.call("GET /projects/acme%2Fsite", { ip, headers })).status).toBe(429);
    expect((await guess(newAddress(), "token-of-owner")).status).toBe(200);
    expect((await app.call("GET /projects", { ip })).status).toBe(200);
  });

  it("does not affect tokens used from that address before", async () => {
    await start(strict);
    const ip = newAddress();
    await guess(ip, "token-of-guest");
    await statuses(4, () => guess(ip));
    expect((await guess(ip, "token-of-guest")).status).toBe(200);
  });

  it("does not count expired, revoked or valid tokens", async () => {
    await start(strict);
    const made = await app.admin.tokens.create({ user: "owner", name: "t", scopes: ["api"] });
    await app.admin.tokens.revoke(made.id);
    const of = { user: "owner", name: "t", scopes: ["api" as const], expires_at: "2020-01-01" };
    const expired = await app.admin.tokens.create(of);
    for (const token of [made.token, expired.token]) {
      expect(await statuses(5, () => guess(newAddress(), token))).toEqual(Array(5).fill(401));
    }
    expect(await app.store.rows("select * from attempts")).toEqual([]);
    app.statements.length = 0;
    await guess(newAddress(), "token-of-owner");
    expect(app.statements.filter((sql) => sql.includes("attempts"))).toEqual([]);
  });

  it("is counted across servers", async () => {
    await start(strict);
    const ip = newAddress();
    const other = await app.another();
    const there = () => other.call("GET /user", { ip, headers: { "private-token": "none" } });
    expect(await statuses(2, () => guess(ip))).toEqual([401, 401]);
    expect(await statuses(2, there)).toEqual([401, 429]);
    expect((await guess(ip)).status).toBe(429);
    await other.close();
  });

  it("writes nothing once refused, and counts job tokens too", async () => {
    await start(strict);
    const ip = newAddress();
    const job = () => app.call("GET /projects/acme%2Fsite", { ip, headers: { "job-token": "x" } });
    expect(await statuses(4, job)).toEqual([401, 401, 401, 429]);
    app.statements.length = 0;
    expect(await statuses(5, () => guess(ip))).toEqual(Array(5).fill(429));
    expect(app.statements.filter((sql) => sql.includes("attempts"))).toEqual([]);
  });

  it("can be unlimited", async () => {
    await start(off);
    const ip = newAddress();
    expect(await statuses(120, () => guess(ip))).toEqual(Array(120).fill(401));
  });
});

describe("signing in", () => {
  const COOKIE = "0".repeat(64);

  const signIn = (login: string, password: string, ip: string) => {
    const body = new URLSearchParams({ login, password, authenticity_token: csrfTokenOf(COOKIE) });
    const headers = { cookie: `_service_session=${COOKIE}` };
    const request = new Request("http://pm.test/users/sign_in", { method: "POST", headers, body });
    return sendFrom(app, ip, request);
  };
  const idOf = async (name: string) =>
    (await app.admin.users.list()).find(({ username }) => username === name)?.id as number;

  it("is stopped for an account after wrong passwords from any address, with headers", async () => {
    await start(strict);
    const wrong = (login: string) => signIn(login, "wrong", newAddress());
    expect(await statuses(3, () => wrong("owner"))).toEqual([401, 401, 401]);
    const { status, headers } = await wrong("OWNER");
    expect(status).toBe(429);
    expect(headers.get("retry-after")).toBe("600");
    expect(headers.get("ratelimit-name")).toBe("sign_ins");
    expect(headers.get("ratelimit-limit")).toBe("3");
    expect((await wrong("guest")).status).toBe(401);
    clock += 10 * MINUTE;
    expect((await wrong("owner")).status).toBe(401);
  });

  it("counts user name and e-mail address as one account", async () => {
    await start(strict);
    const { email } = await app.admin.users.get("owner");
    const logins = ["owner", email, "OWNER", email.toUpperCase(), "owner"];
    const found: number[] = [];
    for (const login of logins) found.push((await signIn(login, "wrong", newAddress())).status);
    expect(found).toEqual([401, 401, 401, 429, 429]);
  });

  it("does not store what is typed if no account has that name", async () => {
    await start(strict);
    expect((await signIn("My Pass Word", "wrong", newAddress())).status).toBe(401);
    const [event] = await app.admin.auditEvents.list();
    expect(event).toMatchObject({ action: "sign-in failed", author: "unknown" });
    const tables = ["audit_events", "attempts"];
    for (const table of tables) {
      const rows = JSON.stringify(await app.store.rows(`select * from ${table}`));
      expect(rows.toLowerCase()).not.toContain("my pass");
    }
  });

  it("answers the same for an account that does not exist", async () => {
    await start(strict);
    for (const login of ["owner", "nobody", "nobody@x.test"]) {
      const ip = newAddress();
      const found = await statuses(4, () => signIn(login, "wrong", ip));
      expect([login, found]).toEqual([login, [401, 401, 401, 429]]);
    }
  });

  it("still lets users in from where they have a session, whatever strangers try elsewhere", async () => {
    await start(strict);
    const owner = await idOf("owner");
    await givePassword(app, "owner");
    const [home, elsewhere] = [newAddress(), newAddress()];
    await openSession(app, owner, { ip: home, now: clock });
    await statuses(4, () => signIn("owner", "wrong", elsewhere));
    expect((await signIn("owner", PASSWORD, elsewhere)).status).toBe(429);
    expect((await signIn("owner", PASSWORD, home)).status).toBe(303);
    // The same limit applies there.
    const there = await statuses(4, () => signIn("owner", "wrong", home));
    expect(there).toEqual([401, 401, 401, 429]);
  });

  it("counts only failures, per account and per address", async () => {
    await start(strict);
    await givePassword(app, "owner");
    const ip = newAddress();
    const right = () => signIn("owner", PASSWORD, ip);
    expect(await statuses(7, right)).toEqual(Array(7).fill(303));
    for (const login of ["a", "b", "c", "d", "e"]) {
      expect((await signIn(login, "wrong", ip)).status).toBe(401);
    }
    expect((await right()).status).toBe(429);
    expect((await signIn("owner", PASSWORD, newAddress())).status).toBe(303);
  });

  it("allows no more than the limit of concurrent tries", async () => {
    await start(strict);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => signIn("reporter", "wrong", newAddress())),
    );
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(3);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(17);
  });

  it("stores little, for minutes, however many names are tried from an address", async () => {
    await start(strict);
    const ip = newAddress();
    for (let index = 0; index < 20; index += 1) {
      await signIn(`${index}${"x".repeat(5000)}`, "wrong", ip);
    }
    const kept = await app.store.rows("select key from attempts");
    expect(kept).toHaveLength(6);
    expect(Math.max(...kept.map(([key]) => String(key).length))).toBeLessThanOrEqual(300);
    clock += 10 * MINUTE;
    await signIn("one", "wrong", newAddress());
    expect(await app.store.rows("select key from attempts")).toHaveLength(2);
  });

  it("can be unlimited", async () => {
    await start(off);
    const found = await statuses(12, () => signIn("owner", "wrong", newAddress()));
    expect(found).toEqual(Array(12).fill(401));
    expect(await app.store.rows("select key from attempts")).toEqual([]);
  });
});

describe("requests", () => {
  const as = (who: Person, ip = newAddress()) => app.call("GET /projects", { as: who, ip });

  it("are unlimited by default, without headers", async () => {
    await start(off);
    const { headers } = await as("owner");
    expect([...headers.keys()].filter((name) => name.startsWith("ratelimit"))).toEqual([]);
    expect(await app.store.rows("select * from attempts")).toEqual([]);
  });

  it("are counted per user, across tokens and addresses", async () => {
    const begun = await start(counted);
    const { token } = await app.admin.tokens.create({ user: "owner", name: "t", scopes: ["api"] });
    const seen: (string | null)[] = [];
    app.statements.length = 0;
    for (let index = 0; index < 10; index += 1) {
      seen.push((await as("owner")).headers.get("ratelimit-remaining"));
      await app.call("GET /projects", { headers: { "private-token": token } });
    }
    expect(seen).toEqual(["19", "17", "15", "13", "11", "9", "7", "5", "3", "1"]);
    // Stored once for several requests.
    expect(app.statements.filter((sql) => sql.includes("into attempts"))).toHaveLength(10);
    clock += 15_000;
    const { status, headers } = await as("owner");
    expect(status).toBe(429);
    expect(Object.fromEntries(headers)).toMatchObject({
      "retry-after": "45",
      "ratelimit-limit": "20",
      "ratelimit-name": "authenticated_api",
      "ratelimit-observed": "21",
      "ratelimit-remaining": "0",
      "ratelimit-reset": String((begun + MINUTE) / 1000),
    });
    expect((await as("guest")).status).toBe(200);
    expect((await as("anonymous")).status).toBe(200);
    clock = begun + MINUTE;
    expect((await as("owner")).headers.get("ratelimit-remaining")).toBe("19");
  });

  it("are counted per address without a token, and with sudo for the real caller", async () => {
    await start(counted);
    const ip = newAddress();
    expect(await statuses(3, () => as("anonymous", ip))).toEqual([200, 200, 429]);
    expect((await as("anonymous")).status).toBe(200);
    const sudo = (name: string) => app.call(`GET /user?sudo=${name}`, { as: "admin" });
    await statuses(10, () => sudo("guest"));
    const { headers } = await sudo("owner");
    expect(headers.get("ratelimit-observed")).toBe("11");
    expect((await as("guest")).headers.get("ratelimit-observed")).toBe("1");
  });

  it("are limited when concurrent, also across servers", async () => {
    await start(counted);
    const other = await app.another();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        (index % 2 ? app : other).call("GET /version", { as: "owner" }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
    await other.close();
  });
});
