import type { Caller } from "../../core/access/caller.ts";
import { findSource, type Source } from "../../core/access/source.ts";
import { type IssueReference, issuesIn } from "../../core/references.ts";
import { dayOf } from "../../core/time.ts";
import { commitNumber, readCommit } from "../../git/commits.ts";
import { logOf } from "../../git/log.ts";
import {
  applyPush,
  type CheckedChange,
  type Outcome,
  type Push,
  pushedCommits,
} from "../../git/push.ts";
import { BRANCHES, bounds, findRef, TAGS } from "../../git/refs.ts";
import { create, type Repository, type RepositoryRow } from "../../git/repository.ts";
import { entryAt, treeOf } from "../../git/trees.ts";
import { recordHookEvent } from "../../hooks/events.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { Budget } from "../../turns/budget.ts";
import { keepCommits } from "../ci/kept-commits.ts";
import { type PipelineTask, queueDeleted, queueTasks } from "../ci/progress.ts";
import { ciSettingsOf } from "../ci/settings.ts";
import { type Push as PushEvent, recordPushes } from "../events/record.ts";
import { findReferred } from "../issuables/referred.ts";
import { closeIssues } from "../issues/closing.ts";
import { refusalByLocks } from "../lfs/locked.ts";
import { refusalByMissing } from "../lfs/missing.ts";
import { refresh } from "../merge-request-versions/pushed.ts";
import {
  branchesInUse,
  NO_REFRESH,
  planRefresh,
  type Refresh,
} from "../merge-request-versions/refresh.ts";
import { rightsOf, type Via } from "../protected-refs/abilities.ts";
import { protectDefault } from "../protected-refs/changes.ts";
import { type Pusher, refusalByRule } from "../push-rules/check.ts";
import { queueAll as queueMirrors } from "../remote-mirrors/queries.ts";
import { factsOf, type MainFacts, setMain } from "./facts.ts";

/** What an event says about a change, but for whose it is. */
type Pushed = Omit<PushEvent, "project_id" | "author_id">;

/** A push with what applying it will take. */
export interface PreparedPush<P extends Push = Push> {
  readonly push: P;
  readonly events: ReadonlyMap<CheckedChange, Pushed>;
  /** What it means for merge requests, by its changes of branches. */
  readonly refreshes: ReadonlyMap<CheckedChange, Refresh>;
  /** The commits of those of its changes that may start pipelines. */
  readonly configured: ReadonlyMap<CheckedChange, string>;
  /** The default branch as it will be, with its full name; `undefined` if it stays as it is. */
  readonly main: (MainFacts & { readonly name: string }) | undefined;
  /** The issues that messages of new commits of the default branch say they close. */
  readonly closing: readonly CommitReference[];
  /** The public address: texts may refer to pages below it. */
  readonly base: string | undefined;
  /** The newest commit of the default branch before: new branches add what it does not have. */
  readonly tip: string | undefined;
  /** Why the project's push rule refuses it, or Git LFS does. */
  readonly ruled: string | undefined;
}

/** An issue that the message of a commit refers to. */
interface CommitReference extends IssueReference {
  readonly commit: string;
}

/** A push, and who makes it where. */
export interface Received<P extends Push = Push> extends PreparedPush<P> {
  readonly project: Pick<Source, "id">;
  readonly caller: Caller;
}

/** The repository that a push changes. */
interface Target {
  /** Its record, if it has one yet. */
  readonly row: RepositoryRow | undefined;
  /** The full name of the default branch, which may not exist. */
  readonly head: string;
  /** The public address: messages may refer to pages below it. */
  readonly base?: string | undefined;
  /** Whose push it is: what it is made with decides what push rules say. Without one, none is asked. */
  readonly pusher?: Pusher | undefined;
}

/**
 * Finds out what applying a push will take, and what its events will say: reading commits takes too long for its
 * transaction.
 *
 * @param projectId the project; `undefined` if it is yet to be created
 */
export async function receive<P extends Push>(
  store: Store,
  push: P,
  projectId: number | undefined,
  { row, head, base, pusher }: Target,
  budget = new Budget(),
): Promise<PreparedPush<P>> {
  const db = store.reader();
  const main = row && (await findRef(db, row.id, head))?.oid;
  const ruled = pusher && (await refusalOf(db, push, projectId, { head, main, pusher }, budget));
  const isEmpty = !row || !(await hasBranches(db, row.id));
  const events = await eventsOf(push, head, main, budget);
  const refreshes = new Map<CheckedChange, Refresh>();
  const used = await usedIn(db, projectId, events);
  for (const [change, { ref, ref_type }] of events) {
    if (projectId === undefined || ref_type === "tag" || !used.has(ref)) continue;
    refreshes.set(change, await planRefresh(store, projectId, push, change, base, budget));
  }
  const configured = await configuredIn(db, projectId, push, events.keys(), budget);
  const known = { push, events, refreshes, configured, base, tip: main, ruled };
  const change = mainChange(push, head, isEmpty);
  if (change?.to === undefined) return { ...known, main: undefined, closing: [] };
  const { name, from, to } = change;
  const facts = { name, ...(await factsOf(push.repository, to)) };
  return {
    ...known,
    main: facts,
    closing: await closedBy(push.repository, from, to, base, budget),
  };
}

/** Why a push is refused for what it contains: by the push rule, or by Git LFS. */
async function refusalOf(
  db: Reader,
  push: Push,
  projectId: number | undefined,
  { head, main, pusher }: { head: string; main: string | undefined; pusher: Pusher },
  budget: Budget,
): Promise<string | undefined> {
  const byContent =
    projectId === undefined
      ? undefined
      : ((await refusalByRule(db, projectId, push, pusher, head, budget)) ??
        (await refusalByLocks(db, projectId, push, pusher.caller.id, main, budget)));
  if (byContent !== undefined || pusher.via !== "push") return byContent;
  return refusalByMissing(db, projectId, push, budget);
}

/** The branches among what was pushed that open merge requests come from or go into. */
async function usedIn(
  db: Reader,
  projectId: number | undefined,
  events: ReadonlyMap<CheckedChange, Pushed>,
): Promise<Set<string>> {
  const pushed = [...events.values()].filter(({ ref_type }) => ref_type === "branch");
  if (projectId === undefined || pushed.length === 0) return new Set();
  return branchesInUse(
    db,
    projectId,
    pushed.map(({ ref }) => ref),
  );
}

/** The changes to commits that have a configuration of pipelines, and these commits. */
async function configuredIn(
  db: Reader,
  projectId: number | undefined,
  { repository }: Push,
  changes: Iterable<CheckedChange>,
  budget: Budget,
): Promise<Map<CheckedChange, string>> {
  const configured = new Map<CheckedChange, string>();
  const { configurationPath } = await ciSettingsOf(db, projectId);
  for (const change of changes) {
    const sha = change.peeled ?? change.to;
    const commit = sha === undefined ? undefined : commitNumber(repository, sha);
    if (sha === undefined || commit === undefined) continue;
    const found = await entryAt(repository, treeOf(repository, commit), configurationPath);
    if (found) configured.set(change, sha);
    if (budget.isDue) await budget.pause();
  }
  return configured;
}

/** @param main the newest commit of the default branch */
async function eventsOf(
  push: Push,
  head: string,
  main: string | undefined,
  budget: Budget,
): Promise<Map<CheckedChange, Pushed>> {
  const events = new Map<CheckedChange, Pushed>();
  for (const change of push.changes) {
    const type = change.name.startsWith(BRANCHES)
      ? "branch"
      : change.name.startsWith(TAGS)
        ? "tag"
        : undefined;
    if (!type || change.problem !== undefined) continue;
    const known = change.name === head ? undefined : main;
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
    if (budget.isDue) await budget.pause();
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

/**
 * The change of the default branch, if it is not deleted. Of the first branches that an empty repository gets, `main`,
 * `master` or the first one becomes it.
 */
export function mainChange(
  { changes }: Pick<Push, "changes">,
  head: string,
  isEmpty: boolean,
): CheckedChange | undefined {
  const branches = changes.filter(
    ({ name, to, problem }) => name.startsWith(BRANCHES) && to && problem === undefined,
  );
  const named = (wanted: string) => branches.find(({ name }) => name === wanted);
  const change = named(head);
  if (change || !isEmpty) return change;
  return named(`${BRANCHES}main`) ?? named(`${BRANCHES}master`) ?? branches[0];
}

/** New commits whose messages are looked at, the newest ones. */
const MOST_MESSAGES = 100;
/** Issues that they close at most. */
const MOST_CLOSED = 100;

/** The issues that messages of commits say they close. */
async function closedBy(
  repository: Repository,
  from: string | undefined,
  to: string,
  base: string | undefined,
  budget: Budget,
): Promise<CommitReference[]> {
  const [start, end] = [from, to].map((oid) => (oid ? commitNumber(repository, oid) : undefined));
  if (end === undefined) return [];
  const log = logOf(repository, { from: [end], not: start === undefined ? [] : [start] });
  const commits = (await log.first(repository, MOST_MESSAGES)).slice(0, MOST_MESSAGES);
  const closing: CommitReference[] = [];
  for (const number of commits) {
    const { id, message } = await readCommit(repository, number);
    const closed = issuesIn([message], base).filter(({ closes }) => closes);
    closing.push(...closed.map((reference) => ({ ...reference, commit: id })));
    if (closing.length >= MOST_CLOSED) break;
    if (budget.isDue) await budget.pause();
  }
  return closing.slice(0, MOST_CLOSED);
}

/** What became of a push. */
export interface Applied {
  readonly outcomes: readonly Outcome[];
  /** Why the caller may not make one of its changes, and so none: as in GitLab, a push is refused as a whole. */
  readonly refusal: string | undefined;
  /** The default branch, as of now. */
  readonly defaultBranch: string;
}

/**
 * Applies a push in a transaction: its references, its events and merge requests, and the default branch if it is the
 * first.
 *
 * @param via what the caller uses
 * @param now epoch milliseconds
 */
export async function apply(
  db: Database,
  {
    push,
    caller,
    events,
    refreshes,
    configured,
    main,
    closing,
    base,
    tip,
    ruled,
    project: { id },
  }: Received,
  via: Via,
  now: number,
  budget = new Budget(),
): Promise<Applied> {
  db.lock(id);
  // A push takes its time to arrive: what counts is what the caller may do now.
  const viewer = { caller, today: dayOf(now) };
  const project = await findSource(db, "project", String(id), viewer);
  const names = push.changes.map(({ name }) => name);
  const rights = await rightsOf(db, project, names);
  const possible = push.changes.filter(({ problem }) => problem === undefined);
  const refusal = firstOf(possible, (change) => rights.refusalOf(change, via)) ?? ruled;
  const repositoryId = await create(db, id, "code");
  const outcomes = await applyPush(
    db,
    repositoryId,
    push,
    refusal && "pre-receive hook declined",
    budget,
  );
  const made = outcomes.filter(({ problem }) => problem === undefined);
  let { defaultBranch } = rights;
  if (main && made.some(({ change }) => change.name === main.name)) {
    if (rights.isEmpty) {
      defaultBranch = main.name.slice(BRANCHES.length);
      await updateRow(db, "projects", id, { default_branch: defaultBranch }, now);
      await protectDefault(db, id, defaultBranch, now);
    }
    if (main.name === BRANCHES + defaultBranch) {
      await setMain(db, repositoryId, main);
      const referred = await findReferred(db, project, closing, viewer);
      const issues = referred.map(({ projectId, reference: { iid, commit } }) => ({
        projectId,
        iid,
        commit,
      }));
      await closeIssues({ db, project, caller, viewer, now }, issues);
    }
  }
  tellHooks(
    db,
    { id, userId: caller.id, now, tip, options: push.options },
    made.map(({ change }) => change),
    events,
  );
  const told = new Map(
    made.flatMap(({ change }) => {
      const event = events.get(change);
      return event ? [[change, event]] : [];
    }),
  );
  const recorded = [...told.values()].map((event) => ({
    ...event,
    project_id: id,
    author_id: caller.id,
  }));
  await recordPushes(db, recorded, now);
  if (made.length > 0) queueMirrors(db, id, now);
  const used = await usedIn(db, id, told);
  const writing = { db, source: project, caller, viewer, now };
  const tasks: PipelineTask[] = [];
  const { options = [] } = push;
  for (const [change, { ref, ref_type }] of told) {
    if (budget.isDue) await budget.pause();
    const isUsed = ref_type === "branch" && used.has(ref);
    if (isUsed) await refresh(writing, change, refreshes.get(change) ?? NO_REFRESH, base);
    const sha = project.features.includes("jobs") ? configured.get(change) : undefined;
    if (sha === undefined) continue;
    const { name: pushed, from: before = null } = change;
    const requests = isUsed ? await openRequests(db, id, ref) : [];
    tasks.push({ pushed, project: id, user: caller.id, before, sha, options, requests });
  }
  const replaced = [...told].flatMap(([{ isForced }, event]) => (isForced ? [event] : []));
  await keepCommits(db, id, push.repository, replaced);
  const deleted = [...told.values()].filter(
    ({ push_action, ref_type }) => push_action === "removed" && ref_type === "branch",
  );
  const left = deleted.map(({ ref }) => ref);
  await queueDeleted(db, left, { project: id, user: caller.id }, now);
  // What options ask for may depend on the pipelines.
  await queueTasks(db, tasks, now, options.length > 0 ? id : undefined);
  return { outcomes, refusal, defaultBranch };
}

/** Merge requests that a push starts pipelines of, at most. */
const MOST_REQUESTS = 20;

/** The open merge requests from a branch. */
async function openRequests(db: Reader, projectId: number, branch: string): Promise<number[]> {
  const found = await db.rows(
    `select id from merge_requests where source_project_id = ? and source_branch = ? and state = 'opened'
     order by id limit ${MOST_REQUESTS}`,
    [projectId, branch],
  );
  return found.map(([id]) => id as number);
}

/** Branches, and tags, of one push that hooks are told of, like GitLab's `push_event_hooks_limit`: of more, none. */
const MOST_TOLD = 3;

/** What hooks are told of a push besides its changes. */
interface Telling {
  readonly id: number;
  readonly userId: number;
  readonly now: number;
  readonly tip: string | undefined;
  readonly options: readonly string[] | undefined;
}

/** Records for webhooks what a push has changed. */
function tellHooks(
  db: Database,
  { id, userId, now, tip, options }: Telling,
  made: readonly CheckedChange[],
  events: ReadonlyMap<CheckedChange, Pushed>,
): void {
  const of = { project: id };
  for (const kind of ["push", "tag_push"] as const) {
    const beginning = kind === "push" ? BRANCHES : TAGS;
    const changes = made.filter(({ name }) => name.startsWith(beginning));
    if (changes.length > MOST_TOLD) continue;
    for (const change of changes) {
      const { commit_count: count = 0 } = events.get(change) ?? {};
      const [before, after] = [change.from ?? null, change.to ?? null];
      const data = { ref: change.name, before, after, known: before ?? tip, count, options };
      recordHookEvent({ db, now }, { kind, of, userId, id, data });
    }
  }
  if (made.length === 0) return;
  const changes = made.slice(0, MOST_LISTED).map(({ name, from, to }) => ({
    before: from ?? NO_OBJECT,
    after: to ?? NO_OBJECT,
    ref: name,
  }));
  const moment = { kind: "repository_update", of, userId, id, data: { changes } } as const;
  recordHookEvent({ db, now }, moment);
}

/** Changes of one push that `repository_update` lists. */
const MOST_LISTED = 100;
const NO_OBJECT = "0".repeat(40);

/** The first answer that there is. */
function firstOf<T, R>(values: readonly T[], ask: (value: T) => R | undefined): R | undefined {
  for (const value of values) {
    const answer = ask(value);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** Whether a repository has any branch. */
export async function hasBranches(db: Reader, repositoryId: number): Promise<boolean> {
  const found = await db.rows(
    "select 1 from git_refs where repository_id = ? and name > ? and name < ? limit 1",
    [repositoryId, ...bounds(BRANCHES)],
  );
  return found.length > 0;
}
