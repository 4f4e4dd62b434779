import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import {
  bounded,
  Client,
  isTold,
  jsonIn,
  MOST_BYTES,
  partsOf,
  refusal,
  SourceError,
  type Told,
} from "../../outgoing/client.ts";
import type { Dialect } from "./dialects.ts";

export { isTold, SourceError, type Told } from "../../outgoing/client.ts";

/** An answer has more bytes than are read. */
class TooLarge extends SourceError {}

/** Values of a query. */
export type Query = Readonly<Record<string, string | number | boolean>>;

/** A page of a list. */
export interface Page {
  readonly number: number;
  readonly entries: readonly Told[];
}

/** The most pages of a list. */
const MOST_PAGES = 20_000;
/** How often a request is sent again if the other server is at fault, and the first pause before that in milliseconds. */
const TRIES = 4;
const FIRST_PAUSE = 250;
/** How many pauses another server may ask for in a row. */
const MOST_PAUSES = 20;
/** The pause after a refusal that does not say how long it is to be, in milliseconds. */
const FIRST_REST = 10_000;

/** What a {@link Source} is made of. */
export interface SourceSettings {
  readonly dialect: Dialect;
  /** Of the server, without the path of its API. */
  readonly url: URL;
  readonly token: string;
  readonly allowLocal: boolean;
  readonly now: () => number;
}

/**
 * Reads the REST API of another server: one page at a time, as fast as it allows, without following redirects.
 */
export class Source extends Client {
  readonly #settings: SourceSettings;
  readonly #signal: AbortSignal;
  /** No request is sent before this instant, in epoch milliseconds. */
  #restsUntil = 0;

  /** @param signal ends all requests */
  constructor(settings: SourceSettings, signal: AbortSignal) {
    super(settings, signal);
    this.#settings = settings;
    this.#signal = signal;
  }

  /** The address of a path of the API, without the token. */
  urlOf(path: string, query: Query = {}): URL {
    const { url, dialect } = this.#settings;
    const at = dialect.apiOf(url);
    at.pathname = `${at.pathname.replace(/\/$/, "")}/${path}`;
    for (const [name, value] of Object.entries(query)) at.searchParams.set(name, String(value));
    return at;
  }

  /** How the server is asked. */
  get dialect(): Dialect {
    return this.#settings.dialect;
  }

  /**
   * Reads one object.
   *
   * @throws SourceError if there is none, or none that can be read
   */
  async get(path: string, query: Query = {}): Promise<Told> {
    const { told } = await this.#json(path, query);
    if (!isTold(told)) throw new SourceError(`the answer to ${path} is no object`);
    return told;
  }

  /**
   * Reads a list, page by page.
   *
   * @param from the number of the first page
   * @throws SourceError if it is none, or has no end
   */
  async *list(path: string, query: Query = {}, from = 1): AsyncGenerator<Page> {
    let last: string | undefined;
    for (let number = from; ; number += 1) {
      if (number > MOST_PAGES) throw new SourceError(`the list ${path} has no end`);
      let length = 0;
      let hasNext = false;
      for await (const part of this.#parts(path, query, { size: this.dialect.pageSize, number })) {
        const { entries } = part;
        const shown = JSON.stringify(entries.map(({ id, iid, name }) => [id, iid, name]));
        if (entries.length > 0 && shown === last) {
          throw new SourceError(`the list ${path} repeats itself`);
        }
        last = shown;
        length += entries.length;
        ({ hasNext } = part);
        yield { number, entries };
      }
      if (!hasNext || length === 0) return;
    }
  }

  /** A page: as a whole or, if that is too large to be read at once, in parts. */
  async *#parts(
    path: string,
    query: Query,
    { size, number }: { readonly size: number; readonly number: number },
  ): AsyncGenerator<{ entries: readonly Told[]; hasNext: boolean }> {
    try {
      const { told, headers } = await this.#page(path, query, size, number);
      if (!Array.isArray(told) || !told.every(isTold)) {
        throw new SourceError(`the answer to ${path} is no list of objects`);
      }
      yield { entries: told, hasNext: this.dialect.hasNext(headers) ?? told.length === size };
    } catch (error) {
      if (!(error instanceof TooLarge) || size === 1) throw error;
      const shares = Math.min(this.dialect.shares, size);
      for (let at = 1; at <= shares; at += 1) {
        const part = { size: size / shares, number: (number - 1) * shares + at };
        let hasNext = false;
        for await (const found of this.#parts(path, query, part)) {
          ({ hasNext } = found);
          yield found;
        }
        if (!hasNext) return;
      }
    }
  }

  /**
   * {@link list} from its end, for lists that have the newest first and no other order; from its beginning if the other
   * server does not tell how long it is.
   */
  async *listFromEnd(path: string, query: Query = {}): AsyncGenerator<Page> {
    const { headers } = await this.#page(path, query, 1, 1);
    const total = Number(headers["x-total"] ?? headers["x-total-count"] ?? Number.NaN);
    const size = this.dialect.pageSize;
    const last = Math.ceil(total / size);
    if (!Number.isSafeInteger(last) || last > MOST_PAGES) {
      yield* this.list(path, query);
      return;
    }
    for (let number = last; number > 0; number -= 1) {
      for await (const { entries } of this.#parts(path, query, { size, number })) {
        yield { number, entries: entries.toReversed() };
      }
    }
  }

  /**
   * All entries of a short list.
   *
   * @param most entries that it may have
   * @throws SourceError if it has more
   */
  async all(path: string, query: Query = {}, most = 10_000): Promise<Told[]> {
    const all: Told[] = [];
    for await (const { entries } of this.list(path, query)) {
      all.push(...entries);
      if (all.length > most) throw new SourceError(`${path} has more than ${most} entries`);
    }
    return all;
  }

  /**
   * What a document of GraphQL asks for.
   *
   * @throws SourceError if it is not answered, or with an error
   */
  async graphql(query: string, variables: object): Promise<Told> {
    const url = this.#settings.dialect.apiOf(this.#settings.url);
    url.pathname = url.pathname.replace(/\/v4$/, "/graphql");
    const headers = {
      ...this.#settings.dialect.headersOf(this.#settings.token),
      ...{ "user-agent": "pm-api", "content-type": "application/json" },
    };
    const body = JSON.stringify({ query, variables });
    await this.#rest();
    const { data } = await this.ask({ url, method: "POST", headers, body });
    if (!isTold(data)) throw new SourceError("the document of GraphQL is not answered");
    return data;
  }

  /** The bytes of a file. @param most bytes that it may have @throws SourceError */
  async *bytes(path: string, most: number): AsyncGenerator<Uint8Array> {
    yield* bounded(await this.#answer(path, {}), path, most);
  }

  #page(path: string, query: Query, size: number, page: number) {
    return this.#json(path, { ...query, [this.dialect.sizeName]: size, page });
  }

  async #json(path: string, query: Query) {
    const answer = await this.#answer(path, query);
    const { headers } = answer;
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of partsOf(answer, path)) {
      length += chunk.length;
      if (length > MOST_BYTES) throw new TooLarge(`the answer to ${path} is too large`);
      chunks.push(chunk);
    }
    return { told: jsonIn(Buffer.concat(chunks), path), headers };
  }

  /** A successful answer. Its body is to be read or destroyed. @throws SourceError */
  async #answer(path: string, query: Query): Promise<IncomingMessage> {
    const url = this.urlOf(path, query);
    const headers = { ...this.dialect.headersOf(this.#settings.token), "user-agent": "pm-api" };
    let failures = 0;
    let pauses = 0;
    for (;;) {
      await this.#rest();
      const answer = await this.send({ url, method: "GET", headers });
      const status = answer instanceof SourceError ? undefined : answer.statusCode;
      if (!(answer instanceof SourceError)) {
        const mustWait = this.#heed(answer);
        if (status === 200) return answer;
        answer.destroy();
        if (mustWait) {
          pauses += 1;
          if (pauses > MOST_PAUSES)
            throw new SourceError("the server asks for pauses again and again", status);
          continue;
        }
        if (status !== undefined && status < 500) throw refusal(path, status);
      }
      failures += 1;
      if (failures === TRIES) {
        throw answer instanceof SourceError ? answer : refusal(path, status ?? 0);
      }
      await this.#pause(FIRST_PAUSE * 2 ** (failures - 1));
    }
  }

  /**
   * Notes when the other server wants the next request: by the headers of GitLab, or of GitHub.
   *
   * @returns whether it has refused this one for that reason
   */
  #heed({ statusCode, headers }: IncomingMessage): boolean {
    const now = this.#settings.now();
    const left = headers["ratelimit-remaining"] ?? headers["x-ratelimit-remaining"];
    const reset = Number(headers["ratelimit-reset"] ?? headers["x-ratelimit-reset"]) * 1000;
    const after = headers["retry-after"];
    const mustWait =
      statusCode === 429 ||
      (statusCode === 503 && after !== undefined) ||
      (statusCode === 403 && (left === "0" || after !== undefined));
    if (mustWait) {
      const seconds = Number(after);
      const until = left === "0" && reset > now ? reset : now + FIRST_REST;
      this.#restsUntil =
        after !== undefined && Number.isFinite(seconds)
          ? now + Math.max(seconds, 0.1) * 1000
          : until;
    } else if (left === "0" && reset > now) {
      // The clock of the other server may be another one.
      this.#restsUntil = Math.min(reset, now + 60_000);
    }
    return mustWait;
  }

  async #rest(): Promise<void> {
    const pause = this.#restsUntil - this.#settings.now();
    if (pause > this.dialect.longestPause)
      throw new SourceError("the server asks for too long a pause", 429);
    if (pause > 0) await this.#pause(pause);
  }

  async #pause(milliseconds: number): Promise<void> {
    this.#restsUntil = 0;
    await sleep(milliseconds, undefined, { signal: this.#signal, ref: false }).catch(() => {
      this.#signal.throwIfAborted();
    });
  }
}
