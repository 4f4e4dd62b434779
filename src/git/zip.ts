import { promisify } from "node:util";
import { createDeflateRaw, deflateRaw, deflateRawSync } from "node:zlib";
import { crc32 } from "./crc32.ts";
import { LARGE } from "./inflate.ts";
import type { Archived, Member } from "./members.ts";
import { FOLDER, SUBMODULE, SYMLINK } from "./objects.ts";
import type { Repository } from "./repository.ts";
import { through } from "./streams.ts";

const deflate = promisify(deflateRaw) as (data: Buffer) => Promise<Buffer>;
/** Larger contents are compressed beside the event loop. */
const SMALL = 32 * 1024;
const STORED = 0;
const DEFLATED = 8;
/** Names are UTF-8. */
const UTF_8 = 0x0800;
/** Checksum and sizes follow the content. */
const FOLLOWED = 0x0008;
/** Numbers that do not fit are in an extension (ZIP64). */
const MOST_16 = 0xffff;
const MOST_32 = 0xffffffff;
/** Larger replacements are left out: compressed, they might have more bytes than {@link MOST_32}. */
const MOST_REPLACED = MOST_32 - 16 * 1024 * 1024;
const EXECUTABLE = 0o100;
/** Made by Unix, by version 4.5 of the format. */
const MADE_BY = (3 << 8) | 45;
const DIRECTORY = 0x10;

/** Entries of the directory are kept in blocks of so many: each of them alone would take several times as much memory. */
const BLOCK = 512;

/** Writes a ZIP archive. What was written of each file is remembered until the end, where the directory is. */
export async function* zipOf(
  members: AsyncIterable<Member>,
  { repository, commit, time }: Archived,
): AsyncGenerator<Buffer> {
  const directory: Buffer[] = [];
  let entries: Buffer[] = [];
  const keep = () => {
    directory.push(Buffer.concat(entries));
    entries = [];
  };
  let count = 0;
  let at = 0;
  for await (const member of members) {
    const start = at;
    const name = Buffer.from(member.path, "latin1");
    const content = await contentOf(repository, member);
    const encoding = name.equals(Buffer.from(name.toString())) ? UTF_8 : 0;
    const head = [LOCAL, commonOf(content, time, encoding), sizes(name.length, 0), name];
    for await (const part of content.isLarge
      ? content.parts(head, time)
      : [Buffer.concat([...head, content.bytes])]) {
      yield part;
      at += part.length;
    }
    entries.push(directoryEntry(member, name, commonOf(content, time, encoding), start));
    count += 1;
    if (entries.length === BLOCK) keep();
  }
  keep();
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  yield* directory;
  yield ending(count, at, size, commit);
}

/** The content of a file, compressed if that makes it smaller. */
async function contentOf(
  repository: Repository,
  { object, mode, replacement }: Member,
): Promise<WholeContent | LargeContent> {
  // Sizes behind a content have 32 bits.
  if (replacement && replacement.size < MOST_REPLACED)
    return new LargeContent(replacement.chunks());
  if (object !== undefined && repository.sizeOf(object) > LARGE) {
    return new LargeContent(repository.stream(object));
  }
  const data = object === undefined ? Buffer.alloc(0) : (await repository.read(object)).data;
  // Each call takes much more memory than a folder is worth.
  const packed =
    data.length > SMALL ? await deflate(data) : data.length === 0 ? data : deflateRawSync(data);
  const isDeflated = mode !== SYMLINK && packed.length < data.length;
  const bytes = isDeflated ? packed : data;
  const known = { sum: crc32(data), packed: bytes.length, size: data.length };
  return { isLarge: false, isDeflated, bytes, ...known };
}

/** What is said of a content. */
interface Content {
  readonly isDeflated: boolean;
  /** Whether what is below is said behind the content. */
  readonly isLarge: boolean;
  /** The checksum. */
  readonly sum: number;
  /** Its bytes in the archive. */
  readonly packed: number;
  readonly size: number;
}

interface WholeContent extends Content {
  readonly isLarge: false;
  readonly bytes: Buffer;
}

/** A content that is compressed part by part: what is said of it is known once it was read. */
class LargeContent implements Content {
  readonly isDeflated = true;
  readonly isLarge = true;
  sum = 0;
  packed = 0;
  size = 0;
  readonly #source: AsyncIterable<Uint8Array>;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source;
  }

  /** Its parts, between its header and what is said behind it. */
  async *parts(head: readonly Buffer[], time: number): AsyncGenerator<Buffer> {
    yield Buffer.concat(head);
    for await (const part of through(this.#read(), createDeflateRaw())) {
      this.packed += part.length;
      yield part;
    }
    yield Buffer.concat([FOLLOWING, commonOf(this, time, 0).subarray(SUM_AT)]);
  }

  async *#read(): AsyncGenerator<Buffer> {
    for await (const part of this.#source) {
      this.sum = crc32(part, this.sum);
      this.size += part.length;
      yield Buffer.from(part.buffer, part.byteOffset, part.length);
    }
  }
}

const LOCAL = Buffer.from("PK\x03\x04", "latin1");
const FOLLOWING = Buffer.from("PK\x07\x08", "latin1");
const CENTRAL = Buffer.from("PK\x01\x02", "latin1");

/** Numbers of 16 bits. */
function sizes(...values: number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length);
  for (const [at, value] of values.entries()) bytes.writeUInt16LE(value, 2 * at);
  return bytes;
}

/** Where checksum and sizes begin in {@link commonOf}. */
const SUM_AT = 10;

/**
 * What a file's own header and its entry in the directory have in common.
 *
 * @param encoding {@link UTF_8} if its name is
 */
function commonOf(
  { isDeflated, isLarge, sum, packed, size }: Content,
  time: number,
  encoding: number,
): Buffer {
  const bytes = Buffer.alloc(22);
  bytes.writeUInt16LE(20, 0);
  bytes.writeUInt16LE(encoding | (isLarge ? FOLLOWED : 0), 2);
  bytes.writeUInt16LE(isDeflated ? DEFLATED : STORED, 4);
  const [day, moment] = timesOf(time);
  bytes.writeUInt16LE(moment, 6);
  bytes.writeUInt16LE(day, 8);
  bytes.writeUInt32LE(sum, SUM_AT);
  bytes.writeUInt32LE(packed, 14);
  bytes.writeUInt32LE(size, 18);
  return bytes;
}

/** A time as MS-DOS has it, from 1980 to 2107: the day, and two seconds of it. UTC. */
function timesOf(seconds: number): [number, number] {
  const date = new Date(Math.min(Math.max(seconds, 315_532_800), 4_354_819_198) * 1000);
  const day =
    ((date.getUTCFullYear() - 1980) << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate();
  const moment =
    (date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1);
  return [day, moment];
}

function directoryEntry({ mode }: Member, name: Buffer, common: Buffer, at: number): Buffer {
  const isFolder = mode === FOLDER || mode === SUBMODULE;
  const isFar = at >= MOST_32;
  const extension = isFar ? Buffer.alloc(12) : Buffer.alloc(0);
  if (isFar) {
    extension.writeUInt16LE(1, 0);
    extension.writeUInt16LE(8, 2);
    extension.writeBigUInt64LE(BigInt(at), 4);
  }
  const unix = isFolder
    ? 0o40775
    : mode === SYMLINK
      ? 0o120777
      : mode & EXECUTABLE
        ? 0o100775
        : 0o100664;
  const attributes = Buffer.alloc(8);
  attributes.writeUInt32LE(((unix << 16) | (isFolder ? DIRECTORY : 0)) >>> 0, 0);
  attributes.writeUInt32LE(Math.min(at, MOST_32), 4);
  const lengths = sizes(name.length, extension.length, 0, 0, 0);
  return Buffer.concat([CENTRAL, sizes(MADE_BY), common, lengths, attributes, name, extension]);
}

/** The end of the directory, which has the commit as the archive's comment. */
function ending(count: number, at: number, size: number, commit: string): Buffer {
  const parts: Buffer[] = [];
  if (count >= MOST_16 || at >= MOST_32 || size >= MOST_32) {
    const large = Buffer.alloc(76);
    large.write("PK\x06\x06", 0, "latin1");
    large.writeBigUInt64LE(44n, 4);
    large.writeUInt16LE(MADE_BY, 12);
    large.writeUInt16LE(45, 14);
    for (const [index, value] of [count, count, size, at].entries()) {
      large.writeBigUInt64LE(BigInt(value), 24 + 8 * index);
    }
    large.write("PK\x06\x07", 56, "latin1");
    large.writeBigUInt64LE(BigInt(at + size), 64);
    large.writeUInt32LE(1, 72);
    parts.push(large);
  }
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(Math.min(count, MOST_16), 8);
  end.writeUInt16LE(Math.min(count, MOST_16), 10);
  end.writeUInt32LE(Math.min(size, MOST_32), 12);
  end.writeUInt32LE(Math.min(at, MOST_32), 16);
  end.writeUInt16LE(commit.length, 20);
  return Buffer.concat([...parts, end, Buffer.from(commit)]);
}
