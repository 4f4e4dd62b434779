import type { Viewer } from "../../core/access/visibility.ts";
import { dayOf } from "../../core/time.ts";
import type { Reader } from "../../store/port.ts";
import type { User } from "../users/queries.ts";
import { EVENTS, visibleEvents } from "./list.ts";

const DAY = 86_400_000;
/** The days that are counted: whole weeks, more than a year. */
const DAYS = 371;
/** So many of the newest events are counted: a calendar with more looks full anyway. */
const MOST = 5000;

/** How much somebody did. */
export interface Contributions {
  /** The last day. */
  readonly until: string;
  /** How many days are told of. */
  readonly days: number;
  /** The days on which there was something, oldest first. */
  readonly counts: readonly (readonly [day: string, count: number])[];
  /** Whether there was more, which was not counted. */
  readonly isPart: boolean;
}

/**
 * Counts what somebody did on each day, of that what the viewer may see; all of it if that user lets everybody know how much they do
 * elsewhere, too, but never what.
 */
export async function contributionsOf(
  db: Reader,
  viewer: Viewer,
  { id, include_private_contributions: isAll }: User,
  now: number,
): Promise<Contributions> {
  const start = (Math.floor(now / DAY) - DAYS + 1) * DAY;
  const newest = `select c.id from events c where c.author_id = ? and c.created_at >= ?
    order by c.created_at desc, c.id desc limit ? offset ?`;
  const visible = isAll === 1 ? { sql: "1 = 1", values: [] } : visibleEvents(viewer);
  const from = isAll === 1 ? "events e" : EVENTS;
  const found = await db.rows(
    `select e.created_at / ${DAY}, count(*) from ${from}
     where e.id in (select n.id from (${newest}) as n) and ${visible.sql} group by 1 order by 1`,
    [id, start, MOST, 0, ...visible.values],
  );
  const beyond = await db.rows(newest, [id, start, 1, MOST]);
  return {
    until: dayOf(now),
    days: DAYS,
    counts: found.map(([day, count]) => [dayOf(Number(day) * DAY), Number(count)]),
    isPart: beyond.length > 0,
  };
}
