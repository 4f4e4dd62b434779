import type { Source } from "../core/access/source.ts";
import { readPushOption } from "../git/push-options.ts";
import { BRANCHES } from "../git/refs.ts";
import type { Applied } from "../resources/repositories/pushes.ts";
import { placeholders } from "../store/placeholders.ts";
import type { Reader } from "../store/port.ts";
import { creationMessage } from "./creation.ts";

/** Branches that a client is told of merge requests for, after one push. */
const MAX_LINKS = 10;
/** Characters of an option that are told. */
const MAX_OPTION = 200;

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

/** The branches that a push has created or changed, and their commits in hex. */
export function pushedBranches(outcomes: Applied["outcomes"]): [branch: string, sha: string][] {
  return outcomes.flatMap(({ problem, change: { name, to } }) =>
    problem === undefined && to !== undefined && name.startsWith(BRANCHES)
      ? [[name.slice(BRANCHES.length), to]]
      : [],
  );
}

/** What is told of the options of a push: those that there are not, and what could not be done for the others. */
export function warningsOf(options: readonly string[], errors: readonly string[]): string[] {
  const unknown = options
    .filter((option) => !readPushOption(option))
    .map((option) => `${quoted(option)} is no push option of this server`);
  const all = [...unknown, ...errors];
  if (all.length === 0) return [];
  const given = options.map(quoted).join(" ");
  return ["", "WARNINGS:", `Error encountered with push options ${given}: ${all.join("\n\n")}`, ""];
}

/** An option as it is told: in one line, without what terminals would take for commands. */
const quoted = (option: string) => `'${option.replace(/\p{Cc}/gu, " ").slice(0, MAX_OPTION)}'`;

/**
 * What Git's client shows about a push: why it was refused, what was created, and where merge requests of its branches
 * are or can be opened.
 *
 * @param base the public address
 */
export async function messagesOf(
  db: Reader,
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
  const branches = pushedBranches(outcomes)
    .map(([branch]) => branch)
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
