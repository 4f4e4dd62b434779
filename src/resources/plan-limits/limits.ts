import { DEFAULT_LIMITS } from "../../ci/index.ts";
import * as param from "../../core/input.ts";
import { effective, kept, keptIn } from "../../core/kept.ts";
import type { Reader, Value } from "../../store/port.ts";

const GIBIBYTE = 1024 ** 3;
const MEBIBYTE = 1024 ** 2;

/** The plan of everybody here: limits of others are kept. */
export const DEFAULT_PLAN = "default";

const count = (initial: number) => kept(param.integer({ min: 0, max: 2 ** 53 - 1 }), initial);

/** What the limits that are in force may be at most: the server's own. */
export const OWN = {
  ci_needs_size_limit: 200,
  ci_pipeline_schedules: 100,
  dotenv_size: MEBIBYTE,
  dotenv_variables: 1000,
  generic_packages_max_file_size: GIBIBYTE,
  helm_max_file_size: 100 * MEBIBYTE,
  maven_max_file_size: 3 * GIBIBYTE,
  npm_max_file_size: 500 * MEBIBYTE,
  nuget_max_file_size: 500 * MEBIBYTE,
  pipeline_hierarchy_size: 1000,
  pypi_max_file_size: 3 * GIBIBYTE,
} as const;
export type InForce = keyof typeof OWN;

/** A limit that is in force; 0 for the server's own. */
const inForce = (name: InForce, initial: number = OWN[name]) =>
  effective(kept(param.integer({ min: 0, max: OWN[name] }), initial));

/** GitLab's limits of a plan, and what they are until they are changed. 0 sets none. */
export const planLimits = keptIn("pn.kept_settings", {
  ci_instance_level_variables: count(25),
  ci_pipeline_size: count(0),
  ci_active_jobs: count(0),
  ci_project_subscriptions: count(2),
  ci_pipeline_schedules: inForce("ci_pipeline_schedules"),
  ci_needs_size_limit: inForce("ci_needs_size_limit", DEFAULT_LIMITS.needs),
  ci_registered_group_runners: count(1000),
  ci_registered_project_runners: count(1000),
  conan_max_file_size: count(3 * GIBIBYTE),
  dotenv_size: inForce("dotenv_size", 5 * 1024),
  dotenv_variables: inForce("dotenv_variables", 20),
  enforcement_limit: count(0),
  generic_packages_max_file_size: inForce("generic_packages_max_file_size"),
  helm_max_file_size: inForce("helm_max_file_size", 5 * MEBIBYTE),
  maven_max_file_size: inForce("maven_max_file_size"),
  notification_limit: count(0),
  npm_max_file_size: inForce("npm_max_file_size"),
  nuget_max_file_size: inForce("nuget_max_file_size"),
  pipeline_hierarchy_size: inForce("pipeline_hierarchy_size"),
  pypi_max_file_size: inForce("pypi_max_file_size"),
  storage_size_limit: count(0),
  terraform_module_max_file_size: count(GIBIBYTE),
});

/** What is stored of a plan's limits, or `undefined`. */
export async function storedLimits(db: Reader, plan: string): Promise<Value | undefined> {
  const [row] = await db.rows("select kept_settings from plan_limits where plan_name = ?", [plan]);
  return row?.[0];
}

/** How much of something there may be: what the plan says, or the server's own limit where it sets none. */
export async function limitOf(db: Reader, name: InForce): Promise<number> {
  return Number(planLimits.read(await storedLimits(db, DEFAULT_PLAN))[name]) || OWN[name];
}
