/** Characters of a name, a version, or the name of a file. */
const LONGEST = 255;

/** Whether a text is the name of a Python package (PEP 508). */
export const isName = (text: string): boolean =>
  text.length <= LONGEST && /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/i.test(text);

/** A name as all its spellings are looked up (PEP 503). */
export const normalized = (name: string): string => name.replace(/[-_.]+/g, "-").toLowerCase();

const PRE = "[-_.]?(?:a|b|c|rc|alpha|beta|pre|preview)[-_.]?\\d*";
const POST = "-\\d+|[-_.]?(?:post|rev|r)[-_.]?\\d*";
const VERSION = new RegExp(
  `^v?(?:\\d+!)?\\d+(?:\\.\\d+)*(?:${PRE})?(?:${POST})?(?:[-_.]?dev[-_.]?\\d*)?(?:\\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?$`,
  "i",
);

/** Whether a text is the version of a Python package (PEP 440). */
export const isVersion = (text: string): boolean => text.length <= LONGEST && VERSION.test(text);

/** Whether a text may be the name of a file of a package: the name of the package, its version and more. */
export const isFileOf = (file: string, name: string): boolean =>
  isFileName(file) && normalized(file).startsWith(`${normalized(name)}-`);

/** Whether a text may be the name of a file at all. */
export const isFileName = (file: string): boolean =>
  file.length <= LONGEST && /^[a-z0-9][\w.+!-]*$/i.test(file);

/** The packages, by their normalized names, that a file may be of. */
export function namesOf(file: string): string[] {
  const parts = normalized(file).split("-");
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join("-"));
}
