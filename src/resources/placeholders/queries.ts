import { insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import * as namespaces from "../namespaces/queries.ts";
import * as users from "../users/queries.ts";

/** How far a reassignment is, as GitLab names it. */
export const STATUSES = [
  "pending_reassignment",
  "awaiting_approval",
  "reassignment_in_progress",
  "rejected",
  "failed",
  "completed",
  "keep_as_placeholder",
] as const;
export type SourceUserStatus = (typeof STATUSES)[number];

/** Where a reassignment can begin. */
export const REASSIGNABLE: readonly SourceUserStatus[] = ["pending_reassignment", "rejected"];
/** Where the user has agreed, so that what is imported later is theirs. */
const ACCEPTED: readonly SourceUserStatus[] = ["reassignment_in_progress", "completed", "failed"];

/** Where people are from, and into which group at the top what they did was imported. */
export interface Origin {
  readonly namespaceId: number;
  /** As GitLab names importers, such as `gitlab_migration`. */
  readonly importType: string;
  /** The scheme and host of the server. */
  readonly hostname: string;
}

/** Somebody on another server. */
export interface SourcePerson {
  readonly identifier: string;
  readonly username: string;
  readonly name: string;
}

/** A contributor to what was imported, whom GitLab calls a source user, as stored. */
export interface SourceUser {
  readonly id: number;
  readonly namespace_id: number;
  readonly import_type: string;
  readonly source_hostname: string;
  readonly source_user_identifier: string;
  readonly source_name: string;
  readonly source_username: string;
  readonly status: SourceUserStatus;
  readonly placeholder_user_id: number | null;
  readonly reassign_to_user_id: number | null;
  readonly reassigned_by_user_id: number | null;
}

const COLUMNS = `select s.id, s.namespace_id, s.import_type, s.source_hostname, s.source_user_identifier, s.source_name,
  s.source_username, s.status, s.placeholder_user_id, s.reassign_to_user_id, s.reassigned_by_user_id
  from import_source_users s`;

/** So many placeholders a group at the top may have: what others did becomes the importer's. */
const MOST_PLACEHOLDERS = 8000;

/** One by its id, or `undefined`. */
export const find = (db: Reader, id: number): Awaitable<SourceUser | undefined> =>
  db.one<SourceUser>(`${COLUMNS} where s.id = ?`, [id]);

const OF_ORIGIN = "s.namespace_id = ? and s.source_hostname = ? and s.import_type = ?";
const valuesOf = ({ namespaceId, hostname, importType }: Origin) => [
  namespaceId,
  hostname,
  importType,
];

/** Those of some people who are known, by what they are recognized by there. */
export async function known(
  db: Reader,
  origin: Origin,
  identifiers: readonly string[],
): Promise<Map<string, SourceUser>> {
  if (identifiers.length === 0) return new Map();
  const among = placeholders(identifiers);
  const rows = await db.all<SourceUser>(
    `${COLUMNS} where ${OF_ORIGIN} and s.source_user_identifier in (${among.sql})`,
    [...valuesOf(origin), ...among.values],
  );
  return new Map(rows.map((row) => [row.source_user_identifier, row]));
}

/** The user here of a source user: the placeholder, or the one who has agreed; `null` if that user is deleted. */
export const userOf = ({ status, placeholder_user_id, reassign_to_user_id }: SourceUser) =>
  ACCEPTED.includes(status) ? reassign_to_user_id : placeholder_user_id;

/** Those of a group at the top that can be reassigned, in the order in which they were seen. */
export const listReassignable = (db: Reader, namespaceId: number): Awaitable<SourceUser[]> =>
  db.all<SourceUser>(
    `${COLUMNS} where s.namespace_id = ? and s.status in ('pending_reassignment', 'rejected') order by s.id`,
    [namespaceId],
  );

/** Those of a group at the top with a user name there, or the one whose placeholder has it: two at most. */
export const named = (db: Reader, namespaceId: number, name: string): Awaitable<SourceUser[]> =>
  db.all<SourceUser>(
    `${COLUMNS} left join users u on u.id = s.placeholder_user_id
     where s.namespace_id = ? and (lower(s.source_username) = lower(?) or lower(u.username) = lower(?)) order by s.id limit 2`,
    [namespaceId, name, name],
  );

/** What there can be in a user name. */
const nameOf = (username: string): string =>
  username
    .replace(/[^\w.-]+/g, "-")
    .replace(/^[-.]+/, "")
    .slice(0, 100) || "somebody";

/**
 * Adds a placeholder for somebody: a user who can't sign in, named as in GitLab.
 *
 * @returns who they are; `undefined` if the group has as many as it may have
 */
export async function add(
  db: Database,
  origin: Origin,
  person: SourcePerson,
  now: number,
): Promise<SourceUser | undefined> {
  const already = (await known(db, origin, [person.identifier])).get(person.identifier);
  if (already) return already;
  const [full] = await db.rows(
    "select 1 from import_source_users where namespace_id = ? order by id limit 1 offset ?",
    [origin.namespaceId, MOST_PLACEHOLDERS - 1],
  );
  if (full) return undefined;
  const name = [...person.name].slice(0, 200).join("");
  const row = {
    namespace_id: origin.namespaceId,
    import_type: origin.importType,
    source_hostname: origin.hostname,
    source_user_identifier: person.identifier,
    source_name: name,
    source_username: person.username,
    status: "pending_reassignment",
    ...{ reassign_to_user_id: null, reassigned_by_user_id: null },
  } as const;
  const id = await insertRow(db, "import_source_users", {
    ...row,
    ...{ created_at: now, updated_at: now },
  });
  const placeholder = {
    ...(await freeNames(db, `${nameOf(person.username)}_placeholder_user_${id}`)),
    ...{ name: `Placeholder ${name}`, state: "placeholder" as const },
    ...{ projects_limit: 0, can_create_group: false },
  };
  const placeholder_user_id = await users.insert(db, placeholder, now);
  await db.run("update import_source_users set placeholder_user_id = ? where id = ?", [
    placeholder_user_id,
    id,
  ]);
  return { id, ...row, placeholder_user_id };
}

/** A user name and an address that nobody has. */
async function freeNames(db: Reader, wanted: string): Promise<{ username: string; email: string }> {
  for (let number = 0; ; number += 1) {
    const username = `${wanted}${number === 0 ? "" : `_${number}`}`;
    const email = `${username}@example.invalid`;
    if (!(await namespaces.isTaken(db, username)) && !(await users.isEmailTaken(db, email))) {
      return { username, email };
    }
  }
}

/** A membership of a source user, which waits until they are reassigned. */
export interface PlaceholderMember {
  readonly source_user_id: number;
  readonly namespace_id: number | null;
  readonly project_id: number | null;
  readonly access_level: number;
  readonly expires_at: string | null;
}

/** Notes what somebody was a member of, unless it is noted, and returns its id. */
export async function addMember(
  db: Database,
  member: PlaceholderMember,
  now: number,
): Promise<number> {
  const { source_user_id, namespace_id, project_id, access_level, expires_at } = member;
  const [row] = await db.rows(
    `insert into placeholder_members (source_user_id, namespace_id, project_id, access_level, expires_at, created_at)
     values (?, ?, ?, ?, ?, ?) on conflict do nothing returning id`,
    [source_user_id, namespace_id, project_id, access_level, expires_at, now],
  );
  return (row?.[0] as number | undefined) ?? 0;
}

/**
 * Changes where somebody's reassignment is, if it is where it is thought to be.
 *
 * @returns whether it was
 */
export async function move(
  db: Database,
  id: number,
  from: readonly SourceUserStatus[],
  columns: {
    readonly status: SourceUserStatus;
    readonly reassign_to_user_id?: number | null;
    readonly reassigned_by_user_id?: number | null;
    readonly reassignment_error?: string | null;
  },
  now: number,
): Promise<boolean> {
  const names = Object.keys(columns);
  const among = placeholders(from);
  const changed = await db.run(
    `update import_source_users set ${names.map((name) => `${name} = ?`).join(", ")}, updated_at = ?
     where id = ? and status in (${among.sql})`,
    [...Object.values(columns), now, id, ...among.values],
  );
  return changed === 1;
}

/** The group at the top that a group or project is in or is; `undefined` in a user's own namespace. */
export async function topOf(
  db: Reader,
  { kind, id }: { readonly kind: "group" | "project"; readonly id: number },
): Promise<number | undefined> {
  const group = kind === "group" ? "?" : "(select namespace_id from projects where id = ?)";
  const [row] = await db.rows(
    `select n.id from namespace_ancestors a join namespaces n on n.id = a.ancestor_id
     where a.namespace_id = ${group} and n.parent_id is null and n.kind = 'group'`,
    [id],
  );
  return row?.[0] as number | undefined;
}

/** Whether another source user of the same origin is, or is to be, reassigned to a user. */
export async function isClaimed(
  db: Reader,
  { id, namespace_id, source_hostname, import_type }: SourceUser,
  userId: number,
): Promise<boolean> {
  const [row] = await db.rows(
    `select 1 from import_source_users s where ${OF_ORIGIN} and s.reassign_to_user_id = ? and s.id <> ?`,
    [namespace_id, source_hostname, import_type, userId, id],
  );
  return row !== undefined;
}
