import { forbidden } from "../errors.ts";

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
 * Checks that one of a route's features is enabled, and refuses changes of features and code of archived projects. As in
 * GitLab, this applies to administrators, too.
 *
 * @throws ApiError 403
 */
export function requireFeature(source: WithFeatures, route: FeatureRules): void {
  const { isReading, repository, features, whenDisabled, whenArchived } = route;
  if (!features && !repository && whenArchived !== "refuse") return;
  const isOn =
    !features ||
    (isReading && whenDisabled === "leave out") ||
    features.some((feature) => source.features.includes(feature));
  const isFrozen = source.archived && !isReading && whenArchived !== "allow";
  if (!isOn || isFrozen) throw forbidden();
}
