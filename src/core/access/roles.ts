/** Access levels, with GitLab's numbers. */
export const ROLES = {
  guest: 10,
  reporter: 20,
  developer: 30,
  maintainer: 40,
  owner: 50,
} as const;
export type Role = keyof typeof ROLES;

/** Whether somebody has at least a role. Only abilities and what routes declare ask so. */
export const hasRole = ({ level }: { readonly level: number }, role: Role): boolean =>
  level >= ROLES[role];

/** The names of the roles, from the lowest. */
export const ROLE_NAMES = Object.keys(ROLES) as Role[];

/** The role of an access level, if it has one. */
export function roleOf(accessLevel: number): Role | undefined {
  return ROLE_NAMES.find((role) => ROLES[role] === accessLevel);
}
