import type { Here } from "./relations.ts";
import type { Archive } from "./tar.ts";
import type { Written } from "./written.ts";

// Most processes read and write no archives of GitLab.

/** Reads an archive of a project or group that GitLab has written; `undefined` if it is none of GitLab's. */
export async function foreignLines(archive: Archive, here: Here) {
  const { isOfGitlab, linesOf } = await import("./lines.ts");
  return (await isOfGitlab(archive)) ? linesOf(archive, here) : undefined;
}

/** Writes an archive of a project as GitLab does: a tar, which is to be packed. */
export async function foreignArchive(written: Written, signal: AbortSignal) {
  const { archiveOf } = await import("./written.ts");
  return archiveOf(written, signal);
}
