import { hasRole, type Role } from "./roles.ts";

/** The features that a project can disable, or keep for its members. */
export const FEATURES = [
  "environments",
  "issues",
  "jobs",
  "merge_requests",
  "package_registry",
  "releases",
  "repository",
  "snippets",
  "wiki",
] as const;
export type Feature = (typeof FEATURES)[number];

/** Who uses a feature of a project, as its column says: nobody, everybody who sees the project, or only its members. */
export const FEATURE_LEVELS = { disabled: 0, enabled: 1, private: 2 } as const;

/** The role in which members use a feature that is only for them, as in GitLab; private projects may ask for more. */
export const memberRole = (feature: Feature): Role =>
  OF_REPORTERS.has(feature) ? "reporter" : "guest";

const OF_REPORTERS: ReadonlySet<Feature> = new Set([
  "environments",
  "merge_requests",
  "package_registry",
]);

/** The features that the caller may use with a level in a project. @param levels the columns of the features */
export function usableFeatures(
  levels: Readonly<Record<`${Feature}_enabled`, number>>,
  level: number,
): readonly Feature[] {
  return FEATURES.filter((feature) => {
    const set = levels[`${feature}_enabled`];
    const isPrivate = set === FEATURE_LEVELS.private;
    return isPrivate ? hasRole({ level }, memberRole(feature)) : set === FEATURE_LEVELS.enabled;
  });
}

/** A group or project, of which the caller may use all or some features. */
interface WithFeatures {
  readonly features: readonly Feature[];
  /** Whether it can't be changed. */
  readonly archived: boolean;
}

/** Whether the caller could add or change something with a feature of a project. */
export function isWritable(source: WithFeatures, feature: Feature): boolean {
  return !source.archived && source.features.includes(feature);
}

/** What a route declares about the features of projects. */
interface FeatureRules {
  readonly isReading: boolean;
  readonly repository?: true;
  readonly features?: readonly Feature[];
  readonly whenDisabled?: "refuse" | "leave out";
  readonly whenArchived?: "refuse" | "allow";
}

/**
 * Whether the caller may use one of a route's features in a project, and takes changes of features and code: archived ones don't. As
 * in GitLab, this applies to administrators, too.
 */
export function hasFeature(source: WithFeatures, route: FeatureRules): boolean {
  const { isReading, repository, features, whenDisabled, whenArchived } = route;
  if (!features && !repository && whenArchived !== "refuse") return true;
  const has = (feature: Feature) => source.features.includes(feature);
  const isOn =
    (!repository || has("repository")) &&
    (!features || (isReading && whenDisabled === "leave out") || features.some(has));
  const isFrozen = source.archived && !isReading && whenArchived !== "allow";
  return isOn && !isFrozen;
}
