// Names of operations and schemas, for generated clients.
import type { Route } from "../../src/core/resource.ts";

/** Names that the rule of {@link operationName} would get wrong. */
const OPERATIONS: Readonly<Record<string, string>> = {
  "GET /user/activities": "listUserActivities",
  "GET /bulk_imports/entities": "listAllBulkImportEntities",
  "GET /groups/:id/members/all": "listAllGroupMembers",
  "GET /groups/:id/members/all/:user_id": "getAnyGroupMember",
  "GET /projects/:id/members/all": "listAllProjectMembers",
  "GET /projects/:id/members/all/:user_id": "getAnyProjectMember",
  "GET /projects/:id/repository/commits/:sha/diff": "listProjectCommitDiffs",
  "GET /projects/:id/repository/commits/:sha/sequence": "countProjectCommits",
  "GET /projects/:id/repository/tree": "listProjectTree",
  "GET /projects/:id/repository/compare": "compareProjectCommits",
  "GET /projects/:id/issues/:issue_iid/closed_by": "listProjectIssueClosingMergeRequests",
  "GET /projects/:id/merge_requests/:merge_request_iid/closes_issues":
    "listProjectMergeRequestClosedIssues",
  "GET /projects/:id/merge_trains/:target_branch": "listProjectMergeTrainOfBranch",
  "GET /uploads/-/system/appearance/:picture/1/:file_name": "downloadAppearancePicture",
  "PUT /suggestions/batch_apply": "applySuggestions",
  "GET /namespaces/:path/exists": "checkNamespace",
  "GET /feature_flags/unleash/:project_id/client/features": "getUnleashClientFeatures",
  "GET /feature_flags/unleash/:project_id/features": "getUnleashFeatures",
  "POST /feature_flags/unleash/:project_id/client/register": "registerUnleashClient",
  "POST /feature_flags/unleash/:project_id/client/metrics": "reportUnleashMetrics",
  "POST /projects/:id/feature_flags_client/reset_token": "resetProjectFeatureFlagsToken",
  "GET /search": "search",
  "GET /groups/:id/search": "searchGroup",
  "GET /projects/:id/search": "searchProject",
  "GET /groups/:id/-/search": "searchGroupDash",
  "GET /groups/:id/-/epics": "listGroupEpicsDash",
  "POST /groups/:id/-/epics": "createGroupEpicDash",
  "GET /groups/:id/-/epics/:epic_iid": "getGroupEpicDash",
  "PUT /groups/:id/-/epics/:epic_iid": "updateGroupEpicDash",
  "DELETE /groups/:id/-/epics/:epic_iid": "deleteGroupEpicDash",
  "GET /groups/:id/epics/:epic_iid/issues": "listGroupEpicIssues",
  "POST /groups/:id/epics/:epic_iid/issues/:issue_id": "addGroupEpicIssue",
  "PUT /groups/:id/epics/:epic_iid/issues/:epic_issue_id": "moveGroupEpicIssue",
  "DELETE /groups/:id/epics/:epic_iid/issues/:epic_issue_id": "removeGroupEpicIssue",
  "GET /groups/:id/epics/:epic_iid/epics": "listGroupEpicChildren",
  "POST /groups/:id/epics/:epic_iid/epics": "createGroupEpicChild",
  "POST /groups/:id/epics/:epic_iid/epics/:child_epic_id": "addGroupEpicChild",
  "PUT /groups/:id/epics/:epic_iid/epics/:child_epic_id": "moveGroupEpicChild",
  "DELETE /groups/:id/epics/:epic_iid/epics/:child_epic_id": "removeGroupEpicChild",
  "GET /groups/:id/epics/:epic_iid/links": "listGroupEpicLinks",
  "POST /groups/:id/epics/:epic_iid/links": "createGroupEpicLink",
  "POST /groups/:id/epics/:epic_iid/links/:child_epic_id": "addGroupEpicLink",
  "PUT /groups/:id/epics/:epic_iid/links/:child_epic_id": "moveGroupEpicLink",
  "DELETE /groups/:id/epics/:epic_iid/links/:child_epic_id": "removeGroupEpicLink",
  "GET /projects/:id/-/search": "searchProjectDash",
  "GET /groups/:id/badges/render": "renderGroupBadge",
  "GET /projects/:id/badges/render": "renderProjectBadge",
  "POST /projects/:id/export": "exportProject",
  "GET /projects/:id/import": "getProjectImport",
  "POST /projects/import": "importProject",
  "POST /groups/:id/export": "exportGroup",
  "POST /groups/:id/export_relations": "exportGroupRelations",
  "POST /projects/:id/export_relations": "exportProjectRelations",
  "GET /groups/:id/export_relations/status": "getGroupRelationExports",
  "GET /projects/:id/export_relations/status": "getProjectRelationExports",
  "GET /groups/:id/export_relations/download": "downloadGroupRelation",
  "GET /projects/:id/export_relations/download": "downloadProjectRelation",
  "POST /groups/import": "importGroup",
  "GET /projects/:id/repository/archive": "downloadProjectArchive",
  "GET /projects/:id/repository/archive.:format": "downloadProjectArchiveAs",
  "GET /projects/:id/jobs/artifacts/:ref_name*/download": "downloadProjectRefArtifacts",
  "GET /projects/:id/jobs/artifacts/:ref_name*/raw/:artifact_path*":
    "downloadProjectRefArtifactFile",
  "GET /projects/:id/jobs/:job_id/artifacts/:artifact_path*": "downloadProjectJobArtifactFile",
  "DELETE /projects/:id/artifacts": "deleteProjectArtifacts",
  "GET /projects/:id/releases/permalink/latest": "openLatestProjectRelease",
  "GET /projects/:id/releases/permalink/latest/:suffix_path*": "openLatestProjectReleasePath",
  "GET /projects/:id/releases/:tag_name/downloads/:direct_asset_path*":
    "openProjectReleaseDownload",
  "GET /projects/:id/pipelines/latest": "getLatestProjectPipeline",
  "POST /projects/:id/pipeline": "createProjectPipeline",
  "POST /projects/:id/trigger/pipeline": "triggerProjectPipeline",
  "POST /projects/:id/ref/:ref*/trigger/pipeline": "triggerProjectRefPipeline",
  "GET /projects/:id/ci/lint": "lintProjectCommit",
  "POST /projects/:id/ci/lint": "lintProjectConfiguration",
  "POST /ci/lint": "lintConfiguration",
  "POST /markdown": "renderMarkdown",
  "POST /projects/:id/hooks/:hook_id/test/:trigger": "testProjectHook",
  "POST /groups/:id/hooks/:hook_id/test/:trigger": "testGroupHook",
  "POST /hooks/:hook_id": "testHook",
  "POST /projects/:id/statuses/:sha": "createProjectCommitStatus",
  "POST /projects/:id/fork/:forked_from_id": "createProjectForkRelation",
  "DELETE /projects/:id/fork": "deleteProjectForkRelation",
  "POST /groups/:id/projects/:project_id": "transferProjectToGroup",
  "POST /projects/:id/housekeeping": "tidyProjectRepository",
  "PUT /groups/:id/labels": "updateGroupLabelByName",
  "DELETE /groups/:id/labels": "deleteGroupLabelByName",
  "PUT /projects/:id/labels": "updateProjectLabelByName",
  "DELETE /projects/:id/labels": "deleteProjectLabelByName",
  "PUT /user/status": "replaceCurrentUserStatus",
  "POST /user/runners": "createRunner",
  "POST /projects/:id/environments/stop_stale": "stopStaleProjectEnvironments",
  "DELETE /projects/:id/environments/review_apps": "deleteProjectReviewApps",
  "GET /api/scim/v2/groups/:group_path*/Users": "listScimUsers",
  "GET /projects/:id/pipelines/:pipeline_id/variables": "listProjectPipelineVariables",
  "POST /projects/:id/jobs/:job_id/artifacts/keep": "keepProjectJobArtifacts",
  "POST /projects/:id/merge_requests/:merge_request_iid/approvals":
    "setProjectMergeRequestApprovalsRequired",
  "POST /projects/:id/approvals": "updateProjectApprovals",
  "GET /projects/:id/packages/:package_id/package_files": "listProjectPackageFiles",
  "DELETE /projects/:id/packages/:package_id/package_files/:package_file_id":
    "deleteProjectPackageFile",
  "POST /projects/:id/issues/:issue_iid/time_estimate": "setProjectIssueTimeEstimate",
  "POST /projects/:id/merge_requests/:merge_request_iid/time_estimate":
    "setProjectMergeRequestTimeEstimate",
  "DELETE /runners/managers": "unregisterRunnerManager",
  "POST /topics/merge": "mergeTopics",
  "POST /todos/mark_as_done": "markTodosAsDone",
  "POST /todos/:todo_id/mark_as_done": "markTodoAsDone",
  "POST /jobs/request": "requestJob",
  "PUT /jobs/:job_id": "reportJob",
  "PATCH /jobs/:job_id/trace": "appendJobTrace",
  "POST /jobs/:job_id/artifacts": "uploadJobArtifacts",
  "GET /job": "getJob",
  "POST /runners": "registerRunner",
  "DELETE /runners": "unregisterRunner",
  "GET /runners/all": "listAllRunners",
  "POST /projects/:id/runners": "enableProjectRunner",
  "DELETE /projects/:id/runners/:runner_id": "disableProjectRunner",
  "POST /runners/:runner_id/reset_authentication_token": "resetRunnerAuthenticationTokenById",
  "GET /snippets/public": "listPublicSnippets",
  "GET /projects/:id/uploads/:upload_id": "downloadProjectUpload",
  "GET /projects/:id/uploads/:secret/:file_name": "downloadUploadByProjectAddress",
  "DELETE /projects/:id/uploads/:secret/:file_name": "deleteProjectUploadByAddress",
  "GET /projects/:id/wikis/uploads/:secret/:file_name": "downloadProjectWikiAttachment",
  "POST /projects/:id/wikis/attachments": "uploadProjectWikiAttachment",
  "GET /groups/:id/wikis/uploads/:secret/:file_name": "downloadGroupWikiAttachment",
  "POST /groups/:id/wikis/attachments": "uploadGroupWikiAttachment",
  "POST /projects/:id/packages/pypi": "uploadProjectPythonPackage",
  "GET /projects/:id/packages/pypi/simple": "listProjectPythonPackages",
  "GET /projects/:id/packages/pypi/simple/:package_name": "listProjectPythonPackageFiles",
  "GET /groups/:id/-/packages/pypi/simple": "listGroupPythonPackages",
  "GET /groups/:id/-/packages/pypi/simple/:package_name": "listGroupPythonPackageFiles",
  "GET /projects/:id/packages/pypi/files/:sha256/:file_identifier":
    "downloadProjectPythonPackageFile",
  "GET /projects/:id/packages/go/:module_name*/@v/list": "listProjectGoModuleVersions",
  "GET /projects/:id/packages/go/:module_name*/@v/:module_version.info":
    "getProjectGoModuleVersion",
  "GET /projects/:id/packages/go/:module_name*/@v/:module_version.mod": "getProjectGoModuleFile",
  "GET /projects/:id/packages/go/:module_name*/@v/:module_version.zip":
    "downloadProjectGoModuleVersion",
  "POST /projects/:id/packages/helm/api/:channel/charts": "uploadProjectHelmChart",
  "GET /projects/:id/packages/helm/:channel/index.yaml": "getProjectHelmIndex",
  "GET /projects/:id/packages/helm/:channel/charts/:file_name.tgz": "downloadProjectHelmChart",
  "POST /projects/:id/packages/composer": "publishProjectComposerPackage",
  "GET /projects/:id/packages/composer/archives/:package_name*": "downloadProjectComposerPackage",
  "GET /group/:id/-/packages/composer/packages": "getGroupComposerRepository",
  "GET /group/:id/-/packages/composer/p/:sha": "listGroupComposerPackages",
  "GET /group/:id/-/packages/composer/p2/:package_name*": "getGroupComposerPackage",
  "GET /group/:id/-/packages/composer/:package_name*": "getGroupComposerPackageByDigest",
  "GET /projects/:id/packages/nuget/index": "getProjectNugetIndex",
  "PUT /projects/:id/packages/nuget": "pushProjectNugetPackage",
  "PUT /projects/:id/packages/nuget/symbolpackage": "pushProjectNugetSymbols",
  "DELETE /projects/:id/packages/nuget/:package_name/:package_version": "deleteProjectNugetPackage",
  "GET /projects/:id/packages/nuget/metadata/:package_name/index": "getProjectNugetPackage",
  "GET /projects/:id/packages/nuget/metadata/:package_name/:package_version":
    "getProjectNugetVersion",
  "GET /projects/:id/packages/nuget/query": "searchProjectNugetPackages",
  "GET /projects/:id/packages/nuget/download/:package_name/index": "listProjectNugetVersions",
  "GET /projects/:id/packages/nuget/download/:package_name/:package_version/:package_filename":
    "downloadProjectNugetPackage",
  "GET /groups/:id/-/packages/nuget/index": "getGroupNugetIndex",
  "GET /groups/:id/-/packages/nuget/metadata/:package_name/index": "getGroupNugetPackage",
  "GET /groups/:id/-/packages/nuget/metadata/:package_name/:package_version":
    "getGroupNugetVersion",
  "GET /groups/:id/-/packages/nuget/query": "searchGroupNugetPackages",
  "PUT /projects/:id/packages/maven/:path*": "uploadProjectMavenPackageFile",
  "GET /projects/:id/packages/maven/:path*": "downloadProjectMavenPackageFile",
  "GET /groups/:id/-/packages/maven/:path*": "downloadGroupMavenPackageFile",
  "GET /packages/maven/:path*": "downloadMavenPackageFile",
  "GET /projects/:id/packages/npm/:package_name*": "getProjectNpmPackage",
  "GET /projects/:id/packages/npm/-/package/:package_name*/dist-tags": "getProjectNpmPackageTags",
  "POST /projects/:id/packages/npm/-/npm/v1/security/advisories/bulk": "auditProjectNpmPackages",
  "POST /projects/:id/packages/npm/-/npm/v1/security/audits/quick":
    "auditProjectNpmPackagesQuickly",
  "GET /groups/:id/-/packages/npm/:package_name*": "getGroupNpmPackage",
  "GET /groups/:id/-/packages/npm/-/package/:package_name*/dist-tags": "getGroupNpmPackageTags",
  "POST /groups/:id/-/packages/npm/-/npm/v1/security/advisories/bulk": "auditGroupNpmPackages",
  "POST /groups/:id/-/packages/npm/-/npm/v1/security/audits/quick": "auditGroupNpmPackagesQuickly",
  "GET /packages/npm/:package_name*": "getNpmPackage",
  "GET /packages/npm/-/package/:package_name*/dist-tags": "getNpmPackageTags",
  "POST /packages/npm/-/npm/v1/security/advisories/bulk": "auditNpmPackages",
  "POST /packages/npm/-/npm/v1/security/audits/quick": "auditNpmPackagesQuickly",
  "PUT /projects/:id/packages/npm/:package_name*": "publishProjectNpmPackage",
  "GET /projects/:id/packages/npm/:package_name*/-/:file_name*": "downloadProjectNpmPackage",
  "PUT /projects/:id/packages/npm/-/package/:package_name*/dist-tags/:tag":
    "setProjectNpmPackageTag",
  "DELETE /projects/:id/packages/npm/-/package/:package_name*/dist-tags/:tag":
    "deleteProjectNpmPackageTag",
  "PUT /projects/:id/packages/generic/:package_name/:package_version/:file_name*":
    "uploadProjectPackageFile",
  "GET /projects/:id/packages/generic/:package_name/:package_version/:file_name*":
    "downloadProjectPackageFile",
  "PUT /projects/:id/merge_requests/:merge_request_iid/draft_notes/:draft_note_id/publish":
    "publishProjectMergeRequestDraftNote",
  "POST /projects/:id/merge_requests/:merge_request_iid/draft_notes/bulk_publish":
    "publishProjectMergeRequestDraftNotes",
  "GET /api/graphql": "queryGraphql",
  "POST /api/graphql": "executeGraphql",
  "POST /api/scim/v2/groups/:group_path*/Users/.search": "searchScimUsers",
  "POST /api/scim/v2/groups/:group_path*/.search": "searchScim",
  "PUT /api/scim/v2/groups/:group_path*/Users/:uid": "replaceScimUser",
  "POST /api/scim/v2/groups/:group_path*/Bulk": "sendScimBulk",
  "PUT /api/scim/v2/groups/:group_path*/Me": "replaceScimMe",
  "GET /-/avatars/:name": "getGeneratedAvatar",
  "GET /.well-known/oauth-authorization-server": "getOauthMetadata",
  "GET /.well-known/openid-configuration": "getOpenidConfiguration",
  "GET /.well-known/webfinger": "getWebfinger",
  "GET /oauth/discovery/keys": "listSigningKeys",
  "GET /oauth/userinfo": "getUserinfo",
  "POST /oauth/userinfo": "queryUserinfo",
  "GET /uploads/-/system/user/avatar/:user_id/:file_name": "downloadUserAvatarByAddress",
  "GET /uploads/-/system/projects/topic/avatar/:topic_id/:file_name":
    "downloadTopicAvatarByAddress",
  "GET /uploads/-/system/group/avatar/:source_id/:file_name": "downloadGroupAvatarByAddress",
  "GET /uploads/-/system/project/avatar/:source_id/:file_name": "downloadProjectAvatarByAddress",
  "GET /-/project/:project_id/uploads/:secret/:file_name": "downloadUploadByAddress",
  "POST /oauth/token": "createOauthToken",
  "POST /oauth/authorize_device": "authorizeOauthDevice",
  "POST /oauth/revoke": "revokeOauthToken",
  "POST /oauth/introspect": "introspectOauthToken",
  "DELETE /projects/:id/registry/repositories/:repository_id/tags":
    "cleanUpProjectRegistryRepositoryTags",
  "GET /jwt/auth": "getRegistryToken",
  "GET /v2": "checkRegistryToken",
  "GET /v2/:repository*/blobs/:digest": "pullContainerBlob",
  "DELETE /v2/:repository*/blobs/:digest": "deleteContainerBlob",
  "POST /v2/:repository*/blobs/uploads": "beginContainerUpload",
  "GET /v2/:repository*/blobs/uploads/:upload_id": "getContainerUpload",
  "PATCH /v2/:repository*/blobs/uploads/:upload_id": "continueContainerUpload",
  "PUT /v2/:repository*/blobs/uploads/:upload_id": "endContainerUpload",
  "DELETE /v2/:repository*/blobs/uploads/:upload_id": "cancelContainerUpload",
  "GET /v2/:repository*/manifests/:reference": "pullContainerManifest",
  "PUT /v2/:repository*/manifests/:reference": "pushContainerManifest",
  "DELETE /v2/:repository*/manifests/:reference": "deleteContainerManifest",
  "GET /v2/:repository*/tags/list": "listContainerTags",
  "GET /v2/:repository*/referrers/:digest": "listContainerReferrers",
  "POST /:repository*/info/lfs/objects/batch": "askLfsTransfers",
  "GET /:repository*/gitlab-lfs/objects/:oid": "downloadLfsObject",
  "PUT /:repository*/gitlab-lfs/objects/:oid/:size": "uploadLfsObject",
  "GET /:repository*/info/lfs/locks": "listLfsLocks",
  "POST /:repository*/info/lfs/locks": "createLfsLock",
  "POST /:repository*/info/lfs/locks/verify": "verifyLfsLocks",
  "POST /:repository*/info/lfs/locks/:lock_id/unlock": "unlockLfsLock",
  "GET /:repository*/info/refs": "listGitReferences",
  "POST /:repository*/git-upload-pack": "fetchGit",
  "POST /:repository*/git-receive-pack": "pushGit",
};

/** Last words of paths that are actions. */
const ACTIONS = new Set(
  (
    "approve unapprove subscribe unsubscribe merge rebase move reorder star unstar archive unarchive fork transfer " +
    "block unblock follow unfollow rotate cancel retry play erase keep protect unprotect cherry_pick revert stop " +
    "enable resend take_ownership verify renew-secret add_spent_time reset_spent_time reset_time_estimate " +
    "cancel_merge_when_pipeline_succeeds reset_authentication_token reset_registration_token"
  ).split(" "),
);
/** Last words of the paths of files. */
const FILES = new Set(["raw", "download", "trace", "artifacts", "avatar", "raw_diffs"]);
const VERBS = { GET: "get", POST: "create", PUT: "update", PATCH: "update", DELETE: "delete" };

/**
 * A verb and what it is about: `GET /groups/:id/boards` is `listGroupBoards`, `POST …/issues/:issue_iid/move` is
 * `moveProjectIssue`.
 */
export function operationName(route: Route): string {
  const { method, path, isList } = route;
  const chosen = OPERATIONS[`${method} ${path}`];
  if (chosen !== undefined) return chosen;
  const segments = path
    .replace(/^\/user(?=\/|$)/, "/current_user")
    .replace(/^\/api\/scim\/v2\/groups\/:group_path\*/, "/scim")
    .split("/")
    .filter((one) => one !== "" && one !== "-");
  const nouns = segments.filter((one) => !one.startsWith(":"));
  const last = nouns.at(-1) as string;
  if (method !== "GET" && method !== "DELETE" && ACTIONS.has(last)) {
    const [verb = "", ...object] = last === "cherry_pick" ? ["cherry_pick"] : last.split(/[-_]/);
    return camel([verb, ...nounsOf(nouns.slice(0, -1)), ...object]);
  }
  const isFile = method === "GET" && FILES.has(last) && !route.presenter && !route.examples;
  const verb = isList ? "list" : isFile ? "download" : VERBS[method];
  if (isFile && (last === "raw" || last === "download"))
    return camel([verb, ...nounsOf(nouns.slice(0, -1))]);
  const isOne = !isList && (method === "POST" || segments.at(-1)?.startsWith(":"));
  return camel([verb, ...nounsOf(nouns.slice(0, -1)), isOne ? singular(last) : last]);
}

/** The words of a path that lead to what it is about: `repository` only leads to what is in it. */
const nounsOf = (segments: readonly string[]) =>
  segments.filter((one) => one !== "repository" && one !== "assets").map(singular);

function camel(words: readonly string[]): string {
  const [first = "", ...others] = words.flatMap((word) => word.split(/[-_.]/)).filter(Boolean);
  return first.toLowerCase() + others.map(capital).join("");
}

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/** `branches` → `branch`; words that are no plurals stay. */
function singular(word: string): string {
  if (/(status|settings|access|approvals)$/i.test(word)) return word;
  return word
    .replace(/ies$/, "y")
    .replace(/(ch|sh|ss|x|status)es$/, "$1")
    .replace(/([^su])s$/, "$1");
}

/**
 * Names of schemas, by an operation that answers with them. Others are named after the first operation that does, without
 * its verb.
 */
const SCHEMAS: Readonly<Record<string, string>> = {
  listGroupAccessRequests: "AccessRequest",
  listLfsLocks: "LfsLockList",
  createLfsLock: "LfsLock",
  verifyLfsLocks: "VerifiedLfsLocks",
  listGroupMembers: "Member",
  listGroupBillableMembers: "BillableMember",
  createUser: "UserAccount",
  "getCurrentUser:1": "CurrentUser",
  "getUser:1": "UserProfile",
  "listUsers:1": "UserAccountListItem",
  "listUsers:2": "UserListItem",
  listProjectIssueParticipants: "User",
  listUserActivities: "UserActivity",
  listProjectMergeRequestApprovalRules: "MergeRequestApprovalRule",
  getProjectMergeRequestApprovals: "MergeRequestApprovals",
  getProjectMergeRequestApprovalState: "MergeRequestApprovalState",
  getProjectMergeRequestApprovalSetting: "ProjectApprovalSetting",
  listProjectIssueAwardEmoji: "AwardEmoji",
  listGroupBadges: "Badge",
  renderGroupBadge: "RenderedBadge",
  updateGroupBoard: "ChangedGroupBoard",
  listGroupBoardLists: "GroupBoardList",
  listProjectBoardLists: "BoardList",
  listProjectBranches: "Branch",
  listProjectCommits: "CommitListItem",
  getProjectCommit: "CommitDetails",
  cherryPickProjectCommit: "Commit",
  "cherryPickProjectCommit:200": "DryRun",
  listProjectCommitDiffs: "Diff",
  listProjectCommitRefs: "CommitRef",
  listProjectCommitComments: "CommitComment",
  countProjectCommits: "CommitSequence",
  getProjectCommitSignature: "CommitSignature",
  createProjectCommitStatus: "CommitStatus",
  listProjectDependencies: "Dependency",
  listProjectDeployments: "Deployment",
  listProjectIssueDiscussions: "Discussion",
  listProjectIssueDiscussionNotes: "Note",
  listProjectMergeRequestDraftNotes: "DraftNote",
  listCurrentUserEmails: "Email",
  listProjectEnvironments: "EnvironmentListItem",
  getProjectEnvironment: "Environment",
  listEvents: "Event",
  listProjectEvents: "ProjectEvent",
  exportProject: "Accepted",
  getProjectExport: "ProjectExport",
  importProject: "ProjectImport",
  getProjectFile: "RepositoryFile",
  getProjectFileBlame: "BlameRange",
  createProjectFile: "ChangedRepositoryFile",
  listGroups: "Group",
  "listProjectWikis:1": "WikiPageListItem",
  createGroup: "GroupDetails",
  "getGroup:2": "GroupWithoutProjects",
  "getProject:3": "ProjectWithStatistics",
  "listGroupProjects:1": "ProjectSummary",
  "listGroupProjects:2": "GroupProject",
  createProject: "Project",
  listGroupHookEvents: "HookEvent",
  listHooks: "SystemHook",
  listProjectIntegrations: "IntegrationListItem",
  getProjectIntegration: "Integration",
  listGroupInvitations: "Invitation",
  createGroupInvitation: "InvitationResult",
  listProjectIssueLinks: "LinkedIssue",
  getProjectIssueLink: "IssueLink",
  listGroupEpics: "Epic",
  "listGroupEpics:1": "Epic",
  "listGroupEpics:2": "EpicWithLabels",
  getGroupEpic: "EpicDetails",
  listGroupEpicIssues: "EpicIssue",
  addGroupEpicIssue: "EpicIssueAssociation",
  listGroupEpicChildren: "EpicChild",
  listGroupEpicRelatedEpics: "RelatedEpic",
  listGroupRelatedEpicLinks: "RelatedEpicLink",
  listIssues: "Issue",
  "listIssues:2": "IssueWithLabels",
  getProjectIssue: "IssueDetails",
  listProjectJobs: "Job",
  listCurrentUserKeys: "SshKey",
  listGroupDeployTokens: "DeployToken",
  createGroupDeployToken: "DeployTokenWithSecret",
  lintProjectCommit: "LintResult",
  renderMarkdown: "RenderedMarkdown",
  "listMergeRequests:1": "MergeRequest",
  "listMergeRequests:2": "SimpleMergeRequest",
  "listMergeRequests:3": "MergeRequestWithLabels",
  getProjectMergeRequest: "MergeRequestDetails",
  getProjectMergeRequestChanges: "MergeRequestChanges",
  listProjectMergeRequestVersions: "MergeRequestVersion",
  getProjectMergeRequestVersion: "MergeRequestVersionDetails",
  getProjectMergeRequestMergeRef: "MergeRef",
  listProjectMergeRequestReviewers: "Reviewer",
  checkNamespace: "NamespaceExistence",
  getNotificationSettings: "GlobalNotificationSettings",
  getGroupNotificationSettings: "NotificationSettings",
  listProjectPipelines: "Pipeline",
  getProjectPipeline: "PipelineDetails",
  createProjectPipeline: "CreatedPipeline",
  listProjectPipelineVariables: "PipelineVariable",
  getProjectPipelineTestReport: "TestReport",
  getProjectPipelineTestReportSummary: "TestReportSummary",
  listProjectPipelineBridges: "Bridge",
  listProjectPackages: "Package",
  listProjectRegistryRepositories: "ContainerRepository",
  listProjectRegistryRepositoryTags: "ContainerTag",
  listContainerTags: "ContainerTagNames",
  listContainerReferrers: "ContainerReferrers",
  getProjectRegistryRepositoryTag: "ContainerTagDetails",
  listGroupPackages: "GroupPackage",
  listProjectPackageFiles: "PackageFile",
  uploadProjectPackageFile: "UploadedPackageFile",
  listProjectReleases: "Release",
  listProjectReleaseLinks: "ReleaseLink",
  listProjectTree: "TreeEntry",
  listProjectContributors: "Contributor",
  compareProjectCommits: "Comparison",
  getProjectBlob: "RepositoryBlob",
  getProjectStorage: "ProjectStorage",
  listProjectProtectedBranches: "ProtectedBranch",
  listProjectProtectedTags: "ProtectedTag",
  listProjectIssueResourceLabelEvents: "ResourceLabelEvent",
  listProjectIssueResourceMilestoneEvents: "ResourceMilestoneEvent",
  listProjectIssueResourceStateEvents: "ResourceStateEvent",
  registerRunner: "RunnerCredentials",
  listRunners: "Runner",
  getRunner: "RunnerDetails",
  listRunnerManagers: "RunnerManager",
  listProjectPipelineSchedules: "PipelineSchedule",
  getProjectPipelineSchedule: "PipelineScheduleDetails",
  createProjectPipelineScheduleVariable: "PipelineScheduleVariable",
  playProjectPipelineSchedule: "Message",
  listGroupScimTokens: "ScimToken",
  createGroupScimToken: "ScimTokenWithSecret",
  listGroupScimIdentities: "ScimIdentity",
  listScimUsers: "ScimUserList",
  "search:4": "FoundMilestone",
  "search:7": "FoundBlob",
  getScimResourceTypes: "ScimResourceTypeList",
  getScimSchemas: "ScimSchemaList",
  setProjectMergeRequestApprovalsRequired: "MergeRequestApprovalsRequired",
  cancelProjectMergeRequestMergeWhenPipelineSucceeds: "CancelledAutoMerge",
  deleteProjectReviewApps: "DeletedReviewApps",
  resendProjectHookEvent: "ResentHookEvent",
  testHook: "TestedHook",
  lintConfiguration: "ConfigurationCheck",
  listSnippets: "Snippet",
  listProjectTags: "Tag",
  listTemplateDockerfiles: "TemplateListItem",
  getTemplateDockerfile: "Template",
  listTemplateLicenses: "LicenseTemplate",
  getProjectIssueTimeStats: "TimeStats",
  listTodos: "Todo",
  listGroupAccessTokens: "AccessToken",
  createGroupAccessToken: "AccessTokenWithSecret",
  listUserImpersonationTokens: "ImpersonationToken",
  createUserImpersonationToken: "ImpersonationTokenWithSecret",
  listPersonalAccessTokens: "PersonalAccessToken",
  createUserPersonalAccessToken: "PersonalAccessTokenWithSecret",
  "createProjectIssueNote:202": "PerformedCommands",
  createProjectUpload: "UploadedFile",
  rebaseProjectMergeRequest: "StartedRebase",
  listProjectUploads: "Upload",
  listProjectTransferLocations: "TransferLocation",
  listProjectTriggers: "PipelineTrigger",
  getCurrentUserStatus: "UserStatus",
  listGroupVariables: "Variable",
  listAdminCiVariables: "InstanceVariable",
  getProjectWiki: "WikiPage",
  uploadProjectWikiAttachment: "WikiAttachment",
  listApplications: "Application",
  createApplication: "ApplicationWithSecret",
  introspectOauthToken: "OauthIntrospection",
};

/** The names in the table above that no operation answers with. */
export const unknownSchemaNames = (operationIds: ReadonlySet<string>): string[] =>
  Object.keys(SCHEMAS).filter((id) => !operationIds.has(id.replace(/:\d+$/, "")));

/** The name of a schema, given the operations that answer with it. */
export function schemaName(operationIds: readonly string[]): string {
  const chosen = operationIds.find((id) => id in SCHEMAS);
  if (chosen !== undefined) return SCHEMAS[chosen] as string;
  const [first = ""] = operationIds.map((id) => id.replace(/:\d$/, ""));
  const words = first.split(/(?=[A-Z])/).slice(1);
  return [...words.slice(0, -1), singular(words.at(-1) ?? first)].map(capital).join("");
}
