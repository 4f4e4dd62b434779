import type { Caller } from "../../core/access/caller.ts";
import { type Source, sourcesById } from "../../core/access/source.ts";
import { ApiError, Unapplied, unauthorized } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import type { PrepareContext } from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import { commitNumber } from "../../git/commits.ts";
import { Draft } from "../../git/draft.ts";
import { logOf } from "../../git/log.ts";
import { mergeAndNote } from "../../git/mergeability.ts";
import { dropStaged } from "../../git/push.ts";
import { BRANCHES, type Ref } from "../../git/refs.ts";
import type { Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { isHeadActive } from "../ci/heads.ts";
import { change, mergeColumns } from "../issuables/change.ts";
import { type Approving, type MergeCheck, mergeStateOf } from "../issuables/merge-checks.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import type { Issuable } from "../issuables/queries.ts";
import type { Writing } from "../issuables/type.ts";
import { closeReferred } from "../merge-request-versions/references.ts";
import { mayMergeRequest } from "../protected-refs/abilities.ts";
import type { Received } from "../repositories/pushes.ts";
import { applyAll, openToChange, stage, stagePush } from "../repositories/write.ts";
import { enterTrain, leaveTrain, trainSettingsOf } from "../train-state/cars.ts";
import { openCode, type RequestCode } from "./code.ts";
import { gatherFacts, mentionedCommits } from "./message-facts.ts";
import { type Gathered, gatheredFor, type MessageFacts, messageOf } from "./messages.ts";
import * as requests from "./queries.ts";
import { type Ended, retarget } from "./retarget.ts";

/** What a request to merge asks for. */
export interface MergeInput {
  readonly merge_request_iid: number;
  /** What the source branch must be for. */
  readonly sha?: string | undefined;
  readonly squash?: boolean | undefined;
  readonly should_remove_source_branch?: boolean | undefined;
  readonly merge_commit_message?: string | undefined;
  readonly squash_commit_message?: string | undefined;
  /** Whether it is to be merged as soon as it is ready, if it is not yet. */
  readonly merge_when_pipeline_succeeds?: boolean | undefined;
  /** What newer clients call the same. */
  readonly auto_merge?: boolean | undefined;
}

/** What a merge request waits for, as it is stored. */
export interface WaitingFor extends Partial<MergeInput> {
  /** Whether it is merged by a merge train. */
  readonly train?: boolean;
}

/** What a merge is prepared with. */
type Preparing = Pick<
  PrepareContext<Caller, "parsed", Source>,
  "db" | "store" | "source" | "caller" | "tier" | "viewer" | "now"
> & { readonly view: Pick<View, "base"> };

/** Commits of a merge request that are looked at for its messages, besides those they mention. */
const MOST_COMMITS = 10_000;

/** A merge that was staged. */
export interface StagedMerge {
  /** The change of the target branch; without one, the merge request is only a record. */
  readonly received: Received | undefined;
  /** The deletion of the source branch, if it is in another project. */
  readonly removal: Received | undefined;
  /** The source branch, if it is in the same project and is deleted. */
  readonly ended: Ended | undefined;
  /** The commit of the source branch. */
  readonly sha: string | null;
  readonly mergeCommit: string | null;
  readonly squashCommit: string | null;
}

/**
 * Stages the merge of a merge request.
 *
 * @returns `"later"` if it is not ready, but is to be merged as soon as it is
 * @throws ApiError 401 if the caller may not merge it; 404 if there is none; see {@link requireReady}
 */
export async function stageMerge(
  preparing: Preparing,
  input: MergeInput,
): Promise<StagedMerge | "later"> {
  const { db, store, source, caller, view, now } = preparing;
  const code = await openCode(preparing, input.merge_request_iid);
  const { request, opened, target, version } = code;
  if (!(await mayMergeRequest(db, source, request.id))) throw unauthorized();
  const draft = new Draft(opened.repository);
  const hasCode = version && target && request.sha !== null;
  // Whether that is possible is noted, and said by what follows.
  const tree =
    hasCode && request.state === "opened"
      ? await mergeAndNote(draft, request.sha as string, target.oid)
      : "";
  if (await canWait(preparing, request, input)) return "later";
  await requireReady(preparing, request, input.sha);
  if (!hasCode) {
    const none = { received: undefined, removal: undefined, ended: undefined };
    return { ...none, mergeCommit: null, squashCommit: null, sha: request.sha };
  }
  const made = await mergeInto(preparing, { ...code, target }, draft, tree, input);
  const change = { name: BRANCHES + request.target_branch, from: target.oid, to: made.to };
  const deletes = input.should_remove_source_branch ?? request.remove_source_branch === 1;
  const removal = deletes ? await planRemoval(preparing, code) : undefined;
  const isOwn = removal?.place.project.id === source.id;
  const changes = removal && isOwn ? [change, removal.change] : [change];
  const { row, head } = opened;
  const pusher = { caller, via: "merge" } as const;
  const place = { row, head, base: view.base, project: source, pusher };
  const push = await stagePush(store, draft, changes, place, now);
  // The message of the merge itself closes nothing, as in GitLab.
  const closing = push.closing.filter(({ commit }) => commit !== made.mergeCommit);
  return {
    received: { ...push, closing, project: source, caller },
    removal:
      removal && !isOwn
        ? await stage(removal.place, new Draft(removal.place.repository), [removal.change])
        : undefined,
    ended: isOwn ? { branch: request.source_branch, into: request.target_branch } : undefined,
    sha: request.sha,
    mergeCommit: made.mergeCommit,
    squashCommit: made.squashCommit,
  };
}

/**
 * Checks in GitLab's order that a merge request can be merged.
 *
 * @param sha what its source branch must be for
 * @throws ApiError 405 if it is not ready, 406 if the branches do not allow it, 409 if its source branch is for another
 *   commit
 */
export async function requireReady(
  context: Approving & { readonly db: Reader },
  request: Pick<requests.Branches, "sha"> & { readonly id: number },
  sha: string | undefined,
): Promise<void> {
  const { failed } = await mergeStateOf(context.db, request.id, context);
  if (failed) throw refusalOf(failed.answer);
  requireHead(request, sha);
}

/** Checks that a merge request is for the commit that the caller says, if they do. @throws ApiError 409 */
function requireHead(request: Pick<requests.Branches, "sha">, sha: string | undefined): void {
  if (sha !== undefined && sha !== request.sha) {
    throw new ApiError(409, {
      message: `SHA does not match HEAD of source branch: ${request.sha ?? "unknown"}`,
    });
  }
}

const refusalOf = (answer: MergeCheck["answer"]) =>
  new ApiError(answer, {
    message: answer === 405 ? "405 Method Not Allowed" : "Branch cannot be merged",
  });

/**
 * Whether a merge request is to be merged as soon as it is ready, which it is not yet: something is missing that may come
 * by itself, or a pipeline of what would be merged has not ended.
 */
async function canWait(
  context: Approving & { readonly db: Reader },
  { id }: { readonly id: number },
  { auto_merge, merge_when_pipeline_succeeds: waits = auto_merge }: MergeInput,
): Promise<boolean> {
  if (waits !== true) return false;
  const { failed } = await mergeStateOf(context.db, id, context);
  return failed ? failed.mayPass === true : isHeadActive(context.db, id);
}

/** A merge request, with the newest commit of its source branch. */
type Headed = Issuable & { readonly sha: string | null };

/**
 * Notes that a merge request is to be merged as soon as it is ready, by the caller.
 *
 * @throws ApiError 409 if its source branch is for another commit than the caller says
 * @throws Unapplied if it is ready by now
 */
export async function noteAutoMerge(
  context: Writing & Approving,
  request: Headed,
  input: MergeInput,
): Promise<void> {
  if (!(await canWait(context, request, input))) {
    throw new Unapplied(refusalOf(405), true, async () => {});
  }
  await waitToMerge(context, request, input);
}

/**
 * Lets a merge request wait to be merged, by the caller, whether it is ready or not: in a project with merge trains, until it
 * is its turn.
 *
 * @param entering when it gets into the merge train: `"later"` once it is ready
 * @throws ApiError 409 if its source branch is for another commit than the caller says
 */
export async function waitToMerge(
  context: Writing,
  request: Headed,
  input: Partial<MergeInput>,
  entering: "now" | "later" = "later",
): Promise<void> {
  const { db, caller, source, now } = context;
  requireHead(request, input.sha);
  const { should_remove_source_branch, merge_commit_message, squash_commit_message } = input;
  const { merge_trains_enabled: train } = await trainSettingsOf(db, source.id);
  const messages = { merge_commit_message, squash_commit_message };
  const wanted: WaitingFor = { should_remove_source_branch, ...messages, ...(train && { train }) };
  const columns = {
    ...flagsOf(input),
    auto_merge: 1,
    auto_merge_user_id: caller.id,
    merge_params: JSON.stringify(wanted),
  };
  const what = request.sha === null ? "it is ready" : `all checks for ${request.sha} pass`;
  const note =
    entering === "now"
      ? await enterTrain(
          db,
          { ...request, ...(await requests.branchesOf(db, request.id)) },
          caller.id,
          now,
        )
      : `enabled ${train ? "automatic add to merge train" : "an automatic merge"} when ${what}`;
  await change(context, MERGE_REQUEST, request, { columns }, { note });
}

/** The columns that a request to merge sets. */
const flagsOf = ({ squash, should_remove_source_branch: removes }: Partial<MergeInput>) => ({
  squash: squash === undefined ? undefined : Number(squash),
  should_remove_source_branch: removes === undefined ? undefined : Number(removes),
});

/** What became of the target branch. */
interface Made {
  /** Its new commit. */
  readonly to: string;
  readonly mergeCommit: string | null;
  readonly squashCommit: string | null;
}

/** Makes the commits of a merge with this tree, as the project and the request want them. */
async function mergeInto(
  { store, caller, view, now }: Preparing,
  { request, opened, target }: RequestCode & { readonly target: Ref },
  draft: Draft,
  tree: string,
  input: MergeInput,
): Promise<Made> {
  const { repository } = opened;
  const db = store.reader();
  const head = request.sha as string;
  const start = target.oid;
  const [theirs, ours] = [head, start].map((oid) => commitNumber(repository, oid)) as [
    number,
    number,
  ];
  const settings = (
    await requests.mergeFactsOf(db, [request.id], caller.id)
  )[0] as requests.MergeFacts;
  const isSquashed = isSquashing(settings.squash_option, input.squash ?? request.squash === 1);
  if (settings.merge_method === "ff" && !isSquashed) {
    return { to: head, mergeCommit: null, squashCommit: null };
  }
  const { merge_commit_template, squash_commit_template } = settings;
  const needed = new Set<Gathered>(isSquashed ? ["commits"] : []);
  if (isSquashed && input.squash_commit_message === undefined) {
    for (const one of gatheredFor("squash", squash_commit_template)) needed.add(one);
  }
  if (settings.merge_method !== "ff" && input.merge_commit_message === undefined) {
    for (const one of gatheredFor("merge", merge_commit_template)) needed.add(one);
  }
  const log = needed.has("commits") && logOf(repository, { from: [theirs], not: [ours] });
  const numbers = log ? await log.first(repository, MOST_COMMITS) : [];
  const commits = await mentionedCommits(repository, numbers);
  const viewer = { caller, today: dayOf(now) };
  const gathering = { db, viewer, base: view.base };
  const gathered = await gatherFacts(
    gathering,
    [settings],
    needed,
    new Map([[request.id, commits]]),
  );
  const facts = gathered.get(request.id) as MessageFacts;
  const time = { time: Math.floor(now / 1000), zone: 0 };
  const merger = { ...facts.merger, ...time };
  const author = facts.author && { ...facts.author, ...time };
  let tip = head;
  if (isSquashed) {
    const message =
      input.squash_commit_message ?? messageOf("squash", squash_commit_template, facts);
    // One commit with this very message is what squashing would make.
    const [only] = numbers.length === 1 ? commits.commits : [];
    if (only?.message.trim() !== message.trim()) {
      const by = { author: author ?? merger, committer: merger };
      tip = draft.addCommit({ tree, parents: [start], ...by, message });
    }
  }
  const squashCommit = isSquashed ? tip : null;
  if (settings.merge_method === "ff") return { to: tip, mergeCommit: null, squashCommit };
  const message = input.merge_commit_message ?? messageOf("merge", merge_commit_template, facts);
  const by = { author: merger, committer: merger };
  const mergeCommit = draft.addCommit({ tree, parents: [start, tip], ...by, message });
  return { to: mergeCommit, mergeCommit, squashCommit };
}

/** Whether commits become one, as far as the project leaves that to the merge request. */
function isSquashing(option: requests.SquashOption, wanted: boolean): boolean {
  return option === "always" || (option !== "never" && wanted);
}

/**
 * Prepares the deletion of a source branch.
 *
 * @returns `undefined` if it must stay: it is protected or the default branch, it is for other commits by now, or the
 *   caller may not push to it
 */
async function planRemoval(preparing: Preparing, { request }: RequestCode) {
  const { db, source, caller, now } = preparing;
  const { source_branch, source_project_id: id } = request;
  if (id === null) return undefined;
  const viewer = { caller, today: dayOf(now) };
  const project =
    id === source.id ? source : (await sourcesById(db, "project", [id], viewer)).get(id);
  if (!project) return undefined;
  const name = BRANCHES + source_branch;
  const place = await openToChange({ ...preparing, source: project }, [name]);
  const from = place.refs.get(name)?.oid;
  const { rights } = place;
  if (from === undefined || from !== request.sha) return undefined;
  const change = { name, from, to: undefined };
  const isKept =
    rights.isProtected(source_branch) ||
    rights.refusalOf({ ...change, isForced: true }, "api") !== undefined;
  return isKept ? undefined : { place, change };
}

/**
 * Notes why the project's push rule refuses a merge that was staged, if it does: then it is made no more.
 *
 * @returns whether it is refused
 */
export async function noteRefusal(
  { db, now }: Pick<Writing, "db" | "now">,
  requestId: number,
  { received, removal }: StagedMerge,
): Promise<boolean> {
  const reason = received?.ruled ?? removal?.ruled;
  if (reason === undefined) return false;
  for (const push of [received?.push, removal?.push]) if (push) await dropStaged(db, push);
  const columns = { merge_error: reason, auto_merge: 0 };
  await updateRow(db, "merge_requests", requestId, columns, now);
  await leaveTrain(db, requestId, now);
  return true;
}

/**
 * Merges a merge request as it was staged: in a transaction in which the caller's right to do so and its state were
 * checked.
 *
 * @throws Unapplied if others have changed the branches since
 */
export async function applyMerge(
  context: Writing,
  found: Headed,
  staged: StagedMerge,
  input: MergeInput,
): Promise<void> {
  const { db, now } = context;
  const { received, removal, ended, mergeCommit, squashCommit } = staged;
  if (found.sha !== staged.sha) {
    const answer = new ApiError(409, { message: "The branches have changed. Please try again." });
    throw new Unapplied(answer, true, async () => received?.push.staged?.discard());
  }
  // The push finds nothing more to do with what is merged already.
  await updateRow(db, "merge_requests", found.id, { state: "merged" }, now);
  await closeReferred(context, found.id);
  if (received) await applyAll(db, received, now, "merge");
  if (removal) await applyAll(db, removal, now);
  if (ended) await retarget(context, ended, received?.base);
  const columns = {
    ...mergeColumns(context),
    ...flagsOf(input),
    merge_commit_sha: mergeCommit,
    squash_commit_sha: squashCommit,
    auto_merge: 0,
  };
  await change(context, MERGE_REQUEST, found, { columns });
}
