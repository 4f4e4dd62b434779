import type { Source } from "../../core/access/source.ts";
import type { PrepareContext } from "../../core/resource.ts";
import { commitNumber } from "../../git/commits.ts";
import { treeNameOf } from "../../git/contents.ts";
import { BRANCHES, findRefs, listRefs, type Refs } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import type { Store } from "../../store/port.ts";
import { openRecord } from "../repositories/open.ts";
import { convert } from "./conversion.ts";
import { findWikiRecord, type WikiRecord } from "./record.ts";

/** A commit of a wiki's branch, in hex, and its tree. */
export interface Tip {
  readonly commit: string;
  readonly tree: string;
}

/** A wiki's repository, as a request finds it. */
export interface OpenWiki extends WikiRecord {
  readonly store: Store;
  readonly project: Pick<Source, "id">;
  readonly repository: Repository;
  /** The full name of the branch that it was opened for. */
  readonly branch: string;
  /** The newest commit of that branch; `undefined` if there is no such branch. */
  readonly tip: Tip | undefined;
  /** That of the default branch. */
  readonly main: Tip | undefined;
}

/**
 * Opens the wiki of the project that a route begins with, for its `prepare`.
 *
 * @param branch without `refs/heads/`. Default: the default branch
 */
export async function openWiki(
  { store, source, now }: Pick<PrepareContext, "store" | "now"> & { source: Pick<Source, "id"> },
  branch?: string,
): Promise<OpenWiki> {
  await convert(store, source.id, now);
  for (;;) {
    const record = await findWikiRecord(store.reader(), source.id);
    const { row, head } = record;
    const name = branch === undefined ? head : BRANCHES + branch;
    const repository = await openRecord(store, row);
    const refs = row ? await findRefs(store, row.id, [...new Set([name, head])]) : [];
    // Somebody may have pushed in between.
    if (refs.some(({ oid }) => repository.findHex(oid) < 0)) continue;
    const tips = new Map(refs.map((ref) => [ref.name, tipOf(repository, ref.oid)]));
    const opened = { ...record, store, project: source, repository, branch: name };
    return { ...opened, tip: tips.get(name), main: tips.get(head) };
  }
}

/** A commit and its tree. @param commit in hex */
export function tipOf(repository: Repository, commit: string): Tip {
  const number = commitNumber(repository, commit) as number;
  return { commit, tree: treeNameOf(repository, number) };
}

/** Finds a wiki's repository with all its references, for clients of Git. */
export async function findWiki(
  store: Store,
  projectId: number,
  now: number,
): Promise<Pick<WikiRecord, "row"> & { readonly refs: Refs }> {
  await convert(store, projectId, now);
  const { row, head } = await findWikiRecord(store.reader(), projectId);
  return { row, refs: { head, list: row ? await listRefs(store, row.id) : [] } };
}
