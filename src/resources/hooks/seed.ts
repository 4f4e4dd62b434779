import * as v from "valibot";
import { oneOf, SeedError, type SeededSource, seedList, type Word } from "../../core/seeding.ts";
import { HOOK_TRIGGERS, type HookTrigger, maskOf } from "../../hooks/events.ts";
import { insertRow } from "../../store/insert.ts";
import { EVENTS_OF } from "./json.ts";
import { isSecretUrl, plainUrlOf, setSecret } from "./secrets.ts";

/** A webhook of a group or project of a seed. */
export interface HookSeed {
  url: string;
  /** What it listens for, without `_events`. */
  events?: Word<HookTrigger>[] | undefined;
  name?: string | undefined;
  description?: string | undefined;
  token?: string | undefined;
  push_events_branch_filter?: string | undefined;
}

/** The webhooks of a group or project. */
export const hooksPart = seedList({
  entries: {
    url: v.pipe(v.string(), v.url(), v.regex(/^https?:\/\//)),
    events: v.optional(v.array(oneOf(HOOK_TRIGGERS)), ["push"]),
    name: v.optional(v.string()),
    description: v.optional(v.string()),
    token: v.optional(v.string()),
    push_events_branch_filter: v.optional(v.string()),
  },
  counted: "hooks",
  async insert({ db, secrets }, hook, { column, id, createdAt }: SeededSource) {
    const { url, events, name, description, token, push_events_branch_filter } = hook;
    const kind = column === "project_id" ? "project" : "group";
    const own: readonly HookTrigger[] = EVENTS_OF[kind];
    const wrong = events.find((event) => !own.includes(event));
    if (wrong) throw new SeedError(`hooks of a ${kind} can't listen for ${wrong}`);
    const hookId = await insertRow(db, "hooks", {
      [column]: id,
      url: plainUrlOf(url),
      name: name ?? null,
      description: description ?? null,
      events: maskOf(events),
      push_events_branch_filter: push_events_branch_filter ?? null,
      // Links in payloads need the server's own address.
      base: "http://localhost",
      created_at: createdAt,
      updated_at: createdAt,
    });
    if (isSecretUrl(url)) await setSecret(db, secrets, hookId, "url", "", url);
    if (token !== undefined) await setSecret(db, secrets, hookId, "token", "", token);
  },
});
