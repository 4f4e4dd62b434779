import type { Ability, Asking } from "../../core/access/abilities.ts";
import { isWritable } from "../../core/access/features.ts";
import { hasRole } from "../../core/access/roles.ts";
import { mayReadCode, type Source } from "../../core/access/source.ts";
import type { ApprovalState } from "../approval-state/state.ts";
import type { IssuableType } from "./type.ts";

/** What rights depend on of an issue or merge request. */
export interface IssuableSubject {
  readonly author_id: number | null;
  /** 1 if the caller is an assignee. */
  readonly assigned: number;
  /** 0 if the caller may not even read it. Default: 1. */
  readonly visible?: number;
}

type Typed = Pick<IssuableType, "prefix">;

/** The role with which people change what others have written. */
const ADMIN = { issue: "reporter", merge_request: "developer" } as const;

/** Whether the caller may plan: set labels, milestones, assignees and the like. */
export const mayPlan = (source: Pick<Source, "level">): boolean => hasRole(source, "reporter");

/** Whether the caller may change, by their role, what others have written. */
export const mayAdmin =
  ({ prefix }: Typed): Ability =>
  (_, { source }) =>
    !source.archived && hasRole(source, ADMIN[prefix]);

const isTheirs = ({ author_id, assigned }: IssuableSubject, { caller }: Asking): boolean =>
  caller !== undefined && (author_id === caller.id || assigned === 1);

/** Whether the caller may change an issue or merge request: as its author, as an assignee, or by role. */
export const mayUpdate =
  (type: Typed): Ability<IssuableSubject> =>
  (issuable, asking) =>
    issuable.visible !== 0 &&
    !asking.source.archived &&
    (isTheirs(issuable, asking) || mayAdmin(type)(issuable, asking));

/** Whether the caller may put an issue below another one, or take it away: members who may change it. */
export const mayAdminParentLink: Ability<IssuableSubject> = (issue, asking) =>
  hasRole(asking.source, "guest") && mayUpdate({ prefix: "issue" })(issue, asking);

/** Whether the caller may put something below the epics of a group: its members, as in GitLab. */
export const mayAdminEpicRelation = (group: Source): boolean =>
  !group.archived && hasRole(group, "guest");

/** Whether the caller may delete an issue or merge request. */
export const mayDelete = (source: Source): boolean => hasRole(source, "owner");

/**
 * Whether the caller may write notes, and give emoji. Project members continue a locked discussion, whatever their role;
 * snippets and commits can't be locked.
 */
export const mayCreateNote: Ability<{ readonly discussion_locked: number }> = (
  { discussion_locked },
  { source, caller },
) =>
  caller !== undefined && !source.archived && (discussion_locked === 0 || hasRole(source, "guest"));

/** Whether the caller may read and write internal notes. */
export const mayMarkAsInternal = (source: Source): boolean => hasRole(source, "reporter");

/** Whether the caller may say when something was written or changed, as imports do. */
export const maySetTimes = (source: Source): boolean => hasRole(source, "owner");

/** Whether the caller may link an issue to others, move it on boards, or copy others to its project. */
export const mayAdminIssues = (source: Source): boolean =>
  isWritable(source, "issues") && hasRole(source, ADMIN.issue);

/** Whether the caller may open merge requests into a project from its forks. */
export const mayCreateMergeRequestIn = (source: Source): boolean =>
  source.viewer.caller !== undefined && isWritable(source, "merge_requests") && mayReadCode(source);

/** Whether the caller may see the messages of commits that merging makes: they may have addresses that people don't show. */
export const mayReadMergeMessages = (source: Source): boolean =>
  hasRole(source, ADMIN.merge_request);

const MERGE_REQUESTS = { prefix: "merge_request" } as const;

/** Whether the caller may approve merge requests like this one: members who may change it. */
export const mayApprove: Ability<IssuableSubject> = (request, asking) =>
  hasRole(asking.source, "guest") && mayUpdate(MERGE_REQUESTS)(request, asking);

/** Whether the caller can approve a merge request now: they have not done so, and their approval would count. */
export const mayApproveNow: Ability<
  IssuableSubject & {
    readonly state: string;
    readonly approval: Pick<ApprovalState, "approvals" | "excluded">;
  }
> = (request, asking) =>
  mayApprove(request, asking) &&
  request.state !== "merged" &&
  !request.approval.approvals.some(({ userId }) => userId === asking.caller?.id) &&
  !request.approval.excluded.includes(asking.caller?.id ?? 0);

/** Whether the caller may change the approval rules of a merge request, where the project lets it have some of its own. */
export const mayUpdateApprovers: Ability<IssuableSubject> = (request, asking) =>
  hasRole(asking.source, "maintainer") ||
  (isTheirs(request, asking) && hasRole(asking.source, "guest"));
