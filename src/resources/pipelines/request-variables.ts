import {
  NOT_DELETED_LABEL,
  NOT_DELETED_MILESTONE,
  NOT_DELETED_USER,
} from "../../core/access/visibility.ts";
import { BRANCHES } from "../../git/refs.ts";
import type { Reader } from "../../store/port.ts";
import { IS_DRAFT } from "../issuables/merge-checks.ts";
import { rulesOf } from "../protected-refs/queries.ts";

interface Facts {
  readonly iid: number;
  readonly title: string;
  readonly description: string | null;
  readonly source_branch: string;
  readonly target_branch: string;
  readonly squash: number;
  readonly is_draft: number;
  readonly project_id: number;
  readonly path: string;
  readonly source_project_id: number | null;
  readonly source_path: string | null;
  readonly milestone: string | null;
  readonly version: number | null;
  readonly base: string | null;
}

const FACTS = `select mr.iid, mr.title, mr.description, mr.source_branch, mr.target_branch, mr.squash,
    case when ${IS_DRAFT} then 1 else 0 end as is_draft, mr.project_id, p.full_path as path,
    mr.source_project_id, s.full_path as source_path, m.title as milestone, v.id as version, v.base_sha as base
  from merge_requests mr join projects p on p.id = mr.project_id
  left join projects s on s.id = mr.source_project_id
  left join milestones m on m.id = mr.milestone_id and ${NOT_DELETED_MILESTONE}
  left join merge_request_versions v on v.id = (
    select max(o.id) from merge_request_versions o where o.merge_request_id = mr.id)
  where mr.id = ?`;

const LABELS = `select l.name from merge_request_labels x join labels l on l.id = x.label_id
  where x.merge_request_id = ? and ${NOT_DELETED_LABEL} order by l.name`;
const ASSIGNEES = `select u.username from merge_request_assignees a join users u on u.id = a.user_id
  where a.merge_request_id = ? and ${NOT_DELETED_USER} order by u.id`;

/** Characters of a description that jobs are told, as in GitLab. */
const MOST_DESCRIPTION = 2700;

/** The names in the rows of a statement, with commas; `undefined` if there are none. */
async function namesOf(db: Reader, sql: string, requestId: number): Promise<string | undefined> {
  const rows = await db.rows(sql, [requestId]);
  return rows.map(([name]) => name).join(",") || undefined;
}

async function isProtected(db: Reader, projectId: number | null, branch: string) {
  if (projectId === null) return undefined;
  const rules = await rulesOf(db, projectId, [BRANCHES + branch]);
  return String(rules.isEmpty || rules.branches(branch).length > 0);
}

/** The variables that say what merge request a pipeline is of. */
export async function requestVariables(
  db: Reader,
  base: string,
  requestId: number,
): Promise<Record<string, string | undefined>> {
  const facts = await db.one<Facts>(FACTS, [requestId]);
  if (!facts) return {};
  const { source_project_id: sourceId, source_path, description } = facts;
  return {
    CI_MERGE_REQUEST_ID: String(requestId),
    CI_MERGE_REQUEST_IID: String(facts.iid),
    CI_MERGE_REQUEST_TITLE: facts.title,
    CI_MERGE_REQUEST_DESCRIPTION: description?.slice(0, MOST_DESCRIPTION),
    CI_MERGE_REQUEST_DESCRIPTION_IS_TRUNCATED:
      description === null ? undefined : String(description.length > MOST_DESCRIPTION),
    CI_MERGE_REQUEST_DRAFT: String(facts.is_draft === 1),
    CI_MERGE_REQUEST_SQUASH_ON_MERGE: String(facts.squash === 1),
    CI_MERGE_REQUEST_MILESTONE: facts.milestone ?? undefined,
    CI_MERGE_REQUEST_LABELS: await namesOf(db, LABELS, requestId),
    CI_MERGE_REQUEST_ASSIGNEES: await namesOf(db, ASSIGNEES, requestId),
    CI_MERGE_REQUEST_PROJECT_ID: String(facts.project_id),
    CI_MERGE_REQUEST_PROJECT_PATH: facts.path,
    CI_MERGE_REQUEST_PROJECT_URL: `${base}/${facts.path}`,
    CI_MERGE_REQUEST_REF_PATH: `refs/merge-requests/${facts.iid}/head`,
    CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: facts.source_branch,
    CI_MERGE_REQUEST_SOURCE_BRANCH_PROTECTED: await isProtected(db, sourceId, facts.source_branch),
    CI_MERGE_REQUEST_SOURCE_BRANCH_SHA: "",
    CI_MERGE_REQUEST_TARGET_BRANCH_NAME: facts.target_branch,
    CI_MERGE_REQUEST_TARGET_BRANCH_PROTECTED: await isProtected(
      db,
      facts.project_id,
      facts.target_branch,
    ),
    CI_MERGE_REQUEST_TARGET_BRANCH_SHA: "",
    ...(source_path !== null && {
      CI_MERGE_REQUEST_SOURCE_PROJECT_ID: String(sourceId),
      CI_MERGE_REQUEST_SOURCE_PROJECT_PATH: source_path,
      CI_MERGE_REQUEST_SOURCE_PROJECT_URL: `${base}/${source_path}`,
    }),
    CI_MERGE_REQUEST_DIFF_ID: facts.version === null ? undefined : String(facts.version),
    CI_MERGE_REQUEST_DIFF_BASE_SHA: facts.base ?? undefined,
    CI_MERGE_REQUEST_EVENT_TYPE: "detached",
  };
}
