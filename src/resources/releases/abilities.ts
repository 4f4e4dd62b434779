import type { Source } from "../../core/access/source.ts";
import { TAGS } from "../../git/refs.ts";
import type { Reader } from "../../store/port.ts";
import { mayWriteCode, rightsOf } from "../protected-refs/abilities.ts";

/** Which of some releases the caller may create or change, by their tags: protected ones ask for more than a role. */
export async function writableReleases(
  db: Reader,
  project: Source,
  tags: readonly string[],
): Promise<(tag: string) => boolean> {
  if (!mayWriteCode(project)) return () => false;
  const names = tags.map((tag) => TAGS + tag);
  const rights = await rightsOf(db, project, names);
  return (tag) => {
    const creation = { name: TAGS + tag, from: undefined, to: tag, isForced: false };
    return rights.refusalOf(creation, "api") === undefined;
  };
}
