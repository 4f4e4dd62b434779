import { placeholders } from "../../store/placeholders.ts";
import type { Reader } from "../../store/port.ts";
import { HEAD } from "../ci/heads.ts";
import { FINISHED, type Status } from "../ci/statuses.ts";

interface Compared {
  id: number;
  status: Status;
  coverage: string | null;
  base_id: number | null;
  base_coverage: string | null;
}

/**
 * The merge requests among these whose tests cover no less than those of where they begin: their newest pipeline has
 * ended and says how much, and it is as much as in the newest pipeline of the target branch at that commit. If there is
 * no such pipeline, there is nothing to fall behind, as in GitLab.
 */
export async function keepingCoverage(db: Reader, ids: readonly number[]): Promise<Set<number>> {
  if (ids.length === 0) return new Set();
  const among = placeholders(ids);
  const compared = await db.all<Compared>(
    `select mr.id, h.status, h.coverage, b.id as base_id, b.coverage as base_coverage
     from merge_requests mr join pipelines h on h.id = ${HEAD}
     left join merge_request_versions v
       on v.id = (select max(id) from merge_request_versions where merge_request_id = mr.id)
     left join pipelines b on b.id = (select max(o.id) from pipelines o
       where o.project_id = mr.project_id and o.sha = v.base_sha and o.ref = mr.target_branch)
     where mr.id in (${among.sql})`,
    among.values,
  );
  const keeps = ({ status, coverage, base_id, base_coverage }: Compared) => {
    if (coverage === null || (status !== "skipped" && !FINISHED.includes(status))) return false;
    return (
      base_id === null || (base_coverage !== null && Number(coverage) >= Number(base_coverage))
    );
  };
  return new Set(compared.filter(keeps).map(({ id }) => id));
}
