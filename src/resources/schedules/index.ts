import * as v from "valibot";
import { isCron, isTimeZone } from "../../ci/index.ts";
import type { Caller } from "../../core/access/caller.ts";
import { ApiError, type AttributeErrors, forbidden, invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, Json, RawReply, type Resource, routes } from "../../core/resource.ts";
import { BRANCHES, isRefName, TAGS } from "../../git/refs.ts";
import type { Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { readingRole } from "../ci/abilities.ts";
import { MOST_INPUTS, readInputs } from "../ci/inputs.ts";
import { listedPipeline, pipelineFields } from "../ci/json.ts";
import type { GivenVariable } from "../ci/records.ts";
import { placeIn, storePipeline } from "../pipelines/create.ts";
import { limitOf } from "../plan-limits/limits.ts";
import { mayRun } from "../protected-refs/abilities.ts";
import { openRepository } from "../repositories/open.ts";
import { userSummaryFields } from "../users/json.ts";
import { VARIABLE_TYPES } from "../variables/queries.ts";
import { keyErrors } from "../variables/rules.ts";
import { mayAdminSchedule } from "./abilities.ts";
import * as schedules from "./queries.ts";
import { planOf } from "./scheduler.ts";
import { migrations, SCHEDULE_VARIABLES } from "./table.ts";

const scheduleFields = {
  id: field.integer("sc.id"),
  description: field.text("sc.description"),
  ref: field.text("sc.ref"),
  cron: field.text("sc.cron"),
  cron_timezone: field.text("sc.cron_timezone"),
  next_run_at: field.instant("sc.next_run_at"),
  active: field.flag("sc.active"),
  created_at: field.instant("sc.created_at"),
  updated_at: field.instant("sc.updated_at"),
  owner: field.nested(userSummaryFields),
};
const listedSchedule = presenter(scheduleFields);
const variable = presenter({
  variable_type: field.text("vs.variable_type"),
  key: field.text("vs.key"),
  value: field.text("vs.value"),
  raw: field.constant(false),
});
const input = presenter({
  name: field.text("si.name"),
  value: field.json("si.value", "string, number, boolean or array"),
});
const schedule = presenter({
  ...scheduleFields,
  last_pipeline: field.nested(pipelineFields),
  variables: field.omittedIfNull(
    field.embedded("variables_json", "array", "null", { items: variable.fields }),
  ),
  inputs: field.omittedIfNull(
    field.embedded("inputs_json", "array", "null", { items: input.fields }),
  ),
});

/** Variables of one schedule, at most. */
const MAX_VARIABLES = 100;

const { del, get, list, post, put } = routes({
  source: "project",
  path: "/pipeline_schedules",
  features: ["jobs"],
});

const id = { pipeline_schedule_id: param.recordId() };
const key = { key: param.anyText() };
const value = param.anyText({ max: 10_000 });

const variableType = param.optional(param.choice(VARIABLE_TYPES));
/** Values of the configuration's inputs; `destroy` takes one away. */
const inputs = param.optional(
  param.arrayOf(param.json("an object with `name` and `value`, or `name` and `destroy`"), {
    max: MOST_INPUTS,
  }),
);

const SENT_INPUT = v.object({
  name: v.string(),
  value: v.optional(v.any()),
  destroy: v.optional(v.boolean(), false),
});

/** The inputs of a schedule with those that are sent, as JSON. @throws ApiError 400 */
function withInputs(
  kept: string | null,
  sent: readonly unknown[] | undefined,
): string | null | undefined {
  if (sent === undefined) return undefined;
  const values: Record<string, unknown> = { ...schedules.inputsOf({ inputs: kept }) };
  for (const one of sent) {
    const read = v.safeParse(SENT_INPUT, one);
    if (!read.success) throw new ApiError(400, { error: "inputs is invalid" });
    const { name, value, destroy } = read.output;
    if (destroy) delete values[name];
    else values[name] = value;
  }
  return JSON.stringify(readInputs(values));
}
const refText = param.text({ max: 1024 });

type In = Pick<Context, "source"> & { db: Reader; input: { pipeline_schedule_id: number } };

/** @throws ApiError 404 */
async function findOne({ db, source, input }: In): Promise<schedules.Schedule> {
  const found = await schedules.find(db, source.id, input.pipeline_schedule_id);
  if (!found) throw notFound("Pipeline Schedule");
  return found;
}

/** Finds a schedule that only its owner changes. @throws ApiError 403 or 404 */
async function findOwn(context: In & { caller: Caller }): Promise<schedules.Schedule> {
  const found = await findOne(context);
  if (found.owner_id !== context.caller.id) throw forbidden();
  return found;
}

const shown = ({ variable_type, key: name, value: text }: GivenVariable) => ({
  variable_type,
  key: name,
  value: text,
  raw: false,
});

async function rowOf(
  {
    db,
    presenter: presenting,
    source,
    caller,
    secrets,
  }: Pick<Context, "presenter" | "source" | "secrets"> & { db: Reader; caller: Caller },
  scheduleId: number,
) {
  const row = await schedules.row(db, presenting, scheduleId);
  const found = (await schedules.find(db, source.id, scheduleId)) as schedules.Schedule;
  if (mayAdminSchedule(found, { source, caller })) {
    const variables = await schedules.variablesOf(db, secrets, scheduleId);
    row[presenting.at("variables")] = JSON.stringify(variables.map(shown));
    const values = Object.entries(schedules.inputsOf(found));
    row[presenting.at("inputs")] = JSON.stringify(values.map(([name, value]) => ({ name, value })));
  }
  return row;
}

/** The variable of a schedule with a key. @throws ApiError 404 */
async function requireVariable(
  { db, secrets }: Pick<Context, "secrets"> & { db: Reader },
  scheduleId: number,
  name: string,
): Promise<GivenVariable> {
  const variables = await schedules.variablesOf(db, secrets, scheduleId);
  const found = variables.find((one) => one.key === name);
  if (!found) throw notFound("Pipeline Schedule Variable");
  return found;
}

/** @throws ApiError 400 */
function requireTimes(sent: { cron?: string | undefined; cron_timezone?: string | undefined }) {
  const errors: AttributeErrors = {};
  const wrong = ["is invalid syntax"];
  if (sent.cron !== undefined && !isCron(sent.cron)) errors["cron"] = wrong;
  if (sent.cron_timezone !== undefined && !isTimeZone(sent.cron_timezone)) {
    errors["cron_timezone"] = wrong;
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

/**
 * The full name of a branch or tag for which the caller may run pipelines; what is not there yet keeps the name that it
 * was given, as in GitLab.
 *
 * @throws ApiError 400 if there are a branch and a tag, or neither can have that name; 403
 */
async function requireRef(
  preparing: Parameters<typeof openRepository>[0],
  ref: string,
): Promise<string> {
  const { refs } = await openRepository(preparing, [ref]);
  const [name, another] = [ref, BRANCHES + ref, TAGS + ref].filter(
    (one) => (one.startsWith(BRANCHES) || one.startsWith(TAGS)) && refs.has(one),
  );
  if (another !== undefined) throw invalid({ ref: ["is ambiguous"] });
  const wanted = ref.startsWith("refs/") ? ref : BRANCHES + ref;
  if (name === undefined && !isRefName(wanted)) throw invalid({ ref: ["is invalid"] });
  const { db, source } = preparing;
  if (!(await mayRun(db, source, name ?? wanted))) throw forbidden();
  return name ?? ref;
}

/** Schedules of pipelines. */
export const scheduleResource: Resource = {
  name: "Pipeline schedules",
  migrations,
  sealed: [SCHEDULE_VARIABLES],
  routes: [
    list("", {
      summary: "List the pipeline schedules of a project",
      role: readingRole,
      input: { scope: param.optional(param.choice(["active", "inactive"])) },
      presenter: listedSchedule,
      handle: ({ db, presenter: presenting, page, source, input: { scope } }) =>
        schedules.list(
          db,
          presenting,
          page,
          source.id,
          scope === undefined ? undefined : scope === "active",
        ),
    }),
    get("/:pipeline_schedule_id", {
      summary: "Get a pipeline schedule, with its newest pipeline",
      role: readingRole,
      input: id,
      presenter: schedule,
      handle: async (context) => rowOf(context, (await findOne(context)).id),
    }),
    list("/:pipeline_schedule_id/pipelines", {
      summary: "List the pipelines that a schedule has started, the oldest first",
      role: readingRole,
      input: id,
      presenter: listedPipeline,
      handle: async (context) => {
        const { id: scheduleId } = await findOne(context);
        return schedules.listPipelines(context.db, context.presenter, context.page, scheduleId);
      },
    }),
    post("", {
      summary: "Add a pipeline schedule",
      role: "developer",
      input: {
        description: param.text(),
        ref: refText,
        cron: param.text(),
        cron_timezone: param.optional(param.text()),
        active: param.optional(param.boolean()),
        inputs,
      },
      presenter: schedule,
      prepare: async (input, preparing) => {
        requireTimes(input);
        return requireRef(preparing, input.ref);
      },
      handle: async (context) => {
        const { db, source, caller, input, prepared: ref, now } = context;
        const most = await limitOf(db, "ci_pipeline_schedules");
        if ((await schedules.count(db, source.id)) >= most) {
          const reason = `Maximum number of pipeline schedules (${most}) exceeded`;
          throw new ApiError(400, { message: { base: [reason] } });
        }
        const made = await schedules.insert(
          db,
          {
            project_id: source.id,
            owner_id: caller.id,
            description: input.description,
            ref,
            cron: input.cron,
            cron_timezone: input.cron_timezone ?? "UTC",
            active: input.active ?? true,
            inputs: withInputs(null, input.inputs) ?? null,
          },
          now,
        );
        return rowOf(context, made);
      },
    }),
    put("/:pipeline_schedule_id", {
      summary: "Change one's own pipeline schedule",
      role: "developer",
      input: {
        ...id,
        description: param.optional(param.text()),
        ref: param.optional(refText),
        cron: param.optional(param.text()),
        cron_timezone: param.optional(param.text()),
        active: param.optional(param.boolean()),
        inputs,
      },
      presenter: schedule,
      prepare: async (input, preparing) => {
        requireTimes(input);
        return input.ref === undefined ? undefined : requireRef(preparing, input.ref);
      },
      handle: async (context) => {
        const { db, input, prepared: ref, now } = context;
        const found = await findOwn(context);
        const { cron = found.cron, cron_timezone = found.cron_timezone } = input;
        const changes = {
          description: input.description,
          ref,
          cron,
          cron_timezone,
          active: input.active === undefined ? undefined : Number(input.active),
          inputs: withInputs(found.inputs, input.inputs),
          next_run_at: schedules.nextOf({ cron, cron_timezone }, now),
        };
        await updateRow(db, "pipeline_schedules", found.id, changes, now);
        return rowOf(context, found.id);
      },
    }),
    post("/:pipeline_schedule_id/take_ownership", {
      alsoAnswers: { 200: "the same" },
      summary:
        "Become the owner of a pipeline schedule, whose pipelines then are the caller's; 200 for its owner",
      role: "developer",
      input: id,
      presenter: schedule,
      handle: async (context) => {
        const { db, source, caller, view, now } = context;
        const found = await findOne(context);
        if (!mayAdminSchedule(found, { source, caller })) throw forbidden();
        if (found.owner_id === caller.id) {
          const text = context.presenter.write(await rowOf(context, found.id), view);
          return new RawReply(200, { "content-type": "application/json" }, text);
        }
        await updateRow(db, "pipeline_schedules", found.id, { owner_id: caller.id }, now);
        return rowOf(context, found.id);
      },
    }),
    post("/:pipeline_schedule_id/play", {
      summary: "Run the pipeline of a schedule now, as the caller's",
      role: "developer",
      input: id,
      examples: [{ message: "201 Created" }],
      prepare: async (input, preparing) => {
        const { source, caller } = preparing;
        const found = await findOne({ ...preparing, input });
        const creation = await planOf(placeIn(preparing, source, caller.id), found);
        return { found, creation };
      },
      handle: async ({ db, secrets, prepared: { found, creation }, now }) => {
        const pipelineId = await storePipeline(db, secrets, creation, now);
        await schedules.noteRun(db, found.id, pipelineId);
        return new Json({ message: "201 Created" });
      },
    }),
    del("/:pipeline_schedule_id", {
      summary: "Remove a pipeline schedule",
      role: "developer",
      input: id,
      handle: async (context) => {
        const found = await findOne(context);
        if (!mayAdminSchedule(found, context)) throw forbidden();
        context.requireUnmodified(found.updated_at);
        await schedules.remove(context.db, found.id);
        return undefined;
      },
    }),
    post("/:pipeline_schedule_id/variables", {
      summary: "Add a variable to one's own pipeline schedule",
      role: "developer",
      input: { ...id, ...key, value, variable_type: variableType },
      presenter: variable,
      handle: async (context) => {
        const { db, secrets, input } = context;
        const { id: scheduleId } = await findOwn(context);
        const errors = keyErrors(input.key);
        if (errors.length > 0) throw invalid({ key: errors });
        const others = await schedules.variablesOf(db, secrets, scheduleId);
        if (others.some((other) => other.key === input.key)) {
          throw invalid({ key: ["has already been taken"] });
        }
        if (others.length >= MAX_VARIABLES) {
          throw invalid({ base: [`A schedule has ${MAX_VARIABLES} variables at most`] });
        }
        const variable_type = input.variable_type ?? "env_var";
        const made = { key: input.key, value: input.value, variable_type };
        await schedules.setVariable(db, secrets, scheduleId, made);
        return [variable_type, made.key, made.value];
      },
    }),
    get("/:pipeline_schedule_id/variables/:key", {
      summary: "Get a variable of a pipeline schedule",
      role: "developer",
      input: { ...id, ...key },
      presenter: variable,
      handle: async (context) => {
        const found = await findOne(context);
        if (!mayAdminSchedule(found, context)) throw forbidden();
        const { key, value, variable_type } = await requireVariable(
          context,
          found.id,
          context.input.key,
        );
        return [variable_type, key, value];
      },
    }),
    put("/:pipeline_schedule_id/variables/:key", {
      summary: "Change a variable of one's own pipeline schedule",
      role: "developer",
      input: { ...id, ...key, value: param.optional(value), variable_type: variableType },
      presenter: variable,
      handle: async (context) => {
        const { db, secrets, input } = context;
        const { id: scheduleId } = await findOwn(context);
        const found = await requireVariable(context, scheduleId, input.key);
        const changed = {
          key: found.key,
          value: input.value ?? found.value,
          variable_type: input.variable_type ?? found.variable_type,
        };
        await schedules.setVariable(db, secrets, scheduleId, changed);
        return [changed.variable_type, changed.key, changed.value];
      },
    }),
    del("/:pipeline_schedule_id/variables/:key", {
      summary: "Remove a variable of a pipeline schedule; the answer is the variable",
      role: "developer",
      status: 202,
      input: { ...id, ...key },
      presenter: variable,
      handle: async (context) => {
        const { db, input } = context;
        const { id: scheduleId, ...found } = await findOne(context);
        if (!mayAdminSchedule(found, context)) throw forbidden();
        const removed = await requireVariable(context, scheduleId, input.key);
        await schedules.removeVariable(db, scheduleId, removed.key);
        return [removed.variable_type, removed.key, removed.value];
      },
    }),
  ],
};
