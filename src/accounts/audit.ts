import type { Caller, Person } from "../core/auth.ts";
import type { Context } from "../core/resource.ts";
import type { Database } from "../store/port.ts";

/** What is worth knowing afterwards. */
export type AuditAction =
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
  | "user created"
  | "user invited"
  | "user renamed"
  | "user deleted"
  | "administrator added"
  | "administrator removed"
  | "member added"
  | "member changed"
  | "member removed"
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

/** A security event as it is recorded. No secret belongs in it. */
export interface AuditEntry {
  action: AuditAction;
  /** Who really did it; `"unknown"` where nobody has the name that was typed. */
  author: { id: number | null; name: string };
  /** Whom it concerns, where that is another account. */
  userId?: number | undefined;
  /** What it was done to, such as a token's name. */
  target?: string | undefined;
  /** The client's address, `""` if unknown. */
  ip: string;
}

/** Who does something, and from where. */
export type Actor = AuditEntry["author"] & {
  /** The client's address, `""` if unknown. */
  ip: string;
};

/** Who did it where nobody is signed in: whoever has the database (`pm-cli`, the embedding app). */
export const OPERATOR: Actor = { id: null, name: "operator", ip: "" };

/** Who really does what a caller does. */
export function authorOf(caller: Person & { sudoer?: Person }): AuditEntry["author"] {
  const { id, username: name } = caller.sudoer ?? caller;
  return { id, name };
}

/** Who really makes a request. */
export function actorOf({ caller, asked }: Pick<Context, "caller" | "asked">): Actor {
  return { ...authorOf(caller as Caller), ip: asked.ip };
}

/** Records a security event, in the transaction of what it tells of. */
export async function record(db: Database, entry: AuditEntry, now: number): Promise<void> {
  const { action, author, userId = null, target = "", ip } = entry;
  await db.run(
    `insert into audit_events (created_at, action, author_id, author_name, user_id, target, ip)
     values (?, ?, ?, ?, ?, ?, ?)`,
    [now, action, author.id, author.name.slice(0, 255), userId, target.slice(0, 255), ip],
  );
}
