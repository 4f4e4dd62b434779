import type { Secret } from "../../auth/token-secrets.ts";
import { type Page, type Part, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { contains } from "../../store/patterns.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";

/** A token as stored; the secret is not. */
export interface Token {
  id: number;
  user_id: number;
  name: string;
  description: string | null;
  /** Separated by spaces. */
  scopes: string;
  impersonation: number;
  revoked: number;
  /** `YYYY-MM-DD` */
  expires_at: string | null;
  /** The first token of a chain of rotations; `null` for that one itself. */
  family_id: number | null;
  created_at: number;
  updated_at: number;
}

/** Unused tokens sort as used earliest, tokens without an expiry as expiring last. Indexes use the same expressions. */
const ORDERS = {
  created: "t.created_at",
  expires: "coalesce(t.expires_at, '9999-12-31')",
  last_used: "coalesce(t.last_used_at, 0)",
  name: "t.name",
} as const;

/** GitLab's sort orders for lists of tokens. */
export const SORTS = (Object.keys(ORDERS) as (keyof typeof ORDERS)[]).flatMap(
  (order) => [`${order}_asc`, `${order}_desc`] as const,
);

/** The filters and order of a list of tokens; instants in epoch milliseconds. */
export interface TokenFilter {
  userId?: number | undefined;
  impersonation?: boolean | undefined;
  state?: "active" | "inactive" | undefined;
  revoked?: boolean | undefined;
  /** Part of the name. */
  search?: string | undefined;
  createdBefore?: number | undefined;
  createdAfter?: number | undefined;
  lastUsedBefore?: number | undefined;
  lastUsedAfter?: number | undefined;
  /** `YYYY-MM-DD` */
  expiresBefore?: string | undefined;
  expiresAfter?: string | undefined;
  /** Default: in the order they were created. */
  sort?: (typeof SORTS)[number] | undefined;
  /** `YYYY-MM-DD`: tokens expire at the start of their `expires_at`. */
  today: string;
}

/** The tokens that match a filter. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  filter: TokenFilter,
): Promise<RowPage> {
  const where = ["1 = 1"];
  const values: Value[] = [];
  const add = (sql: string, ...more: (Value | undefined)[]) => {
    if (more.includes(undefined)) return;
    where.push(sql);
    values.push(...(more as Value[]));
  };
  const flagOf = (flag: boolean | undefined) => (flag === undefined ? undefined : Number(flag));
  add("t.user_id = ?", filter.userId);
  add("t.impersonation = ?", flagOf(filter.impersonation));
  add("t.revoked = ?", flagOf(filter.revoked));
  const active = "(t.revoked = 0 and (t.expires_at is null or t.expires_at > ?))";
  if (filter.state) add(filter.state === "active" ? active : `not ${active}`, filter.today);
  if (filter.search) {
    const search = contains(["t.name"], filter.search);
    add(search.sql, ...search.values);
  }
  add("t.created_at < ?", filter.createdBefore);
  add("t.created_at >= ?", filter.createdAfter);
  add(`${ORDERS.last_used} < ? and t.last_used_at is not null`, filter.lastUsedBefore);
  add(`${ORDERS.last_used} >= ?`, filter.lastUsedAfter);
  add(`${ORDERS.expires} < ?`, filter.expiresBefore);
  add(`${ORDERS.expires} >= ? and t.expires_at is not null`, filter.expiresAfter);
  return paginate(db, presenter, page, {
    from: `tokens t where ${where.join(" and ")}`,
    values,
    order: filter.sort ? orderOf(filter.sort) : "t.id",
  });
}

function orderOf(sort: (typeof SORTS)[number]): string {
  const [, order, direction] = /^(.+)_(asc|desc)$/.exec(sort) as unknown as [
    string,
    keyof typeof ORDERS,
    string,
  ];
  return `${ORDERS[order]} ${direction}, t.id ${direction}`;
}

/** One token as a row of its presenter. */
export async function row(db: Reader, presenter: Presenter, tokenId: number): Promise<Value[]> {
  const [found] = await db.rows(`select ${presenter.columns} from tokens t where t.id = ?`, [
    tokenId,
  ]);
  return found as Value[];
}

/** A token by its id, or `undefined`. */
export async function find(db: Reader, tokenId: number): Promise<Token | undefined> {
  const found = await db.one<Token>(
    `select id, user_id, name, description, scopes, impersonation, revoked, expires_at, family_id,
       created_at, updated_at
     from tokens where id = ?`,
    [tokenId],
  );
  return found;
}

/** The values of a new token. */
export interface NewToken {
  user_id: number;
  name: string;
  description?: string | null | undefined;
  /** See {@link Secret}. */
  digest: Secret["digest"];
  scopes: readonly string[];
  impersonation: boolean;
  /** `YYYY-MM-DD` */
  expires_at?: string | null | undefined;
  /** Default: the token starts a new family. */
  family_id?: number | undefined;
}

/** Adds a token and returns its id. */
export async function insert(db: Database, token: NewToken, now: number): Promise<number> {
  const [inserted] = await db.rows(
    `insert into tokens (user_id, name, description, digest, scopes, impersonation, expires_at, family_id,
       created_at, updated_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id`,
    [
      token.user_id,
      token.name,
      token.description ?? null,
      token.digest,
      token.scopes.join(" "),
      token.impersonation ? 1 : 0,
      token.expires_at ?? null,
      token.family_id ?? null,
      now,
      now,
    ],
  );
  return inserted?.[0] as number;
}

/**
 * Revokes a token for good; its record stays.
 *
 * @returns `false` if it was already revoked
 */
export async function revoke(db: Database, tokenId: number, now: number): Promise<boolean> {
  const changed = await db.run(
    "update tokens set revoked = 1, updated_at = ? where id = ? and revoked = 0",
    [now, tokenId],
  );
  return changed > 0;
}

/** Revokes the active tokens of a token's family, and returns them. */
export async function revokeFamily(db: Database, token: Token, now: number): Promise<Token[]> {
  const first = token.family_id ?? token.id;
  const alive = await db.all<{ id: number }>(
    "select id from tokens where (id = ? or family_id = ?) and revoked = 0 order by id",
    [first, first],
  );
  const revoked: Token[] = [];
  for (const { id } of alive) {
    await revoke(db, id, now);
    revoked.push((await find(db, id)) as Token);
  }
  return revoked;
}

/**
 * Records when a token was used.
 *
 * @param every the minimum interval between two writes, in milliseconds
 */
export async function setUsed(
  db: Database,
  tokenId: number,
  at: number,
  every: number,
): Promise<void> {
  await db.run(
    "update tokens set last_used_at = ? where id = ? and (last_used_at is null or last_used_at <= ?)",
    [at, tokenId, at - every],
  );
}

/** A token with its user's name. */
export interface TokenDetails {
  id: number;
  username: string;
  name: string;
  scopes: string;
  impersonation: number;
  revoked: number;
  expires_at: string | null;
  last_used_at: number | null;
}

/** All tokens, those of one user, or the one with an id, in the order they were created. */
export function all(db: Reader, userId?: number, tokenId?: number): Awaitable<TokenDetails[]> {
  const where = ["1 = 1"];
  if (userId !== undefined) where.push("t.user_id = ?");
  if (tokenId !== undefined) where.push("t.id = ?");
  return db.all<TokenDetails>(
    `select t.id, u.username, t.name, t.scopes, t.impersonation, t.revoked, t.expires_at, t.last_used_at
     from tokens t join users u on u.id = t.user_id where ${where.join(" and ")} order by t.id`,
    [userId, tokenId].filter((id) => id !== undefined),
  );
}

/** Adds the token of a CI job and returns its id; deletes expired ones. */
export async function insertJobToken(
  db: Database,
  token: { user_id: number; project_id: number; digest: string; expires_at: number },
  now: number,
): Promise<number> {
  await db.run("delete from job_tokens where expires_at <= ?", [now]);
  const [inserted] = await db.rows(
    `insert into job_tokens (user_id, project_id, digest, created_at, expires_at)
     values (?, ?, ?, ?, ?) returning id`,
    [token.user_id, token.project_id, token.digest, now, token.expires_at],
  );
  return inserted?.[0] as number;
}

/** An active token, as its owner sees it. */
export interface ActiveToken {
  id: number;
  name: string;
  scopes: string;
  created_at: number;
  expires_at: string | null;
  last_used_at: number | null;
}

/** One page of a user's active tokens without impersonation tokens, newest first. @param today `YYYY-MM-DD` */
export function active(
  db: Reader,
  userId: number,
  today: string,
  { limit, offset }: Part,
): Awaitable<ActiveToken[]> {
  return db.all<ActiveToken>(
    `select id, name, scopes, created_at, expires_at, last_used_at from tokens
     where user_id = ? and impersonation = 0 and revoked = 0 and (expires_at is null or expires_at > ?)
     order by id desc limit ? offset ?`,
    [userId, today, limit, offset],
  );
}
