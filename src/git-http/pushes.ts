import type { Source } from "../core/access/source.ts";
import { Pace } from "../git/pace.ts";
import {
  applyPush,
  type CheckedChange,
  type Outcome,
  type Push,
  pushedCommits,
} from "../git/receive-pack.ts";
import { BRANCHES, type Refs, TAGS } from "../git/refs.ts";
import type { RepositoryRow } from "../git/repository.ts";
import { recordPush } from "../resources/events/record.ts";
import type { Database } from "../store/port.ts";
import { updateRow } from "../store/update.ts";

/** What an event says about a change, but for whose it is. */
type Pushed = Omit<Parameters<typeof recordPush>[1], "project_id" | "author_id">;

/** A push that was received, with all that is needed to apply it. */
export interface Received {
  readonly push: Push;
  readonly row: RepositoryRow;
  readonly project: Source;
  readonly authorId: number;
  readonly refs: Refs;
  readonly events: ReadonlyMap<CheckedChange, Pushed>;
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

/** Applies a push in a transaction: its references, its events, and the default branch if it is the first. */
export async function apply(db: Database, received: Received, now: number): Promise<Outcome[]> {
  const { push, row, project, authorId, refs, events } = received;
  await db.lock(project.id);
  const refusal = refusalOf(received) && "pre-receive hook declined";
  const outcomes = await applyPush(db, row.id, push, refusal);
  const made = outcomes.filter(({ problem }) => problem === undefined);
  const isFirst = !refs.list.some(({ name }) => name.startsWith(BRANCHES));
  const branches = made
    .filter(({ change }) => change.to && change.name.startsWith(BRANCHES))
    .map(({ change }) => change.name);
  if (isFirst && branches.length > 0) {
    const first = branches.includes(refs.head) ? refs.head : (branches[0] as string);
    const changes = { default_branch: first.slice(BRANCHES.length) };
    await updateRow(db, "projects", project.id, changes, now);
  }
  for (const { change } of made) {
    const event = events.get(change);
    if (!event) continue;
    await recordPush(db, { ...event, project_id: project.id, author_id: authorId }, now);
  }
  return outcomes;
}

/** Why a whole push is refused, if it is: GitLab refuses all of it for one reference. */
export function refusalOf({ push, refs }: Pick<Received, "push" | "refs">): string | undefined {
  const deletesHead = push.changes.some(({ name, to }) => name === refs.head && !to);
  return deletesHead ? "The default branch of a project cannot be deleted." : undefined;
}
