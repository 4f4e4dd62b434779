import type { Owner } from "../../core/access/owner.ts";
import type { Condition } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Value } from "../../store/port.ts";

/** GitLab's notification levels. */
export const LEVELS = [
  "disabled",
  "participating",
  "watch",
  "global",
  "mention",
  "custom",
] as const;
export type Level = (typeof LEVELS)[number];

/** The event flags, in the order of the response; `new_epic` belongs to the ultimate tier. */
export const FLAGS = [
  "new_note",
  "new_issue",
  "reopen_issue",
  "close_issue",
  "reassign_issue",
  "issue_due",
  "new_merge_request",
  "push_to_merge_request",
  "reopen_merge_request",
  "close_merge_request",
  "reassign_merge_request",
  "merge_merge_request",
  "failed_pipeline",
  "success_pipeline",
  "new_epic",
] as const;
export type Flag = (typeof FLAGS)[number];

/** The event flags of somebody's settings. */
export type Flags = Partial<Record<Flag, boolean>>;

/** A user's settings: stored, or the defaults. */
export interface Settings {
  level: Level;
  notification_email: string | null;
  flags: Flags;
}

/** What settings apply to: everything, or a group or project. */
export type Scope = "global" | Owner;

/** The levels without stored settings. */
export const DEFAULTS = { global: "participating", source: "global" } as const;

function where(scope: Scope): Condition {
  return scope === "global"
    ? { sql: "scope = 'global'", values: [] }
    : { sql: `${scope.column} = ?`, values: [scope.id] };
}

/** A user's settings for a scope; the defaults if none are stored. */
export async function find(db: Reader, userId: number, scope: Scope): Promise<Settings> {
  const { sql, values } = where(scope);
  const found = await db.one<{ level: Level; notification_email: string | null; flags: string }>(
    `select level, notification_email, flags from notification_settings where user_id = ? and ${sql}`,
    [userId, ...values],
  );
  if (found) return { ...found, flags: JSON.parse(found.flags) };
  const level = scope === "global" ? DEFAULTS.global : DEFAULTS.source;
  return { level, notification_email: null, flags: {} };
}

/** A user's settings for groups or projects, by their ids; those that are stored. */
export async function findAll(
  db: Reader,
  userId: number,
  column: Owner["column"],
  ids: readonly Value[],
): Promise<Map<Value, Pick<Settings, "level" | "flags">>> {
  const among = placeholders(ids);
  const found = await db.all<{ id: number; level: Level; flags: string }>(
    `select ${column} as id, level, flags from notification_settings
     where user_id = ? and ${column} in (${among.sql})`,
    [userId, ...among.values],
  );
  return new Map(found.map(({ id, level, flags }) => [id, { level, flags: JSON.parse(flags) }]));
}

/** Stores a user's settings for a scope. */
export async function save(
  db: Database,
  userId: number,
  scope: Scope,
  settings: Settings,
  now: number,
): Promise<void> {
  const { sql, values } = where(scope);
  const { level, notification_email } = settings;
  const flags = JSON.stringify(settings.flags);
  const changed = await db.run(
    `update notification_settings set level = ?, notification_email = ?, flags = ?, updated_at = ?
     where user_id = ? and ${sql}`,
    [level, notification_email, flags, now, userId, ...values],
  );
  if (changed > 0) return;
  await insertRow(db, "notification_settings", {
    ...(scope === "global" ? { scope } : { scope: "source", [scope.column]: scope.id }),
    user_id: userId,
    level,
    notification_email,
    flags,
    created_at: now,
    updated_at: now,
  });
}
