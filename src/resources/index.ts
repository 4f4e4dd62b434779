import type { Resource } from "../core/resource.ts";
import { approvalResource } from "./approvals/index.ts";
import { auditEventResource } from "./audit-events/index.ts";
import { awardEmojiResource } from "./award-emoji/index.ts";
import { badgeResource } from "./badges/index.ts";
import { boardResource } from "./boards/index.ts";
import { branchResource } from "./branches/index.ts";
import { commitResource } from "./commits/index.ts";
import { dependencyResource } from "./dependencies/index.ts";
import { discussionResource } from "./discussions/index.ts";
import { draftNoteResource } from "./draft-notes/index.ts";
import { eventResource } from "./events/index.ts";
import { fileResource } from "./files/index.ts";
import { groupResource } from "./groups/index.ts";
import { issueLinkResource } from "./issue-links/index.ts";
import { issueResource } from "./issues/index.ts";
import { deployKeyResource, sshKeyResource } from "./keys/index.ts";
import { labelResource } from "./labels/index.ts";
import { memberResource } from "./members/index.ts";
import { mergeRequestResource } from "./merge-requests/index.ts";
import { metaResource } from "./meta/index.ts";
import { milestoneResource } from "./milestones/index.ts";
import { noteResource } from "./notes/index.ts";
import { notificationSettingsResource } from "./notification-settings/index.ts";
import { projectResource } from "./projects/index.ts";
import { protectedBranchResource, protectedTagResource } from "./protected-refs/index.ts";
import { repositoryResource } from "./repositories/index.ts";
import { resourceEventResource } from "./resource-events/index.ts";
import { reviewerResource } from "./reviewers/index.ts";
import { scimResource } from "./scim/index.ts";
import { snippetResource } from "./snippets/index.ts";
import { tagResource } from "./tags/index.ts";
import { timeTrackingResource } from "./time-tracking/index.ts";
import { todoResource } from "./todos/index.ts";
import { impersonationTokenResource, personalTokenResource } from "./tokens/index.ts";
import { userResource } from "./users/index.ts";
import { wikiResource } from "./wikis/index.ts";

/** All resources of the REST API, by folder name. A new resource is added here. */
export const resources: readonly Resource[] = [
  approvalResource,
  auditEventResource,
  awardEmojiResource,
  badgeResource,
  boardResource,
  branchResource,
  commitResource,
  dependencyResource,
  discussionResource,
  draftNoteResource,
  eventResource,
  fileResource,
  groupResource,
  issueLinkResource,
  issueResource,
  deployKeyResource,
  sshKeyResource,
  labelResource,
  memberResource,
  mergeRequestResource,
  metaResource,
  milestoneResource,
  noteResource,
  notificationSettingsResource,
  projectResource,
  repositoryResource,
  protectedBranchResource,
  protectedTagResource,
  resourceEventResource,
  reviewerResource,
  scimResource,
  snippetResource,
  tagResource,
  timeTrackingResource,
  todoResource,
  impersonationTokenResource,
  personalTokenResource,
  userResource,
  wikiResource,
];
