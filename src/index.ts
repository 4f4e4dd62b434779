export type { PushRecord } from "./admin/activity.ts";
export type { ApplicationRecord } from "./admin/applications.ts";
export type { AuditRecord } from "./admin/audit.ts";
export type { DependencyScan } from "./admin/dependencies.ts";
export type { GroupChange, GroupRecord } from "./admin/groups.ts";
export type {
  GitlabImport,
  ImportProgress,
  ImportReport,
  PlaceholderRecord,
  Reassignment,
  RepositoryImport,
} from "./admin/imports.ts";
export type { Admin } from "./admin/index.ts";
export type { TaskRecord, WorkerRecord } from "./admin/jobs.ts";
export type { MemberRecord, MemberSource } from "./admin/members.ts";
export type { ProjectRecord } from "./admin/projects.ts";
export type { Purged, PurgeOptions } from "./admin/retention.ts";
export type { ScimTokenRecord } from "./admin/scim.ts";
export type { SecretsState } from "./admin/secrets.ts";
export type { JobTokenRecord, TokenRecord } from "./admin/tokens.ts";
export type { NewUser, PasswordLink, UserChange, UserRecord } from "./admin/users.ts";
export { type App, createApp, type ListeningSsh } from "./app.ts";
export type { NextKey } from "./auth/signing-keys.ts";
export type { Swept } from "./background.ts";
export type { Role } from "./core/access/roles.ts";
export type { Visibility } from "./core/access/visibility.ts";
export { ApiError } from "./core/errors.ts";
export type { LogEntry } from "./core/http/access-log.ts";
export type { Profile } from "./core/http/authenticator.ts";
export type { HostRequest } from "./core/http/incoming.ts";
export { OptionError } from "./core/options.ts";
export type { Progress } from "./core/progress.ts";
export { APPLICATION_SCOPES, SCOPES, type Scope } from "./core/scopes.ts";
export { SeedError } from "./core/seeding.ts";
export {
  type Backup,
  backupDatabase,
  backupInto,
  type Check,
  type CopiedTable,
  checkDatabase,
  copyDatabase,
  type FolderBackup,
  migrateDatabase,
  type Restored,
  removeDatabase,
  restoreDatabase,
} from "./database/index.ts";
export { DEPENDENCY_FILES, DependencyError } from "./dependencies/index.ts";
export type { TextFile } from "./dependencies/types.ts";
export type { Tidied } from "./git/tidy.ts";
export {
  type MailChange,
  type MailOptions,
  sendPasswordLink,
  sendTestMail,
} from "./notifications/mailer.ts";
export type { QueuedMail } from "./notifications/queue.ts";
export type { Recipient } from "./notifications/recipients.ts";
export type { AppOptions, SshOptions } from "./options.ts";
export type {
  AppEvent,
  AppEventName,
  AppEventOf,
  AppEventPayloads,
  AppListener,
  EventProject,
  EventUser,
} from "./resources/hooks/app-events.ts";
export type { Unsubscribe } from "./resources/hooks/listeners.ts";
export type { WikiFile } from "./resources/wikis/export.ts";
export type { Seeded } from "./seed/index.ts";
export type { Seed } from "./seed/input.ts";
export type { HostKey } from "./ssh/host-keys.ts";
export { StoreError, type StoreErrorCode, UnavailableError } from "./store/port.ts";
export type { PageName } from "./web/index.ts";
