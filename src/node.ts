import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline, Readable } from "node:stream";
import type { DecoratedRequest } from "@hattip/adapter-node/request";
import type { App } from "./app.ts";
import type { Incoming, Reply } from "./core/incoming.ts";

/** How requests are read. */
export interface MiddlewareOptions {
  /**
   * Whether `X-Forwarded-For`, `-Proto` and `-Host` are believed. Only behind a proxy that sets them: anyone can send
   * them. Default false.
   */
  trustProxy?: boolean;
}

/** A request as Express, Connect and middie decorate it. */
type HostRequest = DecoratedRequest & { originalUrl?: string; body?: unknown };

/** A middleware for Express, Connect, Fastify (with `@fastify/middie`) and, without `next`, plain `node:http`. */
export type Middleware = (
  req: DecoratedRequest,
  res: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/**
 * Makes a middleware of an application. Mounted under any prefix, it answers below that prefix; paths outside the API
 * go to `next()`, or are answered with 404 where there is none.
 *
 * @example
 * express().use("/pm", createMiddleware(await createApp({ database: "pm.db" })));
 */
export function createMiddleware(
  app: Pick<App, "respond">,
  { trustProxy = false }: MiddlewareOptions = {},
): Middleware {
  return (req, res, next) => {
    app
      .respond(incomingOf(req, trustProxy))
      .then((reply) => {
        if (reply) send(reply, req, res);
        else if (next) next();
        else send(NOT_OURS, req, res);
      })
      .catch((error: unknown) => {
        if (next) next(error);
        else res.destroy(error instanceof Error ? error : undefined);
      });
  };
}

const NOT_OURS: Reply = {
  status: 404,
  headers: { "content-type": "application/json" },
  body: '{"error":"404 Not Found"}',
};

/** Where to listen. */
export interface ServeOptions extends MiddlewareOptions {
  /** Default `"127.0.0.1"`. */
  host?: string;
  /** Default 3000; 0 takes a free one. */
  port?: number;
}

/** A listening server. */
export interface Server {
  /** Where it listens: `http://127.0.0.1:3000`. */
  readonly url: string;
  /** Takes no new connections, and resolves when the running requests are answered. */
  close(): Promise<void>;
}

/**
 * Serves an application over HTTP.
 *
 * @throws the system's error where the address can't be listened on (`EADDRINUSE`, `EACCES`)
 */
export async function serve(
  app: Pick<App, "respond">,
  options: ServeOptions = {},
): Promise<Server> {
  const { host = "127.0.0.1", port = 3000 } = options;
  const server = createServer(createMiddleware(app, options));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const { port: actual } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${actual}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}

function incomingOf(req: HostRequest, trustProxy: boolean): Incoming {
  const target = originForm(req.url ?? "/");
  const question = target.indexOf("?");
  const { headers } = req;
  return {
    method: req.method ?? "GET",
    path: question < 0 ? target : target.slice(0, question),
    query: question < 0 ? "" : target.slice(question + 1),
    header: (name) => {
      const value = headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
    body: () => bodyOf(req),
    parsedBody: parsedBodyOf(req),
    base: baseOf(req, target, trustProxy),
    ip: req.ip || (trustProxy && forwarded(req, "for")) || req.socket?.remoteAddress || "",
  };
}

/** A request target in absolute form (RFC 9112 §3.2.2) as the origin form of it. */
function originForm(target: string): string {
  if (target.startsWith("/")) return target;
  return URL.canParse(target) ? target.replace(/^[^:]+:\/\/[^/?#]*\/?/, "/") : "/";
}

function forwarded(req: HostRequest, name: "for" | "proto" | "host"): string | undefined {
  const value = req.headers[`x-forwarded-${name}`];
  return (Array.isArray(value) ? value[0] : value)?.split(",", 1)[0]?.trim() || undefined;
}

const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

function baseOf(req: HostRequest, target: string, trustProxy: boolean): string | undefined {
  const encrypted = req.socket?.encrypted ? "https" : "http";
  const protocol = (trustProxy && forwarded(req, "proto")) || req.protocol || encrypted;
  const host = (trustProxy && forwarded(req, "host")) || (req.headers.host ?? "localhost");
  if (!HOST.test(host) || !/^https?$/.test(protocol)) return undefined;
  // Express and Connect keep what they cut off a mounted middleware's URL.
  const { originalUrl } = req;
  const mount =
    originalUrl?.endsWith(target) && originalUrl !== target
      ? originalUrl.slice(0, -target.length)
      : "";
  return `${protocol}://${host}${mount}`;
}

/** Set by the host's own body parser, which has then read the stream. */
function parsedBodyOf(req: HostRequest): unknown {
  const { body } = req;
  if (!req.readableEnded || typeof body !== "object" || body === null) return undefined;
  return body instanceof Uint8Array ? undefined : body;
}

function bodyOf(req: HostRequest): AsyncIterable<Uint8Array> | undefined {
  const { rawBody, body } = req;
  const bytes = rawBody ?? (body instanceof Uint8Array ? body : undefined);
  if (bytes) return once(bytes);
  if (req.readableEnded && typeof body === "string") return once(new TextEncoder().encode(body));
  // Leaving the loop early must not destroy the socket before the answer is sent.
  return req.iterator({ destroyOnReturn: false });
}

async function* once(bytes: Uint8Array) {
  yield bytes;
}

function send(reply: Reply, req: DecoratedRequest, res: ServerResponse): void {
  const { status, headers, body } = reply;
  if (body === null) {
    res.writeHead(status, headers).end();
    return;
  }
  const isText = typeof body === "string";
  headers["content-length"] = String(isText ? Buffer.byteLength(body) : body.length);
  res.writeHead(status, headers);
  if (req.method === "HEAD") res.end();
  else if (isText) res.end(body);
  // Ends the reading where the client goes away, and the connection where the reading fails.
  else pipeline(Readable.from(body.chunks()), res, () => undefined);
}
