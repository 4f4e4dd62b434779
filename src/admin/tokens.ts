import * as audit from "../audit/log.ts";
import { newSecret } from "../auth/token-secrets.ts";
import { notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { inputOf, readArgument, readOptions } from "../core/options.ts";
import { SCOPES, type Scope } from "../core/scopes.ts";
import { dayOf } from "../core/time.ts";
import * as changes from "../resources/tokens/changes.ts";
import * as tokens from "../resources/tokens/queries.ts";
import type { Database } from "../store/port.ts";
import { type AdminContext, byUser, findAny, findUser } from "./context.ts";

/** A token as operators see it. */
export interface TokenRecord {
  id: number;
  username: string;
  name: string;
  scopes: Scope[];
  impersonation: boolean;
  /** `YYYY-MM-DD`; expired from the start of that day (UTC) on. */
  expires_at: string | null;
  /** An ISO 8601 instant, precise to a minute; `null` for never. */
  last_used_at: string | null;
  revoked: boolean;
  /** Whether it is neither revoked nor expired. */
  active: boolean;
}

/** A new CI job token. */
export interface JobTokenRecord {
  id: number;
  username: string;
  /** The full path of the project it gives access to. */
  project: string;
  /** An ISO 8601 instant. */
  expires_at: string;
}

/** Access tokens. */
export interface TokenAdmin {
  /**
   * Issues a personal token, or an impersonation token.
   *
   * @returns the record with `token`, the secret, of which only a digest is stored
   * @throws OptionError for an invalid day or scopes; ApiError 404 for an unknown user
   */
  create(token: {
    user: string;
    name: string;
    scopes: readonly Scope[];
    /** `YYYY-MM-DD`; it is refused from the start of that day (UTC) on. Default: never. */
    expires_at?: string;
    impersonation?: boolean;
  }): Promise<TokenRecord & { token: string }>;
  /** All tokens, or a user's, oldest first. @throws ApiError 404 */
  list(filter?: { user?: string }): Promise<TokenRecord[]>;
  /** Revokes a token for good. @throws ApiError 404 */
  revoke(id: number): Promise<TokenRecord>;
  /**
   * Issues a CI job's token, which can read what its user may read in one project (docs/authentication.md).
   *
   * @param token `lifetime` in seconds, default 3600
   * @returns the record with `token`, the secret, of which only a digest is stored
   * @throws OptionError for an invalid lifetime; ApiError 404 for an unknown project or user
   */
  createForJob(token: {
    /** Its full path or id. */
    project: string;
    user: string;
    lifetime?: number;
  }): Promise<JobTokenRecord & { token: string }>;
}

/** A month, in seconds. */
const MAX_JOB_LIFETIME = 30 * 86_400;

const NEW_TOKEN = inputOf({
  user: param.text(),
  name: param.text(),
  scopes: param.arrayOf(param.choice(SCOPES)),
  expires_at: param.optional(param.date()),
  impersonation: param.optional(param.boolean()),
});
const FILTER = inputOf(byUser);
const NEW_JOB_TOKEN = inputOf({
  project: param.text(),
  user: param.text(),
  lifetime: param.optional(param.integer({ min: 1, max: MAX_JOB_LIFETIME })),
});

/** Creates {@link TokenAdmin}. */
export function tokenAdmin({ store, now }: AdminContext): TokenAdmin {
  return {
    async create(given) {
      const read = readOptions("tokens.create", NEW_TOKEN, given);
      const { user: username, name, scopes, expires_at, impersonation = false } = read;
      return store.transaction(async (db) => {
        const user = await findUser(db, username);
        const values = { user_id: user.id, name, scopes, impersonation, expires_at };
        const context = { db, by: audit.OPERATOR, now: now() };
        const { id, secret } = await changes.createToken(context, values);
        return { ...(await tokenRecord(db, id, now())), token: secret };
      });
    },
    async list(given = {}) {
      const { user: username } = readOptions("tokens.list", FILTER, given);
      const user = username === undefined ? undefined : await findUser(store, username);
      return (await tokens.listDetails(store, { userId: user?.id })).map((row) =>
        recordOf(row, now()),
      );
    },
    async revoke(given) {
      const id = readArgument("tokens.revoke", "id", param.integer(), given);
      return store.transaction(async (db) => {
        const found = await tokens.find(db, id);
        if (!found) throw notFound("Token");
        await changes.revokeToken({ db, by: audit.OPERATOR, now: now() }, found);
        return tokenRecord(db, id, now());
      });
    },
    async createForJob(given) {
      const read = readOptions("tokens.createForJob", NEW_JOB_TOKEN, given);
      const { project: name, user: username, lifetime = 3600 } = read;
      const { secret, digest } = newSecret();
      return store.transaction(async (db) => {
        const project = await findAny(db, "project", name, now());
        const user = await findUser(db, username);
        const expires_at = now() + lifetime * 1000;
        const values = { user_id: user.id, project_id: project.id, digest, expires_at };
        const id = await tokens.insertJobToken(db, values, now());
        const about = { userId: user.id, target: project.fullPath };
        await audit.log({ db, by: audit.OPERATOR, now: now() }, "job token made", about);
        return {
          id,
          username: user.username,
          project: project.fullPath,
          expires_at: new Date(expires_at).toISOString(),
          token: secret,
        };
      });
    },
  };
}

async function tokenRecord(db: Database, id: number, now: number): Promise<TokenRecord> {
  const [row] = await tokens.listDetails(db, { tokenId: id });
  if (!row) throw notFound("Token");
  return recordOf(row, now);
}

function recordOf(row: tokens.TokenDetails, now: number): TokenRecord {
  const { id, username, name, expires_at } = row;
  const revoked = row.revoked === 1;
  return {
    id,
    username,
    name,
    scopes: row.scopes.split(" ") as Scope[],
    impersonation: row.impersonation === 1,
    expires_at,
    last_used_at: row.last_used_at === null ? null : new Date(row.last_used_at).toISOString(),
    revoked,
    active: !revoked && (expires_at === null || expires_at > dayOf(now)),
  };
}
