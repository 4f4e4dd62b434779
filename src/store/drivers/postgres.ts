import pg from "pg";
import {
  type Awaitable,
  ConstraintError,
  type Database,
  type Store,
  StoreError,
  type Value,
} from "../port.ts";

const ATTEMPTS = 12;
const SERIALIZATION_FAILURE = "40001";
const DEADLOCK = "40P01";
/** Any constant: the advisory lock that keeps exclusive transactions apart. */
const EXCLUSIVE_LOCK = 7_061_126;

const RULES: Record<string, ConstraintError["rule"]> = {
  "23505": "unique",
  "23503": "foreign key",
  "23502": "not null",
  "23514": "check",
};

/** bigint and numeric as numbers: ids and instants stay far below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC
      ? Number
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/**
 * Opens a PostgreSQL database by its `postgres://` URL, on a pool of connections.
 * Transactions are serializable; a serialization failure or deadlock runs the work again, a bounded number of times.
 *
 * @throws StoreError when the server can't be reached
 */
export async function openPostgres(url: string): Promise<Store> {
  const pool = new pg.Pool({ connectionString: url, types });
  // An idle connection the server closed; the next query opens another.
  pool.on("error", () => undefined);
  try {
    await pool.query("select 1");
  } catch (error) {
    await pool.end();
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError(`cannot reach the PostgreSQL server: ${reason}`, { cause: error });
  }
  const reads = statements(pool);
  const running = new Set<Promise<unknown>>();

  const transaction: Store["transaction"] = async (work, options = {}) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await attemptTransaction(pool, work, options.exclusive === true);
      } catch (error) {
        if (attempt >= ATTEMPTS || !isRetryable(error)) throw error;
        const most = Math.min(2 ** attempt, 200);
        await new Promise((resolve) => setTimeout(resolve, Math.random() * most));
      }
    }
  };

  return {
    dialect: "postgres",
    all: reads.all,
    rows: reads.rows,
    async transaction(work, options) {
      const result = transaction(work, options);
      running.add(result);
      try {
        return await result;
      } finally {
        running.delete(result);
      }
    },
    async close() {
      // A pool that ends leaves those who still wait for a connection, or for their next attempt, without one.
      await Promise.allSettled(running);
      await pool.end();
    },
  };
}

async function attemptTransaction<T>(
  pool: pg.Pool,
  work: (db: Database) => Awaitable<T>,
  exclusive: boolean,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    // A serializable snapshot is taken before the lock is waited for, so an exclusive one reads committed rows.
    await client.query(exclusive ? "begin" : "begin isolation level serializable");
    if (exclusive) await client.query("select pg_advisory_xact_lock($1)", [EXCLUSIVE_LOCK]);
    const result = await work(statements(client));
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

function isRetryable(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === SERIALIZATION_FAILURE || code === DEADLOCK;
}

/** A bound text has the database's collation, by which `lower` would fold more than SQLite's and the columns' does. */
const FOLDED = /\blower\(\?\)/g;

const prepared = new Map<string, { name: string; text: string }>();

function named(sql: string): { name: string; text: string } {
  let statement = prepared.get(sql);
  if (!statement) {
    let count = 0;
    const text = sql.replace(FOLDED, 'lower(? collate "C")').replace(/\?/g, () => {
      count += 1;
      return `$${count}`;
    });
    statement = { name: `s${prepared.size}`, text };
    prepared.set(sql, statement);
  }
  return statement;
}

function statements(client: pg.Pool | pg.PoolClient): Database & {
  all<Row extends object>(sql: string, values?: readonly Value[]): Promise<Row[]>;
} {
  return {
    async all<Row extends object>(sql: string, values: readonly Value[] = []) {
      const result = await send(() => client.query<Row>({ ...named(sql), values: [...values] }));
      return result.rows;
    },
    async rows(sql, values = []) {
      const query = { ...named(sql), values: [...values], rowMode: "array" as const };
      const result = await send(() => client.query<Value[]>(query));
      return result.rows;
    },
    async run(sql, values = []) {
      const result = await send(() => client.query({ ...named(sql), values: [...values] }));
      return result.rowCount ?? 0;
    },
  };
}

async function send<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    const rule = RULES[error.code ?? ""];
    throw rule ? new ConstraintError(rule, error.message, { cause: error }) : error;
  }
}
