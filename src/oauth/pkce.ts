import { createHash, timingSafeEqual } from "node:crypto";

/** A challenge, by which an application proves that it sent the authorization request (RFC 7636). */
export interface Challenge {
  method: string;
  value: string;
}

/** Unreserved characters, as many as RFC 7636 §4.1 and §4.2 ask for. A SHA-256 in base64url is 43 of them. */
const WELL_FORMED = { plain: /^[\w.~-]{43,128}$/, S256: /^[\w-]{43}$/ };

/** Challenge methods. */
export const CHALLENGE_METHODS = ["S256", "plain"] as const;

/** What is wrong with a challenge, or `undefined`. As in GitLab, the method is required. */
export function problemOfChallenge({ method, value }: Challenge): string | undefined {
  if (!CHALLENGE_METHODS.includes(method as "S256" | "plain")) {
    return "The code_challenge_method must be S256 or plain.";
  }
  return WELL_FORMED[method as "S256" | "plain"].test(value)
    ? undefined
    : "The code_challenge is malformed.";
}

/** Whether a verifier matches a challenge. */
export function verifies({ method, value }: Challenge, verifier: string): boolean {
  if (!WELL_FORMED.plain.test(verifier)) return false;
  const expected =
    method === "S256" ? createHash("sha256").update(verifier).digest("base64url") : verifier;
  return (
    expected.length === value.length && timingSafeEqual(Buffer.from(expected), Buffer.from(value))
  );
}
