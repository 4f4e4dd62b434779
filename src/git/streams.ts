import { pipeline, Readable } from "node:stream";
import { createInflate } from "node:zlib";
import { OFS_DELTA, REF_DELTA, readHeader } from "./entries.ts";
import type { Repository } from "./repository.ts";

/** Bytes of a piece. Smaller objects are read as a whole. */
const LARGE = 256 * 1024;
/** The bytes of an entry that its header is in. */
const HEAD_BYTES = 64;

/**
 * The content of an object, piece by piece. Memory holds all of a large one only if it is a delta.
 *
 * @param object its number
 */
export async function* contentsOf(repository: Repository, object: number): AsyncGenerator<Buffer> {
  const { packs } = repository;
  const { pack, entry } = repository.placeOf(object);
  const [from, to] = [pack.offsets[entry] as number, pack.offsets[entry + 1] as number];
  const size = repository.sizeOf(object);
  const head = await packs.range(pack.id, from, Math.min(from + HEAD_BYTES, to));
  const header = readHeader(head, 0);
  if (!header) throw new Error(`pack ${pack.id} is damaged at ${from}`);
  if (size < LARGE || header.type === OFS_DELTA || header.type === REF_DELTA) {
    const { data } = await repository.read(object);
    for (let at = 0; at < data.length; at += LARGE) yield data.subarray(at, at + LARGE);
    return;
  }
  const inflate = createInflate();
  // An error of the source reaches the reader of `inflate`.
  pipeline(Readable.from(packs.parts(pack.id, from + header.end, to)), inflate, () => {});
  let held: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of inflate as AsyncIterable<Buffer>) {
    held.push(chunk);
    bytes += chunk.length;
    if (bytes < LARGE) continue;
    yield Buffer.concat(held);
    held = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(held);
}
