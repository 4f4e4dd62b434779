import type { Condition } from "../../store/conditions.ts";

/** A query for how many pipelines, besides those that others have started, or jobs a project has. */
export const countOf = (kind: "pipeline" | "job", projectId: number): Condition => ({
  sql: "select cast(coalesce(sum(count), 0) as bigint) from ci_counts where project_id = ? and kind = ?",
  values: [projectId, kind],
});
