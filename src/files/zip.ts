import { Readable } from "node:stream";
import { createInflateRaw } from "node:zlib";
import type { Reader } from "../store/port.ts";
import { bytesOf, NearbyReader, readFile } from "./read.ts";
import type { StoredFile } from "./write.ts";

/** One file of a ZIP archive. */
export interface ZipMember {
  /** Bytes of its content. */
  readonly length: number;
  /** Its content. @throws Error if the archive says something wrong about it */
  chunks(): AsyncGenerator<Uint8Array>;
}

type Archive = Pick<StoredFile, "id" | "size">;

const END = Buffer.from("PK\x05\x06", "latin1");
const END_LENGTH = 22;
/** Maximum bytes of the comment after the end. */
const MOST_COMMENT = 0xffff;
/** Bytes of a directory: each file that is asked for is looked for in it. 100,000 files take half of them. */
const MOST_DIRECTORY = 32 * 1024 * 1024;
const ENTRY = 0x02014b50;
const ENTRY_LENGTH = 46;
const LOCAL = 0x04034b50;
const LOCAL_LENGTH = 30;
const STORED = 0;
const DEFLATED = 8;
const ENCRYPTED = 1;

/**
 * Finds a file in a ZIP archive that is stored. Only the archive's directory is read, a piece at a time.
 *
 * @param path the file's name, with `/`
 * @returns `undefined` if there is none, or nobody can read the archive
 */
export async function zipMember(
  db: Reader,
  archive: Archive,
  path: string,
): Promise<ZipMember | undefined> {
  const name = Buffer.from(path);
  for await (const entry of entriesOf(db, archive)) {
    if (entry.name.equals(name)) return memberOf(db, archive, entry);
  }
  return undefined;
}

/** A file or folder of a ZIP archive. */
export interface ZipEntry {
  /** Its path; that of a folder ends with `/`. */
  readonly path: string;
  /** Bytes of its content. */
  readonly length: number;
  /** Its type and permissions, as Unix has them; 0 if the archive does not say. */
  readonly mode: number;
}

/**
 * Lists a folder of a ZIP archive that is stored: folders first, by name.
 *
 * @param folder its path, which ends with `/`; empty for the whole archive
 * @param recursive whether everything below it is listed, as the archive has it
 * @returns `undefined` if there is no such folder, or nobody can read the archive
 */
export async function zipFolder(
  db: Reader,
  archive: Archive,
  folder: string,
  recursive: boolean,
): Promise<ZipEntry[] | undefined> {
  const found = new Map<string, ZipEntry>();
  let exists = false;
  for await (const { name, length, mode } of entriesOf(db, archive)) {
    const path = name.toString();
    if (!path.startsWith(folder) || LEAVES.test(path)) continue;
    exists = true;
    if (path.length === folder.length) continue;
    const end = recursive ? -1 : path.indexOf("/", folder.length);
    if (end < 0 || end === path.length - 1) found.set(path, { path, length, mode });
    // A folder whose files are there, and may have no entry of its own.
    else if (!found.has(path.slice(0, end + 1))) {
      found.set(path.slice(0, end + 1), { path: path.slice(0, end + 1), length: 0, mode: 0 });
    }
  }
  if (!exists) return undefined;
  const rank = ({ path }: ZipEntry) => (path.endsWith("/") ? 0 : 1);
  return [...found.values()].sort((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1));
}

/** Paths that lead out of an archive. */
const LEAVES = /^\/|(?:^|\/)\.\.(?:\/|$)/;

interface Entry {
  readonly name: Buffer;
  readonly flags: number;
  readonly method: number;
  readonly packed: number;
  readonly length: number;
  readonly mode: number;
  /** Where its header begins. */
  readonly at: number;
}

async function* entriesOf(db: Reader, archive: Archive): AsyncGenerator<Entry> {
  const tail = Math.max(0, archive.size - END_LENGTH - MOST_COMMENT);
  const closing = await bytesOf(readFile(db, archive, tail, archive.size));
  const end = closing.lastIndexOf(END);
  if (end < 0 || end + END_LENGTH > closing.length) return;
  const length = closing.readUInt32LE(end + 12);
  const from = closing.readUInt32LE(end + 16);
  if (from + length > archive.size || length > MOST_DIRECTORY) return;
  let read = Buffer.alloc(0);
  for await (const piece of readFile(db, archive, from, from + length)) {
    read = Buffer.concat([read, piece]);
    let at = 0;
    while (read.length - at >= ENTRY_LENGTH) {
      if (read.readUInt32LE(at) !== ENTRY) return;
      const nameEnd = at + ENTRY_LENGTH + read.readUInt16LE(at + 28);
      const next = nameEnd + read.readUInt16LE(at + 30) + read.readUInt16LE(at + 32);
      if (next > read.length) break;
      yield {
        name: read.subarray(at + ENTRY_LENGTH, nameEnd),
        flags: read.readUInt16LE(at + 8),
        method: read.readUInt16LE(at + 10),
        packed: read.readUInt32LE(at + 20),
        length: read.readUInt32LE(at + 24),
        mode: read.readUInt16LE(at + 40),
        at: read.readUInt32LE(at + 42),
      };
      at = next;
    }
    read = read.subarray(at);
  }
}

async function memberOf(
  db: Reader,
  archive: Archive,
  entry: Entry,
): Promise<ZipMember | undefined> {
  const found = await packedOf(new NearbyReader(db, archive), archive, entry);
  if (!found) return undefined;
  const { at, packed, length } = found;
  return { length, chunks: () => unpacked(readFile(db, archive, at, at + packed), found) };
}

/** A file as an archive has it: what {@link unpacked} needs to read it. */
export interface Packed {
  /** Bytes of its content. */
  readonly length: number;
  /** Whether the content is deflated; otherwise it is as it is. */
  readonly isDeflated: boolean;
}

/** A file of a ZIP archive, still packed. */
export interface PackedMember extends Packed {
  readonly path: string;
  /** Its type and permissions, as Unix has them; 0 if the archive does not say. */
  readonly mode: number;
  /** Where its packed content is in the archive. */
  readonly at: number;
  /** Bytes of that. */
  readonly packed: number;
}

/**
 * The files below a folder of a ZIP archive that is stored, in its order: without folders, and without those that nobody
 * can read or whose paths lead out of it.
 *
 * @param folder its path, which ends with `/`; empty for the whole archive
 */
export async function* packedMembers(
  db: Reader,
  archive: Archive,
  folder: string,
): AsyncGenerator<PackedMember> {
  const heads = new NearbyReader(db, archive);
  for await (const entry of entriesOf(db, archive)) {
    const path = entry.name.toString();
    if (!path.startsWith(folder) || path.endsWith("/") || LEAVES.test(path)) continue;
    const found = await packedOf(heads, archive, entry);
    if (found) yield { path, mode: entry.mode, ...found };
  }
}

async function packedOf(
  reader: NearbyReader,
  archive: Archive,
  { flags, method, packed, length, at }: Entry,
): Promise<Omit<PackedMember, "path" | "mode"> | undefined> {
  const isReadable = (flags & ENCRYPTED) === 0 && [STORED, DEFLATED].includes(method);
  if (!isReadable || at + LOCAL_LENGTH > archive.size) return undefined;
  const head = await bytesOf(reader.read(at, at + LOCAL_LENGTH));
  const start = at + LOCAL_LENGTH + head.readUInt16LE(26) + head.readUInt16LE(28);
  if (head.readUInt32LE(0) !== LOCAL || start + packed > archive.size) return undefined;
  return { at: start, packed, length, isDeflated: method === DEFLATED };
}

/** The content of a packed file. @throws Error if it has another length than was said */
export function unpacked(
  bytes: AsyncGenerator<Uint8Array>,
  { length, isDeflated }: Packed,
): AsyncGenerator<Uint8Array> {
  return exactly(length, isDeflated ? inflated(bytes) : bytes);
}

async function* inflated(packed: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = Readable.from(packed);
  const inflate = createInflateRaw();
  source.on("error", (error) => inflate.destroy(error));
  try {
    yield* source.pipe(inflate);
  } finally {
    source.destroy();
    inflate.destroy();
  }
}

/** Bytes of which there are as many as was said. */
async function* exactly(
  length: number,
  chunks: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let left = length;
  for await (const chunk of chunks) {
    left -= chunk.length;
    if (left < 0) break;
    yield chunk;
  }
  if (left !== 0)
    throw new Error("a file of a ZIP archive has another length than its directory says");
}
