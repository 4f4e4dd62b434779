import type { TokenWatch } from "../core/auth.ts";
import { TooManyRequests, type Usage } from "../core/limits.ts";
import { networkOf } from "../core/network.ts";
import * as tokens from "../resources/tokens/queries.ts";
import type { Store } from "../store/port.ts";
import { attempt } from "./attempts.ts";

/** How exactly it is known when a token was used last, in milliseconds. */
const EXACTNESS = 60_000;
/** Milliseconds for which uses are gathered before they are written. */
const DELAY = 100;
/** Guesses are counted for so many milliseconds. */
const WINDOW = 10 * 60_000;
/** The most tokens, and addresses, that are kept in mind. */
const MOST_KEPT = 10_000;

/** A watch that has to be ended. */
export interface Watching extends TokenWatch {
  /** Writes what is not yet written. */
  close(): Promise<void>;
}

/**
 * Watches tokens as they are used.
 *
 * When a token was used is written after the answer, by a timer: reading never waits for the write lock. What is due
 * is told by the token's record, so that several processes together write no more than once a minute.
 *
 * Guesses are counted per address, in the database. An address that has guessed too often gets no further with any
 * token but those that this process has seen it use rightly: a right guess is answered like a wrong one.
 *
 * @param guesses unknown tokens from one address within ten minutes
 * @param onError is told where uses could not be written
 */
export function watchTokens(
  store: Store,
  guesses: number | false,
  onError: (error: unknown) => void,
): Watching {
  const unwritten = new Map<number, number>();
  const addresses = new Map<number | string, string>();
  const shut = new Map<string, Usage>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  const write = () => {
    clearTimeout(timer);
    timer = undefined;
    if (unwritten.size === 0) return;
    const uses = [...unwritten];
    unwritten.clear();
    // Sorted, so that two processes never wait for each other.
    uses.sort(([a], [b]) => a - b);
    const written = store.transaction(async (db) => {
      for (const [id, at] of uses) await tokens.setUsed(db, id, at, EXACTNESS);
    });
    writing = Promise.all([writing, written.catch(onError)]).then(() => undefined);
  };

  const shutUntil = (network: string, now: number): Usage | undefined => {
    const usage = shut.get(network);
    if (usage && usage.resetsAt <= now) shut.delete(network);
    return usage && usage.resetsAt > now ? usage : undefined;
  };

  return {
    used(token, ip, now) {
      const key = token.kind === "personal" ? token.id : `${token.kind} ${token.id}`;
      const known = addresses.get(key);
      if (known !== ip) {
        const usage = shut.size > 0 ? shutUntil(networkOf(ip), now) : undefined;
        if (usage) throw new TooManyRequests(usage, now);
        if (addresses.size >= MOST_KEPT) addresses.clear();
        addresses.set(key, ip);
      }
      if (token.kind !== "personal" || unwritten.has(token.id)) return;
      if (token.lastUsedAt !== null && now - token.lastUsedAt < EXACTNESS) return;
      unwritten.set(token.id, now);
      timer ??= setTimeout(write, DELAY).unref();
    },
    async missed(ip, now) {
      if (guesses === false || ip === "") return;
      const network = networkOf(ip);
      const usage = shutUntil(network, now);
      if (usage) throw new TooManyRequests(usage, now);
      const key = `tokens from ${network}`;
      try {
        await attempt(store, [{ key, name: "unknown_tokens", most: guesses, window: WINDOW }], now);
      } catch (error) {
        if (error instanceof TooManyRequests) {
          if (shut.size >= MOST_KEPT) shut.clear();
          shut.set(network, error.usage);
        }
        throw error;
      }
    },
    async close() {
      write();
      await writing;
    },
  };
}
