import { type AttributeErrors, invalid } from "../../core/errors.ts";
import { sealerFor } from "../../core/sealed.ts";
import type { Secrets } from "../../core/secrets.ts";
import { addressesOf, ForbiddenAddress, UnknownHost } from "../../outgoing/addresses.ts";
import type { Database } from "../../store/port.ts";

/** What is shown in the place of a user and of a password. */
const HIDDEN = "*****";
/** Ports below this one are of other services, but for those of the web. */
const FIRST_FREE_PORT = 1024;

const blocked = (attribute: string, reason: string): AttributeErrors => ({
  [attribute]: [`is blocked: ${reason}`],
});

/** The URL of a mirror, as it is stored. */
export interface MirrorAddress {
  /** With stars in the place of credentials. */
  readonly url: string;
  /** A user, and perhaps a colon and a password, as in a URL; `undefined` if it has none. */
  readonly credentials: string | undefined;
}

/** The URL of a mirror without what stands in the place of its credentials. */
export const withoutStars = (url: string): string =>
  url.replace(`//${HIDDEN}:${HIDDEN}@`, "//").replace(`//${HIDDEN}@`, "//");

/** A user and a password that are sent apart from a URL; what is `undefined` is as in the URL. */
export interface ApartFromUrl {
  readonly user?: string | undefined;
  readonly password?: string | undefined;
}

/**
 * Reads the URL of a mirror.
 *
 * @param attribute that has it, for errors
 * @throws ApiError 400
 */
export function addressOf(
  text: string,
  { user, password: secret }: ApartFromUrl = {},
  attribute = "url",
): MirrorAddress {
  if (!URL.canParse(text)) throw invalid(blocked(attribute, "URI is invalid"));
  const url = new URL(text);
  if (user !== undefined) url.username = encodeURIComponent(user);
  if (secret !== undefined) url.password = encodeURIComponent(secret);
  if (!/^https?:$/.test(url.protocol)) {
    throw invalid(blocked(attribute, "Only allowed schemes are http, https"));
  }
  const port = Number(url.port);
  if (url.port !== "" && ![22, 80, 443].includes(port) && port < FIRST_FREE_PORT) {
    throw invalid(blocked(attribute, "Only allowed ports are 22, 80, 443, and any over 1024"));
  }
  if (url.username !== "" && !/^[a-z0-9]/i.test(url.username)) {
    throw invalid(blocked(attribute, "Username needs to start with an alphanumeric character"));
  }
  const { username, password } = url;
  url.hash = "";
  url.search = "";
  if (username === "" && password === "") return { url: url.href, credentials: undefined };
  url.username = "";
  url.password = "";
  const shown = password === "" ? HIDDEN : `${HIDDEN}:${HIDDEN}`;
  return {
    url: url.href.replace("//", `//${shown}@`),
    credentials: password === "" ? username : `${username}:${password}`,
  };
}

/**
 * Encrypts the credentials of a mirror; `null` if it has none.
 *
 * @param purpose what they are encrypted for
 * @throws SecretKeyError if there is no key
 */
export async function sealed(
  db: Database,
  secrets: Secrets,
  { credentials }: MirrorAddress,
  purpose: string,
): Promise<string | null> {
  return credentials === undefined ? null : (await sealerFor(db, secrets))(credentials, purpose);
}

/**
 * Checks to which addresses the host of a mirror leads. One that can't be resolved now is accepted: every update checks
 * again.
 *
 * @param attribute that has it, for errors
 * @throws ApiError 400
 */
export async function requirePublic(
  { url }: MirrorAddress,
  allowLocal: boolean,
  attribute = "url",
): Promise<void> {
  try {
    await addressesOf(new URL(url), allowLocal);
  } catch (error) {
    if (error instanceof ForbiddenAddress) throw invalid(blocked(attribute, error.message));
    if (!(error instanceof UnknownHost)) throw error;
  }
}

/**
 * The URL of a mirror with its credentials.
 *
 * @param purpose what these are encrypted for
 * @throws SecretKeyError if their key is missing
 */
export function withCredentials(
  { url, credentials }: { url: string; credentials: string | null },
  purpose: string,
  secrets: Secrets,
): URL {
  const address = new URL(url);
  const [, username = "", password = ""] =
    /^([^:]*):?(.*)$/s.exec(credentials === null ? "" : secrets.open(credentials, purpose)) ?? [];
  address.username = username;
  address.password = password;
  return address;
}
