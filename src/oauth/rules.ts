import { type AttributeErrors, invalid } from "../core/errors.ts";
import { APPLICATION_SCOPES } from "../core/scopes.ts";

/** What an owner says of an application. */
export interface ApplicationData {
  name: string;
  redirectUris: readonly string[];
  scopes: readonly string[];
  /** Whether it can keep a secret; if not it is public, and has none. */
  confidential: boolean;
}

const LONGEST_NAME = 255;
const LONGEST_URI = 2048;
const MOST_URIS = 50;
/** What a browser would run or open of its own instead of handing it to an application. */
const UNSAFE_SCHEME = /^(?:about|blob|data|file|filesystem|javascript|vbscript|view-source):/i;

/** The scopes of an application's request that names none: `api` where it may have that, else all it may. */
function defaultScopes(allowed: readonly string[]): readonly string[] {
  return allowed.includes("api") ? ["api"] : allowed;
}

/**
 * The scopes an application gets.
 *
 * @param requested separated by spaces; nothing stands for the default
 * @param allowed separated by spaces
 * @returns separated by spaces; `undefined` where one is not allowed
 */
export function grantableScopes(
  requested: string | undefined,
  allowed: string,
): string | undefined {
  const may = allowed.split(" ").filter((scope) => scope !== "");
  const wanted = requested?.trim() ? readScopes(requested) : defaultScopes(may);
  const fits = wanted.length > 0 && wanted.every((scope) => may.includes(scope));
  return fits ? wanted.join(" ") : undefined;
}

/** The port of a loopback address is the application's choice at each start (RFC 8252 §7.3). */
const LOOPBACK_PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?(?=[/?]|$)/;

/** Whether a redirect URI is one of those registered: to the letter, but for the port of a loopback address. */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true;
  const withoutPort = (one: string) => one.replace(LOOPBACK_PORT, "$1");
  return (
    LOOPBACK_PORT.test(uri) &&
    URL.canParse(uri) &&
    registered.some((one) => withoutPort(one) === withoutPort(uri))
  );
}

/** Scopes as clients send them, separated by spaces; commas will do. */
export function readScopes(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((scope) => scope !== ""))];
}

/** Redirect URIs as a form has them, one a line. */
export function readLines(text: string): string[] {
  return [...new Set(text.split(/\s+/).filter((line) => line !== ""))];
}

/**
 * Checks what an owner says of an application.
 *
 * @throws ApiError 400 with what is wrong with each attribute
 */
export function requireApplication({ name, redirectUris, scopes }: ApplicationData): void {
  const errors: AttributeErrors = {};
  if (name.trim() === "") errors["name"] = ["can't be blank"];
  if ([...name].length > LONGEST_NAME) {
    errors["name"] = [`is too long (maximum is ${LONGEST_NAME} characters)`];
  }
  const uriProblem =
    redirectUris.length === 0
      ? "can't be blank"
      : redirectUris.length > MOST_URIS
        ? `can't be more than ${MOST_URIS}`
        : redirectUris.map(problemOfUri).find((problem) => problem !== undefined);
  if (uriProblem) errors["redirect_uri"] = [uriProblem];
  if (scopes.length === 0) errors["scopes"] = ["can't be blank"];
  if (scopes.some((scope) => !Object.hasOwn(APPLICATION_SCOPES, scope))) {
    errors["scopes"] = ["can only contain available scopes"];
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

/** What keeps a text from being a redirect URI (RFC 6749 §3.1.2), or `undefined`. */
function problemOfUri(uri: string): string | undefined {
  if (uri.length > LONGEST_URI) return `is too long (maximum is ${LONGEST_URI} characters)`;
  // Visible ASCII without what a header, a browser or a parser could read in two ways.
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

/** Which flows there are, of those that can be switched off. */
export interface Flows {
  readonly implicit: boolean;
  readonly password: boolean;
}
