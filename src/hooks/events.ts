import { randomUUID } from "node:crypto";
import * as outbox from "../jobs/outbox.ts";
import { insertRow } from "../store/insert.ts";
import type { Awaitable, Database, Reader, Value } from "../store/port.ts";

/**
 * What a webhook can listen for: each is an attribute of hooks with the suffix `_events`. A hook's row has a number whose
 * bit `n` stands for the entry `n`, so new ones are added at the end.
 */
export const HOOK_TRIGGERS = [
  "push",
  "tag_push",
  "merge_requests",
  "repository_update",
  "issues",
  "confidential_issues",
  "note",
  "confidential_note",
  "pipeline",
  "wiki_page",
  "deployment",
  "feature_flag",
  "job",
  "releases",
  "milestone",
  "emoji",
  "resource_access_token",
  "vulnerability",
  "subgroup",
  "member",
  "project",
  // What only system hooks are told, always.
  "system",
] as const;
export type HookTrigger = (typeof HOOK_TRIGGERS)[number];

/** The events as the number that a hook's row has. */
export function maskOf(events: readonly HookTrigger[]): number {
  return events.reduce((mask, event) => mask | (1 << HOOK_TRIGGERS.indexOf(event)), 0);
}

/**
 * The kinds of moments, and the events of which a hook must listen for one to be told. Which of several it is, such as
 * whether an issue is confidential, is found out when the payload is made.
 */
const KINDS = {
  push: ["push"],
  tag_push: ["tag_push"],
  repository_update: ["repository_update"],
  issue: ["issues", "confidential_issues"],
  merge_request: ["merge_requests"],
  note: ["note", "confidential_note"],
  wiki_page: ["wiki_page"],
  pipeline: ["pipeline"],
  build: ["job"],
  release: ["releases"],
  deployment: ["deployment"],
  feature_flag: ["feature_flag"],
  milestone: ["milestone"],
  emoji: ["emoji"],
  member: ["member", "system"],
  subgroup: ["subgroup", "system"],
  project: ["project", "system"],
  user: ["system"],
  key: ["system"],
  access_token: ["resource_access_token"],
} as const satisfies Record<string, readonly HookTrigger[]>;
export type HookEventKind = keyof typeof KINDS;

/** Something that hooks are told. */
export interface HookEvent {
  readonly kind: HookEventKind;
  /** Where it happens: hooks of the project, of the groups above it and of the instance are told. */
  readonly of: { readonly project: number } | { readonly group: number } | "instance";
  /** The id of the user who does it; null for nobody. */
  readonly userId: number | null;
  /** The id of the record it is about. */
  readonly id: number;
  /** What happens to it, as the payload says it: `open`, `update`, `create`, … */
  readonly action?: string | undefined;
  /**
   * What can't be read later, as JSON values: previous values, the status at that moment, or all that the payload says of
   * a record that is deleted.
   */
  readonly data?: object | undefined;
}

/** When something is recorded and, if a request does it, by which one. */
export interface Recording {
  readonly db: Database;
  readonly now: number;
  readonly request?: { readonly header: (name: string) => string | undefined } | undefined;
}

/** After so many failures in a row a hook is switched off. */
export const MOST_FAILURES = 40;
/** The hooks that one chain of events may call: those caused by what a receiver did, and so on. */
const MOST_CHAINED = 100;
/** The worker that calls hooks. */
export const HOOKS = "hooks";

/** The worker that calls the listeners of this program for a kind of moments. */
export const listenersOf = (kind: HookEventKind): string => `${outbox.LISTENERS}${kind}`;

/** A moment, as the workers that call listeners get it. */
export interface HookEventTask extends Pick<HookEvent, "kind" | "userId"> {
  readonly at: number;
  /** The id of the record, the action, and what can't be read later. */
  readonly facts: object;
}

const WHERE = `where (h.events & cast(? as bigint)) <> 0 and h.failures < ${MOST_FAILURES} and h.id in`;
const OF_INSTANCE = "select id from hooks where project_id is null and namespace_id is null";
const OF_GROUP = `select o.id from namespace_ancestors a join hooks o on o.namespace_id = a.ancestor_id
  where a.namespace_id = ?`;
const OF_PROJECT = `select id from hooks where project_id = ?
  union all select o.id from projects p join namespace_ancestors a on a.namespace_id = p.namespace_id
    join hooks o on o.namespace_id = a.ancestor_id where p.id = ?`;

/** The hooks `h` that are told of a moment. */
function listening({ kind, of }: Pick<HookEvent, "kind" | "of">): { sql: string; values: Value[] } {
  const mask = maskOf(KINDS[kind]);
  if (of === "instance") return { sql: `${WHERE} (${OF_INSTANCE})`, values: [mask] };
  if ("group" in of) {
    return { sql: `${WHERE} (${OF_GROUP} union all ${OF_INSTANCE})`, values: [mask, of.group] };
  }
  const values = [mask, of.project, of.project];
  return { sql: `${WHERE} (${OF_PROJECT} union all ${OF_INSTANCE})`, values };
}

/**
 * Whether any hook or listener is told of such a moment. Only for moments whose data take reading: {@link recordHookEvent}
 * looks by itself.
 */
export async function isListenedFor(
  db: Reader,
  event: Pick<HookEvent, "kind" | "of">,
): Promise<boolean> {
  return (await listenersAmong(db, event)).length > 0;
}

/** A row if anybody listens. */
function listenersAmong(db: Reader, event: Pick<HookEvent, "kind" | "of">): Awaitable<Value[][]> {
  const { sql, values } = listening(event);
  const heard = `select 1 from hooks h ${sql} union all ${outbox.IS_LISTENED_TO} limit 1`;
  return db.rows(heard, [...values, listenersOf(event.kind)]);
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const ID_HEADER = "x-gitlab-event-uuid";

/**
 * Records that something happens, for webhooks and the listeners of this program: at the end of the transaction that does
 * it, each hook that listens gets a task, and those of one hook are done in their order; so do the listeners of its kind,
 * in the order of each project. If nobody listens, this costs three look-ups in indexes, and no round trip on PostgreSQL.
 *
 * Payloads are made when they are sent, from the records as they are then. So only what can't be read later belongs in
 * `data`: the status of a pipeline or job at that moment, since it changes on; changes as `{ title: { previous, current } }`;
 * and everything that the payload says of a record that is deleted.
 *
 * @param recording the transaction and its instant; a route's context will do
 * @example
 * recordHookEvent(context, { kind: "pipeline", of: { project }, userId, id: pipelineId, data: { status } });
 * recordHookEvent(context, { kind: "build", of: { project }, userId, id: jobId, data: { status } });
 * recordHookEvent(context, { kind: "release", of: { project }, userId, id: releaseId, action: "create" });
 * recordHookEvent(context, { kind: "deployment", of: { project }, userId, id, data: { status } });
 */
export function recordHookEvent({ db, now, request }: Recording, moment: HookEvent): void {
  const { kind, of, userId, id, action, data } = moment;
  // SQLite answers at once: one look-up in place of two statements that insert nothing.
  if (db.dialect === "sqlite" && (listenersAmong(db, moment) as Value[][]).length === 0) return;
  const { sql, values } = listening(moment);
  const given = request?.header(ID_HEADER) ?? "";
  const isChained = UUID.test(given);
  const own = randomUUID();
  const event = isChained ? given : own;
  const chain = isChained ? CHAIN : "";
  const facts = { id, action, ...data };
  db.last(
    `insert into hook_deliveries (hook_id, moment, event_uuid, kind, user_id, data, created_at)
     select h.id, cast(? as text), cast(? as text), cast(? as text), cast(? as bigint), cast(? as text),
       cast(? as bigint)
     from hooks h ${sql} ${chain} order by h.id`,
    [
      own,
      event,
      kind,
      userId,
      JSON.stringify(facts),
      now,
      ...values,
      ...(isChained ? [event, event] : []),
    ],
  );
  const task: HookEventTask = { kind, userId, at: now, facts };
  const order = typeof of === "object" && "project" in of ? of.project : 0;
  const heard = outbox.taskIfListenedTo(listenersOf(kind), task, order);
  outbox.addLast(
    db,
    {
      sql: `select * from (
          select '${HOOKS}' as worker, '{"delivery":' || id || '}' as payload, hook_id as order_key
          from hook_deliveries where event_uuid = ? and moment = ? order by id
        ) d union all ${heard.sql}`,
      values: [event, own, ...heard.values],
    },
    now,
  );
}

/** Tells one hook of a moment, whatever it listens for: as {@link recordHookEvent}, but no other hook and no listener. */
export async function tellHook(
  { db, now }: Recording,
  hookId: number,
  { kind, userId, id, action, data }: Omit<HookEvent, "of">,
): Promise<void> {
  const own = randomUUID();
  const delivery = await insertRow(db, "hook_deliveries", {
    ...{ hook_id: hookId, moment: own, event_uuid: own, kind, user_id: userId, created_at: now },
    data: JSON.stringify({ id, action, ...data }),
  });
  await outbox.add(db, HOOKS, [{ delivery }], now, () => hookId);
}

/** No hook is called twice in a chain, and no chain calls too many. */
const CHAIN = `and not exists (select 1 from hook_deliveries d where d.event_uuid = ? and d.hook_id = h.id)
  and (select count(*) from (select 1 from hook_deliveries d where d.event_uuid = ? limit ${MOST_CHAINED}) c) < ${MOST_CHAINED}`;
