import type { Heir } from "../../core/access/owner.ts";
import { invalid } from "../../core/errors.ts";
import type { Database } from "../../store/port.ts";
import * as labels from "./queries.ts";

/**
 * The ids of a group's or project's labels with these names, which may be those of a group above it. Missing labels are
 * created.
 *
 * @throws ApiError 400 for a name that no label can have
 */
export async function labelsNamed(
  db: Database,
  source: Heir,
  names: readonly string[],
  now: number,
): Promise<number[]> {
  for (const name of names) {
    const problems = labels.nameProblems(name);
    if (problems) throw invalid({ labels: problems });
  }
  const known = await labels.findNamed(db, source, names);
  const ids: number[] = [];
  // Sorted, so that transactions creating the same labels cannot deadlock.
  for (const name of [...names].sort()) {
    ids.push(known.get(name) ?? (await labels.findOrInsert(db, source, name, now)));
  }
  return ids;
}
