import * as audit from "../../audit/log.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import type { Reader, Value } from "../../store/port.ts";
import { DEFAULT_PLAN, planLimits, storedLimits } from "./limits.ts";
import { migrations } from "./table.ts";

/** GitLab's plans. */
const PLANS = [
  DEFAULT_PLAN,
  "free",
  "bronze",
  "silver",
  "premium",
  "gold",
  "ultimate",
  "ultimate_trial",
  "ultimate_trial_paid_customer",
  "premium_trial",
  "opensource",
] as const;

const limits = presenter({ ...planLimits.fields, limits_history: field.constant({}) });

/** One row, also while nothing was ever changed. */
async function rowOf(db: Reader, plan: string): Promise<Value[]> {
  const [found] = await db.rows(
    `select ${limits.columns} from (select 1 as id) d left join plan_limits pn on pn.plan_name = ?`,
    [plan],
  );
  return found as Value[];
}

const plan_name = param.choice(PLANS);
const { get, put } = routes({ path: "/application/plan_limits" });

/** The limits of GitLab's plans, of which the default one is everybody's here. */
export const planLimitResource: Resource = {
  name: "Plan limits",
  migrations,
  routes: [
    get("", {
      summary: "Get the limits of a plan",
      access: "admin",
      input: { plan_name: param.optional(plan_name) },
      presenter: limits,
      handle: ({ db, input }) => rowOf(db, input.plan_name ?? DEFAULT_PLAN),
    }),
    put("", {
      summary: "Change the limits of a plan: those of the default one are in force",
      access: "admin",
      input: { plan_name, ...planLimits.attributes },
      presenter: limits,
      handle: async (context) => {
        const { db, now } = context;
        const { plan_name: plan, ...input } = context.input;
        const settings = await planLimits.changed(input, () => storedLimits(db, plan));
        await db.run(
          `insert into plan_limits (plan_name, kept_settings, updated_at) values (?, ?, ?)
           on conflict (plan_name) do update set kept_settings = coalesce(excluded.kept_settings, plan_limits.kept_settings),
             updated_at = excluded.updated_at`,
          [plan, settings ?? null, now],
        );
        await audit.log(context, "plan limits changed", { target: plan });
        return rowOf(db, plan);
      },
    }),
  ],
};
