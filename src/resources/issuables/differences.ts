import { isoInstant } from "../../core/time.ts";
import { isHeard } from "../../hooks/moments.ts";
import type { Reader } from "../../store/port.ts";
import type { IssuableType, Writing } from "./type.ts";

/** What changed, by attribute. Labels and people are lists of ids. */
export type Changes = Readonly<Record<string, { previous: unknown; current: unknown }>>;

/** GitLab's numbers of states. */
export const STATE_IDS: Readonly<Record<string, number>> = {
  opened: 1,
  closed: 2,
  merged: 3,
  locked: 4,
};

/** The values of an issuable's attributes at one time. */
export type Snapshot = Readonly<Record<string, unknown>>;

const SHARED = ["title", "description", "state", "milestone_id", "discussion_locked", "closed_at"];
const COLUMNS = {
  issue: [...SHARED, "confidential", "due_date", "weight", "time_estimate", "total_time_spent"],
  merge_request: [...SHARED, "target_branch", "time_estimate", "total_time_spent"],
} as const;
const FLAGS = ["discussion_locked", "confidential"];
const INSTANTS = ["closed_at"];

/** Whether a hook is told of changes: reading an issuable before and after one is only worth that. */
export function areHeard(
  { db, source }: Pick<Writing, "db" | "source">,
  type: IssuableType,
): Promise<boolean> {
  return isHeard(db, { kind: type.prefix, of: { project: source.id } });
}

/** What an issuable is now, before a change: see {@link areHeard}. */
export async function snapshotOf(
  db: Reader,
  { prefix, table, column }: IssuableType,
  id: number,
): Promise<Snapshot> {
  const names = COLUMNS[prefix];
  const [row] = await db.rows(`select ${names.join(", ")} from ${table} where id = ?`, [id]);
  const ids = async (key: string, from: string) =>
    (await db.rows(`select ${key} from ${from} where ${column} = ? order by ${key}`, [id])).flat();
  return {
    ...Object.fromEntries(names.map((name, at) => [name, row?.[at] ?? null])),
    labels: await ids("label_id", `${prefix}_labels`),
    assignees: await ids("user_id", `${prefix}_assignees`),
    ...(prefix === "merge_request" && { reviewers: await ids("user_id", `${prefix}_reviewers`) }),
  };
}

/** What has changed since a snapshot was taken. */
export async function changesSince(
  db: Reader,
  type: IssuableType,
  id: number,
  before: Snapshot,
): Promise<Changes> {
  const after = await snapshotOf(db, type, id);
  const changed = Object.keys(after).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  return Object.fromEntries(
    changed.map((name) => [
      name === "state" ? "state_id" : name,
      { previous: shown(name, before[name]), current: shown(name, after[name]) },
    ]),
  );
}

/** What closing or reopening an issuable changes. */
export function stateChanges(state: string, event: "close" | "reopen", now: number): Changes {
  const after = event === "close" ? "closed" : "opened";
  const closed = shown("closed_at", now);
  return {
    state_id: { previous: STATE_IDS[state], current: STATE_IDS[after] },
    ...(event === "close" && { closed_at: { previous: null, current: closed } }),
  };
}

function shown(name: string, value: unknown): unknown {
  if (value === null) return null;
  if (name === "state") return STATE_IDS[value as string];
  if (FLAGS.includes(name)) return value === 1;
  return INSTANTS.includes(name) ? isoInstant(value as number) : value;
}
