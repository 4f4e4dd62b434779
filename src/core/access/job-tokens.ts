import type { Condition } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import type { JobProof } from "./caller.ts";
import type { Source } from "./source.ts";

/**
 * Whether a CI job's token is valid for a project: its own, one that has it on its list, by itself or with a group, or one
 * that takes the tokens of all.
 */
export async function isInScope(
  db: Reader,
  job: Pick<JobProof, "projectId">,
  { id }: Pick<Source, "id">,
): Promise<boolean> {
  if (job.projectId === id) return true;
  const { sql, values } = takesTokenOf(job);
  const found = await db.rows(`select 1 from projects p where p.id = ? and ${sql}`, [
    id,
    ...values,
  ]);
  return found.length > 0;
}

/** The condition under which {@link isInScope} holds for a row `p` of projects. */
export function takesTokenOf({ projectId: ofJob }: Pick<JobProof, "projectId">): Condition {
  return {
    sql: `(p.id = ? or p.job_token_scope_enabled = 0
       or exists (select 1 from job_token_projects jp where jp.project_id = p.id and jp.target_project_id = ?)
       or exists (select 1 from job_token_groups jg
         join namespace_ancestors a on a.ancestor_id = jg.target_group_id
         join projects jobs on jobs.namespace_id = a.namespace_id
         where jg.project_id = p.id and jobs.id = ?))`,
    values: [ofJob, ofJob, ofJob],
  };
}
