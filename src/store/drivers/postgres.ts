import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import {
  type Awaitable,
  ConstraintError,
  type Database,
  type Reader,
  type Store,
  StoreError,
  UnavailableError,
  type Value,
} from "../port.ts";
import { keyOf, RowCache } from "../row-cache.ts";
import { StatementCache } from "../statement-cache.ts";
import { Readers } from "./postgres-readers.ts";
import { TurnSocket } from "./postgres-socket.ts";
import { isFull, type Numbered, prepared } from "./postgres-statements.ts";

/** Options of PostgreSQL databases. */
export interface PostgresOptions {
  /** Maximum connections of this process, at least 2. Default 10. */
  maxConnections?: number;
  /** Milliseconds to wait for a new or free connection. Default 10,000. */
  connectTimeout?: number;
  /** Milliseconds after which the server aborts a statement, or an idle transaction. Default 30,000. */
  statementTimeout?: number;
}

const MAX_ATTEMPTS = 12;
const MAX_PAUSE_MS = 200;
/** Arbitrary constant: the advisory lock of transactions and, with a second number, the locks within them. */
const LOCK = 7_061_126;
/** An advisory lock of two numbers has 32 bits for each. */
const LOCK_KEYS = 2 ** 31;
/** Milliseconds the server gets to report that a statement exceeded its limit; then the connection counts as dead. */
const GRACE_MS = 5000;
/** Milliseconds until the system checks whether an idle connection is still alive. */
const KEEP_ALIVE_MS = 10_000;
/** No limit: the maximum of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const RULES: Record<string, ConstraintError["rule"]> = {
  "23505": "unique",
  "23503": "foreign key",
  "23502": "not null",
  "23514": "check",
};

/** Serialization failure (if the server enforces that level) and deadlock: the same work may succeed if run again. */
const RETRYABLE = new Set(["40001", "40P01"]);

/** A statement behind one that failed, in the same transaction. */
const BEHIND_FAILED = "25P02";

/**
 * Temporary failures (PostgreSQL's documentation, appendix A): lost connection, out of resources, locked, ended by an
 * operator or a timeout, system error, a server that has become a standby.
 */
const PASSING = /^(08|53|55P03|57|58|25006|25P03)/;

/** bigint and numeric as numbers: ids and instants stay far below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC
      ? Number
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** Stands for a dropped value. */
const CUT = Symbol("cut");

/**
 * {@link types} that drop all rows after the texts have reached `most` characters: the server sends all rows, and pg
 * would hold them in memory.
 */
function cuttingTypes(most: number): pg.CustomTypesConfig {
  let size = 0;
  let isCut = false;
  let last = -1;
  let columns = 0;
  // pg calls it once for each column, in order.
  const getTypeParser = (oid: number, format?: "text" | "binary") => {
    const parse = types.getTypeParser(oid, format) as (text: string) => unknown;
    const column = columns;
    columns += 1;
    return (text: string) => {
      const isNewRow = column <= last;
      last = column;
      if (isNewRow && size >= most) isCut = true;
      if (isCut) return CUT;
      size += text.length;
      return parse(text);
    };
  };
  return { getTypeParser: getTypeParser as typeof pg.types.getTypeParser };
}

/**
 * Opens a PostgreSQL database by its `postgres://` URL, with a pool of connections. The URL's TLS parameters
 * (`sslmode`, `sslrootcert`) apply.
 *
 * Transactions run alone or, if they are shared, beside other shared ones (docs/decisions/0003). After a deadlock the
 * work runs again, up to a maximum number of times. A lost connection is replaced when the next statement needs one.
 *
 * @throws StoreError if the server can't be reached
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Store> {
  const { maxConnections = 10, connectTimeout = 10_000, statementTimeout = 30_000 } = options;
  const pool = new pg.Pool({
    connectionString: url,
    types,
    max: Math.max(maxConnections, 2),
    pipeline: true,
    stream: () => new TurnSocket(),
    connectionTimeoutMillis: connectTimeout,
    statement_timeout: statementTimeout,
    idle_in_transaction_session_timeout: statementTimeout,
    // For a connection whose other end has disappeared silently.
    query_timeout: statementTimeout + GRACE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  });
  // A lost connection makes its running statements fail; the event itself need not be reported.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  try {
    await pool.query("select 1");
  } catch (error) {
    await pool.end();
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError("unreachable", `cannot reach the PostgreSQL server: ${reason}`, {
      cause: error,
    });
  }
  const readers = new Readers(() => connect(pool), Math.floor(pool.options.max / 2));
  const reads = reading((query) => sent(() => readers.query(query)));
  const cache = new RowCache();
  const running = new Set<Promise<unknown>>();
  const tracked = async <T>(result: Promise<T>): Promise<T> => {
    running.add(result);
    try {
      return await result;
    } finally {
      running.delete(result);
    }
  };

  return {
    ...reads,
    reader: () => cachedReader(reads, cache),
    transaction: (work, { shared = false, unlimited = false } = {}) => {
      const kind = unlimited ? UNLIMITED : shared ? SHARED : ALONE;
      return tracked(retried(() => attempt(pool, kind, work)));
    },
    snapshot: (work) => tracked(attempt(pool, SNAPSHOT, work)),
    async backup() {
      throw new StoreError(
        "unsupported",
        "a PostgreSQL database is backed up with its own tools: pg_dump, or pg_basebackup with the log",
      );
    },
    connections: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    async close() {
      // Ending the pool would leave work that waits for a connection, or for its next attempt, without one.
      await Promise.allSettled(running);
      await readers.close();
      await pool.end();
    },
  };
}

/** Runs work again while it conflicts with other transactions, after growing random pauses. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count += 1) {
    try {
      return await work();
    } catch (error) {
      if (!RETRYABLE.has(codeOf(error))) throw error;
      if (count === MAX_ATTEMPTS) {
        const reason = "too many transactions changed the same rows";
        throw new UnavailableError(`the database is busy: ${reason}`, { cause: error });
      }
      await sleep(Math.random() * Math.min(2 ** count, MAX_PAUSE_MS));
    }
  }
}

/** A kind of transaction. */
interface Kind {
  /** The statements that begin it, sent together. */
  begin: string;
  /** Whether it has no time limit. */
  unlimited: boolean;
}

const WITHOUT_LIMIT =
  "set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0";
const SNAPSHOT: Kind = {
  begin: `begin isolation level repeatable read read only; ${WITHOUT_LIMIT}`,
  unlimited: true,
};
/** Statements then see everything committed before they got the lock; a snapshot could be older than that. */
const BEGIN = "begin isolation level read committed";
const TAKE_LOCK = `select pg_advisory_xact_lock(${LOCK})`;
const ALONE: Kind = { begin: `${BEGIN}; ${TAKE_LOCK}`, unlimited: false };
const SHARED: Kind = {
  begin: `${BEGIN}; select pg_advisory_xact_lock_shared(${LOCK})`,
  unlimited: false,
};
const UNLIMITED: Kind = { begin: `${BEGIN}; ${WITHOUT_LIMIT}; ${TAKE_LOCK}`, unlimited: true };

async function attempt<T>(
  pool: pg.Pool,
  kind: Kind,
  work: (db: Database) => Awaitable<T>,
): Promise<T> {
  const { begin, unlimited } = kind;
  const client = await connect(pool);
  const limit = unlimited ? { query_timeout: MAX_TIMER_MS } : {};
  const send: Send = (query) =>
    sent(() => client.query<object>({ ...prepared(client, query), ...limit }));
  // Without those that have succeeded: a long transaction sends many.
  const ahead = new Set<Promise<unknown>>();
  const aheadOf = (result: Promise<unknown>) => {
    ahead.add(result);
    result.then(
      () => ahead.delete(result),
      () => undefined,
    );
  };
  let lost = false;
  try {
    const begun = send({ text: begin });
    aheadOf(begun);
    if (kind !== SHARED) await begun;
    const next = behind(begun, send);
    const last: pg.QueryConfig[] = [];
    const result = await work(writing(next, (query) => aheadOf(next(query)), last));
    await begun;
    // Sent together, so that their rows are locked only while the server works. If one fails, the server rolls the
    // transaction back, even though a commit follows.
    await inOrder([...ahead, ...[...last, { text: "commit" }].map((query) => send(query))]);
    return result;
  } catch (error) {
    // What was sent behind a statement that failed has failed for that reason.
    const cause = await inOrder(ahead).then(
      () => error,
      (reason: unknown) => (codeOf(reason) === BEHIND_FAILED ? error : reason),
    );
    lost = cause instanceof UnavailableError;
    if (!lost) {
      await send({ text: "rollback" }).catch(() => {
        lost = true;
      });
    }
    throw cause;
  } finally {
    client.release(lost || isFull(client));
  }
}

const READING = /^\s*select\b/i;

/**
 * Sends queries to a transaction whose `begin` the server may not have answered yet. The first ones don't wait for that
 * if they only read; others would be kept if it failed.
 */
function behind(begun: Promise<unknown>, send: Send): Send {
  let isBegun = false;
  let areWaiting = false;
  begun.then(
    () => {
      isBegun = true;
    },
    () => undefined,
  );
  return async (query) => {
    if (!isBegun && (areWaiting || !READING.test(query.text))) {
      areWaiting = true;
      await begun;
    }
    return send(query);
  };
}

/** Waits for all results and throws the first error: the later ones are its consequences. */
async function inOrder(results: Iterable<Promise<unknown>>): Promise<void> {
  for (const result of await Promise.allSettled(results)) {
    if (result.status === "rejected") throw result.reason;
  }
}

/** @throws UnavailableError whatever the reason */
async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw unavailable(error);
  }
}

/** Runs a query, translating the driver's errors into those of `port.ts`. */
async function sent<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    if (error instanceof UnavailableError) throw error;
    // Values were checked before, so any error not from the server is a failure of the connection.
    if (!(error instanceof pg.DatabaseError)) throw unavailable(error);
    const rule = RULES[codeOf(error)];
    if (rule) throw new ConstraintError(rule, error.message, { cause: error });
    throw PASSING.test(codeOf(error)) ? unavailable(error) : error;
  }
}

function unavailable(cause: unknown): UnavailableError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new UnavailableError(`the database does not answer: ${reason}`, { cause });
}

/** PostgreSQL's code of an error; `""` for other errors. */
function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

/**
 * A bound text has the database's collation, with which `lower` would fold more letters than on columns and in SQLite.
 */
const FOLDED = /\blower\(\?\)/g;
/** Functions with another name in PostgreSQL. */
const INSTR = /\binstr\(/g;
const CONCAT = /\bgroup_concat\(/g;
const LAST_ID = /\blast_insert_rowid\(\)/g;

/**
 * A list of several placeholders becomes one array: PostgreSQL then plans a statement once for all of its lists, and not
 * for the values of each, which takes longer than reading some rows.
 */
const LIST = /( not)? in \((\?(?:, \?)+)\)/g;

/** A translated statement. */
interface Translated {
  readonly query: Numbered;
  /** Of how many values each parameter consists; `undefined` if it is one for all of them. */
  readonly sizes: readonly number[] | undefined;
}

const translated = new StatementCache<Translated>(() => undefined);
let names = 0;

/** Translates a statement for PostgreSQL. From its second use on it has a name, so that it is prepared. */
function translate(sql: string): Translated {
  const known = translated.get(sql);
  if (known) {
    if (known.query.name === undefined) {
      names += 1;
      known.query.name = `s${names}`;
    }
    return known;
  }
  const sizes: number[] = [];
  const text = sql
    .replace(FOLDED, 'lower(? collate "C")')
    .replace(INSTR, "strpos(")
    .replace(CONCAT, "string_agg(")
    .replace(LAST_ID, "lastval()")
    .replace(LIST, (_, not: string | undefined, list: string) => {
      const size = list.split("?").length - 1;
      return `${not ? " <> all(" : " = any("}?${size})`;
    })
    .replace(/\?(\d*)/g, (_, size: string) => {
      sizes.push(size === "" ? 1 : Number(size));
      return `$${sizes.length}`;
    });
  const statement = {
    query: { text },
    sizes: sizes.some((size) => size > 1) ? sizes : undefined,
  };
  translated.set(sql, statement);
  return statement;
}

/** A statement as it is sent. */
function numbered(sql: string, values: readonly Value[]): Numbered & { values: unknown[] } {
  const { query, sizes } = translate(sql);
  if (!sizes) return { ...query, values: [...values] };
  let at = 0;
  const parameters = sizes.map((size) => {
    at += size;
    return size === 1 ? values[at - 1] : [...new Set(values.slice(at - size, at))];
  });
  return { ...query, values: parameters };
}

/** Sends a query; throws the errors of `port.ts`. */
type Send = (query: pg.QueryConfig & { rowMode?: "array" }) => Promise<pg.QueryResult<object>>;

function reading(send: Send): Reader {
  const all = async <Row extends object>(sql: string, values: readonly Value[] = []) => {
    const { rows } = await send(numbered(sql, values));
    return rows as Row[];
  };
  const cut = async (sql: string, values: readonly Value[], limited: pg.CustomTypesConfig) => {
    const query = { ...numbered(sql, values), types: limited };
    const result = await send({ ...query, rowMode: "array" });
    const rows = result.rows as unknown as Value[][];
    const at = rows.findIndex((row) => (row as unknown[]).includes(CUT));
    return at < 0 ? { rows, more: false } : { rows: rows.slice(0, at), more: true };
  };
  return {
    dialect: "postgres",
    all,
    async one<Row extends object>(sql: string, values?: readonly Value[]) {
      const [first] = await all<Row>(sql, values);
      return first as Readonly<Row> | undefined;
    },
    async rows(sql, values = []) {
      const { rows } = await send({ ...numbered(sql, values), rowMode: "array" });
      return rows as unknown as Value[][];
    },
    slice: (sql, values, most) => cut(sql, values, cuttingTypes(most)),
    each: (sql, lists, most) => {
      const limited = cuttingTypes(most);
      return Promise.all(lists.map((values) => cut(sql, values, limited)));
    },
  };
}

/**
 * Reads of one request, with rows cached by earlier requests until something is committed: equal snapshots see the same
 * rows (PostgreSQL's documentation, "Transaction ID and Snapshot Information Functions").
 */
function cachedReader(reads: Reader, cache: RowCache): Reader {
  const look = async () => {
    const [row] = await reads.rows("select cast(pg_current_snapshot() as text)");
    cache.setVersion(row?.[0] as Value);
  };
  let looked: Promise<void> | undefined;
  /**
   * A row or slice from the cache, or else from the database. While others write, the cache has nothing to offer, so the
   * first one is read without waiting for that news: it may then be older than the version, and is not kept.
   */
  const cached = async <T>(
    known: () => T | undefined,
    read: () => Awaitable<T>,
    keep: (found: T) => void,
  ): Promise<T> => {
    const isFirst = looked === undefined;
    looked ??= look();
    const early = isFirst && cache.isChanging ? Promise.resolve(read()) : undefined;
    // Nobody waits for it if the cache has it after all.
    early?.catch(() => undefined);
    await looked;
    const kept = known();
    if (kept !== undefined) return kept;
    if (early) return early;
    const { version } = cache;
    const found = await read();
    // If another request has seen a later version in the meantime, this may belong to the one before.
    if (cache.version === version) keep(found);
    return found;
  };
  return {
    ...reads,
    slice(sql, values, most, { kept = false } = {}) {
      if (!kept) return reads.slice(sql, values, most);
      const key = keyOf(values);
      return cached(
        () => cache.slice(sql, key),
        () => reads.slice(sql, values, most),
        (found) => cache.keep(sql, key, found),
      );
    },
    one<Row extends object>(sql: string, values: readonly Value[] = []) {
      const key = keyOf(values);
      return cached<Readonly<Row> | undefined>(
        () => cache.get(sql, key) as Readonly<Row> | undefined,
        () => reads.one<Row>(sql, values),
        (found) => found && cache.set(sql, key, found),
      );
    },
  };
}

/** @param ahead sends a query whose answer nobody waits for before the commit */
function writing(
  send: Send,
  ahead: (query: pg.QueryConfig) => void,
  last: pg.QueryConfig[],
): Database {
  return {
    ...reading(send),
    async run(sql, values = []) {
      const { rowCount } = await send(numbered(sql, values));
      return rowCount ?? 0;
    },
    send(sql, values = []) {
      ahead(numbered(sql, values));
    },
    last(sql, values = []) {
      last.push(numbered(sql, values));
    },
    lock(key, { shared = false } = {}) {
      const sql = `select pg_advisory_xact_lock${shared ? "_shared" : ""}(?, ?)`;
      ahead(numbered(sql, [LOCK, key % LOCK_KEYS]));
    },
  };
}
