import type { IssuableNotification } from "../jobs/notifications.ts";
import type { Flag } from "../resources/notification-settings/queries.ts";

/** Something that people get mail about. */
export interface MailReason {
  /** What it is called in docs/notifications.md. */
  readonly when: string;
  /** What its author did, as a mail says it before what it is about. */
  readonly verb: string;
  /** The setting that chooses it at the level `custom`. */
  readonly flag?: Flag;
  /** Why the users that it is about are told: as assignees or reviewers, also at the level `mention`, or because they take part. */
  readonly about?: "assignee" | "reviewer" | "participating";
  /** Whether nobody else is told, neither those who take part nor those who subscribed or watch. */
  readonly isPersonal?: true;
  /** Whether a mail does not say whose doing it is. */
  readonly isPassive?: true;
  /** Whether users who watch the project are told only if they take part, as in GitLab. */
  readonly isForParticipants?: true;
}

/** Events that people get mail about, by their action and the type of their target. */
export const EVENTS: Readonly<Record<string, MailReason>> = {
  "created Issue": { when: "an issue is opened", verb: "opened", flag: "new_issue" },
  "closed Issue": { when: "an issue is closed", verb: "closed", flag: "close_issue" },
  "reopened Issue": { when: "an issue is reopened", verb: "reopened", flag: "reopen_issue" },
  "created MergeRequest": {
    when: "a merge request is opened",
    verb: "opened",
    flag: "new_merge_request",
  },
  "pushed null": {
    when: "a merge request gets new commits by a push",
    verb: "pushed new commits to",
    flag: "push_to_merge_request",
  },
  "closed MergeRequest": {
    when: "a merge request is closed",
    verb: "closed",
    flag: "close_merge_request",
  },
  "reopened MergeRequest": {
    when: "a merge request is reopened",
    verb: "reopened",
    flag: "reopen_merge_request",
  },
  "merged MergeRequest": {
    when: "a merge request is merged",
    verb: "merged",
    flag: "merge_merge_request",
  },
  "approved MergeRequest": { when: "a merge request is approved", verb: "approved" },
  "commented Note": {
    when: "an issue, merge request or snippet is commented on",
    verb: "commented on",
    flag: "new_note",
  },
};

/** Notices about issues and merge requests. */
export const NOTIFICATIONS: Readonly<Record<IssuableNotification["notice"], MailReason>> = {
  issue_reassigned: {
    when: "an issue gets other assignees",
    verb: "changed the assignees of",
    flag: "reassign_issue",
    about: "assignee",
  },
  issue_due: {
    when: "an open issue is due tomorrow",
    verb: "Due soon:",
    flag: "issue_due",
    isPassive: true,
    isForParticipants: true,
  },
  request_reassigned: {
    when: "a merge request gets other assignees",
    verb: "changed the assignees of",
    flag: "reassign_merge_request",
    about: "assignee",
  },
  unapproved: {
    when: "an approval of a merge request is taken back",
    verb: "took back their approval of",
  },
  review_requested: {
    when: "a user is asked for a review of a merge request, or asked again",
    verb: "asked you to review",
    about: "reviewer",
    isPersonal: true,
  },
  reviewers_changed: {
    when: "a merge request gets other reviewers",
    verb: "changed the reviewers of",
    about: "reviewer",
  },
  unmergeable: {
    when: "a merge request that waits to be merged gets conflicts",
    verb: "There are now conflicts in",
    about: "participating",
    isPersonal: true,
    isPassive: true,
  },
  auto_merge_aborted: {
    when: "a merge request no longer waits to be merged, because of a push or missing rights",
    verb: "Automatic merging has ended for",
    about: "participating",
    isPersonal: true,
    isPassive: true,
  },
};

/** The end of a pipeline, as mails tell it. */
interface End {
  /** What it is called in docs/notifications.md. */
  readonly when: string;
  /** What the subject of the mail calls the pipeline. */
  readonly title: string;
  /** What the mail says of the pipeline. */
  readonly said: string;
  /** The settings that choose it at the level `custom`. No setting of the contract is about fixed ones alone. */
  readonly flags: readonly Flag[];
}

/** How a pipeline has ended. */
export type Outcome = "failed" | "fixed" | "success";

/** Ends of pipelines. */
export const PIPELINES: Readonly<Record<Outcome, End>> = {
  failed: {
    when: "a pipeline has failed",
    title: "Failed pipeline",
    said: "has failed",
    flags: ["failed_pipeline"],
  },
  fixed: {
    when: "a pipeline has succeeded after the last one of its branch or tag had failed",
    title: "Fixed pipeline",
    said: "has succeeded again",
    flags: ["failed_pipeline", "success_pipeline"],
  },
  success: {
    when: "another pipeline has succeeded",
    title: "Successful pipeline",
    said: "has succeeded",
    flags: ["success_pipeline"],
  },
};
