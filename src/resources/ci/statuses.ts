import type { JobStatus } from "../../ci/index.ts";

/** The status of a job or pipeline. */
export type Status = JobStatus;

/** All statuses, in the order of a pipeline's life. */
export const STATUS_NAMES = [
  "created",
  "waiting_for_resource",
  "preparing",
  "waiting_for_callback",
  "pending",
  "running",
  "success",
  "failed",
  "canceling",
  "canceled",
  "skipped",
  "manual",
  "scheduled",
] as const satisfies readonly Status[];

/** Statuses of what has run to its end. */
export const FINISHED: readonly Status[] = ["success", "failed", "canceled"];

/** Statuses of what is on its way, and can be canceled. */
export const CANCELABLE: readonly Status[] = [
  "created",
  "waiting_for_resource",
  "preparing",
  "waiting_for_callback",
  "pending",
  "running",
  "manual",
  "scheduled",
];
