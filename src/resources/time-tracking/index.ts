import { invalid } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import type { Resource, Route } from "../../core/resource.ts";
import type { Reader, Value } from "../../store/port.ts";
import { parseDuration } from "../issuables/duration.ts";
import { timeStats } from "../issuables/fields.ts";
import { routesBelow } from "../issuables/places.ts";
import { numberOf } from "../issuables/routes.ts";
import { findIssuable } from "../issuables/rules.ts";
import type { IssuableType } from "../issuables/type.ts";
import { ISSUABLE_TYPES } from "../issuables/types.ts";
import * as changes from "./changes.ts";
import { migrations } from "./table.ts";

function routesOf(type: IssuableType): Route[] {
  const { path, parameter, one } = type;
  const { get, post } = routesBelow(type, "");
  const at = `/${path}/:${parameter}` as const;
  const number = numberOf(type);
  const stats = presenter(timeStats(type.alias));
  const row = async (db: Reader, id: number) => {
    const from = `${type.table} ${type.alias} where ${type.alias}.id = ?`;
    const [found] = await db.rows(`select ${stats.columns} from ${from}`, [id]);
    return found as Value[];
  };
  return [
    get(`${at}/time_stats`, {
      summary: `Get the estimated and the spent time of ${one}`,
      access: "anyone",
      input: number,
      presenter: stats,
      handle: async (context) => {
        const { id } = await findIssuable(context, type, context.input[parameter]);
        return row(context.db, id);
      },
    }),
    post(`${at}/time_estimate`, {
      summary: `Estimate the time ${one} takes`,
      role: "reporter",
      input: { ...number, duration: param.anyText() },
      presenter: stats,
      status: 200,
      handle: async (context) => {
        const { db, input } = context;
        const found = await findIssuable(context, type, input[parameter]);
        await changes.estimate(context, type, found, parseDuration(input.duration));
        return row(db, found.id);
      },
    }),
    post(`${at}/reset_time_estimate`, {
      summary: `Remove the estimate of ${one}`,
      role: "reporter",
      input: number,
      presenter: stats,
      status: 200,
      handle: async (context) => {
        const found = await findIssuable(context, type, context.input[parameter]);
        await changes.estimate(context, type, found, 0);
        return row(context.db, found.id);
      },
    }),
    post(`${at}/add_spent_time`, {
      summary: `Add time spent on ${one}, or subtract it with a leading \`-\``,
      role: "reporter",
      input: { ...number, duration: param.anyText(), summary: param.optional(param.anyText()) },
      presenter: stats,
      handle: async (context) => {
        const { db, input } = context;
        const found = await findIssuable(context, type, input[parameter]);
        const seconds = parseDuration(input.duration);
        if (seconds === undefined) throw invalid({ duration: ["is invalid"] });
        if (seconds !== 0) {
          await changes.spend(context, type, found, { seconds, summary: input.summary });
        }
        return row(db, found.id);
      },
    }),
    post(`${at}/reset_spent_time`, {
      summary: `Take back all time spent on ${one}`,
      role: "reporter",
      input: number,
      presenter: stats,
      status: 200,
      handle: async (context) => {
        const found = await findIssuable(context, type, context.input[parameter]);
        await changes.reset(context, type, found);
        return row(context.db, found.id);
      },
    }),
  ];
}

/** The time that issues and merge requests take. */
export const timeTrackingResource: Resource = {
  name: "Time tracking",
  migrations,
  routes: ISSUABLE_TYPES.flatMap(routesOf),
};
