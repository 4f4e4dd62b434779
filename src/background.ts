import type { Admin } from "./admin/index.ts";
import type { Service } from "./jobs/services.ts";

/** Delay of the first sweep, so that applications opened for a moment only do no sweep. */
const FIRST_MILLISECONDS = 1000;
/** How often each process checks whether the daily sweep is due. */
const INTERVAL_MILLISECONDS = 600_000;

/** What the daily sweep removed. */
export type Swept = NonNullable<Awaited<ReturnType<Admin["maintenance"]["sweepDaily"]>>>;

/**
 * Removes old events and expired memberships once a day, in one of the processes that share a database. Its timer does
 * not keep the process alive.
 *
 * @param onSwept called with what was removed
 * @param onError called if a sweep fails; the next try is made in ten minutes
 * @returns what stops it
 */
export function sweepInBackground(
  admin: Pick<Admin, "maintenance">,
  onSwept: ((swept: Swept) => void) | undefined,
  onError: (error: unknown) => void,
): Service {
  let ended = false;
  let timer: NodeJS.Timeout | undefined;
  const sweepIn = (milliseconds: number) => {
    timer = setTimeout(sweep, milliseconds);
    timer.unref();
  };
  const sweep = async () => {
    try {
      const swept = await admin.maintenance.sweepDaily();
      if (swept) onSwept?.(swept);
    } catch (error) {
      // Not an error while closing: the next sweep continues where this one stopped.
      if (!ended) onError(error);
    }
    if (!ended) sweepIn(INTERVAL_MILLISECONDS);
  };
  sweepIn(FIRST_MILLISECONDS);
  return {
    stop: () => {
      ended = true;
      clearTimeout(timer);
    },
  };
}
