export type { SecretsState } from "./accounts/sealed.ts";
export type {
  Admin,
  ApplicationRecord,
  AuditRecord,
  DependencyScan,
  JobTokenRecord,
  PushRecord,
  TokenRecord,
  UserRecord,
} from "./admin.ts";
export { type App, type AppOptions, createApp } from "./app.ts";
export type { Swept } from "./background.ts";
export { ApiError } from "./core/errors.ts";
export type { LogEntry } from "./core/handler.ts";
export type { HostRequest } from "./core/incoming.ts";
export { APPLICATION_SCOPES, SCOPES, type Scope } from "./core/scopes.ts";
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
export { DEPENDENCY_FILES, DependencyError, type TextFile } from "./dependencies/index.ts";
export type { Purged, PurgeOptions } from "./purge.ts";
export { type Seed, SeedError, type Seeded } from "./seed.ts";
export { StoreError, type StoreErrorCode, UnavailableError } from "./store/port.ts";
export type { PageName } from "./web/index.ts";
