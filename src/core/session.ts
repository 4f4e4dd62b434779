import { randomBytes, timingSafeEqual } from "node:crypto";
import { digest } from "./digest.ts";
import type { Incoming } from "./incoming.ts";

/** The session cookie's name (contract §5). */
const COOKIE = "_service_session";
/** How long a session lasts after it was last used, in milliseconds. */
export const SESSION_LIFETIME = 14 * 24 * 3_600_000;

/** The value of the session cookie a request carries, if it can be one of ours. */
export function sessionOf(incoming: Pick<Incoming, "header">): string | undefined {
  const cookies = incoming.header("cookie");
  if (cookies === undefined) return undefined;
  return new RegExp(`(?:^|[;,]) *${COOKIE}=([0-9a-f]{64})(?=$|[;, ])`).exec(cookies)?.[1];
}

/** A new cookie value: 256 random bits. Nothing is stored of it until somebody signs in, and then another is taken. */
export function newVisitor(): string {
  return randomBytes(32).toString("hex");
}

/**
 * The `Set-Cookie` header that gives a visitor their cookie (design.md, "Safety").
 *
 * @param base origin and mount, as the client sees them
 */
export function sessionCookie(value: string, base: string): string {
  const { protocol, pathname } = new URL(base);
  const secure = protocol === "https:" ? "; Secure" : "";
  return `${COOKIE}=${value}; Path=${pathname}; HttpOnly; SameSite=Lax${secure}`;
}

/** What every form of a visitor carries: only who knows the cookie can make it. */
export function csrfTokenOf(session: string): string {
  return digest("sha256", `csrf:${session}`);
}

/**
 * Whether a browser says that another site's page sends this. Who is no browser says nothing. It is looked at beside
 * the CSRF token, which who can set cookies for us from a neighbouring host would know.
 *
 * @param url the public address, where it is not what the request says
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
  // A proxy that ends the encryption may have said nothing of it, so hosts are compared and not origins.
  const { host } = new URL(origin);
  return ![url, base].some((own) => own !== undefined && new URL(own).host === host);
}

/**
 * Whether a request that changes something was meant by who has the session cookie: it carries the cookie's CSRF token,
 * and no other site's page sends it.
 *
 * @param url the public address, where it is not what the request says
 * @param given the CSRF token where it is not the `X-CSRF-Token` header
 */
export function isVerified(
  incoming: Pick<Incoming, "header" | "base">,
  session: string,
  url: string | undefined,
  given?: unknown,
): boolean {
  return hasCsrfToken(incoming, session, given) && !isCrossSite(incoming, url);
}

function hasCsrfToken(
  incoming: Pick<Incoming, "header">,
  session: string,
  given: unknown,
): boolean {
  const sent = incoming.header("x-csrf-token") ?? given;
  if (typeof sent !== "string") return false;
  const expected = Buffer.from(csrfTokenOf(session));
  const actual = Buffer.from(sent);
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}
