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

/** What a job that waits for something may become. */
const LEFT_WAITING: readonly Status[] = ["pending", "skipped", "failed", "canceled"];

/**
 * What jobs with a status may become, as GitLab's may; every change is checked against it. What has ended changes only if it
 * has started a pipeline that is tried again.
 */
export const TRANSITIONS: Readonly<Record<Status, readonly Status[]>> = {
  created: [...LEFT_WAITING, "waiting_for_resource", "manual", "scheduled"],
  waiting_for_resource: LEFT_WAITING,
  preparing: LEFT_WAITING,
  waiting_for_callback: LEFT_WAITING,
  manual: ["waiting_for_resource", "pending", "failed", "canceled"],
  scheduled: ["waiting_for_resource", "pending", "manual", "failed", "canceled"],
  pending: ["running", "failed", "canceled"],
  running: ["success", "failed", "canceling", "canceled"],
  canceling: ["canceled"],
  success: ["failed", "canceled"],
  failed: ["success", "canceled"],
  canceled: ["success", "failed"],
  skipped: ["created"],
};

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
