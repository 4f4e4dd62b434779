import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type Duplex, pipeline, Readable } from "node:stream";
import * as v from "valibot";
import {
  type ServeOptions as CommonServeOptions,
  checkAdapter,
  requestOptions,
  type Server,
  serveOptions,
} from "./adapters.ts";
import type { App } from "./app.ts";
import type { RequestOptions } from "./core/http/fetch.ts";
import { type Incoming, isStreamed, type Reply } from "./core/http/incoming.ts";
import { networkOf } from "./core/http/network.ts";
import { forwarded, originOf } from "./core/http/origin.ts";
import { type OptionSchemas, optionsOf, wholeOption, wholeOrFalseOption } from "./core/options.ts";
import { atTurnsEnd } from "./turns/end.ts";

export type { Server } from "./adapters.ts";
export type { RequestOptions } from "./core/http/fetch.ts";

/** How requests are read and answered. */
export interface MiddlewareOptions extends RequestOptions {
  /**
   * After how many milliseconds a connection is closed if its client sends nothing of an expected body, or reads
   * nothing of its answer. Default 30,000.
   */
  stallTimeout?: number;
}

const STALL_TIMEOUT = 30_000;

const middlewareOptions = {
  ...requestOptions,
  stallTimeout: v.optional(wholeOption(1)),
} satisfies OptionSchemas<MiddlewareOptions>;
const MIDDLEWARE = optionsOf(middlewareOptions);

/** A request as Express, Connect and middie decorate it. */
interface HostRequest extends Omit<IncomingMessage, "socket"> {
  socket?: Socket & { encrypted?: boolean };
  ip?: string | undefined;
  protocol?: string | undefined;
  /** The body's bytes, if the host has read and stored them. */
  rawBody?: Buffer | null;
  /** The URL before a mount path was stripped. */
  originalUrl?: string | undefined;
  /** The body as a body parser read it. */
  body?: unknown;
}

/** A middleware for Express, Connect, Fastify (with `@fastify/middie`) and, without `next`, plain `node:http`. */
export type Middleware = (
  req: HostRequest,
  res: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/**
 * Creates a middleware from an application. It can be mounted under any prefix. Paths outside the API go to `next()`,
 * or are answered with 404 if there is none. Browsers that request the mount itself are redirected to the account
 * page. Body parsers may run before it.
 *
 * @example
 * express().use("/pm", createMiddleware(await createApp({ database: "pm.db" })));
 *
 * @throws OptionError if `app` is not an application (such as a promise of one), or an option is wrong
 */
export function createMiddleware(
  app: Pick<App, "respond">,
  options: MiddlewareOptions = {},
): Middleware {
  checkAdapter("createMiddleware", MIDDLEWARE, app, options);
  return middlewareOf(app, options);
}

function middlewareOf(
  app: Pick<App, "respond">,
  { trustProxy = false, stallTimeout = STALL_TIMEOUT }: MiddlewareOptions,
  ownsRoot = false,
): Middleware {
  return async (req, res, next) => {
    const cutStalled = () => closeWhenStalled(req, res, stallTimeout);
    const beforeBody = () => {
      cutStalled();
      if (waiting.delete(req)) res.writeContinue();
    };
    try {
      const isLast = next === undefined;
      const reply = await app.respond(
        incomingOf(req, res, { trustProxy, ownsRoot, isLast }, beforeBody),
      );
      if (reply) {
        send(reply, req, res, cutStalled);
        return;
      }
    } catch (error) {
      if (next) return next(error);
      res.destroy(error instanceof Error ? error : undefined);
      return;
    }
    if (next) next();
    else send({ status: 404, headers: {}, body: null }, req, res, cutStalled);
  };
}

/** Requests whose clients wait for `100 Continue` until they send the body (RFC 9110 §10.1.1). */
const waiting = new WeakSet<object>();

const watched = new WeakSet<ServerResponse>();

/** Closes the connection after a time without traffic, unless it is the server's turn to send. */
function closeWhenStalled(req: HostRequest, res: ServerResponse, milliseconds: number): void {
  res.setTimeout(milliseconds);
  if (watched.has(res)) return;
  watched.add(res);
  res.on("timeout", () => {
    if (res.writableLength > 0 || !req.complete) res.destroy();
  });
}

/** Where to listen, and how requests are read and answered. */
export interface ServeOptions extends CommonServeOptions, MiddlewareOptions {
  /**
   * Maximum number of open connections per address; `false` for no limit. Further ones are closed at once. Default 256;
   * with `trustProxy` no limit, since all come from the proxy.
   */
  connectionsPerAddress?: number | false;
}

const SERVE = optionsOf({
  ...serveOptions,
  ...middlewareOptions,
  connectionsPerAddress: v.optional(wholeOrFalseOption(1)),
} satisfies OptionSchemas<ServeOptions>);

/** How long a client may take to send a request's headers, also on a new connection, in milliseconds. */
const HEADERS_TIMEOUT = 10_000;
/** How many stall timeouts a request may take, unless its client sends at least {@link PROGRESS} bytes in that time. */
const STALLS = 10;
const PROGRESS = 256 * 1024;
/** How often these timeouts are checked, in milliseconds. */
const CHECKING_INTERVAL = 2000;
const CONNECTIONS_PER_ADDRESS = 256;
/**
 * Connections that the system queues until they are accepted. It drops more than that (Node's default is 511), and a
 * dropped client retries only after seconds.
 */
const BACKLOG = 4096;

function createLimitedServer(app: Pick<App, "respond">, options: ServeOptions): HttpServer {
  const answer = middlewareOf(app, options, true);
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT,
      // A push may take hours: what counts is that it gets on.
      requestTimeout: 0,
      connectionsCheckingInterval: CHECKING_INTERVAL,
    },
    answer,
  );
  const window = STALLS * (options.stallTimeout ?? STALL_TIMEOUT);
  server.prependListener("request", (req: IncomingMessage) => closeWhenSlow(req, window));
  server.on("checkContinue", (req: IncomingMessage, res: ServerResponse) => {
    closeWhenSlow(req, window);
    waiting.add(req);
    answer(req, res);
  });
  const answers = new WeakMap<Duplex, ServerResponse>();
  server.prependListener("request", (req: IncomingMessage, res: ServerResponse) =>
    answers.set(req.socket, res),
  );
  server.on("clientError", (error: NodeJS.ErrnoException, connection) => {
    const before = answers.get(connection);
    if (before && !before.writableFinished) connection.destroy();
    else answerUnreadable(error, connection);
  });
  const most =
    options.connectionsPerAddress ?? (options.trustProxy ? false : CONNECTIONS_PER_ADDRESS);
  if (most !== false) limitConnections(server, most);
  return server;
}

/** How long a client may go on sending what is not read any more, until its connection is cut, in milliseconds. */
const UNREAD_TIMEOUT = 2000;

/** Answers what is no request of HTTP, or has too long headers or a too long address: Node's own answer has no body. */
function answerUnreadable(error: NodeJS.ErrnoException, connection: Duplex): void {
  // All that follows is unreadable, too.
  if (connection.writableEnded) return;
  if (!connection.writable || error.code === "ECONNRESET") {
    connection.destroy();
    return;
  }
  const reasons: Readonly<Record<string, string>> = {
    HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
    HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Request Entity Too Large",
    ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  };
  const status = reasons[error.code ?? ""] ?? "400 Bad Request";
  const body = JSON.stringify({ error: status });
  const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
  connection.end(`${head}\r\nconnection: close\r\n\r\n${body}`);
  // A connection that is closed while its client still sends is reset, and the answer is lost.
  connection.resume();
  setTimeout(() => connection.destroy(), UNREAD_TIMEOUT).unref();
}

/** Closes the connection if its client sends too little of a body in a time. */
function closeWhenSlow(req: IncomingMessage, milliseconds: number): void {
  const { headers, socket } = req;
  if (headers["transfer-encoding"] === undefined && !Number(headers["content-length"])) return;
  let before = socket.bytesRead;
  const timer = setInterval(() => {
    if (req.complete || socket.destroyed) clearInterval(timer);
    // What has arrived and was not read is not the client's fault.
    else if (socket.bytesRead - before < PROGRESS && req.readableLength === 0) socket.destroy();
    before = socket.bytesRead;
  }, milliseconds);
  timer.unref();
  req.once("close", () => clearInterval(timer));
}

function limitConnections(server: HttpServer, most: number): void {
  const open = new Map<string, number>();
  server.on("connection", (connection: Socket) => {
    const network = networkOf(connection.remoteAddress ?? "");
    const count = (open.get(network) ?? 0) + 1;
    if (count > most) {
      connection.destroy();
      return;
    }
    open.set(network, count);
    connection.once("close", () => {
      const left = (open.get(network) as number) - 1;
      if (left > 0) open.set(network, left);
      else open.delete(network);
    });
  });
}

/**
 * Serves an application over HTTP. Its `/` redirects to the account page.
 *
 * @throws OptionError if `app` is not an application, or an option is wrong
 * @throws the system's error if the address can't be listened on (`EADDRINUSE`, `EACCES`)
 */
export async function serve(
  app: Pick<App, "respond">,
  options: ServeOptions = {},
): Promise<Server> {
  checkAdapter("serve", SERVE, app, options);
  const { host = "127.0.0.1", port = 3000, grace = 10_000 } = options;
  const server = createLimitedServer(app, options);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host, backlog: BACKLOG }, resolve);
  });
  const { port: actual } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${actual}`,
    close: () => drained(server, new Promise((resolve) => server.close(resolve)), grace),
  };
}

/** Serves connections that another process accepts. */
export interface ConnectionServer {
  /** Takes a connection from which nothing has been read. */
  take(connection: Socket): void;
  /** Resolves when the running requests are answered or `grace` has passed, and all connections are closed. */
  close(): Promise<void>;
}

/**
 * Serves an application over HTTP on connections that another process accepts, such as this one's supervisor.
 * Its `/` redirects to the account page.
 */
export function serveConnections(
  app: Pick<App, "respond">,
  options: Omit<ServeOptions, "host" | "port"> = {},
): ConnectionServer {
  checkAdapter("serveConnections", SERVE, app, options);
  const server = createLimitedServer(app, options);
  // Node only enforces its timeouts after this event.
  server.emit("listening");
  const open = new Map<Socket, Promise<void>>();
  return {
    take(connection) {
      const closed = new Promise<void>((resolve) => connection.once("close", () => resolve()));
      open.set(connection, closed);
      void closed.then(() => open.delete(connection));
      server.emit("connection", connection);
    },
    close() {
      server.close();
      return drained(server, Promise.all(open.values()), options.grace ?? 10_000);
    },
  };
}

/** How often a closing server closes idle connections, in milliseconds. */
const SWEEP = 20;

/** Closes a closing server's connections as they become idle, and all of them after `grace`, until it is `empty`. */
async function drained(server: HttpServer, empty: Promise<unknown>, grace: number): Promise<void> {
  // Node closes connections that are idle now; others would stay open until their keep-alive ends.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP);
  // A closing server no longer times out clients that stall in the middle of a request.
  const cut = setTimeout(() => server.closeAllConnections(), grace);
  await empty;
  clearInterval(sweep);
  clearTimeout(cut);
}

function incomingOf(
  req: HostRequest,
  res: ServerResponse,
  {
    trustProxy,
    ownsRoot,
    isLast,
  }: { trustProxy: boolean | number; ownsRoot: boolean; isLast: boolean },
  onBody: () => void,
): Incoming {
  const { target, authority } = targetOf(req.url ?? "/");
  const question = target.indexOf("?");
  const { headers } = req;
  const header = (name: string) => {
    const value = headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  };
  const trusted = (name: "for" | "proto" | "host") => forwarded(header, name, trustProxy);
  return {
    method: req.method ?? "GET",
    path: question < 0 ? target : target.slice(0, question),
    query: question < 0 ? "" : target.slice(question + 1),
    header,
    body: () => {
      if (!req.complete && !hasArrived(req)) onBody();
      return bodyOf(req);
    },
    parsedBody: parsedBodyOf(req),
    isBodyDecoded: Boolean(req.rawBody) || req.readableEnded,
    base: baseOf(req, target, authority, trusted),
    ip: (trusted("for") ?? req.ip) || req.socket?.remoteAddress || "",
    ownsRoot,
    isLast,
    hasLeft: () => res.destroyed,
    host: req as IncomingMessage,
  };
}

/** A request target in origin form, and the authority of one in absolute form (RFC 9112 §3.2). */
function targetOf(url: string): { target: string; authority?: string | undefined } {
  if (url.startsWith("/")) return { target: url };
  const [, authority, rest = ""] = /^[a-z][a-z\d+.-]*:\/\/([^/?]*)(.*)$/i.exec(url) ?? [];
  return { target: rest.startsWith("/") ? rest : `/${rest}`, authority };
}

function baseOf(
  req: HostRequest,
  target: string,
  authority: string | undefined,
  trusted: (name: "proto" | "host") => string | undefined,
): string | undefined {
  const protocol = trusted("proto") ?? (req.protocol || (req.socket?.encrypted ? "https" : "http"));
  const host = trusted("host") ?? authority ?? req.headers.host ?? "localhost";
  const origin = originOf(protocol, host);
  return origin && origin + mountOf(req, target);
}

/** The path that Express and Connect stripped from a mounted middleware's URL. */
function mountOf({ originalUrl }: HostRequest, target: string): string {
  if (originalUrl === undefined || originalUrl === target) return "";
  const original = targetOf(originalUrl).target;
  // The mount itself may be requested without its trailing slash.
  const end = original.endsWith(target) || !/^\/(\?|$)/.test(target) ? target : target.slice(1);
  return original.endsWith(end) ? original.slice(0, original.length - end.length) : "";
}

/** The body as the host's body parser read it, if it has consumed the stream and stored no text or bytes. */
function parsedBodyOf(req: HostRequest): unknown {
  const { body, rawBody } = req;
  if (body === undefined || rawBody || !req.readableEnded) return undefined;
  return typeof body === "string" || body instanceof Uint8Array || bracketsOf(req)
    ? undefined
    : body;
}

function bodyOf(req: HostRequest): AsyncIterable<Uint8Array> | undefined {
  const { rawBody, body } = req;
  if (rawBody) return once(rawBody);
  if (req.readableEnded) {
    const left =
      body instanceof Uint8Array ? body : typeof body === "string" ? body : bracketsOf(req);
    return left === undefined ? undefined : once(left);
  }
  // Leaving the loop early must not destroy the socket before the answer is sent.
  return hasArrived(req) ? arrivedBody(req) : req.iterator({ destroyOnReturn: false });
}

/** Whether all bytes of the body have arrived and nobody has read any of them, as mostly if it is small. */
function hasArrived(req: HostRequest): boolean {
  const { readableFlowing, readableEncoding, readableLength, headers } = req;
  return (
    readableFlowing === null &&
    readableEncoding === null &&
    readableLength > 0 &&
    String(readableLength) === headers["content-length"] &&
    !waiting.has(req)
  );
}

/** A body that has arrived, in a fraction of the time that the stream's own iterator takes. */
async function* arrivedBody(req: HostRequest) {
  // Deno gives it in parts.
  for (let bytes: Uint8Array | null = req.read(); bytes; bytes = req.read()) yield bytes;
  // To its end, which Node waits for.
  req.resume();
}

async function* once(body: Uint8Array | string) {
  yield typeof body === "string" ? new TextEncoder().encode(body) : body;
}

/**
 * Re-encodes a form whose parser took `a[]` and `a[b]` for plain names, as `express.urlencoded()` does without
 * `extended`; `undefined` if the body is not such a form. Values sent under one name are interleaved with those of
 * other names, so that each `a[][b]` is next to the `a[][c]` of the same element again.
 */
function bracketsOf({ headers, body }: HostRequest): string | undefined {
  if (!/^application\/x-www-form-urlencoded\b/i.test(headers["content-type"] ?? ""))
    return undefined;
  if (typeof body !== "object" || body === null) return undefined;
  const entries = Object.entries(body);
  if (!entries.some(([name]) => name.includes("["))) return undefined;
  return entries
    .flatMap(([name, values]) => [values].flat().map((value, at) => ({ name, value, at })))
    .sort((a, b) => a.at - b.at)
    .map(({ name, value }) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join("&");
}

/** @param cutStalled sees to it that the client reads what the system does not take at once */
function send(reply: Reply, req: HostRequest, res: ServerResponse, cutStalled: () => void): void {
  // The host gave up waiting.
  if (res.headersSent) return;
  const { status, headers, body } = reply;
  // The client may send the body nevertheless, so that nothing else can follow on the connection.
  if (waiting.has(req)) headers["connection"] = "close";
  if (!req.complete) res.once("finish", () => req.resume());
  if (body === null) {
    res.writeHead(status, headers);
    endTogether({ res, cutStalled });
    return;
  }
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  if (length !== undefined) headers["content-length"] = String(length);
  res.writeHead(status, headers);
  if (req.method === "HEAD") endTogether({ res, cutStalled });
  else if (isStreamed(body)) {
    // Stops reading if the client disconnects, and closes the connection if reading fails.
    pipeline(Readable.from(body.chunks()), res, () => undefined);
    cutStalled();
  } else if (headers["connection"] === "close" && !req.complete) {
    sendEarly(body, req, res);
    cutUnsent({ res, cutStalled });
  } else if (body.length > LARGE) end({ res, body, cutStalled });
  else endTogether({ res, body, cutStalled });
}

/** The end of an answer. */
interface Ending {
  readonly res: ServerResponse;
  readonly body?: string | Uint8Array;
  readonly cutStalled: () => void;
}

function end(ending: Ending): void {
  ending.res.end(ending.body);
  cutUnsent(ending);
}

function cutUnsent({ res, cutStalled }: Ending): void {
  // Mostly the system takes all of it at once.
  if (!res.socket || res.socket.writableLength > 0) cutStalled();
}

/** Larger answers, in characters or bytes, are sent at once: they would be kept in memory for nothing. */
const LARGE = 65_536;
/** How many answers are sent together at most, and how many milliseconds the first waits before others are added. */
const MOST_TOGETHER = 32;
const LONGEST_WAIT = 1;

let endings: Ending[] = [];
let endingsSince = 0;

/**
 * Ends an answer together with the others of this turn of the event loop. A write that finds its reader asleep wakes it,
 * which can take the system longer than a short answer takes us (decision 81).
 */
function endTogether(ending: Ending): void {
  const now = performance.now();
  if (endings.length === 0) {
    endingsSince = now;
    atTurnsEnd(endAll);
  }
  endings.push(ending);
  if (endings.length === MOST_TOGETHER || now - endingsSince > LONGEST_WAIT) endAll();
}

function endAll(): void {
  const all = endings;
  endings = [];
  for (const ending of all) {
    try {
      end(ending);
    } catch (error) {
      // The host's own `end`: the others' answers must not be lost.
      ending.res.destroy(error as Error);
    }
  }
}

/** How long the rest of a refused body is discarded, in milliseconds. */
const LINGER = 1000;

/**
 * Answers a client that is still sending. Closing the connection at once could discard the answer before the client
 * reads it (RFC 9112 §9.6), so the rest of the body is read and discarded first, for {@link LINGER} at most.
 */
function sendEarly(body: string | Uint8Array, req: HostRequest, res: ServerResponse): void {
  res.write(body);
  const end = () => {
    clearTimeout(timer);
    res.end();
  };
  const timer = setTimeout(end, LINGER);
  req.once("end", end).once("close", end).resume();
}
