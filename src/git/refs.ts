import { placeholders } from "../store/placeholders.ts";
import type { Reader } from "../store/port.ts";
import { LIMITS } from "./limits.ts";

/** The beginning of branches' full names. */
export const BRANCHES = "refs/heads/";
/** The beginning of tags' full names. */
export const TAGS = "refs/tags/";

/** A reference of a repository. */
export interface Ref {
  /** In full, such as `refs/heads/main`. */
  readonly name: string;
  readonly oid: string;
  /** What an annotated tag stands for in the end; `null` for other references. */
  readonly peeled: string | null;
}

/** What a repository shows to clients. */
export interface Refs {
  /** The full name of the default branch, which may not exist. */
  readonly head: string;
  /** By name. */
  readonly list: readonly Ref[];
}

/** All references of a repository, by name. */
export async function listRefs(db: Reader, repositoryId: number): Promise<Ref[]> {
  return db.all<Ref>(
    "select name, oid, peeled from git_refs where repository_id = ? order by name",
    [repositoryId],
  );
}

/** The references below a folder that ends with a slash, such as `refs/heads/`, by name. */
export async function listRefsBelow(
  db: Reader,
  repositoryId: number,
  folder: string,
): Promise<Ref[]> {
  return db.all<Ref>(
    "select name, oid, peeled from git_refs where repository_id = ? and name > ? and name < ? order by name",
    [repositoryId, ...bounds(folder)],
  );
}

/** Names below a folder come after the first of these, and before the second: `0` follows `/`. */
export const bounds = (folder: string): [string, string] => [folder, `${folder.slice(0, -1)}0`];

/** Those of some references that exist, by their full names. */
export async function findRefs(
  db: Reader,
  repositoryId: number,
  names: readonly string[],
): Promise<Ref[]> {
  if (names.length <= FEW) return findFew(db, repositoryId, names);
  const marks = names.map(() => "?").join(", ");
  return db.all<Ref>(
    `select name, oid, peeled from git_refs where repository_id = ? and name in (${marks})`,
    [repositoryId, ...names],
  );
}

/** References that are looked up as one row: the store caches single rows (decision 3). */
const FEW = 4;
/** The statements that look up so many. */
const FIND_FEW = Array.from({ length: FEW + 1 }, (_, count) => {
  const found = Array.from(
    { length: count },
    (_, at) =>
      `(select oid || coalesce(' ' || peeled, '') from git_refs where repository_id = ? and name = ?) as "${at}"`,
  );
  return `select ${found.join(", ")}`;
});

async function findFew(db: Reader, repositoryId: number, names: readonly string[]): Promise<Ref[]> {
  const found = await db.one<Readonly<Record<string, string | null>>>(
    FIND_FEW[names.length] as string,
    names.flatMap((name) => [repositoryId, name]),
  );
  return names.flatMap((name, at): Ref[] => {
    const [oid, peeled = null] = found?.[at]?.split(" ") ?? [];
    return oid === undefined ? [] : [{ name, oid, peeled }];
  });
}

/** A reference by its full name; `undefined` if there is none. */
export async function findRef(
  db: Reader,
  repositoryId: number,
  name: string,
): Promise<Ref | undefined> {
  return db.one<Ref>(
    "select name, oid, peeled from git_refs where repository_id = ? and name = ?",
    [repositoryId, name],
  );
}

/** Whether a reference of a repository is for an object, itself: a branch's newest commit, or a version of a merge request. */
export async function hasTip(db: Reader, repositoryId: number, oid: string): Promise<boolean> {
  const found = await db.one<{ found: number }>(
    "select 1 as found from git_refs where repository_id = ? and oid = ? limit 1",
    [repositoryId, oid],
  );
  return found !== undefined;
}

/** Names of objects that one statement looks up. */
const TOGETHER = 500;

/** Those of some objects, in hex, that references of a repository are for, themselves. */
export async function tipsAmong(
  db: Reader,
  repositoryId: number,
  oids: readonly string[],
): Promise<Set<string>> {
  const found = new Set<string>();
  for (let start = 0; start < oids.length; start += TOGETHER) {
    const among = placeholders(oids.slice(start, start + TOGETHER));
    const rows = await db.rows(
      `select distinct oid from git_refs where repository_id = ? and oid in (${among.sql})`,
      [repositoryId, ...among.values],
    );
    for (const [oid] of rows) found.add(oid as string);
  }
  return found;
}

/** What the names of references of merge requests begin with. */
export const MERGE_REQUESTS = "refs/merge-requests/";
/** The names of those that are for the code of one. */
export const headOfRequest = /^refs\/merge-requests\/[1-9]\d{0,9}\/head$/;
/**
 * The beginnings of references that only the server creates: what merge requests have, what they had before, and what
 * pipelines run on.
 */
const KEPT = "refs/keep-around/";
const PIPELINES = "refs/pipelines/";
const RESERVED = [MERGE_REQUESTS, KEPT, PIPELINES];

/** The reference that is for the code of a merge request, by its number. */
export const headNameOf = (iid: number) => `${MERGE_REQUESTS}${iid}/head`;

/** The reference that is for the result of merging a merge request, by its number. */
export const mergeNameOf = (iid: number) => `${MERGE_REQUESTS}${iid}/merge`;

/** The reference that keeps the commit of a pipeline, by its id; without one, what all such begin with. */
export const pipelineNameOf = (id: number | "") => `${PIPELINES}${id}`;

/** Whether a reference keeps the commit of a pipeline. */
export const isOfPipeline = (name: string) => name.startsWith(PIPELINES);

/** The reference that keeps a commit. */
export const keptName = (oid: string) => KEPT + oid;

/** Whether clients may not change a reference. */
export function isReserved(name: string): boolean {
  return RESERVED.some((beginning) => name.startsWith(beginning));
}

/** Whether clients that fetch are not told about a reference: there are many of these. */
export function isHidden(name: string): boolean {
  return name.startsWith(KEPT) || name.startsWith(PIPELINES);
}

/** What no part of a reference's name may contain, or end with. */
const FORBIDDEN = ["..", "@{", "~", "^", ":", "?", "*", "[", "\\", "\x7f"];

/** Whether a reference may have this full name (git-check-ref-format(1)): clients would refuse any other. */
export function isRefName(name: string): boolean {
  const parts = name.split("/");
  return (
    Buffer.byteLength(name) <= LIMITS.refName &&
    name.isWellFormed() &&
    parts.length >= 3 &&
    parts.length <= LIMITS.refDepth &&
    parts[0] === "refs" &&
    !name.endsWith(".") &&
    !FORBIDDEN.some((text) => name.includes(text)) &&
    ![...name].some((character) => character <= " ") &&
    parts.every((part) => part !== "" && !part.startsWith(".") && !part.endsWith(".lock"))
  );
}

/** What no name of a branch or tag begins with: clients would take them for options or full names. */
const MISLEADING = /^(-|refs\/(heads|tags|remotes)\/)/;

/** Whether a branch or tag may have a name. */
export function isShortName(name: string): boolean {
  return name !== "HEAD" && !MISLEADING.test(name) && isRefName(BRANCHES + name);
}
