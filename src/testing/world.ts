import * as v from "valibot";
import type { Admin } from "../admin/index.ts";
import { type App, type Controls, createAppOn, type Doubles } from "../app.ts";
import type { Respond } from "../core/http/incoming.ts";
import type { Strictness } from "../core/http/strict.ts";
import { type OptionSchemas, optionsOf, wordOption } from "../core/options.ts";
import { editionOf, GITLAB_VERSION } from "../core/version.ts";
import { type AppOptions, appOptions } from "../options.ts";
import type { Unsubscribe } from "../resources/hooks/listeners.ts";
import { openStore } from "../store/open.ts";
import { type Clock, createClock, type Instant } from "./clock.ts";
import { createFaults, type Fault, type Faults, faultOption } from "./faults.ts";
import { HookCalls, type Hooks } from "./hooks.ts";
import { createLimits, type Limits } from "./limits.ts";
import { Mailbox, type Mails } from "./mails.ts";
import { type RateLimit, rateLimitOption } from "./rate-limit.ts";
import { Recognizer } from "./recognize.ts";
import { type Received, Recorder, type TestRequest } from "./requests.ts";
import { type RunnerScript, runnerOption, ScriptedRunner, type TestRunner } from "./runner.ts";
import { DEFAULT_SEED, readSeeds, type SeedSource } from "./seed.ts";
import { createStrict, type Strict, strictOption } from "./strict.ts";
import { createStubs, type Stub, type Stubs, stubOption } from "./stubs.ts";
import { keepSecrets, tokensOf, withToken } from "./token.ts";

/** What a world begins with; everything is optional (docs/testing.md). */
export interface WorldOptions extends Pick<AppOptions, "tier" | "limits" | "gitlabVersion"> {
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

/** The schema of {@link WorldOptions}. */
export const worldOptions = optionsOf({
  seed: v.optional(v.any()),
  now: v.optional(v.any()),
  tier: appOptions.tier,
  limits: appOptions.limits,
  gitlabVersion: appOptions.gitlabVersion,
  rateLimit: v.optional(rateLimitOption),
  faults: v.optional(v.array(faultOption, "must be a list of faults")),
  webhooks: v.optional(wordOption(["deliver", "keep"])),
  runner: v.optional(runnerOption),
  stubs: v.optional(v.array(stubOption, "must be a list of stubs")),
  strict: v.optional(strictOption),
} satisfies OptionSchemas<WorldOptions>);

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
  const mailbox = new Mailbox(controls);
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
    onStart: (running) => {
      started = running;
      limiter.apply();
    },
  };
  const start = async (): Promise<Running> => {
    const settings: AppOptions = {
      now: time.clock.now,
      // Moving the clock forward must not remove data that a test looks for.
      background: false,
      // Receivers of webhooks run beside the tests.
      webhooks: { deliver: true, allowLocalRequests: true, interval: 50 },
      tier,
      gitlabVersion,
      limits: { ...others, waitingRequests, ...(unknownTokens !== undefined && { unknownTokens }) },
    };
    const app = await createAppOn(await openStore(":memory:"), settings, [], undefined, doubles);
    try {
      await mailbox.start();
      keepSecrets(seed, await app.admin.seed(seed));
      for (const one of subscriptions) await one.subscribe(app);
    } catch (error) {
      await app.close();
      throw error;
    }
    return { app, answers: new Set() };
  };
  let current = await start();

  const respond: Respond = async (incoming) => {
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
    await end(current);
  };
  return {
    version: editionOf(gitlabVersion, tier).version,
    token: own.token as string,
    tokens: tokensOf(seed),
    admin,
    app: {
      handler: (context) => current.app.handler(context),
      fetch: (request) => current.app.fetch(request),
      respond: (incoming) => current.app.respond(incoming),
      admin,
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
    reset: async () => {
      const before = current;
      time.reset();
      current = await start();
      limiter.reset();
      injector.reset();
      recorder.reset();
      mailbox.reset();
      hooks.reset();
      scripted.reset();
      canned.reset();
      strictness.reset();
      void end(before);
    },
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

/** An application and its pending answers. */
interface Running {
  app: App;
  answers: Set<Promise<unknown>>;
}

async function end({ app, answers }: Running): Promise<void> {
  await Promise.allSettled(answers);
  await app.close();
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
