import { createHash } from "node:crypto";
import { badRequest } from "../../core/errors.ts";
import type { Digests } from "./queries.ts";

/** Hashes what passes, and refuses more than some bytes. */
export class Hashing {
  readonly #hashes = {
    md5: createHash("md5"),
    sha1: createHash("sha1"),
    sha512: createHash("sha512"),
  };

  /** @throws ApiError 400 beyond `most` bytes */
  async *pass(chunks: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
    let size = 0;
    for await (const chunk of chunks) {
      size += chunk.length;
      if (size > most) throw badRequest("File is too large");
      for (const hash of Object.values(this.#hashes)) hash.update(chunk);
      yield chunk;
    }
  }

  /** The digests of all that has passed; can be called once. */
  digests(): Required<Digests> {
    const { md5, sha1, sha512 } = this.#hashes;
    return { md5: md5.digest("hex"), sha1: sha1.digest("hex"), sha512: sha512.digest("hex") };
  }
}
