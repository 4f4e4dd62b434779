import type pg from "pg";
import { isFull, prepared } from "./statements.ts";

/** Queries in flight on one connection before another one is used. */
const MAX_UNANSWERED = 16;
/** Milliseconds without an answer after which no more queries are sent on a busy connection. */
const STALLED_AFTER_MS = 5;

interface Connection {
  client: pg.PoolClient;
  pending: number;
  /** When it last answered, or got a query while idle. */
  activeAt: number;
}

/**
 * Connections that reads share. Queries are sent without waiting for earlier answers, so that many cost little more
 * than one (docs/decisions/0010). While a query is slow, later ones use another connection if there is one.
 */
export class Readers {
  readonly #connect: () => Promise<pg.PoolClient>;
  readonly #max: number;
  #open: Connection[] = [];
  #opening: Promise<void> | undefined;
  readonly #running = new Set<Promise<unknown>>();

  /**
   * @param connect opens a connection whose client pipelines
   * @param max maximum connections
   */
  constructor(connect: () => Promise<pg.PoolClient>, max: number) {
    this.#connect = connect;
    this.#max = max;
  }

  /** Sends a query; rejects with the driver's error, or what `connect` rejects with. */
  query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    const connection = this.#ready();
    const result = connection
      ? this.#send(connection, query)
      : this.#another().then((opened) => this.#send(opened, query));
    this.#running.add(result);
    const done = () => this.#running.delete(result);
    result.then(done, done);
    return result;
  }

  /** Waits for the pending answers, then releases the connections. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#running);
    for (const connection of this.#open) this.#drop(connection);
  }

  async #send(connection: Connection, query: pg.QueryConfig): Promise<pg.QueryResult> {
    if (connection.pending === 0) connection.activeAt = performance.now();
    connection.pending += 1;
    try {
      return await connection.client.query(prepared(connection.client, query));
    } finally {
      connection.pending -= 1;
      connection.activeAt = performance.now();
      if (connection.pending === 0 && isFull(connection.client)) this.#drop(connection);
    }
  }

  /** A connection that is idle or answers quickly, if there is one. */
  #ready(): Connection | undefined {
    const latest = performance.now() - STALLED_AFTER_MS;
    return this.#open.find(
      ({ client, pending, activeAt }) =>
        !isFull(client) && (pending === 0 || (pending < MAX_UNANSWERED && activeAt > latest)),
    );
  }

  /** A new connection, or the least busy one if there are enough. */
  async #another(): Promise<Connection> {
    if (this.#open.length < this.#max) {
      this.#opening ??= this.#add().finally(() => {
        this.#opening = undefined;
      });
      await this.#opening;
    }
    const found = this.#ready() ?? [...this.#open].sort((a, b) => a.pending - b.pending)[0];
    return found ?? this.#another();
  }

  async #add(): Promise<void> {
    const connection = { client: await this.#connect(), pending: 0, activeAt: 0 };
    connection.client.once("error", () => this.#drop(connection));
    this.#open.push(connection);
  }

  #drop(connection: Connection): void {
    if (!this.#open.includes(connection)) return;
    this.#open = this.#open.filter((other) => other !== connection);
    connection.client.release(true);
  }
}
