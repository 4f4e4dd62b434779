import { type ActivityAdmin, activityAdmin } from "./activity.ts";
import { type ApplicationAdmin, applicationAdmin } from "./applications.ts";
import { type AuditAdmin, auditAdmin } from "./audit.ts";
import type { AdminContext } from "./context.ts";
import { type DependencyAdmin, dependencyAdmin } from "./dependencies.ts";
import { type GroupAdmin, groupAdmin } from "./groups.ts";
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

/** The operators' API (docs/library.md). It has no permission checks; its security events are in the audit log. */
export interface Admin
  extends UserAdmin,
    GroupAdmin,
    ProjectAdmin,
    MemberAdmin,
    TokenAdmin,
    ScimAdmin,
    ApplicationAdmin,
    AuditAdmin,
    DependencyAdmin,
    ActivityAdmin,
    JobAdmin,
    MailAdmin,
    MaintenanceAdmin,
    PipelineAdmin,
    SecretAdmin {}

/** Creates the operators' API of an application. */
export function createAdmin(context: AdminContext): Admin {
  return {
    ...userAdmin(context),
    ...groupAdmin(context),
    ...projectAdmin(context),
    ...memberAdmin(context),
    ...tokenAdmin(context),
    ...scimAdmin(context),
    ...applicationAdmin(context),
    ...auditAdmin(context),
    ...dependencyAdmin(context),
    ...activityAdmin(context),
    ...jobAdmin(context),
    ...mailAdmin(context),
    ...maintenanceAdmin(context),
    ...pipelineAdmin(context),
    ...secretAdmin(context),
  };
}
