import type { Source } from "../../core/access/source.ts";
import { Pace } from "../../git/pace.ts";
import {
  applyPush,
  type CheckedChange,
  type Outcome,
  type Push,
  pushedCommits,
} from "../../git/push.ts";
import { BRANCHES, bounds, findRef, TAGS } from "../../git/refs.ts";
import type { RepositoryRow } from "../../git/repository.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { recordPush } from "../events/record.ts";
import { readmeOf, setReadme } from "./readme.ts";

/** What an event says about a change, but for whose it is. */
type Pushed = Omit<Parameters<typeof recordPush>[1], "project_id" | "author_id">;

/** Who pushes, and where. */
interface Target {
  readonly project: Source;
  readonly authorId: number;
  readonly row: RepositoryRow;
  /** The full name of the default branch, which may not exist. */
  readonly head: string;
}

/** A push with all that is needed to apply it. */
export interface Received<P extends Push = Push> extends Target {
  readonly push: P;
  readonly events: ReadonlyMap<CheckedChange, Pushed>;
  /** What becomes of the default branch, if it is pushed, or if it is the first branch of the project. */
  readonly main: MainBranch | undefined;
}

/** The default branch as of a push. */
interface MainBranch {
  /** Its full name. */
  readonly name: string;
  /** Whether there was no branch before. */
  readonly isFirst: boolean;
  /** The path of its README, if it has one. */
  readonly readme: string | null;
}

/**
 * Finds out what applying a push will take, and what its events will say: reading commits takes too long for its
 * transaction.
 */
export async function receive<P extends Push>(
  db: Reader,
  push: P,
  target: Target,
): Promise<Received<P>> {
  const events = await eventsOf(db, push, target);
  return { ...target, push, events, main: await mainOf(db, push, target) };
}

async function eventsOf(
  db: Reader,
  push: Push,
  target: Target,
): Promise<Map<CheckedChange, Pushed>> {
  const events = new Map<CheckedChange, Pushed>();
  const pace = new Pace();
  const main = (await findRef(db, target.row.id, target.head))?.oid;
  for (const change of push.changes) {
    const type = change.name.startsWith(BRANCHES)
      ? "branch"
      : change.name.startsWith(TAGS)
        ? "tag"
        : undefined;
    if (!type || change.problem !== undefined) continue;
    const known = change.name === target.head ? undefined : main;
    const { count, title } = await commitsOf(push, change, type, known);
    events.set(change, {
      ref: change.name.slice(type === "branch" ? BRANCHES.length : TAGS.length),
      ref_type: type,
      push_action: !change.to ? "removed" : change.from ? "pushed" : "created",
      commit_count: count,
      commit_from: change.from ?? null,
      commit_to: change.to ?? null,
      commit_title: title,
    });
    if (pace.isDue) await pace.pause();
  }
  return events;
}

/** The commits that a change adds: a new branch to the default one. A tag counts as one. */
async function commitsOf(
  { repository }: Push,
  { from, to, peeled }: CheckedChange,
  type: "branch" | "tag",
  main: string | undefined,
): Promise<{ count: number; title: string | null }> {
  if (to === undefined) return { count: 0, title: null };
  const tip = peeled ?? to;
  if (type === "tag") {
    const isCommit = repository.graph.commitOf(repository.findHex(tip)) >= 0;
    const title = isCommit ? (await pushedCommits(repository, tip, [])).title : null;
    return { count: 1, title };
  }
  const known = from ?? main;
  return pushedCommits(repository, tip, known === undefined ? [] : [known]);
}

async function mainOf(
  db: Reader,
  { changes, repository }: Push,
  { row, head }: Target,
): Promise<MainBranch | undefined> {
  const branches = changes.filter(
    ({ name, to, problem }) => to && problem === undefined && name.startsWith(BRANCHES),
  );
  if (branches.length === 0) return undefined;
  const isFirst = !(await hasBranches(db, row.id));
  const main = branches.find(({ name }) => name === head) ?? (isFirst ? branches[0] : undefined);
  if (!main?.to) return undefined;
  return { name: main.name, isFirst, readme: await readmeOf(repository, main.to) };
}

/**
 * Applies a push in a transaction: its references, its events and merge requests, and the default branch if it is the
 * first.
 *
 * @param refusal why the whole push is refused, if it is
 * @param now epoch milliseconds
 */
export async function apply(
  db: Database,
  { push, row, project, authorId, events, main }: Received,
  refusal: string | undefined,
  now: number,
): Promise<Outcome[]> {
  await db.lock(project.id);
  const isFirst = main?.isFirst && !(await hasBranches(db, row.id));
  const outcomes = await applyPush(db, row.id, push, refusal);
  const made = outcomes.filter(({ problem }) => problem === undefined);
  if (main && made.some(({ change }) => change.name === main.name)) {
    await setReadme(db, row.id, main.readme);
    if (isFirst) {
      const default_branch = main.name.slice(BRANCHES.length);
      await updateRow(db, "projects", project.id, { default_branch }, now);
    }
  }
  for (const { change } of made) {
    const event = events.get(change);
    if (!event) continue;
    await recordPush(db, { ...event, project_id: project.id, author_id: authorId }, now);
  }
  return outcomes;
}

/** Whether a repository has any branch. */
export async function hasBranches(db: Reader, repositoryId: number): Promise<boolean> {
  const found = await db.rows(
    "select 1 from git_refs where repository_id = ? and name > ? and name < ? limit 1",
    [repositoryId, ...bounds(BRANCHES)],
  );
  return found.length > 0;
}
