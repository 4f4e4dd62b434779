import type { Graph } from "./graph.ts";

/**
 * The best common ancestors of a commit and others taken together, like git-merge-base(1).
 *
 * @param others ancestors of any of them count
 * @returns the newest first; none is an ancestor of another
 */
export function mergeBases(graph: Graph, one: number, others: readonly number[]): number[] {
  const common = graph.reach([one]);
  const theirs = graph.reach(others);
  for (let commit = 0; commit < common.length; commit += 1) {
    if (!theirs[commit]) common[commit] = 0;
  }
  const bases = common.slice();
  for (let commit = 0; commit < common.length; commit += 1) {
    if (!common[commit]) continue;
    for (const parent of graph.parentsOf(commit)) bases[parent] = 0;
  }
  const found: number[] = [];
  for (let commit = 0; commit < bases.length; commit += 1) if (bases[commit]) found.push(commit);
  return found.sort((a, b) => (graph.times[b] as number) - (graph.times[a] as number));
}

/** How many commits each of two commits reaches that the other one does not. */
export function aheadBehind(
  graph: Graph,
  one: number,
  other: number,
): { readonly ahead: number; readonly behind: number } {
  const count = (from: number, known: number) =>
    graph.reach([from], undefined, graph.reach([known])).reduce((sum, mark) => sum + mark, 0);
  return { ahead: count(one, other), behind: count(other, one) };
}
