import type { Archive } from "./tar.ts";

/** Reads an archive of a project that GitLab has written; `undefined` if it is none of GitLab's. */
export async function foreignLines(archive: Archive, now: number) {
  // Most processes import no archives.
  const { isOfGitlab, linesOf } = await import("./lines.ts");
  return (await isOfGitlab(archive)) ? linesOf(archive, now) : undefined;
}
