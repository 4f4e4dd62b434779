import type pg from "pg";
import type { Value } from "../port.ts";

/** A statement as the port takes it: its placeholders are `?`. */
export interface Statement {
  sql: string;
  values: readonly Value[];
  rowMode?: "array";
}

/** A bound text has the database's collation, by which `lower` would fold more than SQLite's and the columns' does. */
const FOLDED = /\blower\(\?\)/g;
const STATEMENTS_KEPT = 2000;

/** What a connection has prepared, by the text it was made of, and how many there were before. */
interface Kept {
  statements: Map<string, { name: string; text: string }>;
  made: number;
}

const keptBy = new WeakMap<pg.PoolClient, Kept>();

declare module "pg" {
  interface Connection {
    /** What the driver itself remembers of each name. */
    parsedStatements?: Record<string, string>;
  }
}

/** The query that a statement is on a connection, which prepares it the first time. It has to be sent at once. */
export function queryOn(
  client: pg.PoolClient,
  { sql, values, ...rest }: Statement,
): pg.QueryConfig & { rowMode?: "array" } {
  return { ...preparedOn(client, sql), values: [...values], ...rest };
}

function preparedOn(client: pg.PoolClient, sql: string): { name: string; text: string } {
  const kept = keptBy.get(client) ?? { statements: new Map(), made: 0 };
  keptBy.set(client, kept);
  const found = kept.statements.get(sql);
  if (found) return found;
  if (kept.statements.size >= STATEMENTS_KEPT) forget(client, kept);
  // The driver takes a name for one text only.
  const statement = { name: `s${kept.made}`, text: numbered(sql) };
  kept.made += 1;
  kept.statements.set(sql, statement);
  return statement;
}

/** What was sent before is answered before. In a transaction that has failed it fails, and is made up for next time. */
function forget(client: pg.PoolClient, { statements }: Kept): void {
  client.query("deallocate all").catch(() => undefined);
  client.connection.parsedStatements = {};
  statements.clear();
}

function numbered(sql: string): string {
  let count = 0;
  return sql.replace(FOLDED, 'lower(? collate "C")').replace(/\?/g, () => {
    count += 1;
    return `$${count}`;
  });
}
