import { type HookEvent, isListenedFor, type Recording, recordHookEvent } from "./events.ts";

/** What a moment says of a record that may be gone when hooks are told: everything, so it is read only if a hook is told. */
async function record(
  recording: Recording,
  moment: HookEvent,
  read: { sql: string; values: (string | number)[] },
  more: object = {},
): Promise<void> {
  const { db } = recording;
  if (!(await isListenedFor(db, moment))) return;
  const [facts] = await db.all<Record<string, unknown>>(read.sql, read.values);
  if (facts) recordHookEvent(recording, { ...moment, data: { ...facts, ...more } });
}

/**
 * Records that something is about to be deleted, with the row that its payload is made of.
 *
 * @param columns of the payload's presenter
 * @param from the tables, and the condition for its id
 */
export async function recordRemoval(
  recording: Recording,
  moment: HookEvent,
  { columns, from }: { readonly columns: string; readonly from: string },
): Promise<void> {
  const { db } = recording;
  if (!(await isListenedFor(db, moment))) return;
  const [row] = await db.rows(`select ${columns} from ${from}`, [moment.id]);
  recordHookEvent(recording, { ...moment, data: { row } });
}

const NAMESPACE = `select n.name, n.path, n.full_path, n.parent_id as parent_group_id, n.created_at, n.updated_at,
    o.name as parent_name, o.path as parent_path, o.full_path as parent_full_path
  from namespaces n left join namespaces o on o.id = n.parent_id where n.id = ?`;

/**
 * Records that a group is created, renamed, or about to be deleted.
 *
 * @param more what else is told of it, such as its old path
 */
export async function recordGroup(
  recording: Recording,
  action: "create" | "rename" | "destroy",
  { id, parentId, userId }: { id: number; parentId: number | null; userId: number | null },
  more?: object,
): Promise<void> {
  const of = parentId === null ? ("instance" as const) : { group: parentId };
  const read = { sql: NAMESPACE, values: [id] };
  await record(recording, { kind: "subgroup", of, userId, id, action }, read, more);
}

const PROJECT = `select p.name, p.path, p.full_path as path_with_namespace, p.namespace_id as project_namespace_id,
    p.visibility, p.created_at, p.updated_at from projects p where p.id = ?`;

/**
 * Records that a project is created, changed, or about to be deleted, for the hooks of the groups above it and of the
 * instance.
 */
export async function recordProject(
  recording: Recording,
  action: "create" | "update" | "rename" | "transfer" | "destroy",
  { id, userId }: { id: number; userId: number | null },
  more?: object,
): Promise<void> {
  const [found] = await recording.db.rows("select namespace_id from projects where id = ?", [id]);
  const of = { group: (found?.[0] ?? 0) as number };
  const read = { sql: PROJECT, values: [id] };
  await record(recording, { kind: "project", of, userId, id, action }, read, more);
}

const USER = "select name, username, email, created_at, updated_at, state from users where id = ?";

/** Records that a user is created, renamed, or about to be deleted. */
export async function recordUser(
  recording: Recording,
  action: "create" | "rename" | "destroy",
  { id, userId }: { id: number; userId: number | null },
  more?: object,
): Promise<void> {
  const read = { sql: USER, values: [id] };
  await record(recording, { kind: "user", of: "instance", userId, id, action }, read, more);
}

/** Records that a user signs in in vain since they are blocked. */
export async function recordFailedLogin(recording: Recording, id: number): Promise<void> {
  const moment = { kind: "user", of: "instance", userId: id, id, action: "failed_login" } as const;
  await record(recording, moment, { sql: USER, values: [id] });
}

const KEY = `select k.key, k.created_at, k.updated_at, u.username from ssh_keys k
  join users u on u.id = k.user_id where k.id = ?`;

/** Records that a user's SSH key is added, or about to be removed. */
export async function recordKey(
  recording: Recording,
  action: "create" | "destroy",
  { id, userId }: { id: number; userId: number | null },
): Promise<void> {
  const moment = { kind: "key", of: "instance", userId, id, action } as const;
  await record(recording, moment, { sql: KEY, values: [id] });
}

/** Records the status that jobs of a project get. */
export async function recordJobs(
  recording: Recording,
  projectId: number,
  ids: readonly number[],
  status: string,
): Promise<void> {
  const moment = { kind: "build", of: { project: projectId }, userId: null } as const;
  if (ids.length === 0 || (ids.length > 1 && !(await isListenedFor(recording.db, moment)))) return;
  for (const id of ids) recordHookEvent(recording, { ...moment, id, data: { status } });
}

/** A membership, as hooks are told of it. */
export interface ToldMembership {
  readonly column: "namespace_id" | "project_id";
  readonly id: number;
  /** The member. */
  readonly memberId: number;
  /** Who changes it. */
  readonly userId: number | null;
  /** 0 for who only asks for access. */
  readonly access_level: number;
  readonly expires_at: string | null;
}

const MEMBER = `select u.username, u.name, u.email, u.public_email, o.name as of_name, o.path as of_path,
    o.full_path as of_full_path, o.visibility as of_visibility from users u`;
const MEMBER_OF = {
  namespace_id: `${MEMBER} join namespaces o on o.id = ? where u.id = ?`,
  project_id: `${MEMBER} join projects o on o.id = ? where u.id = ?`,
};

/** Records that somebody becomes a member, gets another level, leaves, or asks for access. */
export async function recordMember(
  recording: Recording,
  action: "add" | "update" | "remove" | "request" | "deny",
  { column, id, memberId, userId, access_level, expires_at }: ToldMembership,
): Promise<void> {
  const of = column === "project_id" ? { project: id } : { group: id };
  const read = { sql: MEMBER_OF[column], values: [id, memberId] };
  const more = { ...of, access_level, expires_at };
  await record(recording, { kind: "member", of, userId, id: memberId, action }, read, more);
}
