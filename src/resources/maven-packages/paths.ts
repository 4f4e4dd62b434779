/** Characters of a path, and of each of its parts. */
const LONGEST_PATH = 1024;
const LONGEST_PART = 255;
const PART = /^(?!\.+$)[\w.+~-]+$/;

const METADATA = "maven-metadata.xml";
const ALGORITHMS = ["md5", "sha1", "sha256", "sha512"] as const;
type Algorithm = (typeof ALGORITHMS)[number];

/** What a path of a Maven repository stands for. */
export interface FilePath {
  /** The group id and the artifact id, with slashes: `com/acme/thing`. */
  readonly name: string;
  /** Empty for what belongs to all versions. */
  readonly version: string;
  readonly file: string;
  /** If it stands for a digest of the file. */
  readonly algorithm: Algorithm | undefined;
  /** Whether the file is written anew with each version. */
  readonly isMetadata: boolean;
}

/** What a path stands for, as GitLab reads it; `undefined` if it can't be one of a Maven repository. */
export function readPath(path: string): FilePath | undefined {
  const parts = path.split("/");
  const fits = (part: string) => part.length <= LONGEST_PART && PART.test(part);
  if (path.length > LONGEST_PATH || !parts.every(fits)) return undefined;
  const last = parts.pop() as string;
  const algorithm = ALGORITHMS.find((one) => last.endsWith(`.${one}`));
  const file = algorithm ? last.slice(0, -algorithm.length - 1) : last;
  const isMetadata = file === METADATA;
  const known = { file, algorithm, isMetadata };
  const folder = parts.at(-1) ?? "";
  if (isMetadata && folder !== "" && !folder.endsWith("-SNAPSHOT")) {
    return { ...known, name: parts.join("/"), version: "" };
  }
  const version = parts.pop();
  if (version === undefined || parts.length === 0 || file === "") return undefined;
  return { ...known, name: parts.join("/"), version };
}
