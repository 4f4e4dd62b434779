import { ApiError, badRequest, notFound } from "../../core/errors.ts";
import { commitId, commitNumber } from "../../git/commits.ts";
import { BRANCHES, TAGS } from "../../git/refs.ts";
import { fileOf } from "../pipelines/files.ts";
import type { OpenRepository } from "../repositories/open.ts";
import { isName, versionOfBranch, versionOfTag } from "./names.ts";

/** Characters of a composer.json, and how deep it may be. */
const MOST_LENGTH = 64 * 1024;
const DEEPEST = 32;

/** What names a version: a tag or a branch. */
export interface Named {
  readonly tag?: string | undefined;
  readonly branch?: string | undefined;
}

/** The full name of the reference that a version is of. @throws ApiError 400 unless exactly one is named */
export function refOf({ tag, branch }: Named): string {
  if (tag !== undefined && branch !== undefined) {
    throw new ApiError(400, { error: "tag, branch are mutually exclusive" });
  }
  if (tag !== undefined) return TAGS + tag;
  if (branch !== undefined) return BRANCHES + branch;
  throw new ApiError(400, {
    error: "tag, branch are missing, exactly one parameter must be provided",
  });
}

/** A version of a package, as a commit has it. */
export interface Published {
  readonly name: string;
  readonly version: string;
  /** The commit, in hex. */
  readonly sha: string;
  /** What its composer.json says. */
  readonly composer: object;
}

/**
 * Reads what the commit of a tag or branch says of its package.
 *
 * @param opened with {@link refOf} it
 * @throws ApiError 404 if there is no such reference, 422 without a composer.json, 400 if its name or version can't be
 */
export async function readPublished(opened: OpenRepository, named: Named): Promise<Published> {
  const { repository, refs } = opened;
  const ref = refs.get(refOf(named));
  const commit = ref && commitNumber(repository, ref.peeled ?? ref.oid);
  if (commit === undefined) throw notFound(named.tag === undefined ? "Branch" : "Tag");
  const text = await fileOf(repository, commit, "composer.json");
  if (text === undefined) throw unusable("The file composer.json was not found.");
  if (text.length > MOST_LENGTH) throw unusable("composer.json is too large.");
  const composer = objectIn(text);
  const name = String((composer as { name?: unknown }).name ?? "").toLowerCase();
  if (!isName(name)) throw badRequest("Validation failed: Name is invalid");
  const version =
    named.tag === undefined ? versionOfBranch(named.branch ?? "") : versionOfTag(named.tag);
  if (version === undefined) throw badRequest("Validation failed: Version is invalid");
  return { name, version, sha: commitId(repository, commit), composer };
}

const unusable = (why: string) =>
  new ApiError(422, { message: `422 Unprocessable Entity - ${why}` });

/** @throws ApiError 422 for what is no JSON, no object, or too deep to be written again */
function objectIn(text: string): object {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    throw unusable("Could not parse composer.json file. Invalid JSON.");
  }
  if (
    typeof read !== "object" ||
    read === null ||
    Array.isArray(read) ||
    !isShallow(read, DEEPEST)
  ) {
    throw unusable("Could not parse composer.json file. Invalid JSON.");
  }
  return read;
}

const isShallow = (value: unknown, left: number): boolean =>
  typeof value !== "object" ||
  value === null ||
  (left > 0 && Object.values(value).every((one) => isShallow(one, left - 1)));
