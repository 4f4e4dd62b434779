import * as audit from "../../audit/log.ts";
import { isTimeZone, nextRun } from "../../ci/index.ts";
import { type AttributeErrors, invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { paginate } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import { insertRow } from "../../store/insert.ts";
import type { Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { MOST } from "./frozen.ts";
import { migrations } from "./table.ts";

const freezePeriod = presenter({
  id: field.integer("fp.id"),
  freeze_start: field.text("fp.freeze_start"),
  freeze_end: field.text("fp.freeze_end"),
  cron_timezone: field.text("fp.cron_timezone"),
  created_at: field.instant("fp.created_at"),
  updated_at: field.instant("fp.updated_at"),
});

const id = { freeze_period_id: param.recordId() };
const attributes = {
  freeze_start: param.unlessBlank(param.trimmed()),
  freeze_end: param.unlessBlank(param.trimmed()),
  cron_timezone: param.unlessBlank(param.trimmed()),
};

type In = Pick<Context, "source"> & { readonly db: Reader };

/** Checks expressions of cron, which must come true some day, and the name of a time zone. @throws ApiError 400 */
function requireTimes(input: param.Input<typeof attributes>, now: number): void {
  const errors: AttributeErrors = {};
  for (const name of ["freeze_start", "freeze_end"] as const) {
    const cron = input[name];
    const isPossible = cron === undefined || nextRun(cron, "UTC", new Date(now)) !== undefined;
    if (!isPossible) errors[name] = ["is invalid syntax"];
  }
  const { cron_timezone: zone } = input;
  if (zone !== undefined && !isTimeZone(zone)) errors["cron_timezone"] = ["is invalid syntax"];
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

/** Finds a freeze period of the project. @throws ApiError 404 */
async function find({ db, source }: In, periodId: number) {
  const found = await db.one<{ id: number; updated_at: number }>(
    "select id, updated_at from freeze_periods where project_id = ? and id = ?",
    [source.id, periodId],
  );
  if (!found) throw notFound("Freeze Period");
  return found;
}

async function rowOf({ db, presenter: { columns } }: In & Pick<Context, "presenter">, of: number) {
  const rows = await db.rows(`select ${columns} from freeze_periods fp where fp.id = ?`, [of]);
  return rows[0] as Value[];
}

const { del, get, list, post, put } = routes({
  source: "project",
  path: "/freeze_periods",
  features: ["jobs"],
});
const reading = { role: "reporter", presenter: freezePeriod } as const;
const writing = { role: "maintainer", presenter: freezePeriod } as const;
const target = ({ source }: Pick<Context, "source">) => ({ target: source.fullPath });

/** When projects are not to be deployed. */
export const freezePeriodResource: Resource = {
  name: "Freeze periods",
  migrations,
  routes: [
    list("", {
      ...reading,
      summary: "List the freeze periods of a project, oldest first",
      handle: ({ db, presenter: shown, page, source }) =>
        paginate(db, shown, page, {
          from: "freeze_periods fp where fp.project_id = ?",
          values: [source.id],
          order: "fp.created_at, fp.id",
        }),
    }),
    get("/:freeze_period_id", {
      ...reading,
      summary: "Get a freeze period",
      input: id,
      handle: async (context) =>
        rowOf(context, (await find(context, context.input.freeze_period_id)).id),
    }),
    post("", {
      ...writing,
      summary: "Add a freeze period",
      input: { ...attributes, freeze_start: param.trimmed(), freeze_end: param.trimmed() },
      handle: async (context) => {
        const { db, source, input, now } = context;
        requireTimes(input, now);
        const [counted] = await db.rows(
          "select count(*) from freeze_periods where project_id = ?",
          [source.id],
        );
        if ((counted as [number])[0] >= MOST) {
          throw invalid({ base: [`Maximum number of freeze periods (${MOST}) exceeded`] });
        }
        const made = await insertRow(db, "freeze_periods", {
          project_id: source.id,
          freeze_start: input.freeze_start,
          freeze_end: input.freeze_end,
          cron_timezone: input.cron_timezone ?? "UTC",
          created_at: now,
          updated_at: now,
        });
        await audit.log(context, "freeze period added", target(context));
        return rowOf(context, made);
      },
    }),
    put("/:freeze_period_id", {
      ...writing,
      summary: "Change a freeze period",
      input: { ...id, ...attributes },
      handle: async (context) => {
        const { db, input, now } = context;
        const { freeze_period_id, ...changes } = input;
        const found = await find(context, freeze_period_id);
        requireTimes(changes, now);
        await updateRow(db, "freeze_periods", found.id, changes, now);
        await audit.log(context, "freeze period changed", target(context));
        return rowOf(context, found.id);
      },
    }),
    del("/:freeze_period_id", {
      role: "maintainer",
      summary: "Remove a freeze period",
      input: id,
      handle: async (context) => {
        const found = await find(context, context.input.freeze_period_id);
        context.requireUnmodified(found.updated_at);
        await context.db.run("delete from freeze_periods where id = ?", [found.id]);
        await audit.log(context, "freeze period removed", target(context));
        return undefined;
      },
    }),
  ],
};
