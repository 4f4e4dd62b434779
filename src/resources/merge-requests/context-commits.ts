import { ApiError, forbidden } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { pageOf } from "../../core/pagination.ts";
import { type Context, Json, type Route, routes } from "../../core/resource.ts";
import { commitId } from "../../git/commits.ts";
import { findCommit } from "../../git/revisions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader } from "../../store/port.ts";
import { mayUpdate } from "../issuables/abilities.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { findIssuable } from "../issuables/rules.ts";
import { commit } from "../repositories/json.ts";
import { commitRows } from "../repositories/log.ts";
import { type OpenRepository, openRepository } from "../repositories/open.ts";
import { openCode } from "./code.ts";

/** Context commits of a merge request, at most. */
const MOST = 100;

const EXAMPLE = {
  id: "6104942438c14ec7bd21c6cd5bd995272b3faff6",
  short_id: "61049424",
  created_at: "2026-01-02T03:04:05.000Z",
  parent_ids: ["7981d8b1e5d1a7a9a8d0c6d1b0a5c6f5f0f2e4d3"],
  title: "Add a file",
  message: "Add a file\n",
  author_name: "Ada",
  author_email: "ada@example.com",
  authored_date: "2026-01-02T03:04:05.000Z",
  committer_name: "Ada",
  committer_email: "ada@example.com",
  committed_date: "2026-01-02T03:04:05.000Z",
  trailers: {},
  extended_trailers: {},
  web_url: "http://127.0.0.1:3000/acme/site/-/commit/6104942438c14ec7bd21c6cd5bd995272b3faff6",
};

const number = { merge_request_iid: param.recordId() };
const named = {
  ...number,
  commits: param.noted(param.arrayOf(param.anyText({ max: 64 }), { max: MOST }), { minItems: 1 }),
};

const invalid = () =>
  new ApiError(400, { message: "One or more context commits' sha is not valid." });

/** The names of the context commits of a merge request. */
async function namesOf(db: Reader, requestId: number): Promise<string[]> {
  const sql =
    "select sha from merge_request_context_commits where merge_request_id = ? order by sha";
  return (await db.rows(sql, [requestId])).map(([sha]) => String(sha));
}

/** The commits with some names, the newest first; those that no branch reaches any more are left out. */
async function commitsNamed(opened: OpenRepository, names: readonly string[]): Promise<number[]> {
  const found: number[] = [];
  for (const name of names) {
    const number = await findCommit(opened, name);
    if (number !== undefined && !found.includes(number)) found.push(number);
  }
  const { times } = opened.repository.graph;
  return found.sort((a, b) => Number(times[b]) - Number(times[a]) || b - a);
}

/** The merge request of a route, which the caller may change. @throws ApiError 404, 403 */
async function requireChangeable(context: Context & { input: param.Input<typeof number> }) {
  const found = await findIssuable(context, MERGE_REQUEST, context.input.merge_request_iid);
  if (!mayUpdate(MERGE_REQUEST)(found, context)) throw forbidden();
  return found;
}

const { del, list, post } = routes({
  source: "project",
  path: "/merge_requests/:merge_request_iid/context_commits",
  features: ["merge_requests"],
});

/** Commits that reviewers of a merge request should know, beside its own. */
export const contextCommitRoutes: readonly Route[] = [
  list("", {
    summary: "List the context commits of a merge request, the newest first",
    access: "anyone",
    input: number,
    presenter: commit,
    prepare: async ({ merge_request_iid }, preparing) => {
      const { request } = await openCode(preparing, merge_request_iid);
      const names = await namesOf(preparing.db, request.id);
      const opened = await openRepository(preparing, names);
      return { opened, commits: await commitsNamed(opened, names) };
    },
    handle: ({ page, prepared: { opened, commits } }) =>
      pageOf(page, commits.length, (from, to) => commitRows(opened, commits.slice(from, to))),
  }),
  post("", {
    summary: "Add context commits to a merge request",
    input: named,
    examples: [[EXAMPLE]],
    prepare: async ({ merge_request_iid, commits }, preparing) => {
      // Callers who may not see the merge request learn nothing of commits.
      await openCode(preparing, merge_request_iid);
      const opened = await openRepository(preparing, commits);
      const numbers = await commitsNamed(opened, commits);
      const isKnown = numbers.length > 0 && numbers.length === new Set(commits).size;
      if (!isKnown) throw invalid();
      const rows = await commitRows(opened, numbers);
      const names = numbers.map((at) => commitId(opened.repository, at));
      return { names, shown: rows.map((row) => JSON.parse(commit.write(row, preparing.view))) };
    },
    handle: async (context) => {
      const { db, prepared } = context;
      const { id } = await requireChangeable(context);
      const known = await namesOf(db, id);
      const again = prepared.names.filter((name) => known.includes(name));
      if (again.length > 0) {
        throw new ApiError(400, { message: `Context commits: ${again} are already created` });
      }
      if (known.length + prepared.names.length > MOST) {
        throw new ApiError(400, { message: `There are at most ${MOST} context commits` });
      }
      for (const name of prepared.names) {
        await db.run(
          "insert into merge_request_context_commits (merge_request_id, sha) values (?, ?)",
          [id, name],
        );
      }
      return new Json(prepared.shown);
    },
  }),
  del("", {
    summary: "Remove context commits from a merge request",
    input: named,
    handle: async (context) => {
      const { db, input } = context;
      const { id } = await requireChangeable(context);
      const known = await namesOf(db, id);
      const names = [...new Set(input.commits)];
      const isKnown = names.length > 0 && names.every((name) => known.includes(name));
      if (!isKnown) throw invalid();
      const among = placeholders(names);
      await db.run(
        `delete from merge_request_context_commits where merge_request_id = ? and sha in (${among.sql})`,
        [id, ...among.values],
      );
      return undefined;
    },
  }),
];
