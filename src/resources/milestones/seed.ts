import * as v from "valibot";
import {
  day,
  type InstantSeed,
  instant,
  oneOf,
  SeedError,
  type SeededSource,
  type Seeding,
  seedList,
  type Word,
} from "../../core/seeding.ts";
import { updateRow } from "../../store/update.ts";
import * as milestones from "./queries.ts";

/** A milestone of a seed. */
export interface MilestoneSeed {
  title: string;
  description?: string | undefined;
  state?: Word<"active" | "closed"> | undefined;
  /** A day. */
  start_date?: string | undefined;
  /** A day. */
  due_date?: string | undefined;
  created_at?: InstantSeed;
}

/** The milestones of a group or project. */
export const milestonesPart = seedList({
  entries: {
    title: v.string(),
    description: v.optional(v.string()),
    state: v.optional(oneOf(["active", "closed"]), "active"),
    start_date: v.optional(day),
    due_date: v.optional(day),
    created_at: instant,
  },
  counted: "milestones",
  async insert({ db }, milestone, source: SeededSource) {
    const { state, created_at: at = source.createdAt } = milestone;
    const id = await milestones.insert(db, source, milestone, at);
    if (state !== "active") await updateRow(db, "milestones", id, { state }, at);
  },
});

const known = new WeakMap<SeededSource, Map<string, number>>();

/**
 * The id of a milestone that a project's record has; each is looked up once.
 *
 * @param title of a milestone of the project or of a group above it; `undefined` for none
 * @throws SeedError if there is none with this title
 */
export async function milestoneIdOf(
  { db }: Seeding,
  project: SeededSource,
  title: string | undefined,
): Promise<number | undefined> {
  if (title === undefined) return undefined;
  const ids = known.get(project) ?? new Map<string, number>();
  known.set(project, ids);
  const id = ids.get(title) ?? (await milestones.findFor(db, project, { title }))?.id;
  if (id === undefined) throw new SeedError(`${project.fullPath} has no milestone ${title}`);
  ids.set(title, id);
  return id;
}
