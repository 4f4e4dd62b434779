import { withSources } from "../../core/access/source.ts";
import { logOf } from "../../git/log.ts";
import { Lru } from "../../git/lru.ts";
import { type PackReader, Packs } from "../../git/packs.ts";
import type { Repository } from "../../git/repository.ts";
import {
  arg,
  costing,
  type GraphContext,
  GraphError,
  loaded,
  property,
  required,
  valueType,
} from "../../graphql/declare.ts";
import { type LoadedList, loadedConnection } from "../../graphql/loaded-pages.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { mayReadMergeMessages } from "../issuables/abilities.ts";
import { latestOf, type VersionFacts } from "../merge-request-versions/versions.ts";
import { countEach, type FileCounts, sumOf } from "../repositories/diffs.ts";
import { commit, readCommits } from "../repositories/graphql-commits.ts";
import { openRecord } from "../repositories/open.ts";
import { gatherFacts, type MentionedCommits, mentionedCommits } from "./message-facts.ts";
import { gatheredFor, type MessageFacts, messageOf } from "./messages.ts";
import { type MergeFacts, mergeFactsOf } from "./queries.ts";
import { changesOf, logQueryOf } from "./versions.ts";

/** Commits of a merge request that are counted. */
const MOST_COMMITS = 10_000;
/** Merge requests of one list whose changes are compared, and messages written. */
const MOST_COMPARED = 20;

const diffStats = valueType("DiffStats", "How many lines a file was changed by.", {
  path: required(property("String")),
  additions: required(property("Int")),
  deletions: required(property("Int")),
});

const diffStatsSummary = valueType(
  "DiffStatsSummary",
  "How many lines all files were changed by.",
  {
    additions: required(property("Int")),
    deletions: required(property("Int")),
    changes: required(property("Int")),
    fileCount: required(property("Int")),
  },
);

/** A merge request with code, and the repository of its target project. */
interface Code {
  readonly version: VersionFacts;
  readonly repository: Repository;
  readonly project: { readonly id: number; readonly fullPath: string };
}

interface CodeRow {
  id: number;
  project_id: number;
  full_path: string;
  repository_id: number;
  version: number;
}

/** The code of merge requests, with two statements and each repository opened once. */
async function codeOf(
  ids: readonly Value[],
  { db, store }: GraphContext,
): Promise<Map<Value, Code>> {
  const versions = await latestOf(db, ids);
  const among = placeholders(ids);
  const rows = await db.all<CodeRow>(
    `select mr.id, mr.project_id, p.full_path, r.id as repository_id, r.version from merge_requests mr
     join projects p on p.id = mr.project_id
     join git_repositories r on r.project_id = mr.project_id and r.kind = 'code'
     where mr.id in (${among.sql})`,
    among.values,
  );
  const opened = new Map<number, Repository>();
  const code = new Map<Value, Code>();
  for (const { id, project_id, full_path, repository_id, version } of rows) {
    const latest = versions.find(({ merge_request_id }) => merge_request_id === id);
    if (!latest) continue;
    const row = { id: repository_id, version };
    const repository = opened.get(repository_id) ?? (await openRecord(store, row));
    opened.set(repository_id, repository);
    if (repository.findHex(latest.head_sha) < 0) continue;
    const project = { id: project_id, fullPath: full_path };
    code.set(id, { version: latest, repository, project });
  }
  return code;
}

/** The numbers of a merge request's commits, the newest first. */
function numbersOf({ repository, version }: Code): Promise<readonly number[]> {
  const log = logOf(repository, logQueryOf(repository, version));
  return log.first(repository, MOST_COMMITS);
}

/** The changed files of pairs of commits, which never change, by repositories' packs. */
const compared = new WeakMap<PackReader, Lru<string, readonly FileCounts[]>>();
const CACHE = 8 * 1024 * 1024;
/** What a file of an entry takes, about. */
const ENTRY = 200;

async function countsOf(
  { version, repository }: Code,
  { store, budget }: GraphContext,
): Promise<readonly FileCounts[]> {
  const packs = Packs.of(store);
  const cache = compared.get(packs) ?? new Lru<string, readonly FileCounts[]>(CACHE);
  compared.set(packs, cache);
  const key = `${version.base_sha} ${version.head_sha}`;
  const known = cache.get(key);
  if (known) return known;
  const changes = await changesOf(repository, version, budget);
  const { files, areAll } = await countEach(repository, changes, budget);
  if (areAll) cache.set(key, files, ENTRY * (1 + files.length));
  return files;
}

/** What merge requests change, if they are few: comparing takes long. */
async function countsOfAll(
  ids: readonly Value[],
  context: GraphContext,
): Promise<Map<Value, readonly FileCounts[]>> {
  if (ids.length > MOST_COMPARED) {
    throw new GraphError(`Changes of more than ${MOST_COMPARED} merge requests can't be counted`);
  }
  const counts = new Map<Value, readonly FileCounts[]>();
  for (const [id, code] of await codeOf(ids, context))
    counts.set(id, await countsOf(code, context));
  return counts;
}

/**
 * The message of the commit that merging makes, or squashing, unless whoever merges gives another one. Only developers
 * of the project see it: it may have addresses of people who do not show them.
 */
const defaultMessage = (kind: "merge" | "squash") =>
  costing(
    5,
    loaded("String", async (ids, context) => {
      if (ids.length > MOST_COMPARED) {
        throw new GraphError(`Messages of more than ${MOST_COMPARED} merge requests can't be made`);
      }
      const { db, viewer, view, caller } = context;
      if (!caller) return new Map();
      const found = await mergeFactsOf(db, ids, caller.id);
      const merges = (await withSources(db, found, viewer)).filter(({ source }) =>
        mayReadMergeMessages(source),
      );
      if (merges.length === 0) return new Map();
      const templateOf = (merge: MergeFacts) => merge[`${kind}_commit_template`];
      const needed = new Set(merges.flatMap((merge) => [...gatheredFor(kind, templateOf(merge))]));
      const commits = new Map<Value, MentionedCommits>();
      for (const [id, code] of needed.has("commits") ? await codeOf(ids, context) : []) {
        commits.set(id, await mentionedCommits(code.repository, await numbersOf(code)));
      }
      const facts = await gatherFacts({ db, viewer, base: view.base }, merges, needed, commits);
      return new Map(
        merges.map((merge) => [
          merge.id,
          messageOf(kind, templateOf(merge), facts.get(merge.id) as MessageFacts),
        ]),
      );
    }),
  );

const noCode = (): readonly FileCounts[] => [];

/** What merge requests say of their code. */
export const codeFields = {
  commitCount: costing(
    5,
    loaded("Int", async (ids, context) => {
      const counts = new Map<Value, unknown>();
      for (const [id, code] of await codeOf(ids, context)) {
        counts.set(id, (await numbersOf(code)).length);
      }
      return counts;
    }),
  ),
  commits: costing(
    5,
    loadedConnection(commit, async (ids, context) => {
      const lists = new Map<Value, LoadedList>();
      for (const [id, code] of await codeOf(ids, context)) {
        const numbers = await numbersOf(code);
        const read = (from: number, to: number) =>
          readCommits(context.db, code, numbers.slice(from, to));
        lists.set(id, { count: numbers.length, read });
      }
      return lists;
    }),
  ),
  diffStats: costing(
    5,
    loaded(
      "[DiffStats!]",
      async (ids, context, { path }) => {
        const shown = new Map<Value, unknown>();
        for (const [id, files] of await countsOfAll(ids, context)) {
          shown.set(id, path === undefined ? files : files.filter((file) => file.path === path));
        }
        return shown;
      },
      { args: { path: arg.about("Only this file.", arg.string) }, empty: noCode() },
    ),
  ),
  diffStatsSummary: costing(
    5,
    loaded(diffStatsSummary, async (ids, context) => {
      const shown = new Map<Value, unknown>();
      for (const [id, files] of await countsOfAll(ids, context)) {
        const { additions, deletions } = sumOf(files);
        const changes = additions + deletions;
        shown.set(id, { additions, deletions, changes, fileCount: files.length });
      }
      return shown;
    }),
  ),
  defaultMergeCommitMessage: defaultMessage("merge"),
  defaultSquashCommitMessage: defaultMessage("squash"),
};

/** Types that fields of merge requests give lists of. */
export const codeTypes = [diffStats];
