import type { TokenUsage } from "../core/http/authenticator.ts";
import { networkOf } from "../core/http/network.ts";
import { type QuotaUsage, TooManyRequests } from "../core/rate-limits.ts";
import { dayOf } from "../core/time.ts";
import type { Database, Store } from "../store/port.ts";
import * as sessions from "./sessions.ts";
import { attempt } from "./throttle.ts";

/** The precision of a token's or session's last use, in milliseconds. */
const PRECISION = 60_000;
/** Milliseconds for which uses are collected before they are written. */
const DELAY = 100;
/** The window in which guesses are counted, in milliseconds. */
const WINDOW = 10 * 60_000;
/** The maximum number of tokens, and of addresses, kept in memory. */
const MAX_REMEMBERED = 10_000;

/** The tables of the tokens whose last use is recorded. */
const TABLES = { personal: "tokens", scim: "scim_tokens", key: "ssh_keys" } as const;

/** The use of a token, to be recorded. */
interface Use {
  table: (typeof TABLES)[keyof typeof TABLES];
  id: number;
  /** Epoch milliseconds. */
  at: number;
}

/** Token usage with a background writer, to be closed at the end. */
export interface RecordedUsage extends TokenUsage {
  /** Writes the uses not yet written. */
  close(): Promise<void>;
}

/**
 * Watches tokens and sessions as they are used.
 *
 * A last use is written after the answer, by a timer, so reads never wait for the write lock. The record tells whether a
 * write is due, so several processes together write at most once a minute.
 *
 * Guesses are counted per address, in the database. An address that has guessed too often is refused with every token
 * except those this process has seen it use before: a right guess is answered like a wrong one.
 *
 * @param guesses unknown tokens from one address within ten minutes
 * @param onError gets the errors of failed writes
 */
export function recordUsage(
  store: Store,
  guesses: number | false,
  onError: (error: unknown) => void,
): RecordedUsage {
  const unwritten = new Map<number | string, Use>();
  const unwrittenSessions = new Map<number, { id: number; ip: string; at: number }>();
  // Uses being written, which the records don't show yet.
  const beingWritten = { tokens: new Set<number | string>(), sessions: new Set<number>() };
  const addresses = new Map<number | string, string>();
  const refused = new Map<string, QuotaUsage>();
  // Users whose activity today is recorded, or about to be.
  const active = { day: "", users: new Set<number>() };
  const unwrittenUsers = new Map<number, string>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  const writeActivity = () => {
    if (unwrittenUsers.size === 0) return;
    const users = [...unwrittenUsers].sort(([a], [b]) => a - b);
    unwrittenUsers.clear();
    const written = store.transaction(
      async (db) => {
        for (const [id, day] of users) await setActive(db, id, day);
      },
      { shared: true },
    );
    const ended = written.catch((error: unknown) => {
      for (const [id] of users) active.users.delete(id);
      onError(error);
    });
    writing = Promise.all([writing, ended]).then(() => undefined);
  };

  const write = () => {
    clearTimeout(timer);
    timer = undefined;
    // In a transaction of its own: those that delete a user lock the user before the tokens.
    writeActivity();
    if (unwritten.size + unwrittenSessions.size === 0) return;
    const uses = [...unwritten];
    const seen = [...unwrittenSessions.values()];
    unwritten.clear();
    unwrittenSessions.clear();
    for (const [key] of uses) beingWritten.tokens.add(key);
    for (const { id } of seen) beingWritten.sessions.add(id);
    // Sorted, so that two processes can't deadlock.
    uses.sort(([, a], [, b]) => a.table.localeCompare(b.table) || a.id - b.id);
    seen.sort((a, b) => a.id - b.id);
    const written = store.transaction(
      async (db) => {
        for (const [, use] of uses) await setUsed(db, use);
        for (const session of seen) await sessions.setSeen(db, session, PRECISION);
      },
      { shared: true },
    );
    const ended = written.catch(onError).finally(() => {
      for (const [key] of uses) beingWritten.tokens.delete(key);
      for (const { id } of seen) beingWritten.sessions.delete(id);
    });
    writing = Promise.all([writing, ended]).then(() => undefined);
  };

  const refusalOf = (network: string, now: number): QuotaUsage | undefined => {
    const usage = refused.get(network);
    if (usage && usage.resetsAt <= now) refused.delete(network);
    return usage && usage.resetsAt > now ? usage : undefined;
  };

  return {
    tokenUsed(token, ip, now) {
      const key = token.kind === "personal" ? token.id : `${token.kind} ${token.id}`;
      const known = addresses.get(key);
      if (known !== ip) {
        const usage = refused.size > 0 ? refusalOf(networkOf(ip), now) : undefined;
        if (usage) throw new TooManyRequests(usage, now);
        if (addresses.size >= MAX_REMEMBERED) addresses.clear();
        addresses.set(key, ip);
      }
      if (!("lastUsedAt" in token)) return;
      if (unwritten.has(key) || beingWritten.tokens.has(key)) return;
      if (token.lastUsedAt !== null && now - token.lastUsedAt < PRECISION) return;
      unwritten.set(key, { table: TABLES[token.kind], id: token.id, at: now });
      timer ??= setTimeout(write, DELAY).unref();
    },
    async unknownToken(ip, now) {
      if (guesses === false || ip === "") return;
      const network = networkOf(ip);
      const usage = refusalOf(network, now);
      if (usage) throw new TooManyRequests(usage, now);
      const key = `tokens from ${network}`;
      try {
        await attempt(store, [{ key, name: "unknown_tokens", max: guesses, window: WINDOW }], now);
      } catch (error) {
        if (error instanceof TooManyRequests) {
          if (refused.size >= MAX_REMEMBERED) refused.clear();
          refused.set(network, error.usage);
        }
        throw error;
      }
    },
    sessionUsed({ id, lastSeenAt }, ip, now) {
      if (now - lastSeenAt < PRECISION) return;
      if (unwrittenSessions.has(id) || beingWritten.sessions.has(id)) return;
      unwrittenSessions.set(id, { id, ip, at: now });
      timer ??= setTimeout(write, DELAY).unref();
    },
    userActive(userId, now) {
      if (userId === 0) return;
      const day = dayOf(now);
      if (active.day !== day || active.users.size >= MAX_REMEMBERED) {
        active.day = day;
        active.users.clear();
      }
      if (active.users.has(userId)) return;
      active.users.add(userId);
      unwrittenUsers.set(userId, day);
      timer ??= setTimeout(write, DELAY).unref();
    },
    async close() {
      write();
      await writing;
    },
  };
}

/** Stores when a token was used, unless the stored instant is precise enough. */
async function setUsed(db: Database, { table, id, at }: Use): Promise<void> {
  await db.run(
    `update ${table} set last_used_at = ? where id = ? and (last_used_at is null or last_used_at <= ?)`,
    [at, id, at - PRECISION],
  );
}

/** Stores the day on which a user was active, unless it or a later one is stored. */
async function setActive(db: Database, userId: number, day: string): Promise<void> {
  await db.run(
    "update users set last_activity_on = ? where id = ? and (last_activity_on is null or last_activity_on < ?)",
    [day, userId, day],
  );
}
