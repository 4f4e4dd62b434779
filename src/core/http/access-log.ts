import type { Caller } from "../access/caller.ts";
import type { Exchange } from "./exchange.ts";
import type { Incoming } from "./incoming.ts";

/** A request and its answer, for a log. It contains no secrets: no query, no headers. */
export interface LogEntry {
  /** When it was logged, as an ISO 8601 instant. */
  time: string;
  method: string;
  path: string;
  status: number;
  /** Milliseconds until the answer was ready. */
  duration: number;
  ip: string;
  request_id: string;
  /** The caller's user name, if there is a caller; with sudo the user they act as. */
  user?: string;
  /** The administrator who acts as `user` by sudo. */
  sudoer?: string;
  /** `ssh` for the commands of Git over SSH. */
  protocol?: "ssh";
}

/** A request that was answered, for metrics and test servers. */
export interface AnsweredRequest {
  incoming: Incoming;
  /** Who it was answered as, if there is a caller. */
  caller: Caller | undefined;
  /** The pattern of its path, such as `/api/v4/projects/:id`; `undefined` if no route matched. */
  route: string | undefined;
  status: number;
  /** Milliseconds until the answer was ready. */
  duration: number;
}

/** The last instant that was written, in both forms: requests of the same millisecond share it. */
let last = { at: Number.NaN, iso: "" };

function isoOf(at: number): string {
  if (at !== last.at) last = { at, iso: new Date(at).toISOString() };
  return last.iso;
}

/**
 * Describes a request and its answer.
 *
 * @param took milliseconds until the answer was ready
 * @param now epoch milliseconds
 */
export function logEntryOf(
  { incoming, requestId, caller, mount }: Exchange,
  status: number,
  took: number,
  now: number,
): LogEntry {
  const entry: LogEntry = {
    time: isoOf(now),
    method: incoming.method,
    path: incoming.path,
    status,
    duration: Math.round(took * 100) / 100,
    ip: incoming.ip,
    request_id: requestId,
  };
  if (mount?.protocol) entry.protocol = mount.protocol;
  if (caller) entry.user = caller.username;
  if (caller?.sudoer) entry.sudoer = caller.sudoer.username;
  return entry;
}
