import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { TOTP } from "otpauth";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AppOptions } from "../../src/index.ts";
import { newFolder } from "../folder.ts";
import {
  engine,
  givePassword,
  PASSWORD as password,
  SECRET_KEY,
  type TestApp,
  testApp,
} from "../helpers.ts";
import { Visitor } from "../visitor.ts";

const PATH = "/-/profile/two_factor_auth";
const OTHER_KEY = "11".repeat(32);
const PERIOD = 30_000;

let now: number;
let folder: string;
const open: TestApp[] = [];
beforeEach(async () => {
  now = Date.parse("2026-11-22T12:00:00Z");
  folder = newFolder();
});
afterEach(async () => {
  for (const app of open.splice(0)) await app.dispose();
  await rm(folder, { recursive: true, force: true });
});

async function start(options: AppOptions = {}): Promise<TestApp> {
  const app = await testApp({ now: () => now, ...options });
  open.push(app);
  await givePassword(app, "admin", "owner", "maintainer");
  return app;
}

const secretIn = (page: string) =>
  (/<code class="secret">([A-Z2-7 ]+)</.exec(page)?.[1] ?? "").replaceAll(" ", "");

async function begin(app: Pick<TestApp, "handler" | "fetch">, login: string) {
  const visitor = new Visitor(app as TestApp);
  await visitor.signIn(login, password);
  await visitor.get(PATH);
  const started = await visitor.post(`${PATH}/start`, { password });
  return { visitor, started };
}

/** Sets up a second factor and returns its secret. */
async function setUp(app: TestApp, login: string): Promise<string> {
  const { visitor } = await begin(app, login);
  const secret = secretIn((await visitor.get(PATH)).page);
  const made = await visitor.post(PATH, { code: codeOf(secret) });
  expect(made.status).toBe(200);
  now += PERIOD;
  return secret;
}

const codeOf = (secret: string) => new TOTP({ secret }).generate({ timestamp: now });

/** Signs in with both factors and returns the status: 303 on success. */
async function signIn(app: TestApp, login: string, secret: string): Promise<number> {
  const visitor = new Visitor(app);
  await visitor.get("/users/sign_in");
  await visitor.follow(await visitor.post("/users/sign_in", { login, password }));
  const { status } = await visitor.post("/users/sign_in/two_factor", { code: codeOf(secret) });
  now += PERIOD;
  return status;
}

const stored = async (app: TestApp): Promise<string[]> =>
  (await app.store.rows("select secret from two_factor order by user_id")).map(String);

describe("secrets at rest", () => {
  it("are encrypted, bound to their user", async () => {
    const app = await start();
    const secret = await setUp(app, "owner");
    const other = await setUp(app, "maintainer");
    const [one = "", two = ""] = await stored(app);
    for (const text of [one, two]) {
      expect(text).toMatch(/^\$1\$[0-9a-f]{8}\$[\w-]+$/);
      expect(text).not.toContain(secret);
    }
    expect(await signIn(app, "owner", secret)).toBe(303);
    // Write access to the database does not allow copying one user's secret to another.
    await app.store.transaction((db) =>
      db.run("update two_factor set secret = ? where user_id = 2", [two]),
    );
    expect(await signIn(app, "owner", other)).toBe(503);
    expect(await app.admin.secrets.check()).toEqual({
      key: one.slice(3, 11),
      secrets: 2,
      outdated: 0,
      lost: [],
      lostOthers: 0,
    });
  });

  it("are encrypted on start if they never were", async () => {
    const app = await start();
    const secret = await setUp(app, "owner");
    await app.store.transaction((db) => db.run("update two_factor set secret = ?", [secret]));
    expect(await signIn(app, "owner", secret)).toBe(303);
    expect((await app.admin.secrets.check()).outdated).toBe(1);
    const second = await app.another();
    await second.close();
    expect((await stored(app))[0]).toMatch(/^\$1\$/);
    expect(await signIn(app, "owner", secret)).toBe(303);
  });

  it("are re-encrypted with the first of several keys, and decrypted with any", async () => {
    const app = await start();
    const secret = await setUp(app, "owner");
    const both = await app.another({ secretKey: `${OTHER_KEY},${SECRET_KEY}` });
    const before = await stored(app);
    expect(await both.admin.secrets.rotate()).toEqual({
      secrets: 1,
      key: expect.stringMatching(/^[0-9a-f]{8}$/),
    });
    expect(await both.admin.secrets.rotate()).toMatchObject({ secrets: 0 });
    expect(await stored(app)).not.toEqual(before);
    expect(await signIn({ ...app, ...both } as TestApp, "owner", secret)).toBe(303);
    await both.close();
  });

  it("with another key, or none, are 503 with a reason, and nothing new is encrypted", async () => {
    const app = await start();
    const secret = await setUp(app, "owner");
    const errors: unknown[] = [];
    const options = { onError: (error: unknown) => errors.push(error) };
    const without =
      engine === "postgres"
        ? { secretKey: undefined }
        : { secretKey: undefined, secretKeyFile: join(folder, "no.key") };
    for (const keys of [{ secretKey: OTHER_KEY }, without]) {
      const other = await app.another({ ...options, ...keys } as AppOptions);
      const mixed = { ...app, ...other } as TestApp;
      expect(await signIn(mixed, "owner", secret)).toBe(503);
      const { started } = await begin(mixed, "maintainer");
      expect([started.status, started.page.includes("key for secrets is missing")]).toEqual([
        503,
        true,
      ]);
      expect((await other.admin.secrets.check()).lost).toEqual(["owner"]);
      await other.close();
    }
    expect(errors.map((error) => (error as Error).name)).toEqual(
      Array.from({ length: 4 }, () => "SecretKeyError"),
    );
    for (const error of errors) expect(String(error)).not.toContain(OTHER_KEY);
    expect(await stored(app)).toHaveLength(1);

    const lost = await app.another({ secretKey: OTHER_KEY });
    expect(await lost.admin.secrets.removeLost()).toEqual({ users: ["owner"], others: 0 });
    const { started } = await begin({ ...app, ...lost } as TestApp, "maintainer");
    expect(started.status).toBe(303);
    await lost.close();
  });

  it("require a valid key", async () => {
    await expect(testApp({ secretKey: "short" })).rejects.toThrow("32 bytes in Base64");
  });
});

describe("a key file", () => {
  it("is shared, reread when another process has changed it, and renewed by rotating", async () => {
    const secretKeyFile = join(folder, "pm.key");
    const [, key] = ["", Buffer.alloc(32, 7).toString("base64")];
    await writeFile(secretKeyFile, `${key}\n`, { mode: 0o600 });
    const options = { secretKey: undefined, secretKeyFile } as unknown as AppOptions;
    const app = await start(options);
    const secret = await setUp(app, "owner");
    const keys = async () =>
      (await readFile(secretKeyFile, "utf8")).split("\n").filter((line) => /^[^#]/.test(line));
    const other = await app.another();
    expect(await other.admin.secrets.rotate()).toMatchObject({ secrets: 1 });
    const first = await keys();
    expect([first.length, first[1]]).toEqual([2, key]);
    // The first process has not read that key yet.
    expect(await signIn(app, "owner", secret)).toBe(303);
    await setUp(app, "maintainer");
    expect((await app.admin.secrets.check()).outdated).toBe(0);
    expect(await other.admin.secrets.rotate()).toMatchObject({ secrets: 2 });
    expect((await keys())[1]).toBe(first[0]);
    expect(await keys()).toHaveLength(2);
    expect(await signIn(app, "owner", secret)).toBe(303);
    await other.close();
  });

  it("can continue a rotation in which it lost its newest key half way", async () => {
    const secretKeyFile = join(folder, "pm.key");
    await writeFile(secretKeyFile, `${OTHER_KEY}\n${SECRET_KEY}\n`, { mode: 0o600 });
    const app = await start();
    await setUp(app, "owner");
    await setUp(app, "maintainer");
    const options = { secretKey: undefined, secretKeyFile } as unknown as AppOptions;
    const resumed = await app.another(options);
    const before = await readFile(secretKeyFile, "utf8");
    expect(await resumed.admin.secrets.rotate()).toMatchObject({ secrets: 2 });
    expect(await readFile(secretKeyFile, "utf8")).toBe(before);
    await resumed.close();
  });

  // Beside PostgreSQL there is no place for a file.
  it.runIf(engine === "sqlite")("is created beside a SQLite file when needed", async () => {
    const database = join(folder, "pm.db");
    const app = await start({ secretKey: undefined } as unknown as AppOptions);
    await app.close();
    const { createApp } = await import("../../src/index.ts");
    const own = await createApp({ database, now: () => now, background: false });
    await own.admin.users.create({
      username: "ada",
      name: "Ada",
      email: "a@example.com",
      password,
    });
    await expect(stat(`${database}.key`)).rejects.toThrow("ENOENT");
    const { visitor } = await begin(own as TestApp, "ada");
    expect(secretIn((await visitor.get(PATH)).page)).toMatch(/^[A-Z2-7]{32}$/);
    if (process.platform !== "win32") {
      expect((await stat(`${database}.key`)).mode & 0o777).toBe(0o600);
    }
    await own.close();
  });
});
