import type { Caller } from "../../core/access/caller.ts";
import { mayReadCode, type Source, sourcesById } from "../../core/access/source.ts";
import { conflict, forbidden } from "../../core/errors.ts";
import type { PrepareContext } from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import { commitNumber } from "../../git/commits.ts";
import { Draft } from "../../git/draft.ts";
import { rebase } from "../../git/rebase.ts";
import { BRANCHES } from "../../git/refs.ts";
import { joined } from "../../git/repository.ts";
import type { Database } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import type { Received } from "../repositories/pushes.ts";
import { applyAll, openToChange, signatureOf, stage } from "../repositories/write.ts";
import { openCode } from "./code.ts";

/** A source branch that was rebased. */
export interface StagedRebase {
  readonly requestId: number;
  /** The change of the source branch; `undefined` if there is nothing to change. */
  readonly received: Received | undefined;
  /** Why it could not be rebased. */
  readonly problem: string | null;
}

const CONFLICTS = "Rebase failed: Rebase locally, resolve all conflicts, then push the branch.";

/**
 * Rebases the source branch of a merge request onto its target branch.
 *
 * @throws ApiError 403 for those who may not read the project's code, or not replace the source branch; 404 if there is no
 *   such merge request, 409 if it is not open
 */
export async function stageRebase(
  preparing: PrepareContext<Caller, "parsed", Source>,
  iid: number,
): Promise<StagedRebase> {
  const { db, source: project, caller, now } = preparing;
  const viewer = { caller, today: dayOf(now) };
  if (!mayReadCode(project)) throw forbidden();
  const { request, opened, target } = await openCode(preparing, iid);
  const { source_branch, source_project_id: id } = request;
  const source = id === null ? undefined : (await sourcesById(db, "project", [id], viewer)).get(id);
  const name = BRANCHES + source_branch;
  const place = source && (await openToChange({ ...preparing, source }, [name]));
  const from = place?.refs.get(name)?.oid;
  if (!place || from === undefined) throw forbidden("Source branch does not exist");
  if (!place.rights.mayPush(source_branch)) throw forbidden("Cannot push to source branch");
  const forced = { name, from, to: from, isForced: true };
  if (place.rights.refusalOf(forced, "api") !== undefined) {
    throw forbidden("Source branch is protected from force push");
  }
  if (request.state !== "opened") throw conflict();
  const done = { requestId: request.id, received: undefined };
  if (!target) return { ...done, problem: CONFLICTS };
  const isFork = place.project.id !== project.id;
  const repository = isFork ? joined(place.repository, opened.repository) : opened.repository;
  const draft = new Draft(repository);
  const [head, onto] = [from, target.oid].map((oid) => commitNumber(repository, oid)) as [
    number,
    number,
  ];
  const committer = await signatureOf(preparing.store.reader(), caller.id, now);
  const to = await rebase(draft, head, onto, committer);
  if (to === undefined) return { ...done, problem: CONFLICTS };
  if (to === from) return { ...done, problem: null };
  const lender = isFork ? opened.row : undefined;
  const received = await stage({ ...place, lender }, draft, [{ name, from, to }]);
  return { ...done, received, problem: null };
}

/**
 * Moves a source branch to where it was rebased, or notes why that is impossible.
 *
 * @throws Unapplied if others have changed the branch since
 */
export async function applyRebase(
  db: Database,
  { requestId, received, problem }: StagedRebase,
  now: number,
): Promise<void> {
  await updateRow(db, "merge_requests", requestId, { merge_error: problem }, now);
  if (received) await applyAll(db, received, now);
}
