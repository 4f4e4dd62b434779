import { hasRole } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";

/** Whether the caller sees all audit events of a group or project, not only those of their own deeds. */
export const seesAllAuditEvents = (source: Source): boolean =>
  hasRole(source, source.kind === "group" ? "owner" : "maintainer");
