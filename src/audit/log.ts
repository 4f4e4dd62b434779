import type { Caller, Person } from "../core/access/caller.ts";
import type { Context } from "../core/resource.ts";
import type { Database } from "../store/port.ts";

/** The audited actions. */
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

/** An audit event to record. It must not contain a secret. */
export interface AuditEntry {
  action: AuditAction;
  /** The real author; `"unknown"` for a failed sign-in with an unknown name. */
  author: { id: number | null; name: string };
  /** The account concerned, if it isn't the author's. */
  userId?: number | undefined;
  /** The object of the action, such as a token's name. */
  target?: string | undefined;
  /** The client's address; `""` if unknown. */
  ip: string;
}

/** The author of an action, and their address. */
export type Actor = AuditEntry["author"] & {
  /** The client's address; `""` if unknown. */
  ip: string;
};

/** The author of operators' actions (`pm-cli`, the embedding app). */
export const OPERATOR: Actor = { id: null, name: "operator", ip: "" };

/** The real author of a caller's actions: with sudo, the administrator. */
export function authorOf(caller: Person & { sudoer?: Person }): AuditEntry["author"] {
  const { id, username: name } = caller.sudoer ?? caller;
  return { id, name };
}

/** The author of a request. */
export function actorOf({ caller, request }: Pick<Context, "caller" | "request">): Actor {
  return { ...authorOf(caller as Caller), ip: request.ip };
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
