import type { AdminParts } from "./parts.ts";

/** The names that the operators' methods had before, and where they are now. */
const FLAT = {
  createUser: ["users", "create"],
  inviteUser: ["users", "invite"],
  createPasswordLink: ["users", "createPasswordLink"],
  checkUser: ["users", "check"],
  getUser: ["users", "get"],
  hasUsers: ["users", "exist"],
  listUsers: ["users", "list"],
  updateUser: ["users", "update"],
  deleteUser: ["users", "delete"],
  blockUser: ["users", "block"],
  unblockUser: ["users", "unblock"],
  setPassword: ["users", "setPassword"],
  disableTwoFactor: ["users", "disableTwoFactor"],
  getGroup: ["groups", "get"],
  listGroups: ["groups", "list"],
  createGroup: ["groups", "create"],
  updateGroup: ["groups", "update"],
  deleteGroup: ["groups", "delete"],
  getProject: ["projects", "get"],
  listProjects: ["projects", "list"],
  createProject: ["projects", "create"],
  deleteProject: ["projects", "delete"],
  listMembers: ["members", "list"],
  addMember: ["members", "add"],
  updateMember: ["members", "update"],
  removeMember: ["members", "remove"],
  createToken: ["tokens", "create"],
  listTokens: ["tokens", "list"],
  revokeToken: ["tokens", "revoke"],
  createJobToken: ["tokens", "createForJob"],
  createScimToken: ["scimTokens", "create"],
  listScimTokens: ["scimTokens", "list"],
  revokeScimToken: ["scimTokens", "revoke"],
  createApplication: ["applications", "create"],
  checkRedirectUri: ["applications", "checkRedirectUri"],
  listApplications: ["applications", "list"],
  renewApplicationSecret: ["applications", "renewSecret"],
  deleteApplication: ["applications", "delete"],
  listAuditEvents: ["auditEvents", "list"],
  scanDependencies: ["dependencies", "scan"],
  importDependencies: ["dependencies", "importReport"],
  recipients: ["activity", "recipients"],
  recordPush: ["activity", "recordPush"],
  exportWiki: ["projects", "exportWiki"],
  listWorkers: ["tasks", "listWorkers"],
  listTasks: ["tasks", "list"],
  retryTasks: ["tasks", "retry"],
  listQueuedMails: ["mails", "list"],
  retryMails: ["mails", "retry"],
  purgeEvents: ["maintenance", "purgeEvents"],
  removeExpiredMembers: ["maintenance", "removeExpiredMembers"],
  tidyRepositories: ["maintenance", "tidyRepositories"],
  sweepFiles: ["maintenance", "sweepFiles"],
  sweepDaily: ["maintenance", "sweepDaily"],
  runSchedules: ["maintenance", "runSchedules"],
  runPipelines: ["maintenance", "runPipelines"],
  runArchives: ["maintenance", "runArchives"],
  runTimedJobs: ["maintenance", "runTimedJobs"],
  runJob: ["maintenance", "runJob"],
  finishJob: ["jobs", "finish"],
  checkSecrets: ["secrets", "check"],
  rotateSecrets: ["secrets", "rotate"],
  removeLostSecrets: ["secrets", "removeLost"],
} as const satisfies Record<string, readonly [keyof AdminParts, string]>;
type Flat = typeof FLAT;

/**
 * The names that the operators' methods had before: `createUser` for `users.create` and so on. The next version will not have
 * them.
 *
 * @deprecated
 */
export type FlatAdmin = {
  readonly [Name in keyof Flat]: Flat[Name][1] extends keyof AdminParts[Flat[Name][0]]
    ? AdminParts[Flat[Name][0]][Flat[Name][1]]
    : never;
};

/** Gives methods the names that they had before, too. */
export function flatNames(parts: AdminParts): FlatAdmin {
  const methods = Object.entries(FLAT).map(([name, [part, method]]) => {
    const of = parts[part] as unknown as Record<string, unknown>;
    return [name, of[method]];
  });
  return Object.fromEntries(methods) as FlatAdmin;
}
