import type { Condition } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";

/** Members of all groups of a text that are mentioned at most. */
const MOST_MEMBERS = 1000;

/**
 * A query for the ids of the users that names in a text mention: those who are called so, and the direct members of groups
 * with such a path, unless a group can't be mentioned.
 *
 * @param names in lower case
 * @param today `YYYY-MM-DD`: memberships that expire on or before it have ended
 */
export function mentionedUsers(names: readonly string[], today: string): Condition {
  const among = placeholders(names);
  return {
    sql: `select id from users where lower(username) in (${among.sql})
      union select user_id from (
        select m.user_id from namespaces n join members m on m.namespace_id = n.id
        where lower(n.full_path) in (${among.sql}) and n.kind = 'group'
          and coalesce(instr(n.kept_settings, '"mentions_disabled":true'), 0) = 0
          and (m.expires_at is null or m.expires_at > ?)
        order by m.user_id limit ${MOST_MEMBERS}) as members_of_groups`,
    values: [...among.values, ...among.values, today],
  };
}
