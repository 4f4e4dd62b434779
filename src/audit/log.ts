import type { Person } from "../core/access/caller.ts";
import type { Source } from "../core/access/source.ts";
import type { RequestInfo } from "../core/resource.ts";
import type { Database } from "../store/port.ts";

/** The audited actions. */
export type AuditAction =
  | "signed in"
  | "sign-in failed"
  | "signed out"
  | "session ended"
  | "password changed"
  | "identity added"
  | "identity changed"
  | "identity removed"
  | "token made"
  | "token revoked"
  | "token rotated"
  | "feed token reset"
  | "reuse of a token detected"
  | "job token made"
  | "job token scope narrowed"
  | "job token scope widened"
  | "user created"
  | "user invited"
  | "user renamed"
  | "user deleted"
  | "administrator added"
  | "administrator removed"
  | "member added"
  | "member changed"
  | "member removed"
  | "member expired"
  | "placeholder reassigned"
  | "group imported"
  | "group import failed"
  | "project imported"
  | "project import failed"
  | "group invited"
  | "invitation of group removed"
  | "invitation of group expired"
  | "access requested"
  | "access refused"
  | "user blocked"
  | "user unblocked"
  | "user activated"
  | "user deactivated"
  | "user banned"
  | "user unbanned"
  | "user approved"
  | "user rejected"
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
  | "reuse of a refresh token detected"
  | "signing key made"
  | "SSH host key made"
  | "SCIM token made"
  | "SCIM token revoked"
  | "SCIM user added"
  | "SCIM user changed"
  | "SCIM user deactivated"
  | "SCIM user reactivated"
  | "SCIM user removed"
  | "feature flag made"
  | "feature flag changed"
  | "feature flag deleted"
  | "feature flag token made"
  | "terraform state deleted"
  | "approval rule added"
  | "approval rule changed"
  | "approval rule removed"
  | "approval settings changed"
  | "appearance changed"
  | "application settings changed"
  | "plan limits changed"
  | "project alias added"
  | "project alias removed"
  | "security settings changed"
  | "secure file added"
  | "secure file removed"
  | "site removed"
  | "site domain added"
  | "site domain changed"
  | "site domain removed"
  | "container repository deleted"
  | "container tag deleted"
  | "container tags deleted"
  | "protection rule added"
  | "protection rule changed"
  | "protection rule removed"
  | "member role added"
  | "member role removed"
  | "project marked for deletion"
  | "project restored"
  | "group marked for deletion"
  | "group restored"
  | "group archived"
  | "group unarchived"
  | "branch protected"
  | "branch protection changed"
  | "branch unprotected"
  | "tag protected"
  | "tag unprotected"
  | "registration token reset"
  | "runner created"
  | "runner removed"
  | "runner token reset"
  | "CI variable added"
  | "CI variable changed"
  | "CI variable removed"
  | "trigger added"
  | "trigger removed"
  | "SSH key added"
  | "SSH key removed"
  | "GPG key added"
  | "GPG key removed"
  | "GPG key revoked"
  | "deploy key added"
  | "deploy key changed"
  | "deploy key removed"
  | "e-mail address added"
  | "e-mail address removed"
  | "e-mail address changed"
  | "deploy token made"
  | "deploy token removed"
  | "push rule added"
  | "push rule changed"
  | "push rule removed"
  | "package settings changed"
  | "integration set up"
  | "integration changed"
  | "integration disabled"
  | "status check added"
  | "status check changed"
  | "status check removed"
  | "environment protected"
  | "environment protection changed"
  | "environment unprotected"
  | "freeze period added"
  | "freeze period changed"
  | "freeze period removed";

/** Who did something, and from where. */
export interface Actor {
  /** Their user id; `null` if they are no user here. */
  readonly id: number | null;
  readonly name: string;
  /** The client's address; `""` if unknown. */
  readonly ip: string;
}

/** The author of operators' actions (`pm-cli`, the embedding app). */
export const OPERATOR: Actor = { id: null, name: "operator", ip: "" };

/** A request with its caller. */
export interface CallerRequest {
  readonly caller: Pick<Person, "id" | "username"> & { readonly sudoer?: Person };
  readonly request: Pick<RequestInfo, "ip">;
}

/** The real author of a request: with sudo, the administrator. */
export function actorOf({ caller, request }: CallerRequest): Actor {
  const { id, username: name } = caller.sudoer ?? caller;
  return { id, name, ip: request.ip };
}

/** The group or project that an action is about. */
export type AuditedPlace = Pick<Source, "kind" | "id" | "fullPath">;

/**
 * Where an action happens: a route's context, or the transaction and author of a change. With a group or project, the
 * action is about that; else it is about an account.
 */
export type AuditContext = {
  readonly db: Database;
  readonly now: number;
  readonly source?: (AuditedPlace & Partial<Pick<Source, "isHome" | "namespaceId">>) | undefined;
} & (CallerRequest | { readonly by: Actor });

/** Where an action happens: what is in the hidden project of a group happens in the group. */
const placeOf = ({ source }: AuditContext): AuditedPlace | undefined =>
  source?.isHome && source.namespaceId
    ? { kind: "group", id: source.namespaceId, fullPath: source.fullPath }
    : source;

/**
 * Records a security event, in the transaction of the action. Secrets must not be part of it.
 *
 * @param about `userId`: the account concerned, if it isn't the author's; `target`: the object of the action, such as a
 *   token's name; `place`: the group or project concerned, if it isn't the context's
 */
export async function log(
  context: AuditContext,
  action: AuditAction,
  about: {
    userId?: number | undefined;
    target?: string | undefined;
    place?: AuditedPlace;
  } = {},
): Promise<void> {
  const by = "by" in context ? context.by : actorOf(context);
  const userId = about.userId ?? null;
  const place = about.place ?? placeOf(context);
  await context.db.run(
    `insert into audit_events (created_at, action, author_id, author_name, user_id, user_name, target, ip,
       place_kind, place_id, place_path)
     values (?, ?, ?, ?, ?, (select username from users where id = ?), ?, ?, ?, ?, ?)`,
    [
      ...[context.now, action, by.id, by.name.slice(0, 255), userId, userId],
      ...[(about.target ?? "").slice(0, 255), by.ip],
      ...[place?.kind ?? null, place?.id ?? null, place?.fullPath ?? null],
    ],
  );
}
