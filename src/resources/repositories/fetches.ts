import { Json, routes } from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import type { Database, Store } from "../../store/port.ts";

const DAY = 86_400_000;
/** Fetches are told of as many days, and kept as long. */
const DAYS = 30;

const oldest = (now: number) => dayOf(now - (DAYS - 1) * DAY);

/** Counts that the code of a project is fetched. Nobody waits for it: if it fails, the fetch is not counted. */
export function countFetch(store: Store, projectId: number, now: number): void {
  const counted = store.transaction(
    (db) =>
      db.run(
        `insert into project_fetches (project_id, day, count) values (?, ?, 1)
         on conflict (project_id, day) do update set count = project_fetches.count + 1`,
        [projectId, dayOf(now)],
      ),
    { shared: true },
  );
  counted.catch(() => undefined);
}

/** Days of projects that are forgotten in one transaction. */
const AT_ONCE = 1000;

/** Forgets the fetches of older days. */
export async function sweepFetches(store: Store, now: number): Promise<void> {
  const remove = (db: Database) =>
    db.run(
      `delete from project_fetches where (project_id, day) in (
         select project_id, day from project_fetches where day < ? order by day, project_id limit ${AT_ONCE})`,
      [oldest(now)],
    );
  while ((await store.transaction(remove, { shared: true })) === AT_ONCE);
}

/** How often projects are fetched. */
export const fetchRoutes = [
  routes({ source: "project" }).get("/statistics", {
    summary: "Count how often a project's code was fetched by Git, in the last 30 days",
    role: "developer",
    examples: [{ fetches: { total: 50, days: [{ count: 50, date: "2026-06-15" }] } }],
    handle: async ({ db, source, now }) => {
      const days = await db.all<{ count: number; date: string }>(
        "select count, day as date from project_fetches where project_id = ? and day >= ? order by day desc",
        [source.id, oldest(now)],
      );
      const total = days.reduce((sum, { count }) => sum + count, 0);
      return new Json({ fetches: { total, days } });
    },
  }),
];
