import { pipeline, Readable, type Transform } from "node:stream";

/** What a stream, such as one of node:zlib, makes of bytes. Errors of both reach the reader. */
export async function* through(
  source: AsyncIterable<Buffer>,
  engine: Transform,
): AsyncGenerator<Buffer> {
  pipeline(Readable.from(source), engine, () => {});
  yield* engine as AsyncIterable<Buffer>;
}
