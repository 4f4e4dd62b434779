import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { addressesOf, type Target } from "./addresses.ts";

/** What is sent to a webhook. */
export interface Call {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether the certificate of the receiver must be valid. */
  readonly verifies: boolean;
  /** Whether this machine and its networks may be called. */
  readonly allowLocal: boolean;
}

/** What a webhook answered; of its body and headers, only the beginning is read. */
export interface CallAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How long a receiver may take, in milliseconds: GitLab's `webhook_timeout`. */
const TIMEOUT = 10_000;
/** Bytes of an answer's body, and headers, that are kept. */
const MOST_BODY = 8192;
const MOST_HEADERS = 50;
/** Characters of each of these headers. */
const MOST_HEADER = 1024;
/** The address can't be reached, so that another one may be tried: nothing has been sent. */
const UNREACHABLE = ["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL"];

/**
 * Calls a webhook. The connection goes to an address that was checked, whatever its name stands for a moment later.
 * Redirects are answers like any other: they are not followed, since they could lead anywhere with the hook's token.
 *
 * @param signal ends it early
 * @throws ForbiddenAddress if its address must not be called, UnknownHost; Error if it can't be reached, or takes too long
 */
export async function callHook(call: Call, signal: AbortSignal): Promise<CallAnswer> {
  const limit = AbortSignal.timeout(TIMEOUT);
  const either = AbortSignal.any([signal, limit]);
  try {
    const addresses = await until(either, addressesOf(call.url, call.allowLocal));
    for (const [at, address] of addresses.entries()) {
      try {
        return await send(call, address, either);
      } catch (error) {
        const { code = "" } = error as NodeJS.ErrnoException;
        if (at === addresses.length - 1 || !UNREACHABLE.includes(code)) throw error;
      }
    }
    throw new Error("there is no address");
  } catch (error) {
    if (limit.aborted)
      throw new Error("the receiver took longer than ten seconds", { cause: error });
    throw error;
  }
}

/** A result, unless the signal comes first. */
function until<T>(signal: AbortSignal, result: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    result.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

function send(
  { url, headers, body, verifies }: Call,
  { address }: Target,
  signal: AbortSignal,
): Promise<CallAnswer> {
  const isTls = url.protocol === "https:";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const { username, password } = url;
  const options = {
    host: address,
    port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    method: "POST",
    agent: false as const,
    signal,
    headers: {
      ...headers,
      host: url.host,
      "content-length": String(Buffer.byteLength(body)),
      connection: "close",
      ...(username !== "" && { authorization: basic(username, password) }),
    },
  };
  return new Promise((resolve, reject) => {
    const onAnswer = (answer: IncomingMessage) => {
      read(answer, signal).then(resolve, reject);
    };
    const request = isTls
      ? requestHttps(
          {
            ...options,
            ...(isIP(host) === 0 && { servername: host }),
            rejectUnauthorized: verifies,
          },
          onAnswer,
        )
      : requestHttp(options, onAnswer);
    request.on("error", reject);
    request.end(body);
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

/** Reads the beginning of an answer, and no more. */
async function read(answer: IncomingMessage, signal: AbortSignal): Promise<CallAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const whole = async () => {
    for await (const chunk of answer) {
      chunks.push(chunk as Buffer);
      size += (chunk as Buffer).length;
      if (size >= MOST_BODY) break;
    }
  };
  try {
    await until(signal, whole());
  } finally {
    answer.destroy();
  }
  const headers = Object.entries(answer.headers).slice(0, MOST_HEADERS);
  return {
    status: answer.statusCode ?? 0,
    headers: Object.fromEntries(
      headers.map(([name, value]) => [name, String(value).slice(0, MOST_HEADER)]),
    ),
    // PostgreSQL has no NUL in texts.
    body: Buffer.concat(chunks).subarray(0, MOST_BODY).toString("utf8").replaceAll("\0", ""),
  };
}
