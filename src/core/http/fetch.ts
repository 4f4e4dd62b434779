import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { AdapterRequestContext } from "@hattip/core";
import { type Bytes, type Incoming, isStreamed, type Reply, type Respond } from "./incoming.ts";
import { forwarded, originOf } from "./origin.ts";

/** How requests are read. */
export interface RequestOptions {
  /**
   * How many proxies in front set `X-Forwarded-For`, `-Proto` and `-Host` or append to them; `true` is one. Clients can
   * send these headers, too, so more than there are lets clients choose their address. Default false: they are ignored.
   */
  trustProxy?: boolean | number;
}

/** What is known about a request besides the request itself. */
interface Origin extends RequestOptions {
  /** The path the application is mounted at, without a trailing slash. */
  prefix: string;
  /** The client's address, `""` if unknown. */
  ip: string;
  /** Node's own response, if hattip's adapter for Node sends the answer. */
  outgoing?: ServerResponse | undefined;
}

/** Creates a handler for hattip's adapters, which pass it a `Request` and expect a `Response`. */
export function createHattipHandler(
  respond: Respond,
  { trustProxy = false }: RequestOptions = {},
): (context: AdapterRequestContext) => Promise<Response> {
  return (context) => {
    const { request, ip } = context;
    const outgoing = outgoingOf(context.platform);
    const origin = { trustProxy, prefix: "", ip, outgoing };
    return answered(respond, request, origin, () => context.passThrough());
  };
}

function outgoingOf(platform: unknown): ServerResponse | undefined {
  const { name, response } = (platform ?? {}) as { name?: string; response?: ServerResponse };
  return name === "node" ? response : undefined;
}

/** Options of {@link App.fetch}. */
export interface FetchOptions {
  /** The path the embedding app mounts the application at, such as `/pm`. Default: the path of the option `url`. */
  prefix?: string;
}

/**
 * Creates {@link App.fetch}.
 *
 * @param url the application's; request paths may begin with its path, or may already have been stripped of it
 */
export function createFetch(respond: Respond, url = "") {
  const mount = trimmed(URL_PARTS.exec(url)?.[3] ?? "");
  return (
    input: Request | string | URL,
    init: RequestInit & FetchOptions = {},
  ): Promise<Response> => {
    // No `instanceof`: a host may have a `Request` of its own.
    const request =
      typeof input === "string" || input instanceof URL ? new Request(input, init) : input;
    const given = typeof init.prefix === "string" ? trimmed(init.prefix) : undefined;
    const prefix = given ?? (isBelow(pathOf(request), mount) ? mount : "");
    return answered(respond, request, { prefix, ip: "" }, () => undefined);
  };
}

/** A prefix with a leading slash and without a trailing one. */
const trimmed = (prefix: string) => prefix.replace(/^\/?/, "/").replace(/\/$/, "");

const pathOf = ({ url }: Request) => URL_PARTS.exec(url)?.[3] ?? "";

const isBelow = (path: string, prefix: string) => `${path}/`.startsWith(`${prefix}/`);

async function answered(
  respond: Respond,
  request: Request,
  origin: Origin,
  passThrough: () => void,
): Promise<Response> {
  const incoming = isBelow(pathOf(request), origin.prefix)
    ? incomingOf(request, origin)
    : undefined;
  const reply = incoming && (await respond(incoming));
  if (reply) return responseOf(reply, request, origin.outgoing);
  passThrough();
  const last = incoming && (await respond({ ...incoming, isLast: true }));
  return last ? responseOf(last, request, origin.outgoing) : notFound();
}

function notFound(): Response {
  return Response.json({ error: "404 Not Found" }, { status: 404 });
}

/** Not always absolute: Bun passes the target alone if the client's `Host` doesn't form a URL with it. */
const URL_PARTS = /^(?:(\w+):\/\/([^/?#]*))?([^?#]*)\??([^#]*)/;

function incomingOf(
  request: Request,
  { trustProxy = false, prefix, ip, outgoing }: Origin,
): Incoming {
  const [, protocol = "", host = "", path = "", query = ""] = URL_PARTS.exec(request.url) ?? [];
  const header = (name: string) => request.headers.get(name) ?? undefined;
  const trusted = (name: "for" | "proto" | "host") => forwarded(header, name, trustProxy);
  const origin = originOf(trusted("proto") ?? protocol, trusted("host") ?? host);
  return {
    method: request.method,
    path: path.slice(prefix.length) || "/",
    query,
    header,
    body: () => (request.body ? bytesOf(request.body) : undefined),
    base: origin && origin + prefix,
    ip: trusted("for") ?? ip,
    hasLeft: () => request.signal.aborted || outgoing?.destroyed === true,
    host: request,
  };
}

/** Locks the stream only when it is read, so that the body of a refused request can still be discarded. */
async function* bytesOf(body: ReadableStream<Uint8Array>) {
  yield* body.values({ preventCancel: true });
}

function responseOf(
  { status, headers, body }: Reply,
  request: Request,
  outgoing: ServerResponse | undefined,
): Response {
  if (isStreamed(body)) {
    if (body.length !== undefined) headers["content-length"] = String(body.length);
    const sent = request.method === "HEAD" ? null : streamOf(body, outgoing);
    return new Response(sent, { status, headers });
  }
  const sent =
    body === null || request.method === "HEAD"
      ? null
      : headers["connection"] === "close" && request.body
        ? lingering(body, request.body, outgoing)
        : body;
  return new Response(sent as BodyInit | null, { status, headers });
}

/** How long the rest of a refused body is discarded, in milliseconds. */
const LINGER = 1000;

/**
 * The body of an answer to a client that is still sending: it ends when the client stops, or after {@link LINGER}.
 * Closing the connection earlier could discard the answer before the client reads it (RFC 9112 §9.6).
 */
function lingering(
  body: string | Uint8Array,
  upload: ReadableStream<Uint8Array>,
  outgoing: ServerResponse | undefined,
): ReadableStream<Uint8Array> {
  const readPast = async () => {
    for await (const _ of upload);
  };
  return new ReadableStream({
    start(controller) {
      controller.enqueue(typeof body === "string" ? new TextEncoder().encode(body) : body);
    },
    // Called when the body has been taken.
    async pull(controller) {
      await Promise.race([
        readPast().catch(() => undefined),
        sleep(LINGER, undefined, { ref: false }),
      ]);
      controller.close();
      // hattip's adapter for Node sends nothing more once the request has been read.
      outgoing?.end();
    },
  });
}

/**
 * Streams a body as fast as the client reads it; a client that disconnects ends the reading. hattip's adapter for Node
 * needs help: it doesn't notice a client that leaves after its request was read, and ends a broken body as if it were
 * complete.
 */
function streamOf(body: Bytes, outgoing: ServerResponse | undefined): ReadableStream<Uint8Array> {
  const chunks = body.chunks()[Symbol.asyncIterator]();
  const cancel = async () => void (await chunks.return?.());
  if (outgoing?.destroyed) void cancel();
  else outgoing?.once("close", cancel);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await chunks.next();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          outgoing?.destroy();
          throw error;
        }
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
}
