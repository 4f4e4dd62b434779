import type { Claims } from "../auth/signing-keys.ts";
import { directGroups, groupPaths } from "../core/access/memberships.ts";
import { ROLES } from "../core/access/roles.ts";
import { avatarOf } from "../core/avatars.ts";
import type { View } from "../core/field.ts";
import { dayOf } from "../core/time.ts";
import type { Reader } from "../store/port.ts";

/** The claims of id_tokens and of `/oauth/userinfo`. */
export const CLAIMS = [
  "iss",
  "sub",
  "aud",
  "exp",
  "iat",
  "auth_time",
  "nonce",
  "name",
  "nickname",
  "preferred_username",
  "email",
  "email_verified",
  "website",
  "profile",
  "picture",
  "groups",
  "groups_direct",
  "https://gitlab.org/claims/groups/owner",
  "https://gitlab.org/claims/groups/maintainer",
  "https://gitlab.org/claims/groups/developer",
];

/** Seconds for which an id_token is valid, as in GitLab: it is read once, when it arrives. */
const LIFETIME = 120;

interface Identity {
  readonly username: string;
  readonly name: string;
  readonly email: string;
  readonly public_email: string | null;
  readonly website_url: string | null;
  readonly avatar_url: string | null;
}

/** For whom claims are told, and what of. */
interface Telling {
  readonly db: Reader;
  readonly view: View;
  readonly userId: number;
  /** Separated by spaces. */
  readonly scopes: string;
}

/** What is told of a user wherever it is: without groups. */
async function identityOf({ db, view, userId, scopes }: Telling): Promise<Claims> {
  const user = (await db.one<Identity>(
    "select username, name, email, public_email, website_url, avatar_url from users where id = ?",
    [userId],
  )) as Identity;
  const isAsked = scopes.split(" ").includes("email");
  const email = isAsked ? user.email : user.public_email || undefined;
  return {
    // The id as it is: programs store it, and look for it in the API.
    sub: String(userId),
    name: user.name,
    nickname: user.username,
    preferred_username: user.username,
    // Both addresses are confirmed ones.
    ...(email === undefined ? {} : { email, email_verified: true }),
    ...(user.website_url ? { website: user.website_url } : {}),
    profile: `${view.base}/${user.username}`,
    picture: avatarOf(user.avatar_url, user.username, view),
  };
}

/** What `/oauth/userinfo` tells of a user. */
export async function userInfo(telling: Telling): Promise<Claims> {
  const { db, userId, view } = telling;
  const today = dayOf(view.now);
  const direct = await directGroups(db, userId, today);
  const roles = (["owner", "maintainer", "developer"] as const).flatMap((role) => {
    const paths = direct.filter(({ access_level: level }) => level === ROLES[role]);
    const name = `https://gitlab.org/claims/groups/${role}`;
    return paths.length === 0 ? [] : [[name, paths.map(({ full_path: path }) => path)] as const];
  });
  const groups = await groupPaths(db, userId, today);
  return { ...(await identityOf(telling)), groups, ...Object.fromEntries(roles) };
}

/**
 * What an id_token says (OpenID Connect Core 1.0 §2).
 *
 * @param clientId of the application it is for
 * @param authTime when the user has signed in, in epoch milliseconds, if that is known
 */
export async function idTokenClaims(
  telling: Telling,
  clientId: string,
  { authTime, nonce }: { readonly authTime: number | null; readonly nonce: string | null },
): Promise<Claims> {
  const { db, userId, view } = telling;
  const iat = Math.floor(view.now / 1000);
  const groups = await directGroups(db, userId, dayOf(view.now));
  return {
    iss: view.base,
    aud: clientId,
    exp: iat + LIFETIME,
    iat,
    ...(nonce === null ? {} : { nonce }),
    ...(authTime === null ? {} : { auth_time: Math.floor(authTime / 1000) }),
    ...(await identityOf(telling)),
    groups_direct: groups.map(({ full_path: path }) => path),
  };
}
