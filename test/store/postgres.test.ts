import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { generate } from "selfsigned";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createApp } from "../../src/index.ts";
import { migrate } from "../../src/store/migrate.ts";
import { openStore } from "../../src/store/open.ts";
import { type Database, StoreError, UnavailableError } from "../../src/store/port.ts";
import { baseSeed, call, emptyDatabase, engine, waitFor } from "../helpers.ts";
import { type PostgresServer, startPostgres } from "../postgres-server.ts";
import { programOf } from "../program.ts";

const schema = {
  id: "20260101-01-counters",
  sql: "create table counters (id $int primary key, number $int not null);\n",
};

/** A database with a counter, on the shared test server. */
async function counting(options: Parameters<typeof openStore>[1] = {}) {
  const { database, drop } = await emptyDatabase();
  const store = await openStore(database, options);
  onTestFinished(async () => {
    await store.close();
    await drop();
  });
  await migrate(store, [schema], 0);
  await store.transaction((db) => db.run("insert into counters values (1, 0)"));
  return { store, database };
}

/** A promise with what resolves it. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const failureOf = (work: Promise<unknown>) => work.catch((error: unknown) => error);
const shared = { shared: true };
/** Raises the error the server reports for two conflicting transactions. */
const collide = "do $$ begin raise exception 'collision' using errcode = '40001'; end $$";
const increase = "update counters set number = number + 1 where id = 1";

// All of this file is about the driver of PostgreSQL and its server.
describe.runIf(engine === "postgres")("PostgreSQL", () => {
  describe("a transaction", () => {
    it("is retried after a serialization failure", async () => {
      const { store } = await counting();
      let attempts = 0;
      await store.transaction(async (db) => {
        attempts += 1;
        await db.run(increase);
        if (attempts < 4) await db.run(collide);
      });
      expect(attempts).toBe(4);
      expect(await store.rows("select number from counters")).toEqual([[1]]);
    });

    it("that conflicts every time fails, and leaves nothing", async () => {
      const { store } = await counting();
      let attempts = 0;
      const failure = await failureOf(
        store.transaction(async (db) => {
          attempts += 1;
          await db.run(increase);
          db.last(collide);
        }),
      );
      expect(failure).toBeInstanceOf(UnavailableError);
      expect(failure).toMatchObject({ message: expect.stringContaining("the database is busy") });
      expect(attempts).toBe(12);
      expect(await store.rows("select number from counters")).toEqual([[0]]);
    });

    it("is retried after a deadlock", async () => {
      const { store } = await counting();
      await store.transaction((db) => db.run("insert into counters values (2, 0)"));
      const both = (first: number, second: number) =>
        store.transaction(async (db) => {
          for (const id of [first, second]) {
            await db.run("update counters set number = number + 1 where id = ?", [id]);
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
        }, shared);
      await Promise.all([both(1, 2), both(2, 1)]);
      expect(await store.rows("select number from counters")).toEqual([[2], [2]]);
    });

    it("in shared mode runs beside other shared ones, but not beside an exclusive one", async () => {
      const { store } = await counting();
      const events: string[] = [];
      const noting = (name: string, options?: typeof shared) =>
        store.transaction(async (db) => {
          await db.rows("select 1");
          events.push(`${name} begins`);
          await db.rows("select pg_sleep(0.1)");
          events.push(`${name} ends`);
        }, options);
      await Promise.all([noting("one", shared), noting("two", shared)]);
      expect(events.slice(0, 2).sort()).toEqual(["one begins", "two begins"]);
      events.length = 0;
      await Promise.all([noting("one", shared), noting("alone"), noting("two", shared)]);
      const at = events.indexOf("alone begins");
      expect(events[at + 1]).toBe("alone ends");
    });

    it("that locks a key waits for the holder, and sees its writes", async () => {
      const { store } = await counting();
      const add = (key: number) =>
        store.transaction(async (db) => {
          db.lock(key);
          const [read] = await db.rows("select number from counters");
          await db.rows("select pg_sleep(0.01)");
          await db.run("update counters set number = ?", [(read?.[0] as number) + 1]);
        }, shared);
      // Keys may be larger than 32 bits.
      await Promise.all(Array.from({ length: 10 }, () => add(2 ** 40 + 7)));
      expect(await store.rows("select number from counters")).toEqual([[10]]);
    });

    it("that cannot begin writes nothing, whatever it has sent before it knows", async () => {
      const { store } = await counting({ statementTimeout: 200 });
      const [begun, over] = [gate(), gate()];
      const holder = store.transaction(
        async (db) => {
          await db.rows("select 1");
          begun.open();
          await over.opened;
        },
        { unlimited: true },
      );
      await begun.opened;
      const failures = await Promise.all(
        [
          (db: Database) => db.run(increase),
          async (db: Database) => {
            await db.rows("select number from counters");
            await db.run(increase);
          },
          (db: Database) => {
            db.lock(1);
            return Promise.all([
              db.rows("select number from counters"),
              db.run(increase),
              db.rows("select number from counters"),
              db.run(increase),
            ]);
          },
          (db: Database) => {
            db.lock(1);
            db.last(increase);
          },
        ].map((work) => failureOf(store.transaction<unknown>(work, shared))),
      );
      over.open();
      for (const failure of failures) {
        expect(failure).toBeInstanceOf(UnavailableError);
        expect((failure as Error).message).toContain("statement timeout");
      }
      await holder;
      expect(await store.rows("select number from counters")).toEqual([[0]]);
    });

    it("whose begin alone fails keeps nothing: writes are sent behind it", async () => {
      const { store } = await counting();
      const { query } = pg.Client.prototype;
      const broken = vi.spyOn(pg.Client.prototype, "query");
      broken.mockImplementation(function (this: pg.Client, ...given: unknown[]) {
        const [{ text }] = given as [pg.QueryConfig];
        if (text.startsWith("begin")) given[0] = { text: "select 1 / 0" };
        return Reflect.apply(query, this, given);
      });
      const failures = await Promise.all(
        [
          (db: Database) => db.run(increase),
          (db: Database) => db.send(increase),
          (db: Database) => db.last(increase),
          (db: Database) => {
            db.lock(1);
            return Promise.all([db.rows("select 1"), db.run(increase), db.rows("select 1")]);
          },
        ].map((work) => failureOf(store.transaction<unknown>(work, shared))),
      ).finally(() => broken.mockRestore());
      for (const failure of failures) {
        expect(failure).toMatchObject({ message: "division by zero" });
      }
      expect(await store.rows("select number from counters")).toEqual([[0]]);
    });

    it("fails with the error of the first statement that fails, waited for or not", async () => {
      const { store } = await counting();
      const failures = await Promise.all(
        [
          () => undefined,
          (db: Database) => db.rows("select number from counters"),
          (db: Database) => db.last(increase),
        ].map((work) =>
          failureOf(
            store.transaction<unknown>((db) => {
              db.send(increase);
              db.send("insert into counters values (1, 0)");
              return work(db);
            }, shared),
          ),
        ),
      );
      const failing = store.transaction((db) => {
        const awaited = db.run("insert into counters values (1, 0)");
        db.send(increase);
        return awaited;
      }, shared);
      failures.push(await failureOf(failing));
      for (const failure of failures) {
        expect(failure).toMatchObject({ name: "ConstraintError", rule: "unique" });
      }
      expect(await store.rows("select number from counters")).toEqual([[0]]);
    });

    it("that does not get the lock of a key fails for that reason, and writes nothing", async () => {
      const { store } = await counting({ statementTimeout: 300 });
      const begun = gate();
      let isOver = false;
      const holder = store.transaction(async (db) => {
        db.lock(1);
        await db.rows("select 1");
        begun.open();
        // Not idle, which is limited, too.
        while (!isOver) await db.rows("select pg_sleep(0.02)");
      }, shared);
      await begun.opened;
      const failures = await Promise.all(
        [
          (db: Database) => db.run(increase),
          (db: Database) => db.last(increase),
          () => undefined,
          () => Promise.reject(new Error("the work's own")),
        ].map((work) =>
          failureOf(
            store.transaction<unknown>((db) => {
              db.lock(1);
              return work(db);
            }, shared),
          ),
        ),
      );
      isOver = true;
      for (const failure of failures) {
        expect(failure).toBeInstanceOf(UnavailableError);
        expect((failure as Error).message).toContain("statement timeout");
      }
      await holder;
      expect(await store.rows("select number from counters")).toEqual([[0]]);
    });

    it("runs deferred statements in one round trip with its commit, all or nothing", async () => {
      const { store } = await counting();
      const failure = await failureOf(
        store.transaction((db) => {
          db.last(increase);
          db.last("insert into counters values (1, 0)");
          db.last(increase);
        }),
      );
      expect(failure).toMatchObject({ name: "ConstraintError", rule: "unique" });
      expect(await store.rows("select number from counters")).toEqual([[0]]);
    });
  });

  describe("a limit", () => {
    it("ends a slow statement, reading or writing, and the connection stays usable", async () => {
      const { store } = await counting({ statementTimeout: 200 });
      for (const query of [
        () => store.transaction((db) => db.rows("select pg_sleep(20)")),
        async () => store.rows("select pg_sleep(20)"),
      ]) {
        const failure = await failureOf(query());
        expect(failure).toBeInstanceOf(UnavailableError);
        expect((failure as Error).message).toContain("statement timeout");
        expect(await store.rows("select number from counters")).toEqual([[0]]);
      }
    });

    it("ends an idle transaction, so that others get its locks", async () => {
      const { store } = await counting({ statementTimeout: 300 });
      const idle = failureOf(
        store.transaction(async (db) => {
          await db.run(increase);
          await waitFor(() =>
            store
              .transaction((other) => other.run(increase))
              .then(
                () => true,
                () => false,
              ),
          );
          await db.run(increase);
        }),
      );
      expect(await idle).toBeInstanceOf(UnavailableError);
      expect(await store.rows("select number from counters")).toEqual([[1]]);
    });

    it("ends the wait for a connection", async () => {
      const { store } = await counting({ maxConnections: 2, connectTimeout: 300 });
      const over = gate();
      const holders = [1, 2].map(() => store.transaction(() => over.opened, shared));
      const failure = await failureOf(store.transaction((db) => db.run(increase)));
      over.open();
      await Promise.all(holders);
      expect(failure).toBeInstanceOf(UnavailableError);
      await store.transaction((db) => db.run(increase));
    });
  });

  it("answers quick reads while a slow one occupies a connection", async () => {
    const { store } = await counting();
    const wait = "select pg_advisory_xact_lock(42)";
    const [begun, over] = [gate(), gate()];
    const holder = store.transaction(async (db) => {
      await db.rows(wait);
      begun.open();
      await over.opened;
    }, shared);
    await begun.opened;
    let slowEnded = false;
    const slow = (async () => {
      await store.rows(wait);
      slowEnded = true;
    })();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await Promise.all(
      Array.from({ length: 100 }, async () => store.rows("select number from counters")),
    );
    expect(slowEnded).toBe(false);
    over.open();
    await Promise.all([holder, slow]);
  });

  it("opens new connections after its own were cut", async () => {
    const { store, database } = await counting();
    const other = await openStore(database);
    onTestFinished(() => other.close());
    const cut = `select count(pg_terminate_backend(pid)) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`;
    for (let round = 0; round < 3; round += 1) {
      await Promise.all([store.rows("select 1"), store.transaction((db) => db.rows("select 1"))]);
      expect((await other.rows(cut))[0]?.[0]).toBeGreaterThan(0);
      await new Promise((resolve) => setTimeout(resolve, 50));
      await store.transaction((db) => db.run(increase));
      expect(await store.rows("select number from counters")).toEqual([[round + 1]]);
    }
  });

  it("closes after running reads", async () => {
    const { database } = await counting();
    const store = await openStore(database);
    const reads = Array.from({ length: 50 }, async () => store.rows("select pg_sleep(0.01)"));
    await store.close();
    expect(await Promise.all(reads)).toHaveLength(50);
    expect(await failureOf((async () => store.rows("select 1"))())).toBeInstanceOf(
      UnavailableError,
    );
  });
});

describe.runIf(engine === "postgres")("a PostgreSQL server that is stopped and started", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.remove());

  it("causes 503s and nothing else", async () => {
    const errors: unknown[] = [];
    const app = await createApp({
      database: `${server.url}/postgres`,
      onError: (error) => errors.push(error),
    });
    onTestFinished(() => app.close());
    await app.admin.seed(baseSeed);
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    onTestFinished(() => void process.off("unhandledRejection", note));

    let ended = false;
    const statuses = new Map<number, number>();
    const acknowledged: string[] = [];
    const writers = Array.from({ length: 6 }, async (_, writer) => {
      for (let turn = 0; !ended; turn += 1) {
        const name = `label-${writer}-${turn}`;
        const answer =
          turn % 3 === 0
            ? await call(app, "POST /groups/acme/labels", {
                as: "owner",
                json: { name, color: "#123456" },
              })
            : await call(app, "GET /groups/acme/boards", { as: "guest" });
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        if (answer.status === 201) acknowledged.push(name);
        if (answer.status === 503) {
          expect(answer.json).toEqual({ message: "503 Service Unavailable" });
          expect(answer.headers.get("retry-after")).toBe("1");
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      }
    });
    const passes = () => new Promise((resolve) => setTimeout(resolve, 300));
    const ready = async () => (await call(app, "GET /-/readiness")).status;
    for (let round = 0; round < 2; round += 1) {
      await passes();
      await server.stop();
      expect(await ready()).toBe(503);
      expect((await call(app, "GET /-/health")).status).toBe(200);
      await passes();
      await server.start();
      // A connection requested just before may still be refused.
      for (let tries = 0; tries < 100 && (await ready()) !== 200; tries += 1) await passes();
      expect(await ready()).toBe(200);
    }
    await passes();
    ended = true;
    await Promise.all(writers);

    expect([...statuses.keys()].sort()).toEqual([200, 201, 503]);
    expect(unhandled).toEqual([]);
    for (const error of errors) expect(error).toBeInstanceOf(UnavailableError);
    expect(acknowledged.length).toBeGreaterThan(10);
    const kept = new Set<string>();
    for (let page: string | null = "1"; page; ) {
      const path = `GET /groups/acme/labels?per_page=100&page=${page}`;
      const { json, headers } = await call(app, path, { as: "owner" });
      for (const { name } of json) kept.add(name);
      page = headers.get("x-next-page");
    }
    expect(acknowledged.filter((name) => !kept.has(name))).toEqual([]);
  });
});

describe.runIf(engine === "postgres")("TLS", () => {
  let server: PostgresServer;
  let folder: string;
  let authority: string;
  beforeAll(async () => {
    const { private: key, cert } = await generate([{ name: "commonName", value: "localhost" }], {
      extensions: [
        { name: "basicConstraints", cA: true },
        { name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] },
      ],
    });
    folder = await mkdtemp(join(tmpdir(), "pm-api-tls-"));
    authority = join(folder, "ca.pem");
    await writeFile(authority, cert);
    const settings = { ssl: "on", ssl_cert_file: "cert.pem", ssl_key_file: "key.pem" };
    server = await startPostgres(settings, { "cert.pem": cert, "key.pem": key });
  });
  afterAll(async () => {
    await server.remove();
    await rm(folder, { recursive: true });
  });

  const open = (host: string, query: string) =>
    openStore(`postgres://postgres:postgres@${host}:${server.port}/postgres?${query}`);
  const encrypted = async (query: string, host = "localhost") => {
    const store = await open(host, query);
    const rows = await store.rows("select ssl from pg_stat_ssl where pid = pg_backend_pid()");
    await store.close();
    return rows[0]?.[0];
  };

  it("is used according to sslmode and sslrootcert", async () => {
    expect(await encrypted(`sslmode=verify-full&sslrootcert=${authority}`)).toBe(true);
    expect(await encrypted("sslmode=no-verify", "127.0.0.1")).toBe(true);
    expect(await encrypted("sslmode=disable")).toBe(false);
  });

  it.each([
    ["a certificate nobody vouches for", "localhost", "", /self-signed certificate/],
    ["another host's certificate", "127.0.0.1", "&sslrootcert=", /does not match certificate/],
  ])("refuses %s", async (_, host, rootcert, reason) => {
    const query = `sslmode=verify-full${rootcert && rootcert + authority}`;
    const failure = await failureOf(open(host, query));
    expect(failure).toBeInstanceOf(StoreError);
    expect((failure as Error).message).toMatch(/^cannot reach the PostgreSQL server: /);
    expect((failure as Error).message).toMatch(reason);
  });

  it("does not fall back to plain connections if the server has none", async () => {
    const plain = await startPostgres();
    onTestFinished(() => plain.remove());
    const url = `${plain.url}/postgres?sslmode=verify-full&sslrootcert=${authority}`;
    await expect(openStore(url)).rejects.toThrow("does not support SSL");
  });
});

it.runIf(engine === "postgres")("lets ten processes start at once", async () => {
  const { database, drop } = await emptyDatabase();
  onTestFinished(drop);
  const { file, remove } = await programOf(new URL("_count-users.ts", import.meta.url));
  onTestFinished(remove);
  const node = [file, database];
  const ran = await Promise.all(
    Array.from({ length: 10 }, () => promisify(execFile)(process.execPath, node)),
  );
  expect(ran.map(({ stdout }) => stdout)).toEqual(ran.map(() => "0\n"));
});
