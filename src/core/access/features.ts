/** The features a project can disable. */
export const FEATURES = ["issues", "jobs", "merge_requests", "snippets", "wiki"] as const;
export type Feature = (typeof FEATURES)[number];

/** A group or project, of which all or some features are enabled. */
interface WithFeatures {
  readonly features: readonly Feature[];
  /** Whether it can't be changed. */
  readonly archived: boolean;
}

/** Whether anyone at all can add or change something with a feature of a project. */
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
 * Whether a project has one of a route's features enabled, and takes changes of features and code: archived ones don't. As
 * in GitLab, this applies to administrators, too.
 */
export function hasFeature(source: WithFeatures, route: FeatureRules): boolean {
  const { isReading, repository, features, whenDisabled, whenArchived } = route;
  if (!features && !repository && whenArchived !== "refuse") return true;
  const isOn =
    !features ||
    (isReading && whenDisabled === "leave out") ||
    features.some((feature) => source.features.includes(feature));
  const isFrozen = source.archived && !isReading && whenArchived !== "allow";
  return isOn && !isFrozen;
}
