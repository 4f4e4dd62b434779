import { createHash } from "node:crypto";
import { Pace, type Waiting } from "../turns/pace.ts";
import { entriesOf, type FileEntry } from "./changes.ts";
import { type Objects, StoredObjects } from "./contents.ts";
import { crc32 } from "./crc32.ts";
import { OID_BYTES } from "./oid-table.ts";
import type { Pack } from "./pack.ts";
import type { PackReader } from "./packs.ts";
import type { Refs } from "./refs.ts";
import type { Repository } from "./repository.ts";

/** A file of a clone. */
export interface ClonedFile {
  /** Below the clone's folder. */
  readonly path: string;
  /** How many bytes it has. */
  readonly size: number;
  readonly bytes: AsyncIterable<Uint8Array>;
}

const CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = false\n";

/**
 * The files of a bare repository (gitrepository-layout(5)), without its configuration. It has all objects, also those that no
 * reference reaches any more.
 *
 * @param waiting ends it, when nobody waits for it any more. Default: it goes on
 */
export async function* bareFiles(
  repository: Repository,
  { head, list }: Refs,
  waiting?: Waiting,
): AsyncGenerator<ClonedFile> {
  yield once("HEAD", `ref: ${head}\n`);
  const lines = list.map(
    ({ name, oid, peeled }) => `${oid} ${name}\n${peeled === null ? "" : `^${peeled}\n`}`,
  );
  yield once("packed-refs", `# pack-refs with: peeled fully-peeled sorted \n${lines.join("")}`);
  for (const pack of repository.list) {
    const { checksum, index } = await indexOf(repository.packs, pack, new Pace(waiting));
    const path = `objects/pack/pack-${checksum.toString("hex")}`;
    const size = PACK_HEAD_BYTES + pack.length + checksum.length;
    yield { path: `${path}.pack`, size, bytes: packFile(repository.packs, pack, checksum) };
    yield once(`${path}.idx`, index);
  }
}

/**
 * The files below `.git` of a clone of a repository, with those of {@link bareFiles}.
 *
 * @param refs at least one
 * @param tree the files that are checked out, in hex
 */
export async function* gitFiles(
  repository: Repository,
  refs: Refs,
  tree: string | undefined,
): AsyncGenerator<ClonedFile> {
  yield once(".git/config", CONFIG);
  // Without a folder for references it would not be a repository.
  const loose = refs.list.find(({ name }) => name === refs.head) ?? refs.list[0];
  if (loose) yield once(`.git/${loose.name}`, `${loose.oid}\n`);
  for await (const file of bareFiles(repository, refs))
    yield { ...file, path: `.git/${file.path}` };
  yield once(".git/index", await stagedFiles(repository, tree));
}

function once(path: string, content: string | Buffer): ClonedFile {
  const bytes = Buffer.from(content);
  return { path, size: bytes.length, bytes: piece(bytes) };
}

async function* piece(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const PACK_HEAD_BYTES = 12;

function packHead({ count }: Pack): Buffer {
  const head = Buffer.from("PACK\0\0\0\x02\0\0\0\0", "latin1");
  head.writeUInt32BE(count, 8);
  return head;
}

async function* packFile(
  packs: PackReader,
  pack: Pack,
  checksum: Buffer,
): AsyncGenerator<Uint8Array> {
  yield packHead(pack);
  yield* packs.parts(pack.id, 0, pack.length);
  yield checksum;
}

/** A pack's checksum and its index, as Git writes it (gitformat-pack(5)). */
async function indexOf(
  packs: PackReader,
  pack: Pack,
  pace: Pace,
): Promise<{ checksum: Buffer; index: Buffer }> {
  const hash = createHash("sha1").update(packHead(pack));
  const entries: { oid: Buffer; crc: number; offset: number }[] = [];
  for (let entry = 0; entry < pack.count; entry += 1) {
    const [from, to] = [pack.offsets[entry] as number, pack.offsets[entry + 1] as number];
    let crc = 0;
    for await (const part of packs.parts(pack.id, from, to)) {
      hash.update(part);
      crc = crc32(part, crc);
    }
    entries.push({ oid: pack.oids.bytesOf(entry), crc, offset: from + PACK_HEAD_BYTES });
    if (pace.isDue) await pace.pause();
  }
  const checksum = hash.digest();
  entries.sort((a, b) => a.oid.compare(b.oid));
  const fanout = new Uint32Array(256);
  for (const { oid } of entries) fanout[oid[0] as number] = (fanout[oid[0] as number] ?? 0) + 1;
  for (let byte = 1; byte < 256; byte += 1) {
    fanout[byte] = (fanout[byte] as number) + (fanout[byte - 1] as number);
  }
  // Larger offsets are in a table of their own, to which the highest bit refers.
  const large = entries.filter(({ offset }) => offset >= 2 ** 31).map(({ offset }) => offset);
  let next = 0;
  const offsets = entries.map(({ offset }) => {
    if (offset < 2 ** 31) return offset;
    next += 1;
    return 2 ** 31 + next - 1;
  });
  const index = Buffer.concat([
    Buffer.from("\xfftOc\0\0\0\x02", "latin1"),
    numbers([...fanout]),
    ...entries.map(({ oid }) => oid),
    numbers(entries.map(({ crc }) => crc)),
    numbers(offsets),
    numbers(large.flatMap((offset) => [Math.floor(offset / 2 ** 32), offset % 2 ** 32])),
    checksum,
  ]);
  return { checksum, index: summed(index) };
}

/** Numbers of 32 bits. */
function numbers(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, 4 * at);
  return bytes;
}

/** With its own checksum at the end. */
const summed = (bytes: Buffer) => Buffer.concat([bytes, createHash("sha1").update(bytes).digest()]);

/** Numbers that say when a file was changed and where it is: zeros make Git look at the file itself. */
const STATE_BYTES = 40;
const MODE_AT = 24;
const LONGEST_NAME = 0xfff;

/** The index of a work tree (gitformat-index(5)). @param tree in hex */
async function stagedFiles(repository: Repository, tree: string | undefined): Promise<Buffer> {
  const entries: Buffer[] = [];
  for await (const { path, mode, oid } of filesOf(new StoredObjects(repository), tree)) {
    const name = Buffer.from(path, "latin1");
    const length = STATE_BYTES + OID_BYTES + 2 + name.length;
    const entry = Buffer.alloc(length + 8 - (length % 8));
    entry.writeUInt32BE(mode, MODE_AT);
    entry.write(oid, STATE_BYTES, "hex");
    entry.writeUInt16BE(Math.min(name.length, LONGEST_NAME), STATE_BYTES + OID_BYTES);
    entry.set(name, STATE_BYTES + OID_BYTES + 2);
    entries.push(entry);
  }
  const head = Buffer.concat([Buffer.from("DIRC"), numbers([2, entries.length])]);
  return summed(Buffer.concat([head, ...entries]));
}

/** All files below a tree, in Git's order. @param tree in hex */
export async function* filesOf(
  objects: Objects,
  tree: string | undefined,
): AsyncGenerator<FileEntry> {
  const { budget } = objects;
  const open = [{ path: "", entries: await entriesOf(objects, tree), at: 0 }];
  for (let last = open.at(-1); last; last = open.at(-1)) {
    const entry = last.entries[last.at];
    if (!entry) {
      open.pop();
      continue;
    }
    last.at += 1;
    const { mode, oid } = entry;
    const path = last.path + entry.name;
    if (path.endsWith("/")) open.push({ path, entries: await entriesOf(objects, oid), at: 0 });
    else yield { path, mode, oid };
    if (budget.isDue) await budget.pause();
  }
}
