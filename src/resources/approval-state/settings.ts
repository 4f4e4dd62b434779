/** What projects, and groups above them, say about approvals, and the value that is stricter: a group's is in force then. */
export const STRICT = {
  merge_requests_author_approval: 0,
  merge_requests_disable_committers_approval: 1,
  disable_overriding_approvers_per_merge_request: 1,
  reset_approvals_on_push: 1,
  require_password_to_approve: 1,
} as const;
/** A setting of groups, too. */
export type SharedSetting = keyof typeof STRICT;

/** Whether a setting is one of groups, too. */
export const isShared = (name: string): name is SharedSetting => Object.hasOwn(STRICT, name);

/** SQL that says whether a group above a project `p` is strict, so that the project can't say otherwise. */
export const isLocked = (name: SharedSetting): string =>
  `exists (select 1 from namespace_ancestors sa join group_approval_settings gs on gs.namespace_id = sa.ancestor_id
    where sa.namespace_id = p.namespace_id and gs.${name} = ${STRICT[name]})`;

/** SQL of what counts for a project `p`: its own setting, unless that {@link isLocked}. */
export const inForce = (name: SharedSetting): string =>
  `case when ${isLocked(name)} then ${STRICT[name]} else p.${name} end`;
