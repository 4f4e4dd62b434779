import type { Database, Reader } from "../store/port.ts";
import { digestOf, newOpaque } from "./token-secrets.ts";

/**
 * Creates the link by which a user sets a password; earlier links stop working.
 *
 * @param expiresAt epoch milliseconds
 * @returns the secret in the link, of which only a digest is stored
 */
export async function create(
  db: Database,
  userId: number,
  expiresAt: number,
  now: number,
): Promise<string> {
  const { secret, digest } = newOpaque();
  await db.run("delete from invitations where user_id = ? or expires_at <= ?", [userId, now]);
  await db.run("insert into invitations (digest, user_id, expires_at) values (?, ?, ?)", [
    digest,
    userId,
    expiresAt,
  ]);
  return secret;
}

/** The user a password link belongs to, or `undefined`: deactivated users can sign in, too. @param secret the secret in the link */
export async function findUser(
  db: Reader,
  secret: string,
  now: number,
): Promise<{ id: number; username: string } | undefined> {
  if (!/^[0-9a-f]{64}$/.test(secret)) return undefined;
  return db.one<{ id: number; username: string }>(
    `select u.id, u.username from invitations i join users u on u.id = i.user_id
     where i.digest = ? and i.expires_at > ? and u.state in ('active', 'deactivated')`,
    [digestOf(secret), now],
  );
}
