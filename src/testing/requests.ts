import type { AnsweredRequest } from "../core/http/access-log.ts";
import type { Bytes, HostRequest, Incoming, Reply } from "../core/http/incoming.ts";
import { isStreamed } from "../core/http/incoming.ts";
import { Log } from "./log.ts";
import { fitsPattern, type PathPattern } from "./paths.ts";
import { withoutSecretHeaders, withoutSecrets } from "./secrets.ts";
import { type WaitOptions, waitIn } from "./waiting.ts";

/** What answered a request: one of GitLab's routes, or a part of the test server. */
export type AnsweredBy = "route" | "stub" | "fault" | "limit";

/** A request that a test server received, without secrets. */
export interface TestRequest {
  /** Its number: requests of one server are counted from 1. */
  readonly id: number;
  readonly method: string;
  /** As the client sent it, without the query. */
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The beginning of the body as text; `null` if it has none, or it is no text. */
  body: string | null;
  /** How many bytes of the body were read. */
  bytes: number;
  /** The user name of the caller that it was answered as. */
  user: string | null;
  /** The route that it was for, such as `/api/v4/projects/:id/issues`. */
  route: string | null;
  /** What answered it; `null` if nothing did: there is no such path. */
  by: AnsweredBy | null;
  /** The answer's status; `undefined` until it is answered, and if the connection was closed. */
  status: number | undefined;
  answer: TestAnswer | null;
  /** When it arrived, by the clock of the server. */
  readonly time: string;
  /** Milliseconds of real time until it was answered; `null` until then. */
  duration: number | null;
}

/** An answer that a test server gave, without secrets. */
export interface TestAnswer {
  readonly headers: Readonly<Record<string, string>>;
  /** The beginning of the body as text; `null` if it has none, or it is no text. */
  body: string | null;
  bytes: number;
}

/** Which requests are meant: those that fit all that is given. */
export interface RequestFilter {
  method?: string | undefined;
  /** The whole path, in which `*` stands for any text, or a RegExp. */
  path?: PathPattern | undefined;
  user?: string | undefined;
  status?: number | undefined;
  /** Only those of paths that nothing answers, or only others. */
  unmatched?: boolean | undefined;
}

/** What a server keeps of requests. */
const LIMITS = { entries: 10_000, bytes: 64 * 1024 * 1024 };
/** Bytes of a body that are kept. */
const MOST_BODY = 64 * 1024;
/** Characters of a query, and of all headers, that are kept. */
const MOST_HEAD = 16 * 1024;

/** The requests of a test server. */
export interface Received {
  /** How many had to go for newer ones since the last reset. */
  readonly dropped: number;
  /** Those that fit, in order. */
  list(filter?: RequestFilter): TestRequest[];
  /**
   * Waits until a request that fits has been answered, or its connection closed; it may be there already.
   *
   * @param options `timeout` in milliseconds, default 5000
   * @throws NothingArrived if there is none in time, which says what has arrived instead
   */
  wait(filter?: RequestFilter, options?: WaitOptions): Promise<TestRequest>;
  /** Forgets all of them. */
  clear(): void;
}

/** Keeps what a test server receives and answers. */
export class Recorder {
  readonly #log = new Log<TestRequest>(LIMITS);
  readonly #now: () => number;
  /** What the application says of those that it answers. */
  readonly #answered = new WeakMap<Incoming, TestRequest>();
  #last = 0;

  /** @param now the clock, in epoch milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  get requests(): readonly TestRequest[] {
    return this.#log.entries;
  }

  readonly received: Received = ((recorder: Recorder) => ({
    get dropped() {
      return recorder.#log.dropped;
    },
    list: (filter = {}) => recorder.#log.entries.filter((entry) => isMeant(filter, entry)),
    wait: (filter = {}, options = {}) =>
      waitIn(
        recorder.#log,
        (entry) => entry.duration !== null && isMeant(filter, entry),
        options,
        "request",
        ({ method, path, status }) => `${method} ${path} ${status ?? "(no answer)"}`,
      ),
    clear: () => recorder.#log.clear(),
  }))(this);

  /** For the application: who a request was answered as, and by which route. */
  readonly onAnswered = ({ incoming, caller, route }: AnsweredRequest): void => {
    const entry = this.#answered.get(incoming);
    if (!entry) return;
    entry.user = caller?.username ?? null;
    entry.route = route ?? null;
    if (route !== undefined) entry.by = "route";
  };

  /**
   * Answers a request, and keeps both.
   *
   * @param answer answers it as it is passed on, and says by what, unless that is a route
   */
  async record(
    incoming: Incoming,
    answer: (passed: Incoming, by: (what: AnsweredBy) => void) => Promise<Reply | undefined>,
  ): Promise<Reply | undefined> {
    const sent = new Beginning();
    const entry = this.#begin(incoming);
    const passed = { ...incoming, body: () => watched(incoming.body(), sent) };
    this.#answered.set(passed, entry);
    const started = performance.now();
    const end = (answered: Beginning | undefined) => {
      entry.duration ??= Math.round((performance.now() - started) * 100) / 100;
      entry.body = sent.text();
      entry.bytes = sent.bytes;
      if (entry.answer && answered) {
        entry.answer.body = answered.text();
        entry.answer.bytes = answered.bytes;
      }
      this.#log.complete(entry, sizeOf(entry));
    };
    try {
      const reply = await answer(passed, (what) => {
        entry.by = what;
      });
      if (entry.by !== "route" && sent.bytes === 0) await readShort(passed);
      entry.status = reply?.status ?? 404;
      if (!reply) {
        end(undefined);
        return reply;
      }
      const headers = withoutSecretHeaders(reply.headers);
      entry.answer = { headers, body: null, bytes: 0 };
      const answered = new Beginning();
      if (isStreamed(reply.body)) {
        // Its body is added once it is sent: nobody may ever read it.
        reply.body = watchedAnswer(reply.body, answered, () => end(answered));
      } else if (reply.body !== null) {
        answered.take(Buffer.from(reply.body as string));
      }
      end(answered);
      return reply;
    } catch (error) {
      end(undefined);
      throw error;
    }
  }

  reset(): void {
    this.#log.clear();
    this.#last = 0;
  }

  /** Ends all waits. */
  end(): void {
    this.#log.end();
  }

  #begin({ method, path, query, host }: Incoming): TestRequest {
    this.#last += 1;
    const entry: TestRequest = {
      id: this.#last,
      method,
      path: path.slice(0, MOST_HEAD),
      query: withoutSecrets(query.slice(0, MOST_HEAD)),
      headers: withoutSecretHeaders(headersOf(host)),
      body: null,
      bytes: 0,
      user: null,
      route: null,
      by: null,
      status: undefined,
      answer: null,
      time: new Date(this.#now()).toISOString(),
      duration: null,
    };
    this.#log.add(entry);
    return entry;
  }
}

function isMeant({ method, path, user, status, unmatched }: RequestFilter, entry: TestRequest) {
  return (
    (method === undefined || method.toUpperCase() === entry.method) &&
    (path === undefined || fitsPattern(path, entry.path)) &&
    (user === undefined || user === entry.user) &&
    (status === undefined || status === entry.status) &&
    (unmatched === undefined || unmatched === (entry.by === null && entry.duration !== null))
  );
}

/** About how many bytes an entry takes. */
function sizeOf({ path, query, headers, body, answer }: TestRequest): number {
  const texts = [path, query, body, answer?.body ?? null];
  const all = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
  return all + JSON.stringify([headers, answer?.headers]).length;
}

/** All headers of a request. */
function headersOf(host: HostRequest): Record<string, string> {
  const { headers } = host;
  // Node loads its `fetch` for the name `Headers`.
  const all = Symbol.iterator in headers ? [...headers] : Object.entries(headers);
  let left = MOST_HEAD;
  const kept: Record<string, string> = {};
  for (const [name, value] of all) {
    const text = String(value);
    left -= name.length + text.length;
    if (left < 0) break;
    kept[name] = text;
  }
  return kept;
}

/** The beginning of a body, as it passes by. */
class Beginning {
  readonly #chunks: Uint8Array[] = [];
  #kept = 0;
  bytes = 0;

  take(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    const left = MOST_BODY - this.#kept;
    if (left <= 0) return;
    // A copy: a part of a large chunk would keep all of it in memory.
    const part = Uint8Array.from(chunk.subarray(0, left));
    this.#chunks.push(part);
    this.#kept += part.length;
  }

  /** What is kept, without secrets; `null` if it is empty or no text. */
  text(): string | null {
    if (this.bytes === 0) return null;
    try {
      const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
      // The last character may be cut off.
      const isWhole = this.#kept === this.bytes;
      const text = decoder.decode(Buffer.concat(this.#chunks), { stream: !isWhole });
      return text.includes("\0") ? null : withoutSecrets(text);
    } catch {
      return null;
    }
  }
}

/** A body whose beginning is kept while somebody reads it. */
function watched(
  body: AsyncIterable<Uint8Array> | undefined,
  sent: Beginning,
): AsyncIterable<Uint8Array> | undefined {
  return body && passing(body, (chunk) => sent.take(chunk));
}

/** An answer's body whose beginning is kept while it is sent. @param onEnd called once, however it ends */
function watchedAnswer(body: Bytes, answered: Beginning, onEnd: () => void): Bytes {
  return {
    length: body.length,
    chunks: () => passing(body.chunks(), (chunk) => answered.take(chunk), onEnd),
  };
}

/**
 * What is read of a source, which is told first. Not a generator: the `return()` of one waits for its pending `next()`, but
 * a source that waits for something must be cancelled at once.
 */
function passing(
  source: AsyncIterable<Uint8Array>,
  take: (chunk: Uint8Array) => void,
  onEnd: () => void = () => undefined,
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => {
      const from = source[Symbol.asyncIterator]();
      let hasEnded = false;
      const end = () => {
        if (!hasEnded) onEnd();
        hasEnded = true;
      };
      return {
        next: async () => {
          try {
            const result = await from.next();
            if (result.done) end();
            else take(result.value);
            return result;
          } catch (error) {
            end();
            throw error;
          }
        },
        return: async () => {
          end();
          await from.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

/** Reads a short body that nobody has read, so that it is kept: whoever writes a stub wants to see it. */
async function readShort(incoming: Incoming): Promise<void> {
  const length = Number(incoming.header("content-length") ?? 0);
  if (!(length > 0 && length <= MOST_BODY)) return;
  for await (const _ of incoming.body() ?? []) {
    // It is kept as it passes.
  }
}
