import { type AttributeErrors, invalid } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { isApplicationScope } from "../core/scopes.ts";

/** A parameter of a request: RFC 6749 leaves the length to us. */
export const parameter = param.optional(param.anyText({ max: 4096 }));

/** An application's settings, as its owner enters them. */
export interface ApplicationData {
  name: string;
  redirectUris: readonly string[];
  scopes: readonly string[];
  /** Whether it can keep a secret; otherwise it is public and has none. */
  confidential: boolean;
}

/** The grant type of devices (RFC 8628 §3.4). */
export const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

const MAX_NAME_LENGTH = 255;
const MAX_URI_LENGTH = 2048;
const MAX_URIS = 50;
/** Schemes that a browser handles itself instead of passing them to an application. */
const UNSAFE_SCHEME = /^(?:about|blob|data|file|filesystem|javascript|vbscript|view-source):/i;

/** The scopes of a request that names none: `api` if the application is registered with it, otherwise all of its own. */
function defaultScopes(allowed: readonly string[]): readonly string[] {
  return allowed.includes("api") ? ["api"] : allowed;
}

/**
 * The scopes an application gets.
 *
 * @param requested separated by spaces; empty means the default
 * @param allowed separated by spaces
 * @returns separated by spaces; `undefined` if one is not allowed
 */
export function grantableScopes(
  requested: string | undefined,
  allowed: string,
): string | undefined {
  const allowedScopes = allowed.split(" ").filter((scope) => scope !== "");
  const scopes = requested?.trim() ? readScopes(requested) : defaultScopes(allowedScopes);
  const isAllowed = scopes.length > 0 && scopes.every((scope) => allowedScopes.includes(scope));
  return isAllowed ? scopes.join(" ") : undefined;
}

/** Applications choose the port of a loopback address at each start (RFC 8252 §7.3). */
const LOOPBACK_PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?(?=[/?]|$)/;

/** Whether a redirect URI is registered: an exact match, apart from the port of a loopback address. */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true;
  const withoutPort = (one: string) => one.replace(LOOPBACK_PORT, "$1");
  return (
    LOOPBACK_PORT.test(uri) &&
    URL.canParse(uri) &&
    registered.some((one) => withoutPort(one) === withoutPort(uri))
  );
}

/** Scopes as clients send them, separated by spaces or commas. */
export function readScopes(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((scope) => scope !== ""))];
}

/** Redirect URIs as entered in a form, one per line. */
export function readLines(text: string): string[] {
  return [...new Set(text.split(/\s+/).filter((line) => line !== ""))];
}

/**
 * Checks an application's settings.
 *
 * @throws ApiError 400 with what is wrong with each attribute
 */
export function requireApplication({ name, redirectUris, scopes }: ApplicationData): void {
  const errors: AttributeErrors = {};
  if (name.trim() === "") errors["name"] = ["can't be blank"];
  if ([...name].length > MAX_NAME_LENGTH) {
    errors["name"] = [`is too long (maximum is ${MAX_NAME_LENGTH} characters)`];
  }
  const uriProblem =
    redirectUris.length === 0
      ? "can't be blank"
      : redirectUris.length > MAX_URIS
        ? `can't be more than ${MAX_URIS}`
        : redirectUris.map(problemOfUri).find((problem) => problem !== undefined);
  if (uriProblem) errors["redirect_uri"] = [uriProblem];
  if (scopes.length === 0) errors["scopes"] = ["can't be blank"];
  if (scopes.some((scope) => !isApplicationScope(scope))) {
    errors["scopes"] = ["can only contain available scopes"];
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

/** Why a text can't be a redirect URI (RFC 6749 §3.1.2), or `undefined`. */
export function problemOfUri(uri: string): string | undefined {
  if (uri.length > MAX_URI_LENGTH) return `is too long (maximum is ${MAX_URI_LENGTH} characters)`;
  // Visible ASCII, except characters that headers, browsers or parsers may read in two ways.
  if (!/^[a-z][a-z0-9+.-]*:[\x21-\x7e]+$/i.test(uri) || /[\\"<>^`{|}]/.test(uri)) {
    return "must be an absolute URI.";
  }
  if (UNSAFE_SCHEME.test(uri)) return "has a forbidden scheme.";
  if (uri.includes("#")) return "cannot contain a fragment.";
  if (!URL.canParse(uri)) return "must be an absolute URI.";
  const { protocol, host, username, password } = new URL(uri);
  const isWeb = protocol === "http:" || protocol === "https:";
  if (isWeb && !/^https?:\/\//i.test(uri)) return "must be an absolute URI.";
  if (isWeb && (host === "" || username !== "" || password !== "")) {
    return "must name a host, and no user.";
  }
  return undefined;
}

/** Which of the optional flows are enabled. */
export interface Flows {
  readonly implicit: boolean;
  readonly password: boolean;
}
