import type { Database } from "../store/port.ts";
import { MAIL } from "./mails.ts";
import { addIfRun } from "./outbox.ts";

/** What happened to an issue or merge request that people get mail about, although no feed has an event of it. */
export type IssuableNotification = (
  | {
      readonly notice: "issue_reassigned" | "issue_due";
      /** The id of the issue. */
      readonly issue: number;
    }
  | {
      readonly notice:
        | "request_reassigned"
        | "unapproved"
        | "review_requested"
        | "reviewers_changed"
        | "unmergeable"
        | "auto_merge_aborted";
      /** The id of the merge request. */
      readonly request: number;
    }
) & {
  /** Who did it; `null` for nobody, such as a push to the target branch, or the calendar. */
  readonly by: number | null;
  /** When, in epoch milliseconds. */
  readonly at: number;
  /** The users that it is about. */
  readonly about?: readonly number[];
  /** Users who are told something else instead. */
  readonly except?: readonly number[];
};

/** The end of a pipeline. */
export interface PipelineNotification {
  readonly notice: "pipeline";
  /** The id of the pipeline. */
  readonly pipeline: number;
  readonly status: "success" | "failed";
}

/** What people get mail about although it is no event. */
export type QueuedNotification = IssuableNotification | PipelineNotification;

/** Queues a notice, if there is a process that sends mail. */
export function queueNotification(
  db: Database,
  notice: QueuedNotification,
  now: number,
): Promise<void> {
  return addIfRun(db, MAIL, notice, now);
}

/** Whether what a task of the worker that sends mail says is a notice. */
export function isNotification(payload: object): payload is QueuedNotification {
  return "notice" in payload;
}
