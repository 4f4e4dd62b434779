import type { Source } from "../core/access/source.ts";
import type { PrepareContext } from "../core/resource.ts";
import { BRANCHES, TAGS } from "../git/refs.ts";
import { type OpenRepository, openRepository } from "../resources/repositories/open.ts";

/** As many parts of a path may be of the name of a branch or tag: no name has more. */
const MOST_PARTS = 64;

/** A repository, with what an address names in it. */
export interface Revision {
  readonly opened: OpenRepository;
  /** A branch, a tag or a commit. */
  readonly ref: string;
  /** What follows, such as the path of a file; `""` for nothing. */
  readonly rest: string;
}

/**
 * Opens the repository of a project for an address that ends with the name of a commit and more, such as
 * `feature/one/docs/index.md`: the longest beginning that is a branch or a tag names it, else the first part.
 */
export async function openRevision(
  preparing: PrepareContext & { readonly source: Source },
  text: string,
): Promise<Revision> {
  const parts = text.split("/");
  const most = Math.min(parts.length, MOST_PARTS);
  const beginnings = Array.from({ length: most }, (_, at) => parts.slice(0, most - at).join("/"));
  const opened = await openRepository(preparing, beginnings);
  const { refs } = opened;
  const ref =
    beginnings.find((name) => refs.has(BRANCHES + name) || refs.has(TAGS + name)) ??
    (parts[0] as string);
  return { opened, ref, rest: text.slice(ref.length + 1) };
}
