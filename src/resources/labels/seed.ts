import * as v from "valibot";
import { type SeededSource, type Seeding, seedList } from "../../core/seeding.ts";
import * as labels from "./queries.ts";

/** A label of a seed. */
export interface LabelSeed {
  name: string;
  /** Such as `#d9534f`. */
  color?: string | undefined;
  description?: string | undefined;
}

/** The labels of a group or project. */
export const labelsPart = seedList({
  entries: {
    name: v.string(),
    color: v.optional(v.pipe(v.string(), v.regex(/^#[0-9a-fA-F]{6}$/)), labels.DEFAULT_COLOR),
    description: v.optional(v.string()),
  },
  counted: "labels",
  async insert({ db }, label, source: SeededSource) {
    await labels.insert(db, source, label, source.createdAt);
  },
});

const known = new WeakMap<SeededSource, Map<string, number>>();

/**
 * The ids of labels that a project's records have. Missing labels are created in the project. Looking many up together
 * takes one query instead of one per record, since each is looked up once.
 */
export async function labelIdsOf(
  { db, now }: Seeding,
  project: SeededSource,
  names: readonly string[],
): Promise<number[]> {
  const ids = known.get(project) ?? new Map<string, number>();
  known.set(project, ids);
  const wanted = [...new Set(names)];
  const unknown = wanted.filter((name) => !ids.has(name));
  if (unknown.length > 0) {
    const found = await labels.findNamed(db, project, unknown);
    for (const name of unknown) {
      const label = { name, color: labels.DEFAULT_COLOR };
      ids.set(name, found.get(name) ?? (await labels.insert(db, project, label, now)));
    }
  }
  return wanted.map((name) => ids.get(name) as number);
}
