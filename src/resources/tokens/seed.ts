import * as v from "valibot";
import { setFeedToken } from "../../auth/feed-tokens.ts";
import { digestOf, newSecret } from "../../auth/token-secrets.ts";
import { SCOPES, type Scope } from "../../core/scopes.ts";
import { day, oneOf, type SeededUser, seedList, seedPart, type Word } from "../../core/seeding.ts";
import * as tokens from "./queries.ts";

/** A personal access token or impersonation token of a seed. */
export interface TokenSeed {
  name?: string | undefined;
  /** The secret. Default: a random one. */
  token?: string | undefined;
  /** Default `["api"]`. */
  scopes?: Word<Scope>[] | undefined;
  /** A day. */
  expires_at?: string | undefined;
  impersonation?: boolean | undefined;
}

/** A user's tokens. */
export const tokensPart = seedList({
  entries: {
    name: v.optional(v.string(), "seed"),
    token: v.optional(v.string()),
    scopes: v.optional(v.array(oneOf(SCOPES)), ["api"]),
    expires_at: v.optional(day),
    impersonation: v.optional(v.boolean(), false),
  },
  async insert(seeding, given, { id: user_id, username }: SeededUser) {
    const { token = newSecret().secret, name, scopes, expires_at, impersonation } = given;
    await tokens.insert(
      seeding.db,
      { user_id, name, digest: digestOf(token), scopes, expires_at, impersonation },
      seeding.now,
    );
    seeding.tokens.push({ username, token });
  },
});

/** The token with which a user reads feeds. */
export const feedTokenPart = seedPart({
  schema: v.optional(v.pipe(v.string(), v.minLength(20), v.maxLength(255), v.regex(/^\S+$/))),
  async insert({ db, secrets }, token, { id }: SeededUser) {
    if (token !== undefined) await setFeedToken(db, secrets, id, token);
    return 0;
  },
});
