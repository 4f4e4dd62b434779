import { tooLarge, unreadable } from "../../core/errors.ts";

/** Bytes of what npm sends besides the archive: of all versions, if it deprecates some. */
export const DOCUMENT_BYTES = 16 * 1024 * 1024;

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [OPEN_OBJECT, OPEN_LIST, CLOSE_OBJECT, CLOSE_LIST] = [0x7b, 0x5b, 0x7d, 0x5d];

/** How deep the archive is: the document is 1. */
const DEPTH_OF_DATA = 3;
const DEEPEST = 32;

/** Characters of the names that matter, at most. */
const LONGEST_NAME = 32;

/** What base64 stands for. @throws ApiError 400 for what is not base64 */
function decoded(text: string, mayBePadded: boolean): Buffer {
  const bytes = Buffer.from(text, "base64");
  const padding = !mayBePadded ? 0 : text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  if (text.length % 4 !== 0 || bytes.length !== (text.length / 4) * 3 - padding) {
    throw unreadable("data of _attachments is not base64");
  }
  return bytes;
}

/**
 * Reads the document that `npm publish` sends: JSON in which the archive is a text of base64,
 * `_attachments.<file>.data`. The archive is handed on as it arrives, and only the rest is kept.
 */
export class Document {
  readonly #rest: Uint8Array[] = [];
  #restBytes = 0;
  #depth = 0;
  /** The name that was read last, at each depth up to that of `data`. */
  readonly #names: string[] = [];
  /** Whether a value follows. */
  #isValue = false;
  /** What has been read of a text, as far as it may be a name; `undefined` outside of texts. */
  #text: string | undefined;
  #isEscaped = false;
  #isData = false;
  #hasData = false;
  /** Characters of base64 that don't make up three bytes yet. */
  #open = "";

  /**
   * The bytes of the archive.
   *
   * @throws ApiError 400 for what is not base64 or a second archive, 413 if the rest has more than {@link DOCUMENT_BYTES}
   */
  async *archive(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const one of chunks) {
      const chunk = Buffer.from(one.buffer, one.byteOffset, one.byteLength);
      for (let at = 0; at < chunk.length; ) {
        if (this.#isData) {
          const end = chunk.indexOf(QUOTE, at);
          const to = end < 0 ? chunk.length : end;
          const bytes = this.#decode(chunk.toString("latin1", at, to), end >= 0);
          if (bytes.length > 0) yield bytes;
          at = to;
          if (end < 0) continue;
          this.#isData = false;
          this.#keep(chunk.subarray(end, end + 1));
          at = end + 1;
        } else {
          const end = this.#skip(chunk, at);
          this.#keep(chunk.subarray(at, end));
          at = end;
        }
      }
    }
  }

  /** Whether there is an archive, once it has been read. */
  get hasArchive(): boolean {
    return this.#hasData;
  }

  /** The document without its archive. @throws ApiError 400 for what is no JSON */
  rest(): unknown {
    try {
      return JSON.parse(Buffer.concat(this.#rest).toString("utf8"));
    } catch {
      throw unreadable("message body does not match declared format");
    }
  }

  #keep(part: Uint8Array): void {
    this.#restBytes += part.length;
    if (this.#restBytes > DOCUMENT_BYTES) throw tooLarge();
    // A copy: the chunk may be large, and most of it the archive.
    this.#rest.push(Buffer.from(part));
  }

  /** Decodes what makes up bytes. The last ones wait for the text's end, since they may be padded. */
  #decode(text: string, isLast: boolean): Buffer {
    const all = this.#open + text;
    const whole = isLast ? all.length : Math.max(0, all.length - (all.length % 4) - 4);
    this.#open = all.slice(whole);
    return decoded(all.slice(0, whole), isLast);
  }

  /** Passes what is not the archive, up to where that begins. @returns the index behind it */
  #skip(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      if (this.#text !== undefined) this.#readText(byte);
      else if (byte === QUOTE && this.#beginsData()) return at + 1;
      else this.#read(byte);
    }
    return chunk.length;
  }

  #readText(byte: number): void {
    const text = this.#text as string;
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) {
      if (!this.#isValue && this.#depth <= DEPTH_OF_DATA) this.#names[this.#depth] = text;
      this.#text = undefined;
      return;
    }
    if (text.length < LONGEST_NAME) this.#text = text + String.fromCharCode(byte);
  }

  #read(byte: number): void {
    if (byte === QUOTE) this.#text = "";
    else if (byte === COLON) this.#isValue = true;
    else if (byte === COMMA) this.#isValue = false;
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      this.#depth += 1;
      this.#isValue = false;
      if (this.#depth > DEEPEST) throw unreadable("message body is nested too deeply");
      if (this.#depth <= DEPTH_OF_DATA) this.#names[this.#depth] = "";
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      this.#depth -= 1;
      this.#isValue = false;
    }
  }

  /** Whether the text that begins is the archive. */
  #beginsData(): boolean {
    const isData =
      this.#isValue &&
      this.#depth === DEPTH_OF_DATA &&
      this.#names[1] === "_attachments" &&
      this.#names[DEPTH_OF_DATA] === "data";
    if (!isData) return false;
    if (this.#hasData) throw unreadable("_attachments may have one file only");
    this.#hasData = true;
    this.#isData = true;
    return true;
  }
}
