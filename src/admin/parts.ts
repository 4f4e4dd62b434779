import type { Progress } from "../core/progress.ts";
import type { Seeded } from "../seed/index.ts";
import type { Seed } from "../seed/input.ts";
import { type ActivityAdmin, activityAdmin } from "./activity.ts";
import { type ApplicationAdmin, applicationAdmin } from "./applications.ts";
import { type AuditAdmin, auditAdmin } from "./audit.ts";
import type { AdminContext } from "./context.ts";
import { type DependencyAdmin, dependencyAdmin } from "./dependencies.ts";
import { type GroupAdmin, groupAdmin } from "./groups.ts";
import { type ImportAdmin, importAdmin } from "./imports.ts";
import { type JobAdmin, jobAdmin } from "./jobs.ts";
import { type MailAdmin, mailAdmin } from "./mails.ts";
import { type MaintenanceAdmin, maintenanceAdmin } from "./maintenance.ts";
import { type MemberAdmin, memberAdmin } from "./members.ts";
import { type PipelineAdmin, pipelineAdmin } from "./pipelines.ts";
import { type ProjectAdmin, projectAdmin } from "./projects.ts";
import { type ScimAdmin, scimAdmin } from "./scim.ts";
import { type SecretAdmin, secretAdmin } from "./secrets.ts";
import { type TokenAdmin, tokenAdmin } from "./tokens.ts";
import { type UserAdmin, userAdmin } from "./users.ts";

/** The operators' methods, by what they are about. */
export interface AdminParts {
  /** Users, and the links by which they set their passwords. */
  readonly users: UserAdmin;
  /** Groups. */
  readonly groups: GroupAdmin;
  /** Projects. */
  readonly projects: ProjectAdmin;
  /** Members of groups and projects. */
  readonly members: MemberAdmin;
  /** Personal, impersonation and job tokens. */
  readonly tokens: TokenAdmin;
  /** Tokens of groups' identity providers. */
  readonly scimTokens: ScimAdmin;
  /** OAuth2 applications. */
  readonly applications: ApplicationAdmin;
  /** The audit log. */
  readonly auditEvents: AuditAdmin;
  /** Dependencies of projects and their vulnerabilities. */
  readonly dependencies: DependencyAdmin;
  /** The activity of projects, and who is notified of it. */
  readonly activity: ActivityAdmin;
  /** Imports from other servers. */
  readonly imports: ImportAdmin;
  /** CI jobs. */
  readonly jobs: PipelineAdmin;
  /** Background work. */
  readonly tasks: JobAdmin;
  /** Queued mails. */
  readonly mails: MailAdmin;
  /** Cleaning up, and what else runs periodically. */
  readonly maintenance: MaintenanceAdmin;
  /** Encrypted secrets. */
  readonly secrets: SecretAdmin;
  /** Returns the application's metrics in Prometheus' text format, as `GET /-/metrics` (docs/metrics.md). */
  metrics(): Promise<string>;
  /** Fills the database with data, in one transaction. @throws SeedError @throws SecretKeyError */
  seed(data: Seed, onProgress?: Progress): Promise<Seeded>;
}

/** Creates {@link AdminParts}. */
export function adminParts(context: AdminContext): AdminParts {
  const { store, now, secrets, readMetrics } = context;
  return {
    users: userAdmin(context),
    groups: groupAdmin(context),
    projects: projectAdmin(context),
    members: memberAdmin(context),
    tokens: tokenAdmin(context),
    scimTokens: scimAdmin(context),
    applications: applicationAdmin(context),
    auditEvents: auditAdmin(context),
    dependencies: dependencyAdmin(context),
    activity: activityAdmin(context),
    imports: importAdmin(context),
    jobs: pipelineAdmin(context),
    tasks: jobAdmin(context),
    mails: mailAdmin(context),
    maintenance: maintenanceAdmin(context),
    secrets: secretAdmin(context),
    metrics: () => readMetrics(store, now()),
    seed: async (data, onProgress) => {
      // Only few processes seed, and the schemas of a seed are many.
      const { seed } = await import("../seed/index.ts");
      return seed(store, secrets, data, now(), onProgress);
    },
  };
}
