/** An instant: a date, an ISO 8601 text, or epoch milliseconds. */
export type Instant = Date | string | number;

/** A test server's clock. */
export interface Clock {
  /** Whether it stands still. */
  readonly isFrozen: boolean;
  /** The current time in epoch milliseconds. */
  now(): number;
  /** Sets it to an instant, at which it stands still from then on. @throws TypeError if it is invalid */
  set(at: Instant): void;
  /** Moves the clock forward; it stays running or stopped. @throws TypeError if it is not a number */
  advance(milliseconds: number): void;
  /** Stops it at the time that it shows, or lets it run on from there. */
  freeze(frozen: boolean): void;
}

/** How a clock goes. */
export interface ClockState {
  readonly stopped: number | undefined;
  readonly ahead: number;
}

/** Creates a clock. @param start when it is stopped; by default it runs @throws TypeError if that is no instant */
export function createClock(start: Instant | undefined) {
  let stopped: number | undefined;
  let ahead = 0;
  const clock: Clock = {
    get isFrozen() {
      return stopped !== undefined;
    },
    now: () => stopped ?? Date.now() + ahead,
    set: (at) => {
      stopped = millisecondsOf(at);
    },
    advance: (milliseconds) => {
      if (stopped === undefined) ahead += millisecondsOf(milliseconds);
      else stopped = millisecondsOf(stopped + milliseconds);
    },
    freeze: (frozen) => {
      const now = clock.now();
      ahead = now - Date.now();
      stopped = frozen ? now : undefined;
    },
  };
  const reset = () => {
    ahead = 0;
    stopped = start === undefined ? undefined : millisecondsOf(start);
  };
  reset();
  return {
    clock,
    reset,
    /** What {@link restore} takes. */
    save: (): ClockState => ({ stopped, ahead }),
    /** Makes it go on as it was. */
    restore: (state: ClockState) => {
      ({ stopped, ahead } = state);
    },
  };
}

function millisecondsOf(at: Instant): number {
  const milliseconds = new Date(at).getTime();
  if (Number.isNaN(milliseconds)) throw new TypeError(`${String(at)} is not an instant`);
  return milliseconds;
}
