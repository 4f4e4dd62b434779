import { forbidden } from "../errors.ts";
import type { Source } from "./source.ts";

/** The features a project can disable. */
export const FEATURES = ["issues", "merge_requests", "snippets", "wiki"] as const;
export type Feature = (typeof FEATURES)[number];

/** The part of a project that a route belongs to. */
export interface Part {
  /** The part is available while one of these features is enabled. */
  readonly areas: readonly Feature[];
  /** Whether the route makes changes that others see. */
  readonly writes: boolean;
  /** Whether disabled features are left out of the answer instead of refused. */
  readonly leavesOut: boolean;
}

/** Features of the parts of projects, by the part's word in paths. Other routes also work in archived projects. */
const PARTS: Readonly<Record<string, readonly Feature[]>> = {
  issues: ["issues"],
  labels: ["issues", "merge_requests"],
  merge_requests: ["merge_requests"],
  milestones: ["issues", "merge_requests"],
  snippets: ["snippets"],
  wikis: ["wiki"],
};

/** Actions that affect only the caller. */
const PERSONAL = /\/(subscribe|unsubscribe|todo)$/;

/**
 * The part of a project that a route belongs to, by its path; `undefined` for the project itself, its members, badges
 * and the like, and for routes outside of projects.
 */
export function partOf({ method, path }: { method: string; path: string }): Part | undefined {
  const word = /^\/projects\/:id\/(\w+)/.exec(path)?.[1] ?? "";
  const areas = PARTS[word];
  if (!areas) return undefined;
  const reads = method === "GET";
  return { areas, writes: !reads && !PERSONAL.test(path), leavesOut: reads && word === "issues" };
}

/** Whether anyone at all can add or change something in an area of a project. */
export function isWritable(source: Source, area: Feature): boolean {
  return !source.archived && source.features.includes(area);
}

/**
 * Checks that a part of a project is enabled, and refuses changes to archived projects. As in GitLab, this applies to
 * administrators, too.
 *
 * @throws ApiError 403
 */
export function requirePart(source: Source, { areas, writes, leavesOut }: Part): void {
  const isOn = leavesOut || areas.some((area) => source.features.includes(area));
  if (!isOn || (writes && source.archived)) throw forbidden();
}
