import * as field from "../../core/field.ts";
import { dayOf } from "../../core/time.ts";

/** A token without its secret. */
export const tokenFields = {
  id: field.integer("t.id"),
  name: field.text("t.name"),
  description: field.text("t.description"),
  revoked: field.flag("t.revoked"),
  created_at: field.instant("t.created_at"),
  scopes: field.derived(["t.scopes"], "array of string", ([scopes]) => String(scopes).split(" ")),
  user_id: field.integer("t.user_id"),
  last_used_at: field.instant("t.last_used_at"),
  active: field.derived(
    ["t.revoked", "t.expires_at"],
    "boolean",
    ([revoked, expires], { now }) =>
      revoked === 0 && (expires === null || String(expires) > dayOf(now)),
  ),
  expires_at: field.date("t.expires_at"),
};

/** An impersonation token without its secret. */
export const impersonationFields = {
  ...tokenFields,
  impersonation: field.flag("t.impersonation"),
};

/** The secret, which only the response that creates a token has. */
export const secretField = field.embedded("token", "string", "null");
