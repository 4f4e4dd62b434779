import type { Condition } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";

/**
 * A query for the approvers of rules, as `rule_id` and `user_id`: active users whom a rule names, direct members of its
 * groups, and members of the project with its roles.
 *
 * @param ruleIds at least one
 * @param today `YYYY-MM-DD`: memberships that expire on or before it have ended
 */
export function approvers(ruleIds: readonly number[], today: string): Condition {
  const among = placeholders(ruleIds);
  return {
    sql: `select ru.rule_id, ru.user_id from approval_rule_users ru
        join users v on v.id = ru.user_id and v.state = 'active' where ru.rule_id in (${among.sql})
      union
      select rg.rule_id, m.user_id from approval_rule_groups rg
        join members m on m.namespace_id = rg.namespace_id and (m.expires_at is null or m.expires_at > ?)
        join users v on v.id = m.user_id and v.state = 'active' where rg.rule_id in (${among.sql})
      union
      select ar.id, m.user_id from approval_rules ar
        join members m on m.project_id = ar.project_id and (m.expires_at is null or m.expires_at > ?)
          and ',' || ar.roles || ',' like '%,' || cast(m.access_level as text) || ',%'
        join users v on v.id = m.user_id and v.state = 'active'
        where ar.roles is not null and ar.id in (${among.sql})`,
    values: [...among.values, today, ...among.values, today, ...among.values],
  };
}
