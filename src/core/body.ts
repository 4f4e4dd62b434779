import { ApiError, tooLarge, unreadable, unsupportedMediaType } from "./errors.ts";
import type { Incoming } from "./incoming.ts";
import {
  addParameter,
  emptyParameters,
  fromParsed,
  type ParameterLimits,
  type Parameters,
  parseJson,
  parseQuery,
  tooMany,
} from "./parameters.ts";

/** How large a body may be and how much may be in it. */
export interface BodyLimits extends ParameterLimits {
  /** Bytes of a body. Default 1 MiB. */
  bytes: number;
}

/**
 * Reads a body of any content type the API takes (contract §8) into parameters. File parts of a multipart body are
 * read past.
 *
 * @throws ApiError 400 when malformed or truncated, 413 over the limit, 415 for another content type
 */
export async function readBody(incoming: Incoming, limits: BodyLimits): Promise<Parameters> {
  if (incoming.parsedBody !== undefined) return fromParsed(incoming.parsedBody, limits);
  const declared = Number(incoming.header("content-length"));
  if (declared > limits.bytes) throw tooLarge();
  const body = incoming.body();
  if (!body || declared === 0) return emptyParameters();

  const type = incoming.header("content-type") ?? "";
  const essence = (type.split(";", 1)[0] as string).trim().toLowerCase();
  if (essence === "multipart/form-data") return readMultipart(body, type, limits);
  const bytes = await readAll(body, limits.bytes);
  if (bytes.length === 0) return emptyParameters();
  const text = decodeUtf8(bytes);
  if (essence === "application/json" || essence.endsWith("+json")) return parseJson(text, limits);
  if (essence === "application/x-www-form-urlencoded") return parseQuery(text, limits);
  throw unsupportedMediaType(essence);
}

async function readAll(body: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of limited(body, most)) chunks.push(chunk);
  if (chunks.length === 1) return chunks[0] as Uint8Array;
  const all = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

async function* limited(body: AsyncIterable<Uint8Array>, most: number) {
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > most) throw tooLarge();
    yield chunk;
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw unreadable("message body is not valid UTF-8");
  }
}

async function readMultipart(
  body: AsyncIterable<Uint8Array>,
  contentType: string,
  limits: BodyLimits,
): Promise<Parameters> {
  const { Busboy } = await import("@fastify/busboy");
  let parser: InstanceType<typeof Busboy>;
  try {
    parser = new Busboy({
      headers: { "content-type": contentType },
      limits: { fieldSize: limits.bytes, parts: limits.count, headerPairs: 100 },
    });
  } catch {
    throw unreadable("malformed multipart body");
  }
  const parameters = emptyParameters();
  let failure: unknown;
  const ended = new Promise<void>((resolve) => {
    const fail = (error: unknown) => {
      failure ??= error instanceof ApiError ? error : unreadable("malformed multipart body");
      resolve();
    };
    parser.on("field", (name: string, value: string) => {
      try {
        addParameter(parameters, name, value, limits);
      } catch (error) {
        fail(error);
      }
    });
    parser.on("file", (_name: string, stream: NodeJS.ReadableStream) => {
      stream.on("error", fail);
      stream.resume();
    });
    parser.on("partsLimit", () => fail(tooMany()));
    parser.on("error", fail);
    parser.on("finish", () => resolve());
  });
  for await (const chunk of limited(body, limits.bytes)) {
    if (failure) break;
    parser.write(chunk);
  }
  if (!failure) parser.end();
  await ended;
  if (failure) throw failure;
  return parameters;
}
