import type { Commit, Elsewhere } from "../../ci/index.ts";
import { findMoved, findVisible, mayReadCode } from "../../core/access/source.ts";
import type { Viewer } from "../../core/access/visibility.ts";
import { commitId } from "../../git/commits.ts";
import { TAGS } from "../../git/refs.ts";
import { findCommit } from "../../git/revisions.ts";
import type { IncludeSources } from "../../outgoing/includes.ts";
import type { Reader, Store } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { artifactText } from "../ci/artifacts.ts";
import { openRepository } from "../repositories/open.ts";
import { fileOf, MOST_BYTES, pathsOf } from "./files.ts";

/** Who reads a configuration, and where. */
export interface Reading {
  readonly store: Store;
  readonly db: Reader;
  /** Whose pipeline it is: only what they may read is included. */
  readonly viewer: Viewer;
  readonly includes: IncludeSources;
  readonly budget: Budget;
}

/** What all files of other servers may take of one reading, in milliseconds. */
const MOST_REMOTE = 30_000;

/**
 * What configurations include that is not in their commit.
 *
 * @param parent the id of the pipeline that starts this one, if one does
 */
export function elsewhereOf(reading: Reading, parent?: number): Elsewhere {
  const { store, db, viewer, includes } = reading;
  const commits = new Map<string, ReturnType<typeof commitOf>>();
  const commitAt = (path: string, name: string, isPublic: boolean) => {
    const key = JSON.stringify([path.toLowerCase(), name, isPublic]);
    const known = commits.get(key);
    if (known) return known;
    const reader = isPublic ? { ...viewer, caller: undefined } : viewer;
    const commit = commitOf({ ...reading, viewer: reader }, path, name);
    commits.set(key, commit);
    return commit;
  };
  let left = MOST_REMOTE;
  return {
    project: (path, ref, isPublic) => commitAt(path, ref ?? "HEAD", isPublic),
    component: async (path, wanted, isPublic) => {
      const version = await versionOf(db, path, wanted);
      if (version === undefined) {
        // Callers who may not see the project are not told what it has.
        return (await commitAt(path, "HEAD", isPublic)) === "project" ? "project" : "latest";
      }
      const commit = await commitAt(path, version.name, isPublic);
      if (commit === "reference") return "version";
      return typeof commit === "string" ? commit : { ...commit, version: version.shown };
    },
    remote: async (url, seconds) => {
      if (left <= 0) return "resolving the configuration took longer than expected";
      const before = performance.now();
      const answer = await includes.remote(url, seconds);
      left -= performance.now() - before;
      return answer;
    },
    template: (name) => includes.template(name),
    artifact:
      parent === undefined ? undefined : (job, path) => artifactOf(store, db, parent, job, path),
  };
}

/** Finds a commit of a project, if it may be read. */
async function commitOf(
  { store, db, viewer, budget }: Omit<Reading, "includes">,
  path: string,
  name: string,
): Promise<Commit | "project" | "reference"> {
  // A number would be a project's id.
  const found = path.includes("/")
    ? ((await findVisible(db, "project", path, viewer)) ?? (await findMoved(db, path, viewer)))
    : undefined;
  if (!found || !mayReadCode(found)) return "project";
  const opened = await openRepository({ db, store, source: found, budget }, [name]);
  const commit = await findCommit(opened, name);
  if (commit === undefined) return "reference";
  const { repository } = opened;
  return {
    project: found.fullPath,
    sha: commitId(repository, commit),
    file: (file) => fileOf(repository, commit, file),
    paths: () => pathsOf(repository, commit),
  };
}

/** A version of components: what names its commit, and what it is called. */
interface Version {
  readonly name: string;
  readonly shown: string;
}

/** Releases that are looked through for the newest version. */
const MOST_RELEASES = 1000;
const SEMANTIC = /^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/;

/**
 * What a version of a component stands for: the newest release (`~latest`), the newest one whose version begins with it (`1`,
 * `1.2`), or the tag, branch or commit of that name.
 *
 * @returns `undefined` for `~latest` if no release has a semantic version
 */
async function versionOf(db: Reader, path: string, wanted: string): Promise<Version | undefined> {
  const isLatest = wanted === "~latest";
  if (!isLatest && !/^\d{1,9}(\.\d{1,9})?$/.test(wanted)) return { name: wanted, shown: wanted };
  const rows = await db.rows(
    `select r.tag from projects p join releases r on r.project_id = p.id
     where lower(p.full_path) = lower(?) order by r.released_at desc, r.id desc limit ${MOST_RELEASES}`,
    [path],
  );
  const [newest] = rows
    .flatMap(([tag]) => {
      const [, ...numbers] = SEMANTIC.exec(String(tag)) ?? [];
      const fits = isLatest || `${numbers.join(".")}.`.startsWith(`${wanted}.`);
      return numbers.length > 0 && fits ? [{ tag: String(tag), numbers: numbers.map(Number) }] : [];
    })
    .sort((a, b) => compare(b.numbers, a.numbers));
  if (newest) return { name: TAGS + newest.tag, shown: newest.tag };
  return isLatest ? undefined : { name: wanted, shown: wanted };
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((number, index) => number !== other[index]);
  return at < 0 ? 0 : (one[at] as number) - (other[at] as number);
}

/** A file in the artifacts of the newest run of a job that has succeeded. */
async function artifactOf(
  store: Store,
  db: Reader,
  pipelineId: number,
  job: string,
  path: string,
): Promise<{ text: string } | "job" | "file"> {
  const [row] = await db.rows(
    `select cj.id from ci_jobs cj join job_artifacts a on a.job_id = cj.id and a.file_type = 'archive'
     where cj.pipeline_id = ? and cj.name = ? and cj.status = 'success' order by cj.id desc limit 1`,
    [pipelineId, job],
  );
  if (!row) return "job";
  const text = await artifactText(store, db, Number(row[0]), path, MOST_BYTES);
  return text === undefined ? "file" : { text };
}
