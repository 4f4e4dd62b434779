import { createHash, createHmac, randomUUID } from "node:crypto";
import { viewOf } from "../../core/http/request.ts";
import type { Outgoing } from "../../core/outgoing.ts";
import type { Secrets } from "../../core/secrets.ts";
import type { Edition } from "../../core/version.ts";
import { type CallAnswer, callHook } from "../../hooks/call.ts";
import {
  HOOKS,
  type HookEventKind,
  type HookTrigger,
  MOST_FAILURES,
  maskOf,
} from "../../hooks/events.ts";
import { queueLetter } from "../../jobs/mails.ts";
import { hasten } from "../../jobs/outbox.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
import { branchTest } from "../check-state/state.ts";
import { fits } from "../protected-refs/wildcards.ts";
import { filledIn } from "./input.ts";
import { isToldOf, openIntegration, recipientsFor, sendingOf, sentBody } from "./integrations.ts";
import { payloadOf } from "./payloads/makers.ts";
import type { HookPayload } from "./payloads/making.ts";
import * as hooks from "./queries.ts";
import { maskedUrl, openSecrets } from "./secrets.ts";

/** What a delivery needs besides its hook. */
export interface Delivering {
  readonly store: Store;
  readonly secrets: Secrets;
  /** The application's own public address, if it has one. */
  readonly url: string | undefined;
  readonly outgoing: Outgoing;
  /** Which GitLab receivers are told calls them. */
  readonly edition: Edition;
  readonly now: number;
}

/** A queued delivery. */
export interface Delivery {
  readonly id: number;
  readonly hook_id: number;
  readonly event_uuid: string;
  readonly kind: HookEventKind;
  readonly user_id: number | null;
  readonly data: string;
  readonly created_at: number;
  /** What was sent in an earlier attempt, unless it is too long to keep. */
  readonly request_data: string | null;
  readonly request_headers: string | null;
  readonly trigger_name: string | null;
  /** 1 until it is accepted or given up. */
  readonly pending: number;
}

/** The delivery with this id, or `undefined`. */
export async function findDelivery(db: Reader, id: number): Promise<Delivery | undefined> {
  const [found] = await db.all<Delivery>(
    `select id, hook_id, event_uuid, kind, user_id, data, created_at, request_data, request_headers,
       trigger_name, pending
     from hook_deliveries where id = ?`,
    [id],
  );
  return found;
}

/** A payload that is ready to be sent. */
export interface ReadyPayload {
  readonly title: string;
  /** The attribute of hooks it is sent for, such as `push_events`. */
  readonly trigger: string;
  readonly body: string;
  /** Who gets it as a mail, in place of a call. */
  readonly recipients?: readonly string[] | undefined;
}

/** How many characters of a payload are kept for the log and for sending it again; longer ones are made again. */
const MOST_KEPT = 65_536;

/**
 * Makes what a hook is sent about a moment.
 *
 * @param isTest whether it is sent even if the hook does not listen for it
 * @returns `undefined` if the hook does not listen for it, or what it is about is gone
 */
export async function readyPayload(
  delivering: Delivering,
  hook: hooks.Hook,
  delivery: Omit<Delivery, "id" | "hook_id">,
  isTest = false,
): Promise<ReadyPayload | undefined> {
  const { request_data: sent, trigger_name: trigger, request_headers: headers } = delivery;
  if (sent !== null && trigger !== null && headers !== null) {
    // Every attempt sends the same.
    return { title: JSON.parse(headers)["X-Gitlab-Event"], trigger, body: sent };
  }
  const payload = await makePayload(delivering, hook, delivery);
  if (!payload || !(isTest || (await isFor(delivering.store, hook, payload)))) return undefined;
  const { event, title } = payload;
  if (hook.integration_id !== null) {
    const { store, secrets } = delivering;
    const found = await openIntegration(store, secrets, hook.integration_id);
    const isTold = found && (await isToldOf(store, found, payload));
    const body = isTold ? sentBody(found, payload) : undefined;
    if (!found || body === undefined) return undefined;
    return { title, trigger: `${event}_events`, body, recipients: recipientsFor(found) };
  }
  const body = { ...payload.body, ...(await checkBlock(delivering, hook)) };
  const text = rendered(hook.custom_webhook_template, body) ?? JSON.stringify(body);
  return {
    title: hook.project_id === null && hook.namespace_id === null ? "System Hook" : title,
    trigger: `${event}_events`,
    body: text,
  };
}

function makePayload(
  { store, secrets, url, now, edition }: Delivering,
  hook: hooks.Hook,
  { kind, user_id, data, created_at }: Omit<Delivery, "id" | "hook_id">,
): Promise<HookPayload | undefined> {
  const hookOf =
    hook.project_id !== null ? "project" : hook.namespace_id !== null ? "group" : "system";
  const view = viewOf(url ?? hook.base, now, secrets, edition);
  const moment = { kind, userId: user_id, at: created_at, data: JSON.parse(data), hookOf } as const;
  return payloadOf({ store, view }, moment);
}

/** What the payload of a status check says of it. Its address is stored with the payload: without secrets. */
async function checkBlock(
  { store, secrets }: Delivering,
  hook: hooks.Hook,
): Promise<Record<string, object>> {
  if (hook.check_name === null) return {};
  const { url } = await openSecrets(store, secrets, hook);
  const { id, check_name: name } = hook;
  return { external_approval_rule: { id, name, external_url: maskedUrl(url) } };
}

/** Whether a hook is told of an event, and of the branch that it is about. */
async function isFor(
  db: Reader,
  hook: hooks.Hook,
  { event, branch }: HookPayload,
): Promise<boolean> {
  if ((hook.events & maskOf([event])) === 0) return false;
  if (hook.check_name !== null) return (await branchTest(db, [hook.id]))(hook.id, branch ?? "");
  const filter = hook.push_events_branch_filter;
  const filtered: readonly HookTrigger[] = ["push"];
  if (branch === undefined || filter === null || !filtered.includes(event)) return true;
  if (hook.branch_filter_strategy === "all_branches") return true;
  if (hook.branch_filter_strategy !== "regex") return fits(filter, branch);
  const { readExpression } = await import("../../core/expressions.ts");
  return readExpression(filter)?.fits(branch) ?? false;
}

/** How many characters of values a template may take in: each may name the same long one many times. */
const MOST_RENDERED = 4 * 1024 * 1024;

/**
 * A payload by the hook's own template, in which `{{object_attributes.title}}` stands for a value; `undefined` without one,
 * or if what it gives is no JSON, or too long.
 */
function rendered(template: string | null, body: object): string | undefined {
  if (template === null) return undefined;
  let length = 0;
  const text = template.replace(/\{\{([\w.]+)\}\}/g, (_, path: string) => {
    if (length > MOST_RENDERED) return "";
    let value: unknown = body;
    for (const name of path.split(".")) {
      const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, name);
      value = isThere ? (value as Record<string, unknown>)[name] : undefined;
    }
    const written = JSON.stringify(value ?? null);
    length += written.length;
    return typeof value === "string" ? written.slice(1, -1) : written;
  });
  return length <= MOST_RENDERED && isJson(text) ? text : undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What became of an attempt. */
export interface Attempt {
  readonly payload: ReadyPayload;
  /** As the log shows it, without secrets. */
  readonly url: string;
  /** The headers as the log shows them, without secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly answer: CallAnswer | undefined;
  /** Why there is no answer. */
  readonly problem: string | undefined;
  /** In milliseconds. */
  readonly duration: number;
}

/** Whether a hook has accepted what it was sent. */
export function isAccepted({ answer }: Attempt): boolean {
  return answer !== undefined && answer.status >= 200 && answer.status < 400;
}

/** What is shown of an attempt that failed. */
export const problemOf = ({ answer, problem }: Attempt): string =>
  problem ?? `the receiver answered ${answer?.status}`;

/**
 * Sends a payload to a hook.
 *
 * @param event_uuid of its chain, see `recordHookEvent`
 * @throws what the signal was aborted with; SecretKeyError if the hook's secrets can't be read
 */
export async function attempt(
  delivering: Delivering,
  hook: hooks.Hook,
  payload: ReadyPayload,
  event_uuid: string,
  signal: AbortSignal,
): Promise<Attempt> {
  const { url: base, outgoing, edition } = delivering;
  const key = keyOf(event_uuid, hook.id);
  const target = await targetOf(delivering, hook, payload, key);
  const shown = {
    "Content-Type": "application/json",
    "User-Agent": `GitLab/${edition.version}`,
    "X-Gitlab-Event": payload.title,
    "X-Gitlab-Webhook-UUID": randomUUID(),
    "X-Gitlab-Instance": base ?? hook.base,
    "X-Gitlab-Event-UUID": event_uuid,
    "Idempotency-Key": key,
  };
  const hidden = Object.keys(target.headers).map((name) => [name, "[REDACTED]"]);
  const headers = { ...shown, ...Object.fromEntries(hidden) };
  const started = performance.now();
  const done = (answer?: CallAnswer, problem?: string): Attempt => {
    const duration = Math.round(performance.now() - started);
    outgoing.onCall?.({
      ...{ hook: hook.id, event: payload.title, trigger: payload.trigger, url: target.shown },
      ...{ headers, body: payload.body, status: isKept ? undefined : answer?.status, duration },
      answer: answer?.body ?? problem ?? "",
    });
    return { payload, url: target.shown, headers, answer, problem, duration };
  };
  const isKept = outgoing.isKept?.() ?? false;
  if (isKept) return done({ status: 200, headers: {}, body: "It was kept and not sent." });
  try {
    const call = {
      url: new URL(target.url),
      method: target.method,
      headers: { ...target.headers, ...shown, ...target.replaced },
      body: `${target.before}${payload.body}`,
      verifies: hook.enable_ssl_verification === 1,
      allowLocal: outgoing.allowLocal,
    };
    return done(await callHook(call, signal));
  } catch (error) {
    if (signal.aborted) throw error;
    return done(undefined, error instanceof Error ? error.message : String(error));
  }
}

/** Where an attempt goes. */
interface Target {
  readonly url: string;
  /** The URL without its secrets. */
  readonly shown: string;
  readonly method: "POST" | "PUT";
  /** With secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** Headers without secrets, in place of those that all hooks get. */
  readonly replaced: Readonly<Record<string, string>>;
  /** Secrets before the body, which are not kept with it. */
  readonly before: string;
}

async function targetOf(
  { store, secrets }: Delivering,
  hook: hooks.Hook,
  { trigger, body }: ReadyPayload,
  key: string,
): Promise<Target> {
  const plain = { method: "POST", replaced: {}, before: "" } as const;
  if (hook.integration_id !== null) {
    const found = await openIntegration(store, secrets, hook.integration_id);
    const sending = found && sendingOf(found, trigger, body, key);
    const url = sending?.url ?? "";
    // Addresses of messengers are secrets as a whole.
    const shown = URL.canParse(url) ? `${new URL(url).origin}/*****` : "";
    return { ...plain, headers: {}, ...sending, url, shown };
  }
  const { url, token, headers: own, variables } = await openSecrets(store, secrets, hook);
  const headers = {
    ...Object.fromEntries(own),
    ...(token !== undefined && tokenHeader(hook, token, body)),
  };
  return { ...plain, url: filledIn(url, variables), shown: maskedUrl(url), headers };
}

/** How a receiver knows who calls: status checks sign what they send, others send the secret itself. */
function tokenHeader(
  { check_name: name }: hooks.Hook,
  token: string,
  body: string,
): Record<string, string> {
  if (name === null) return { "X-Gitlab-Token": token };
  return { "X-Gitlab-Signature": createHmac("sha256", token).update(body).digest("hex") };
}

/** The same for every attempt: receivers recognize by it what they have seen. */
function keyOf(eventUuid: string, hookId: number): string {
  const hex = createHash("sha256").update(`${eventUuid} ${hookId}`).digest("hex");
  // RFC 9562 §5.8: a version of our own.
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
  ];
  return [...parts, hex.slice(20, 32)].join("-");
}

/** The columns of a delivery after an attempt. */
function columnsOf({ payload, url, headers, answer, problem, duration }: Attempt, now: number) {
  return {
    trigger_name: payload.trigger,
    url,
    request_headers: JSON.stringify(headers),
    request_data: payload.body.length > MOST_KEPT ? null : payload.body,
    response_headers: JSON.stringify(answer?.headers ?? {}),
    response_body: answer?.body ?? problem ?? "",
    response_status: answer?.status ?? 0,
    execution_duration: duration,
    attempted_at: now,
  };
}

/** Writes an attempt into the log of its hook, and whether it is to be repeated. */
export async function recordAttempt(
  db: Database,
  deliveryId: number,
  made: Attempt,
  { isPending, now }: { isPending: boolean; now: number },
): Promise<void> {
  const columns = { ...columnsOf(made, now), pending: Number(isPending) };
  const names = Object.keys(columns);
  await db.run(
    `update hook_deliveries set ${names.map((name) => `${name} = ?`).join(", ")} where id = ?`,
    [...Object.values(columns), deliveryId],
  );
}

/** Queues the mails of an integration, whose text stays with its delivery. */
export async function mailOut(
  db: Database,
  deliveryId: number,
  { body, recipients = [] }: ReadyPayload,
  now: number,
): Promise<void> {
  const kept = "update hook_deliveries set request_data = ?, pending = 0 where id = ?";
  await db.run(kept, [body, deliveryId]);
  for (const to of recipients) await queueLetter(db, { delivery: deliveryId, to }, now);
}

/** Records what a person has sent to a hook: if it is accepted, the hook works again, and what waits is sent at once. */
export async function recordByHand(
  db: Database,
  hook: hooks.Hook,
  delivery: Omit<Delivery, "id" | "hook_id"> & { readonly id?: number },
  made: Attempt,
  now: number,
): Promise<void> {
  const { event_uuid, kind, user_id, data, created_at } = delivery;
  const id =
    delivery.id ??
    (await insertRow(db, "hook_deliveries", {
      ...{ hook_id: hook.id, moment: event_uuid, event_uuid, kind, user_id, data, created_at },
    }));
  const accepted = isAccepted(made);
  await recordAttempt(db, id, made, { isPending: !accepted && delivery.pending === 1, now });
  if (!accepted || hook.failures === 0) return;
  await hooks.setFailures(db, hook.id, 0, null);
  await hasten(db, HOOKS, hook.id);
}

const MINUTE = 60_000;
/** After so many failures in a row a hook is switched off for a while. */
const MANY_FAILURES = 4;
/** The longest such while: the outbox takes tasks that are due much later for those of a wrong clock. */
const LONGEST = 240 * MINUTE;

/**
 * How long a hook that has failed is left alone, in milliseconds.
 *
 * @param failures in a row, with this one
 * @param interval how long after the first
 */
export function pauseAfter(failures: number, interval: number): number {
  if (failures < MANY_FAILURES) return interval * 5 ** (failures - 1);
  return Math.min(MINUTE * 2 ** (failures - MANY_FAILURES), LONGEST);
}

/** Whether a hook is left alone for so long that clients are told. */
export const isSwitchedOff = (failures: number) => failures >= MANY_FAILURES;
export const isSwitchedOffForGood = (failures: number) => failures >= MOST_FAILURES;
