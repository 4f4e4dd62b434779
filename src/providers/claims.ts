import { ProviderError, type Told } from "../core/providers.ts";
import type { OpenIdOptions } from "./options.ts";

/** What a provider says about somebody, in an id_token or as userinfo. */
type Claims = Readonly<Record<string, unknown>>;

/** Characters of an id at a provider; OpenID Connect allows 255. */
const MOST_UID = 255;
const MOST_GROUPS = 10_000;

/**
 * What an id_token tells about somebody, and userinfo where that tells more. Who they are is only in the id_token, which is
 * signed; so is the address by which an account may be found.
 *
 * @param more asks for userinfo
 * @throws ProviderError if it does not say who they are
 */
export async function toldBy(
  options: OpenIdOptions,
  claims: Claims,
  more: () => Promise<Claims>,
): Promise<Told> {
  const {
    uidField = "sub",
    groupsClaim = "groups",
    emailVerifiedClaim = "email_verified",
  } = options;
  const id = claims[uidField];
  const uid = typeof id === "number" ? String(id) : id;
  if (typeof uid !== "string" || uid === "" || uid.length > MOST_UID || uid.includes("\0")) {
    throw new ProviderError(`${options.name}: the id_token has no ${uidField}`, false);
  }
  const asksGroups = [options.requiredGroups, options.adminGroups, options.externalGroups].some(
    (groups) => groups && groups.length > 0,
  );
  const lacksGroups =
    asksGroups && claimAt(claims, groupsClaim) === undefined && !isOverage(claims, groupsClaim);
  const isEnough =
    !lacksGroups && ["email", "name", "preferred_username"].every((one) => claims[one]);
  const userinfo = isEnough ? {} : await more();
  const said = { ...userinfo, ...claims };
  // An address and what is said of it belong together.
  const source = textOf(claims, "email") === undefined ? userinfo : claims;
  const isEmailVerified = isTrue(source[emailVerifiedClaim]);
  return {
    uid,
    username: textOf(said, "preferred_username") ?? textOf(said, "nickname"),
    name: textOf(said, "name") ?? fullName(said),
    email: textOf(source, "email"),
    isEmailVerified,
    mayLinkByEmail: isEmailVerified && source === claims,
    groups: isOverage(said, groupsClaim) ? undefined : groupsIn(claimAt(said, groupsClaim)),
  };
}

function textOf(claims: Claims, name: string): string | undefined {
  const value = claims[name];
  if (typeof value !== "string" || value.includes("\0")) return undefined;
  return value.trim() || undefined;
}

function fullName(claims: Claims): string | undefined {
  const parts = ["given_name", "family_name"].flatMap((name) => textOf(claims, name) ?? []);
  return parts.join(" ") || undefined;
}

/** Providers write it as a flag, as a text or as a number. */
const isTrue = (value: unknown) =>
  value === true || value === "true" || value === 1 || value === "1";

/** A claim by its name, or by a path through objects with dots, as Keycloak's `realm_access.roles`. */
function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part))
      return undefined;
    value = (value as Claims)[part];
  }
  return value;
}

/** Whether there are more groups than fit: Entra then only says where they could be asked for. */
function isOverage(claims: Claims, name: string): boolean {
  const names = claims["_claim_names"];
  const isElsewhere = typeof names === "object" && names !== null && Object.hasOwn(names, name);
  return isElsewhere || isTrue(claims["hasgroups"]);
}

function groupsIn(value: unknown): readonly string[] {
  const given = typeof value === "string" ? [value] : Array.isArray(value) ? value : [];
  return given.slice(0, MOST_GROUPS).filter((one) => typeof one === "string");
}
