import { createHash } from "node:crypto";
import { basename } from "node:path/posix";
import { notFound } from "../../core/errors.ts";
import type { Bytes } from "../../core/http/incoming.ts";
import { commitId } from "../../git/commits.ts";
import { lastChange } from "../../git/history.ts";
import { Lru } from "../../git/lru.ts";
import { BLOB } from "../../git/objects.ts";
import type { PackReader } from "../../git/packs.ts";
import type { Repository } from "../../git/repository.ts";
import { entryAt, partsOf, treeOf, typeOfMode } from "../../git/trees.ts";
import { EXECUTABLE } from "../../git/work-tree.ts";
import type { Pace } from "../../turns/pace.ts";
import { jsonWithContent } from "../repositories/blobs.ts";
import { type OpenRepository, requireCommit } from "../repositories/open.ts";

/** What is told about a file, by names in JSON, and the headers that tell the same. */
const HEADERS = {
  file_name: "x-gitlab-file-name",
  file_path: "x-gitlab-file-path",
  size: "x-gitlab-size",
  encoding: "x-gitlab-encoding",
  content_sha256: "x-gitlab-content-sha256",
  ref: "x-gitlab-ref",
  blob_id: "x-gitlab-blob-id",
  commit_id: "x-gitlab-commit-id",
  last_commit_id: "x-gitlab-last-commit-id",
  execute_filemode: "x-gitlab-execute-filemode",
} as const;

type Fact = keyof typeof HEADERS;
const FACTS = Object.keys(HEADERS) as Fact[];

/** A file of a commit, as a name of the commit finds it. */
export interface File {
  /** What is told about it, by names in JSON. */
  readonly facts: Readonly<Record<Fact, string | number | boolean>>;
  /** The same as headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly name: string;
  readonly path: string;
  /** The name of its blob. */
  readonly oid: Buffer;
  /** What is told about it and its content, as JSON, if it is {@link SMALL} and somebody has asked. */
  json: string | undefined;
}

/**
 * Files that were found, by repositories' packs. What a commit has at a path never changes, and finding it means reading
 * folders, the content and the history.
 */
const known = new WeakMap<PackReader, Lru<string, File>>();
const KNOWN_BYTES = 8 * 1024 * 1024;
/** What one takes in memory, in bytes, for each character of what it is found by and besides that. */
const TIMES = 24;
const OVERHEAD = 2000;
/** The JSON of smaller files, in bytes of their content, is kept. */
const SMALL = 4096;

/** Finds a file. @throws ApiError 404 if there is no such commit, or nothing at the path but a folder */
export async function findFile(opened: OpenRepository, ref: string, path: string): Promise<File> {
  const { repository, budget } = opened;
  const commit = await requireCommit(opened, ref);
  const filePath = partsOf(path).join("/");
  const files = known.get(repository.packs) ?? new Lru<string, File>(KNOWN_BYTES);
  known.set(repository.packs, files);
  const key = `${repository.lineage} ${commit} ${ref} ${filePath}`;
  const found = files.get(key);
  if (found) return found;
  const file = await readFile(repository, commit, filePath, ref, budget);
  const size = file.facts.size as number;
  files.set(key, file, OVERHEAD + TIMES * key.length + (size > SMALL ? 0 : 3 * size));
  return file;
}

/** What is told about a file and its content, as JSON. */
export async function jsonOf(repository: Repository, file: File): Promise<string | Bytes> {
  if (file.json !== undefined) return file.json;
  const json = await jsonWithContent(repository, repository.find(file.oid), file.facts, {});
  if (typeof json === "string" && (file.facts.size as number) <= SMALL) file.json = json;
  return json;
}

async function readFile(
  repository: Repository,
  commit: number,
  path: string,
  ref: string,
  pace: Pace,
): Promise<File> {
  const entry = await entryAt(repository, treeOf(repository, commit), path);
  if (!entry || typeOfMode(entry.mode) !== BLOB) throw notFound("File");
  const oid = Buffer.from(entry.oid, "hex");
  const object = repository.find(oid);
  const digest = createHash("sha256");
  for await (const part of repository.stream(object)) digest.update(part);
  const last = (await lastChange(repository, commit, path, pace)) ?? commit;
  const name = basename(path);
  const facts = {
    file_name: name,
    file_path: path,
    size: repository.sizeOf(object),
    encoding: "base64",
    content_sha256: digest.digest("hex"),
    ref,
    blob_id: entry.oid,
    commit_id: commitId(repository, commit),
    last_commit_id: commitId(repository, last),
    execute_filemode: entry.mode === EXECUTABLE,
  };
  return { facts, headers: headersOf(facts), name, path, oid, json: undefined };
}

/** Headers have visible characters of ASCII only (RFC 9110 §5.5). */
const INVISIBLE = /[^ -~]+/gu;

function headersOf(facts: File["facts"]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const fact of FACTS) {
    headers[HEADERS[fact]] = String(facts[fact]).replace(INVISIBLE, encodeURIComponent);
  }
  return headers;
}
