import { invalid, notFound, refused } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Context, Json, routes } from "../../core/resource.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { takeIteration } from "../ended-milestones.ts";
import * as changes from "./changes.ts";
import { stateOf } from "./json.ts";
import * as iterations from "./queries.ts";
import { remove } from "./removal.ts";

// GitLab changes iterations in GraphQL only: mutations perform these routes, which have no address.

/** Who may change the iterations of a group, as in GitLab. */
const common = { role: "reporter", tier: "premium" } as const;
const cadences = routes({ source: "group", path: "/iteration_cadences" });
const single = routes({ source: "group", path: "/iterations" });

const settings = {
  title: param.optional(param.anyText({ max: 255 })),
  description: param.clearable(param.anyText({ max: param.LONG_TEXT })),
  start_date: param.clearable(param.date()),
  duration_in_weeks: param.clearable(param.integer()),
  iterations_in_advance: param.clearable(param.integer()),
  automatic: param.optional(param.boolean()),
  active: param.optional(param.boolean()),
  roll_over: param.optional(param.boolean()),
};
const cadenceId = { cadence_id: param.recordId() };
const iterationId = { iteration_id: param.recordId() };

const NEW = {
  title: "",
  description: null,
  start_date: null,
  duration_in_weeks: null,
  iterations_in_advance: null,
  automatic: 1,
  active: 1,
  roll_over: 0,
};

/** The columns of a cadence, of which some are set. */
const columnsIn = (
  input: param.Input<typeof settings>,
  before: changes.CadenceColumns,
): changes.CadenceColumns =>
  Object.fromEntries(
    Object.keys(NEW).map((name) => {
      const sent = input[name as keyof typeof settings];
      const was = before[name as keyof typeof NEW];
      return [name, sent === undefined ? was : typeof sent === "boolean" ? Number(sent) : sent];
    }),
  ) as unknown as changes.CadenceColumns;

async function findCadence({
  db,
  source,
  input,
}: Pick<Context, "source"> & { db: Reader; input: { cadence_id: number } }) {
  const found = await iterations.findCadence(db, source.id, input.cadence_id);
  if (!found) throw notFound();
  return found;
}

async function findIteration({
  db,
  source,
  input,
}: Pick<Context, "source"> & { db: Reader; input: { iteration_id: number } }) {
  const found = await iterations.find(db, source.id, input.iteration_id);
  if (!found) throw notFound();
  return found;
}

const days = {
  title: param.clearable(param.anyText({ max: 255 })),
  description: param.clearable(param.anyText({ max: param.LONG_TEXT })),
  start_date: param.clearable(param.date()),
  due_date: param.clearable(param.date()),
};

/** The title as it is stored: a blank one is none. */
const titleOf = (title: string | null | undefined) => title?.trim() || null;

/** @throws ApiError 400 if one of the days is not given */
function requireDays<D extends string | null | undefined>({
  start_date,
  due_date,
}: {
  readonly start_date?: D;
  readonly due_date?: D;
}) {
  if (start_date && due_date) return { start_date, due_date };
  const blank = ["can't be blank"];
  throw invalid({
    ...(!start_date && { start_date: blank }),
    ...(!due_date && { due_date: blank }),
  });
}

/** The cadence of a new iteration: the one named, or that of the group for those without one, which is made if there is none. */
async function cadenceFor(
  context: Pick<Context, "source" | "now"> & { readonly db: Database },
  id: number | undefined,
  start: string,
): Promise<iterations.Cadence> {
  const { db, source, now } = context;
  const found =
    id === undefined
      ? await iterations.findDefaultCadence(db, source.id)
      : await iterations.findCadence(db, source.id, id);
  if (found) return found;
  if (id !== undefined) throw notFound();
  await changes.requireRoomForCadence(db, source.id);
  const [group] = await db.rows("select name from namespaces where id = ?", [source.id]);
  const columns = { ...NEW, title: `${group?.[0]} Iterations`, start_date: start, automatic: 0 };
  const added = await insertRow(db, "iteration_cadences", {
    ...columns,
    namespace_id: source.id,
    created_at: now,
    updated_at: now,
  });
  return { ...columns, id: added, namespace_id: source.id };
}

/** What mutations perform. Each answers the id of what it changed. */
export const ACTIONS = {
  createCadence: cadences.post("", {
    ...common,
    summary: "Create a cadence of iterations",
    input: settings,
    handle: async (context) => {
      const { db, source, input, viewer, now } = context;
      await changes.requireRoomForCadence(db, source.id);
      const wanted = columnsIn(input, NEW);
      const columns = await changes.checkedCadence(db, undefined, wanted, viewer.today);
      const of = { namespace_id: source.id, created_at: now, updated_at: now };
      const id = await insertRow(db, "iteration_cadences", { ...columns, ...of });
      await changes.schedule(db, { ...columns, id, namespace_id: source.id }, now);
      return new Json({ id });
    },
  }),
  changeCadence: cadences.put("/:cadence_id", {
    ...common,
    summary: "Change a cadence of iterations",
    input: { ...cadenceId, ...settings },
    handle: async (context) => {
      const { db, input, viewer, now } = context;
      const found = await findCadence(context);
      const wanted = columnsIn(input, found);
      const columns = await changes.checkedCadence(db, found, wanted, viewer.today);
      await updateRow(db, "iteration_cadences", found.id, { ...columns }, now);
      await changes.schedule(db, { ...found, ...columns }, now, true);
      return new Json({ id: found.id });
    },
  }),
  removeCadence: cadences.del("/:cadence_id", {
    ...common,
    summary: "Delete a cadence with its iterations, of which issues are taken out",
    input: cadenceId,
    handle: async (context) => {
      const { db, now } = context;
      const found = await findCadence(context);
      const ids = (await iterations.ofCadence(db, found.id)).map(({ id }) => id);
      await remove(db, ids, now, (id) => takeIteration(context, id));
      await db.run("delete from iteration_cadences where id = ?", [found.id]);
      return undefined;
    },
  }),
  create: single.post("", {
    ...common,
    summary: "Create an iteration in a cadence without automation",
    input: { cadence_id: param.optional(param.integer()), ...days },
    handle: async (context) => {
      const { db, input, viewer, now } = context;
      const span = requireDays(input);
      const title = titleOf(input.title);
      const cadence = await cadenceFor(context, input.cadence_id, span.start_date);
      if (cadence.automatic) {
        throw refused(
          "Iterations cannot be manually added to cadences that use automatic scheduling",
        );
      }
      await changes.requireFitting(db, cadence.id, { ...span, title }, viewer.today);
      const { description } = input;
      const added = { ...span, title, description };
      const id = await iterations.insert(db, cadence, added, viewer.today, now);
      await iterations.number(db, cadence.id);
      return new Json({ id });
    },
  }),
  change: single.put("/:iteration_id", {
    ...common,
    summary: "Change an iteration",
    input: { ...iterationId, ...days },
    handle: async (context) => {
      const { db, input, viewer, now } = context;
      const found = await findIteration(context);
      const { description, start_date = found.start_date, due_date = found.due_date } = input;
      const span = requireDays({ start_date, due_date });
      const title = input.title === undefined ? found.title : titleOf(input.title);
      await changes.requireFitting(
        db,
        found.cadence_id,
        { ...span, title },
        viewer.today,
        found.id,
      );
      const ended = Number(span.due_date < viewer.today);
      await updateRow(db, "iterations", found.id, { title, description, ...span, ended }, now);
      await iterations.number(db, found.cadence_id);
      return new Json({ id: found.id });
    },
  }),
  remove: single.del("/:iteration_id", {
    ...common,
    summary: "Delete an iteration, of which issues are taken out",
    input: iterationId,
    handle: async (context) => {
      const { db, source, viewer, now } = context;
      const found = await findIteration(context);
      const cadence = await iterations.findCadence(db, source.id, found.cadence_id);
      if (cadence?.automatic) {
        throw refused("Deleting iterations from automatic iteration cadences is not allowed.");
      }
      const last = (await iterations.ofCadence(db, found.cadence_id)).at(-1);
      const isClosed = stateOf(found.start_date, found.due_date, viewer.today) === "closed";
      if (!isClosed && last?.id !== found.id) {
        throw refused(
          "upcoming/current iterations can't be deleted unless they are the last one in the cadence",
        );
      }
      await remove(db, [found.id], now, (id) => takeIteration(context, id));
      await iterations.number(db, found.cadence_id);
      return undefined;
    },
  }),
};
