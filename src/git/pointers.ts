import { BLOB } from "./objects.ts";
import type { Repository } from "./repository.ts";

/** What stands in a repository for an object of Git LFS. */
export interface Pointer {
  /** The SHA-256 of its content, in hex. */
  readonly oid: string;
  /** In bytes. */
  readonly size: number;
}

/** Bytes that a pointer has at most, by the specification of git-lfs. */
export const POINTER_BYTES = 1024;
/** No pointer is shorter. */
const LEAST_POINTER_BYTES = 100;

const VERSIONS: readonly string[] = [
  "https://git-lfs.github.com/spec/v1",
  "https://hawser.github.com/spec/v1",
  "http://git-media.io/v/2",
];

/** Whether a text is the name of an object of LFS. */
export const isLfsOid = (text: unknown): text is string =>
  typeof text === "string" && /^[0-9a-f]{64}$/.test(text);

/**
 * Reads a pointer of Git LFS (git-lfs, docs/spec.md): lines of a key and a value, the version first.
 *
 * @returns `undefined` for any other content
 */
function pointerOf(content: Uint8Array): Pointer | undefined {
  if (content.length < LEAST_POINTER_BYTES || content.length > POINTER_BYTES) return undefined;
  const text = Buffer.from(content.buffer, content.byteOffset, content.length).toString("latin1");
  if (!text.startsWith("version ")) return undefined;
  const [version = "", ...lines] = text.trimEnd().split("\n");
  if (!VERSIONS.includes(version.slice("version ".length))) return undefined;
  const values = new Map(
    lines.map((line) => {
      const space = line.indexOf(" ");
      return [line.slice(0, space), line.slice(space + 1)];
    }),
  );
  const oid = values.get("oid")?.replace(/^sha256:/, "");
  const size = /^\d+$/.test(values.get("size") ?? "") ? Number(values.get("size")) : Number.NaN;
  return isLfsOid(oid) && Number.isSafeInteger(size) ? { oid, size } : undefined;
}

/**
 * What a blob says as a pointer of Git LFS.
 *
 * @param most bytes of the blobs that are looked at
 * @returns `undefined` if it is none
 */
export async function pointerIn(
  repository: Repository,
  object: number,
  most = POINTER_BYTES,
): Promise<Pointer | undefined> {
  if (object < 0 || repository.typeOf(object) !== BLOB) return undefined;
  const size = repository.sizeOf(object);
  if (size < LEAST_POINTER_BYTES || size > most) return undefined;
  return pointerOf((await repository.read(object)).data);
}
