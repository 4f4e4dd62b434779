import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { KeptRows, keyOf } from "../kept.ts";
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
import { StatementCache } from "../statement-cache.ts";
import { Readers } from "./postgres-readers.ts";
import { isFull, type Numbered, prepared } from "./postgres-statements.ts";

/** How to use a PostgreSQL server. */
export interface PostgresOptions {
  /** The most connections this process opens, at least 2. Default 10. */
  maxConnections?: number;
  /** Milliseconds to wait for a connection, a new one or a free one. Default 10,000. */
  connectTimeout?: number;
  /** Milliseconds after which the server ends a statement, or a transaction that does nothing. Default 30,000. */
  statementTimeout?: number;
}

const ATTEMPTS = 12;
const LONGEST_PAUSE = 200;
/** Any constant: the advisory lock that transactions hold, and, with a second number, those within them. */
const LOCK = 7_061_126;
/** An advisory lock of two numbers has 32 bits for each. */
const LOCK_KEYS = 2 ** 31;
/** How much longer than its own limit the server may take to say so: then the connection is taken for dead. */
const GRACE = 5000;
/** Milliseconds until the system asks whether an idle connection is still there. */
const KEEP_ALIVE = 10_000;
/** The longest a timer can be set for: without limit. */
const UNLIMITED = 2 ** 31 - 1;

const RULES: Record<string, ConstraintError["rule"]> = {
  "23505": "unique",
  "23503": "foreign key",
  "23502": "not null",
  "23514": "check",
};

/** Serialization failure, of a server that insists on it, and deadlock: the same work may succeed when it is run again. */
const RETRYABLE = new Set(["40001", "40P01"]);

/**
 * What passes without anything being changed here (PostgreSQL's appendix A): lost connections, no resources, locked,
 * ended by an operator or a timeout, a system error, a server that has become a standby.
 */
const PASSING = /^(08|53|55P03|57|58|25006|25P03)/;

/** bigint and numeric as numbers: ids and instants stay far below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC
      ? Number
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** Stands for a value that was not kept. */
const CUT = Symbol("cut");

/**
 * {@link types} that keep no value of the rows that come after texts of `most` characters: the server sends all rows,
 * and pg would hold them.
 */
function cuttingTypes(most: number): pg.CustomTypesConfig {
  let size = 0;
  let isCut = false;
  let last = -1;
  let columns = 0;
  // pg asks once for each column, in their order.
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
 * Opens a PostgreSQL database by its `postgres://` URL, on a pool of connections. What the URL says of TLS
 * (`sslmode`, `sslrootcert`) holds.
 *
 * Transactions run alone or, where they are shared, beside others that are (docs/decisions/0003); a deadlock runs the
 * work again, a bounded number of times. A connection that is lost is replaced by the next statement that needs one.
 *
 * @throws StoreError when the server can't be reached
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Store> {
  const { maxConnections = 10, connectTimeout = 10_000, statementTimeout = 30_000 } = options;
  const pool = new pg.Pool({
    connectionString: url,
    types,
    max: Math.max(maxConnections, 2),
    pipeline: true,
    connectionTimeoutMillis: connectTimeout,
    statement_timeout: statementTimeout,
    idle_in_transaction_session_timeout: statementTimeout,
    // For a connection whose other end has gone without a word.
    query_timeout: statementTimeout + GRACE,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE,
  });
  // A lost connection fails what runs on it, and its end is no failure of its own.
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
  const kept = new KeptRows();
  const running = new Set<Promise<unknown>>();
  const noted = async <T>(result: Promise<T>): Promise<T> => {
    running.add(result);
    try {
      return await result;
    } finally {
      running.delete(result);
    }
  };

  return {
    dialect: "postgres",
    ...reads,
    reader: () => keeping(reads, kept),
    transaction: (work, { shared = false, unlimited = false } = {}) => {
      const kind = unlimited ? UNHURRIED : shared ? SHARED : ALONE;
      return noted(retried(() => attempt(pool, kind, work)));
    },
    snapshot: (work) => noted(attempt(pool, SNAPSHOT, work)),
    async backup() {
      throw new StoreError(
        "unsupported",
        "a PostgreSQL database is backed up with its own tools: pg_dump, or pg_basebackup with the log",
      );
    },
    async close() {
      // A pool that ends leaves those who still wait for a connection, or for their next attempt, without one.
      await Promise.allSettled(running);
      await readers.close();
      await pool.end();
    },
  };
}

/** Runs work again, after a moment that grows and is never the same, while it collides with that of others. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count += 1) {
    try {
      return await work();
    } catch (error) {
      if (!RETRYABLE.has(codeOf(error))) throw error;
      if (count === ATTEMPTS) {
        const reason = "too many transactions changed the same at once";
        throw new UnavailableError(`the database is busy: ${reason}`, { cause: error });
      }
      await sleep(Math.random() * Math.min(2 ** count, LONGEST_PAUSE));
    }
  }
}

/** A kind of transaction: how it begins, and whether it may take as long as it needs. */
interface Kind {
  /** Statements of one trip to the server. */
  begin: string;
  unlimited: boolean;
}

const WITHOUT_LIMIT =
  "set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0";
const SNAPSHOT: Kind = {
  begin: `begin isolation level repeatable read read only; ${WITHOUT_LIMIT}`,
  unlimited: true,
};
/** Statements see what was committed before them, and so before the lock was given: a snapshot would be older. */
const BEGIN = "begin isolation level read committed";
const TAKE_LOCK = `select pg_advisory_xact_lock(${LOCK})`;
const ALONE: Kind = { begin: `${BEGIN}; ${TAKE_LOCK}`, unlimited: false };
const SHARED: Kind = {
  begin: `${BEGIN}; select pg_advisory_xact_lock_shared(${LOCK})`,
  unlimited: false,
};
const UNHURRIED: Kind = { begin: `${BEGIN}; ${WITHOUT_LIMIT}; ${TAKE_LOCK}`, unlimited: true };

async function attempt<T>(
  pool: pg.Pool,
  { begin, unlimited }: Kind,
  work: (db: Database) => Awaitable<T>,
): Promise<T> {
  const client = await connect(pool);
  const limit = unlimited ? { query_timeout: UNLIMITED } : {};
  const send: Send = (query) =>
    sent(() => client.query<object>({ ...prepared(client, query), ...limit }));
  let lost = false;
  try {
    await send({ text: begin });
    const last: pg.QueryConfig[] = [];
    const result = await work(writing(send, last));
    // Sent together, so that the rows they lock are locked no longer than the server takes. Where one fails, the server
    // ends the transaction by undoing it, whatever comes behind.
    await inOrder([...last, { text: "commit" }].map((query) => send(query)));
    return result;
  } catch (error) {
    lost = error instanceof UnavailableError;
    if (!lost) {
      await send({ text: "rollback" }).catch(() => {
        lost = true;
      });
    }
    throw error;
  } finally {
    client.release(lost || isFull(client));
  }
}

/** Waits for all, and throws what the first failed with: those behind it fail because of it. */
async function inOrder(results: readonly Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(results)) {
    if (result.status === "rejected") throw result.reason;
  }
}

/** @throws UnavailableError whatever the reason is */
async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw unavailable(error);
  }
}

/** Gives what a query gives, or throws the port's error for what the driver throws. */
async function sent<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    if (error instanceof UnavailableError) throw error;
    // Values are checked before they come here: what the server has not said is the connection's failure.
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

/** PostgreSQL's code of an error, or nothing where it is none of its. */
function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

/** A bound text has the database's collation, by which `lower` would fold more than SQLite's and the columns' does. */
const FOLDED = /\blower\(\?\)/g;
/** Functions that PostgreSQL has under another name. */
const INSTR = /\binstr\(/g;
const LAST_ID = /\blast_insert_rowid\(\)/g;

const numberedTexts = new StatementCache<Numbered>(() => undefined);
let names = 0;

/** A statement as PostgreSQL takes it. One that is used for the second time gets a name, by which it is prepared. */
function numbered(sql: string): Numbered {
  const known = numberedTexts.get(sql);
  if (known) {
    if (known.name === undefined) {
      names += 1;
      known.name = `s${names}`;
    }
    return known;
  }
  let count = 0;
  const text = sql
    .replace(FOLDED, 'lower(? collate "C")')
    .replace(INSTR, "strpos(")
    .replace(LAST_ID, "lastval()")
    .replace(/\?/g, () => {
      count += 1;
      return `$${count}`;
    });
  const statement = { text };
  numberedTexts.set(sql, statement);
  return statement;
}

/** Sends a query and gives its result, or the port's error. */
type Send = (query: pg.QueryConfig & { rowMode?: "array" }) => Promise<pg.QueryResult<object>>;

function reading(send: Send): Reader {
  const all = async <Row extends object>(sql: string, values: readonly Value[] = []) => {
    const { rows } = await send({ ...numbered(sql), values: [...values] });
    return rows as Row[];
  };
  return {
    all,
    async one<Row extends object>(sql: string, values?: readonly Value[]) {
      const [first] = await all<Row>(sql, values);
      return first as Readonly<Row> | undefined;
    },
    async rows(sql, values = []) {
      const { rows } = await send({ ...numbered(sql), values: [...values], rowMode: "array" });
      return rows as unknown as Value[][];
    },
    async slice(sql, values, most) {
      const query = { ...numbered(sql), values: [...values], types: cuttingTypes(most) };
      const result = await send({ ...query, rowMode: "array" });
      const rows = result.rows as unknown as Value[][];
      const cut = rows.findIndex((row) => (row as unknown[]).includes(CUT));
      return cut < 0 ? { rows, more: false } : { rows: rows.slice(0, cut), more: true };
    },
  };
}

/**
 * Reads of one request, which look up nothing that others have while nothing is committed: equal snapshots see the same
 * rows (PostgreSQL's documentation, 9.28.8).
 */
function keeping(reads: Reader, kept: KeptRows): Reader {
  const look = async () => {
    const [row] = await reads.rows("select cast(pg_current_snapshot() as text)");
    kept.meet(row?.[0] as Value);
  };
  let looked: Promise<void> | undefined;
  return {
    ...reads,
    async one<Row extends object>(sql: string, values: readonly Value[] = []) {
      looked ??= look();
      await looked;
      const key = keyOf(values);
      const known = kept.find(sql, key);
      if (known) return known as Readonly<Row>;
      const { version } = kept;
      const found = await reads.one<Row>(sql, values);
      // Where another request has met a later version meanwhile, this may be of the one before.
      if (found && kept.version === version) kept.keep(sql, key, found);
      return found;
    },
  };
}

function writing(send: Send, last: pg.QueryConfig[]): Database {
  return {
    ...reading(send),
    async run(sql, values = []) {
      const { rowCount } = await send({ ...numbered(sql), values: [...values] });
      return rowCount ?? 0;
    },
    last(sql, values = []) {
      last.push({ ...numbered(sql), values: [...values] });
    },
    async lock(key, { shared = false } = {}) {
      const sql = `select pg_advisory_xact_lock${shared ? "_shared" : ""}(?, ?)`;
      await send({ ...numbered(sql), values: [LOCK, key % LOCK_KEYS] });
    },
  };
}
