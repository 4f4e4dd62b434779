import type { Bytes } from "../../core/http/incoming.ts";
import { LARGE } from "../../git/inflate.ts";
import type { Repository } from "../../git/repository.ts";

/** Larger blobs, in bytes, become text part by part, as the client reads. */
const PART = 192 * 1024;

/** The content of a blob, as the body of an answer. */
export async function bodyOf(repository: Repository, object: number): Promise<Buffer | Bytes> {
  const length = repository.sizeOf(object);
  if (length <= LARGE) return (await repository.read(object)).data;
  return { length, chunks: () => repository.stream(object) };
}

/**
 * An object as JSON, with the content of a blob in Base64.
 *
 * @param before what the object has before its `content`
 * @param after what it has behind that
 */
export async function jsonWithContent(
  repository: Repository,
  object: number,
  before: object,
  after: object,
): Promise<string | Bytes> {
  const start = `${JSON.stringify(before).slice(0, -1)},"content":"`;
  const rest = JSON.stringify(after).slice(1);
  const end = rest === "}" ? '"}' : `",${rest}`;
  const size = repository.sizeOf(object);
  if (size <= PART) {
    const { data } = await repository.read(object);
    return start + data.toString("base64") + end;
  }
  return {
    length: Buffer.byteLength(start) + 4 * Math.ceil(size / 3) + Buffer.byteLength(end),
    async *chunks() {
      yield Buffer.from(start);
      yield* inBase64(repository.stream(object));
      yield Buffer.from(end);
    },
  };
}

async function* inBase64(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const part of parts) {
    const bytes = rest.length > 0 ? Buffer.concat([rest, part]) : part;
    const whole = bytes.length - (bytes.length % 3);
    for (let at = 0; at < whole; at += PART) {
      yield Buffer.from(bytes.toString("base64", at, Math.min(at + PART, whole)));
    }
    rest = Buffer.from(bytes.subarray(whole));
  }
  yield Buffer.from(rest.toString("base64"));
}
