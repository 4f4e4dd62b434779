import type { Owner } from "../../core/access/owner.ts";
import { aboveNamespace } from "../../store/conditions.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";

/** The rules whose values are regular expressions of RE2. */
export const PATTERNS = [
  "commit_message_regex",
  "commit_message_negative_regex",
  "branch_name_regex",
  "author_email_regex",
  "file_name_regex",
] as const;

/** The rules that are switched on or off. */
export const FLAGS = [
  "deny_delete_tag",
  "member_check",
  "prevent_secrets",
  "commit_committer_check",
  "commit_committer_name_check",
  "reject_unsigned_commits",
  "reject_non_dco_commits",
] as const;

/** What pushes have to fit. */
export type PushRule = Readonly<Record<(typeof PATTERNS)[number], string | null>> &
  Readonly<Record<(typeof FLAGS)[number], number>> & {
    readonly id: number;
    readonly updated_at: number;
    /** Mebibytes that a file may have; 0 for any. */
    readonly max_file_size: number;
  };

/** All that is copied. */
const RULES = [...PATTERNS, ...FLAGS, "max_file_size"].join(", ");

/** The push rule of a group or project, or `undefined`. */
export function findRule(
  db: Reader,
  { column, id }: Pick<Owner, "column" | "id">,
): Awaitable<PushRule | undefined> {
  return db.one<PushRule>(`select id, updated_at, ${RULES} from push_rules where ${column} = ?`, [
    id,
  ]);
}

/**
 * Gives a new project the push rule of its group, or of the nearest group above that has one.
 *
 * @param now epoch milliseconds
 */
export async function copyRule(
  db: Database,
  namespaceId: number,
  projectId: number,
  now: number,
): Promise<void> {
  const above = aboveNamespace("r.namespace_id", namespaceId);
  await db.run(
    `insert into push_rules (project_id, created_at, updated_at, ${RULES})
     select ?, ?, ?, ${RULES} from push_rules r join namespaces n on n.id = r.namespace_id
     where ${above.sql} order by length(n.full_path) desc limit 1`,
    [projectId, now, now, ...above.values],
  );
}
