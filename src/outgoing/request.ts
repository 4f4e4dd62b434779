import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { Readable } from "node:stream";
import { addressesOf, type Target } from "./addresses.ts";

/** A request that the server sends to another one. */
export interface OutgoingRequest {
  /** With `http:` or `https:`; what it has before its host is sent as Basic authentication. */
  readonly url: URL;
  readonly method: "GET" | "POST" | "PUT";
  readonly headers: Readonly<Record<string, string>>;
  /** A body of unknown length is made again for each address that is tried. Default: none. */
  readonly body?: string | (() => AsyncIterable<Uint8Array>);
  /** Whether the certificate of the receiver must be valid. */
  readonly verifies: boolean;
  /** Whether this machine and its networks may be called. */
  readonly allowLocal: boolean;
}

/** The address can't be reached, so that another one may be tried: nothing has been sent. */
const UNREACHABLE = ["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL"];

/**
 * Sends a request. The connection goes to an address that was checked, whatever its name stands for a moment later.
 * Redirects are answers like any other: they are not followed.
 *
 * @param signal ends it early
 * @returns the answer, whose body is to be read or destroyed
 * @throws ForbiddenAddress if its address must not be called, UnknownHost; Error if it can't be reached
 */
export async function send(
  request: OutgoingRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const addresses = await until(signal, addressesOf(request.url, request.allowLocal));
  for (const [at, address] of addresses.entries()) {
    try {
      return await sendTo(request, address, signal);
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (at === addresses.length - 1 || !UNREACHABLE.includes(code)) throw error;
    }
  }
  throw new Error("there is no address");
}

/** A result, unless the signal comes first. */
export function until<T>(signal: AbortSignal, result: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    result.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

function sendTo(
  { url, method, headers, body, verifies }: OutgoingRequest,
  { address }: Target,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const isTls = url.protocol === "https:";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const { username, password } = url;
  const options = {
    host: address,
    port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    method,
    agent: false as const,
    signal,
    headers: {
      ...headers,
      host: url.host,
      ...(typeof body === "string" && { "content-length": String(Buffer.byteLength(body)) }),
      connection: "close",
      ...(username !== "" && { authorization: basic(username, password) }),
    },
  };
  return new Promise((resolve, reject) => {
    const request = isTls
      ? requestHttps(
          {
            ...options,
            ...(isIP(host) === 0 && { servername: host }),
            rejectUnauthorized: verifies,
          },
          resolve,
        )
      : requestHttp(options, resolve);
    request.on("error", reject);
    if (typeof body !== "function") {
      request.end(body);
      return;
    }
    const source = Readable.from(body(), { objectMode: false });
    source.on("error", (error) => request.destroy(error));
    request.on("close", () => source.destroy());
    source.pipe(request);
  });
}

const basic = (username: string, password: string) =>
  `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString("base64")}`;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
