import { newSessionToken, SESSION_LIFETIME } from "../core/http/session-cookie.ts";
import type { OffsetWindow } from "../core/pagination.ts";
import { insertRow } from "../store/insert.ts";
import type { Awaitable, Database, Reader } from "../store/port.ts";
import { digestOf } from "./token-secrets.ts";

/** A session as shown to its owner. */
export interface Session {
  id: number;
  ip: string;
  user_agent: string;
  created_at: number;
  last_seen_at: number;
}

/**
 * Signs a user in, under a new cookie value, which prevents session fixation.
 *
 * @returns the session cookie's value, of which only a digest is stored
 */
export async function open(
  db: Database,
  session: { userId: number; ip: string; userAgent: string },
  now: number,
): Promise<string> {
  const value = newSessionToken();
  await db.run("delete from sessions where expires_at <= ?", [now]);
  await insertRow(db, "sessions", {
    user_id: session.userId,
    digest: digestOf(value),
    ip: session.ip,
    user_agent: session.userAgent.slice(0, 255),
    created_at: now,
    last_seen_at: now,
    expires_at: now + SESSION_LIFETIME,
  });
  await db.run(
    "update users set last_sign_in_at = current_sign_in_at, current_sign_in_at = ? where id = ?",
    [now, session.userId],
  );
  return value;
}

/**
 * Stores when and where a session was last seen, which extends it, unless the stored instant is precise enough.
 *
 * @param precision in milliseconds
 */
export async function setSeen(
  db: Database,
  { id, ip, at }: { id: number; ip: string; at: number },
  precision: number,
): Promise<void> {
  await db.run(
    "update sessions set last_seen_at = ?, expires_at = ?, ip = ? where id = ? and last_seen_at <= ?",
    [at, at + SESSION_LIFETIME, ip, id, at - precision],
  );
}

/** When the session began, in epoch milliseconds; `undefined` if it has ended. */
export async function beginning(db: Reader, id: number): Promise<number | undefined> {
  const [found] = await db.rows("select created_at from sessions where id = ?", [id]);
  return found?.[0] as number | undefined;
}

/** One page of a user's active sessions, newest first. */
export function list(
  db: Reader,
  userId: number,
  now: number,
  { limit, offset }: OffsetWindow,
): Awaitable<Session[]> {
  return db.all<Session>(
    `select id, ip, user_agent, created_at, last_seen_at from sessions
     where user_id = ? and expires_at > ? order by id desc limit ? offset ?`,
    [userId, now, limit, offset],
  );
}

/** Ends one of a user's sessions. */
export async function end(db: Database, userId: number, sessionId: number): Promise<boolean> {
  return (
    (await db.run("delete from sessions where user_id = ? and id = ?", [userId, sessionId])) > 0
  );
}

/** Whether a user has a session from an address. @param userId `null` if there is none, which takes as long */
export async function isFamiliar(
  db: Reader,
  userId: number | null,
  ip: string,
  now: number,
): Promise<boolean> {
  const found = await db.rows(
    "select 1 from sessions where user_id = ? and ip = ? and expires_at > ? limit 1",
    [userId, ip, now],
  );
  return ip !== "" && found.length > 0;
}

/** Ends all of a user's sessions, and their sign-ins that wait for a second factor. */
export async function endAll(db: Database, userId: number): Promise<void> {
  await db.run("delete from sessions where user_id = ?", [userId]);
  await db.run("delete from half_sign_ins where user_id = ?", [userId]);
}

/** Ends all of a user's sessions but one. @returns how many were ended */
export function endOthers(db: Database, userId: number, sessionId: number): Awaitable<number> {
  return db.run("delete from sessions where user_id = ? and id <> ?", [userId, sessionId]);
}
