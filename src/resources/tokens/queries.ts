import { type Listed, type Page, paginate } from "../../core/pagination.ts";
import type { Shape } from "../../core/present.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";

/** A token as handlers look at it; the secret is nowhere. */
export interface Token {
  id: number;
  user_id: number;
  name: string;
  updated_at: number;
}

/** What a list of tokens can be narrowed by. */
export interface TokenFilter {
  userId?: number | undefined;
  impersonation?: boolean | undefined;
  state?: "active" | "inactive" | undefined;
  /** `YYYY-MM-DD`: a token is expired from the start of its date on. */
  today: string;
}

/** Tokens in the order they were made. */
export function list(db: Reader, shape: Shape, page: Page, filter: TokenFilter): Promise<Listed> {
  const where = ["1 = 1"];
  const values: Value[] = [];
  if (filter.userId !== undefined) {
    where.push("t.user_id = ?");
    values.push(filter.userId);
  }
  if (filter.impersonation !== undefined) {
    where.push("t.impersonation = ?");
    values.push(filter.impersonation ? 1 : 0);
  }
  const active = "t.revoked = 0 and (t.expires_at is null or t.expires_at > ?)";
  if (filter.state) {
    where.push(filter.state === "active" ? `(${active})` : `not (${active})`);
    values.push(filter.today);
  }
  return paginate(db, shape, page, {
    from: `tokens t join users u on u.id = t.user_id where ${where.join(" and ")}`,
    values,
    order: "t.id",
  });
}

/** One token as a row of its shape. */
export async function row(db: Reader, shape: Shape, tokenId: number): Promise<Value[]> {
  const [found] = await db.rows(
    `select ${shape.columns} from tokens t join users u on u.id = t.user_id where t.id = ?`,
    [tokenId],
  );
  return found as Value[];
}

/** A token by its id, or `undefined`. */
export async function find(
  db: Reader,
  tokenId: number,
): Promise<(Token & { impersonation: number }) | undefined> {
  const [found] = await db.all<Token & { impersonation: number }>(
    "select id, user_id, name, impersonation, updated_at from tokens where id = ?",
    [tokenId],
  );
  return found;
}

/** Adds a token and gives its id. */
export async function insert(
  db: Database,
  token: {
    user_id: number;
    name: string;
    digest: string;
    scopes: readonly string[];
    impersonation: boolean;
    expires_at?: string | null | undefined;
  },
  now: number,
): Promise<number> {
  const [inserted] = await db.rows(
    `insert into tokens (user_id, name, digest, scopes, impersonation, expires_at, created_at, updated_at)
     values (?, ?, ?, ?, ?, ?, ?, ?) returning id`,
    [
      token.user_id,
      token.name,
      token.digest,
      token.scopes.join(" "),
      token.impersonation ? 1 : 0,
      token.expires_at ?? null,
      now,
      now,
    ],
  );
  return inserted?.[0] as number;
}

/** Revokes a token for good; its record stays. */
export async function revoke(db: Database, tokenId: number, now: number): Promise<void> {
  await db.run("update tokens set revoked = 1, updated_at = ? where id = ?", [now, tokenId]);
}

/** All that is known of a token. */
export interface TokenDetails {
  id: number;
  username: string;
  name: string;
  scopes: string;
  impersonation: number;
  revoked: number;
  expires_at: string | null;
}

/** Every token, those of one user, or the one of an id, in the order they were made. */
export function all(db: Reader, userId?: number, tokenId?: number): Awaitable<TokenDetails[]> {
  const where = ["1 = 1"];
  if (userId !== undefined) where.push("t.user_id = ?");
  if (tokenId !== undefined) where.push("t.id = ?");
  return db.all<TokenDetails>(
    `select t.id, u.username, t.name, t.scopes, t.impersonation, t.revoked, t.expires_at
     from tokens t join users u on u.id = t.user_id where ${where.join(" and ")} order by t.id`,
    [userId, tokenId].filter((id) => id !== undefined),
  );
}

/** A token that counts, as its owner sees it. */
export interface ActiveToken {
  id: number;
  name: string;
  scopes: string;
  created_at: number;
  expires_at: string | null;
}

/** A user's own tokens that count, the newest first. @param today `YYYY-MM-DD` */
export function active(db: Reader, userId: number, today: string): Awaitable<ActiveToken[]> {
  return db.all<ActiveToken>(
    `select id, name, scopes, created_at, expires_at from tokens
     where user_id = ? and impersonation = 0 and revoked = 0 and (expires_at is null or expires_at > ?)
     order by id desc`,
    [userId, today],
  );
}
