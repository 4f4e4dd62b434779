import type { Person } from "../../core/access/caller.ts";
import {
  VISIBILITY_NAMES,
  VISIBILITY_WORDS,
  type Visibility,
} from "../../core/access/visibility.ts";
import { forbidden, invalid } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import type { Reader } from "../../store/port.ts";
import { type ApplicationSettings, find } from "./queries.ts";

/** How large artifacts may be, in mebibytes: larger ones than a gibibyte are not taken. */
export const artifactsSize = param.integer({ min: 1, max: 1024 });

/** Checks that nobody but administrators changes how large artifacts may be. @throws ApiError 403 */
export function requireSizeRight(
  { admin }: Pick<Person, "admin">,
  wanted: number | null | undefined,
  current: unknown,
): void {
  if (!admin && wanted !== undefined && wanted !== current) throw forbidden();
}

/** The visibility levels in a stored setting. */
export const levelsOf = (stored: unknown): Visibility[] => {
  const words = String(stored).split(",");
  return VISIBILITY_NAMES.filter((name) => words.includes(name));
};

/** Whether users who are no administrators may not use a visibility level, and this is one. */
export function isRestricted(
  { restricted_visibility_levels }: ApplicationSettings,
  { admin }: Pick<Person, "admin">,
  level: number,
): boolean {
  const word = VISIBILITY_WORDS[level];
  return !admin && word !== undefined && levelsOf(restricted_visibility_levels).includes(word);
}

/**
 * Checks that somebody may give something a visibility level.
 *
 * @param level `undefined` if it stays as it is
 * @throws ApiError 400 in GitLab's words
 */
export async function requireUnrestricted(
  db: Reader,
  caller: Pick<Person, "admin">,
  level: number | undefined,
): Promise<void> {
  if (level === undefined || !isRestricted(await find(db), caller, level)) return;
  const word = VISIBILITY_WORDS[level] as Visibility;
  const name = word.charAt(0).toUpperCase() + word.slice(1);
  throw invalid({
    visibility_level: [`${name} has been restricted by your GitLab administrator`],
  });
}
