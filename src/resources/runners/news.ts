import { setTimeout as pause } from "node:timers/promises";
import type { Reader, Store } from "../../store/port.ts";
import { hasJob } from "./claim.ts";

/** How long a runner's request waits for a job, in milliseconds, and how often it is looked for one. */
const LONGEST = 30_000;
const EVERY = 250;

/** How many requests wait in a process, and how many of one runner; others are answered at once. */
const MOST_WAITING = 2000;
const MOST_OF_RUNNER = 100;

/** What changes whenever a job begins to wait for a runner. */
export async function lastUpdate(db: Reader): Promise<string> {
  const [row] = await db.rows(
    `select max(queued_at), (select max(id) from ci_jobs where status = 'pending' and kind = 'build')
     from ci_jobs where status = 'pending' and kind = 'build'`,
  );
  const [queuedAt, id] = row as [number | null, number | null];
  return id === null ? NOTHING_WAITS : `${queuedAt}-${id}`;
}

const NOTHING_WAITS = "0-0";
/**
 * After so many looks, a runner is looked for a job that has waited before: it may be new to the runner, which was unpaused
 * or got a tag, or because of its project or user.
 */
const LOOKS = 2;

/** The next look at a store, which all requests that wait share. */
const looks = new WeakMap<Store, Promise<string>>();

function nextLook(store: Store): Promise<string> {
  const known = looks.get(store);
  if (known) return known;
  const look = pause(EVERY).then(() => {
    looks.delete(store);
    return lastUpdate(store.reader());
  });
  looks.set(store, look);
  return look;
}

/** By runner, the requests of a store that wait. */
const waiting = new WeakMap<Store, Map<number, number>>();

/**
 * Lets a request of a runner wait, unless too many do: each would look for a job once there is news.
 *
 * @returns a function for its end, or `undefined`
 */
function takePlace(store: Store, runnerId: number): (() => void) | undefined {
  const places = waiting.get(store) ?? new Map<number, number>();
  waiting.set(store, places);
  const own = places.get(runnerId) ?? 0;
  const all = [...places.values()].reduce((sum, more) => sum + more, 0);
  if (own >= MOST_OF_RUNNER || all >= MOST_WAITING) return undefined;
  places.set(runnerId, own + 1);
  return () => {
    const left = (places.get(runnerId) ?? 1) - 1;
    if (left > 0) places.set(runnerId, left);
    else places.delete(runnerId);
  };
}

/**
 * Waits until there may be a job for a runner, half a minute at most, unless too many wait already. No connection of the
 * database is held meanwhile. As long as no job waits, one statement at a time is run for all requests that wait.
 *
 * @param known what the runner was told last
 * @param isClosing whether the application ends, which ends the waiting
 * @returns how long it was, in milliseconds
 */
export async function waitForNews(
  store: Store,
  runnerId: number,
  known: string,
  isClosing: () => boolean,
): Promise<number> {
  const began = performance.now();
  const waited = () => Math.round(performance.now() - began);
  const isNews = async (update: string, isLook: boolean) =>
    update !== known ||
    (isLook && update !== NOTHING_WAITS && (await hasJob(store.reader(), runnerId)));
  if (await isNews(await lastUpdate(store.reader()), true)) return 0;
  const leave = takePlace(store, runnerId);
  if (!leave) return 0;
  try {
    for (let looks = 1; waited() < LONGEST && !isClosing(); looks += 1) {
      if (await isNews(await nextLook(store), looks % LOOKS === 0)) break;
    }
  } finally {
    leave();
  }
  return waited();
}
