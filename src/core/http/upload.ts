import { discardFile, type StoredFile, storeFile } from "../../files/write.ts";
import type { Awaitable, Reader, Store } from "../../store/port.ts";
import type { Caller } from "../access/caller.ts";
import { type ApiError, tooLarge } from "../errors.ts";
import { type Attribute, attribute, REFUSED } from "../input.ts";
import { HEAD_LENGTH } from "./images.ts";
import type { Incoming } from "./incoming.ts";
import type { Parameters } from "./parameters.ts";

/** What is known when a file begins to arrive. */
interface Arrival {
  readonly db: Reader;
  readonly request: Pick<Incoming, "method" | "path" | "query" | "header" | "ip">;
  readonly caller: Caller | undefined;
  /** Parameters of the path and the query, and parts that were sent before the file. */
  readonly parameters: Parameters;
  /** The instant of the request, in epoch milliseconds. */
  readonly now: number;
}

/** How a route takes a file part of a multipart body. */
export interface UploadSpec {
  /** The name of the file part. */
  readonly part: string;
  /** The names of further file parts. Default: none. */
  readonly otherParts?: readonly string[];
  /** Maximum bytes of the file. Default: the limit of attachments. */
  readonly maxBytes?: number;
  /** The answer to a larger file in a part. Default: 413. */
  readonly whenTooLarge?: (part: string) => ApiError;
  /**
   * Makes further checks before the file is received, so that none is stored in vain; throws ApiError. It may return the
   * maximum bytes of this file, if they are fewer.
   */
  readonly admit?: (arrival: Arrival) => Awaitable<number | undefined>;
}

/** A completely received file. A class, so that no JSON from a client can pass for one. */
export class UploadedFile implements StoredFile {
  readonly id: number;
  readonly size: number;
  readonly sha256: string;

  /**
   * @param name the file name as sent, without directories
   * @param head the first bytes of its content, by which images are told apart
   */
  constructor(
    { id, size, sha256 }: StoredFile,
    readonly name: string,
    readonly head: Buffer,
  ) {
    this.id = id;
    this.size = size;
    this.sha256 = sha256;
  }
}

/** A file part of a multipart body. */
export function file(): Attribute<UploadedFile> {
  return attribute({ type: "file" }, (value) => (value instanceof UploadedFile ? value : REFUSED));
}

/** Stores the files of one request, and deletes those that no record refers to when it is answered. */
export class Upload {
  /** The names of the file parts, if they are parts of a multipart body. */
  readonly parts: readonly string[];
  /** Maximum bytes of a file. */
  readonly bytes: number;
  /** Maximum bytes of the file that is received. */
  most: number;
  /** The answer to a larger one in a part. */
  readonly whenTooLarge: (part: string) => ApiError;
  readonly #store: Store;
  readonly #now: number;
  readonly #admit: (parameters: Parameters) => Promise<number | undefined>;
  readonly #received: number[] = [];
  #body: Promise<StoredFile> | undefined;

  /** @param admit throws if the caller may not upload; returns the maximum bytes if they are fewer */
  constructor(
    spec: Pick<UploadSpec, "part" | "otherParts" | "whenTooLarge"> | undefined,
    store: Store,
    bytes: number,
    now: number,
    admit: (parameters: Parameters) => Promise<number | undefined>,
  ) {
    this.parts = spec ? [spec.part, ...(spec.otherParts ?? [])] : [];
    this.bytes = bytes;
    this.most = bytes;
    this.whenTooLarge = spec?.whenTooLarge ?? tooLarge;
    this.#store = store;
    this.#now = now;
    this.#admit = admit;
  }

  /**
   * Stores a file part, whose stream ends when it has more bytes than {@link most}.
   *
   * @param parameters parts sent before the file, possibly with a token
   * @throws whatever `admit` or the stream throws
   */
  async receive(
    name: string,
    stream: AsyncIterable<Uint8Array>,
    parameters: Parameters,
  ): Promise<UploadedFile> {
    this.most = Math.min(this.bytes, (await this.#admit(parameters)) ?? this.bytes);
    let head = Buffer.alloc(0);
    const read = async function* () {
      for await (const chunk of stream) {
        if (head.length < HEAD_LENGTH) {
          head = Buffer.concat([head, chunk.subarray(0, HEAD_LENGTH - head.length)]);
        }
        yield chunk;
      }
    };
    const stored = await this.#keep(read());
    return new UploadedFile(stored, name, head);
  }

  /** Stores a whole body, which is limited already, too. It does so once: a request that is handled again has the same file. */
  body(chunks: () => AsyncIterable<Uint8Array>): Promise<StoredFile> {
    this.#body ??= this.#keep(chunks());
    return this.#body;
  }

  async #keep(stream: AsyncIterable<Uint8Array>): Promise<StoredFile> {
    const stored = await storeFile(this.#store, stream, this.#now);
    this.#received.push(stored.id);
    return stored;
  }

  /** Deletes the files that no record refers to. */
  async settle(): Promise<void> {
    for (const id of this.#received) await discardFile(this.#store, id);
  }
}
