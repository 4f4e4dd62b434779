import { randomBytes, timingSafeEqual } from "node:crypto";
import { digest } from "../digest.ts";
import type { Incoming } from "./incoming.ts";

/** The session cookie's name. */
const COOKIE = "_service_session";
/** How long a session lasts after it was last used, in milliseconds. */
export const SESSION_LIFETIME = 14 * 24 * 3_600_000;

/** The value of the request's session cookie, if it has our format. */
export function sessionOf(incoming: Pick<Incoming, "header">): string | undefined {
  const cookies = incoming.header("cookie");
  if (cookies === undefined) return undefined;
  return new RegExp(`(?:^|[;,]) *${COOKIE}=([0-9a-f]{64})(?=$|[;, ])`).exec(cookies)?.[1];
}

/** A new cookie value for an anonymous visitor: 256 random bits, stored nowhere. Signing in replaces it. */
export function newSessionToken(): string {
  return randomBytes(32).toString("hex");
}

/**
 * The `Set-Cookie` header for a visitor's cookie.
 *
 * @param base origin and mount, as the client sees them
 */
export function sessionCookie(value: string, base: string): string {
  const { protocol, pathname } = new URL(base);
  const secure = protocol === "https:" ? "; Secure" : "";
  return `${COOKIE}=${value}; Path=${pathname}; HttpOnly; SameSite=Lax${secure}`;
}

/** The CSRF token in every form of a visitor. It cannot be computed without the cookie. */
export function csrfTokenOf(session: string): string {
  return digest("sha256", `csrf:${session}`);
}

/**
 * Whether the browser reports that another site's page sent the request; other clients report nothing. Checked in
 * addition to the CSRF token, because an attacker on a sibling host could set our cookie and so know the token.
 *
 * @param url the public address, if it differs from the request's
 */
export function isCrossSite(
  { header, base }: Pick<Incoming, "header" | "base">,
  url: string | undefined,
): boolean {
  const site = header("sec-fetch-site");
  if (site !== undefined) return site !== "same-origin" && site !== "none";
  const origin = header("origin");
  if (origin === undefined) return false;
  if (!URL.canParse(origin)) return true;
  // Compares hosts, not origins: a proxy that terminates TLS may not have reported the protocol.
  const { host } = new URL(origin);
  return ![url, base].some((own) => own !== undefined && new URL(own).host === host);
}

/**
 * Whether the visitor meant to send a request that changes something: it has the CSRF token of their session cookie,
 * and no other site's page sent it.
 *
 * @param url the public address, if it differs from the request's
 * @param given the CSRF token of the form, used without an `X-CSRF-Token` header
 */
export function isVerified(
  incoming: Pick<Incoming, "header" | "base">,
  session: string,
  url: string | undefined,
  given?: unknown,
): boolean {
  return hasCsrfToken(incoming, session, given) && !isCrossSite(incoming, url);
}

/**
 * Whether a request has the CSRF token of a session cookie.
 *
 * @param given the token of the form, used without an `X-CSRF-Token` header
 */
export function hasCsrfToken(
  incoming: Pick<Incoming, "header">,
  session: string,
  given?: unknown,
): boolean {
  const sent = incoming.header("x-csrf-token") ?? given;
  if (typeof sent !== "string") return false;
  const expected = Buffer.from(csrfTokenOf(session));
  const actual = Buffer.from(sent);
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}
