import pg from "pg";
import { type Store, StoreError } from "../../port.ts";
import { RowCache } from "../../row-cache.ts";
import { cachedReader } from "./cached-reader.ts";
import { sent } from "./errors.ts";
import { Readers } from "./readers.ts";
import { reading, types } from "./reading.ts";
import { ALONE, attempt, connect, retried, SHARED, SNAPSHOT, UNLIMITED } from "./transactions.ts";

/** Options of PostgreSQL databases. */
export interface PostgresOptions {
  /** Maximum connections of this process, at least 2. Default 10. */
  maxConnections?: number;
  /** Milliseconds to wait for a new or free connection. Default 10,000. */
  connectTimeout?: number;
  /** Milliseconds after which the server aborts a statement, or an idle transaction. Default 30,000. */
  statementTimeout?: number;
}

/** Milliseconds the server gets to report that a statement exceeded its limit; then the connection counts as dead. */
const GRACE_MS = 5000;
/** Milliseconds until the system checks whether an idle connection is still alive. */
const KEEP_ALIVE_MS = 10_000;

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
