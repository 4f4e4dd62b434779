import type { ArtifactAccess } from "../../ci/index.ts";
import { ownOr } from "../../core/access/abilities.ts";
import { isWritable } from "../../core/access/features.ts";
import { hasRole, type Role } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";

/** The role that callers need to see a project's pipelines and jobs: none where these are public. */
export const readingRole = ({
  source,
}: {
  readonly source: Pick<Source, "hasPublicJobs">;
}): Role | undefined => (source.hasPublicJobs ? undefined : "reporter");

/** Whether the caller may see a project's pipelines and jobs. */
export function mayReadJobs(source: Source): boolean {
  const role = readingRole({ source });
  return source.features.includes("jobs") && (role === undefined || hasRole(source, role));
}

/** Whether the caller may run pipelines of a project, as far as its branches and tags let them. */
export const mayCreatePipeline = (source: Source): boolean =>
  isWritable(source, "jobs") && hasRole(source, "developer");

/** Whether the caller may see the variables a pipeline was given, or erase a job: who started it, and maintainers. */
export const mayAdminRun = ownOr("maintainer");

/** Whether the caller may end a job without its runner. */
export const mayForceCancel = (source: Source): boolean => hasRole(source, "maintainer");

/** Who downloads artifacts: somebody with a role in the project, or a later job of the same pipeline. */
export type Downloader = Pick<Source, "level"> | "later job";

/** Whether somebody may download an artifact. */
export function mayDownload(downloader: Downloader, access: ArtifactAccess): boolean {
  if (downloader === "later job" || access === "all") return true;
  return access !== "none" && hasRole(downloader, access);
}

/** Whether somebody has the access level that a grant of a protected environment names; `null` names none. */
export const reaches = ({ level }: Pick<Source, "level">, wanted: number | null): boolean =>
  wanted !== null && level >= wanted;
