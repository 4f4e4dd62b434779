import * as audit from "../audit/queries.ts";
import * as param from "../core/input.ts";
import { inputOf, readOptions } from "../core/options.ts";
import { type AdminContext, byUser, findUser } from "./context.ts";

/** A security event. */
export interface AuditRecord {
  id: number;
  /** An ISO 8601 instant. */
  created_at: string;
  /** Such as `"signed in"`. */
  action: string;
  /** The user name of the author; `"operator"` for operators (`pm-cli`, the embedding app). */
  author: string;
  /** The user name of the account concerned, if it isn't the author's. */
  user: string | null;
  /** The object of the action, such as a token's name; `""` if there is none. */
  target: string;
  /** The client's address; `""` if unknown. */
  ip: string;
}

/** The audit log. */
export interface AuditAdmin {
  /**
   * Returns security events, newest first.
   *
   * @param filter `user`: the author, or the account concerned; `since`: an ISO 8601 instant or a day; `limit`: the
   *   maximum number, default 1000
   * @throws OptionError if `since` is malformed; ApiError 404 for an unknown user
   */
  list(filter?: {
    user?: string;
    action?: string;
    since?: string;
    limit?: number;
  }): Promise<AuditRecord[]>;
}

const FILTER = inputOf({
  ...byUser,
  action: param.optional(param.anyText()),
  since: param.optional(param.instant()),
  limit: param.optional(param.integer({ min: 0 })),
});

/** Creates {@link AuditAdmin}. */
export function auditAdmin({ store }: AdminContext): AuditAdmin {
  return {
    async list(given = {}) {
      const {
        user: username,
        action,
        since,
        limit = 1000,
      } = readOptions("auditEvents.list", FILTER, given);
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
