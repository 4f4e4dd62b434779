import { FEATURE_LEVELS, type Feature } from "../../core/access/features.ts";
import { invalid } from "../../core/errors.ts";
import type { Reader } from "../../store/port.ts";

/** The attributes that say who uses a feature, and the columns of the features. */
export const ACCESS_LEVELS = {
  issues_access_level: "issues_enabled",
  merge_requests_access_level: "merge_requests_enabled",
  repository_access_level: "repository_enabled",
  releases_access_level: "releases_enabled",
  environments_access_level: "environments_enabled",
  package_registry_access_level: "package_registry_enabled",
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

/** Features that need the code, and their attributes, in GitLab's order. */
const WITH_CODE = [
  ["merge_requests_enabled", "merge_requests_access_level"],
  ["jobs_enabled", "builds_access_level"],
] as const;

/**
 * Checks that what needs the code of a project is no more visible than the code.
 *
 * @param changed the columns that have been written
 * @throws ApiError 400
 */
export async function requireLevelsOfCode(
  db: Reader,
  projectId: number,
  changed: Readonly<Record<string, unknown>>,
): Promise<void> {
  const columns = ["repository_enabled", ...WITH_CODE.map(([column]) => column)];
  if (columns.every((column) => changed[column] === undefined)) return;
  const [[code, ...others] = []] = await db.rows(
    `select ${columns.join(", ")} from projects where id = ?`,
    [projectId],
  );
  const rank = (level: unknown) =>
    FEATURE_USERS.findIndex((name) => FEATURE_LEVELS[name] === level);
  const refused = WITH_CODE.filter((_, at) => rank(others[at]) > rank(code));
  if (refused.length === 0) return;
  const reason = "cannot have higher visibility level than repository access level";
  throw invalid(
    Object.fromEntries(refused.map(([, name]) => [`project_feature.${name}`, [reason]])),
  );
}
