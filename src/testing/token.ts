import type { Seeded } from "../seed/index.ts";
import type { Seed } from "../seed/input.ts";

type SeedUser = NonNullable<Seed["users"]>[number];
type SeedToken = NonNullable<SeedUser["tokens"]>[number];

/** A seed for the start and every reset, and the token in it that `TestServer.token` is. */
export interface Start {
  seed: Seed;
  own: SeedToken;
}

/**
 * A copy of a seed with at least one valid token. If there is none, one is added for the first administrator, or else
 * the first user; without users, `root` is added too.
 */
export function withToken(given: Seed, now: number): Start {
  try {
    return findOrAddToken(structuredClone(given), new Date(now).toISOString().slice(0, 10));
  } catch {
    // The seed is malformed; seeding reports where.
    return { seed: given, own: {} };
  }
}

function findOrAddToken(seed: Seed, today: string): Start {
  const { users = [] } = seed;
  const active = users.filter(({ state = "active" }) => state === "active");
  const byRank = [...active.filter(({ admin }) => admin), ...active.filter(({ admin }) => !admin)];
  for (const { tokens = [] } of byRank) {
    const own = tokens.find(({ expires_at }) => expires_at === undefined || expires_at > today);
    if (own) return { seed, own };
  }
  const [user = { username: "root", name: "Administrator", admin: true }] = byRank;
  const { tokens = [] } = user;
  const own: SeedToken = { name: "test", scopes: user.admin ? ["api", "sudo"] : ["api"] };
  user.tokens = [...tokens, own];
  return { seed: byRank.length > 0 ? seed : { ...seed, users: [...users, user] }, own };
}

/** Writes generated token secrets into the seed, so that they stay the same after a reset. */
export function keepSecrets({ users = [] }: Seed, { tokens: created }: Seeded): void {
  const secrets = created.map(({ token }) => token);
  for (const token of users.flatMap(({ tokens = [] }) => tokens)) token.token = secrets.shift();
}

/** The first token of each user of a seed that has one, by user name. Secrets that are generated are in the seed already. */
export function tokensOf({ users = [] }: Seed): Record<string, string> {
  const pairs = users.flatMap(({ username, tokens: [first] = [] }) =>
    first?.token === undefined ? [] : [[username, first.token] as const],
  );
  return Object.fromEntries(pairs);
}
