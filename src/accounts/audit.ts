import type { Person } from "../core/auth.ts";
import type { Database } from "../store/port.ts";

/** The audited actions. */
type AuditAction =
  | "signed in"
  | "sign-in failed"
  | "signed out"
  | "session ended"
  | "password changed"
  | "token made"
  | "token revoked"
  | "token rotated"
  | "reuse of a token detected"
  | "job token made"
  | "user blocked"
  | "user unblocked"
  | "acted by sudo"
  | "two-factor enabled"
  | "two-factor disabled"
  | "recovery code used"
  | "application made"
  | "application changed"
  | "application deleted"
  | "application secret renewed"
  | "application authorized"
  | "application access revoked"
  | "reuse of a code detected"
  | "reuse of a refresh token detected";

/** An audit event to record. It must not contain a secret. */
export interface AuditEntry {
  action: AuditAction;
  /** Who really did it; the name given where nobody of that name exists. */
  author: { id: number | null; name: string };
  /** The account concerned, if it isn't the author's. */
  userId?: number | undefined;
  /** The object of the action, such as a token's name. */
  target?: string | undefined;
  /** The client's address; `""` if unknown. */
  ip: string;
}

/** The author where nobody is signed in: whoever has the database (`pm-cli`, the embedding app). */
export const OPERATOR: AuditEntry["author"] = { id: null, name: "operator" };

/** The real author of a caller's actions: with sudo, the administrator. */
export function authorOf(caller: Person & { sudoer?: Person }): AuditEntry["author"] {
  const { id, username: name } = caller.sudoer ?? caller;
  return { id, name };
}

/** Records an audit event, in the transaction of the action. */
export async function record(db: Database, entry: AuditEntry, now: number): Promise<void> {
  const { action, author, userId = null, target = "", ip } = entry;
  await db.run(
    `insert into audit_events (created_at, action, author_id, author_name, user_id, target, ip)
     values (?, ?, ?, ?, ?, ?, ?)`,
    [now, action, author.id, author.name.slice(0, 255), userId, target.slice(0, 255), ip],
  );
}
