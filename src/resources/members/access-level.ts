import { roleOf } from "../../core/access/roles.ts";
import { property, valueType } from "../../graphql/declare.ts";

/** An access level as GraphQL shows it. */
export const ACCESS_LEVEL = valueType("AccessLevel", "An access level, by number and by name.", {
  integerValue: property("Int"),
  stringValue: property("String"),
  humanAccess: property("String"),
});

/** The value of {@link ACCESS_LEVEL}; administrators without a membership have none. */
export function accessLevelOf(level: number) {
  const role = roleOf(level);
  const word = role?.toUpperCase() ?? "NO_ACCESS";
  const human = role && `${role[0]?.toUpperCase()}${role.slice(1)}`;
  return { integerValue: role ? level : 0, stringValue: word, humanAccess: human ?? "No access" };
}
