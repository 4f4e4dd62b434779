import type { ServerResponse } from "node:http";
import { pipeline, Readable } from "node:stream";
import { isStreamed, type Reply } from "../core/http/incoming.ts";
import { atTurnsEnd } from "../turns/end.ts";
import { type HostRequest, waiting } from "./incoming.ts";

/** Sends an answer. @param cutStalled sees to it that the client reads what the system does not take at once */
export function send(
  reply: Reply,
  req: HostRequest,
  res: ServerResponse,
  cutStalled: () => void,
): void {
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
 * which can take the system longer than a short answer takes us (decision 84).
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
