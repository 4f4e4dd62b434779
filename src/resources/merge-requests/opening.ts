import { areRelated } from "../../core/access/forks.ts";
import { findSource, type Source, sourcesById } from "../../core/access/source.ts";
import { ApiError, forbidden, invalid, Unapplied } from "../../core/errors.ts";
import type { PrepareContext } from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import { findMergeability } from "../../git/mergeability.ts";
import { BRANCHES, findRef, isRefName } from "../../git/refs.ts";
import { joined } from "../../git/repository.ts";
import type { Database, Reader } from "../../store/port.ts";
import { mayCreateMergeRequestIn } from "../issuables/abilities.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { findIssuable } from "../issuables/rules.ts";
import { type NewVersion, planVersion } from "../merge-request-versions/versions.ts";
import { findRecord, openRepository } from "../repositories/open.ts";
import { hasBranches } from "../repositories/pushes.ts";
import * as requests from "./queries.ts";

/** What routes are prepared with. */
type Preparing = Pick<PrepareContext, "db" | "store" | "caller" | "view" | "now"> & {
  readonly source: Source;
};

/** Between what a merge request is. */
interface Ends {
  readonly source: Source;
  readonly source_branch: string;
  readonly target: Source;
  readonly target_branch: string;
}

/** A merge request that is about to be opened, or to get another target. */
export interface Opening extends Ends {
  /** Its code as it is now; `undefined` if the projects have no repositories: then it is only a record. */
  readonly version: NewVersion | undefined;
}

/** The branches of a merge request, and the project of the target if that is another one. */
interface Wanted {
  readonly source_branch: string;
  readonly target_branch: string;
  readonly target_project_id?: number | undefined;
}

/**
 * Prepares a merge request from a branch of the project that the route begins with.
 *
 * @throws ApiError 404 or 403 for a target that the caller may not read; 422 if it is no relative of the project; see
 * {@link planCode}
 */
export async function planOpening(
  preparing: Preparing,
  { source_branch, target_branch, target_project_id }: Wanted,
): Promise<Opening> {
  const { db, source, caller, now } = preparing;
  let target = source;
  if (target_project_id !== undefined && target_project_id !== source.id) {
    const viewer = { caller, today: dayOf(now) };
    target = await findSource(db, "project", String(target_project_id), viewer);
    if (!mayCreateMergeRequestIn(target)) throw forbidden();
    if (!(await areRelated(db, source.id, target.id))) {
      throw new ApiError(422, { error: ["Source project is not a fork of the target project"] });
    }
  }
  return planCode(preparing, { source, source_branch, target, target_branch });
}

/**
 * Prepares a change of a merge request, if it is to be reopened or to get another target branch.
 *
 * @returns `undefined` if its branches do not matter
 * @throws ApiError 404 if there is none; see {@link planCode}
 */
export async function planChange(
  preparing: Preparing,
  input: {
    readonly merge_request_iid: number;
    readonly target_branch?: string | undefined;
    readonly state_event?: string | undefined;
  },
): Promise<Opening | undefined> {
  const { db, source: target, caller, now } = preparing;
  const viewer = { caller, today: dayOf(now) };
  const found = await findIssuable(
    { db, source: target, viewer },
    MERGE_REQUEST,
    input.merge_request_iid,
  );
  const reopens = input.state_event === "reopen" && found.state === "closed";
  if (!reopens && input.target_branch === undefined) return undefined;
  const branches = await requests.branchesOf(db, found.id);
  const { source_project_id: sourceId, source_branch } = branches;
  const source =
    sourceId === target.id
      ? target
      : (await sourcesById(db, "project", [sourceId], viewer)).get(sourceId);
  if (!source) throw invalid({ source_project: ["does not exist"] });
  const target_branch = input.target_branch ?? branches.target_branch;
  return planCode(preparing, { source, source_branch, target, target_branch });
}

/**
 * Finds out what code a merge request between two branches has, and whether it can be merged.
 *
 * @throws ApiError 422 if both ends are the same, 400 for a branch that does not exist
 */
async function planCode(
  { db, store, view }: Pick<PrepareContext, "db" | "store" | "view">,
  ends: Ends,
): Promise<Opening> {
  const { source, source_branch, target, target_branch } = ends;
  if (source.id === target.id && source_branch === target_branch) {
    throw new ApiError(422, {
      error: ["You can't use same project/branch for source and target"],
    });
  }
  if (!(await hasCode(db, source)) && !(await hasCode(db, target))) {
    return { ...ends, version: undefined };
  }
  const from = await openRepository({ db, store, source }, [BRANCHES + source_branch]);
  const to = await openRepository({ db, store, source: target }, [BRANCHES + target_branch]);
  const head = from.refs.get(BRANCHES + source_branch)?.oid;
  const start = to.refs.get(BRANCHES + target_branch)?.oid;
  if (head === undefined || start === undefined) {
    throw invalid({
      ...(head === undefined && { source_branch: [problemOf(source_branch)] }),
      ...(start === undefined && { target_branch: [problemOf(target_branch)] }),
    });
  }
  const repository = joined(to.repository, from.repository);
  await findMergeability(repository, head, start);
  return { ...ends, version: await planVersion(repository, head, start, view.base) };
}

/** Why there is no branch with a name. */
const problemOf = (name: string) => (isRefName(BRANCHES + name) ? "does not exist" : "is invalid");

async function hasCode(db: Reader, { id }: Source): Promise<boolean> {
  const { row } = await findRecord(db, id);
  return row !== undefined && (await hasBranches(db, row.id));
}

/**
 * Checks in a transaction that a merge request can be opened as it was planned.
 *
 * @param exceptId the merge request itself, if it exists
 * @throws ApiError 409 if another open merge request has the same branches
 * @throws Unapplied if somebody has pushed since it was planned
 */
export async function requireOpening(
  db: Database,
  { source, source_branch, target, target_branch, version }: Opening,
  exceptId?: number,
): Promise<void> {
  const branches = { source_project_id: source.id, source_branch, target_branch };
  const open = await requests.findOpen(db, target.id, branches, exceptId);
  if (open !== undefined) {
    throw new ApiError(409, {
      message: [`Another open merge request already exists for this source branch: !${open}`],
    });
  }
  if (!version) return;
  const head = await headOf(db, source, source_branch);
  const start = await headOf(db, target, target_branch);
  if (head === version.head_sha && start === version.start_sha) return;
  const answer = new ApiError(409, { message: "The branches have changed. Please try again." });
  throw new Unapplied(answer, true, async () => {});
}

async function headOf(db: Reader, project: Source, branch: string): Promise<string | undefined> {
  const { row } = await findRecord(db, project.id);
  return row && (await findRef(db, row.id, BRANCHES + branch))?.oid;
}
