import * as v from "valibot";
import { LONG_TEXT } from "../../core/input.ts";
import { dayOf } from "../../core/time.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader } from "../../store/port.ts";
import { ArchiveError, type Place } from "../exports/format.ts";
import * as imports from "./queries.ts";
import type { SourceRecord } from "./records.ts";
import { flagIn, idIn, instantIn, listIn, numberIn, textIn, toldIn } from "./rows.ts";
import type { Bringing } from "./running.ts";
import { SourceError, type Told } from "./source.ts";

/** Only GraphQL tells of cadences, and in which one an iteration is. */
const CADENCES = `query ($path: ID!, $after: String) { group(fullPath: $path) {
  iterationCadences(first: 100, includeAncestorGroups: false) { nodes {
    id title description startDate durationInWeeks iterationsInAdvance automatic active rollOver } }
  iterations(first: 100, after: $after, includeAncestors: false) {
    nodes { id iterationCadence { id } } pageInfo { hasNextPage endCursor } } } }`;

/** Pages of iterations that are read. */
const MOST_PAGES = 1000;

/** The cadences of a group, by the ids there of the iterations in them. */
type Cadences = ReadonlyMap<number, Told>;

/** Reads them; without any, all iterations become those of one cadence. */
async function cadencesOf({ running, entity }: Bringing): Promise<Cadences> {
  const found = new Map<number, Told>();
  let after: string | null = null;
  try {
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const variables: object = { path: entity.source_full_path, after };
      const { group } = await running.source.graphql(CADENCES, variables);
      const cadences = new Map(
        listIn(toldIn(toldIn(group)["iterationCadences"])["nodes"]).map((one) => [one["id"], one]),
      );
      const { nodes, pageInfo } = toldIn(toldIn(group)["iterations"]);
      for (const { id, iterationCadence } of listIn(nodes)) {
        const cadence = cadences.get(toldIn(iterationCadence)["id"]);
        const number = Number(/\/(\d+)$/.exec(String(id))?.[1]);
        if (cadence && Number.isSafeInteger(number)) found.set(number, cadence);
      }
      after = textIn(toldIn(pageInfo)["endCursor"]);
      if (toldIn(pageInfo)["hasNextPage"] !== true || after === null) break;
    }
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
  }
  return found;
}

/** Brings the iterations of a group, with their cadences. */
export async function bringIterations(bringing: Bringing, { id: group }: Told): Promise<void> {
  let cadences: Promise<Cadences> | undefined;
  const query = { include_ancestors: false };
  await bringing.list("iterations", `${bringing.path}/iterations`, query, async (told) => {
    // Older servers give those of the groups above, too.
    if (told["group_id"] !== group) return undefined;
    cadences ??= cadencesOf(bringing);
    return iterationOf(bringing, told, (await cadences).get(numberIn(told["id"]) ?? 0));
  });
}

const title = v.nullable(v.pipe(v.string(), v.maxLength(255)));
const description = v.nullable(v.pipe(v.string(), v.maxLength(LONG_TEXT)));
const whole = v.nullable(v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(100)));
const day = v.pipe(v.string(), v.isoDate());
const ITERATION = v.object({
  iid: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  sequence: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
  ...{ title, description, start_date: day, due_date: day },
});
const CADENCE = v.object({
  title,
  description,
  durationInWeeks: whole,
  iterationsInAdvance: whole,
});

function iterationOf(bringing: Bringing, told: Told, cadence: Told | undefined): SourceRecord {
  const parsed = v.safeParse(ITERATION, { sequence: 0, ...told });
  if (!parsed.success || parsed.output.start_date > parsed.output.due_date) {
    throw new ArchiveError("it is no iteration that there can be here");
  }
  const { running, place } = bringing;
  const at = instantIn(told["created_at"]) ?? running.now();
  return {
    ...{ kind: "iterations", key: String(told["id"]), title: textIn(told["title"]), rows: [] },
    instead: async (db) =>
      insertRow(db, "iterations", {
        ...parsed.output,
        namespace_id: place.id,
        cadence_id: await cadenceHere(db, bringing, cadence, at),
        ended: Number(parsed.output.due_date < dayOf(running.now())),
        ...{ created_at: at, updated_at: instantIn(told["updated_at"]) ?? at },
      }),
  };
}

/** The id here of a cadence, which comes with its first iteration. */
async function cadenceHere(
  db: Database,
  { place }: Bringing,
  told: Told = {},
  at: number,
): Promise<number> {
  const key = String(told["id"] ?? "");
  const known = (await imports.recordsOf(db, place, "iteration_cadences", [key])).get(key);
  if (known) return known;
  const parsed = v.safeParse(CADENCE, told);
  const given = parsed.success ? parsed.output : undefined;
  const [group] = await db.rows("select name from namespaces where id = ?", [place.id]);
  const start = textIn(told["startDate"])?.slice(0, 10) ?? null;
  const isAutomatic = given?.durationInWeeks != null && start !== null;
  const id = await insertRow(db, "iteration_cadences", {
    namespace_id: place.id,
    title: given?.title ?? `${group?.[0]} Iterations`,
    description: given?.description ?? null,
    start_date: v.is(day, start) ? start : null,
    duration_in_weeks: given?.durationInWeeks ?? null,
    iterations_in_advance: given?.iterationsInAdvance ?? null,
    automatic: isAutomatic ? flagIn(told["automatic"]) : 0,
    active: told["active"] === false ? 0 : 1,
    roll_over: flagIn(told["rollOver"]),
    ...{ created_at: at, updated_at: at },
  });
  await imports.note(db, place, "iteration_cadences", key, id);
  return id;
}

/** A query for the iterations that were brought to the groups above a project, by their ids there. */
const BROUGHT = `select r.source_key, r.local_id from bulk_import_records r
  where r.kind = 'iterations' and r.namespace_id in (
    select a.ancestor_id from namespace_ancestors a join projects p on p.namespace_id = a.namespace_id where p.id = ?)`;

/** Whether the groups above a project have iterations that were brought. */
export async function hasIterations(db: Reader, { id }: Place): Promise<boolean> {
  return (await db.rows(`${BROUGHT} limit 1`, [id])).length > 0;
}

/**
 * Puts an issue into its iteration, and notes into which it was put before.
 *
 * @param people whom events name, by their ids there
 */
export async function placeInIterations(
  db: Database,
  place: Place,
  id: number,
  { told, events, people }: Iterating,
): Promise<void> {
  const here = async (iteration: unknown) => {
    const key = idIn(iteration);
    if (key === null) return undefined;
    const [row] = await db.rows(`${BROUGHT} and r.source_key = ?`, [place.id, String(key)]);
    return row?.[1] as number | undefined;
  };
  const current = await here(told["iteration"]);
  if (current !== undefined) {
    await db.run("update issues set iteration_id = ? where id = ?", [current, id]);
  }
  for (const event of events) {
    const iteration_id = await here(event["iteration"]);
    const { action } = event;
    if (iteration_id === undefined || (action !== "add" && action !== "remove")) continue;
    await insertRow(db, "resource_iteration_events", {
      issue_id: id,
      user_id: people.get(idIn(event["user"]) ?? 0) ?? null,
      iteration_id,
      action,
      created_at: instantIn(event["created_at"]) ?? 0,
    });
  }
}

/** What is told of the iterations of an issue. */
export interface Iterating {
  readonly told: Told;
  readonly events: readonly Told[];
  readonly people: ReadonlyMap<number, number>;
}
