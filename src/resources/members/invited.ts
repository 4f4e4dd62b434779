import { digestOf } from "../../auth/token-secrets.ts";
import { type Owner, ownedBy } from "../../core/access/owner.ts";
import { BEING_DELETED } from "../../core/access/visibility.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import { all } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { contains } from "../../store/patterns.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";

const INVITATIONS = "member_invitations mi left join users cb on cb.id = mi.created_by_id";

/** An invitation, as handlers need it. */
export interface Invitation {
  id: number;
  access_level: number;
  updated_at: number;
}

/** The invitations to a group or project, oldest first. @param query a part of the address */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  owner: Owner,
  query: string | undefined,
): Promise<RowPage> {
  const where = all([ownedBy("mi", owner), query ? contains(["mi.email"], query) : undefined]);
  return paginate(db, presenter, page, {
    from: `${INVITATIONS} where ${where.sql}`,
    values: where.values,
    order: "mi.id",
  });
}

/** One invitation as a row for its presenter. */
export const row = rowReader(`${INVITATIONS} where mi.id = ?`);

/** The invitation of an address to a group or project, ignoring case, or `undefined`. */
export function find(
  db: Reader,
  { column, id }: Owner,
  email: string,
): Awaitable<Invitation | undefined> {
  return db.one<Invitation>(
    `select id, access_level, updated_at from member_invitations where ${column} = ? and lower(email) = lower(?)`,
    [id, email],
  );
}

/** Adds an invitation and returns its id. */
export function insert(
  db: Database,
  owner: Owner,
  invitation: {
    email: string;
    access_level: number;
    expires_at?: string | null | undefined;
    created_by_id: number | null;
  },
  now: number,
): Promise<number> {
  const { email, access_level, expires_at = null, created_by_id } = invitation;
  return insertRow(db, "member_invitations", {
    [owner.column]: owner.id,
    email,
    access_level,
    expires_at,
    created_by_id,
    created_at: now,
    updated_at: now,
  });
}

/** Removes an invitation. */
export async function remove(db: Database, id: number): Promise<void> {
  await db.run("delete from member_invitations where id = ?", [id]);
}

/** An invitation that is being accepted, with its group or project and who sent it. */
export interface Accepted {
  namespace_id: number | null;
  project_id: number | null;
  full_path: string;
  /** The namespace whose members are the place's, too. */
  above_id: number;
  access_level: number;
  expires_at: string | null;
  created_by_id: number | null;
  created_by: string | null;
}

const ACCEPTED = `select mi.namespace_id, mi.project_id, coalesce(p.full_path, n.full_path) as full_path,
    coalesce(p.namespace_id, n.id) as above_id, mi.access_level, mi.expires_at, mi.created_by_id,
    cb.username as created_by, mi.id, mi.email
  from ${INVITATIONS} left join projects p on p.id = mi.project_id
  left join namespaces n on n.id = mi.namespace_id
  where coalesce(p.visibility, n.visibility) > ${BEING_DELETED}`;

/** The invitation of a link in a mail, or `undefined`. @param secret the secret in the link */
export async function findBySecret(
  db: Reader,
  secret: string,
): Promise<(Accepted & { id: number; email: string }) | undefined> {
  if (!/^[0-9a-f]{64}$/.test(secret)) return undefined;
  return db.one(`${ACCEPTED} and mi.digest = ?`, [digestOf(secret)]);
}

/** Takes the invitations of an address, ignoring case, except those to what is being deleted. */
export async function take(db: Database, email: string): Promise<Accepted[]> {
  const found = await db.all<Accepted>(
    `${ACCEPTED} and lower(mi.email) = lower(?) order by mi.id`,
    [email],
  );
  await db.run("delete from member_invitations where lower(email) = lower(?)", [email]);
  return found;
}
