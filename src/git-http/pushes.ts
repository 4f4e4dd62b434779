import type { Caller } from "../core/access/caller.ts";
import { findSource, type Source } from "../core/access/source.ts";
import { dayOf } from "../core/time.ts";
import { Pace } from "../git/pace.ts";
import {
  applyPush,
  type CheckedChange,
  type Outcome,
  type Push,
  pushedCommits,
} from "../git/receive-pack.ts";
import { BRANCHES, type Refs, TAGS } from "../git/refs.ts";
import * as repositories from "../git/repository.ts";
import { recordPush } from "../resources/events/record.ts";
import { protectDefault } from "../resources/protected-refs/changes.ts";
import { rightsOf } from "../resources/protected-refs/rights.ts";
import type { Database } from "../store/port.ts";
import { updateRow } from "../store/update.ts";

/** What an event says about a change, but for whose it is. */
type Pushed = Omit<Parameters<typeof recordPush>[1], "project_id" | "author_id">;

/** A push that was received, with all that is needed to apply it. */
export interface Received {
  readonly push: Push;
  readonly project: Source;
  /** Whether the push has created the project. */
  readonly isNew: boolean;
  readonly caller: Caller;
  readonly events: ReadonlyMap<CheckedChange, Pushed>;
  /** How many commits the default branch will have; `undefined` if it stays as it is. */
  readonly commits: number | undefined;
}

/** What the events about a push will say: reading commits takes too long for its transaction. */
export async function eventsOf(push: Push, refs: Refs): Promise<Map<CheckedChange, Pushed>> {
  const events = new Map<CheckedChange, Pushed>();
  const pace = new Pace();
  for (const change of push.changes) {
    const type = change.name.startsWith(BRANCHES)
      ? "branch"
      : change.name.startsWith(TAGS)
        ? "tag"
        : undefined;
    if (!type || change.problem !== undefined) continue;
    const { count, title } = await commitsOf(push, change, type, refs);
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
  { name, from, to, peeled }: CheckedChange,
  type: "branch" | "tag",
  { head, list }: Refs,
): Promise<{ count: number; title: string | null }> {
  if (to === undefined) return { count: 0, title: null };
  const tip = peeled ?? to;
  if (type === "tag") {
    const isCommit = repository.graph.commitOf(repository.findHex(tip)) >= 0;
    const title = isCommit ? (await pushedCommits(repository, tip, [])).title : null;
    return { count: 1, title };
  }
  const main = list.find((ref) => ref.name === head && ref.name !== name)?.oid;
  const known = from ?? main;
  return pushedCommits(repository, tip, known === undefined ? [] : [known]);
}

/** How many commits the default branch has after a push; `undefined` if the push leaves it alone. */
export async function commitsOfHead(
  { changes, repository }: Push,
  { head, list }: Refs,
): Promise<number | undefined> {
  const isEmpty = !list.some(({ name }) => name.startsWith(BRANCHES));
  const branches = changes.filter(
    ({ name, to, problem }) => name.startsWith(BRANCHES) && to && problem === undefined,
  );
  const change = branches.find(({ name }) => name === head) ?? (isEmpty ? branches[0] : undefined);
  if (change?.to === undefined) return undefined;
  return (await pushedCommits(repository, change.to, [])).count;
}

/** What became of a push. */
export interface Applied {
  readonly outcomes: readonly Outcome[];
  /** Why the caller may not make one of its changes, and so none: as GitLab, a push is refused as a whole. */
  readonly refusal: string | undefined;
  /** The default branch, as of now. */
  readonly defaultBranch: string;
}

/** Applies a push in a transaction: its references, its events, and the default branch if it is the first. */
export async function apply(db: Database, received: Received, now: number): Promise<Applied> {
  const { push, caller, events, commits } = received;
  await db.lock(received.project.id);
  // A push takes its time to arrive: what counts is what the caller may do now.
  const viewer = { caller, today: dayOf(now) };
  const project = await findSource(db, "project", String(received.project.id), viewer);
  const names = push.changes.map(({ name }) => name);
  const rights = await rightsOf(db, project, names);
  const refusal = push.refusal
    ? undefined
    : firstOf(push.changes, (change) => rights.refusalOf(change, "push"));
  const repositoryId = await repositories.create(db, project.id, "code");
  const outcomes = await applyPush(db, repositoryId, push, refusal && "pre-receive hook declined");
  const made = outcomes.filter(({ problem }) => problem === undefined);
  const branches = made
    .filter(({ change }) => change.to && change.name.startsWith(BRANCHES))
    .map(({ change }) => change.name);
  let { defaultBranch } = rights;
  if (rights.isEmpty && branches.length > 0) {
    const first = branches.includes(BRANCHES + defaultBranch)
      ? BRANCHES + defaultBranch
      : (branches[0] as string);
    defaultBranch = first.slice(BRANCHES.length);
    await updateRow(db, "projects", project.id, { default_branch: defaultBranch }, now);
    await protectDefault(db, project.id, defaultBranch, now);
  }
  if (commits !== undefined && branches.includes(BRANCHES + defaultBranch)) {
    const sql = "update git_repositories set commit_count = ? where id = ?";
    await db.run(sql, [commits, repositoryId]);
  }
  for (const { change } of made) {
    const event = events.get(change);
    if (!event) continue;
    await recordPush(db, { ...event, project_id: project.id, author_id: caller.id }, now);
  }
  return { outcomes, refusal, defaultBranch };
}

/** The first answer that there is. */
function firstOf<T, R>(values: readonly T[], ask: (value: T) => R | undefined): R | undefined {
  for (const value of values) {
    const answer = ask(value);
    if (answer !== undefined) return answer;
  }
  return undefined;
}
