import { ROLE_NAMES, ROLES, roleOf } from "../../core/access/roles.ts";
import { enumeration, property, valueType } from "../../graphql/declare.ts";

const BY_NAME = Object.fromEntries(ROLE_NAMES.map((role) => [role.toUpperCase(), ROLES[role]]));

/** The roles that members can be given. */
export const MEMBER_LEVEL = enumeration<number>(
  "MemberAccessLevel",
  "A role that a member can be given.",
  BY_NAME,
);

/** Roles, and that somebody has none. */
export const LEVEL = enumeration<number>("AccessLevelEnum", "A role by its name.", {
  NO_ACCESS: 0,
  ...BY_NAME,
});

/** An access level as GraphQL shows it. */
export const ACCESS_LEVEL = valueType("AccessLevel", "An access level, by number and by name.", {
  integerValue: property("Int"),
  stringValue: { ...property("AccessLevelEnum"), declares: LEVEL },
  humanAccess: property("String"),
});

/** The value of {@link ACCESS_LEVEL}; administrators without a membership have none. */
export function accessLevelOf(level: number) {
  const role = roleOf(level);
  const word = role?.toUpperCase() ?? "NO_ACCESS";
  const human = role && `${role[0]?.toUpperCase()}${role.slice(1)}`;
  return { integerValue: role ? level : 0, stringValue: word, humanAccess: human ?? "No access" };
}
