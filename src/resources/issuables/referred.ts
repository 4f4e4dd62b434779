import { type Viewer, visibleIssues, visibleProjects } from "../../core/access/visibility.ts";
import type { IssueReference } from "../../core/references.ts";
import { all } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader } from "../../store/port.ts";

/** An issue that a text refers to, and that there is. */
export interface ReferredIssue<Reference extends IssueReference = IssueReference> {
  readonly id: number;
  readonly projectId: number;
  readonly reference: Reference;
}

/**
 * Finds the issues that texts of a project refer to.
 *
 * @param viewer whose issues count: those they may read; `undefined` for all
 */
export async function findReferred<Reference extends IssueReference>(
  db: Reader,
  project: { fullPath: string },
  references: readonly Reference[],
  viewer: Viewer | undefined,
): Promise<ReferredIssue<Reference>[]> {
  if (references.length === 0) return [];
  const known = new Map<string, Reference>();
  for (const reference of references) {
    const path = pathOf(reference.project, project.fullPath);
    const key = `${path.toLowerCase()}#${reference.iid}`;
    if (reference.closes || !known.has(key)) known.set(key, reference);
  }
  const keys = [...known.keys()];
  const paths = placeholders([...new Set(keys.map((key) => key.slice(0, key.indexOf("#"))))]);
  const numbers = placeholders([...new Set(references.map(({ iid }) => iid))]);
  const readable = all(viewer ? [visibleProjects(viewer), visibleIssues(viewer)] : []);
  const found = await db.rows(
    `select i.id, i.iid, i.project_id, lower(p.full_path)
     from projects p join issues i on i.project_id = p.id
     where lower(p.full_path) in (${paths.sql}) and i.iid in (${numbers.sql}) and ${readable.sql}
     order by i.project_id, i.iid`,
    [...paths.values, ...numbers.values, ...readable.values],
  );
  return (found as [number, number, number, string][]).flatMap(([id, iid, projectId, path]) => {
    const reference = known.get(`${path}#${iid}`);
    return reference ? [{ id, projectId, reference }] : [];
  });
}

/** The full path of a project as a text in another one names it: its own name stands for a neighbour. */
function pathOf(written: string | undefined, own: string): string {
  if (written === undefined) return own;
  return written.includes("/") ? written : `${own.slice(0, own.lastIndexOf("/"))}/${written}`;
}
