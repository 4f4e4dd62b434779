import type { Caller } from "../../core/access/caller.ts";
import { takesTokenOf } from "../../core/access/job-tokens.ts";
import { codeRole, type Source } from "../../core/access/source.ts";
import {
  BEING_DELETED,
  inProject,
  VISIBILITIES,
  type Viewer,
  visiblePackages,
} from "../../core/access/visibility.ts";
import { all, any, belowGroup, type Condition } from "../../store/conditions.ts";

/** How package managers sign in: with a token as Bearer, or with HTTP Basic. */
export const open = { access: "anyone", basicAuth: true, jobTokens: true } as const;

/** Who may read packages in a group. */
export const reading = { ...open, deployTokens: "read_package_registry" } as const;

/** Callers who may read the code of a project may read its packages. */
export const readingProject = { ...reading, role: codeRole } as const;

/** Who may publish packages in a project. */
export const writing = {
  basicAuth: true,
  jobTokens: true,
  deployTokens: "write_package_registry",
  role: "developer",
  concurrency: "per project",
  whenArchived: "refuse",
} as const;

/** Who asks. */
export interface Asking {
  readonly viewer: Viewer;
  readonly caller: Caller | undefined;
}

/** The packages `pk` of a project. */
export const ofProject = ({ id }: Source): Condition => ({
  sql: "pk.project_id = ?",
  values: [id],
});

/** The projects whose packages the caller may read. The tokens of CI jobs reach those that take them, and what is public. */
export function readable({ viewer, caller }: Asking): Condition {
  const by = caller?.by;
  return all([
    visiblePackages(viewer),
    by?.kind === "job"
      ? any([takesTokenOf(by), { sql: "p.visibility = ?", values: [VISIBILITIES.public] }])
      : undefined,
  ]);
}

/** The projects in a group and below it whose packages the caller may read. */
export const inGroup = (source: Source, asking: Asking): Condition =>
  all([
    belowGroup("p.namespace_id", source.id),
    { sql: "p.visibility + 0 > ?", values: [BEING_DELETED] },
    // Deploy tokens are no members: what they reach is in their level.
    asking.caller?.by.kind === "deploy"
      ? visiblePackages(inProject(asking.viewer, source))
      : readable(asking),
  ]);
