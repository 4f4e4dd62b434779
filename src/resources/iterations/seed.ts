import * as v from "valibot";
import { optionsOf } from "../../core/options.ts";
import { day, SeedError, type SeededSource, type Seeding, seedList } from "../../core/seeding.ts";
import { dayOf } from "../../core/time.ts";
import { insertRow } from "../../store/insert.ts";
import { schedule } from "./changes.ts";
import * as iterations from "./queries.ts";

/** An iteration of a seed. */
interface IterationSeed {
  title?: string | undefined;
  description?: string | undefined;
  /** A day. */
  start_date: string;
  /** A day. */
  due_date: string;
}

/** A cadence of a seed, with its iterations. */
export interface IterationCadenceSeed {
  title: string;
  description?: string | undefined;
  /** The day on which automation starts. */
  start_date?: string | undefined;
  /** Default `false`. */
  automatic?: boolean | undefined;
  /** Needed if it is automatic, as `iterations_in_advance` and `start_date` are. */
  duration_in_weeks?: number | undefined;
  iterations_in_advance?: number | undefined;
  /** Default `true`. */
  active?: boolean | undefined;
  /** Whether open issues go on to the next iteration. Default `false`. */
  roll_over?: boolean | undefined;
  /** Those of a cadence that is not automatic. */
  iterations?: IterationSeed[] | undefined;
}

/** The cadences of a group. */
export const iterationCadencesPart = seedList({
  entries: {
    title: v.string(),
    description: v.optional(v.string()),
    start_date: v.optional(day),
    automatic: v.optional(v.boolean(), false),
    duration_in_weeks: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(4))),
    iterations_in_advance: v.optional(
      v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(10)),
    ),
    active: v.optional(v.boolean(), true),
    roll_over: v.optional(v.boolean(), false),
    iterations: v.optional(
      v.array(
        optionsOf({
          title: v.optional(v.string()),
          description: v.optional(v.string()),
          start_date: day,
          due_date: day,
        }),
      ),
      [],
    ),
  },
  counted: "iteration_cadences",
  async insert({ db, now }, seeded, group: SeededSource) {
    const { iterations: given, ...cadence } = seeded;
    const { automatic, start_date, duration_in_weeks, iterations_in_advance } = cadence;
    const named = `iteration cadence ${cadence.title} of ${group.fullPath}`;
    if (automatic && !(start_date && duration_in_weeks && iterations_in_advance)) {
      throw new SeedError(
        `the ${named} needs start_date, duration_in_weeks and iterations_in_advance`,
      );
    }
    const byDays = [...given].sort((one, other) => (one.start_date < other.start_date ? -1 : 1));
    for (const [place, { start_date: start, due_date: due }] of byDays.entries()) {
      const before = byDays[place - 1];
      if (due < start || (before && before.due_date >= start)) {
        throw new SeedError(`the ${named} has iterations that overlap`);
      }
    }
    const columns = {
      title: cadence.title,
      description: cadence.description ?? null,
      start_date: cadence.start_date ?? null,
      duration_in_weeks: cadence.duration_in_weeks ?? null,
      iterations_in_advance: cadence.iterations_in_advance ?? null,
      automatic: Number(cadence.automatic),
      active: Number(cadence.active),
      roll_over: Number(cadence.roll_over),
      namespace_id: group.id,
    };
    const at = { created_at: group.createdAt, updated_at: group.createdAt };
    const id = await insertRow(db, "iteration_cadences", { ...columns, ...at });
    for (const iteration of given) {
      await iterations.insert(db, { ...columns, id }, iteration, dayOf(now), group.createdAt);
    }
    await iterations.number(db, id);
    await schedule(db, { ...columns, id }, now);
  },
});

/**
 * The id of the iteration that a project's issue is in.
 *
 * @param title of an iteration of the project's group or one above it; `undefined` for none
 * @throws SeedError if there is none with this title
 */
export async function iterationIdOf(
  { db }: Seeding,
  project: SeededSource,
  title: string | undefined,
): Promise<number | undefined> {
  if (title === undefined) return undefined;
  const found = await iterations.findFor(db, project, { title });
  if (!found) throw new SeedError(`${project.fullPath} has no iteration ${title}`);
  return found.id;
}
