import { setMaxListeners } from "node:events";
import { readFile } from "node:fs/promises";
import { STATUS_CODES } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Admin } from "../admin/index.ts";
import { type App, type AppOptions, createApp } from "../app.ts";
import type { Incoming, Reply, Respond } from "../core/http/incoming.ts";
import { SeedError } from "../core/seeding.ts";
import { serve } from "../node.ts";
import { checkFault, checkTestServerOptions } from "../options.ts";
import type { Seeded } from "../seed/index.ts";
import type { Seed } from "../seed/input.ts";

export { OptionError } from "../core/options.ts";
export { SeedError } from "../core/seeding.ts";
export type { Seed } from "../seed/input.ts";

/** An instant: a date, an ISO 8601 text, or epoch milliseconds. */
export type Instant = Date | string | number;

/** The options of a test server; all are optional (docs/testing.md). */
export interface TestServerOptions extends Pick<AppOptions, "tier" | "limits"> {
  /**
   * Its initial data, or the path or `file:` URL of a JSON file with it. Default: the administrator `root`, and the
   * public group `acme` with labels, a milestone, a board and two projects.
   */
  seed?: Seed | string | URL;
  /** The time at which its clock is stopped. Default: the clock runs with the real time. */
  now?: Instant;
  /** A request limit. Default: none. */
  rateLimit?: RateLimit;
  /** Faults that are active from the start. */
  faults?: readonly Fault[];
}

/**
 * A request limit like GitLab's: once it is used up, requests are answered with 429, `Retry-After` and the text
 * `Retry later` until that time has passed; then the count starts again.
 */
export interface RateLimit {
  /** How many requests are answered before one is refused. */
  requests: number;
  /**
   * For how many seconds of real time requests are refused. Default 1; with 0 only one request is refused, so that a
   * limit of `n` refuses one request after every `n` others.
   */
  retryAfter?: number;
}

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

/** A test server's clock. */
export interface Clock {
  /** The current time in epoch milliseconds. */
  now(): number;
  /** Stops the clock at an instant. @throws TypeError if it is invalid */
  set(at: Instant): void;
  /** Moves the clock forward; it stays running or stopped. */
  advance(milliseconds: number): void;
}

/** A test server's faults. */
export interface Faults {
  /** Adds a fault. @throws OptionError if a part of it is wrong or misspelt */
  add(fault: Fault): void;
  /** Removes all faults, including those of the options. */
  clear(): void;
}

/** A request that a test server received. */
export interface TestRequest {
  method: string;
  /** As the client sent it, without the query. */
  path: string;
  query: string;
  /** The answer's status; `undefined` until it is answered, and if the connection was closed. */
  status: number | undefined;
}

/** A running test server. All its parts stay valid after a reset. */
export interface TestServer {
  /** Its address, such as `http://127.0.0.1:54321`. */
  readonly url: string;
  /** The token of the seed's first administrator with one, or else of its first such user; issued if there is none. */
  readonly token: string;
  /** The operators' API: users, tokens, more seeds. */
  readonly admin: Admin;
  /** The application, for calls without HTTP and faults. */
  readonly app: App;
  readonly clock: Clock;
  readonly faults: Faults;
  /** The requests since the start or the last reset, in order. */
  readonly requests: readonly TestRequest[];
  /** Restores the initial state: the seed with its ids and tokens, the options' clock and faults, no requests. */
  reset(): Promise<void>;
  /** Closes all connections and discards the data. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const DEFAULT_SEED: Seed = {
  users: [{ username: "root", name: "Administrator", admin: true }],
  groups: [
    {
      path: "acme",
      name: "Acme",
      visibility: "public",
      members: { root: "owner" },
      labels: [
        { name: "bug", color: "#d9534f" },
        { name: "feature", color: "#428bca" },
      ],
      milestones: [{ title: "v1.0" }],
      boards: [{ name: "Development", lists: ["bug", "feature"] }],
      projects: [
        { path: "app", name: "App", visibility: "public" },
        { path: "site", name: "Site" },
      ],
    },
  ],
};

/**
 * Starts a server in this process, in memory, on a free port of 127.0.0.1.
 *
 * @example
 * const server = await startTestServer({ now: "2026-01-01T00:00:00Z" });
 * await fetch(`${server.url}/api/v4/user`, { headers: { "private-token": server.token } });
 * await server.close();
 *
 * @throws SeedError if the seed can't be used
 * @throws OptionError if an option is wrong or misspelt
 * @throws TypeError if `now` is not an instant
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  checkTestServerOptions(options);
  const { seed: given = DEFAULT_SEED, tier, limits } = options;
  const time = createClock(options.now);
  const faulty = createFaults(options);
  const requests: TestRequest[] = [];
  const { seed, own } = withToken(await readSeed(given), time.clock.now());

  const start = async (): Promise<Running> => {
    const app = await createApp({
      now: time.clock.now,
      // Moving the clock forward must not remove data that a test looks for.
      background: false,
      ...(tier && { tier }),
      // Tests may send any number of requests at once.
      limits: { waitingRequests: false, ...limits },
    });
    try {
      keepSecrets(seed, await app.admin.seed(seed));
    } catch (error) {
      await app.close();
      throw error;
    }
    return { app, answers: new Set() };
  };
  let current = await start();

  const respond: Respond = async (incoming) => {
    const { app, answers } = current;
    const { method, path, query } = incoming;
    const request: TestRequest = { method, path, query, status: undefined };
    requests.push(request);
    const answer = faulty.respond(incoming, app.respond);
    answers.add(answer);
    try {
      const reply = await answer;
      request.status = reply?.status ?? 404;
      return reply;
    } finally {
      answers.delete(answer);
    }
  };
  const server = await serve({ respond }, { port: 0, grace: 0, connectionsPerAddress: false });

  const admin = following(() => current.app.admin);
  const close = async () => {
    faulty.end();
    await server.close();
    await end(current);
  };
  return {
    url: server.url,
    token: own.token as string,
    admin,
    app: {
      handler: (context) => current.app.handler(context),
      fetch: (request) => current.app.fetch(request),
      respond: (incoming) => current.app.respond(incoming),
      admin,
      close: () => current.app.close(),
    },
    clock: time.clock,
    faults: faulty.faults,
    requests,
    reset: async () => {
      const before = current;
      time.reset();
      current = await start();
      faulty.reset();
      requests.length = 0;
      void end(before);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** An application and its pending answers. */
interface Running {
  app: App;
  answers: Set<Promise<unknown>>;
}

async function end({ app, answers }: Running): Promise<void> {
  await Promise.allSettled(answers);
  await app.close();
}

/** An object whose methods call those of the object that `current` returns at that time. */
function following<T extends object>(current: () => T): T {
  const call =
    (name: string) =>
    (...values: unknown[]) =>
      (current() as Record<string, (...values: unknown[]) => unknown>)[name]?.(...values);
  return Object.fromEntries(Object.keys(current()).map((name) => [name, call(name)])) as T;
}

async function readSeed(seed: Seed | string | URL): Promise<Seed> {
  if (typeof seed !== "string" && !(seed instanceof URL)) return seed;
  const file = String(seed).startsWith("file:") ? new URL(seed) : seed;
  const text = await readFile(file, "utf8");
  try {
    return JSON.parse(text) as Seed;
  } catch (cause) {
    throw new SeedError(`${seed} is not JSON: ${(cause as Error).message}`, { cause });
  }
}

type SeedUser = NonNullable<Seed["users"]>[number];
type SeedToken = NonNullable<SeedUser["tokens"]>[number];

/** A seed for the start and every reset, and the token in it that {@link TestServer.token} is. */
interface Start {
  seed: Seed;
  own: SeedToken;
}

/**
 * A copy of a seed with at least one valid token. If there is none, one is added for the first administrator, or else
 * the first user; without users, `root` is added too.
 */
function withToken(given: Seed, now: number): Start {
  try {
    return findOrAddToken(structuredClone(given), new Date(now).toISOString().slice(0, 10));
  } catch {
    // The seed is malformed; seeding reports where.
    return { seed: given, own: {} };
  }
}

function findOrAddToken(seed: Seed, today: string): Start {
  const { users = [] } = seed;
  const active = users.filter(({ state }) => state !== "blocked");
  const byRank = [...active.filter(({ admin }) => admin), ...active.filter(({ admin }) => !admin)];
  for (const { tokens = [] } of byRank) {
    const own = tokens.find(({ expires_at }) => expires_at === undefined || expires_at > today);
    if (own) return { seed, own };
  }
  const [user = { username: "root", name: "Administrator", admin: true }] = byRank;
  const { tokens = [] } = user;
  const own: SeedToken = { name: "test", scopes: user.admin ? ["api", "sudo"] : ["api"] };
  user.tokens = [...tokens, own];
  return { seed: byRank.length > 0 ? seed : { ...seed, users: [...users, user] }, own };
}

/** Writes generated token secrets into the seed, so that they stay the same after a reset. */
function keepSecrets({ users = [] }: Seed, { tokens: made }: Seeded): void {
  const secrets = made.map(({ token }) => token);
  for (const token of users.flatMap(({ tokens = [] }) => tokens)) token.token = secrets.shift();
}

function createClock(start: Instant | undefined) {
  let stopped: number | undefined;
  let ahead = 0;
  const clock: Clock = {
    now: () => stopped ?? Date.now() + ahead,
    set: (at) => {
      stopped = millisecondsOf(at);
    },
    advance: (milliseconds) => {
      if (stopped === undefined) ahead += millisecondsOf(milliseconds);
      else stopped = millisecondsOf(stopped + milliseconds);
    },
  };
  const reset = () => {
    ahead = 0;
    stopped = start === undefined ? undefined : millisecondsOf(start);
  };
  reset();
  return { clock, reset };
}

function millisecondsOf(at: Instant): number {
  const milliseconds = new Date(at).getTime();
  if (Number.isNaN(milliseconds)) throw new TypeError(`${String(at)} is not an instant`);
  return milliseconds;
}

/** A fault and its remaining uses. */
interface Pending {
  fault: Fault;
  after: number;
  times: number;
}

function createFaults({ rateLimit, faults: initial = [] }: TestServerOptions) {
  const limiter = rateLimit && createLimiter(rateLimit);
  const ended = new AbortController();
  setMaxListeners(0, ended.signal);
  let pending: Pending[] = [];

  const faults: Faults = {
    add: (fault) => {
      checkFault(fault);
      pending.push({ fault, after: fault.after ?? 0, times: fault.times ?? 1 });
    },
    clear: () => {
      pending = [];
    },
  };
  const reset = () => {
    limiter?.reset();
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
    /** Ends all delays, at close. */
    end: () => ended.abort(),
    /** Answers a request, or applies a fault to it. */
    respond: async (incoming: Incoming, answer: Respond): Promise<Reply | undefined> => {
      const wait = limiter?.refuse();
      if (wait !== undefined) return tooManyRequests(wait);
      const fault = next(incoming);
      if (!fault) return answer(incoming);
      const { delay, disconnect, status, body } = fault;
      if (delay !== undefined) await sleep(delay, undefined, { signal: ended.signal });
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

/** GitLab's answer, which is not JSON. */
function tooManyRequests(seconds: number): Reply {
  const reply = text(429, "Retry later\n");
  reply.headers["retry-after"] = String(Math.ceil(seconds));
  return reply;
}

/** Counts requests; `refuse` returns the seconds to wait if the request is refused, otherwise `undefined`. */
function createLimiter({ requests, retryAfter = 1 }: RateLimit) {
  let left = requests;
  let until = 0;
  return {
    refuse: (): number | undefined => {
      const wait = (until - performance.now()) / 1000;
      if (wait > 0) return wait;
      if (left > 0) {
        left -= 1;
        return undefined;
      }
      left = requests;
      until = performance.now() + retryAfter * 1000;
      return retryAfter;
    },
    reset: () => {
      left = requests;
      until = 0;
    },
  };
}
