import { notFound } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import * as field from "../../core/field.ts";
import { cancellable } from "../../core/http/streamed.ts";
import * as param from "../../core/input.ts";
import { pageOf, paginate } from "../../core/pagination.ts";
import { type Presenter, presenter } from "../../core/presenter.ts";
import { RawReply, type Route, routes } from "../../core/resource.ts";
import type { FileChange } from "../../git/changes.ts";
import { commitNumber } from "../../git/commits.ts";
import { changesBetween } from "../../git/compared.ts";
import { type LogQuery, logOf } from "../../git/log.ts";
import { Lru } from "../../git/lru.ts";
import { type PackReader, Packs } from "../../git/packs.ts";
import { rawDiff } from "../../git/raw-diff.ts";
import type { Repository } from "../../git/repository.ts";
import type { Value } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { rowOf } from "../issuables/embed.ts";
import { MERGE_REQUEST, MOST_FILES } from "../issuables/merge-request.ts";
import { latest, type Version, type VersionFacts } from "../merge-request-versions/versions.ts";
import { diff, readAllDiffs, readDiffs } from "../repositories/diffs.ts";
import { commit } from "../repositories/json.ts";
import { commitRows, pageOfLog } from "../repositories/log.ts";
import { type OpenRepository, openRepository, withRefs } from "../repositories/open.ts";
import { checkCode, openCode, type RequestCode } from "./code.ts";

/** Commits of a version that are shown with it at most. */
const MOST_COMMITS = 1000;

const versionFields = {
  id: field.integer("v.id"),
  head_commit_sha: field.text("v.head_sha"),
  base_commit_sha: field.text("v.base_sha"),
  start_commit_sha: field.text("v.start_sha"),
  created_at: field.instant("v.created_at"),
  merge_request_id: field.integer("v.merge_request_id"),
  state: {
    ...field.derived(["v.changed_files"], "string", ([files]) => stateOf(Number(files))),
    type: "collected, empty, overflow",
  },
  // No patch is told from another by an id.
  patch_id_sha: field.constant(null),
  real_size: field.derived(["v.changed_files"], "string", ([files]) => sizeOf(Number(files))),
};

const stateOf = (files: number) =>
  files === 0 ? "empty" : files > MOST_FILES ? "overflow" : "collected";
const sizeOf = (files: number) => (files > MOST_FILES ? `${MOST_FILES}+` : String(files));

const listed = presenter(versionFields);
const detail = presenter({
  ...versionFields,
  commits: field.embedded("commits", "array of Commit", "[]", { items: commit.fields }),
  diffs: field.embedded("diffs", "array of Diff", "[]", { items: diff.fields }),
});

const withChanges = presenter({
  ...MERGE_REQUEST.single.fields,
  changes: field.embedded("changes", "array of Diff", "[]", { items: diff.fields }),
  overflow: field.embedded("overflow", "boolean", "null"),
});

/** The commits of a version: those that the source branch had and the target branch had not. */
export function logQueryOf(repository: Repository, version: VersionFacts): LogQuery {
  const [head, start, base] = [version.head_sha, version.start_sha, version.base_sha].map((oid) =>
    oid === null ? undefined : commitNumber(repository, oid),
  );
  // The target may have lost the commit that it was at.
  const not = start ?? base;
  return {
    from: head === undefined ? [] : [head],
    not: not === undefined ? [] : [not],
    order: "date",
  };
}

/** The files that a version changes. */
export async function changesOf(
  repository: Repository,
  { head_sha, base_sha }: VersionFacts,
  budget: Budget,
): Promise<readonly FileChange[]> {
  const [head, base] = [head_sha, base_sha].map((oid) =>
    oid === null ? undefined : commitNumber(repository, oid),
  );
  if (head === undefined || base === undefined) return [];
  return changesBetween(repository, base, head, budget);
}

/** The changes of a version as rows, and whether some are left out. */
async function diffsOf(
  opened: OpenRepository,
  version: VersionFacts,
  unidiff: boolean | undefined,
): Promise<{ rows: Value[][]; isCut: boolean }> {
  const changes = await changesOf(opened.repository, version, opened.budget);
  const shown = changes.slice(0, MOST_FILES);
  const rows = await readAllDiffs(opened.repository, shown, unidiff, opened.budget);
  const isCut = changes.length > MOST_FILES || rows.some((row) => row[diff.at("collapsed")] === 1);
  return { rows, isCut };
}

/** The changes of a version as JSON, and whether some are left out. */
interface ShownDiffs {
  readonly json: string;
  readonly isCut: boolean;
}

const NONE: ShownDiffs = { json: "[]", isCut: false };

/** What is between pairs of commits, which never changes, by repositories' packs. */
const shown = new WeakMap<PackReader, Lru<string, ShownDiffs>>();
const CACHE = 16 * 1024 * 1024;
/** What an entry of the cache takes besides its text, whose characters take up to two bytes. */
const ENTRY = 300;

/** The changes of a version, as they were shown before or from the repository. */
async function shownDiffs(
  preparing: Parameters<typeof openCode>[0] & { readonly view: View },
  version: VersionFacts,
  unidiff: boolean | undefined,
): Promise<ShownDiffs> {
  const packs = Packs.of(preparing.store);
  const cache = shown.get(packs) ?? new Lru<string, ShownDiffs>(CACHE);
  shown.set(packs, cache);
  const { head_sha, base_sha } = version;
  const key = `${base_sha} ${head_sha} ${unidiff === true}`;
  const known = cache.get(key);
  if (known) return known;
  const head = { name: head_sha, oid: head_sha, peeled: null };
  const opened = await withRefs(await openRepository(preparing), [head]);
  const { rows, isCut } = await diffsOf(opened, version, unidiff);
  const found = { json: arrayOf(diff, rows, preparing.view), isCut };
  cache.set(key, found, ENTRY + 2 * found.json.length);
  return found;
}

/** Rows as a JSON array. */
const arrayOf = ({ write }: Presenter, rows: readonly Value[][], view: View) =>
  `[${rows.map((row) => write(row, view)).join(",")}]`;

const number = { merge_request_iid: param.recordId() };
const unidiff = param.optional(param.boolean());

const prepare = (
  { merge_request_iid }: { merge_request_iid: number },
  preparing: Parameters<typeof openCode>[0],
): Promise<RequestCode> => openCode(preparing, merge_request_iid);

/** Browsers show it as text, whatever it is. */
const TEXT = {
  "content-type": "text/plain",
  "content-disposition": "inline",
  "content-security-policy": "sandbox",
};

const { get, list } = routes({
  source: "project",
  path: "/merge_requests/:merge_request_iid",
  features: ["merge_requests"],
});

/** What a merge request changes, now and before. */
export const versionRoutes: readonly Route[] = [
  list("/commits", {
    summary: "List the commits of a merge request, the newest first",
    access: "anyone",
    input: number,
    presenter: commit,
    prepare,
    handle: async ({ page, prepared: { opened, version } }) =>
      version
        ? pageOfLog(opened, page, logQueryOf(opened.repository, version))
        : pageOf(page, 0, async () => []),
  }),
  get("/changes", {
    summary: "Get a merge request with the files that it changes",
    access: "anyone",
    input: { ...number, unidiff, access_raw_diffs: param.optional(param.boolean()) },
    presenter: withChanges,
    prepare: async (input, preparing) => {
      const { id } = await checkCode(preparing, input.merge_request_iid);
      const version = await latest(preparing.db, id);
      return { id, shown: version ? await shownDiffs(preparing, version, input.unidiff) : NONE };
    },
    handle: async (context) => {
      const { id, shown } = context.prepared;
      const row = await rowOf(context, MERGE_REQUEST, id);
      row[withChanges.at("changes")] = shown.json;
      row[withChanges.at("overflow")] = String(shown.isCut);
      return row;
    },
  }),
  list("/diffs", {
    summary: "List the files that a merge request changes, with how",
    access: "anyone",
    input: { ...number, unidiff },
    presenter: diff,
    prepare,
    handle: async ({ page, input, budget, prepared: { opened, version } }) => {
      const changes = version ? await changesOf(opened.repository, version, budget) : [];
      return pageOf(page, changes.length, (from, to) =>
        readDiffs(opened.repository, changes.slice(from, to), input.unidiff, budget),
      );
    },
  }),
  get("/raw_diffs", {
    answersWith: "text/plain",
    summary: "Get what a merge request changes as text, as `git diff` writes it",
    access: "anyone",
    input: number,
    prepare,
    handle: async ({ budget, prepared: { opened, version } }) => {
      const changes = version ? await changesOf(opened.repository, version, budget) : [];
      return new RawReply(
        200,
        TEXT,
        cancellable((signal) => rawDiff(opened.repository, changes, signal)),
      );
    },
  }),
  list("/versions", {
    summary: "List the versions of a merge request, the newest first: each push made one",
    isShownToVisitors: true,
    input: number,
    presenter: listed,
    prepare,
    handle: ({ db, page, prepared: { request } }) =>
      paginate(db, listed, page, {
        from: "merge_request_versions v where v.merge_request_id = ?",
        values: [request.id],
        order: "v.id desc",
      }),
  }),
  get("/versions/:version_id", {
    summary: "Get a version of a merge request, with its commits and the files that it changes",
    isShownToVisitors: true,
    input: { ...number, version_id: param.recordId(), unidiff },
    presenter: detail,
    prepare,
    handle: async ({ db, input, view, prepared: { request, opened } }) => {
      const values = [input.version_id, request.id];
      const from = "from merge_request_versions v where v.id = ? and v.merge_request_id = ?";
      const version = await db.one<Version>(
        `select v.head_sha, v.base_sha, v.start_sha ${from}`,
        values,
      );
      const [row] = await db.rows(`select ${detail.columns} ${from}`, values);
      if (!version || !row) throw notFound();
      const log = logOf(opened.repository, logQueryOf(opened.repository, version));
      const numbers = await log.first(opened.repository, MOST_COMMITS, opened.budget);
      const commits = await commitRows(opened, numbers.slice(0, MOST_COMMITS));
      const { rows } = await diffsOf(opened, version, input.unidiff);
      row[detail.at("commits")] = arrayOf(commit, commits, view);
      row[detail.at("diffs")] = arrayOf(diff, rows, view);
      return row;
    },
  }),
];
