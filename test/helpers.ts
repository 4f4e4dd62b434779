import { randomUUID } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { inject } from "vitest";
import { createAppOn } from "../src/app.ts";
import type { Mount } from "../src/core/http/mount.ts";
import type { App, AppOptions } from "../src/index.ts";
import { allResources } from "../src/mounts.ts";
import type { Seed } from "../src/seed/input.ts";
import { migrate } from "../src/store/migrate.ts";
import { openStore } from "../src/store/open.ts";
import type { Database, Reader, Store } from "../src/store/port.ts";
import { newFolder } from "./folder.ts";

/** The database engine under test, set by vitest.config.ts. */
export const engine = process.env["TEST_ENGINE"] === "postgres" ? "postgres" : "sqlite";

/** A database on the engine under test: a file in its own folder, or a database on the test PostgreSQL server. */
export interface TestDatabase {
  /** The `database` option of `createApp`. */
  database: string;
  drop(): Promise<void>;
}

/** Creates a database without tables. */
export async function emptyDatabase(): Promise<TestDatabase> {
  return engine === "sqlite" ? newFile() : newOnServer();
}

/** Creates a database that has the tables already, but no rows: it starts much faster than an empty one. */
export async function newDatabase(): Promise<TestDatabase> {
  if (engine === "sqlite") {
    migratedFile ??= migrateFile();
    const created = await newFile();
    await writeFile(created.database, await migratedFile, { mode: 0o600 });
    return created;
  }
  migratedName ??= migrateOnServer();
  return newOnServer(`template ${await migratedName} strategy file_copy`);
}

/** The content of a file with all tables, which others are copied from. */
let migratedFile: Promise<Buffer> | undefined;
/** The name of a database with all tables, which others are copied from. */
let migratedName: Promise<string> | undefined;

async function migrateFile(): Promise<Buffer> {
  const { database, drop } = await newFile();
  await migrateAll(database);
  const content = await readFile(database);
  await drop();
  return content;
}

/** The database stays until the server is removed. */
async function migrateOnServer(): Promise<string> {
  const { database } = await newOnServer();
  await migrateAll(database);
  return new URL(database).pathname.slice(1);
}

async function migrateAll(database: string): Promise<void> {
  const store = await openStore(database);
  const migrations = allResources.flatMap((resource) => resource.migrations);
  await migrate(store, migrations, Date.now());
  await store.close();
}

async function newFile(): Promise<TestDatabase> {
  const folder = newFolder();
  return {
    database: join(folder, "pm.db"),
    drop: () => rm(folder, { recursive: true, force: true }),
  };
}

/** @param options of `create database` */
async function newOnServer(options = ""): Promise<TestDatabase> {
  const server = inject("postgresUrl");
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  const statement = async (sql: string) => {
    const client = new pg.Client({ connectionString: `${server}/postgres` });
    await client.connect();
    await client.query(sql);
    await client.end();
  };
  await statement(`create database ${name} ${options}`);
  return {
    database: `${server}/${name}`,
    drop: () => statement(`drop database ${name} with (force)`),
  };
}

/** The caller: a user of {@link people}, or `"anonymous"`. */
export type Person = keyof typeof people | "anonymous";

/** One user for each role, named after their membership in the test groups `acme` (public) and `secret` (private). */
const people = {
  admin: {},
  owner: {},
  maintainer: {},
  developer: {},
  reporter: {},
  guest: {},
  stranger: {},
  blocked: {},
} as const;

/** All callers, from no access to full access: the column order in tables of expected statuses. */
export const everyone = [
  "anonymous",
  "stranger",
  "guest",
  "reporter",
  "developer",
  "maintainer",
  "owner",
  "admin",
] as const satisfies Person[];

const members = {
  owner: "owner",
  maintainer: "maintainer",
  developer: "developer",
  reporter: "reporter",
  guest: "guest",
} as const;

/** The person's token, as seeded. */
export const tokenOf = (person: Exclude<Person, "anonymous">) => `token-of-${person}`;

/**
 * The seed API tests start with: all of {@link people}, the public group `acme` (labels Development, Testing and UX,
 * board `Board` with lists of the first two, milestone `v1`, public project `site`, private subgroup `team` with project
 * `core`) and the private group `secret` with project `vault`.
 */
export const baseSeed: Seed = {
  users: Object.keys(people).map((username) => ({
    username,
    name: `The ${username}`,
    admin: username === "admin",
    state: username === "blocked" ? "blocked" : "active",
    tokens: [
      {
        token: `token-of-${username}`,
        scopes: username === "admin" ? ["api", "sudo"] : ["api"],
      },
    ],
  })),
  groups: [
    {
      path: "acme",
      name: "Acme",
      visibility: "public",
      members,
      labels: [
        { name: "Development", color: "#0000ff", description: "Being built" },
        { name: "Testing", color: "#00ff00" },
        { name: "UX", color: "#ff0000" },
      ],
      milestones: [{ title: "v1", due_date: "2026-12-24" }],
      boards: [{ name: "Board", lists: ["Development", "Testing"] }],
      projects: [{ path: "site", name: "Site", visibility: "public" }],
      subgroups: [{ path: "team", name: "Team", projects: [{ path: "core", name: "Core" }] }],
    },
    {
      path: "secret",
      name: "Secret",
      members,
      labels: [{ name: "Hidden" }],
      boards: [{ name: "Plans", lists: ["Hidden"] }],
      projects: [{ path: "vault", name: "Vault" }],
    },
  ],
};

/** An answer: status, headers and parsed JSON. */
export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests assert the shape themselves
  json: any;
  text: string;
}

/** Request options beyond method and path. */
export interface CallOptions {
  /** The caller. Default `"anonymous"`. */
  as?: Person;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as a form. */
  form?: Record<string, string> | string;
  headers?: Record<string, string>;
  body?: BodyInit;
  /** The client's address. Default: unknown. */
  ip?: string;
  /** Tells that the client leaves. */
  signal?: AbortSignal;
}

/** An application under test. */
export interface TestApp extends App {
  /** The `database` option with which another process opens the same database. */
  readonly database: string;
  /** Its database, for inspecting or reopening. */
  readonly store: Store;
  /** SQL texts sent for requests since this array was last emptied. */
  readonly statements: string[];
  /** SQL texts sent, some time after an answer, to record that a token, session or user was active. */
  readonly activity: string[];
  /**
   * Calls the API: `call("GET /groups/acme/boards", { as: "guest" })`; paths are below `/api/v4` by default, and URLs are
   * sent as they are.
   */
  call(request: string, options?: CallOptions): Promise<Answer>;
  /** Another application on the same database, like a second server; `options` override the first one's. */
  another(options?: AppOptions): Promise<App & Pick<TestApp, "call">>;
  /** Closes the application and drops its database. */
  dispose(): Promise<void>;
}

/** The password of users who have one. */
export const PASSWORD = "correct horse";
/** bcrypt's lowest cost: hashing or checking a password takes a millisecond. */
export const PASSWORD_COST = 4;
/** {@link PASSWORD}, hashed at {@link PASSWORD_COST}. */
const PASSWORD_HASH = "$2b$04$LY5Ly6Rtn486sGrn3ZD3qORLUzhHtxwcQHTX4OqWt/bxpkQmQsz56";

/** Gives users {@link PASSWORD}. */
export async function givePassword(
  { store }: Pick<TestApp, "store">,
  ...usernames: Exclude<Person, "anonymous">[]
): Promise<void> {
  const sql = "update users set password_hash = ? where username = ?";
  await store.transaction(async (db) => {
    for (const username of usernames) await db.run(sql, [PASSWORD_HASH, username]);
  });
}

/** A public SSH key; each number has its own. */
export function sshKeyOf(number: number): string {
  const parts = [Buffer.from("ssh-ed25519"), Buffer.alloc(32, `key ${number} `)];
  const key = parts.flatMap((part) => [Buffer.from([0, 0, 0, part.length]), part]);
  return `ssh-ed25519 ${Buffer.concat(key).toString("base64")}`;
}

/** The key that encrypts secrets, on both engines. */
export const SECRET_KEY = "00".repeat(32);

let instant = 0;

/** The real time as a clock that never returns the same millisecond twice, so that what is written later is newer. */
export function clock(): number {
  instant = Math.max(Date.now(), instant + 1);
  return instant;
}

/** Creates an application on the engine under test, filled with {@link baseSeed} or another seed. */
export async function testApp(
  options: AppOptions & { seed?: Seed; extra?: readonly Mount[] } = {},
): Promise<TestApp> {
  const { seed = baseSeed, extra, ...given } = options;
  const { database, drop } = await newDatabase();
  const appOptions = {
    database,
    secretKey: SECRET_KEY,
    background: false,
    now: clock,
    sites: "path",
    ...given,
  };
  const store = await openStore(database);
  const statements: string[] = [];
  const activity: string[] = [];
  const note = (sql: string) => void (ACTIVITY.test(sql) ? activity : statements).push(sql);
  const app = await createAppOn(watched(store, note), appOptions, extra, PASSWORD_COST);
  await app.admin.seed(seed);
  return {
    ...app,
    database,
    store,
    statements,
    activity,
    call: (request, callOptions) => call(app, request, callOptions),
    another: async (others = {}) => {
      const other = await createAppOn(
        await openStore(database),
        { ...appOptions, ...others },
        extra,
        PASSWORD_COST,
      );
      return { ...other, call: (request, callOptions) => call(other, request, callOptions) };
    },
    dispose: async () => {
      await app.close();
      await drop();
    },
  };
}

/** What records activity; it may be sent between any statements of the requests that follow. */
const ACTIVITY =
  /^update (tokens set last_used_at|scim_tokens set last_used_at|sessions set last_seen_at|users set last_activity_on)\b/;

/** Wraps a store to tell the text of each statement. */
function watched(store: Store, note: (sql: string) => void): Store {
  const noting = <R extends Reader>(reader: R): R => ({
    ...reader,
    all: (sql, values) => {
      note(sql);
      return reader.all(sql, values);
    },
    rows: (sql, values) => {
      note(sql);
      return reader.rows(sql, values);
    },
    slice: (sql, values, most) => {
      note(sql);
      return reader.slice(sql, values, most);
    },
    each: (sql, lists, most) => {
      note(sql);
      return reader.each(sql, lists, most);
    },
    one: (sql, values) => {
      note(sql);
      return reader.one(sql, values);
    },
  });
  const notingAll = (db: Database): Database => ({
    ...noting(db),
    run: (sql, values) => {
      note(sql);
      return db.run(sql, values);
    },
  });
  return {
    ...store,
    ...noting<Reader>(store),
    reader: () => noting(store.reader()),
    transaction: (work, options) => store.transaction((db) => work(notingAll(db)), options),
  };
}

/** See {@link TestApp.call}. */
export async function call(
  app: Pick<App, "fetch" | "handler">,
  request: string,
  { as = "anonymous", json, form, headers = {}, body, ip = "", signal }: CallOptions = {},
): Promise<Answer> {
  const [method, path] = request.split(" ", 2) as [string, string];
  const all = new Headers(headers);
  if (as !== "anonymous" && !all.has("private-token")) all.set("private-token", tokenOf(as));
  let sent = body;
  if (json !== undefined) {
    all.set("content-type", "application/json");
    sent = JSON.stringify(json);
  } else if (form !== undefined) {
    all.set("content-type", "application/x-www-form-urlencoded");
    sent = typeof form === "string" ? form : new URLSearchParams(form).toString();
  }
  const prefix = /^\/(api|-|oauth|\.well-known)\//.test(path) ? "" : "/api/v4";
  const url = /^https?:/.test(path) ? path : `http://pm.test${prefix}${path}`;
  const init = {
    method,
    headers: all,
    ...(sent === undefined ? {} : { body: sent }),
    ...(signal && { signal }),
  };
  const response = await sendFrom(app, ip, new Request(url, init));
  const text = await response.text();
  const isJson = /^application\/((scim|vnd\.git-lfs)\+)?json/.test(
    response.headers.get("content-type") ?? "",
  );
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== "" ? JSON.parse(text) : undefined,
  };
}

/** Sends a request with a client address, as an adapter would. */
export async function sendFrom(
  app: Pick<App, "handler">,
  ip: string,
  request: Request,
): Promise<Response> {
  return app.handler({
    request,
    ip,
    platform: undefined,
    env: () => undefined,
    passThrough: () => undefined,
    waitUntil: () => undefined,
  });
}

/** Waits for a condition that becomes true on its own; the test's own time limit ends what never does. */
export async function waitFor(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 25));
}
