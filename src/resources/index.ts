import type { Resource } from "../core/resource.ts";
import { absentResource } from "./absent/index.ts";
import { accountResource, emailResource } from "./accounts/index.ts";
import { appearanceResource } from "./appearance/index.ts";
import { applicationSettingsResource } from "./application-settings/index.ts";
import { approvalResource } from "./approvals/index.ts";
import { auditEventResource } from "./audit-events/index.ts";
import { avatarResource } from "./avatars/index.ts";
import { awardEmojiResource } from "./award-emoji/index.ts";
import { badgeResource } from "./badges/index.ts";
import { boardResource } from "./boards/index.ts";
import { branchResource } from "./branches/index.ts";
import { broadcastMessageResource } from "./broadcast-messages/index.ts";
import { bulkImportResource } from "./bulk-imports/index.ts";
import { commitStatusResource } from "./commit-statuses/index.ts";
import { commitResource } from "./commits/index.ts";
import { composerPackageResource } from "./composer-packages/index.ts";
import { containerRegistryResource } from "./container-registry/index.ts";
import { countResource } from "./counts/index.ts";
import { customAttributeResource } from "./custom-attributes/index.ts";
import { dependencyResource } from "./dependencies/index.ts";
import { deployTokenResource } from "./deploy-tokens/index.ts";
import { deploymentResource } from "./deployments/index.ts";
import { discussionResource } from "./discussions/index.ts";
import { doraResource } from "./dora/index.ts";
import { draftNoteResource } from "./draft-notes/index.ts";
import { environmentResource } from "./environments/index.ts";
import { epicBoardResource } from "./epic-boards/index.ts";
import { epicResource } from "./epics/index.ts";
import { eventResource } from "./events/index.ts";
import { exportResource } from "./exports/index.ts";
import { featureFlagResource } from "./feature-flags/index.ts";
import { featureResource } from "./features/index.ts";
import { fileResource } from "./files/index.ts";
import { freezePeriodResource } from "./freeze-periods/index.ts";
import { githubImportResource } from "./github-imports/index.ts";
import { goPackageResource } from "./go-packages/index.ts";
import { gpgKeyResource } from "./gpg-keys/index.ts";
import { groupResource } from "./groups/index.ts";
import { helmPackageResource } from "./helm-packages/index.ts";
import { hierarchyResource } from "./hierarchy/index.ts";
import { hookResource } from "./hooks/index.ts";
import { integrationResource } from "./integrations/index.ts";
import { issueLinkResource } from "./issue-links/index.ts";
import { issueResource } from "./issues/index.ts";
import { iterationResource } from "./iterations/index.ts";
import { jobTokenScopeResource } from "./job-token-scope/index.ts";
import { jobResource } from "./jobs/index.ts";
import { deployKeyResource, sshKeyResource } from "./keys/index.ts";
import { labelResource } from "./labels/index.ts";
import { lintResource } from "./lint/index.ts";
import { markdownResource } from "./markdown/index.ts";
import { mavenPackageResource } from "./maven-packages/index.ts";
import { memberRoleResource } from "./member-roles/index.ts";
import { accessRequestResource, invitationResource, memberResource } from "./members/index.ts";
import { mergeRequestBlockResource } from "./merge-request-blocks/index.ts";
import { mergeRequestResource } from "./merge-requests/index.ts";
import { mergeTrainResource } from "./merge-trains/index.ts";
import { metaResource } from "./meta/index.ts";
import { metricImageResource } from "./metric-images/index.ts";
import { milestoneResource } from "./milestones/index.ts";
import { namespaceResource } from "./namespaces/index.ts";
import { noteResource } from "./notes/index.ts";
import { notificationSettingsResource } from "./notification-settings/index.ts";
import { npmPackageResource } from "./npm-packages/index.ts";
import { nugetPackageResource } from "./nuget-packages/index.ts";
import { packageResource } from "./packages/index.ts";
import { pipelineResource } from "./pipelines/index.ts";
import { placeholderResource } from "./placeholders/index.ts";
import { planLimitResource } from "./plan-limits/index.ts";
import { projectAliasResource } from "./project-aliases/index.ts";
import { projectResource } from "./projects/index.ts";
import { protectedEnvironmentResource } from "./protected-environments/index.ts";
import { protectedBranchResource, protectedTagResource } from "./protected-refs/index.ts";
import { protectionRuleResource } from "./protection-rules/index.ts";
import { pullMirrorResource } from "./pull-mirrors/index.ts";
import { pushRuleResource } from "./push-rules/index.ts";
import { pypiPackageResource } from "./pypi-packages/index.ts";
import { releaseResource } from "./releases/index.ts";
import { remoteMirrorResource } from "./remote-mirrors/index.ts";
import { repositoryResource } from "./repositories/index.ts";
import { resourceEventResource } from "./resource-events/index.ts";
import { resourceGroupResource } from "./resource-groups/index.ts";
import { reviewerResource } from "./reviewers/index.ts";
import { runnerResource } from "./runners/index.ts";
import { scheduleResource } from "./schedules/index.ts";
import { scimResource } from "./scim/index.ts";
import { searchResource } from "./search/index.ts";
import { secureFileResource } from "./secure-files/index.ts";
import { securitySettingsResource } from "./security-settings/index.ts";
import { serviceAccountResource } from "./service-accounts/index.ts";
import { sharingResource } from "./sharing/index.ts";
import { siteResource } from "./sites/index.ts";
import { snippetResource } from "./snippets/index.ts";
import { statusCheckResource } from "./status-checks/index.ts";
import { suggestionResource } from "./suggestions/index.ts";
import { tagResource } from "./tags/index.ts";
import { targetBranchRuleResource } from "./target-branch-rules/index.ts";
import { templateResource } from "./templates/index.ts";
import { terraformStateResource } from "./terraform-states/index.ts";
import { timeTrackingResource } from "./time-tracking/index.ts";
import { todoResource } from "./todos/index.ts";
import {
  accessTokenResource,
  impersonationTokenResource,
  personalTokenResource,
} from "./tokens/index.ts";
import { topicResource } from "./topics/index.ts";
import { transferResource } from "./transfers/index.ts";
import { triggerResource } from "./triggers/index.ts";
import { uploadResource } from "./uploads/index.ts";
import { userAgentResource } from "./user-agents/index.ts";
import { userFollowResource } from "./user-follows/index.ts";
import { userPreferenceResource } from "./user-preferences/index.ts";
import { userStatusResource } from "./user-statuses/index.ts";
import { userResource } from "./users/index.ts";
import { variableResource } from "./variables/index.ts";
import { wikiResource } from "./wikis/index.ts";

/** All resources of the REST API, by folder name. A new resource is added here. */
export const resources: readonly Resource[] = [
  absentResource,
  accessRequestResource,
  accountResource,
  appearanceResource,
  applicationSettingsResource,
  planLimitResource,
  approvalResource,
  auditEventResource,
  awardEmojiResource,
  avatarResource,
  badgeResource,
  boardResource,
  epicBoardResource,
  branchResource,
  broadcastMessageResource,
  bulkImportResource,
  placeholderResource,
  featureResource,
  featureFlagResource,
  topicResource,
  commitResource,
  commitStatusResource,
  containerRegistryResource,
  countResource,
  dependencyResource,
  deploymentResource,
  discussionResource,
  draftNoteResource,
  emailResource,
  environmentResource,
  epicResource,
  eventResource,
  exportResource,
  fileResource,
  freezePeriodResource,
  doraResource,
  mergeRequestBlockResource,
  mergeTrainResource,
  resourceGroupResource,
  groupResource,
  hierarchyResource,
  hookResource,
  integrationResource,
  invitationResource,
  issueLinkResource,
  issueResource,
  iterationResource,
  jobResource,
  jobTokenScopeResource,
  deployKeyResource,
  deployTokenResource,
  sshKeyResource,
  gpgKeyResource,
  customAttributeResource,
  serviceAccountResource,
  labelResource,
  lintResource,
  markdownResource,
  memberResource,
  memberRoleResource,
  mergeRequestResource,
  metaResource,
  metricImageResource,
  milestoneResource,
  namespaceResource,
  noteResource,
  notificationSettingsResource,
  pipelineResource,
  packageResource,
  composerPackageResource,
  githubImportResource,
  goPackageResource,
  helmPackageResource,
  mavenPackageResource,
  npmPackageResource,
  nugetPackageResource,
  pypiPackageResource,
  projectAliasResource,
  projectResource,
  protectionRuleResource,
  pullMirrorResource,
  pushRuleResource,
  releaseResource,
  remoteMirrorResource,
  repositoryResource,
  protectedBranchResource,
  protectedEnvironmentResource,
  protectedTagResource,
  resourceEventResource,
  reviewerResource,
  runnerResource,
  scheduleResource,
  scimResource,
  searchResource,
  secureFileResource,
  siteResource,
  securitySettingsResource,
  sharingResource,
  snippetResource,
  statusCheckResource,
  suggestionResource,
  tagResource,
  templateResource,
  timeTrackingResource,
  targetBranchRuleResource,
  terraformStateResource,
  todoResource,
  accessTokenResource,
  impersonationTokenResource,
  personalTokenResource,
  uploadResource,
  transferResource,
  triggerResource,
  userResource,
  userAgentResource,
  userFollowResource,
  userPreferenceResource,
  userStatusResource,
  variableResource,
  wikiResource,
];
