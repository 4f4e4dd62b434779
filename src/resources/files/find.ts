import { createHash } from "node:crypto";
import { basename } from "node:path/posix";
import { notFound } from "../../core/errors.ts";
import { commitId } from "../../git/commits.ts";
import { lastChange } from "../../git/history.ts";
import { Lru } from "../../git/lru.ts";
import { BLOB } from "../../git/objects.ts";
import type { PackReader } from "../../git/packs.ts";
import type { Repository } from "../../git/repository.ts";
import { entryAt, partsOf, treeOf, typeOfMode } from "../../git/trees.ts";
import { EXECUTABLE } from "../../git/work-tree.ts";
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

/** A file of a commit. */
export interface File {
  /** What is told about it, by names in JSON. */
  readonly facts: Readonly<Record<Fact, string | number | boolean>>;
  readonly name: string;
  readonly path: string;
  /** The number of its blob. */
  readonly object: number;
}

/** What a commit has at a path. It never changes, and finding it means reading folders, the content and the history. */
interface Content {
  readonly size: number;
  readonly sha256: string;
  readonly oid: string;
  readonly commit: string;
  readonly lastCommit: string;
  readonly isExecutable: boolean;
}

/** Contents that were found, by repositories' packs. */
const known = new WeakMap<PackReader, Lru<string, Content>>();
const KNOWN_BYTES = 8 * 1024 * 1024;
/** What one takes in memory besides its path, in bytes. */
const OVERHEAD = 600;

/** Finds a file. @throws ApiError 404 if there is no such commit, or nothing at the path but a folder */
export async function findFile(opened: OpenRepository, ref: string, path: string): Promise<File> {
  const { repository } = opened;
  const commit = await requireCommit(opened, ref);
  const filePath = partsOf(path).join("/");
  const contents = known.get(repository.packs) ?? new Lru<string, Content>(KNOWN_BYTES);
  known.set(repository.packs, contents);
  const key = `${repository.lineage} ${commit} ${filePath}`;
  let content = contents.get(key);
  if (!content) {
    content = await findContent(repository, commit, filePath);
    contents.set(key, content, OVERHEAD + 2 * key.length);
  }
  const name = basename(filePath);
  const facts = {
    file_name: name,
    file_path: filePath,
    size: content.size,
    encoding: "base64",
    content_sha256: content.sha256,
    ref,
    blob_id: content.oid,
    commit_id: content.commit,
    last_commit_id: content.lastCommit,
    execute_filemode: content.isExecutable,
  };
  return { facts, name, path: filePath, object: repository.findHex(content.oid) };
}

async function findContent(repository: Repository, commit: number, path: string): Promise<Content> {
  const entry = await entryAt(repository, treeOf(repository, commit), path);
  if (!entry || typeOfMode(entry.mode) !== BLOB) throw notFound("File");
  const object = repository.findHex(entry.oid);
  const digest = createHash("sha256");
  for await (const part of repository.stream(object)) digest.update(part);
  const last = (await lastChange(repository, commit, path)) ?? commit;
  return {
    size: repository.sizeOf(object),
    sha256: digest.digest("hex"),
    oid: entry.oid,
    commit: commitId(repository, commit),
    lastCommit: commitId(repository, last),
    isExecutable: entry.mode === EXECUTABLE,
  };
}

/** Headers have visible characters of ASCII only (RFC 9110 §5.5). */
const INVISIBLE = /[^ -~]+/gu;

/** What is told about a file, as headers. */
export function headersOf({ facts }: File): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const fact of FACTS) {
    headers[HEADERS[fact]] = String(facts[fact]).replace(INVISIBLE, encodeURIComponent);
  }
  return headers;
}
