import { randomBytes } from "node:crypto";
import { digest } from "../core/digest.ts";
import type { OpenIdAttempt } from "../core/providers.ts";
import type { Database } from "../store/port.ts";
import { digestOf } from "./token-secrets.ts";

/** How long somebody may take to sign in at a provider, in milliseconds. */
const LIFETIME = 10 * 60_000;

/** A sign-in at another provider that was begun here. */
interface ProviderSignIn {
  readonly provider: string;
  /** Who links an identity; `null` for who signs in. */
  readonly user_id: number | null;
  readonly return_to: string | null;
}

/** What only the browser with a cookie and the state can know, in Base64 for URLs. */
const derived = (what: string, state: string, cookie: string) =>
  Buffer.from(digest("sha256", `${what}:${state}:${cookie}`), "hex").toString("base64url");

/** What protects a sign-in with a state: it follows from that and the browser's cookie, so that it is stored nowhere. */
export function attemptOf(state: string, cookie: string): Omit<OpenIdAttempt, "redirectUri"> {
  return {
    state,
    nonce: derived("nonce", state, cookie),
    verifier: derived("verifier", state, cookie),
  };
}

/** A new state: 256 random bits. */
export const newState = (): string => randomBytes(32).toString("base64url");

/** Stores a sign-in that begins. @param cookie of the browser, to which it is bound */
export async function begin(
  db: Database,
  {
    state,
    cookie,
    provider,
    user_id,
    return_to,
  }: { state: string; cookie: string } & ProviderSignIn,
  now: number,
): Promise<void> {
  await db.run("delete from provider_sign_ins where expires_at <= ?", [now]);
  await db.run(
    `insert into provider_sign_ins (digest, browser, provider, user_id, return_to, expires_at)
     values (?, ?, ?, ?, ?, ?)`,
    [digestOf(state), digestOf(cookie), provider, user_id, return_to, now + LIFETIME],
  );
}

/**
 * Takes a sign-in that ends: it can't be taken twice.
 *
 * @returns `undefined` unless it was begun with the provider by the same browser, not long ago
 */
export async function take(
  db: Database,
  { state, cookie, provider }: { state: string; cookie: string; provider: string },
  now: number,
): Promise<ProviderSignIn | undefined> {
  return db.one<ProviderSignIn>(
    `delete from provider_sign_ins where digest = ? and browser = ? and provider = ? and expires_at > ?
     returning provider, user_id, return_to`,
    [digestOf(state), digestOf(cookie), provider, now],
  );
}
