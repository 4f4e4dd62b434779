/** Access levels, with GitLab's numbers. */
export const ROLES = {
  guest: 10,
  reporter: 20,
  developer: 30,
  maintainer: 40,
  owner: 50,
} as const;
export type Role = keyof typeof ROLES;

/** The role of an access level, if it has one. */
export function roleOf(accessLevel: number): Role | undefined {
  return (Object.keys(ROLES) as Role[]).find((role) => ROLES[role] === accessLevel);
}
