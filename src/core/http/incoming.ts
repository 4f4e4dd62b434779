import type { IncomingMessage } from "node:http";

/**
 * A request as every adapter passes it. The Fetch API's `Request` is not used because creating one costs more than
 * answering (docs/performance.md).
 */
export interface Incoming {
  readonly method: string;
  /** Path below the mount, still percent-encoded, without the query. */
  readonly path: string;
  /** The query string without its question mark. */
  readonly query: string;
  /** A header's value by its lower-case name; repeated headers are joined with a comma. */
  header(name: string): string | undefined;
  /** The bytes of the body. Leaving the loop early must not close the connection. */
  body(): AsyncIterable<Uint8Array> | undefined;
  /** The body, if the host's own parser has consumed it. */
  readonly parsedBody?: unknown;
  /** Whether the host has read the body, and undone its `Content-Encoding` as body parsers do. Default false. */
  readonly isBodyDecoded?: boolean;
  /**
   * Origin and mount as the client sees them, without a trailing slash; `undefined` if the client's `Host` is not a
   * valid origin.
   */
  readonly base: string | undefined;
  /** The client's address, `""` if unknown. */
  readonly ip: string;
  /** Whether the server is ours, including `/`. Default false: we are embedded in a host. */
  readonly ownsRoot?: boolean;
  /** Whether no other handler follows, so that we answer 404 to unknown paths. Default false. */
  readonly isLast?: boolean;
  /** Whether the client has left, so that nobody waits for the answer. Default: it never does. */
  hasLeft?(): boolean;
  /** The adapter's own request object, such as Express's `req`. */
  readonly host: HostRequest;
}

/**
 * The embedding app's own request: with `createMiddleware` its `req`, including anything other middleware added; with
 * `fetch` or `handler` the Fetch API's `Request`.
 */
export type HostRequest = IncomingMessage | Request;

/** Whether a request's method only reads (RFC 9110 §9.2.1). */
export function isSafe({ method }: Pick<Incoming, "method">): boolean {
  return method === "GET" || method === "HEAD";
}

/** An answer, before an adapter turns it into a response. */
export interface Reply {
  status: number;
  /** By lower-case name. */
  headers: Record<string, string>;
  body: string | Uint8Array | Bytes | null;
}

/** A body that is sent piece by piece, as fast as the client takes it. */
export interface Bytes {
  /** In bytes; `undefined` if it is known only at the end. */
  readonly length?: number | undefined;
  /**
   * Starts reading; called only if the body is sent, so not for HEAD. If the client disconnects, the iterator's
   * `return()` is called at once: in a generator, `finally` runs as soon as what it waits for is over. If reading fails,
   * the connection is closed, so that the client sees that the body is incomplete.
   */
  chunks(): AsyncIterable<Uint8Array>;
}

/** Whether a body is sent piece by piece. */
export function isStreamed(body: Reply["body"]): body is Bytes {
  return typeof body === "object" && body !== null && !(body instanceof Uint8Array);
}

/** Answers a request, or returns `undefined` if its path is not ours and `isLast` is not set. */
export type Respond = (incoming: Incoming) => Promise<Reply | undefined>;

/** The application as the only one on its server. */
export function alone(app: { respond: Respond }): { respond: Respond } {
  return { respond: (incoming) => app.respond({ ...incoming, ownsRoot: true, isLast: true }) };
}
