import { describe, expect, it } from "vitest";
import { type AppOptions, createApp, OptionError } from "../../src/index.ts";
import { createMiddleware, serve } from "../../src/node.ts";
import { type Fault, startTestServer, type TestServerOptions } from "../../src/testing.ts";

/** The error of a call that must fail. */
async function failure(call: () => unknown): Promise<OptionError> {
  try {
    const made = (await call()) as { close?: () => Promise<void> };
    await made.close?.();
  } catch (error) {
    expect(error).toBeInstanceOf(OptionError);
    return error as OptionError;
  }
  throw new Error("nothing was refused");
}

describe("createApp", () => {
  const wrong: [given: unknown, option: string, says: string][] = [
    ["pm.db", "", "must be an object with database"],
    [null, "", "must be an object"],
    [{ datbase: "pm.db" }, "datbase", "Did you mean database?"],
    [{ db: "pm.db" }, "db", "Did you mean database?"],
    [{ Tier: "free" }, "Tier", "Did you mean tier?"],
    [{ whatever: 1 }, "whatever", "is unknown. There are database"],
    [{ database: "sqlite:pm.db" }, "database", 'must be the path alone: give "pm.db"'],
    [{ database: "file:pm.db" }, "database", 'must be the path alone: give "pm.db"'],
    [{ database: "sqlite:///var/pm.db" }, "database", 'give "/var/pm.db"'],
    [{ database: "mysql://x/y" }, "database", "a postgres:// URL"],
    [{ database: "" }, "database", "can't be empty"],
    [{ database: 1 }, "database", "must be a text"],
    [{ url: "/pm" }, "url", "such as https://pm.example.com"],
    [{ url: "pm.example.com" }, "url", "such as https://pm.example.com"],
    [{ url: "ftp://pm.example.com" }, "url", "such as https://pm.example.com"],
    [{ url: "https://pm.example.com/?a=b" }, "url", "without a query"],
    [{ tier: "gold" }, "tier", 'must be "free" or "premium" or "ultimate"'],
    [{ durability: "none" }, "durability", '"normal" or "full"'],
    [{ limits: { perPage: -1 } }, "limits.perPage", "must be a whole number of at least 1"],
    [{ limits: { perpage: 5 } }, "limits.perpage", "Did you mean perPage?"],
    [
      { limits: { requestsPerMinute: { users: 1 } } },
      "limits.requestsPerMinute.users",
      "Did you mean user?",
    ],
    [{ eventRetention: "2 years" }, "eventRetention", 'such as "2y"'],
    [{ mail: { smtp: "x", from: "a@b" }, url: "http://x" }, "mail.smtp", "such as smtp://"],
    [{ mail: { smtp: "smtp://x", from: "a@b" } }, "url", "links in mails begin with it"],
    [{ mail: { smtp: "smtp://x" }, url: "http://x" }, "mail.from", "is missing"],
    [{ now: 5 }, "now", "must be a function"],
    [{ impersonation: "yes" }, "impersonation", "must be true or false"],
  ];
  it.each(wrong)("refuses %j", async (given, option, says) => {
    const error = await failure(() => createApp(given as AppOptions));
    expect(error.option).toBe(option);
    expect(error.message).toContain("createApp: ");
    expect(error.message).toContain(says);
  });

  it("treats undefined as left out", async () => {
    const app = await createApp({ database: ":memory:", limits: {} });
    await app.close();
    await (await createApp({ url: undefined, tier: undefined } as unknown as AppOptions)).close();
  });

  it("rejects a long misspelling of an option quickly", async () => {
    const error = await failure(() => createApp({ ["x".repeat(100_000)]: 1 } as AppOptions));
    expect(error.message).toContain("is unknown. There are");
  });
});

describe("adapters", () => {
  it("reject a promise of an application, and other values", async () => {
    const app = await createApp();
    const promise = Promise.resolve(app) as never;
    const calls = [() => createMiddleware(promise), () => serve(promise)];
    for (const call of calls) {
      const error = await failure(call);
      expect([error.option, error.message.includes("await createApp()")]).toEqual(["app", true]);
    }
    expect((await failure(() => createMiddleware(undefined as never))).option).toBe("app");
    const misspelt = { trustproxy: true } as never;
    const error = await failure(() => createMiddleware(app, misspelt));
    expect(error.message).toBe(
      "createMiddleware: trustproxy is unknown. Did you mean trustProxy? There are trustProxy, stallTimeout",
    );
    expect((await failure(() => serve(app, { port: -1 }))).option).toBe("port");
    await app.close();
  });
});

describe("startTestServer", () => {
  const wrong: [given: unknown, option: string, says: string][] = [
    [{ sead: {} }, "sead", "Did you mean seed?"],
    [{ tier: "gold" }, "tier", "ultimate"],
    [{ faults: [{ sttus: 500 }] }, "faults.0.sttus", "Did you mean status?"],
    [{ faults: [{ status: 99 }] }, "faults.0.status", "from 200 to 599"],
    [{ rateLimit: {} }, "rateLimit.requests", "is missing"],
  ];
  it.each(wrong)("refuses %j", async (given, option, says) => {
    const error = await failure(() => startTestServer(given as TestServerOptions));
    expect([error.option, error.message.includes(says)]).toEqual([option, true]);
  });

  it("rejects an invalid fault added later, and accepts every kind of fault", async () => {
    const server = await startTestServer();
    const wrong = { times: "twice" } as unknown as Fault;
    expect(() => server.faults.add(wrong)).toThrow(
      'times must be a whole number, Infinity or "all"',
    );
    server.faults.add({ path: /x/, times: Number.POSITIVE_INFINITY, delay: 0.5, body: null });
    await server.close();
  });
});
