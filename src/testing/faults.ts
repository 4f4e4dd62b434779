import { setMaxListeners } from "node:events";
import { STATUS_CODES } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import * as v from "valibot";
import type { Incoming, Reply, Respond } from "../core/http/incoming.ts";
import {
  durationOption,
  flagOption,
  NOT_TEXT,
  type OptionSchemas,
  optionsOf,
  readOptions,
  textOption,
  wholeOption,
} from "../core/options.ts";
import { tooManyRequests } from "./rate-limit.ts";

/** A fault in answering matching requests. If several match a request, the one added first is used up first. */
export interface Fault {
  /** Default: any. */
  method?: string;
  /** The path as the client sends it, without the query: the whole path, or a pattern. Default: any. */
  path?: string | RegExp;
  /** How many matching requests are answered normally first. Default 0. */
  after?: number;
  /** How many matching requests it then affects; `Infinity` for all. Default 1. */
  times?: number;
  /** The status to answer with. Default 500; with only `delay`, the normal answer is sent. */
  status?: number;
  /** The body: a string as text, anything else as JSON. Default: GitLab's body for the status. */
  body?: unknown;
  /** Headers by name, in addition to the body's content type. */
  headers?: Record<string, string>;
  /** How long to wait before answering or disconnecting, in milliseconds. */
  delay?: number;
  /** Closes the connection instead of answering. */
  disconnect?: boolean;
}

/** The schema of {@link Fault}. */
export const faultOption = optionsOf({
  method: v.optional(textOption),
  path: v.optional(v.union([v.string(), v.instance(RegExp)], "must be a text or a RegExp")),
  after: v.optional(wholeOption(0)),
  times: v.optional(
    v.union(
      [wholeOption(0), v.literal(Number.POSITIVE_INFINITY)],
      "must be a whole number or Infinity",
    ),
  ),
  // 1xx are interim responses, which don't end the request (RFC 9110 §15.2).
  status: v.optional(wholeOption(200, 599)),
  body: v.optional(v.any()),
  headers: v.optional(v.record(v.string(), v.string(NOT_TEXT), "must be an object of texts")),
  delay: v.optional(durationOption),
  disconnect: flagOption,
} satisfies OptionSchemas<Fault>);

/** A test server's faults. */
export interface Faults {
  /** Adds a fault. @throws OptionError if a part of it is wrong or misspelt */
  add(fault: Fault): void;
  /** Removes all faults, including those of the options. */
  clear(): void;
}

/** A fault and its remaining uses. */
interface Pending {
  fault: Fault;
  after: number;
  times: number;
}

/** Creates the faults of a test server. @param initial those after each reset */
export function createFaults(initial: readonly Fault[]) {
  const ended = new AbortController();
  const waitingOf = () => {
    const controller = new AbortController();
    setMaxListeners(0, controller.signal);
    return controller;
  };
  let waiting = waitingOf();
  let pending: Pending[] = [];

  const faults: Faults = {
    add: (fault) => {
      readOptions("faults.add", faultOption, fault);
      pending.push({ fault, after: fault.after ?? 0, times: fault.times ?? 1 });
    },
    clear: () => {
      pending = [];
    },
  };
  const reset = () => {
    faults.clear();
    for (const fault of initial) faults.add(fault);
  };
  /** Finds the fault for a request and uses it once. */
  const next = (incoming: Incoming): Fault | undefined => {
    for (const one of pending) {
      if (one.times <= 0 || !matches(one.fault, incoming)) continue;
      if (one.after > 0) {
        one.after -= 1;
        continue;
      }
      one.times -= 1;
      return one.fault;
    }
    return undefined;
  };
  reset();

  return {
    faults,
    reset,
    /** Ends the delays that requests wait for, which then go on. */
    hurry: () => {
      waiting.abort();
      waiting = waitingOf();
    },
    /** Ends all delays, at close. */
    end: () => {
      ended.abort();
      waiting.abort();
    },
    /** Answers a request, or applies a fault to it. */
    respond: async (incoming: Incoming, answer: Respond): Promise<Reply | undefined> => {
      const fault = next(incoming);
      if (!fault) return answer(incoming);
      const { delay, disconnect, status, body } = fault;
      if (delay !== undefined) {
        const { signal } = waiting;
        await sleep(delay, undefined, { signal }).catch(() => ended.signal.throwIfAborted());
      }
      if (disconnect) throw new Error("disconnected by a fault");
      if (delay !== undefined && status === undefined && body === undefined) {
        return answer(incoming);
      }
      return replyOf(fault);
    },
  };
}

function matches({ method, path }: Fault, incoming: Incoming): boolean {
  if (method !== undefined && method.toUpperCase() !== incoming.method) return false;
  if (path === undefined) return true;
  return typeof path === "string" ? path === incoming.path : incoming.path.search(path) >= 0;
}

function replyOf({ status = 500, body, headers = {} }: Fault): Reply {
  const usual =
    status === 429
      ? tooManyRequests(1)
      : json(status, { message: `${status} ${STATUS_CODES[status] ?? "Error"}` });
  const reply =
    body === undefined ? usual : typeof body === "string" ? text(status, body) : json(status, body);
  for (const [name, value] of Object.entries(headers)) reply.headers[name.toLowerCase()] = value;
  return reply;
}

function json(status: number, value: unknown): Reply {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

function text(status: number, body: string): Reply {
  return { status, headers: { "content-type": "text/plain" }, body };
}
