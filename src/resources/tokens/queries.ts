import type { Secret } from "../../auth/token-secrets.ts";
import { BEING_DELETED_ROWS } from "../../core/access/visibility.ts";
import { type OffsetWindow, type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { contains } from "../../store/patterns.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";

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
export const ORDERS = {
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

const ACTIVE = "(t.revoked = 0 and (t.expires_at is null or t.expires_at > ?))";

/** The condition under which a token `t` matches a filter. */
export function matching(filter: Omit<TokenFilter, "sort">): Condition {
  const { impersonation, revoked, state, search, today } = filter;
  return all([
    when(`t.user_id not in (${BEING_DELETED_ROWS.users})`),
    when("t.user_id = ?", filter.userId),
    when("t.impersonation = ?", impersonation === undefined ? undefined : Number(impersonation)),
    when("t.revoked = ?", revoked === undefined ? undefined : Number(revoked)),
    state && when(state === "active" ? ACTIVE : `not ${ACTIVE}`, today),
    search ? contains(["t.name"], search) : undefined,
    when("t.created_at < ?", filter.createdBefore),
    when("t.created_at >= ?", filter.createdAfter),
    when(`${ORDERS.last_used} < ? and t.last_used_at is not null`, filter.lastUsedBefore),
    when(`${ORDERS.last_used} >= ?`, filter.lastUsedAfter),
    when(`${ORDERS.expires} < ?`, filter.expiresBefore),
    when(`${ORDERS.expires} >= ? and t.expires_at is not null`, filter.expiresAfter),
  ]);
}

/** The tokens that match a filter. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  filter: TokenFilter,
): Promise<RowPage> {
  const where = matching(filter);
  return paginate(db, presenter, page, {
    from: `tokens t where ${where.sql}`,
    values: where.values,
    order: orderOf(filter.sort),
  });
}

/** The order of tokens `t` in a list. */
export function orderOf(sort: TokenFilter["sort"]): string {
  if (sort === undefined) return "t.id";
  const [, order, direction] = /^(.+)_(asc|desc)$/.exec(sort) as unknown as [
    string,
    keyof typeof ORDERS,
    string,
  ];
  return `${ORDERS[order]} ${direction}, t.id ${direction}`;
}

/** One token as a row of its presenter. */
export const row = rowReader("tokens t where t.id = ?");

/** A token by its id, or `undefined`. */
export async function find(db: Reader, tokenId: number): Promise<Token | undefined> {
  return db.one<Token>(
    `select id, user_id, name, description, scopes, impersonation, revoked, expires_at, family_id,
       created_at, updated_at
     from tokens where id = ?`,
    [tokenId],
  );
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
  return insertRow(db, "tokens", {
    user_id: token.user_id,
    name: token.name,
    description: token.description ?? null,
    digest: token.digest,
    scopes: token.scopes.join(" "),
    impersonation: token.impersonation ? 1 : 0,
    expires_at: token.expires_at ?? null,
    family_id: token.family_id ?? null,
    created_at: now,
    updated_at: now,
  });
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
  const unrevoked = await db.all<{ id: number }>(
    "select id from tokens where (id = ? or family_id = ?) and revoked = 0 order by id",
    [first, first],
  );
  const revoked: Token[] = [];
  for (const { id } of unrevoked) {
    await revoke(db, id, now);
    revoked.push((await find(db, id)) as Token);
  }
  return revoked;
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

/** Tokens with their users' names, in the order they were created. */
export function listDetails(
  db: Reader,
  { userId, tokenId }: { userId?: number | undefined; tokenId?: number | undefined },
): Awaitable<TokenDetails[]> {
  const where = all([when("t.user_id = ?", userId), when("t.id = ?", tokenId)]);
  return db.all<TokenDetails>(
    `select t.id, u.username, t.name, t.scopes, t.impersonation, t.revoked, t.expires_at, t.last_used_at
     from tokens t join users u on u.id = t.user_id where ${where.sql} order by t.id`,
    where.values,
  );
}

/** Adds the token of a CI job and returns its id; deletes expired ones. */
export async function insertJobToken(
  db: Database,
  token: { user_id: number; project_id: number; digest: string; expires_at: number },
  now: number,
): Promise<number> {
  await db.run("delete from job_tokens where expires_at <= ?", [now]);
  return insertRow(db, "job_tokens", { ...token, created_at: now });
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
export function listActive(
  db: Reader,
  userId: number,
  today: string,
  { limit, offset }: OffsetWindow,
): Awaitable<ActiveToken[]> {
  return db.all<ActiveToken>(
    `select id, name, scopes, created_at, expires_at, last_used_at from tokens
     where user_id = ? and impersonation = 0 and revoked = 0 and (expires_at is null or expires_at > ?)
     order by id desc limit ? offset ?`,
    [userId, today, limit, offset],
  );
}
