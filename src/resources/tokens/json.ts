import * as show from "../../core/present.ts";
import { dayOf } from "../../core/time.ts";

/** A token without its secret. */
export const tokenFields = {
  id: show.integer("t.id"),
  name: show.text("t.name"),
  description: show.text("t.description"),
  revoked: show.flag("t.revoked"),
  created_at: show.instant("t.created_at"),
  scopes: show.derived(["t.scopes"], "array of string", ([scopes]) => String(scopes).split(" ")),
  user_id: show.integer("t.user_id"),
  last_used_at: show.instant("t.last_used_at"),
  active: show.derived(
    ["t.revoked", "t.expires_at"],
    "boolean",
    ([revoked, expires], { now }) =>
      revoked === 0 && (expires === null || String(expires) > dayOf(now)),
  ),
  expires_at: show.date("t.expires_at"),
};

/** An impersonation token without its secret. */
export const impersonationFields = {
  ...tokenFields,
  impersonation: show.flag("t.impersonation"),
};

/** The secret, which only the response that creates a token has. */
export const secretField = show.embedded("token", "string", "null");
