import type { Admin } from "./admin/index.ts";

/** A moment after the start, so that who opens an application for a moment does nothing else. */
const FIRST_MILLISECONDS = 1000;
/** How often each process asks whether it is the one that removes what is too old, once a day. */
const INTERVAL_MILLISECONDS = 600_000;

/** What the daily sweep removed. */
export type Swept = NonNullable<Awaited<ReturnType<Admin["sweepDaily"]>>>;

/**
 * Removes what is too old once a day, of all processes on a database one. It keeps no process alive.
 *
 * @param admin what removes it
 * @param onSwept is told what was removed
 * @param onError is told where that failed; the next try is made in ten minutes
 * @returns what ends it
 */
export function sweepInBackground(
  admin: Pick<Admin, "sweepDaily">,
  onSwept: ((swept: Swept) => void) | undefined,
  onError: (error: unknown) => void,
): () => void {
  let ended = false;
  let timer: NodeJS.Timeout | undefined;
  const sweepIn = (milliseconds: number) => {
    timer = setTimeout(sweep, milliseconds);
    timer.unref();
  };
  const sweep = async () => {
    try {
      const swept = await admin.sweepDaily();
      if (swept) onSwept?.(swept);
    } catch (error) {
      // A sweep goes on where it was ended.
      if (!ended) onError(error);
    }
    if (!ended) sweepIn(INTERVAL_MILLISECONDS);
  };
  sweepIn(FIRST_MILLISECONDS);
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}
