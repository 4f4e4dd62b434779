import { badRequest, notAcceptable, notFound } from "../../core/errors.ts";
import { dispositionOf } from "../../core/http/file-reply.ts";
import { cancellable } from "../../core/http/streamed.ts";
import * as param from "../../core/input.ts";
import { RawReply } from "../../core/resource.ts";
import { type ArchiveFormat, archive } from "../../git/archive.ts";
import { commitId } from "../../git/commits.ts";
import { FOLDER } from "../../git/objects.ts";
import { findCommit } from "../../git/revisions.ts";
import { TreeList } from "../../git/tree-list.ts";
import { entryAt, partsOf, treeOf } from "../../git/trees.ts";
import { replacementsIn } from "./lfs.ts";
import type { OpenRepository } from "./open.ts";

/** The formats of archives by their endings. */
const FORMATS: Readonly<Record<string, ArchiveFormat>> = {
  tar: "tar",
  "tar.gz": "tar.gz",
  tgz: "tar.gz",
  gz: "tar.gz",
  zip: "zip",
};

/** The endings of bzip2, which GitLab has. */
const BZIP2 = ["tar.bz2", "tbz", "tbz2", "tb2", "bz2"];

/** All endings, the longest first. */
const ENDINGS = [...Object.keys(FORMATS), ...BZIP2].sort((a, b) => b.length - a.length);

/** The ending of an archive's name, such as `tar.gz`; `undefined` if it has none of an archive's. */
export function endingOf(name: string): string | undefined {
  return ENDINGS.find((ending) => name.endsWith(`.${ending}`));
}

/** More are not archived: trees can be made that have billions of entries. */
const MOST_ARCHIVED = 1_000_000;

/** @throws ApiError 400 if a tree has more entries than are archived */
export async function requireArchivable(
  { repository, budget }: OpenRepository,
  tree: number,
): Promise<void> {
  if ((await new TreeList(repository, tree, "", true, budget).length()) > MOST_ARCHIVED) {
    throw badRequest(`The archive would have more than ${MOST_ARCHIVED} entries`);
  }
}

/** The path of a file or folder, and the names of branches, tags and commits. */
const text = param.anyText({ max: 4096 });

/** Which commit is archived, and which of its folders. */
export const archiveInput = {
  sha: param.optional(text),
  path: param.optional(text),
  include_lfs_blobs: param.optional(param.boolean()),
};

/** What somebody asks for by {@link archiveInput}: with the objects of Git LFS, unless they say otherwise. */
interface ArchiveRequest {
  readonly sha?: string | undefined;
  readonly path?: string | undefined;
  readonly include_lfs_blobs?: boolean | undefined;
}

/**
 * Answers an archive of a commit.
 *
 * @param ending the format, such as `tar.gz`
 * @param isNamedBySha whether the names of the archive and of its folder end with the commit's
 * @throws ApiError 400, 404, 406
 */
export async function archiveOf(
  opened: OpenRepository,
  ending: string,
  { sha, path = "", include_lfs_blobs: hasObjects = true }: ArchiveRequest,
  isNamedBySha = true,
): Promise<RawReply> {
  const { repository, project, defaultBranch } = opened;
  const format = Object.hasOwn(FORMATS, ending) ? FORMATS[ending] : undefined;
  if (BZIP2.includes(ending)) throw badRequest("There are no bzip2 archives: use tar.gz or zip");
  if (!format) throw notAcceptable(ending);
  const number = await findCommit(opened, sha || "HEAD");
  if (number === undefined) throw notFound("File");
  const root = treeOf(repository, number);
  const parts = partsOf(path);
  const found = parts.length === 0 ? undefined : await entryAt(repository, root, path);
  if (parts.length > 0 && found?.mode !== FOLDER) throw notFound("File");
  const tree = found ? repository.findHex(found.oid) : root;
  await requireArchivable(opened, tree);
  const commit = commitId(repository, number);
  const name = [project.fullPath.split("/").at(-1), sha || defaultBranch];
  if (isNamedBySha) name.push(commit);
  name.push(...parts);
  const folder = name.join("-").replaceAll("/", "-");
  const type = format === "zip" ? "application/zip" : "application/octet-stream";
  const time = repository.graph.times[number] as number;
  const replacing = hasObjects ? await replacementsIn(opened) : undefined;
  const archived = {
    ...{ repository, commit, time, root, tree, path: parts.join("/"), folder },
    replacing,
  };
  return new RawReply(
    200,
    {
      "content-type": type,
      "content-disposition": dispositionOf("attachment", `${folder}.${ending}`),
    },
    cancellable((signal) => archive(archived, format, signal)),
  );
}
