import { storedIn } from "../../core/kept.ts";
import type { Reader } from "../../store/port.ts";
import { keptSettings } from "./kept.ts";

/** What the application's settings say about people who sign up. */
export interface SignUpRules {
  /** Whether anybody can. */
  readonly isOn: boolean;
  /** Whether an administrator decides about each of them. */
  readonly needsApproval: boolean;
  /** Whether there is an account only once its address is confirmed. */
  readonly confirms: boolean;
  /** The domains whose addresses are taken; none: all. */
  readonly allowed: readonly string[];
  /** Those whose addresses are not. */
  readonly denied: readonly string[];
  /** The regular expression of addresses that are not taken; `""`: none. */
  readonly restricted: string;
  /** What is said to those who have signed up, in Markdown. */
  readonly afterwards: string;
}

/** What people who sign up are told, and must have. */
export async function signUpRules(db: Reader): Promise<SignUpRules> {
  const settings = keptSettings.read(await storedIn(db, "application_settings", 1));
  return {
    isOn: settings.signup_enabled === true,
    needsApproval: settings.require_admin_approval_after_user_signup === true,
    confirms: settings.email_confirmation_setting === "hard",
    allowed: settings.domain_allowlist ?? [],
    denied: settings.domain_denylist_enabled ? (settings.domain_denylist ?? []) : [],
    restricted: settings.email_restrictions_enabled ? (settings.email_restrictions ?? "") : "",
    afterwards: settings.after_sign_up_text ?? "",
  };
}

/** Why an address can't be that of somebody who signs up, in GitLab's words; `undefined` if it can. */
export async function addressProblem(
  { allowed, denied, restricted }: SignUpRules,
  email: string,
): Promise<string | undefined> {
  const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
  const isAmong = (domains: readonly string[]) => domains.some((one) => matches(domain, one));
  if (allowed.length > 0 && !isAmong(allowed)) {
    return "domain is not authorized for sign-up.";
  }
  if (isAmong(denied)) return "is not from an allowed domain.";
  if (restricted === "") return undefined;
  const { readExpression } = await import("../../core/expressions.ts");
  return readExpression(restricted)?.fits(email) === false
    ? undefined
    : "is not allowed for sign-up. Please use your regular email address. Check with your administrator.";
}

/** Whether a domain is one of a list, in which `*` stands for anything. */
function matches(domain: string, listed: string): boolean {
  const [first = "", ...others] = listed.trim().toLowerCase().split("*");
  if (!domain.startsWith(first)) return false;
  const last = others.pop();
  if (last === undefined) return domain === first;
  // Each part is looked for once, from left to right: no list makes this slow.
  let at = first.length;
  for (const part of others) {
    const found = domain.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return domain.length - last.length >= at && domain.endsWith(last);
}
