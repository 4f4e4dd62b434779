import type { Source } from "../../core/access/source.ts";
import { notFound } from "../../core/errors.ts";
import type { PrepareContext } from "../../core/resource.ts";
import { Packs } from "../../git/packs.ts";
import { BRANCHES, findRefs, type Ref } from "../../git/refs.ts";
import { open, Repository, type RepositoryRow } from "../../git/repository.ts";
import { findCommit, type Lookup, refNamesOf } from "../../git/revisions.ts";
import { Shown } from "../../git/shown.ts";
import type { Reader, Store } from "../../store/port.ts";
import { Budget } from "../../turns/budget.ts";

/** The default branch of projects that have none yet. */
export const MAIN = "main";

/** The record of a project's repository. */
export interface RepositoryRecord {
  /** `undefined` if nothing was pushed yet. */
  readonly row: RepositoryRow | undefined;
  readonly defaultBranch: string;
}

/** A project's repository, as a request finds it, with the references that the request names. */
export interface OpenRepository extends RepositoryRecord, Lookup {
  readonly project: Source;
  readonly store: Store;
  /** What the request's work may use. */
  readonly budget: Budget;
}

interface Found {
  id: number | null;
  version: number;
  has_garbage: number;
  refs_version: number;
  default_branch: string | null;
}

/** Finds the record of a project's repository. */
export async function findRecord(db: Reader, projectId: number): Promise<RepositoryRecord> {
  const found = await db.one<Found>(
    `select r.id, r.version, r.has_garbage, r.refs_version, p.default_branch from projects p
     left join git_repositories r on r.project_id = p.id and r.kind = 'code' where p.id = ?`,
    [projectId],
  );
  const { id = null, version = 0, has_garbage = 0, refs_version = 0 } = found ?? {};
  const { default_branch = null } = found ?? {};
  return {
    row: id === null ? undefined : { id, version, has_garbage, refs_version },
    defaultBranch: default_branch ?? MAIN,
  };
}

/** Opens a repository as of its record. It is empty if nothing was pushed yet. */
export function openRecord(
  store: Store,
  row: Pick<RepositoryRow, "id" | "version"> | undefined,
): Promise<Repository> {
  return row ? open(store, row) : Promise.resolve(new Repository(Packs.of(store), []));
}

/**
 * Opens the repository of the project that a route begins with, for its `prepare`.
 *
 * @param names what the request names commits by: branches, tags and the like. `HEAD` is the default branch
 */
export async function openRepository(
  {
    db,
    store,
    source,
    budget = new Budget(),
  }: Pick<PrepareContext, "db" | "store"> & { source: Source; budget?: Budget },
  names: readonly string[] = [],
): Promise<OpenRepository> {
  const { row, defaultBranch } = await findRecord(db, source.id);
  const head = BRANCHES + defaultBranch;
  const fullNames = [...new Set(names.flatMap((name) => refNamesOf(name, head)))];
  const refs = row && fullNames.length > 0 ? await findRefs(db, row.id, fullNames) : [];
  const repository = await openRecord(store, row);
  const opened = {
    row,
    defaultBranch,
    head,
    repository,
    refs: new Map(refs.map((ref) => [ref.name, ref])),
    shown: new Shown(store.reader(), repository, row),
    project: source,
    store,
    budget,
  };
  return withRefs(opened, refs);
}

/**
 * Opens a repository again if it does not have what some references stand for: someone has pushed since it was opened.
 * Numbers of commits and objects of the repository as it was before may be others then.
 */
export async function withRefs(
  opened: OpenRepository,
  refs: readonly Ref[],
): Promise<OpenRepository> {
  const { repository, store, project } = opened;
  if (refs.every(({ oid }) => repository.findHex(oid) >= 0)) return opened;
  const { row } = await findRecord(store.reader(), project.id);
  const now = await openRecord(store, row);
  return { ...opened, row, repository: now, shown: new Shown(store.reader(), now, row) };
}

/**
 * Finds the commit that one of the names stands for that the repository was opened with.
 *
 * @returns the commit's number
 * @throws ApiError 404 if there is none
 */
export async function requireCommit(opened: OpenRepository, name: string): Promise<number> {
  const commit = await findCommit(opened, name);
  if (commit === undefined) throw notFound("Commit");
  return commit;
}
