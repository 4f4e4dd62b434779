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
 * @param isWanted which of the members are packed, by their paths as Latin-1. Default: all
 */
export function archive(
  archived: Archived,
  format: ArchiveFormat,
  signal: AbortSignal,
  isWanted?: (path: string) => boolean,
): AsyncIterable<Buffer> {
  const all = membersOf(archived, new Pace(signal));
  const members = isWanted ? those(all, isWanted) : all;
  if (format === "zip") return inPieces(zipOf(members, archived));
  const tar = inPieces(tarOf(members, archived));
  return format === "tar" ? tar : through(tar, createGzip());
}

async function* those(
  members: AsyncIterable<Member>,
  isWanted: (path: string) => boolean,
): AsyncGenerator<Member> {
  for await (const member of members) if (isWanted(member.path)) yield member;
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
