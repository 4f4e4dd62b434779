import * as audit from "../accounts/audit-queries.ts";
import * as is from "../core/input.ts";
import { inputOf, readOptions } from "../core/options.ts";
import { type AdminContext, byUser, findUser } from "./context.ts";

/** A security event. */
export interface AuditRecord {
  id: number;
  /** As an ISO 8601 instant. */
  created_at: string;
  /** Such as `"signed in"`. */
  action: string;
  /** The user name of who did it; `"operator"` for whoever has the database, as `pm-cli` does. */
  author: string;
  /** The user name of whose account it was done to, where that is another. */
  user: string | null;
  /** What it was done to, such as a token's name; `""` for nothing. */
  target: string;
  /** The client's address; `""` where it is unknown. */
  ip: string;
}

/** The audit log. */
export interface AuditAdmin {
  /**
   * Security events, the newest first.
   *
   * @param filter `user`: who did it, or whom it was done to; `since`: an ISO 8601 instant or a day; `limit`: how many
   *   at most, default 1000
   * @throws OptionError where `since` is no instant; ApiError 404 for an unknown user
   */
  listAuditEvents(filter?: {
    user?: string;
    action?: string;
    since?: string;
    limit?: number;
  }): Promise<AuditRecord[]>;
}

const FILTER = inputOf({
  ...byUser,
  action: is.optional(is.anyText()),
  since: is.optional(is.instant()),
  limit: is.optional(is.integer({ min: 0 })),
});

/** The audit log's part of what operators do. */
export function auditAdmin({ store }: AdminContext): AuditAdmin {
  return {
    async listAuditEvents(given = {}) {
      const {
        user: username,
        action,
        since,
        limit = 1000,
      } = readOptions("listAuditEvents", FILTER, given);
      const user = username === undefined ? undefined : await findUser(store, username);
      const found = await audit.latest(store, { userId: user?.id, action, after: since }, limit);
      return found.map((row) => ({
        id: row.id,
        created_at: new Date(row.created_at).toISOString(),
        action: row.action,
        author: row.author_name,
        user: row.username,
        target: row.target,
        ip: row.ip,
      }));
    },
  };
}
