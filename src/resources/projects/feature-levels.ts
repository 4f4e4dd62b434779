import { FEATURE_LEVELS, type Feature } from "../../core/access/features.ts";

/** The attributes that say who uses a feature, and the columns of the features. */
export const ACCESS_LEVELS = {
  issues_access_level: "issues_enabled",
  merge_requests_access_level: "merge_requests_enabled",
  wiki_access_level: "wiki_enabled",
  builds_access_level: "jobs_enabled",
  snippets_access_level: "snippets_enabled",
} as const satisfies Record<string, `${Feature}_enabled`>;

/** The values of {@link ACCESS_LEVELS}, from the lowest. */
export const FEATURE_USERS = ["disabled", "private", "enabled"] as const;

/** The columns of features by the attributes that say who uses them. What says something else is left out. */
export function featureColumns(
  said: Readonly<Record<string, unknown>>,
): Partial<Record<`${Feature}_enabled`, number>> {
  const known: Readonly<Record<string, number>> = FEATURE_LEVELS;
  return Object.fromEntries(
    Object.entries(ACCESS_LEVELS).flatMap(([name, column]) => {
      const level = known[String(said[name])];
      return level === undefined ? [] : [[column, level]];
    }),
  );
}
