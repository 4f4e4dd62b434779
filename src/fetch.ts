import { setTimeout as sleep } from "node:timers/promises";
import type { AdapterRequestContext } from "@hattip/core";
import type { Bytes, Incoming, Reply, Respond } from "./core/incoming.ts";
import { forwarded, originOf } from "./core/origin.ts";

/** How requests are read. */
export interface RequestOptions {
  /**
   * Whether `X-Forwarded-For`, `-Proto` and `-Host` are believed. Only behind a proxy that sets them: anyone can send
   * them. Default false.
   */
  trustProxy?: boolean;
}

/** Where a request of the Fetch API comes from, beside what it says itself. */
interface Origin extends RequestOptions {
  /** The path below which the application is, without a trailing slash. */
  prefix: string;
  /** The client's address, `""` if unknown. */
  ip: string;
}

/** Makes a handler for hattip's adapters, which give it a `Request` and take a `Response`. */
export function createHattipHandler(
  respond: Respond,
  { trustProxy = false }: RequestOptions = {},
): (context: AdapterRequestContext) => Promise<Response> {
  return (context) => {
    const { request, ip } = context;
    return answered(respond, request, { trustProxy, prefix: "", ip }, () => context.passThrough());
  };
}

/** What {@link App.fetch} takes beside the request. */
export interface FetchOptions {
  /** The path below which the embedding app has the application, such as `/pm`. Default: the path of the option `url`. */
  prefix?: string;
}

/**
 * Makes what {@link App.fetch} is.
 *
 * @param url the application's; a request's path may begin with the path of it, or have lost that already
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

/** A prefix as it is cut off: with a slash before it and none after. */
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
  if (reply) return responseOf(reply, request);
  passThrough();
  const last = incoming && (await respond({ ...incoming, isLast: true }));
  return last ? responseOf(last, request) : notFound();
}

function notFound(): Response {
  return Response.json({ error: "404 Not Found" }, { status: 404 });
}

/** Not always an absolute one: Bun gives the target alone where the client's `Host` makes no URL of it. */
const URL_PARTS = /^(?:(\w+):\/\/([^/?#]*))?([^?#]*)\??([^#]*)/;

function incomingOf(request: Request, { trustProxy, prefix, ip }: Origin): Incoming {
  const [, protocol = "", host = "", path = "", query = ""] = URL_PARTS.exec(request.url) ?? [];
  const header = (name: string) => request.headers.get(name) ?? undefined;
  const trusted = (name: "for" | "proto" | "host") =>
    trustProxy ? forwarded(header, name) : undefined;
  const origin = originOf(trusted("proto") ?? protocol, trusted("host") ?? host);
  return {
    method: request.method,
    path: path.slice(prefix.length) || "/",
    query,
    header,
    body: () => (request.body ? bytesOf(request.body) : undefined),
    base: origin && origin + prefix,
    ip: trusted("for") ?? ip,
    host: request,
  };
}

/** Takes hold of the stream only when it is read: what is refused before is read past. */
async function* bytesOf(body: ReadableStream<Uint8Array>) {
  yield* body.values({ preventCancel: true });
}

function responseOf({ status, headers, body }: Reply, request: Request): Response {
  if (body !== null && typeof body !== "string") {
    if (body.length !== undefined) headers["content-length"] = String(body.length);
    return new Response(request.method === "HEAD" ? null : streamOf(body), { status, headers });
  }
  const sent =
    body === null || request.method === "HEAD"
      ? null
      : headers["connection"] === "close" && request.body
        ? lingering(body, request.body)
        : body;
  return new Response(sent, { status, headers });
}

/** Milliseconds for which the rest of a refused body is read past. */
const LINGER = 1000;

/**
 * The body of an answer to a client that still sends: it ends when the client stops, or soon. Closing the connection
 * on it would take the answer away again (RFC 9112 §9.6).
 */
function lingering(body: string, upload: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const readPast = async () => {
    for await (const _ of upload);
  };
  return new ReadableStream({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode(body));
      await Promise.race([
        readPast().catch(() => undefined),
        sleep(LINGER, undefined, { ref: false }),
      ]);
      controller.close();
    },
  });
}

/** Pulls as the client reads; a client that goes away ends the reading. */
function streamOf(body: Bytes): ReadableStream<Uint8Array> {
  const chunks = body.chunks()[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
