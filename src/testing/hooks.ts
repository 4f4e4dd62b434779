import type { Controls } from "../app.ts";
import type { OutgoingCall } from "../core/outgoing.ts";
import { Log } from "./log.ts";
import { fitsPattern, type PathPattern } from "./paths.ts";
import { type WaitOptions, waitIn } from "./waiting.ts";

/** What a webhook was sent, or would have been, without secrets. */
export interface TestHookCall {
  /** Its number: calls of one server are counted from 1. */
  readonly id: number;
  /** The id of the webhook. */
  readonly hook: number;
  /** The path of the project that it is about, if it is about one. */
  readonly project: string | null;
  /** As in `X-Gitlab-Event`, such as `Push Hook`. */
  readonly event: string;
  /** The attribute of webhooks that it was sent for, such as `push_events`. */
  readonly trigger: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: unknown;
  /** Whether it was sent, and not only kept. */
  readonly sent: boolean;
  /** The status of the answer; `null` if there was none. */
  readonly status: number | null;
  /** The answer's body, or why there is none. */
  readonly answer: string;
  readonly duration: number;
  /** By the clock of the server. */
  readonly time: string;
}

/** Which calls are meant: those that fit all that is given. In a text, `*` stands for any text. */
export interface HookFilter {
  event?: PathPattern | undefined;
  project?: PathPattern | undefined;
  url?: PathPattern | undefined;
  status?: number | undefined;
}

/** The calls of webhooks of a test server. */
export interface Hooks {
  /** Whether webhooks are called; otherwise the calls are kept, and count as accepted. */
  deliver: boolean;
  /** How many had to go for newer ones since the last reset. */
  readonly dropped: number;
  /** Those that fit, in order; if they are only kept, also those of what was just done. */
  list(filter?: HookFilter): Promise<TestHookCall[]>;
  /**
   * Waits for a call that fits; it may have been made already.
   *
   * @param options `timeout` in milliseconds, default 5000
   * @throws NothingArrived if there is none in time, which says what was called instead
   */
  wait(filter?: HookFilter, options?: WaitOptions): Promise<TestHookCall>;
  /** Forgets all of them. */
  clear(): Promise<void>;
}

const LIMITS = { entries: 10_000, bytes: 64 * 1024 * 1024 };

/** Keeps the calls of webhooks. */
export class HookCalls {
  readonly #log = new Log<TestHookCall>(LIMITS);
  readonly #controls: () => Controls;
  readonly #now: () => number;
  readonly #delivers: boolean;
  #last = 0;

  readonly hooks: Hooks;
  /** For the application: what becomes of calls. */
  readonly outgoing = {
    isKept: () => !this.hooks.deliver,
    onCall: (call: OutgoingCall) => this.#add(call),
  };

  /**
   * @param controls of the application that runs
   * @param delivers whether webhooks are called after the start and each reset
   */
  constructor(controls: () => Controls, now: () => number, delivers: boolean) {
    this.#controls = controls;
    this.#now = now;
    this.#delivers = delivers;
    const log = this.#log;
    this.hooks = {
      deliver: delivers,
      get dropped() {
        return log.dropped;
      },
      list: async (filter = {}) => {
        await this.work();
        return this.#log.entries.filter((call) => isMeant(filter, call));
      },
      wait: async (filter = {}, options = {}) => {
        await this.work();
        return waitIn(
          this.#log,
          (call) => isMeant(filter, call),
          options,
          "call of a webhook",
          ({ event, url, status }) => `${event} to ${url} ${status ?? ""}`.trim(),
        );
      },
      clear: async () => {
        await this.work();
        this.#log.clear();
      },
    };
  }

  reset(): void {
    this.hooks.deliver = this.#delivers;
    this.#log.clear();
    this.#last = 0;
  }

  /** Ends all waits. */
  end(): void {
    this.#log.end();
  }

  /** Makes the calls that are due, if that takes no network. */
  async work(): Promise<void> {
    if (!this.hooks.deliver) await this.#controls().callHooks();
  }

  #add({ body, status, ...call }: OutgoingCall): void {
    this.#last += 1;
    const payload = readPayload(body);
    const added: TestHookCall = {
      id: this.#last,
      ...call,
      project: projectOf(payload),
      payload,
      sent: this.hooks.deliver,
      status: status ?? null,
      time: new Date(this.#now()).toISOString(),
    };
    this.#log.add(added);
    this.#log.complete(added, body.length + call.answer.length + 1000);
  }
}

/** What a template makes need not be JSON. */
function readPayload(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

function projectOf(payload: unknown): string | null {
  const { project, path_with_namespace } = (payload ?? {}) as {
    project?: { path_with_namespace?: string } | null;
    path_with_namespace?: string;
  };
  return project?.path_with_namespace ?? path_with_namespace ?? null;
}

function isMeant({ event, project, url, status }: HookFilter, call: TestHookCall): boolean {
  return (
    (event === undefined || fitsPattern(event, call.event)) &&
    (project === undefined || fitsPattern(project, call.project ?? "")) &&
    (url === undefined || fitsPattern(url, call.url)) &&
    (status === undefined || status === call.status)
  );
}
