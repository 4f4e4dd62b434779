import type { Caller } from "../core/access/caller.ts";
import { ROLES } from "../core/access/roles.ts";
import { findVisible } from "../core/access/source.ts";
import { NOT_DELETED_USER } from "../core/access/visibility.ts";
import type { Scope } from "../core/scopes.ts";
import { dayOf } from "../core/time.ts";
import type { Awaitable, Reader } from "../store/port.ts";
import { callerOf, refusalOf, USER_COLUMNS, type UserRow } from "./authenticators/user-row.ts";

/** What somebody is told who may not do what they ask for. */
export class Refusal extends Error {}

/** A key that signs in, with the user whose it is, or who has added it for deploying. */
export interface SignInKey {
  readonly key_id: number;
  /** `null` for a deploy key. */
  readonly user_id: number | null;
  readonly expires_at: number | null;
  readonly last_used_at: number | null;
  /** `null` if whoever has added it is gone. */
  readonly id: number | null;
  readonly username: string | null;
  readonly admin: number | null;
  readonly external: number | null;
  readonly state: string | null;
}

const SIGN_IN_KEYS = `select k.id as key_id, k.user_id, k.expires_at, k.last_used_at, ${USER_COLUMNS}
  from ssh_keys k left join users u on u.id = coalesce(k.user_id, k.creator_id) and ${NOT_DELETED_USER}`;

/** The key with a fingerprint, if it may sign in: those for signatures alone may not. */
export function findSignInKey(db: Reader, fingerprint: string): Awaitable<SignInKey | undefined> {
  return db.one<SignInKey>(
    `${SIGN_IN_KEYS}
     where k.fingerprint_sha256 = ? and k.usage_type <> 'signing' and (k.user_id is null or u.id is not null)`,
    [fingerprint],
  );
}

/** The deploy key with an id. */
export const findDeployKey = (db: Reader, id: number): Awaitable<SignInKey | undefined> =>
  db.one<SignInKey>(`${SIGN_IN_KEYS} where k.id = ? and k.user_id is null`, [id]);

/** What is asked of a repository, as Git names it. */
export type KeyService = "git-upload-pack" | "git-receive-pack";

/** Checks that a key can still be used. @throws Refusal */
export function requireUsable({ expires_at, state }: SignInKey, now: number): void {
  if (state !== null && state !== "active") throw new Refusal(refusalOf(state));
  if (expires_at !== null && expires_at <= now) throw new Refusal("Your SSH key has expired.");
}

const FETCHING: readonly Scope[] = ["read_repository"];
/** The scopes that the key of a user has. */
export const PUSHING: readonly Scope[] = ["write_repository"];

/** Who calls with the key of a user; `undefined` with a deploy key. */
export const userWith = (key: SignInKey): Caller | undefined =>
  key.user_id === null
    ? undefined
    : callerOf(userOf(key), PUSHING, { kind: "key", id: key.key_id });

/**
 * Who calls with a key, and with what rights at a path: a deploy key is bound to its projects.
 *
 * @param path of a project, or with `.wiki` of its wiki
 * @param now epoch milliseconds
 * @throws Refusal if a deploy key may not push
 */
export async function callerAt(
  db: Reader,
  key: SignInKey,
  path: string,
  service: KeyService,
  now: number,
): Promise<Caller> {
  const by = { kind: "key", id: key.key_id } as const;
  const user = userWith(key);
  if (user) return user;
  const nobody = {
    id: 0,
    username: `deploy-key-${key.key_id}`,
    admin: false,
    // Not being a user, it reads what is internal only where it belongs.
    external: true,
    scopes: FETCHING,
    by,
  };
  const use = await useAt(db, key.key_id, path.replace(/\.wiki$/, ""));
  if (!use) return service === "git-receive-pack" ? { ...nobody, scopes: PUSHING } : nobody;
  const project = { column: "project_id", id: use.project_id } as const;
  if (service === "git-upload-pack") {
    return { ...nobody, reach: { ...project, level: ROLES.reporter } };
  }
  if (use.can_push !== 1) {
    throw new Refusal("This deploy key does not have write access to this project.");
  }
  if (key.id === null) {
    throw new Refusal("The user who has added this deploy key is gone: add it again to push.");
  }
  // What it pushes is its creator's, with their rights over protected branches.
  const creator = callerOf(userOf(key), PUSHING, by);
  const viewer = { caller: creator, today: dayOf(now) };
  const own = (await findVisible(db, "project", String(use.project_id), viewer))?.level ?? 0;
  const level = Math.min(Math.max(ROLES.developer, own), ROLES.owner);
  return { ...creator, admin: false, reach: { ...project, level, keyId: key.key_id } };
}

const userOf = ({ id, username, admin, external, state }: SignInKey): UserRow =>
  ({ id, username, admin, external, state }) as UserRow;

interface Use {
  readonly project_id: number;
  readonly can_push: number;
}

/** How the project at a path, present or former, or with an alias, uses a deploy key. */
async function useAt(db: Reader, keyId: number, path: string): Promise<Use | undefined> {
  // PostgreSQL accepts no texts with a NUL.
  if (path.includes("\0")) return undefined;
  return db.one<Use>(
    `select project_id, can_push from deploy_keys where key_id = ? and project_id = coalesce(
       (select id from projects where lower(full_path) = lower(?)),
       (select project_id from project_redirects where path = ?),
       (select project_id from project_aliases where name = ?))`,
    [keyId, path, path.toLowerCase(), path],
  );
}
