import { extname } from "node:path/posix";
import { readFile } from "../../files/read.ts";
import type { StoredFile } from "../../files/write.ts";
import type { Reader } from "../../store/port.ts";
import { ApiError } from "../errors.ts";
import { RawReply } from "../resource.ts";
import type { Incoming } from "./incoming.ts";

/** Images that browsers may show inline. SVG is not among them, since it can contain scripts. */
const IMAGES: Readonly<Record<string, string>> = {
  ".avif": "image/avif",
  ".bmp": "image/bmp",
  ".gif": "image/gif",
  ".ico": "image/x-icon",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".png": "image/png",
  ".tif": "image/tiff",
  ".tiff": "image/tiff",
  ".webp": "image/webp",
};

const VIDEOS: Readonly<Record<string, string>> = {
  ".m4v": "video/mp4",
  ".mov": "video/quicktime",
  ".mp4": "video/mp4",
  ".ogv": "video/ogg",
  ".webm": "video/webm",
};

/** Whether Markdown shows a file of this name instead of linking it. */
export function isMedia(name: string): boolean {
  const kind = extname(name).toLowerCase();
  return IMAGES[kind] !== undefined || VIDEOS[kind] !== undefined;
}

/** Browsers run nothing of it, and load nothing for it. */
const POLICY = { "content-security-policy": "default-src 'none'; sandbox" };

/** The headers of a file that somebody uploaded. They depend on its name, not on the type the uploader declared. */
export function uploadHeaders(name: string): Record<string, string> {
  const kind = extname(name).toLowerCase();
  return {
    "content-type": IMAGES[kind] ?? VIDEOS[kind] ?? "application/octet-stream",
    "content-disposition": dispositionOf(IMAGES[kind] ? "inline" : "attachment", name),
    ...POLICY,
  };
}

/**
 * The headers of a file of a repository: browsers show text and images. An SVG image is only shown within a page.
 *
 * @param isText what its content is
 */
export function sourceHeaders(name: string, isText: boolean): Record<string, string> {
  const kind = extname(name).toLowerCase();
  if (kind === ".svg") {
    const disposition = dispositionOf("attachment", name);
    return { "content-type": "image/svg+xml", "content-disposition": disposition, ...POLICY };
  }
  if (!isText) return uploadHeaders(name);
  return {
    "content-type": "text/plain; charset=utf-8",
    "content-disposition": dispositionOf("inline", name),
    ...POLICY,
  };
}

/** The headers of an image that somebody uploaded. @param type by its content */
export function imageHeaders(name: string, type: string): Record<string, string> {
  return {
    ...uploadHeaders(name),
    "content-type": type,
    "content-disposition": dispositionOf("inline", name),
  };
}

/** A `Content-Disposition` with the name of a file (RFC 6266): for older clients in ASCII, too. */
export function dispositionOf(kind: "inline" | "attachment", name: string): string {
  const plain = name.replace(/[^ -~]|["%\\]/gu, "?");
  const escaped = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${plain}"; filename*=UTF-8''${escaped}`;
}

/** The bytes of a file that a request asks for: from the first to before the last. */
interface Part {
  readonly from: number;
  readonly to: number;
}

/**
 * Answers a stored file: all of it, or the part that `Range` asks for (RFC 9110 §14). Several ranges are answered with
 * all of it.
 *
 * @param db reads for as long as the client does
 * @param headers `content-type` and others; see {@link uploadHeaders}
 * @throws ApiError 416 for a range behind the file's end
 */
export function fileReply(
  db: Reader,
  request: Pick<Incoming, "method" | "header">,
  file: StoredFile,
  headers: Readonly<Record<string, string>>,
): RawReply {
  const chunks = (from: number, to: number) => readFile(db, file, from, to);
  return contentReply(request, { size: file.size, etag: `"${file.sha256}"`, chunks }, headers);
}

/** Content of which parts can be read. */
interface Content {
  /** In bytes. */
  readonly size: number;
  /** Its entity tag, with quotation marks. */
  readonly etag: string;
  /** Its bytes from the first to before the last. */
  readonly chunks: (from: number, to: number) => AsyncIterable<Uint8Array>;
}

/** Answers content as {@link fileReply} answers files. @throws ApiError 416 for a range behind its end */
export function contentReply(
  { method, header }: Pick<Incoming, "method" | "header">,
  { size, etag, chunks }: Content,
  headers: Readonly<Record<string, string>>,
): RawReply {
  const ifRange = header("if-range");
  const asked = method === "GET" && (ifRange === undefined || ifRange === etag);
  const part = asked ? partOf(header("range"), size) : undefined;
  const { from, to } = part ?? { from: 0, to: size };
  return new RawReply(
    part ? 206 : 200,
    {
      ...headers,
      etag,
      "accept-ranges": "bytes",
      ...(part && { "content-range": `bytes ${from}-${to - 1}/${size}` }),
    },
    { length: to - from, chunks: () => chunks(from, to) },
  );
}

/** The part that a header asks for; `undefined` for all of the file. @throws ApiError 416 */
function partOf(range: string | undefined, size: number): Part | undefined {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(range?.trim() ?? "") ?? [];
  if (first === undefined || last === undefined || first + last === "") return undefined;
  const from = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const to = first === "" || last === "" ? size : Math.min(size, Number(last) + 1);
  if (first !== "" && last !== "" && Number(last) < Number(first)) return undefined;
  if (from >= to) {
    const message = "416 Range Not Satisfiable";
    throw new ApiError(416, { message }, { "content-range": `bytes */${size}` });
  }
  return { from, to };
}
