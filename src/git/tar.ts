import type { ClonedFile } from "./clone.ts";
import { LARGE } from "./inflate.ts";
import type { Archived, Member } from "./members.ts";
import { FOLDER, SUBMODULE, SYMLINK } from "./objects.ts";

const BLOCK = 512;
/** Archives consist of as many bytes at a time. */
const RECORD = 20 * BLOCK;
/** Bytes that a name, or the target of a link, may have. */
const NAME = 100;
/** Bytes that the beginning of a path may have, before its name. */
const PREFIX = 155;

const EXECUTABLE = 0o100;

/** Writes a tar archive (POSIX pax) as git-archive(1) does, so that those of one commit are always the same. */
export async function* tarOf(
  members: AsyncIterable<Member>,
  { repository, commit, time }: Archived,
): AsyncGenerator<Buffer> {
  let written = 0;
  const counted = (parts: readonly Buffer[]) => {
    const all = Buffer.concat(parts);
    written += all.length;
    return all;
  };
  const comment = Buffer.from(`52 comment=${commit}\n`);
  const about = { name: "pax_global_header", mode: 0o666, size: comment.length, time, type: "g" };
  yield counted([headerOf(about), padded(comment)]);
  for await (const member of members) {
    const { object, mode, replacement } = member;
    if (replacement) {
      const { size } = replacement;
      yield counted([beginningOf(member, time, size, "")]);
      for await (const part of replacement.chunks()) yield counted([Buffer.from(part)]);
      yield counted([Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)]);
    } else if (object === undefined) yield counted([beginningOf(member, time, 0, "")]);
    else if (mode === SYMLINK) {
      const target = (await repository.read(object)).data.toString("latin1");
      yield counted([beginningOf(member, time, 0, target)]);
    } else {
      const size = repository.sizeOf(object);
      const beginning = beginningOf(member, time, size, "");
      if (size <= LARGE) {
        yield counted([beginning, padded((await repository.read(object)).data)]);
        continue;
      }
      yield counted([beginning]);
      for await (const part of repository.stream(object)) yield counted([part]);
      yield counted([Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)]);
    }
  }
  yield endAfter(written);
}

/** The end of an archive, after so many bytes. */
function endAfter(written: number): Buffer {
  const rest = RECORD - (written % RECORD);
  return Buffer.alloc(rest < 2 * BLOCK ? rest + RECORD : rest);
}

/**
 * Writes a tar archive of files.
 *
 * @param folders those that it has besides, whose paths end with a slash
 * @param time of all, in seconds of the epoch
 */
export async function* tarOfFiles(
  folders: readonly string[],
  files: AsyncIterable<ClonedFile>,
  time: number,
): AsyncGenerator<Uint8Array> {
  let written = 0;
  for (const name of folders) {
    yield headerOf({ name, mode: 0o755, size: 0, time, type: "5" });
    written += BLOCK;
  }
  for await (const { path, size, bytes } of files) {
    const beginning = namedBeginning(Buffer.from(path).toString("latin1"), size, time);
    yield beginning;
    yield* bytes;
    const filling = (BLOCK - (size % BLOCK)) % BLOCK;
    yield Buffer.alloc(filling);
    written += beginning.length + size + filling;
  }
  yield endAfter(written);
}

/** What comes before the content of a file. @param path in Latin-1 */
function namedBeginning(path: string, size: number, time: number): Buffer {
  const file = { mode: 0o644, size, time, type: "0" };
  const place = placed(path);
  if (place) return headerOf({ ...place, ...file });
  const extended = Buffer.from(recordOf("path", path), "latin1");
  return Buffer.concat([
    headerOf({ ...file, name: "paxheader", size: extended.length, type: "x" }),
    padded(extended),
    headerOf({ ...file, name: "file" }),
  ]);
}

interface Header {
  readonly name: string;
  readonly prefix?: string;
  readonly mode: number;
  readonly size: number;
  /** Seconds of the epoch. */
  readonly time: number;
  readonly type: string;
  readonly target?: string;
}

/**
 * What comes before the content of a member.
 *
 * @param size that of the content of a file
 * @param target that of a link
 */
function beginningOf(
  { path, mode, oid }: Member,
  time: number,
  size: number,
  target: string,
): Buffer {
  const isFolder = mode === FOLDER || mode === SUBMODULE;
  const isLink = mode === SYMLINK;
  const records: string[] = [];
  const place = placed(path);
  if (!place) records.push(recordOf("path", path));
  const isLong = target.length > NAME;
  if (isLong) records.push(recordOf("linkpath", target));
  const extended = Buffer.from(records.join(""), "latin1");
  const more = { name: `${oid}.paxheader`, mode: 0o666, size: extended.length, time, type: "x" };
  return Buffer.concat([
    ...(extended.length > 0 ? [headerOf(more), padded(extended)] : []),
    headerOf({
      ...(place ?? { name: `${oid}.data` }),
      mode: isLink ? 0o777 : isFolder || mode & EXECUTABLE ? 0o775 : 0o664,
      size,
      time,
      type: isFolder ? "5" : isLink ? "2" : "0",
      target: isLong ? `see ${oid}.paxheader` : target,
    }),
  ]);
}

/** Divides a path between the two places that a header has for it; `undefined` if there is too little room. */
function placed(path: string): { name: string; prefix?: string } | undefined {
  if (path.length <= NAME) return { name: path };
  // A slash at the end of a folder's path does not count.
  const end = path.endsWith("/") ? path.length - 1 : path.length;
  const slash = path.slice(0, Math.min(end, PREFIX)).lastIndexOf("/");
  if (slash <= 0 || path.length - slash - 1 > NAME) return undefined;
  return { name: path.slice(slash + 1), prefix: path.slice(0, slash) };
}

/** A record of an extended header: it begins with its own length. Like the value, the result is Latin-1. */
function recordOf(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = rest.length + 1;
  while (String(length).length + rest.length > length) length += 1;
  return `${length}${rest}`;
}

function headerOf({ name, prefix = "", mode, size, time, type, target = "" }: Header): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  block.write(name, 0, NAME, "latin1");
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(time, 11), 136, 11);
  block.write("        ", 148);
  block.write(type, 156);
  block.write(target, 157, NAME, "latin1");
  block.write("ustar\x0000", 257);
  block.write("root", 265);
  block.write("root", 297);
  block.write(octal(0, 7), 329);
  block.write(octal(0, 7), 337);
  block.write(prefix, 345, PREFIX, "latin1");
  block.write(
    `${octal(
      block.reduce((sum, byte) => sum + byte, 0),
      7,
    )}\0`,
    148,
  );
  return block;
}

/** Fills the last block. */
function padded(bytes: Buffer): Buffer {
  const rest = bytes.length % BLOCK;
  return rest === 0 ? bytes : Buffer.concat([bytes, Buffer.alloc(BLOCK - rest)]);
}
