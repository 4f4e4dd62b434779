import type { Source } from "../core/access/source.ts";
import { readPushOption } from "../git/push-options.ts";
import { BRANCHES } from "../git/refs.ts";
import type { Applied } from "../resources/repositories/pushes.ts";
import { placeholders } from "../store/placeholders.ts";
import type { Reader } from "../store/port.ts";
import { type Addresses, creationMessage } from "./creation.ts";

/** Branches that a client is told of merge requests for, after one push. */
const MAX_LINKS = 10;
/** Characters of an option that are told. */
const MAX_OPTION = 200;

/** What is told to those who use a path that a project had before. */
export function moveMessage(
  from: string,
  { fullPath }: Source,
  { remote }: Pick<Addresses, "remote">,
): string {
  return [
    "",
    `Project '${from}' was moved to '${fullPath}'.`,
    "",
    "Please update your Git remote:",
    "",
    `  git remote set-url origin ${remote(fullPath)}`,
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
 * are.
 */
export async function messagesOf(
  db: Reader,
  received: {
    readonly project: Source;
    readonly isNew: boolean;
    readonly movedFrom: string | undefined;
  },
  { outcomes, refusal, defaultBranch }: Applied,
  addresses: Addresses,
): Promise<string[]> {
  const { project, isNew, movedFrom } = received;
  const moved = movedFrom === undefined ? [] : [moveMessage(movedFrom, project, addresses)];
  const created = isNew ? [creationMessage(project, addresses)] : moved;
  if (refusal) return [...created, `GitLab: ${refusal}`];
  const branches = pushedBranches(outcomes)
    .map(([branch]) => branch)
    .filter((branch) => branch !== defaultBranch)
    .slice(0, MAX_LINKS);
  if (branches.length === 0 || !project.features.includes("merge_requests")) return created;
  const among = placeholders(branches);
  const rows = await db.rows(
    `select source_branch, project_id, iid from merge_requests
     where source_project_id = ? and source_branch in (${among.sql}) and state = 'opened' order by id`,
    [project.id, ...among.values],
  );
  const opened = new Map(rows.map(([branch, id, iid]) => [branch, { id, iid }]));
  const links = branches.flatMap((branch) => {
    const known = opened.get(branch);
    if (!known) return [];
    // There is no page for it yet.
    const address = `${addresses.base}/api/v4/projects/${known.id}/merge_requests/${known.iid}`;
    return [`\nView merge request for ${branch}:\n  ${address}\n`];
  });
  return [...created, ...links];
}
