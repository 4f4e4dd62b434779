import type { Source } from "../core/access/source.ts";
import { BRANCHES } from "../git/refs.ts";
import type { Applied } from "../resources/repositories/pushes.ts";
import { placeholders } from "../store/placeholders.ts";
import type { Database } from "../store/port.ts";
import { creationMessage } from "./creation.ts";

/** Branches that a client is told of merge requests for, after one push. */
const MAX_LINKS = 10;

/** What is told to those who push to a path that a project had before. */
function moveMessage(from: string, { fullPath }: Source, base: string): string {
  return [
    "",
    `Project '${from}' was moved to '${fullPath}'.`,
    "",
    "Please update your Git remote:",
    "",
    `  git remote set-url origin ${base}/${fullPath}.git`,
    "",
  ].join("\n");
}

/**
 * What Git's client shows about a push: why it was refused, what was created, and where merge requests of its branches
 * are or can be opened.
 *
 * @param base the public address
 */
export async function messagesOf(
  db: Database,
  received: {
    readonly project: Source;
    readonly isNew: boolean;
    readonly movedFrom: string | undefined;
  },
  { outcomes, refusal, defaultBranch }: Applied,
  base: string,
): Promise<string[]> {
  const { project, isNew, movedFrom } = received;
  const moved = movedFrom === undefined ? [] : [moveMessage(movedFrom, project, base)];
  const created = isNew ? [creationMessage(project, base)] : moved;
  if (refusal) return [...created, `GitLab: ${refusal}`];
  const branches = outcomes
    .filter(({ problem, change: { to } }) => problem === undefined && to)
    .filter(({ change: { name } }) => name.startsWith(BRANCHES))
    .map(({ change: { name } }) => name.slice(BRANCHES.length))
    .filter((branch) => branch !== defaultBranch)
    .slice(0, MAX_LINKS);
  if (branches.length === 0 || !project.features.includes("merge_requests")) return created;
  const among = placeholders(branches);
  const rows = await db.rows(
    `select mr.source_branch, p.full_path, mr.iid from merge_requests mr join projects p on p.id = mr.project_id
     where mr.source_project_id = ? and mr.source_branch in (${among.sql}) and mr.state = 'opened' order by mr.id`,
    [project.id, ...among.values],
  );
  const opened = new Map(
    rows.map(([branch, path, iid]) => [branch, `${path}/-/merge_requests/${iid}`]),
  );
  const links = branches.map((branch) => {
    const known = opened.get(branch);
    const query = `merge_request%5Bsource_branch%5D=${encodeURIComponent(branch)}`;
    return known
      ? `\nView merge request for ${branch}:\n  ${base}/${known}\n`
      : `\nTo create a merge request for ${branch}, visit:\n  ${base}/${project.fullPath}/-/merge_requests/new?${query}\n`;
  });
  return [...created, ...links];
}
