import type { Awaitable, Database, Reader, Store, Value } from "../store/port.ts";
import { applyDelta, MAX_HEADER, OFS_DELTA, REF_DELTA, readHeader } from "./entries.ts";
import { inflateChecked, inflateParts, STREAMED } from "./inflate.ts";
import { Lru } from "./lru.ts";
import type { GitObject } from "./objects.ts";
import { Pack, type PackContents, writeIndex } from "./pack.ts";

/** Bytes of a piece of a pack, except the last one. */
const PIECE = 64 * 1024;
/** What a piece has room for at first: most packs are small. */
const SMALL_PIECE = 4 * 1024;
/** Pieces written by one transaction, for which everything else waits. */
const BATCH = 8;
/** Pieces deleted by one transaction. */
const DELETED = 256;
/** Bytes of a piece of an index. */
const INDEX_PIECE = 256 * 1024;
const MEBIBYTE = 1024 * 1024;
/** Pieces and objects have caches of this size, in bytes. */
const CACHE = 16 * MEBIBYTE;
const INDEX_CACHE = 128 * MEBIBYTE;
/** What an entry of a cache takes besides its bytes. */
const OVERHEAD = 100;
/** Packs have fewer pieces and objects. */
const KEYS_PER_PACK = 2 ** 32;

/** A statement that stores so many pieces of a pack. */
const appending = (count: number) =>
  `insert into git_pack_pieces (pack_id, number, bytes) values ${Array(count).fill("(?, ?, ?)").join(", ")}`;
const APPEND_BATCH = appending(BATCH);
const ADD_INDEX = "insert into git_pack_indexes (pack_id, number, bytes) values (?, ?, ?)";

const stores = new WeakMap<Store, Packs>();

/** Reads the packs in a database, with a cache. Packs never change, so nothing in it becomes outdated. */
export class PackReader {
  readonly #db: Reader;
  readonly #pieces = new Lru<number, Buffer>(CACHE);
  readonly #objects = new Lru<number, GitObject>(CACHE);
  readonly #indexes = new Lru<number, Pack>(INDEX_CACHE);

  constructor(db: Reader) {
    this.#db = db;
  }

  /** A pack with its index. */
  async open(id: number): Promise<Pack> {
    const known = this.#indexes.get(id);
    if (known) return known;
    const rows = await this.#db.rows(
      "select bytes from git_pack_indexes where pack_id = ? order by number",
      [id],
    );
    return this.keep(
      new Pack(
        id,
        rows.map(([bytes]) => bytes as Uint8Array),
      ),
    );
  }

  /** Keeps a pack in the cache. */
  protected keep(pack: Pack): Pack {
    this.#indexes.set(pack.id, pack, pack.memory);
    return pack;
  }

  /** An object, with the deltas it consists of applied. */
  async read(pack: Pack, entry: number): Promise<GitObject> {
    const first = pack.id * KEYS_PER_PACK;
    const deltas: { entry: number; delta: Buffer }[] = [];
    let at = entry;
    let found = this.#objects.get(first + at);
    while (!found) {
      const from = pack.offsets[at] as number;
      const raw = await this.range(pack.id, from, pack.offsets[at + 1] as number);
      const header = readHeader(raw, 0);
      const content = header && (await inflateChecked(raw, header.end, header.size));
      if (!content) throw new Error(`pack ${pack.id} is damaged at ${from}`);
      if (header.type === OFS_DELTA || header.type === REF_DELTA) {
        deltas.push({ entry: at, delta: content });
        at =
          header.type === OFS_DELTA
            ? pack.entryAt(from - header.distance)
            : pack.oids.find(raw, header.base);
        found = this.#objects.get(first + at);
      } else found = this.#keepObject(first + at, header.type, content);
    }
    for (let next = deltas.pop(); next; next = deltas.pop()) {
      const data = applyDelta(found.data, next.delta, Number.POSITIVE_INFINITY);
      found = this.#keepObject(first + next.entry, found.type, data);
    }
    return found;
  }

  /** The content of an object, part by part. All but small ones are not in memory as a whole, unless they are deltas. */
  async *stream(pack: Pack, entry: number): AsyncGenerator<Buffer> {
    if ((pack.sizes[entry] as number) > STREAMED) {
      const from = pack.offsets[entry] as number;
      const to = pack.offsets[entry + 1] as number;
      const header = readHeader(
        await this.range(pack.id, from, Math.min(to, from + MAX_HEADER)),
        0,
      );
      if (header && header.type !== OFS_DELTA && header.type !== REF_DELTA) {
        yield* inflateParts(this.parts(pack.id, from + header.end, to));
        return;
      }
    }
    const { data } = await this.read(pack, entry);
    for (let at = 0; at < data.length; at += STREAMED) yield data.subarray(at, at + STREAMED);
  }

  #keepObject(key: number, type: number, data: Buffer): GitObject {
    const object = { type, data };
    this.#objects.set(key, object, data.length + OVERHEAD);
    return object;
  }

  /** Bytes of a pack, which may be shared and must not be changed. */
  async range(packId: number, from: number, to: number): Promise<Buffer> {
    const number = Math.floor(from / PIECE);
    const start = number * PIECE;
    if (to <= start + PIECE) {
      return (await this.#piece(packId, number)).subarray(from - start, to - start);
    }
    const parts: Buffer[] = [];
    for await (const part of this.parts(packId, from, to)) parts.push(part);
    return Buffer.concat(parts);
  }

  /** The same bytes, piece by piece. */
  async *parts(packId: number, from: number, to: number): AsyncGenerator<Buffer> {
    for (let at = from; at < to; ) {
      const number = Math.floor(at / PIECE);
      const start = number * PIECE;
      const end = Math.min(start + PIECE, to);
      yield (await this.#piece(packId, number)).subarray(at - start, end - start);
      at = end;
    }
  }

  async #piece(packId: number, number: number): Promise<Buffer> {
    const key = packId * KEYS_PER_PACK + number;
    return this.#pieces.get(key) ?? (await this.#load(packId, number));
  }

  async #load(packId: number, number: number): Promise<Buffer> {
    const [row] = await this.#db.rows(
      "select bytes from git_pack_pieces where pack_id = ? and number = ?",
      [packId, number],
    );
    if (!row) throw new Error(`pack ${packId} has no piece ${number}`);
    const { buffer, byteOffset, byteLength } = row[0] as Uint8Array;
    return this.keepPiece(packId, number, Buffer.from(buffer, byteOffset, byteLength));
  }

  /** Keeps a piece in the cache. */
  protected keepPiece(packId: number, number: number, bytes: Buffer): Buffer {
    this.#pieces.set(packId * KEYS_PER_PACK + number, bytes, bytes.length + OVERHEAD);
    return bytes;
  }
}

/** Runs what writes. */
type Write = <T>(work: (db: Database) => Awaitable<T>) => Promise<T>;

/** The packs in a database, to be read and written. */
export class Packs extends PackReader {
  readonly #db: Reader;
  readonly #write: Write;

  private constructor(db: Reader, write: Write) {
    super(db);
    this.#db = db;
    this.#write = write;
  }

  /** The packs in a database, for a whole process. Each step of writing is a transaction of its own. */
  static of(store: Store): Packs {
    const known =
      stores.get(store) ?? new Packs(store, (work) => store.transaction(work, { shared: true }));
    stores.set(store, known);
    return known;
  }

  /** The packs as a transaction sees them, which also writes them. Their caches end with it. */
  static within(db: Database): Packs {
    return new Packs(db, async (work) => work(db));
  }

  /** Begins a pack, which belongs to no repository yet, and returns its id. */
  async begin(now: number): Promise<number> {
    const rows = await this.#write((db) =>
      db.rows("insert into git_packs (unused_since) values (?) returning id", [now]),
    );
    return rows[0]?.[0] as number;
  }

  /** Stores a whole pack in one transaction: it has few pieces. */
  async add(pieces: readonly Buffer[], contents: PackContents, now: number): Promise<Pack> {
    const index = indexPieces(contents);
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
    const id = await this.#write(async (db) => {
      const [row] = await db.rows(
        "insert into git_packs (objects, bytes, unused_since) values (?, ?, ?) returning id",
        [contents.types.length, bytes, now],
      );
      const packId = row?.[0] as number;
      await db.run(appending(pieces.length), valuesOf(packId, 0, pieces));
      for (const [number, piece] of index.entries()) {
        await db.run(ADD_INDEX, [packId, number, piece]);
      }
      return packId;
    });
    for (const [number, piece] of pieces.entries()) this.keepPiece(id, number, piece);
    return this.keep(new Pack(id, index));
  }

  /** Stores some of a pack's pieces. */
  async append(packId: number, first: number, pieces: readonly Buffer[]): Promise<void> {
    const values = valuesOf(packId, first, pieces);
    const sql = pieces.length === BATCH ? APPEND_BATCH : appending(pieces.length);
    await this.#write((db) => db.run(sql, values));
    for (const [index, bytes] of pieces.entries()) this.keepPiece(packId, first + index, bytes);
  }

  /** Deletes a pack that belongs to no repository, some pieces at a time: it may be large. */
  async discard(packId: number): Promise<void> {
    const sql = "delete from git_pack_pieces where pack_id = ? and number < ?";
    const [last] = await this.#db.rows(
      "select max(number) from git_pack_pieces where pack_id = ?",
      [packId],
    );
    for (let number = DELETED; number < ((last?.[0] ?? 0) as number); number += DELETED) {
      await this.#write((db) => db.run(sql, [packId, number]));
    }
    await this.#write((db) => db.run("delete from git_packs where id = ?", [packId]));
  }

  /** Stores the index of a pack, which is complete now. */
  async finish(packId: number, contents: PackContents, bytes: number): Promise<Pack> {
    const index = indexPieces(contents);
    for (const [number, piece] of index.entries()) {
      await this.#write((db) => db.run(ADD_INDEX, [packId, number, piece]));
    }
    await this.#write((db) =>
      db.run("update git_packs set objects = ?, bytes = ? where id = ?", [
        contents.types.length,
        bytes,
        packId,
      ]),
    );
    return this.keep(new Pack(packId, index));
  }
}

/** The values that store pieces of a pack. */
function valuesOf(packId: number, first: number, pieces: readonly Buffer[]): Value[] {
  return pieces.flatMap((bytes, index): Value[] => [packId, first + index, bytes]);
}

function indexPieces(contents: PackContents): Buffer[] {
  const index = writeIndex(contents);
  const pieces: Buffer[] = [];
  for (let at = 0; at < index.length; at += INDEX_PIECE) {
    pieces.push(index.subarray(at, at + INDEX_PIECE));
  }
  return pieces;
}

/** Stores a pack, half a mebibyte per transaction. What was written can be read at once. */
export class PackWriter {
  readonly #packs: Packs;
  readonly #now: number;
  /** Its id, once some of it is stored. */
  #id: number | undefined;
  /** Full pieces that are not stored yet. */
  #unstored: Buffer[] = [];
  /** How many pieces are stored. */
  #stored = 0;
  /** The piece being filled. */
  #open = Buffer.allocUnsafeSlow(SMALL_PIECE);
  #length = 0;

  /** @param now epoch milliseconds */
  constructor(packs: Packs, now: number) {
    this.#packs = packs;
    this.#now = now;
  }

  /** How many bytes were written. */
  get length(): number {
    return this.#length;
  }

  /** Whether enough was written to {@link store} it. */
  get isFull(): boolean {
    return this.#unstored.length >= BATCH;
  }

  /** Writes bytes, which are copied. */
  write(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const filled = this.#length % PIECE;
      const part = bytes.subarray(at, at + PIECE - filled);
      this.#reserve(filled, filled + part.length);
      this.#open.set(part, filled);
      at += part.length;
      this.#length += part.length;
      if (this.#length % PIECE !== 0) return;
      this.#unstored.push(this.#open);
      this.#open = Buffer.allocUnsafeSlow(PIECE);
    }
  }

  /** Makes room in the open piece. */
  #reserve(filled: number, needed: number): void {
    if (needed <= this.#open.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.min(PIECE, Math.max(needed, 4 * this.#open.length)));
    larger.set(this.#open.subarray(0, filled));
    this.#open = larger;
  }

  /** Stores all full pieces. */
  async store(): Promise<void> {
    this.#id ??= await this.#packs.begin(this.#now);
    while (this.#unstored.length > 0) {
      const batch = this.#unstored.slice(0, BATCH);
      await this.#packs.append(this.#id, this.#stored, batch);
      this.#stored += batch.length;
      this.#unstored = this.#unstored.slice(batch.length);
    }
  }

  /** Bytes that were written. */
  async range(from: number, to: number): Promise<Buffer> {
    const stored = this.#stored * PIECE;
    const parts =
      from < stored
        ? [await this.#packs.range(this.#id as number, from, Math.min(to, stored))]
        : [];
    for (let at = Math.max(from, stored); at < to; ) {
      const index = Math.floor(at / PIECE) - this.#stored;
      const start = (index + this.#stored) * PIECE;
      const piece = this.#unstored[index] ?? this.#open;
      parts.push(piece.subarray(at - start, Math.min(to - start, PIECE)));
      at = start + PIECE;
    }
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  }

  /** Stores the rest, and the index. */
  async finish(contents: PackContents): Promise<Pack> {
    const filled = this.#length % PIECE;
    if (filled > 0) {
      // What is kept of a buffer keeps all of it.
      const rest = Buffer.allocUnsafeSlow(filled);
      this.#open.copy(rest);
      this.#unstored.push(rest);
    }
    if (this.#id === undefined && this.#unstored.length <= BATCH) {
      const pack = await this.#packs.add(this.#unstored, contents, this.#now);
      this.#id = pack.id;
      return pack;
    }
    await this.store();
    return this.#packs.finish(this.#id as number, contents, this.#length);
  }

  /** Deletes what was stored. */
  async discard(): Promise<void> {
    if (this.#id !== undefined) await this.#packs.discard(this.#id);
  }
}
