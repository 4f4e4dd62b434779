import { commitNumber } from "../../git/commits.ts";
import type { Graph } from "../../git/graph.ts";
import type { OpenRepository } from "../repositories/open.ts";

/** What the newest commit of the default branch reaches, of the repositories for which that was asked last. */
const reached = new WeakMap<Graph, { readonly from: number; readonly marks: Uint8Array }>();

/**
 * Finds out which commits are merged into the default branch: those before its newest one.
 *
 * @param opened with the reference `HEAD`
 * @returns a mark for each commit that is
 */
export function mergedCommits({ repository, refs, head }: OpenRepository): Uint8Array {
  const { graph } = repository;
  const ref = refs.get(head);
  const from = ref && commitNumber(repository, ref.oid);
  if (from === undefined) return graph.reach([]);
  const known = reached.get(graph);
  if (known?.from === from) return known.marks;
  const marks = graph.reach(graph.parentsOf(from));
  reached.set(graph, { from, marks });
  return marks;
}
