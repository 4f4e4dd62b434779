import * as show from "../../core/present.ts";
import { dayOf } from "../../core/time.ts";

/** A token without its secret (gitlab-facts §9). */
export const tokenFields = {
  id: show.integer("t.id"),
  name: show.text("t.name"),
  revoked: show.flag("t.revoked"),
  created_at: show.instant("t.created_at"),
  scopes: show.derived(["t.scopes"], "array of string", ([scopes]) => String(scopes).split(" ")),
  user_id: show.integer("t.user_id"),
  active: show.derived(
    ["t.revoked", "t.expires_at"],
    "boolean",
    ([revoked, expires], { now }) =>
      revoked === 0 && (expires === null || String(expires) > dayOf(now)),
  ),
  expires_at: show.date("t.expires_at"),
  impersonation: show.flag("t.impersonation"),
};
