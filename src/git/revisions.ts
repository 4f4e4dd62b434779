import { commitNumber } from "./commits.ts";
import { BRANCHES, type Ref, TAGS } from "./refs.ts";
import type { Repository } from "./repository.ts";
import type { Shown } from "./shown.ts";

/** Shorter beginnings of commits' names are not looked up, as in Git. */
const SHORTEST = 4;

/** What names are looked up in. */
export interface Lookup {
  readonly repository: Repository;
  /** The full name of the default branch, which may not exist. */
  readonly head: string;
  /** The references there are among {@link refNamesOf} the texts, by their full names. */
  readonly refs: ReadonlyMap<string, Ref>;
  readonly shown: Shown;
}

/** A text without the steps to ancestors, such as `~2`, that it ends with: names have no such characters. */
const nameIn = (text: string): string => text.slice(0, text.match(/[~^]/)?.index);

/** Whether a text may be the beginning of a commit's name. */
const isBeginning = (text: string): boolean => {
  const name = nameIn(text);
  return name.length >= SHORTEST && /^[0-9a-f]{1,39}$/i.test(name);
};

/** Commits with the same beginning that are looked at. */
const MOST_ALIKE = 100;

/**
 * The full names of references that a text may mean, in Git's order (gitrevisions(7)): `HEAD`; a reference in full, or
 * without `refs/`; a tag; a branch.
 *
 * @param head what `HEAD` means
 */
export function refNamesOf(text: string, head: string): string[] {
  const short = nameIn(text);
  if (short === "HEAD") return [head];
  if (isOid(short)) return [];
  const names = [short, `refs/${short}`, `${TAGS}${short}`, `${BRANCHES}${short}`];
  return names.filter((name) => name.startsWith("refs/"));
}

const isOid = (text: string) => /^[0-9a-f]{40}$/i.test(text);

/**
 * Finds the commit that a text names: by the name of a commit or annotated tag in hex, by a reference, or by the beginning
 * of a commit's name, if no other commit's has the same; each must be shown. Steps to an ancestor may follow:
 * `~2` for a parent's parent, `^2` for the second parent of a merge.
 *
 * @returns the commit's number; `undefined` if there is none
 */
export async function findCommit(lookup: Lookup, text: string): Promise<number | undefined> {
  const name = nameIn(text);
  const named = await findNamed(lookup, name);
  return named === undefined
    ? undefined
    : ancestorOf(lookup.repository, named, text.slice(name.length));
}

/** @param steps what follows the name of the commit */
function ancestorOf({ graph }: Repository, from: number, steps: string): number | undefined {
  let commit: number | undefined = from;
  let read = 0;
  for (const [step, sign, digits] of steps.matchAll(/([~^])(\d{0,9})/g)) {
    read += step.length;
    const count = digits === "" ? 1 : Number(digits);
    if (sign === "^" && count !== 0) {
      commit = graph.parentsOf(commit)[count - 1];
    } else if (sign === "~") {
      for (let left = count; left > 0 && commit !== undefined; left -= 1) {
        commit = graph.parentsOf(commit)[0];
      }
    }
    if (commit === undefined) return undefined;
  }
  return read === steps.length ? commit : undefined;
}

async function findNamed(
  { repository, head, refs, shown }: Lookup,
  text: string,
): Promise<number | undefined> {
  if (isOid(text)) {
    const object = repository.findHex(text);
    const isShown = object >= 0 && (await shown.has(object));
    const commit = !isShown ? -1 : repository.graph.commitOf(await repository.peel(object));
    return commit < 0 ? undefined : commit;
  }
  for (const name of refNamesOf(text, head)) {
    const ref = refs.get(name);
    if (ref) return commitNumber(repository, ref.peeled ?? ref.oid);
  }
  if (!isBeginning(text)) return undefined;
  const { graph } = repository;
  const alike = graph.withPrefix(text.toLowerCase(), MOST_ALIKE);
  const found: number[] = [];
  for (const commit of alike) if (await shown.hasCommit(commit)) found.push(commit);
  return found.length === 1 ? found[0] : undefined;
}
