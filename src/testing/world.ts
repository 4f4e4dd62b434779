import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import * as v from "valibot";
import type { Admin } from "../admin/index.ts";
import { type App, type Controls, type Doubles, prepareApp } from "../app.ts";
import type { Respond } from "../core/http/incoming.ts";
import type { Strictness } from "../core/http/strict.ts";
import {
  flagOption,
  type OptionSchemas,
  optionsOf,
  readOptions,
  textOption,
  wordOption,
} from "../core/options.ts";
import { editionOf, GITLAB_VERSION } from "../core/version.ts";
import { openBlank } from "../database/blank.ts";
import { type AppOptions, appOptions } from "../options.ts";
import type { Unsubscribe } from "../resources/hooks/listeners.ts";
import type { Store } from "../store/port.ts";
import { type Changes, compare, shownOf } from "./changes/changes.ts";
import {
  checkTypes,
  type Expectation,
  expectationOption,
  judge,
  type Verdict,
} from "./changes/expectations.ts";
import { viewerOf } from "./changes/view.ts";
import { type Clock, type ClockState, createClock, type Instant } from "./clock.ts";
import { createFaults, type Fault, type Faults, faultOption } from "./faults.ts";
import { HookCalls, type Hooks } from "./hooks.ts";
import { createLimits, type Limits } from "./limits.ts";
import { Mailbox, type Mails } from "./mails.ts";
import { type RateLimit, rateLimitOption } from "./rate-limit.ts";
import { Recognizer } from "./recognize.ts";
import { type Received, Recorder, type TestRequest } from "./requests.ts";
import { type RunnerScript, runnerOption, ScriptedRunner, type TestRunner } from "./runner.ts";
import { DEFAULT_SEED, readSeeds, type SeedSource } from "./seed.ts";
import { Severed, severable } from "./severed.ts";
import { States } from "./states.ts";
import { createStrict, type Strict, strictOption } from "./strict.ts";
import { createStubs, type Stub, type Stubs, stubOption } from "./stubs.ts";
import { keepSecrets, tokensOf, withToken } from "./token.ts";

/** What a world begins with; everything is optional (docs/testing.md). */
export interface WorldOptions
  extends Pick<AppOptions, "tier" | "limits" | "gitlabVersion" | "includes"> {
  /**
   * Its initial data, or the path or `file:` URL of a JSON or YAML file with it; or several, one after the other.
   * Default: the administrator `root`, and the public group `acme` with labels, a milestone, a board and two projects.
   */
  seed?: SeedSource | readonly SeedSource[];
  /** The time at which its clock is stopped. Default: the clock runs with the real time. */
  now?: Instant;
  /** A request limit. Default: none. */
  rateLimit?: RateLimit;
  /** Faults that are active from the start. */
  faults?: readonly Fault[];
  /** Whether webhooks are called, also on this machine (default), or what they would have been sent is only kept. */
  webhooks?: "deliver" | "keep";
  /** What becomes of the jobs of pipelines. Default: they wait. */
  runner?: RunnerScript;
  /** Canned answers that are there from the start. */
  stubs?: readonly Stub[];
  /** What is refused that GitLab ignores or converts. Default: nothing. */
  strict?: Partial<Strictness>;
}

/** The schemas of {@link WorldOptions}. */
export const worldOptions = {
  seed: v.optional(v.any()),
  now: v.optional(v.any()),
  tier: appOptions.tier,
  limits: appOptions.limits,
  gitlabVersion: appOptions.gitlabVersion,
  includes: appOptions.includes,
  rateLimit: v.optional(rateLimitOption),
  faults: v.optional(v.array(faultOption, "must be a list of faults")),
  webhooks: v.optional(wordOption(["deliver", "keep"])),
  runner: v.optional(runnerOption),
  stubs: v.optional(v.array(stubOption, "must be a list of stubs")),
  strict: v.optional(strictOption),
} satisfies OptionSchemas<WorldOptions>;

/** Named states of a world: its data and its clock. */
export interface Snapshots {
  /** Names the present state; a name that there is gets the new one. @throws OptionError if it can't be a name */
  save(name: string): Promise<void>;
  /** Goes to a named state. @throws ApiError 404, with the names that there are */
  restore(name: string): Promise<void>;
  /** The names, in the order in which they were saved. */
  list(): string[];
  /** @throws ApiError 404, with the names that there are */
  remove(name: string): Promise<void>;
}

/** What {@link World.changes} is about. */
export interface ChangesOptions {
  /** The name of a snapshot. Default: the seed. */
  since?: string | undefined;
  /** Whether times, counts, and what follows by itself are told, too. Default false. */
  all?: boolean | undefined;
}

const changesOption = optionsOf({
  since: v.optional(textOption),
  all: flagOption,
} satisfies OptionSchemas<ChangesOptions>);

/** A GitLab of its own: data, users and clock, without an address. All its parts stay valid after a reset. */
export interface World {
  /** The version of GitLab that it says it is. */
  readonly version: string;
  /** The token of the seed's first administrator with one, or else of its first such user; issued if there is none. */
  readonly token: string;
  /** The first token of each user of the seed that has one, by user name. */
  readonly tokens: Readonly<Record<string, string>>;
  /** The operators' API: users, tokens, more seeds. */
  readonly admin: Admin;
  /** The application, for calls without HTTP and faults. */
  readonly app: App;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly limits: Limits;
  /** The requests since the start or the last reset, in order: the last 10,000 of them, or fewer if they are large. */
  readonly requests: readonly TestRequest[];
  /** Finds and awaits those. */
  readonly received: Received;
  /** What would have been sent by mail. */
  readonly mails: Mails;
  /** What webhooks were sent, or would have been. */
  readonly hooks: Hooks;
  /** What becomes of the jobs of pipelines. */
  readonly runner: TestRunner;
  /** Canned answers. */
  readonly stubs: Stubs;
  /** What is refused that GitLab ignores or converts. */
  readonly strict: Strict;
  /** Ends a job of a pipeline that is pending or runs, as its runner would: jobs after it start. */
  readonly finishJob: Admin["jobs"]["finish"];
  /** Answers a request as clients see it: recorded, and with faults. */
  readonly respond: Respond;
  /** States with names, to go back to in any order. A reset keeps them. */
  readonly snapshots: Snapshots;
  /**
   * What has changed since the last reset or a snapshot, as the API shows it.
   *
   * @param options `since`: the name of a snapshot; `all`: also times, counts, and what follows by itself
   * @throws ApiError 404 if there is no such snapshot
   */
  changes(options?: ChangesOptions): Promise<Changes>;
  /**
   * Judges what has changed: each expected record must be among what was created, updated or deleted, with those attributes
   * that are given, and with `only` nothing else.
   *
   * @throws OptionError if a part of it is wrong or misspelt
   * @throws ApiError 404 if there is no such snapshot
   */
  expectChanges(expected: Expectation): Promise<Verdict>;
  /** Restores the initial state: the seed with its ids and tokens, the options' clock and faults, no requests. */
  reset(): Promise<void>;
  /** Discards the data. Answers that wait because of a fault end at once. */
  close(): Promise<void>;
}

/** How often it is looked for pipelines that pushes have asked for. */
const PIPELINES_MILLISECONDS = 50;

/**
 * Creates a world in memory.
 *
 * @throws SeedError if the seed can't be used
 * @throws OptionError if an option is wrong or misspelt
 * @throws TypeError if `now` is not an instant
 */
export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const { seed: given = DEFAULT_SEED, tier = "ultimate" } = options;
  const { gitlabVersion = GITLAB_VERSION } = options;
  const time = createClock(options.now);
  let started: Controls | undefined;
  const controls = () => started as Controls;
  // Tests may send any number of requests at once.
  const { unknownTokens, waitingRequests = false, ...others } = options.limits ?? {};
  const firstLimits = { ...others, ...(options.rateLimit && { rateLimit: options.rateLimit }) };
  const limiter = createLimits(firstLimits, (changed) => started?.setLimits(changed));
  const recognizer = new Recognizer({
    now: time.clock.now,
    reader: () => controls().working.store.reader(),
  });
  const injector = createFaults(options.faults ?? [], (incoming) => recognizer.recognize(incoming));
  const canned = createStubs(options.stubs ?? []);
  const strictness = createStrict(options.strict ?? {});
  const mailbox = new Mailbox(controls, () => hooks.work());
  const hooks = new HookCalls(controls, time.clock.now, options.webhooks !== "keep");
  const scripted = new ScriptedRunner(
    controls,
    () => current.app.admin.maintenance.runPipelines(),
    options.runner,
  );
  const recorder = new Recorder(time.clock.now);
  const { seed, own } = withToken(await readSeeds(given), time.clock.now());

  /** What subscribes the listeners of the tests, also after a reset. */
  const subscriptions = new Set<Subscription>();

  const doubles: Doubles = {
    onAnswered: recorder.onAnswered,
    onChange: mailbox.onChange,
    calls: hooks.outgoing,
    strict: strictness.strictness,
    firstKey: {},
    onStart: (running) => {
      started = running;
      limiter.apply();
    },
  };
  const secretKey = randomBytes(32).toString("base64");
  const settings: AppOptions = {
    now: time.clock.now,
    // Moving the clock forward must not remove data that a test looks for.
    background: false,
    // Receivers of webhooks run beside the tests.
    webhooks: { deliver: true, allowLocalRequests: true, interval: 50 },
    tier,
    gitlabVersion,
    ...(options.includes && { includes: options.includes }),
    sites: "path",
    secretKey,
    limits: { ...others, waitingRequests, ...(unknownTokens !== undefined && { unknownTokens }) },
    onError: (error: unknown) => {
      if (!(error instanceof Severed)) console.error(error);
    },
  };
  const prepared = prepareApp(settings, [], undefined, doubles);
  /** Starts an application in the state that a database has: it knows nothing of those before it. */
  const begin = async (database: Store): Promise<Running> => {
    const { store, sever } = severable(database);
    const app = await prepared.open(store);
    for (const one of subscriptions) await one.subscribe(app);
    return { app, answers: new Set(), sever };
  };
  const database = await openBlank(prepared.steps);
  let current = await begin(database);
  let states: States<ClockState>;
  try {
    await mailbox.start();
    keepSecrets(seed, await current.app.admin.seed(seed));
    states = await States.of(database);
  } catch (error) {
    await current.app.close();
    await database.close();
    throw error;
  }

  /** Ends when the world goes on; requests wait for it. */
  let halted: Promise<unknown> | undefined;
  /** Does something while no request runs: those under way end before. @param hurry whether delays of faults end, too */
  const halt = async <T>(work: () => Promise<T>, { hurry = false } = {}): Promise<T> => {
    while (halted) await halted;
    const done = (async () => {
      const { answers } = current;
      if (answers.size > 0) {
        if (hurry) injector.hurry();
        await settledSoon([...answers]);
      }
      return work();
    })();
    halted = done.catch(() => undefined);
    try {
      return await done;
    } finally {
      halted = undefined;
    }
  };
  /** Goes to another state. What has not ended by then is cut off from it. */
  const move = (go: () => Promise<void>) =>
    halt(
      async () => {
        const { app, sever } = current;
        sever();
        await go();
        current = await begin(states.store);
        // What it does in the background ends by itself.
        void app.close().catch(() => undefined);
      },
      { hurry: true },
    );

  /** Shows states to whoever compares them. */
  const viewer = prepareApp({
    now: time.clock.now,
    background: false,
    tier,
    gitlabVersion,
    sites: "path",
    secretKey,
    authenticate: viewerOf,
  });
  const changesSince = (since: string | undefined, all: boolean) =>
    halt(async () => {
      const before = await states.before(since);
      const after = states.store;
      return compare({
        before,
        after,
        open: viewer.open,
        base: mailbox.base,
        now: time.clock.now(),
        all,
      });
    });

  const respond: Respond = async (incoming) => {
    while (halted) await halted;
    const { app, answers } = current;
    mailbox.base = incoming.base ?? mailbox.base;
    const answer = recorder.record(incoming, async (passed, by) => {
      // Whoever has pushed sees the pipelines of that in the next answer.
      await scripted.work();
      await mailbox.stay();
      const refusal = limiter.refuse();
      if (refusal) by("limit");
      const respond: Respond = async (incoming) => {
        const stubbed = canned.answer(incoming);
        if (!stubbed) return app.respond(incoming);
        by("stub");
        return stubbed;
      };
      return refusal ?? injector.respond(passed, respond, () => by("fault"));
    });
    answers.add(answer);
    try {
      return await answer;
    } finally {
      answers.delete(answer);
    }
  };
  // Webhooks about pipelines come without another request, and whoever waits for an archive asks for it again.
  const work = async ({ admin }: Running["app"]) => {
    await scripted.work();
    await admin.maintenance.runArchives();
    await mailbox.workOnChange();
  };
  const timer = setInterval(
    () => void work(current.app).catch(() => undefined),
    PIPELINES_MILLISECONDS,
  );
  timer.unref();

  const admin = delegating(() => current.app.admin);
  const close = async () => {
    clearInterval(timer);
    injector.end();
    recorder.end();
    mailbox.end();
    hooks.end();
    await Promise.allSettled(current.answers);
    await current.app.close();
    await states.close();
  };
  return {
    version: editionOf(gitlabVersion, tier).version,
    token: own.token as string,
    tokens: tokensOf(seed),
    admin,
    app: {
      handler: (context) => current.app.handler(context),
      fetch: (input, init) => current.app.fetch(input, init),
      respond: (incoming) => current.app.respond(incoming),
      admin,
      ssh: undefined,
      on: async (name, listener) => {
        const subscription = subscriptionOf((app) => app.on(name, listener));
        await subscription.subscribe(current.app);
        subscriptions.add(subscription);
        return async () => {
          subscriptions.delete(subscription);
          await subscription.end();
        };
      },
      events: (...names) => current.app.events(...names),
      close: () => current.app.close(),
    },
    clock: time.clock,
    faults: injector.faults,
    limits: limiter.limits,
    requests: recorder.requests,
    received: recorder.received,
    mails: mailbox.mails,
    hooks: hooks.hooks,
    runner: scripted.runner,
    stubs: canned.stubs,
    strict: strictness.strict,
    finishJob: (id, end) => admin.jobs.finish(id, end),
    snapshots: {
      save: (name) => halt(() => states.save(name, time.save())),
      restore: (name) =>
        move(async () => {
          time.restore(await states.restore(name));
          mailbox.moved();
        }),
      list: () => states.list(),
      remove: (name) => halt(() => states.remove(name)),
    },
    changes: async (given = {}) => {
      readOptions("changes", changesOption, given);
      const { since, all = false } = given;
      return shownOf(await changesSince(since, all), all);
    },
    expectChanges: async (expected) => {
      readOptions("expectChanges", expectationOption, expected);
      checkTypes("expectChanges", expected);
      return judge(await changesSince(expected.since, false), expected);
    },
    reset: () =>
      move(async () => {
        time.reset();
        limiter.reset();
        injector.reset();
        recorder.reset();
        mailbox.reset();
        hooks.reset();
        scripted.reset();
        canned.reset();
        strictness.reset();
        await states.reset();
      }),
    respond,
    close,
  };
}

/** A subscription that moves from one application to the next. */
interface Subscription {
  subscribe(app: App): Promise<void>;
  end: Unsubscribe;
}

function subscriptionOf(on: (app: App) => Promise<Unsubscribe>): Subscription {
  let end: Unsubscribe = async () => {};
  return {
    subscribe: async (app) => {
      end = await on(app);
    },
    end: () => end(),
  };
}

/** An application, its pending answers, and what keeps the rest of its work from the database. */
interface Running {
  app: App;
  answers: Set<Promise<unknown>>;
  sever: () => void;
}

/** How long requests that are under way may take before the world goes to another state without them. */
const GRACE_MILLISECONDS = 300;

/** Waits until all have ended, or for the grace. */
async function settledSoon(answers: readonly Promise<unknown>[]): Promise<void> {
  const ended = new AbortController();
  const late = sleep(GRACE_MILLISECONDS, undefined, { signal: ended.signal });
  await Promise.race([Promise.allSettled(answers), late]);
  ended.abort();
  await late.catch(() => undefined);
}

/** An object whose methods, and those of its parts, call those of the object that `current` returns at that time. */
function delegating<T extends object>(current: () => T): T {
  const delegate = ([name, member]: [string, unknown]) => {
    const now = () => (current() as Record<string, unknown>)[name];
    if (typeof member === "object") return [name, delegating(now as () => object)];
    return [
      name,
      (...values: unknown[]) => (now() as (...values: unknown[]) => unknown)(...values),
    ];
  };
  return Object.fromEntries(Object.entries(current()).map(delegate)) as T;
}
