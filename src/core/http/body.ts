import type { Readable } from "node:stream";
import { tooLarge, unreadable, unsupportedMediaType } from "../errors.ts";
import { cutShort } from "./chunks.ts";
import type { Incoming } from "./incoming.ts";
import {
  addParameter,
  emptyParameters,
  fromParsed,
  type Parameter,
  type ParameterLimits,
  type Parameters,
  parseJson,
  parseQuery,
  tooMany,
} from "./parameters.ts";
import type { Upload } from "./upload.ts";

/** Limits on the size and content of a body. */
export interface BodyLimits extends ParameterLimits {
  /** Maximum bytes of a body. Default 1 MiB. */
  bytes: number;
}

/** Maximum parts of a multipart body; each costs far more than a form parameter. */
const MAX_PARTS = 1000;
/** Maximum files among them: every file a route accepts is written, though only the last one counts. */
const MAX_FILES = 10;
/** Bytes that are read to their end, at most, after a body is refused. */
const PATIENCE = 32 * 1024 * 1024;
/** Bytes parsed at a time, so that parsing stops soon after a body is refused. */
const PIECE = 16 * 1024;

/**
 * Reads a body of any content type the API accepts into parameters. File parts of a multipart body are skipped, except
 * the one that `upload` receives.
 *
 * @throws ApiError 400 if malformed or truncated, 413 over the limit, 415 for another content type
 */
export async function readBody(
  incoming: Incoming,
  limits: BodyLimits,
  upload?: Upload,
): Promise<Parameters> {
  if (incoming.parsedBody !== undefined) return fromParsed(incoming.parsedBody, limits);
  const type = incoming.header("content-type") ?? "";
  const essence = essenceOf(type);
  const isMultipart = essence === "multipart/form-data";
  const declared = Number(incoming.header("content-length"));
  if (declared > limits.bytes && !(upload && isMultipart)) throw tooLarge();
  const body = incoming.body();
  if (!body || declared === 0) return emptyParameters();

  if (isMultipart) return readMultipart(body, type, limits, upload, declared);
  const bytes = await readAll(body, limits.bytes);
  if (bytes.length === 0) return emptyParameters();
  const text = decodeUtf8(bytes);
  if (isJson(essence)) return parseJson(text, limits);
  if (essence === "application/x-www-form-urlencoded") return parseQuery(text, limits);
  throw unsupportedMediaType(essence);
}

/** A content type without its parameters, the first one if the header was set twice. */
const essenceOf = (type: string) => (type.split(/[;,]/, 1)[0] as string).trim().toLowerCase();

const isJson = (essence: string) => essence === "application/json" || essence.endsWith("+json");

/** Whether a request's body is declared to be JSON. */
export const isJsonBody = ({ header }: Pick<Incoming, "header">): boolean =>
  isJson(essenceOf(header("content-type") ?? ""));

/** Refuses a body that is declared to be of another type than JSON. @throws ApiError 415 */
export function requireJson({ header, parsedBody }: Incoming): void {
  const type = header("content-type");
  if (type === undefined || parsedBody !== undefined || isJson(essenceOf(type))) return;
  throw unsupportedMediaType(essenceOf(type));
}

async function readAll(body: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      length += chunk.length;
      if (length > most) break;
      chunks.push(chunk);
    }
  } catch {
    throw cutShort();
  }
  if (length > most) throw tooLarge();
  if (chunks.length === 1) return chunks[0] as Uint8Array;
  const all = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw unreadable("message body is not valid UTF-8");
  }
}

/**
 * With an upload the body may be larger by the file's limit. A body up to twice that size, or some megabytes more than
 * that, is read to its end before it is refused, since many clients read no answer before they have sent everything; reading of a larger one stops.
 */
async function readMultipart(
  body: AsyncIterable<Uint8Array>,
  contentType: string,
  limits: BodyLimits,
  upload: Upload | undefined,
  declared: number,
): Promise<Parameters> {
  const most = limits.bytes + (upload?.bytes ?? 0);
  const patience = upload ? most + Math.min(most, PATIENCE) : 0;
  if (declared > Math.max(most, patience)) throw tooLarge();
  const { Busboy } = await import("@fastify/busboy");
  let parser: InstanceType<typeof Busboy>;
  try {
    parser = new Busboy({
      headers: { "content-type": contentType },
      limits: {
        fieldSize: limits.bytes,
        parts: Math.min(limits.count, MAX_PARTS),
        files: MAX_FILES,
        headerPairs: 100,
      },
    });
  } catch {
    throw unreadable("malformed multipart body");
  }
  const parameters = emptyParameters();
  let fieldBytes = 0;
  let receiving: Promise<void> | undefined;
  let open: Readable | undefined;
  let failure: unknown;
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const fail = (error: unknown) => {
    failure ??= error;
    open?.destroy(failure as Error);
    end();
  };
  const malformed = () => fail(unreadable("malformed multipart body"));

  parser.on("field", (name: string, value: string) => {
    fieldBytes += name.length + value.length;
    if (fieldBytes > limits.bytes) return fail(tooLarge());
    try {
      addParameter(parameters, name, value, limits);
    } catch (error) {
      fail(error);
    }
  });
  parser.on("file", (name: string, stream: Readable, fileName: string | undefined) => {
    stream.on("error", malformed);
    if (failure || !upload || !upload.parts.includes(name)) {
      stream.resume();
      return;
    }
    open = stream;
    // The request fails before the stream does: the parser fails, too, if nobody reads what it goes on to write.
    const within = async function* () {
      let length = 0;
      for await (const chunk of stream as AsyncIterable<Uint8Array>) {
        length += chunk.length;
        if (length > upload.most) {
          fail(upload.whenTooLarge(name));
          throw failure;
        }
        yield chunk;
      }
    };
    // The last of several equal names wins, as everywhere.
    const place = emptyParameters();
    parameters[name] = place;
    const before = receiving;
    receiving = (async () => {
      await before;
      const received = await upload.receive(fileName ?? "", within(), parameters);
      if (parameters[name] === place) parameters[name] = received as unknown as Parameter;
    })().catch(fail);
  });
  parser.on("partsLimit", () => fail(tooMany()));
  parser.on("filesLimit", () => fail(tooMany()));
  parser.on("error", malformed);
  parser.on("finish", end);

  let length = 0;
  try {
    for await (const chunk of body) {
      length += chunk.length;
      if (length > most) fail(tooLarge());
      if (failure && length > patience) break;
      for (let at = 0; at < chunk.length && !failure; at += PIECE) {
        // Backpressure: the sender waits if the file arrives faster than it is written.
        if (!parser.write(chunk.subarray(at, at + PIECE))) {
          await Promise.race([new Promise((resolve) => parser.once("drain", resolve)), ended]);
        }
      }
    }
  } catch {
    fail(unreadable("the body ended early"));
  }
  if (!failure) parser.end();
  await ended;
  await receiving;
  if (failure) throw failure;
  return parameters;
}
