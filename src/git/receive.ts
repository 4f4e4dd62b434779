import { createHash } from "node:crypto";
import type { Awaitable } from "../store/port.ts";
import { Pace } from "../turns/pace.ts";
import {
  ArrivingEntries,
  cutShort,
  type Entry,
  HEAD_BYTES,
  type LargeBlob,
  tooLarge,
  writeEntry,
} from "./arriving-entries.ts";
import { Column } from "./columns.ts";
import { deflated } from "./deflate.ts";
import { applyDelta, type EntryHeader, OFS_DELTA, readHeader, writeHeader } from "./entries.ts";
import { RefusedError } from "./errors.ts";
import { inflateChecked } from "./inflate.ts";
import { LIMITS } from "./limits.ts";
import {
  BLOB,
  COMMIT,
  checkTree,
  FOLDER,
  type GitObject,
  hashOf,
  linksOf,
  oidOf,
  SUBMODULE,
  TAG,
  TREE,
  tagLinkOf,
} from "./objects.ts";
import { OID_BYTES, OidTable } from "./oid-table.ts";
import { entryAt, type Pack } from "./pack.ts";
import { type Packs, PackWriter } from "./packs.ts";
import type { Input } from "./pkt-line.ts";
import { ReceivedEntries } from "./received.ts";
import { RecentContents } from "./recent.ts";
import { References } from "./references.ts";
import type { Repository } from "./repository.ts";
import type { Shown } from "./shown.ts";

/** Bytes that are hashed, and names that are copied, at a time. */
const HASHED = 64 * 1024;
const COPIED = 4096;

/** A pack that was received, but belongs to no repository yet. */
export interface StagedPack {
  readonly pack: Pack;
  /** Deletes it, if it is not wanted. */
  discard(): Promise<void>;
}

/**
 * Receives a pack: stores its entries as they arrive, finds out what objects they are, and checks all of them, and that
 * everything they refer to is in the pack or in the repository. Of the pack, memory holds some 100 bytes per object.
 *
 * @param packs where it is stored
 * @param now epoch milliseconds
 * @param shown what of the repository a client may rely on; by default all of it
 * @returns `undefined` if the pack is empty
 * @throws RefusedError if it is not valid or exceeds a limit; nothing of it is left then
 */
export async function receivePack(
  input: Input,
  repository: Repository,
  packs: Packs,
  now: number,
  shown?: Shown,
): Promise<StagedPack | undefined> {
  if (!(await input.fill(HEAD_BYTES))) throw cutShort();
  const head = input.bytes.subarray(input.position, input.position + HEAD_BYTES);
  if (head.toString("latin1", 0, 4) !== "PACK" || head.readUInt32BE(4) !== 2) {
    throw new RefusedError("the pack's format is unknown");
  }
  const count = head.readUInt32BE(8);
  requireCount(count);
  const writer = new PackWriter(packs, now);
  const receiver = new Receiver(repository, writer, count, shown);
  const pack = await orDiscard(writer, () => receiver.receive(input, count));
  if (pack) return stagedBy(writer, pack);
  await writer.discard();
  return undefined;
}

/**
 * Stores objects as a pack that this server has made: they are checked like those of {@link receivePack}, but not first
 * written as a pack and read again.
 *
 * @param objects all different, and none of them in the repository
 * @throws RefusedError if one is not valid or exceeds a limit; nothing is left then
 */
export async function receiveObjects(
  objects: readonly GitObject[],
  repository: Repository,
  packs: Packs,
  now: number,
): Promise<StagedPack> {
  requireCount(objects.length);
  const writer = new PackWriter(packs, now);
  const receiver = new Receiver(repository, writer, objects.length);
  return stagedBy(writer, await orDiscard(writer, () => receiver.receiveMade(objects)));
}

function requireCount(count: number): void {
  if (count > LIMITS.objects) {
    throw new RefusedError(`the pack has more than ${LIMITS.objects} objects`);
  }
}

/** Writes a pack. If that fails, what was stored of it is deleted. */
async function orDiscard<T>(writer: PackWriter, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    await writer.discard();
    throw error;
  }
}

const stagedBy = (writer: PackWriter, pack: Pack): StagedPack => ({
  pack,
  discard: () => writer.discard(),
});

/** Receives one pack. Entries are numbered in their order. */
class Receiver {
  readonly #repository: Repository;
  /** What the objects may refer to and be deltas of; `undefined` if that is all of the repository. */
  readonly #shown: Shown | undefined;
  readonly #writer: PackWriter;
  readonly #pace = new Pace();

  readonly #entries: ReceivedEntries;
  readonly #names: OidTable;
  readonly #references: References;

  readonly #commits = new Column(new Uint32Array(16));
  readonly #times = new Column(new Float64Array(16));
  readonly #trees = new Column(new Uint8Array(512));
  readonly #parents = new Column(new Uint8Array(512));
  readonly #parentCounts = new Column(new Uint8Array(16));

  /** Objects that deltas were or may be made of. */
  readonly #contents = new RecentContents();
  /** Deltas by the entry, or by the name of the object, that they are waiting for. */
  readonly #waiting = new Map<number | string, number[]>();
  /** Deltas whose base is known now. */
  readonly #ready: { entry: number; base: number }[] = [];
  /** Objects of the repository that deltas are of. */
  readonly #outside = new Set<number>();
  /** Bytes of all objects. */
  #expanded = 0;
  /** Bytes of objects that were unpacked again. */
  #reworked = 0;

  /** @param count how many entries are announced */
  constructor(repository: Repository, writer: PackWriter, count: number, shown?: Shown) {
    this.#repository = repository;
    this.#shown = shown?.isEverything ? undefined : shown;
    this.#writer = writer;
    // The announced count may be wrong: there is room for more as entries arrive.
    const expected = Math.min(count, 10_000);
    this.#entries = new ReceivedEntries(expected);
    this.#names = new OidTable(expected);
    this.#references = new References(expected);
  }

  /** Receives the whole pack, from its head on; `undefined` if it is empty. */
  async receive(input: Input, count: number): Promise<Pack | undefined> {
    const arriving = new ArrivingEntries(input, this.#writer, (bytes) => this.#expand(bytes));
    for (let entry = 0; entry < count; entry += 1) {
      const settling = this.#receiveEntry(entry, arriving.read() ?? (await arriving.next()));
      // Most need nothing but what is in memory, and waiting for nothing would cost as much as the work.
      if (settling) await settling;
      if (this.#ready.length > 0) await this.#settleReady();
      if (this.#writer.isFull) await this.#writer.store();
      if (this.#pace.isDue) await this.#pace.pause();
    }
    await arriving.checkEnd();
    if (count === 0) return undefined;
    if (this.#waiting.size > 0) throw new RefusedError("a delta has no base");
    for (const object of this.#outside) await this.#addOutside(object);
    return this.#finish();
  }

  /** Receives objects that this server has made. */
  async receiveMade(objects: readonly GitObject[]): Promise<Pack> {
    for (const object of objects) {
      const entry = await this.#addWhole(object);
      await this.#settle(entry, object.type, object.data);
      if (this.#writer.isFull) await this.#writer.store();
      if (this.#pace.isDue) await this.#pace.pause();
    }
    return this.#finish();
  }

  /** Stores what was received, if all that it refers to is there. */
  async #finish(): Promise<Pack> {
    await this.#references.check((oids, at) => this.#typeOf(oids, at), this.#pace);
    const { count, types, sizes, lengths, names } = this.#entries;
    const oids = new Uint8Array(OID_BYTES * count);
    for (let entry = 0; entry < count; entry += COPIED) {
      const copied = names.subarray(entry, Math.min(entry + COPIED, count));
      this.#names.copy(copied, oids, OID_BYTES * entry);
      if (this.#pace.isDue) await this.#pace.pause();
    }
    const pack = await this.#writer.finish({
      types: types.subarray(0, count),
      sizes: sizes.subarray(0, count),
      lengths: lengths.subarray(0, count),
      oids,
      commits: this.#commits.array,
      times: this.#times.array,
      trees: this.#trees.array,
      parentCounts: this.#parentCounts.array,
      parents: this.#parents.array,
    });
    if (this.#pace.isDue) await this.#pace.pause();
    return pack;
  }

  /** Notes an entry, and makes an object of it if its base is known. Returns what that waits for, if it does. */
  #receiveEntry(entry: number, read: Entry | LargeBlob): Promise<void> | undefined {
    const offset = this.#writer.length - read.length;
    this.#addEntry(offset);
    if ("oid" in read) return this.#settleLarge(entry, read);
    const { header, content, base } = read;
    if (base) {
      const name = this.#names.find(base);
      return name >= 0
        ? this.#settleDelta(entry, this.#entries.named[name] as number, content)
        : this.#settleOutside(entry, base, content);
    }
    if (header.type !== OFS_DELTA) {
      this.#contents.add(entry, content);
      return this.#settle(entry, header.type, content);
    }
    const at = entryAt(this.#entries.offsets, entry, offset - header.distance);
    if ((this.#entries.names[at] as number) >= 0) return this.#settleDelta(entry, at, content);
    this.#wait(at, entry);
    return undefined;
  }

  /** Makes objects of the deltas whose base is known now. They may be many: each may be a base of others. */
  async #settleReady(): Promise<void> {
    for (let next = this.#ready.pop(); next; next = this.#ready.pop()) {
      const { content } = await this.#reread(next.entry);
      await this.#settleDelta(next.entry, next.base, content);
      if (this.#pace.isDue) await this.#pace.pause();
    }
  }

  #wait(base: number | string, entry: number): void {
    const waiting = this.#waiting.get(base);
    if (waiting) waiting.push(entry);
    else this.#waiting.set(base, [entry]);
  }

  /** Makes an object of a delta of another entry. */
  #settleDelta(entry: number, base: number, delta: Buffer): Promise<void> | undefined {
    const { depths, types } = this.#entries;
    const depth = (depths[base] as number) + 1;
    if (depth > LIMITS.chain) throw new RefusedError("a chain of deltas is too long");
    depths[entry] = depth;
    const content = this.#contents.get(base);
    return content
      ? this.#settle(entry, types[base] as number, this.#apply(entry, content, delta))
      : this.#settleUnpacked(entry, base, delta);
  }

  /** The same, of an entry that has to be unpacked again. */
  async #settleUnpacked(entry: number, base: number, delta: Buffer): Promise<void> {
    const data = this.#apply(entry, await this.#unpack(base), delta);
    await this.#settle(entry, this.#entries.types[base] as number, data);
  }

  /** Applies the delta that an entry is. The result is kept for others. */
  #apply(entry: number, base: Buffer, delta: Buffer): Buffer {
    return applyDelta(base, delta, LIMITS.objectBytes, (size) =>
      this.#contents.reserve(entry, size),
    );
  }

  /** Makes an object of a delta whose base may be in the repository, or still to come. */
  async #settleOutside(entry: number, base: Buffer, delta: Buffer): Promise<void> {
    const object = this.#repository.find(base);
    if (object < 0 || (await this.#isHidden(object))) {
      this.#wait(base.toString("latin1"), entry);
      return;
    }
    this.#outside.add(object);
    this.#entries.depths[entry] = 1;
    const { type, data } = await this.#repository.read(object);
    await this.#settle(entry, type, this.#apply(entry, data, delta));
  }

  /** Checks an object, now that it is known, and notes what it refers to. */
  #settle(entry: number, type: number, data: Buffer): Promise<void> | undefined {
    this.#expand(data.length);
    return data.length > HASHED
      ? this.#settleLong(entry, type, data)
      : this.#settleNamed(entry, type, data, oidOf(type, data));
  }

  /** The same, of one that takes several slices to hash. */
  async #settleLong(entry: number, type: number, data: Buffer): Promise<void> {
    const name = hashOf(type, data.length);
    for (let at = 0; at < data.length; at += HASHED) {
      name.update(data.subarray(at, at + HASHED));
      if (this.#pace.isDue) await this.#pace.pause();
    }
    await this.#settleNamed(entry, type, data, name.digest());
  }

  #settleNamed(entry: number, type: number, data: Buffer, oid: Buffer): Promise<void> | undefined {
    this.#name(entry, type, data.length, oid);
    if (type === TREE) {
      checkTree(data, (mode, _from, _to, at) => {
        if (mode !== SUBMODULE) this.#references.add(data, at, mode === FOLDER ? TREE : BLOB);
      });
    } else if (type === COMMIT) this.#addCommit(entry, data);
    else if (type === TAG) {
      const { target, type: expected } = tagLinkOf(data);
      this.#references.add(target, 0, expected);
    }
    this.#wakeAll(entry, oid);
    const known = this.#repository.find(oid);
    return known < 0 ? undefined : this.#checkCollision(known, type, data);
  }

  #settleLarge(entry: number, { size, oid, digest }: LargeBlob): Promise<void> | undefined {
    this.#name(entry, BLOB, size, oid);
    this.#wakeAll(entry, oid);
    const known = this.#repository.find(oid);
    return known < 0 ? undefined : this.#checkLarge(known, digest);
  }

  /** Whether an object of the repository counts as missing. */
  async #isHidden(object: number): Promise<boolean> {
    return this.#shown !== undefined && !(await this.#shown.has(object, this.#pace));
  }

  /** Finds the deltas that were waiting for an object. */
  #wakeAll(entry: number, oid: Buffer): void {
    if (this.#waiting.size === 0) return;
    this.#wake(entry, entry);
    this.#wake(oid.toString("latin1"), entry);
  }

  #wake(base: number | string, entry: number): void {
    const waiting = this.#waiting.get(base);
    if (!waiting) return;
    this.#waiting.delete(base);
    for (const delta of waiting) this.#ready.push({ entry: delta, base: entry });
  }

  #expand(bytes: number): void {
    this.#expanded += bytes;
    if (bytes > LIMITS.objectBytes) throw tooLarge();
    if (this.#expanded > this.#expandable()) {
      throw new RefusedError("the objects of the pack are too large together");
    }
  }

  #expandable(): number {
    return LIMITS.expanded + LIMITS.expansion * this.#writer.length;
  }

  #name(entry: number, type: number, size: number, oid: Buffer): void {
    const { types, sizes, names, named } = this.#entries;
    types[entry] = type;
    sizes[entry] = size;
    const known = this.#names.size;
    const name = this.#names.add(oid);
    if (name < known) {
      throw new RefusedError(`the object ${oid.toString("hex")} is in the pack twice`);
    }
    named[name] = entry;
    names[entry] = name;
  }

  #addCommit(entry: number, data: Buffer): void {
    const { tree, parents, time } = linksOf(data);
    if (parents.length > LIMITS.parents) {
      throw new RefusedError(`a commit has more than ${LIMITS.parents} parents`);
    }
    this.#references.add(tree, 0, TREE);
    for (const parent of parents) {
      this.#references.add(parent, 0, COMMIT);
      this.#parents.append(parent);
    }
    this.#commits.push(entry);
    this.#times.push(time);
    this.#trees.append(tree);
    this.#parentCounts.push(parents.length);
  }

  /** Refuses another object with the name of one that is there: SHA-1 makes that possible, at a price. */
  async #checkCollision(object: number, type: number, data: Buffer): Promise<void> {
    const known = await this.#repository.read(object);
    if (known.type !== type || !known.data.equals(data)) throw this.#collision(object);
  }

  /** The same for a large blob. */
  async #checkLarge(object: number, digest: Buffer): Promise<void> {
    const hash = createHash("sha256");
    for await (const part of this.#repository.stream(object)) hash.update(part);
    const isSame = this.#repository.typeOf(object) === BLOB && hash.digest().equals(digest);
    if (!isSame) throw this.#collision(object);
  }

  #collision(object: number): RefusedError {
    const oid = this.#repository.oidOf(object).toString("hex");
    return new RefusedError(`another object has the name ${oid}`);
  }

  async #reread(entry: number): Promise<Entry> {
    const from = this.#entries.offsets[entry] as number;
    const raw = await this.#writer.range(from, from + (this.#entries.lengths[entry] as number));
    const header = readHeader(raw, 0) as EntryHeader;
    const content = await inflateChecked(raw, header.end, header.size);
    if (!content) throw new Error("an entry that was received can't be read");
    const base = header.base ? raw.subarray(header.base, header.base + OID_BYTES) : undefined;
    return { header, content, base, length: raw.length };
  }

  /** The content of an object of the pack that is no longer in memory, which keeps it and those it is made of. */
  async #unpack(entry: number): Promise<Buffer> {
    const deltas: { entry: number; content: Buffer }[] = [];
    let at = entry;
    let data: Buffer | undefined;
    while (!data) {
      const { header, content, base } = await this.#reread(at);
      if (header.type === OFS_DELTA) {
        deltas.push({ entry: at, content });
        const { offsets } = this.#entries;
        at = entryAt(offsets, at, (offsets[at] as number) - header.distance);
        data = this.#contents.get(at);
      } else if (base) {
        deltas.push({ entry: at, content });
        const name = this.#names.find(base);
        if (name >= 0) {
          at = this.#entries.named[name] as number;
          data = this.#contents.get(at);
        } else data = (await this.#repository.read(this.#repository.find(base))).data;
      } else {
        data = content;
        this.#contents.add(at, data);
      }
      if (this.#pace.isDue) await this.#pace.pause();
    }
    for (let delta = deltas.pop(); delta; delta = deltas.pop()) {
      data = this.#apply(delta.entry, data, delta.content);
      this.#reworked += data.length;
      if (this.#reworked > LIMITS.rework * this.#expandable()) {
        throw new RefusedError("the deltas of the pack take too long");
      }
      if (this.#pace.isDue) await this.#pace.pause();
    }
    return data;
  }

  /** Adds a base that is not in the pack, as `git index-pack --fix-thin` does: packs are complete in themselves. */
  async #addOutside(object: number): Promise<void> {
    const oid = this.#repository.oidOf(object);
    // It may have arrived after its delta.
    if (this.#names.find(oid) >= 0) return;
    const known = await this.#repository.read(object);
    const { type, data } = known;
    this.#expand(data.length);
    const entry = await this.#addWhole(known);
    this.#name(entry, type, data.length, oid);
    if (type === COMMIT) this.#addCommit(entry, data);
    if (this.#writer.isFull) await this.#writer.store();
    if (this.#pace.isDue) await this.#pace.pause();
  }

  /** Writes an object to the pack as an entry that needs no other one, and returns its number. */
  async #addWhole(object: GitObject): Promise<number> {
    const offset = this.#writer.length;
    writeEntry(this.#writer, writeHeader(object.type, object.data.length));
    writeEntry(this.#writer, await deflated(object));
    return this.#addEntry(offset);
  }

  /** Notes an entry that was written, whose object is not known yet, and returns its number. */
  #addEntry(offset: number): number {
    return this.#entries.add(offset, this.#writer.length - offset);
  }

  /** The type of an object that may be referred to, in the pack or in the repository; `undefined` if there is none. */
  #typeOf(oids: Uint8Array, at: number): Awaitable<number | undefined> {
    const own = this.#names.find(oids, at);
    const { types, named } = this.#entries;
    if (own >= 0) return types[named[own] as number];
    const object = this.#repository.find(oids, at);
    if (object < 0) return undefined;
    const type = this.#repository.typeOf(object);
    return this.#shown
      ? this.#isHidden(object).then((isHidden) => (isHidden ? undefined : type))
      : type;
  }
}
