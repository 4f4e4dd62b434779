import { setMaxListeners } from "node:events";
import { STATUS_CODES } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import * as v from "valibot";
import { ApiError, notFound } from "../core/errors.ts";
import { type Incoming, isStreamed, type Reply, type Respond } from "../core/http/incoming.ts";
import {
  durationOption,
  flagOption,
  NOT_TEXT,
  OptionError,
  type OptionSchemas,
  optionsOf,
  readOptions,
  textOption,
  wholeOption,
} from "../core/options.ts";
import { fitsPattern, type PathPattern } from "./paths.ts";
import { tooManyRequests } from "./rate-limit.ts";
import { type Recognized, secretsOf } from "./recognize.ts";
import { nearestRoute, routeOf } from "./routes.ts";

/** A fault in answering matching requests. If several match a request, the one added first is used up first. */
export interface Fault {
  /** Default: any. */
  method?: string;
  /** The path as the client sends it, without the query: the whole path, in which `*` stands for any text, or a RegExp. */
  path?: PathPattern;
  /** The route, as the reference has it, such as `/projects/:id/issues`. */
  route?: string;
  /** The user name of the caller. */
  user?: string;
  /** The name of an access token, or the secret of any token. */
  token?: string;
  /** Headers that the request has, by name; in their values, `*` stands for any text. */
  header?: Record<string, string>;
  /** How many matching requests are answered normally first. Default 0. */
  after?: number;
  /** How many matching requests it then affects; `Infinity` or `"all"` for all. Default 1, with `probability` all. */
  times?: number | "all";
  /** How likely it affects each of these, from 0 to 1. Default 1. */
  probability?: number;
  /** Another one makes other requests fail of those that may; the same ones after each reset. Default 1. */
  seed?: number;
  /** The status to answer with. Default 500, or the normal answer if only its speed or its end is changed. */
  status?: number;
  /** The body: a string as text, anything else as JSON. Default: GitLab's body for the status. */
  body?: unknown;
  /** Headers by name, in addition to the body's content type. */
  headers?: Record<string, string>;
  /** How long to wait before answering or disconnecting, in milliseconds. */
  delay?: number;
  /** How fast the body is sent. */
  bytesPerSecond?: number;
  /** Closes the connection after so many bytes of the body. */
  truncate?: number;
  /** Closes the connection instead of answering. */
  disconnect?: boolean;
}

const probability = v.pipe(
  v.number("must be a number from 0 to 1"),
  v.minValue(0, "must be a number from 0 to 1"),
  v.maxValue(1, "must be a number from 0 to 1"),
);
const texts = v.record(v.string(), v.string(NOT_TEXT), "must be an object of texts");

const entries = {
  method: v.optional(textOption),
  path: v.optional(v.union([v.string(), v.instance(RegExp)], "must be a text or a RegExp")),
  route: v.optional(
    v.pipe(
      textOption,
      v.rawCheck(({ dataset, addIssue }) => {
        if (!dataset.typed || routeOf(dataset.value) !== undefined) return;
        const near = nearestRoute(dataset.value);
        addIssue({ message: `is unknown.${near === undefined ? "" : ` Did you mean ${near}?`}` });
      }),
    ),
  ),
  user: v.optional(textOption),
  token: v.optional(textOption),
  header: v.optional(texts),
  after: v.optional(wholeOption(0)),
  times: v.optional(
    v.union(
      [wholeOption(0), v.literal(Number.POSITIVE_INFINITY), v.literal("all")],
      'must be a whole number, Infinity or "all"',
    ),
  ),
  probability: v.optional(probability),
  seed: v.optional(wholeOption(0)),
  // 1xx are interim responses, which don't end the request (RFC 9110 §15.2).
  status: v.optional(wholeOption(200, 599)),
  body: v.optional(v.any()),
  headers: v.optional(texts),
  delay: v.optional(durationOption),
  bytesPerSecond: v.optional(wholeOption(1)),
  truncate: v.optional(wholeOption(0)),
  disconnect: flagOption,
} satisfies OptionSchemas<Fault>;

/** The schema of {@link Fault}. */
export const faultOption = optionsOf(entries);

/** The schema of a {@link Fault} that is sent. */
export const sentFaultOption = optionsOf({ ...entries, path: v.optional(textOption) });

/** A fault that was added. */
export interface AddedFault extends Fault {
  readonly id: number;
  /** How many matching requests are still answered normally. */
  readonly after: number;
  /** How many it still affects. */
  readonly times: number | "all";
  /** How many it has affected. */
  readonly used: number;
}

/** A test server's faults. */
export interface Faults {
  /** Adds a fault, and returns its id. @throws OptionError if a part of it is wrong or misspelt @throws ApiError 409 if there are too many */
  add(fault: Fault): number;
  /** All faults, with what is left of each. */
  list(): AddedFault[];
  /** Removes a fault. @throws ApiError 404 */
  remove(id: number): void;
  /** Removes all faults, including those of the options. */
  clear(): void;
}

/** A fault and its remaining uses. */
interface Pending {
  readonly id: number;
  readonly fault: Fault;
  readonly route: string | undefined;
  /** The next of its random numbers. */
  readonly random: () => number;
  after: number;
  times: number;
  used: number;
}

/** What a request is, found out when a fault first asks. */
type Recognize = () => Promise<Recognized>;

/** The most faults that wait: each is compared with each request. */
const MOST_FAULTS = 1000;

/**
 * Creates the faults of a test server.
 *
 * @param initial those after each reset
 * @param recognize finds out what a request is
 */
export function createFaults(
  initial: readonly Fault[],
  recognize: (incoming: Incoming) => Promise<Recognized>,
) {
  const ended = new AbortController();
  const waitingOf = () => {
    const controller = new AbortController();
    setMaxListeners(0, controller.signal);
    return controller;
  };
  let waiting = waitingOf();
  let pending: Pending[] = [];
  let last = 0;

  const faults: Faults = {
    add: (fault) => {
      readOptions("faults.add", faultOption, fault);
      if (pending.length >= MOST_FAULTS) {
        throw new ApiError(409, {
          message: `There are ${MOST_FAULTS} faults already, which is the most: delete some`,
        });
      }
      const { after = 0, probability, seed = 1 } = fault;
      const { times = probability === undefined ? 1 : "all", route } = fault;
      last += 1;
      pending.push({
        id: last,
        fault,
        route: route === undefined ? undefined : routeOf(route),
        random: randomFrom(seed),
        after,
        times: times === "all" ? Number.POSITIVE_INFINITY : times,
        used: 0,
      });
      return last;
    },
    list: () =>
      pending.map(({ id, fault, after, times, used }) => ({
        id,
        ...fault,
        after,
        times: times === Number.POSITIVE_INFINITY ? "all" : times,
        used,
      })),
    remove: (id) => {
      const left = pending.filter((one) => one.id !== id);
      if (left.length === pending.length) throw notFound("Fault");
      pending = left;
    },
    clear: () => {
      pending = [];
    },
  };
  const reset = () => {
    faults.clear();
    last = 0;
    for (const fault of initial) faults.add(fault);
  };
  /** Finds the fault for a request and uses it once. */
  const next = async (incoming: Incoming): Promise<Fault | undefined> => {
    let known: Promise<Recognized> | undefined;
    const ask = () => {
      known ??= recognize(incoming);
      return known;
    };
    for (const one of pending) {
      if (one.times <= 0 || !matches(one.fault, incoming)) continue;
      if (needsRecognition(one) && !(await matchesRecognized(one, incoming, ask))) continue;
      // Another request may have used it up meanwhile.
      if (one.times <= 0) continue;
      if (one.after > 0) {
        one.after -= 1;
        continue;
      }
      if (one.random() >= (one.fault.probability ?? 1)) continue;
      one.times -= 1;
      one.used += 1;
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
    respond: async (incoming: Incoming, answer: Respond, onFault: () => void) => {
      const fault = pending.length > 0 ? await next(incoming) : undefined;
      if (!fault) return answer(incoming);
      onFault();
      const { signal } = waiting;
      if (fault.delay !== undefined) {
        await sleep(fault.delay, undefined, { signal }).catch(() => ended.signal.throwIfAborted());
      }
      if (fault.disconnect) throw new Error("disconnected by a fault");
      const reply = keepsAnswer(fault) ? await answer(incoming) : replyOf(fault);
      return reply && sentBy(fault, reply, ended.signal);
    },
  };
}

/** Whether a fault changes nothing but when, how fast, and how far the usual answer is sent. */
function keepsAnswer({ status, body, ...fault }: Fault): boolean {
  const { delay, bytesPerSecond, truncate } = fault;
  const isOfTime = delay !== undefined || bytesPerSecond !== undefined || truncate !== undefined;
  return isOfTime && status === undefined && body === undefined;
}

function matches({ method, path, header = {} }: Fault, incoming: Incoming): boolean {
  if (method !== undefined && method.toUpperCase() !== incoming.method) return false;
  if (path !== undefined && !fitsPattern(path, incoming.path)) return false;
  return Object.entries(header).every(([name, pattern]) => {
    const value = incoming.header(name.toLowerCase());
    return value !== undefined && fitsPattern(pattern, value);
  });
}

const needsRecognition = ({ route, fault }: Pending): boolean =>
  route !== undefined || fault.user !== undefined || fault.token !== undefined;

async function matchesRecognized(
  { fault, route }: Pending,
  incoming: Incoming,
  recognize: Recognize,
): Promise<boolean> {
  const { user, token } = fault;
  const is = await recognize();
  return (
    (route === undefined || route === is.route) &&
    (user === undefined || user === is.user) &&
    (token === undefined || is.tokens.includes(token) || secretsOf(incoming).includes(token))
  );
}

/** Numbers from 0 to 1 that look random, and are the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
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

/** How often a part of a slow body is sent, in milliseconds. */
const TICK = 50;
/** What was sent must have left before the connection is closed, in milliseconds. */
const FLUSH = 50;

/** An answer that is sent as slowly, and as far, as a fault has it. */
function sentBy({ bytesPerSecond, truncate }: Fault, reply: Reply, signal: AbortSignal): Reply {
  const { body } = reply;
  if ((bytesPerSecond === undefined && truncate === undefined) || body === null) return reply;
  const whole = isStreamed(body) ? body : ofBytes(Buffer.from(body as string));
  const step = bytesPerSecond && Math.max(1, Math.round((bytesPerSecond * TICK) / 1000));
  return {
    ...reply,
    body: {
      length: whole.length,
      chunks: async function* () {
        let left = truncate ?? Number.POSITIVE_INFINITY;
        for await (const chunk of whole.chunks()) {
          for (let at = 0; at < chunk.length; ) {
            const piece = chunk.subarray(at, at + Math.min(left, step ?? chunk.length));
            if (piece.length > 0) yield piece;
            at += piece.length;
            left -= piece.length;
            if (left <= 0) await sleep(FLUSH, undefined, { signal });
            if (left <= 0) throw new Error("cut off by a fault");
            if (bytesPerSecond) {
              await sleep((piece.length * 1000) / bytesPerSecond, undefined, { signal });
            }
          }
        }
      },
    },
  };
}

function ofBytes(bytes: Uint8Array) {
  return {
    length: bytes.length,
    chunks: async function* () {
      yield bytes;
    },
  };
}

/** Reads the id of a fault. @throws OptionError */
export function faultId(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new OptionError("faults.remove", "id", "must be a whole number");
}
