import type { IncomingMessage } from "node:http";
import { type OutgoingRequest, send, until } from "../outgoing/request.ts";

/** What is sent to a webhook. */
export interface Call extends Omit<OutgoingRequest, "method"> {
  readonly method: "POST" | "PUT";
  readonly body: string;
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

/**
 * Calls a webhook. Redirects are not followed, since they could lead anywhere with the hook's token.
 *
 * @param signal ends it early
 * @throws ForbiddenAddress if its address must not be called, UnknownHost; Error if it can't be reached, or takes too long
 */
export async function callHook(call: Call, signal: AbortSignal): Promise<CallAnswer> {
  const limit = AbortSignal.timeout(TIMEOUT);
  const either = AbortSignal.any([signal, limit]);
  try {
    return await read(await send(call, either), either);
  } catch (error) {
    if (limit.aborted)
      throw new Error("the receiver took longer than ten seconds", { cause: error });
    throw error;
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
