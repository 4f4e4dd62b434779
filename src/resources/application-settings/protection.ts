import { ROLES } from "../../core/access/roles.ts";
import * as param from "../../core/input.ts";
import { fixed } from "../../core/kept.ts";

const maintainers = [{ access_level: ROLES.maintainer }];

/** How the default branches of new projects are protected: what `default_branch_protection` is. */
export const DEFAULT_PROTECTION = {
  allowed_to_push: maintainers,
  allow_force_push: false,
  allowed_to_merge: maintainers,
  code_owner_approval_required: false,
  developer_can_initial_push: false,
};

const levels = param.optional(
  param.arrayOf(param.object({ access_level: param.integer({ min: 0 }) })),
);
const flag = param.optional(param.boolean());
const protection = param.object({
  allowed_to_push: levels,
  allow_force_push: flag,
  allowed_to_merge: levels,
  code_owner_approval_required: flag,
  developer_can_initial_push: flag,
});

const isInForce = (sent: param.Input<NonNullable<unknown>>) =>
  Object.entries(sent).every(([name, value]) => {
    const inForce = DEFAULT_PROTECTION[name as keyof typeof DEFAULT_PROTECTION];
    return JSON.stringify(value) === JSON.stringify(inForce);
  });

/** What groups and the application say about new projects' default branches: nothing else than {@link DEFAULT_PROTECTION}. */
export const defaultProtection = fixed(protection, DEFAULT_PROTECTION, isInForce).attribute;
