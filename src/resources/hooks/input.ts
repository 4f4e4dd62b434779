import { ApiError } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { unsupported, withoutEffect } from "../../core/kept.ts";
import { BRANCHES, isRefName } from "../../git/refs.ts";
import { HOOK_TRIGGERS, type HookTrigger } from "../../hooks/events.ts";
import { addressesOf, ForbiddenAddress, UnknownHost } from "../../outgoing/addresses.ts";
import { EVENTS_OF } from "./json.ts";

/** Characters of a URL, of a header's value, and of the template of a payload. */
const LONG = 2048;
const TEMPLATE = 4096;

/** How the branches of `push_events_branch_filter` are named. */
const STRATEGIES = ["wildcard", "regex", "all_branches"] as const;

/** The attributes that hooks of all owners have, besides their events. */
export const hookInput = {
  name: param.clearable(param.anyText()),
  description: param.clearable(param.anyText({ max: LONG })),
  token: param.clearable(param.anyText()),
  enable_ssl_verification: param.optional(param.boolean()),
  push_events_branch_filter: param.clearable(param.anyText({ max: LONG })),
  branch_filter_strategy: param.optional(param.choice(STRATEGIES)),
  custom_webhook_template: param.clearable(param.anyText({ max: TEMPLATE })),
  url_variables: param.optional(param.json("a list of objects with `key` and `value`")),
  custom_headers: param.optional(param.json("a list of objects with `key` and `value`")),
  signing_token: unsupported(param.anyText()),
  resource_deploy_token_events: unsupported(param.boolean(), false),
};

/** The URL of a hook. */
export const urlInput = param.anyText({ max: LONG });

type EventInput = Record<`${HookTrigger}_events`, ReturnType<typeof param.optional<boolean>>>;

/** Events that never happen. */
const NEVER: readonly HookTrigger[] = ["vulnerability"];

/** The attributes of the events that hooks of a kind of owner can listen for. */
export function eventInput(kind: keyof typeof EVENTS_OF): Partial<EventInput> {
  return Object.fromEntries(
    EVENTS_OF[kind].map((event) => {
      const listened = param.optional(param.boolean());
      return [`${event}_events`, NEVER.includes(event) ? withoutEffect(listened) : listened];
    }),
  );
}

/**
 * The events a hook listens for after a change, as the number in its row.
 *
 * @param before the number before it
 */
export function eventsAfter(before: number, input: Readonly<Record<string, unknown>>): number {
  return HOOK_TRIGGERS.reduce((events, name, bit) => {
    const wanted = input[`${name}_events`];
    if (wanted === undefined) return events;
    return wanted ? events | (1 << bit) : events & ~(1 << bit);
  }, before);
}

/** Refuses what GitLab refuses with 422. */
const refuse = (error: string) => new ApiError(422, { error });

const PLACEHOLDER = /\{([\w.-]+)\}/g;

/** A URL with its variables filled in; those without a value stay. */
export function filledIn(url: string, variables: ReadonlyMap<string, string>): string {
  return url.replace(PLACEHOLDER, (place, name: string) => variables.get(name) ?? place);
}

/**
 * Checks the URL of a hook, also to which addresses its host leads. A host that can't be resolved now is accepted: every
 * delivery checks again.
 *
 * @throws ApiError 422
 */
export async function requireUrl(
  url: string,
  variables: ReadonlyMap<string, string>,
  allowLocal: boolean,
): Promise<void> {
  const text = filledIn(url, variables);
  const parsed = URL.canParse(text) && !/[{}]/.test(text) ? new URL(text) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol)) throw refuse("Invalid url given");
  try {
    await addressesOf(parsed, allowLocal);
  } catch (error) {
    if (error instanceof ForbiddenAddress) throw refuse("Invalid url given");
    if (!(error instanceof UnknownHost)) throw error;
  }
}

/** What the value of a header may consist of (RFC 9110 §5.5). */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** What the names of headers and variables may be. */
const NAMES = {
  header: /^[A-Za-z][\w.-]*$/,
  variable: /^[A-Za-z]+[0-9]*(?:[._-][A-Za-z0-9]+)*$/,
};
/** Headers that say how a request is sent, or are ours. */
const OWN_HEADER =
  /^(host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*|x-gitlab-.*|webhook-.*|idempotency-key)$/i;
/** Headers and variables that a hook has at most, each. */
export const MOST_NAMES = 20;

/** Which branches a hook is told of. */
interface BranchFilter {
  readonly push_events_branch_filter?: string | null | undefined;
  readonly branch_filter_strategy?: string | undefined;
}

/**
 * Checks which branches a hook is to be told of, if that is given.
 *
 * @param before what it was told of so far
 * @throws ApiError 422 for a name that no branch can have, and what is no regular expression
 */
export async function requireFilter(given: BranchFilter, before: BranchFilter = {}): Promise<void> {
  const { push_events_branch_filter: filter, branch_filter_strategy: strategy } = given;
  if (filter === undefined && strategy === undefined) return;
  const text = filter === undefined ? before.push_events_branch_filter : filter;
  const kind = strategy ?? before.branch_filter_strategy;
  if (!text || kind === "all_branches") return;
  const isFit =
    kind === "regex" ? await isExpression(text) : isRefName(BRANCHES + text.replaceAll("*", "x"));
  if (!isFit) throw refuse("Invalid branch filter given");
}

async function isExpression(text: string): Promise<boolean> {
  const { readExpression } = await import("../../core/expressions.ts");
  return readExpression(text) !== undefined;
}

/** @throws ApiError 422 for a token that no header can carry */
export function requireToken(token: string | null | undefined): void {
  if (/[\r\n]/.test(token ?? "")) throw refuse("Token must not contain line breaks");
  if (!VALUE.test(token ?? "")) throw refuse("Token must consist of characters of ISO 8859-1");
}

/** @throws ApiError 422 for a name or value that can't be one of a hook */
export function requirePair(kind: "header" | "variable", key: string, value: string): void {
  const what = kind === "header" ? "custom_headers" : "url_variables";
  const isFit = key.length <= 100 && NAMES[kind].test(key) && value !== "" && value.length <= LONG;
  const isSendable = kind === "variable" || (VALUE.test(value) && !OWN_HEADER.test(key));
  if (!isFit || !isSendable) throw refuse(`Invalid ${what} given`);
}

/**
 * Reads the headers or variables of a hook.
 *
 * @throws ApiError 400 if it is no list of objects, 422 for names or values that can't be used
 */
export function pairsOf(
  kind: "header" | "variable",
  given: unknown,
): ReadonlyMap<string, string> | undefined {
  if (given === undefined) return undefined;
  const what = kind === "header" ? "custom_headers" : "url_variables";
  const pairs = new Map<string, string>();
  if (!Array.isArray(given)) throw new ApiError(400, { error: `${what} is invalid` });
  for (const entry of given.slice(0, MOST_NAMES + 1)) {
    const { key, value } = (entry ?? {}) as { key?: unknown; value?: unknown };
    if (typeof key !== "string" || typeof value !== "string") {
      throw new ApiError(400, { error: `${what} is invalid` });
    }
    requirePair(kind, key, value);
    pairs.set(key, value);
  }
  if (pairs.size > MOST_NAMES) throw refuse(`Invalid ${what} given`);
  return pairs;
}
