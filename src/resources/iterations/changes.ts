import { type AttributeErrors, invalid } from "../../core/errors.ts";
import { dayOf } from "../../core/time.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as iterations from "./queries.ts";
import {
  type Automation,
  currentOf,
  earliestStart,
  lacking,
  nextStart,
  type Span,
  spansFrom,
} from "./schedule.ts";

/** The most cadences of a group, and the most iterations of one: lists of iterations are sorted. */
const MOST_CADENCES = 50;
const MOST_ITERATIONS = 500;

/** What can be set of a cadence. */
export type CadenceColumns = Omit<iterations.Cadence, "id" | "namespace_id">;

const period = ({ start_date, due_date }: Span) => `${inWords(start_date)} - ${inWords(due_date)}`;
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const inWords = (day: string) => {
  const [year, month, date] = day.split("-").map(Number);
  return `${MONTHS[(month as number) - 1]} ${date}, ${year}`;
};

/** What is wrong with the attributes of a cadence, in GitLab's words. */
function problemsOf(cadence: CadenceColumns): AttributeErrors {
  const { title, description, automatic, start_date } = cadence;
  const problems: AttributeErrors = {};
  if (title.trim() === "") problems["title"] = ["can't be blank"];
  if (automatic && start_date === null) problems["start_date"] = ["can't be blank"];
  for (const [name, most] of [
    ["duration_in_weeks", 4],
    ["iterations_in_advance", 10],
  ] as const) {
    const value = cadence[name];
    if (value === null && automatic) problems[name] = ["can't be blank"];
    if (value !== null && (value < 0 || value > most)) {
      problems[name] = ["is not included in the list"];
    }
  }
  if ((description ?? "").length > 5000) {
    problems["description"] = ["is too long (maximum is 5000 characters)"];
  }
  return problems;
}

/** What makes automation start anew on a day that does not fit the iterations that there are. */
function startProblemOf(
  { start_date: start, duration_in_weeks: weeks }: CadenceColumns,
  present: readonly Span[],
  today: string,
): string | undefined {
  if (start === null || !weeks) return undefined;
  const after = (which: string, span: Span) =>
    `The automation start date must come after the ${which} iteration ${period(span)}.`;
  const current = currentOf(present, today);
  if (current) return start <= current.due_date ? after("active", current) : undefined;
  const past = present.filter(({ due_date }) => due_date < today).at(-1);
  if (past && start <= past.due_date) return after("past", past);
  const earliest = earliestStart(weeks, today);
  return start < earliest
    ? `The automation start date would retroactively create a past iteration. ${earliest} is the earliest possible start date.`
    : undefined;
}

/**
 * Checks what a cadence is to be.
 *
 * @param before what it was; `undefined` of a new one
 * @returns what is stored: without automation, none of its settings are kept
 * @throws ApiError 400 with GitLab's reasons
 */
export async function checkedCadence(
  db: Reader,
  before: iterations.Cadence | undefined,
  wanted: CadenceColumns,
  today: string,
): Promise<CadenceColumns> {
  const isManualNow = wanted.automatic === 0 && before?.automatic !== 0;
  const cadence = isManualNow
    ? { ...wanted, roll_over: 0, duration_in_weeks: null, iterations_in_advance: null }
    : wanted;
  const problems = problemsOf(cadence);
  const isScheduledAnew =
    cadence.automatic === 1 &&
    (["automatic", "start_date", "duration_in_weeks"] as const).some(
      (name) => before?.[name] !== cadence[name],
    );
  if (isScheduledAnew && Object.keys(problems).length === 0) {
    const present = before ? await iterations.ofCadence(db, before.id) : [];
    const problem = startProblemOf(cadence, present, today);
    if (problem) problems["base"] = [problem];
  }
  if (Object.keys(problems).length > 0) throw invalid(problems);
  return cadence;
}

/** @throws ApiError 400 if a group has as many cadences as it may have */
export async function requireRoomForCadence(db: Reader, groupId: number): Promise<void> {
  const [row] = await db.rows("select count(*) from iteration_cadences where namespace_id = ?", [
    groupId,
  ]);
  if (Number(row?.[0]) < MOST_CADENCES) return;
  throw invalid({ base: [`Group has too many iteration cadences (maximum is ${MOST_CADENCES})`] });
}

/** How a cadence makes iterations; `undefined` if it makes none. */
const automationOf = (cadence: iterations.Cadence): Automation | undefined => {
  const { active, automatic, start_date, duration_in_weeks, iterations_in_advance } = cadence;
  const isAutomatic = active === 1 && automatic === 1 && start_date !== null;
  return isAutomatic && duration_in_weeks && iterations_in_advance
    ? { start_date, duration_in_weeks, iterations_in_advance }
    : undefined;
};

/**
 * Makes the iterations that a cadence is to have today, if it makes any.
 *
 * @param isChanged whether those to come get the days that follow from other settings
 */
export async function schedule(
  db: Database,
  cadence: iterations.Cadence,
  now: number,
  isChanged = false,
): Promise<void> {
  const automation = automationOf(cadence);
  if (!automation) return;
  const today = dayOf(now);
  let present: readonly Span[] = await iterations.ofCadence(db, cadence.id);
  if (isChanged) present = await move(db, automation, present as iterations.Iteration[], now);
  const room = MOST_ITERATIONS - present.length;
  for (const span of lacking(automation, present, today).slice(0, Math.max(0, room))) {
    await iterations.insert(db, cadence, span, today, now);
  }
  await iterations.number(db, cadence.id);
}

/** Gives the iterations to come the days that follow from the settings of their cadence. @returns all of them */
async function move(
  db: Database,
  automation: Automation,
  present: readonly iterations.Iteration[],
  now: number,
): Promise<readonly Span[]> {
  const today = dayOf(now);
  const begun = present.filter(({ start_date }) => start_date <= today);
  const coming = present.slice(begun.length);
  const first = nextStart(automation, present, today);
  const spans = spansFrom(first, automation.duration_in_weeks, coming.length);
  for (const [place, { id }] of coming.entries()) {
    await updateRow(db, "iterations", id, { ...(spans[place] as Span) }, now);
  }
  return [...begun, ...spans];
}

/**
 * Checks the days and the title of an iteration.
 *
 * @param id of one that there is already
 * @throws ApiError 400 with GitLab's reasons
 */
export async function requireFitting(
  db: Reader,
  cadenceId: number,
  { title, start_date: start, due_date: due }: Pick<iterations.Iteration, "title"> & Span,
  today: string,
  id = 0,
): Promise<void> {
  const problems: AttributeErrors = {};
  const others = (await iterations.ofCadence(db, cadenceId)).filter((one) => one.id !== id);
  if (due <= start) problems["due_date"] = ["must be greater than start date"];
  const farthest = `${Number(today.slice(0, 4)) + 500}${today.slice(4)}`;
  for (const [name, day] of Object.entries({ start_date: start, due_date: due })) {
    if (day <= farthest) continue;
    problems[name] = [...(problems[name] ?? []), "cannot be more than 500 years in the future"];
  }
  if (others.some((one) => one.start_date <= due && one.due_date >= start)) {
    problems["base"] = [
      "Dates cannot overlap with other existing Iterations within this iterations cadence",
    ];
  }
  if (title !== null && others.some((one) => one.title === title)) {
    problems["title"] = ["already being used for another iteration within this cadence."];
  }
  if (id === 0 && others.length >= MOST_ITERATIONS) {
    problems["base"] = [`Cadence has too many iterations (maximum is ${MOST_ITERATIONS})`];
  }
  if (Object.keys(problems).length > 0) throw invalid(problems);
}
