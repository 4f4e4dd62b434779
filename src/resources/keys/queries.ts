import {
  memberProjects,
  NOT_DELETED_USER,
  type Viewer,
  visibleProjects,
} from "../../core/access/visibility.ts";
import { type Page, pageReader, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import { isoInstant } from "../../core/time.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { removeGrantsOfKey } from "../protected-refs/grants.ts";
import type { SshKey } from "./ssh-key.ts";

/** The columns of a key that handlers use. */
export interface Key {
  readonly id: number;
  /** `null` for a deploy key. */
  readonly user_id: number | null;
  readonly title: string;
  readonly is_public: number;
  readonly updated_at: number;
}

/** The values of a new key besides the key itself. */
export interface NewKey {
  user_id: number | null;
  /** Who has added a deploy key. */
  creator_id?: number | undefined;
  title: string;
  usage_type?: string | undefined;
  is_public?: boolean | undefined;
  expires_at?: number | undefined;
}

const KEY = "select id, user_id, title, is_public, updated_at from ssh_keys where";

/** A key by its id, or `undefined`. */
export function find(db: Reader, id: number): Awaitable<Key | undefined> {
  return db.one<Key>(`${KEY} id = ?`, [id]);
}

/** The key with a fingerprint, or `undefined`. Nobody else can have it. */
export function findSame(db: Reader, { fingerprintSha256 }: SshKey): Awaitable<Key | undefined> {
  return db.one<Key>(`${KEY} fingerprint_sha256 = ?`, [fingerprintSha256]);
}

/** Adds a key. @returns its id */
export function insert(db: Database, key: SshKey, values: NewKey, now: number): Promise<number> {
  const {
    user_id,
    creator_id = null,
    title,
    usage_type = "auth_and_signing",
    is_public,
    expires_at,
  } = values;
  return insertRow(db, "ssh_keys", {
    user_id,
    creator_id,
    title,
    key: user_id === null ? key.line : key.bare,
    fingerprint: key.fingerprint,
    fingerprint_sha256: key.fingerprintSha256,
    usage_type,
    is_public: Number(is_public ?? false),
    expires_at: expires_at ?? null,
    created_at: now,
    updated_at: now,
  });
}

/** A user's key that signs. */
export interface SigningKey {
  readonly id: number;
  readonly user_id: number;
  readonly title: string;
  readonly key: string;
  readonly usage_type: string;
  readonly created_at: number;
  readonly expires_at: number | null;
}

/** The key of a user with a fingerprint, as `SHA256:…`, if it is for signing; `undefined` if there is none. */
export function findSigningKey(db: Reader, fingerprint: string): Awaitable<SigningKey | undefined> {
  return db.one<SigningKey>(
    `select k.id, k.user_id, k.title, k.key, k.usage_type, k.created_at, k.expires_at
     from ssh_keys k join users u on u.id = k.user_id and ${NOT_DELETED_USER}
     where k.fingerprint_sha256 = ? and k.usage_type <> 'auth'`,
    [fingerprint],
  );
}

/** The key with a fingerprint, as `SHA256:…` or as MD5 with or without `MD5:`; `undefined` if there is none. */
export function findByFingerprint(db: Reader, fingerprint: string): Awaitable<Key | undefined> {
  if (fingerprint.startsWith("SHA256:")) {
    return db.one<Key>(`${KEY} fingerprint_sha256 = ?`, [fingerprint]);
  }
  return db.one<Key>(`${KEY} fingerprint = ?`, [fingerprint.replace(/^MD5:/, "").toLowerCase()]);
}

/** A key with its user, or with the projects that use it, as a row for its presenter. */
export async function rowOfAny(
  db: Reader,
  presenter: Presenter,
  { id, user_id }: Key,
): Promise<Value[] | undefined> {
  const [row] = await db.rows(
    `select ${presenter.columns} from ssh_keys k left join users u on u.id = k.user_id
     where k.id = ? and (u.id is null or ${NOT_DELETED_USER})`,
    [id],
  );
  if (!row || user_id !== null) return row;
  const used = await db.rows(
    "select project_id, can_push from deploy_keys where key_id = ? order by project_id",
    [id],
  );
  row[presenter.at("deploy_keys_projects")] = JSON.stringify(
    used.map(([project_id, pushes]) => ({ project_id, can_push: pushes === 1 })),
  );
  return row;
}

/** Removes a key. */
export async function remove(db: Database, id: number): Promise<void> {
  await db.run("delete from ssh_keys where id = ?", [id]);
}

/** Users' keys, with their users. */
const OF_USERS = `ssh_keys k join users u on u.id = k.user_id and ${NOT_DELETED_USER}`;

/** The keys of a user, the oldest first. */
export const listOfUser = pageReader({ from: `${OF_USERS} where k.user_id = ?`, order: "k.id" });

/** The keys that a user signs in with, as a server's list of authorized keys has them, the oldest first. */
export async function authorizedKeys(db: Reader, userId: number, now: number): Promise<string[]> {
  const found = await db.rows(
    `select key from ssh_keys where user_id = ? and usage_type <> 'signing'
       and (expires_at is null or expires_at > ?) order by id`,
    [userId, now],
  );
  return found.map(([key]) => String(key));
}

/** A user's key as a row for its presenter. */
export const rowOfUser = rowReader(`${OF_USERS} where k.id = ?`);

/** Deploy keys, with how a project uses them. */
const IN_PROJECT = "ssh_keys k join deploy_keys dk on dk.key_id = k.id";

/** The deploy keys of a project, the oldest first. */
export const listInProject = pageReader({
  from: `${IN_PROJECT} where dk.project_id = ?`,
  countFrom: "deploy_keys dk where dk.project_id = ?",
  order: "k.id",
});

/** A deploy key of a project as a row for its presenter, or `undefined` if the project does not use it. */
export async function rowInProject(
  db: Reader,
  presenter: Presenter,
  projectId: number,
  id: number,
): Promise<Value[] | undefined> {
  const sql = `select ${presenter.columns} from ${IN_PROJECT} where dk.project_id = ? and k.id = ?`;
  const [row] = await db.rows(sql, [projectId, id]);
  return row;
}

/** Whether a project uses a deploy key. */
export async function isInProject(db: Reader, projectId: number, id: number): Promise<boolean> {
  const sql = "select 1 from deploy_keys where project_id = ? and key_id = ?";
  return (await db.rows(sql, [projectId, id])).length > 0;
}

/** Lets a project use a deploy key. */
export async function addToProject(
  db: Database,
  projectId: number,
  id: number,
  canPush: boolean,
): Promise<void> {
  await db.run("insert into deploy_keys (project_id, key_id, can_push) values (?, ?, ?)", [
    projectId,
    id,
    Number(canPush),
  ]);
}

/** Changes whether a project's deploy key may push. */
export async function setCanPush(
  db: Database,
  projectId: number,
  id: number,
  canPush: boolean,
): Promise<void> {
  await db.run("update deploy_keys set can_push = ? where project_id = ? and key_id = ?", [
    Number(canPush),
    projectId,
    id,
  ]);
}

/** Takes a deploy key from a project, with what it may do there. */
export async function removeFromProject(
  db: Database,
  projectId: number,
  id: number,
): Promise<void> {
  await db.run("delete from deploy_keys where project_id = ? and key_id = ?", [projectId, id]);
  await removeGrantsOfKey(db, projectId, id);
}

/** Removes a deploy key if no project uses it, unless any project may. @returns whether it was removed */
export async function removeUnused(db: Database, id: number): Promise<boolean> {
  const removed = await db.run(
    `delete from ssh_keys where id = ? and user_id is null and is_public = 0
       and not exists (select 1 from deploy_keys where key_id = ?)`,
    [id, id],
  );
  return removed > 0;
}

/** The projects `p` that somebody maintains: administrators all. */
export const maintained = (viewer: Viewer): Condition =>
  viewer.caller?.admin ? { sql: "1 = 1", values: [] } : memberProjects(viewer, "maintainer");

/** The deploy keys of some projects `p`, the oldest first. */
export function listOfProjects(
  db: Reader,
  presenter: Presenter,
  page: Page,
  { sql, values }: Condition,
): Promise<RowPage> {
  return paginate(db, presenter, page, {
    from: `ssh_keys k where k.user_id is null and exists (
      select 1 from deploy_keys dk join projects p on p.id = dk.project_id where dk.key_id = k.id and ${sql})`,
    values,
    order: "k.id",
  });
}

/** Whether the caller can add a deploy key to their projects: it is public, or in another project that they maintain. */
export async function isAvailable(db: Reader, id: number, viewer: Viewer): Promise<boolean> {
  const { sql, values } = maintained(viewer);
  const found = await db.rows(
    `select 1 from ssh_keys k where k.id = ? and k.user_id is null and (k.is_public = 1 or exists (
       select 1 from deploy_keys dk join projects p on p.id = dk.project_id
       where dk.key_id = k.id and ${sql}))`,
    [id, ...values],
  );
  return found.length > 0;
}

/** All deploy keys, the oldest first, with the projects that use them and that the viewer may read. */
export async function listDeployKeys(
  db: Reader,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  isPublic: boolean | undefined,
): Promise<RowPage> {
  const where = all([
    { sql: "k.user_id is null", values: [] },
    when("k.is_public = ?", isPublic === undefined ? undefined : Number(isPublic)),
  ]);
  const listed = await paginate(db, presenter, page, {
    from: `ssh_keys k where ${where.sql}`,
    values: where.values,
    order: "k.id",
  });
  await embedProjects(db, presenter, listed.rows, viewer);
  return listed;
}

/** A deploy key as a row for its presenter. */
export const deployKeyRow = rowReader("ssh_keys k where k.id = ?");

/** Fills in the projects that use each deploy key, with one query. */
async function embedProjects(
  db: Reader,
  presenter: Presenter,
  rows: Value[][],
  viewer: Viewer,
): Promise<void> {
  if (rows.length === 0) return;
  const idAt = presenter.at("id");
  const among = placeholders(rows.map((row) => row[idAt] as Value));
  const where = all([
    { sql: `dk.key_id in (${among.sql})`, values: among.values },
    visibleProjects(viewer),
  ]);
  const used = await db.rows(
    `select dk.key_id, dk.can_push, p.id, p.description, p.name, n.full_name, p.path, p.full_path, p.created_at
     from deploy_keys dk join projects p on p.id = dk.project_id join namespaces n on n.id = p.namespace_id
     where ${where.sql} order by p.id`,
    where.values,
  );
  for (const [canPush, at] of [
    [1, presenter.at("projects_with_write_access")],
    [0, presenter.at("projects_with_readonly_access")],
  ] as const) {
    const projects = new Map<Value, object[]>();
    for (const [keyId, pushes, ...project] of used) {
      if (pushes !== canPush) continue;
      const known = projects.get(keyId as Value);
      if (known) known.push(identityOf(project));
      else projects.set(keyId as Value, [identityOf(project)]);
    }
    for (const row of rows) row[at] = JSON.stringify(projects.get(row[idAt] as Value) ?? []);
  }
}

function identityOf([id, description, name, above, path, fullPath, createdAt]: Value[]): object {
  return {
    id,
    description,
    name,
    name_with_namespace: `${above} / ${name}`,
    path,
    path_with_namespace: fullPath,
    created_at: isoInstant(createdAt as number),
  };
}
