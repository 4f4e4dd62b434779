import { viewOf } from "../../core/http/request.ts";
import { OptionError, readOptions, wordOption } from "../../core/options.ts";
import type { Secrets } from "../../core/secrets.ts";
import type { Edition } from "../../core/version.ts";
import { type HookEventTask, listenersOf } from "../../hooks/events.ts";
import { dropUnheard, type Task } from "../../jobs/outbox.ts";
import type { Service } from "../../jobs/services.ts";
import { type Outcome, startWorker, type Worker, type Working } from "../../jobs/worker.ts";
import { UnavailableError } from "../../store/port.ts";
import {
  APP_EVENTS,
  type AppEvent,
  type AppEventName,
  type AppEventOf,
  type AppListener,
  type EventUser,
} from "./app-events.ts";
import { userOf } from "./payloads/blocks.ts";
import { payloadOf } from "./payloads/makers.ts";

/** Events of one name that are told at once: each of another project. */
const LANES = 8;
/** Milliseconds between two looks for what other processes have recorded. */
const INTERVAL = 1000;
/** Milliseconds from a commit to the look for what it has recorded: commits in between share it. */
const DELAY = 2;
/** Milliseconds for which listeners that are being called are waited for when the application ends. */
const GRACE = 3000;

/** The settings of {@link Listeners}. */
export interface ListenerSettings extends Working {
  readonly secrets: Secrets;
  /** The application's own public address, with which links in payloads begin; empty if it has none. */
  readonly base: string;
  readonly edition: Edition;
}

/** Ends a subscription. What is being told is told to its end. */
export type Unsubscribe = () => Promise<void>;

const name = wordOption(Object.keys(APP_EVENTS) as AppEventName[]);

/**
 * The listeners of an application (decision 94). What they are told of is queued in the transaction that does it, while any
 * process listens for it, and told after the commit by one of the processes that do.
 */
export class Listeners implements Service {
  readonly #settings: ListenerSettings;
  readonly #told = new Map<AppEventName, Set<AppListener<AppEventName>>>();
  readonly #workers = new Map<AppEventName, Worker>();
  readonly #streams = new Set<{ end(): void }>();
  /** Workers that nobody listens to any more, until the listeners that they call have ended. */
  readonly #ending = new Set<Promise<void>>();
  readonly #interrupting = new AbortController();
  /** Subscriptions begin and end one after another: who listens in the end is in the database. */
  #subscribing: Promise<unknown> = Promise.resolve();
  #waking: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** Ends when the subscriptions that have been asked for are recorded; `undefined` if all are. Never rejects. */
  starting: Promise<void> | undefined;

  constructor(settings: ListenerSettings) {
    this.#settings = settings;
  }

  /**
   * Adds a listener.
   *
   * @returns once everything that is committed from now on is told to it
   * @throws OptionError if there is no such event
   * @throws UnavailableError if the database can't be used
   */
  async on<Name extends AppEventName>(
    name: Name,
    listener: AppListener<Name>,
  ): Promise<Unsubscribe> {
    checkName("on", name);
    if (typeof listener !== "function") {
      throw new OptionError("on", "listener", "must be a function");
    }
    // Each subscription is one of its own, also with the same function.
    const told: AppListener<AppEventName> = (event) => listener(event as AppEventOf<Name>);
    const listeners = this.#told.get(name) ?? new Set();
    this.#told.set(name, listeners);
    const starting = this.#next(async () => {
      listeners.add(told);
      try {
        await this.#start(name);
      } catch (error) {
        listeners.delete(told);
        throw error;
      }
    });
    this.#started(starting);
    await starting;
    return () => {
      listeners.delete(told);
      return this.#next(() => (listeners.size === 0 ? this.#end(name) : undefined));
    };
  }

  /**
   * What happens from now on, one after another. The events wait for whoever iterates, and end with the application.
   *
   * @throws OptionError if there is no such event, or none is named
   */
  events<Name extends AppEventName>(...names: Name[]): AsyncIterableIterator<AppEventOf<Name>> {
    if (names.length === 0) throw new OptionError("events", "", "needs the name of an event");
    for (const one of names) checkName("events", one);
    const different = [...new Set(names)];
    const stream: EventStream<Name> = new EventStream({
      subscribe: (tell: AppListener<Name>) =>
        Promise.all(different.map((one) => this.on(one, tell))),
      onReturn: () => this.#streams.delete(stream),
    });
    this.#streams.add(stream);
    return stream;
  }

  /** Looks soon for what was recorded: called after each commit. */
  wake(): void {
    if (this.#workers.size === 0 || this.#waking) return;
    this.#waking = setTimeout(() => {
      this.#waking = undefined;
      for (const worker of this.#workers.values()) worker.wake();
    }, DELAY);
    this.#waking.unref();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#waking);
    for (const stream of this.#streams) stream.end();
    await this.#subscribing;
    for (const name of this.#workers.keys()) this.#stopWorker(name);
    const timer = setTimeout(() => this.#interrupting.abort(), GRACE);
    await Promise.all(this.#ending);
    clearTimeout(timer);
  }

  /** Does something once what was asked for before is done. */
  #next<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this.#subscribing.then(work);
    this.#subscribing = done.catch(() => undefined);
    return done;
  }

  /** Notes that a subscription is being recorded, for {@link starting}. */
  #started(subscription: Promise<void>): void {
    const starting = Promise.allSettled([this.starting, subscription]).then(() => {
      if (this.starting === starting) this.starting = undefined;
    });
    this.starting = starting;
  }

  async #start(name: AppEventName): Promise<void> {
    if (this.#isStopped) throw new UnavailableError("the application has ended");
    if (this.#workers.has(name)) return;
    const { leases, ...working } = this.#settings;
    const queue = listenersOf(APP_EVENTS[name]);
    await leases.listen(queue);
    const worker = await startWorker({
      ...{ ...working, leases, name: queue, interval: INTERVAL, lanes: LANES },
      announced: false,
      ordered: true,
      work: (task) => this.#tell(name, task),
    });
    this.#workers.set(name, worker);
  }

  async #end(name: AppEventName): Promise<void> {
    // What this process listens to goes with the process.
    if (this.#isStopped) return;
    // Not waited for: a listener may end its own subscription.
    this.#stopWorker(name);
    const { store, leases } = this.#settings;
    const queue = listenersOf(APP_EVENTS[name]);
    await leases.ignore(queue);
    // Whoever listens next is told of what happens from then on.
    await dropUnheard(store, queue);
  }

  #stopWorker(name: AppEventName): void {
    const worker = this.#workers.get(name);
    if (!worker) return;
    this.#workers.delete(name);
    const ending = worker.stop().catch(this.#settings.onError);
    this.#ending.add(ending);
    void ending.then(() => this.#ending.delete(ending));
  }

  /** Tells an event to all who listen: one that fails is reported, and the others are told nevertheless. */
  async #tell(name: AppEventName, task: Task): Promise<Outcome> {
    // Whoever begins to listen from now on is not told of what was before.
    const listening = [...(this.#told.get(name) ?? [])];
    const event = await this.#eventOf(name, JSON.parse(task.payload) as HookEventTask);
    if (!event) return { done: true };
    const left = listening.filter((listener) => this.#told.get(name)?.has(listener));
    const telling = left.map(async (listener) => {
      try {
        return await listener(structuredClone(event));
      } catch (error) {
        return this.#settings.onError(error);
      }
    });
    const results = await unlessAborted(Promise.all(telling), this.#interrupting.signal);
    return results === undefined || results.includes(UNTAKEN) ? "interrupted" : { done: true };
  }

  /** `undefined` if what it is about is gone. */
  async #eventOf(
    name: AppEventName,
    { kind, userId, at, facts }: HookEventTask,
  ): Promise<AppEventOf<AppEventName> | undefined> {
    const { store, base, now, secrets, edition } = this.#settings;
    const making = { store, view: viewOf(base, now(), secrets, edition) };
    const data = facts as { id: number; action?: string; status?: string };
    const payload = await payloadOf(making, { kind, userId, at, data, hookOf: "system" });
    if (!payload) return undefined;
    const event = {
      name,
      action: data.action ?? data.status ?? actionOn(facts),
      user: (await userOf(making, userId)) as EventUser | null,
      at: new Date(at),
      ...changesOf(payload.body["changes"]),
      payload: payload.body,
    };
    return event as AppEventOf<AppEventName>;
  }
}

function checkName(where: string, given: unknown): void {
  readOptions(where, name, given);
}

/** What a push does to a branch or tag. */
function actionOn(facts: { before?: string | null; after?: string | null }): string {
  if (facts.before === null) return "create";
  return facts.after === null ? "delete" : "update";
}

/** The two sides of a payload's `changes`. */
function changesOf(changes: unknown): Pick<AppEvent, "before" | "after"> {
  const all = Array.isArray(changes) ? [] : Object.entries(changes ?? {});
  if (all.length === 0) return { before: null, after: null };
  const side = (which: "previous" | "current") =>
    Object.fromEntries(all.map(([attribute, change]) => [attribute, change[which]]));
  return { before: side("previous"), after: side("current") };
}

/** The result; `undefined` as soon as the signal is aborted. */
async function unlessAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const heard = new AbortController();
  const aborted = new Promise<undefined>((resolve) => {
    const end = () => resolve(undefined);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true, signal: heard.signal });
  });
  try {
    return await Promise.race([result, aborted]);
  } finally {
    heard.abort();
  }
}

/** What a stream returns for an event that nobody has taken when the application ends. */
const UNTAKEN = Symbol("untaken");

/** How an {@link EventStream} gets its events. */
interface Subscribing<Name extends AppEventName> {
  readonly subscribe: (tell: AppListener<Name>) => Promise<Unsubscribe[]>;
  readonly onReturn: () => void;
}

/** Events as an iterator: each stays in the outbox until it is taken. */
class EventStream<Name extends AppEventName> implements AsyncIterableIterator<AppEventOf<Name>> {
  readonly #subscribed: Promise<Unsubscribe[]>;
  readonly #onReturn: () => void;
  /** Events that nobody has asked for yet, and what tells whether they are taken: at most one of each project. */
  readonly #waiting: {
    readonly event: AppEventOf<Name>;
    readonly answer: (how?: typeof UNTAKEN) => void;
  }[] = [];
  readonly #asking: ((result: IteratorResult<AppEventOf<Name>>) => void)[] = [];
  /** `left` by whoever iterated, or `closed` by the application. */
  #state: "open" | "left" | "closed" = "open";

  constructor({ subscribe, onReturn }: Subscribing<Name>) {
    this.#onReturn = onReturn;
    this.#subscribed = subscribe((event) => this.#tell(event));
    // Whoever asks for the first event gets the error.
    this.#subscribed.catch(() => undefined);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<AppEventOf<Name>>> {
    await this.#subscribed;
    const first = this.#waiting.shift();
    if (first) {
      first.answer();
      return { done: false, value: first.event };
    }
    if (this.#state !== "open") return { done: true, value: undefined };
    return new Promise((resolve) => this.#asking.push(resolve));
  }

  async return(): Promise<IteratorResult<AppEventOf<Name>>> {
    this.#end("left");
    this.#onReturn();
    for (const unsubscribe of await this.#subscribed) await unsubscribe();
    return { done: true, value: undefined };
  }

  /** Ends what is being asked for. What was not taken is told again, to another process or after a restart. */
  end(): void {
    this.#end("closed");
  }

  #end(state: "left" | "closed"): void {
    if (this.#state === "open") this.#state = state;
    for (const answer of this.#asking.splice(0)) answer({ done: true, value: undefined });
    const how = state === "closed" ? UNTAKEN : undefined;
    for (const { answer } of this.#waiting.splice(0)) answer(how);
  }

  #tell(event: AppEventOf<Name>): unknown {
    if (this.#state !== "open") return this.#state === "closed" ? UNTAKEN : undefined;
    const asking = this.#asking.shift();
    if (asking) return asking({ done: false, value: event });
    return new Promise((answer) => this.#waiting.push({ event, answer }));
  }
}
