import type { IncomingMessage } from "node:http";

/**
 * A request as every adapter gives it. It exists beside the Fetch API's `Request` because making one of those costs
 * more than answering (docs/performance.md).
 */
export interface Incoming {
  readonly method: string;
  /** Path below the mount, still percent-encoded, without the query. */
  readonly path: string;
  /** The query string without its question mark. */
  readonly query: string;
  /** A header's value by its lower-case name; repeated ones joined with a comma. */
  header(name: string): string | undefined;
  /** The bytes of the body. Leaving the loop early must not close the connection. */
  body(): AsyncIterable<Uint8Array> | undefined;
  /** The body, where the host's own parser has consumed it. */
  readonly parsedBody?: unknown;
  /**
   * Origin and mount as the client sees them, without a trailing slash; `undefined` where the client's own words
   * (`Host`) can't be one.
   */
  readonly base: string | undefined;
  /** The client's address, `""` if unknown. */
  readonly ip: string;
  /** Whether the server is ours, and so is `/`. Default false: there is a host. */
  readonly ownsRoot?: boolean;
  /** Whether nobody else answers what is not ours: then we say that it is not there. Default false. */
  readonly isLast?: boolean;
  /** The adapter's own request object, such as Express's `req`. */
  readonly host: HostRequest;
}

/**
 * A request as the embedding app knows it: its own `req`, with all that other middleware put on it, where
 * `createMiddleware` is used; the Fetch API's where `fetch` or `handler` is.
 */
export type HostRequest = IncomingMessage | Request;

/** An answer, before an adapter makes a response of it. */
export interface Reply {
  status: number;
  /** By lower-case name. */
  headers: Record<string, string>;
  body: string | Bytes | null;
}

/** A body that is sent piece by piece, as fast as the client takes it. */
export interface Bytes {
  /** In bytes; `undefined` where that is known only at the end. */
  readonly length: number | undefined;
  /** Begins to read; called only where the body is sent. */
  chunks(): AsyncIterable<Uint8Array>;
}

/** Answers a request, or gives `undefined` where its path is none of ours and `isLast` is not set. */
export type Respond = (incoming: Incoming) => Promise<Reply | undefined>;

/** An application that has a server to itself. */
export function alone(app: { respond: Respond }): { respond: Respond } {
  return { respond: (incoming) => app.respond({ ...incoming, ownsRoot: true, isLast: true }) };
}
