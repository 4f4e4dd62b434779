import { basicOf } from "../auth/authenticators/basic.ts";
import { callerOf, USER_COLUMNS, type UserRow } from "../auth/authenticators/user-row.ts";
import {
  callerAt,
  findDeployKey,
  type KeyService,
  Refusal,
  requireUsable,
} from "../auth/ssh-keys.ts";
import type { Caller } from "../core/access/caller.ts";
import { digest } from "../core/digest.ts";
import { unauthorized } from "../core/errors.ts";
import type { Authenticator } from "../core/http/authenticator.ts";
import { decodePath } from "../core/http/parameters.ts";
import type { Scope } from "../core/scopes.ts";
import { SecretKeyError, type Secrets } from "../core/secrets.ts";
import type { Reader } from "../store/port.ts";

/** For how many seconds a token is valid. */
export const LIFETIME = 7200;
/** What tokens are encrypted for. */
const PURPOSE = "lfs token";
/** How what is encrypted begins. */
const SEALED = "$1$";
/** Characters of a token. */
const MOST = 2048;

/** What somebody may do with the objects of a project. */
export type Operation = "download" | "upload";

const SCOPES: Readonly<Record<Operation, readonly Scope[]>> = {
  download: ["read_repository"],
  upload: ["write_repository"],
};

/** What an operation needs, as Git names it. */
export const SERVICES: Readonly<Record<Operation, KeyService>> = {
  download: "git-upload-pack",
  upload: "git-receive-pack",
};

/** What a token says. */
type Claims = (OfUser | OfKey) & {
  readonly project: number;
  readonly operation: Operation;
  /** Epoch milliseconds. */
  readonly expires: number;
};

interface OfUser {
  readonly user: number;
  /** A digest of what the user's password is checked with: another password ends the token. */
  readonly password: string;
}

interface OfKey {
  /** The id of a deploy key. */
  readonly key: number;
}

interface Owner extends UserRow {
  readonly password_hash: string | null;
}

const findOwner = (db: Reader, id: number) =>
  db.one<Owner>(`select ${USER_COLUMNS}, u.password_hash from users u where u.id = ?`, [id]);

const ofPassword = ({ password_hash }: Owner) => digest("sha256", password_hash ?? "").slice(0, 32);

/**
 * The header with which a client of Git LFS transfers the objects of one project for some time, so that its own credentials
 * need not be checked for each.
 *
 * @returns `undefined` for callers who are neither users nor deploy keys, and where nothing can be encrypted
 */
export async function lfsAuthorization(
  { db, secrets, now }: { db: Reader; secrets: Secrets; now: number },
  caller: Caller,
  projectId: number,
  operation: Operation,
): Promise<string | undefined> {
  const whose = await nameAndClaimsOf(db, caller);
  if (!whose) return undefined;
  const expires = now + 1000 * LIFETIME;
  const claims: Claims = { ...whose.claims, project: projectId, operation, expires };
  try {
    const token = secrets.seal(JSON.stringify(claims), PURPOSE);
    return `Basic ${Buffer.from(`${whose.name}:${token}`).toString("base64")}`;
  } catch (error) {
    if (error instanceof SecretKeyError) return undefined;
    throw error;
  }
}

async function nameAndClaimsOf(
  db: Reader,
  { id, by, reach }: Caller,
): Promise<{ name: string; claims: OfUser | OfKey } | undefined> {
  if (by.kind === "job") return undefined;
  // What a deploy key pushes is its creator's, but no more than the key reaches.
  if (by.kind === "key" && (id === 0 || reach)) {
    return { name: `lfs+deploy-key-${by.id}`, claims: { key: by.id } };
  }
  const owner = await findOwner(db, id);
  return owner && { name: owner.username, claims: { user: owner.id, password: ofPassword(owner) } };
}

function read(token: string, secrets: Secrets): Claims | undefined {
  try {
    return JSON.parse(secrets.open(token, PURPOSE));
  } catch {
    return undefined;
  }
}

/** Tokens of {@link lfsAuthorization}, for the project they are for. */
export const lfsToken: Authenticator = {
  refusesUnknown: false,
  credential: ({ incoming }) => {
    const password = basicOf(incoming)?.password;
    return password?.startsWith(SEALED) && password.length <= MOST ? password : undefined;
  },
  callerOf: async (token, db, _incoming, now, { secrets }, params) => {
    const claims = secrets && read(token, secrets);
    // It may be a password.
    if (!claims) return undefined;
    if (now >= claims.expires) throw unauthorized({ tokenGiven: true });
    const path = decodePath(params["repository"] ?? "").replace(/\.git$/, "");
    const found = path.includes("\0")
      ? []
      : await db.rows("select id from projects where lower(full_path) = lower(?)", [path]);
    const isItsProject = found[0]?.[0] === claims.project;
    const caller =
      isItsProject &&
      ("key" in claims ? await keyWith(db, claims, path, now) : await userWith(db, claims));
    if (!caller) throw unauthorized({ tokenGiven: true });
    return caller;
  },
};

async function userWith(
  db: Reader,
  { user, password, operation }: OfUser & Claims,
): Promise<Caller | undefined> {
  const owner = await findOwner(db, user);
  if (owner?.state !== "active" || password !== ofPassword(owner)) return undefined;
  return callerOf(owner, SCOPES[operation], { kind: "lfs" });
}

/** A deploy key as it is now. */
async function keyWith(
  db: Reader,
  { key: id, operation }: OfKey & Claims,
  path: string,
  now: number,
): Promise<Caller | undefined> {
  const key = await findDeployKey(db, id);
  if (!key) return undefined;
  try {
    requireUsable(key, now);
    return await callerAt(db, key, path, SERVICES[operation], now);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
