import { forbidden, invalid, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { Json, type Route } from "../../core/resource.ts";
import { parseDuration } from "../issuables/duration.ts";
import { routesBelow } from "../issuables/places.ts";
import { numberOf } from "../issuables/routes.ts";
import { findIssuable } from "../issuables/rules.ts";
import type { IssuableType } from "../issuables/type.ts";
import { ISSUABLE_TYPES } from "../issuables/types.ts";
import { mayRemoveTime } from "./abilities.ts";
import * as changes from "./changes.ts";

interface TimelogRoutes {
  /** Adds an entry; it gives the entry's `id`. */
  create: Route;
  /** Removes an entry: for users their own ones, for maintainers all. */
  destroy: Route;
}

function routesOf(type: IssuableType): TimelogRoutes {
  const { path, parameter, one } = type;
  const at = `/${path}/:${parameter}/timelogs` as const;
  const { post, del } = routesBelow(type, "");
  const number = numberOf(type);
  return {
    create: post(at, {
      summary: `Add time spent on ${one}`,
      role: "reporter",
      input: {
        ...number,
        time_spent: param.anyText(),
        summary: param.optional(param.anyText()),
        spent_at: param.optional(param.instant()),
      },
      handle: async (context) => {
        const { input, now } = context;
        const { time_spent, summary, spent_at: spentAt } = input;
        const found = await findIssuable(context, type, input[parameter]);
        const seconds = parseDuration(time_spent);
        if (seconds === undefined) {
          const problem = "Time spent must be formatted correctly. For example: 1h 30m.";
          throw invalid({ base: [problem] });
        }
        if (seconds === 0) throw invalid({ base: ["Time spent can't be zero."] });
        if (spentAt !== undefined && spentAt > now) {
          throw invalid({ base: ["Spent at can't be a future date and time."] });
        }
        const id = await changes.spend(context, type, found, { seconds, summary, spentAt });
        return new Json({ id });
      },
    }),
    destroy: del(`${at}/:timelog_id`, {
      summary: `Remove time spent on ${one}`,
      input: { ...number, timelog_id: param.recordId() },
      handle: async (context) => {
        const { db, input } = context;
        const issuable = await findIssuable(context, type, input[parameter]);
        const found = await db.one<{ user_id: number | null }>(
          `select user_id from timelogs where id = ? and ${type.column} = ?`,
          [input.timelog_id, issuable.id],
        );
        if (!found) throw notFound();
        if (!mayRemoveTime(found, context)) throw forbidden();
        await changes.remove(context, type, issuable, input.timelog_id);
        return undefined;
      },
    }),
  };
}

/** Entries of time spent, for GraphQL: routes by the class name of what time was spent on. */
export const timelogRoutes: ReadonlyMap<string, TimelogRoutes> = new Map(
  ISSUABLE_TYPES.map((type) => [type.className, routesOf(type)]),
);
