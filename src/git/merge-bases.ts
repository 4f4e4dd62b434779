import type { Graph } from "./graph.ts";

/**
 * The best common ancestors of a commit and others taken together, like git-merge-base(1).
 *
 * @param others ancestors of any of them count
 * @returns the newest first; none is an ancestor of another
 */
export function mergeBases(graph: Graph, one: number, others: readonly number[]): number[] {
  const { times } = graph;
  return graph
    .common(one, others)
    .sort((a, b) => (times[b] as number) - (times[a] as number) || a - b);
}

/** How many commits each of two commits reaches that the other one does not. */
export function aheadBehind(
  graph: Graph,
  one: number,
  other: number,
): { readonly ahead: number; readonly behind: number } {
  return {
    ahead: graph.missing(one, [other]).length,
    behind: graph.missing(other, [one]).length,
  };
}
