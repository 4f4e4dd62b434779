import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import * as v from "valibot";
import { checkAdapter, type ListenOptions, type Server, serveOptions } from "../adapters.ts";
import type { App } from "../app.ts";
import { networkOf } from "../core/http/network.ts";
import { type OptionSchemas, optionsOf, wholeOrFalseOption } from "../core/options.ts";
import { waiting } from "./incoming.ts";
import {
  type MiddlewareOptions,
  middlewareOf,
  middlewareOptions,
  STALL_TIMEOUT,
} from "./middleware.ts";

/** Where to listen, and how requests are read and answered. */
export interface ServeOptions extends ListenOptions, MiddlewareOptions {
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
