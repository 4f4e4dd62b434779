import { createGzip } from "node:zlib";
import { Pace } from "../turns/pace.ts";
import { type Archived, type Member, membersOf } from "./members.ts";
import { through } from "./streams.ts";
import { tarOf } from "./tar.ts";
import { zipOf } from "./zip.ts";

/** The formats of archives. */
export type ArchiveFormat = "tar" | "tar.gz" | "zip";

/**
 * Packs the files of a commit, as git-archive(1) does. Attributes such as `export-ignore` are not honoured.
 *
 * @param signal ends the work
 * @param choose which of the members are packed. Default: all
 */
export function archive(
  archived: Archived,
  format: ArchiveFormat,
  signal: AbortSignal,
  choose: (members: AsyncIterable<Member>) => AsyncIterable<Member> = (members) => members,
): AsyncIterable<Buffer> {
  const members = choose(membersOf(archived, new Pace(signal)));
  if (format === "zip") return inPieces(zipOf(members, archived));
  const tar = inPieces(tarOf(members, archived));
  return format === "tar" ? tar : through(tar, createGzip());
}

/** About how many bytes are sent at once: most members are small. */
const PIECE = 64 * 1024;

async function* inPieces(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let bytes = 0;
  for await (const part of parts) {
    held.push(part);
    bytes += part.length;
    if (bytes < PIECE) continue;
    yield Buffer.concat(held);
    held = [];
    bytes = 0;
  }
  yield Buffer.concat(held);
}
