import { createHmac, timingSafeEqual } from "node:crypto";
import { type SealedColumn, sealerFor } from "../core/sealed.ts";
import { SecretKeyError, type Secrets } from "../core/secrets.ts";
import type { Database, Reader } from "../store/port.ts";
import { digestOf, newSecret } from "./token-secrets.ts";

/** What feed tokens begin with. */
const PREFIX = "glft";

/** A token that is good for one path only: the digest of that path with the feed token as its key, and whose it is. */
const OF_PATH = new RegExp(`^${PREFIX}-([0-9a-f]{64})-([0-9]{1,15})$`);

const purposeOf = (userId: number) => `feed_token ${userId}`;

/** Where feed tokens are: they are shown again, and are the keys of digests of paths. */
export const FEED_TOKENS: SealedColumn = {
  table: "feed_tokens",
  id: "user_id",
  column: "secret",
  purpose: "'feed_token ' || user_id",
};

/** The feed token of a user in plain text; `undefined` if they have none, or the key that encrypted it is lost. */
export async function feedTokenOf(
  db: Reader,
  secrets: Secrets,
  userId: number,
): Promise<string | undefined> {
  const [found] = await db.rows("select secret from feed_tokens where user_id = ?", [userId]);
  try {
    return found && secrets.open(found[0] as string, purposeOf(userId));
  } catch (error) {
    if (error instanceof SecretKeyError) return undefined;
    throw error;
  }
}

/**
 * Gives a user a new feed token, in place of the one they have.
 *
 * @param token default: a random one
 * @throws SecretKeyError if there is no key to encrypt it with
 */
export async function setFeedToken(
  db: Database,
  secrets: Secrets,
  userId: number,
  token = newSecret(PREFIX).secret,
): Promise<void> {
  const seal = await sealerFor(db, secrets);
  await db.run(
    `insert into feed_tokens (user_id, digest, secret) values (?, ?, ?)
     on conflict (user_id) do update set digest = excluded.digest, secret = excluded.secret`,
    [userId, digestOf(token), seal(token, purposeOf(userId))],
  );
}

/**
 * Whose a feed token is, or one that is good for a path only.
 *
 * @param path the path it was sent to, as the client wrote it
 * @param secrets without them, tokens of paths are unknown
 */
export async function userOfFeedToken(
  db: Reader,
  secrets: Secrets | undefined,
  token: string,
  path: string,
): Promise<number | undefined> {
  const [, digest, id] = OF_PATH.exec(token) ?? [];
  if (digest === undefined) {
    const sql = "select user_id from feed_tokens where digest = ?";
    return (await db.rows(sql, [digestOf(token)]))[0]?.[0] as number | undefined;
  }
  const key = secrets && (await feedTokenOf(db, secrets, Number(id)));
  if (key === undefined) return undefined;
  const expected = createHmac("sha256", key).update(path).digest();
  return timingSafeEqual(expected, Buffer.from(digest, "hex")) ? Number(id) : undefined;
}
