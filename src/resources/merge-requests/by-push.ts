import { findVisible, type Source, sourcesById } from "../../core/access/source.ts";
import { inProject, type Viewer } from "../../core/access/visibility.ts";
import { ApiError, messagesOf } from "../../core/errors.ts";
import type { RouteRunner } from "../../core/resource.ts";
import { commitNumber, readCommit, titleOf } from "../../git/commits.ts";
import { logOf } from "../../git/log.ts";
import { readPushOption } from "../../git/push-options.ts";
import { BRANCHES, findRef } from "../../git/refs.ts";
import { joined } from "../../git/repository.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Store } from "../../store/port.ts";
import { ISSUE } from "../issuables/issue.ts";
import { isDraft, MERGE_REQUEST } from "../issuables/merge-request.ts";
import * as issuables from "../issuables/queries.ts";
import * as milestones from "../milestones/queries.ts";
import { findRecord, openRepository } from "../repositories/open.ts";
import { targetRoute } from "../target-branch-rules/actions.ts";
import { mergeLater } from "./merging.ts";

/** Branches of one push that options can open or change merge requests of, as in GitLab. */
const MOST_BRANCHES = 10;
/** Commits of a branch that are looked at for a title. */
const MOST_COMMITS = 100;

/** A push with options, after it was made. */
interface Pushed {
  readonly store: Store;
  readonly project: Source;
  readonly viewer: Viewer & { readonly caller: { readonly id: number } };
  /** The branches that it created or changed, and their commits in hex. */
  readonly branches: ReadonlyMap<string, string>;
}

/** What options say about merge requests: of those that are given once, the last one counts. */
class Asked {
  readonly #values = new Map<string, (string | true)[]>();

  constructor(options: readonly string[]) {
    for (const written of options) {
      const option = readPushOption(written);
      if (option?.part !== "merge_request") continue;
      const values = this.#values.get(option.name) ?? [];
      this.#values.set(option.name, [...values, option.value]);
    }
  }

  get isEmpty(): boolean {
    return this.#values.size === 0;
  }

  text(name: string): string | undefined {
    const value = this.#values.get(name)?.at(-1);
    return typeof value === "string" ? value : undefined;
  }

  flag(name: string): boolean | undefined {
    const value = this.#values.get(name)?.at(-1);
    return value === undefined ? undefined : value !== "false";
  }

  texts(name: string): string[] {
    return (this.#values.get(name) ?? []).filter((value) => value !== true);
  }
}

/** Whether options of a push are about merge requests. */
export function isAboutRequests(options: readonly string[]): boolean {
  return !new Asked(options).isEmpty;
}

/**
 * Opens or changes the merge requests of the branches that were pushed, as options of the push say: by the same routes that
 * clients of the API use.
 *
 * @returns what could not be done, in GitLab's words
 */
export async function requestsByPush(
  runner: RouteRunner,
  pushed: Pushed,
  options: readonly string[],
): Promise<string[]> {
  const asked = new Asked(options);
  if (asked.isEmpty) return [];
  const db = runner.reader();
  const target = await targetOf(db, pushed, asked);
  if (!target) return [`Project ${asked.text("target_project")} could not be found`];
  const { row, defaultBranch } = await findRecord(db, target.id);
  const into = asked.text("target");
  const branches = [...pushed.branches].filter(([branch]) => branch !== defaultBranch);
  const errors: string[] = [];
  if (!target.features.includes("merge_requests")) {
    errors.push(`Merge requests are not enabled for project ${target.fullPath}`);
  }
  if (branches.length > MOST_BRANCHES) {
    const many = `${branches.length} were pushed, limit is ${MOST_BRANCHES}`;
    errors.push(`Too many branches pushed (${many})`);
  }
  if (into !== undefined && !(row && (await findRef(db, row.id, BRANCHES + into)))) {
    errors.push(`Target branch ${target.fullPath}:${into} does not exist`);
  }
  if (errors.length > 0) return errors;
  const ruledTarget = async (branch: string) => {
    const { value } = await runner.perform(targetRoute, { id: target.id, source_branch: branch });
    return (value as { target_branch: string }).target_branch;
  };
  for (const [branch, sha] of branches) {
    try {
      const place = { ...pushed, target, branch, sha, into: into ?? (await ruledTarget(branch)) };
      errors.push(...(await followBranch(runner, place, asked)));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const isRefused = [401, 403, 404].includes(error.status);
      errors.push(...(isRefused ? ["User access was denied"] : messagesOf(error)));
    }
  }
  return errors;
}

/** The project that merge requests are to be merged into; `undefined` if the caller may not read the one that is named. */
async function targetOf(
  db: Reader,
  { project, viewer }: Pushed,
  asked: Asked,
): Promise<Source | undefined> {
  const named = asked.text("target_project");
  if (named !== undefined) return findVisible(db, "project", named, viewer);
  const [row] = await db.rows("select forked_from_project_id from projects where id = ?", [
    project.id,
  ]);
  const id = row?.[0] ?? null;
  const upstream =
    id === null ? undefined : (await sourcesById(db, "project", [id], viewer)).get(id);
  const isUsual =
    upstream?.features.includes("merge_requests") && project.visibility >= upstream.visibility;
  return isUsual && (await findVisible(db, "project", String(id), viewer)) ? upstream : project;
}

/** A branch that was pushed. */
interface PushedBranch extends Pushed {
  readonly target: Source;
  readonly branch: string;
  readonly sha: string;
  /** The branch that a new merge request is to be merged into. */
  readonly into: string;
}

async function followBranch(
  { perform, reader }: RouteRunner,
  place: PushedBranch,
  asked: Asked,
): Promise<string[]> {
  const db = reader();
  const { project, target, branch, sha, into } = place;
  const found = await openFrom(db, place);
  if (!found && asked.flag("create") !== true) {
    return [
      `A merge_request.create push option is required to create a merge request for branch ${branch}`,
    ];
  }
  const { attributes, unknown } = await attributesOf(db, place, asked, found);
  let iid = found?.iid;
  if (!found) {
    const { value } = await perform("POST /projects/:id/merge_requests", {
      ...attributes,
      ...(await proposed(db, place, attributes, asked)),
      id: project.id,
      source_branch: branch,
      target_branch: into,
      target_project_id: target.id,
    });
    ({ iid } = value as { iid: number });
  } else if (Object.keys(attributes).length > 0) {
    const parameters = { ...attributes, id: target.id, merge_request_iid: iid };
    await perform("PUT /projects/:id/merge_requests/:merge_request_iid", parameters);
  }
  if (asked.flag("auto_merge") ?? asked.flag("merge_when_pipeline_succeeds")) {
    await perform(mergeLater, { id: target.id, merge_request_iid: iid, sha });
  }
  return unknown;
}

interface Request {
  readonly id: number;
  readonly iid: number;
  readonly title: string;
}

/** The newest open merge request from a branch. */
async function openFrom(
  db: Reader,
  { project, target, branch }: PushedBranch,
): Promise<Request | undefined> {
  return db.one<Request>(
    `select id, iid, title from merge_requests
     where source_project_id = ? and source_branch = ? and state = 'opened' and project_id = ? order by id desc limit 1`,
    [project.id, branch, target.id],
  );
}

/** The attributes of a merge request that options set. */
async function attributesOf(
  db: Reader,
  { target, viewer }: PushedBranch,
  asked: Asked,
  found: Request | undefined,
): Promise<{ attributes: Record<string, unknown>; unknown: string[] }> {
  const [added, removed] = [asked.texts("label"), asked.texts("unlabel")];
  const people = await usersNamed(db, [...asked.texts("assign"), ...asked.texts("unassign")]);
  const unknown: string[] = [];
  const idsOf = (name: string) =>
    asked.texts(name).flatMap((written) => {
      const id = people.get(plainName(written));
      if (id === undefined) unknown.push(`User ${written} could not be found`);
      return id ?? [];
    });
  const [assigned, unassigned] = [idsOf("assign"), idsOf("unassign")];
  const title = asked.text("title") ?? found?.title;
  const isMarked = asked.flag("draft") === true && title !== undefined && !isDraft(title);
  const named = asked.text("milestone");
  const milestone =
    named === undefined ? undefined : await milestones.findFor(db, target, { title: named });
  if (named !== undefined && !milestone) unknown.push(`Milestone ${named} could not be found`);
  const attributes: Record<string, unknown> = {
    title: isMarked ? `Draft: ${title}` : asked.text("title"),
    // A line of an option can't be divided otherwise.
    description: asked.text("description")?.replaceAll("\\n", "\n"),
    target_branch: asked.text("target"),
    remove_source_branch: asked.flag("remove_source_branch"),
    squash: asked.flag("squash"),
    add_labels: added.length > 0 ? added : undefined,
    remove_labels: removed.length > 0 ? removed : undefined,
    milestone_id: milestone?.id,
  };
  if (!found || assigned.length + unassigned.length > 0) {
    const before = found
      ? await issuables.peopleOf(db, MERGE_REQUEST, "assignees", found.id)
      : [viewer.caller.id];
    const after = new Set([...before, ...assigned]);
    for (const id of unassigned) after.delete(id);
    attributes["assignee_ids"] = [...after];
  }
  const set = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return { attributes: Object.fromEntries(set), unknown };
}

/** A user's name or id as options may write it. */
const plainName = (written: string) => written.replace(/^@/, "").toLowerCase();

/** The ids of users, by their ids and names as {@link plainName} has them. */
async function usersNamed(db: Reader, names: readonly string[]): Promise<Map<string, number>> {
  if (names.length === 0) return new Map();
  const wanted = names.map(plainName);
  const ids = wanted.filter((name) => /^\d{1,15}$/.test(name)).map(Number);
  const [byId, byName] = [placeholders(ids.length > 0 ? ids : [0]), placeholders(wanted)];
  const rows = await db.rows(
    `select id, lower(username) from users where id in (${byId.sql}) or lower(username) in (${byName.sql})`,
    [...byId.values, ...byName.values],
  );
  const found = new Map<string, number>();
  for (const [id] of rows) found.set(String(id), id as number);
  for (const [id, name] of rows) found.set(name as string, id as number);
  return found;
}

/**
 * The title and description of a new merge request, as far as no option says them: those of its only commit, or of the first
 * one with more than a title; otherwise of the issue that the name of its branch begins with, or the name.
 */
async function proposed(
  db: Reader,
  place: PushedBranch,
  attributes: Readonly<Record<string, unknown>>,
  asked: Asked,
): Promise<{ title: string; description?: string }> {
  const { branch, target, viewer } = place;
  const messages = await messagesAhead(place);
  const [only, second] = messages;
  const chosen = second === undefined ? only : messages.find((message) => bodyOf(message) !== "");
  const number = Number(/^(\d{1,9})-/.exec(branch)?.[1] ?? 0);
  const issue =
    number > 0 && target.features.includes("issues")
      ? await issuables.find(db, ISSUE, target.id, number, inProject(viewer, target))
      : undefined;
  const seen = issue?.visible ? issue : undefined;
  const words = branch.replace(/[-_\s]+/g, " ").trim();
  const named = `${words.slice(0, 1).toUpperCase()}${words.slice(1).toLowerCase()}`;
  const resolving = seen && `Resolve "${seen.title}"`;
  const proposal = chosen === undefined ? (resolving ?? named) : titleOf(chosen);
  const isUnready = only === undefined || asked.flag("draft") === true;
  const title = isUnready && !isDraft(proposal) ? `Draft: ${proposal}` : proposal;
  const closes = seen ? [`Closes #${seen.iid}`] : [];
  const description = [chosen === undefined ? "" : bodyOf(chosen), ...closes].filter(Boolean);
  return {
    title: (attributes["title"] as string | undefined) ?? [...title].slice(0, 255).join(""),
    description: (attributes["description"] as string | undefined) ?? description.join("\n\n"),
  };
}

const bodyOf = (message: string) => message.slice(titleOf(message).length).trim();

/** The messages of the commits that a branch has and its target lacks, the oldest first, of so many of the newest ones. */
async function messagesAhead({
  store,
  project,
  target,
  branch,
  into,
}: PushedBranch): Promise<string[]> {
  const db = store.reader();
  const from = await openRepository({ db, store, source: project }, [BRANCHES + branch]);
  const to = await openRepository({ db, store, source: target }, [BRANCHES + into]);
  const repository = joined(to.repository, from.repository);
  const tip = (oid: string | undefined) => (oid ? commitNumber(repository, oid) : undefined);
  const head = tip(from.refs.get(BRANCHES + branch)?.oid);
  const start = tip(to.refs.get(BRANCHES + into)?.oid);
  if (head === undefined) return [];
  const log = logOf(repository, { from: [head], not: start === undefined ? [] : [start] });
  const messages: string[] = [];
  for (const number of (await log.first(repository, MOST_COMMITS)).slice(0, MOST_COMMITS)) {
    messages.unshift((await readCommit(repository, number)).message);
  }
  return messages;
}
