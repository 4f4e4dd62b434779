const bytes = (...values: number[]) => Buffer.from(values);
const ascii = (text: string) => Buffer.from(text, "latin1");

/** How images of each kind begin: bytes, and where. */
const BEGINNINGS: readonly (readonly [type: string, ...(readonly [at: number, Buffer])[]])[] = [
  ["image/png", [0, bytes(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)]],
  ["image/jpeg", [0, bytes(0xff, 0xd8, 0xff)]],
  ["image/gif", [0, ascii("GIF87a")]],
  ["image/gif", [0, ascii("GIF89a")]],
  ["image/bmp", [0, ascii("BM")], [6, bytes(0, 0, 0, 0)]],
  ["image/tiff", [0, ascii("II*\0")]],
  ["image/tiff", [0, ascii("MM\0*")]],
  ["image/vnd.microsoft.icon", [0, bytes(0, 0, 1, 0)]],
  ["image/webp", [0, ascii("RIFF")], [8, ascii("WEBP")]],
];

/** The types of the images that {@link imageTypeOf} knows. SVG is not among them, since it can contain scripts. */
export const IMAGE_TYPES = [...new Set(BEGINNINGS.map(([type]) => type))];

/** Bytes from the beginning of a file that tell what image it is. */
export const HEAD_LENGTH = 16;

/**
 * The type of an image, as its content has it, whatever it is called.
 *
 * @param head the beginning of the file, at least {@link HEAD_LENGTH} bytes unless it has fewer
 * @returns `undefined` if it is no image, or of a kind that browsers do not show
 */
export function imageTypeOf(head: Buffer): string | undefined {
  const found = BEGINNINGS.find(([, ...parts]) =>
    parts.every(([at, part]) => head.subarray(at, at + part.length).equals(part)),
  );
  return found?.[0];
}
