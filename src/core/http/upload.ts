import { createHash } from "node:crypto";
import * as v from "valibot";
import type { Awaitable, Database, Store } from "../../store/port.ts";
import type { Source } from "../access/source.ts";
import { tooLarge } from "../errors.ts";
import type { Attribute } from "../input.ts";
import type { Parameters } from "./parameters.ts";

/**
 * How a route stores an uploaded file. The file is written in pieces of 256 KiB, each in its own transaction, so that a
 * slow client holds neither memory nor the write lock. It is discarded unless the route's own transaction commits.
 */
export interface UploadSpec {
  /** The name of the file part. */
  readonly part: string;
  /** Creates an empty file and returns its id. */
  begin(db: Database, source: Source, now: number): Awaitable<number>;
  /** Stores the next piece, counted from 0. */
  append(db: Database, id: number, index: number, bytes: Uint8Array): Awaitable<unknown>;
  /** Deletes a file. */
  discard(db: Database, id: number): Awaitable<unknown>;
}

/** A completely received file. A class, so that no JSON from a client can pass for one. */
export class UploadedFile {
  /**
   * @param id from {@link UploadSpec.begin}
   * @param name the file name as sent, without directories
   * @param sha256 in hex
   */
  constructor(
    readonly id: number,
    readonly name: string,
    readonly size: number,
    readonly sha256: string,
  ) {}
}

/** A file part of a multipart body. */
export function file(): Attribute<UploadedFile> {
  return v.pipe(
    v.unknown(),
    v.metadata({ type: "file" }),
    v.instance(UploadedFile, "is invalid"),
  ) as unknown as Attribute<UploadedFile>;
}

const PIECE = 256 * 1024;

/** Receives the file of one request. */
export class Upload {
  readonly part: string;
  /** Maximum bytes of a file. */
  readonly bytes: number;
  readonly #spec: UploadSpec;
  readonly #store: Store;
  readonly #now: number;
  readonly #admit: (parameters: Parameters) => Promise<Source>;
  readonly #unsettled = new Set<number>();

  /** @param admit returns the group or project the file goes to, or throws if the caller may not upload there */
  constructor(
    spec: UploadSpec,
    store: Store,
    bytes: number,
    now: number,
    admit: (parameters: Parameters) => Promise<Source>,
  ) {
    this.part = spec.part;
    this.bytes = bytes;
    this.#spec = spec;
    this.#store = store;
    this.#now = now;
    this.#admit = admit;
  }

  /**
   * @param parameters parts sent before the file, possibly with a token
   * @throws ApiError 413 for a larger file, and whatever `admit` throws
   */
  async receive(
    name: string,
    stream: AsyncIterable<Uint8Array>,
    parameters: Parameters,
  ): Promise<UploadedFile> {
    const source = await this.#admit(parameters);
    const id = await this.#store.transaction((db) => this.#spec.begin(db, source, this.#now), {
      shared: true,
    });
    this.#unsettled.add(id);
    const hash = createHash("sha256");
    let size = 0;
    let index = 0;
    let held: Uint8Array[] = [];
    let holds = 0;
    const flush = async (least: number) => {
      let bytes = Buffer.concat(held);
      while (bytes.length >= least) {
        const piece = bytes.subarray(0, PIECE);
        await this.#store.transaction((db) => this.#spec.append(db, id, index, piece), {
          shared: true,
        });
        index += 1;
        bytes = bytes.subarray(PIECE);
      }
      held = [bytes];
      holds = bytes.length;
    };
    for await (const chunk of stream) {
      size += chunk.length;
      if (size > this.bytes) throw tooLarge();
      hash.update(chunk);
      held.push(chunk);
      holds += chunk.length;
      if (holds >= PIECE) await flush(PIECE);
    }
    await flush(1);
    return new UploadedFile(id, name, size, hash.digest("hex"));
  }

  /** Keeps a file for good: the route's transaction has committed. */
  keep(file: unknown): void {
    if (file instanceof UploadedFile) this.#unsettled.delete(file.id);
  }

  /** Discards all received files that were not kept. */
  async settle(): Promise<void> {
    if (this.#unsettled.size === 0) return;
    await this.#store.transaction(
      async (db) => {
        for (const id of this.#unsettled) await this.#spec.discard(db, id);
      },
      { shared: true },
    );
  }
}
