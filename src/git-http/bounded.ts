import { RefusedError } from "../git/errors.ts";

const MEBIBYTE = 1024 * 1024;

/** A body of at most `most` bytes. @throws RefusedError, in the words of Git, as soon as there are more */
export async function* bounded(
  body: AsyncIterable<Uint8Array>,
  most: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > most) {
      const size = (most / MEBIBYTE).toFixed(2);
      throw new RefusedError(`pack exceeds maximum allowed size (${size} MiB)`);
    }
    yield chunk;
  }
}
