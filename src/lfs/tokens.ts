import { basicOf } from "../auth/authenticators/basic.ts";
import { callerOf, USER_COLUMNS, type UserRow } from "../auth/authenticators/user-row.ts";
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

/** What a token says. */
interface Claims {
  readonly user: number;
  readonly project: number;
  readonly operation: Operation;
  /** A digest of what the user's password is checked with: another password ends the token. */
  readonly password: string;
  /** Epoch milliseconds. */
  readonly expires: number;
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
 * @returns `undefined` for callers who are no users, and where nothing can be encrypted
 */
export async function lfsAuthorization(
  { db, secrets, now }: { db: Reader; secrets: Secrets; now: number },
  caller: Caller,
  projectId: number,
  operation: Operation,
): Promise<string | undefined> {
  const owner = caller.by.kind === "job" ? undefined : await findOwner(db, caller.id);
  if (!owner) return undefined;
  const expires = now + 1000 * LIFETIME;
  const password = ofPassword(owner);
  const claims: Claims = { user: owner.id, project: projectId, operation, password, expires };
  try {
    const token = secrets.seal(JSON.stringify(claims), PURPOSE);
    return `Basic ${Buffer.from(`${owner.username}:${token}`).toString("base64")}`;
  } catch (error) {
    if (error instanceof SecretKeyError) return undefined;
    throw error;
  }
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
    const owner = now < claims.expires ? await findOwner(db, claims.user) : undefined;
    if (owner?.state !== "active" || claims.password !== ofPassword(owner)) {
      throw unauthorized({ tokenGiven: true });
    }
    const path = decodePath(params["repository"] ?? "").replace(/\.git$/, "");
    const found = path.includes("\0")
      ? []
      : await db.rows("select id from projects where lower(full_path) = lower(?)", [path]);
    if (found[0]?.[0] !== claims.project) throw unauthorized({ tokenGiven: true });
    return callerOf(owner, SCOPES[claims.operation], { kind: "lfs" });
  },
};
