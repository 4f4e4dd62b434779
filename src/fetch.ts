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

/** Makes a handler for hattip's adapters, which give it a `Request` and take a `Response`. */
export function createHattipHandler(
  respond: Respond,
  { trustProxy = false }: RequestOptions = {},
): (context: AdapterRequestContext) => Promise<Response> {
  return async (context) => {
    const reply = await respond(incomingOf(context, trustProxy));
    if (reply) return responseOf(reply, context.request);
    context.passThrough();
    return Response.json({ error: "404 Not Found" }, { status: 404 });
  };
}

/** Not always an absolute one: Bun gives the target alone where the client's `Host` makes no URL of it. */
const URL_PARTS = /^(?:(\w+):\/\/([^/?#]*))?([^?#]*)\??([^#]*)/;

function incomingOf({ request, ip }: AdapterRequestContext, trustProxy: boolean): Incoming {
  const [, protocol = "", host = "", path = "", query = ""] = URL_PARTS.exec(request.url) ?? [];
  const header = (name: string) => request.headers.get(name) ?? undefined;
  const trusted = (name: "for" | "proto" | "host") =>
    trustProxy ? forwarded(header, name) : undefined;
  return {
    method: request.method,
    path: path || "/",
    query,
    header,
    body: () => (request.body ? bytesOf(request.body) : undefined),
    base: originOf(trusted("proto") ?? protocol, trusted("host") ?? host),
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
