import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Incoming } from "../core/http/incoming.ts";
import { forwarded, originOf } from "../core/http/origin.ts";

/** A request as Express, Connect and middie decorate it. */
export interface HostRequest extends Omit<IncomingMessage, "socket"> {
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

/** Requests whose clients wait for `100 Continue` until they send the body (RFC 9110 §10.1.1). */
export const waiting = new WeakSet<object>();

/**
 * A request of Node as the pipeline takes it.
 *
 * @param onBody called before a body that has not arrived is read
 */
export function incomingOf(
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
