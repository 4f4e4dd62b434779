import { withSources } from "../../core/access/source.ts";
import { escaped } from "../../core/markup.ts";
import type { CheckedChange } from "../../git/push.ts";
import { BRANCHES } from "../../git/refs.ts";
import { placeholders } from "../../store/placeholders.ts";
import { change, happened, mergeColumns, stateColumns } from "../issuables/change.ts";
import { isDraft, MERGE_REQUEST } from "../issuables/merge-request.ts";
import { COLUMNS, type Issuable } from "../issuables/queries.ts";
import type { Writing } from "../issuables/type.ts";
import { LEFT_TRAIN } from "../train-state/cars.ts";
import { closeReferred } from "./references.ts";
import { openFrom, type PlannedVersion, planWithin, type Refresh } from "./refresh.ts";
import { renewVersion, type VersionOwner } from "./versions.ts";

/** An open merge request, and what changes it. */
interface Located {
  readonly writing: Writing;
  readonly request: Issuable &
    VersionOwner & {
      readonly sha: string | null;
      readonly auto_merge: number;
      readonly auto_merge_user_id: number | null;
      /** 1 for one in a merge train. */
      readonly in_train: number;
    };
}

/**
 * Does in a transaction what a change of a branch means for merge requests: those from it get a new version, or are
 * closed if it was deleted; those into it are merged if it has all of their commits now.
 *
 * @param writing of the project with the branch, by the user who has pushed
 * @param base the public address: texts may refer to pages below it
 */
export async function refresh(
  writing: Writing,
  { name, to }: CheckedChange,
  { versions, merged, stuck }: Refresh,
  base: string | undefined,
): Promise<void> {
  const { db, source } = writing;
  const branch = name.slice(BRANCHES.length);
  const from = await openFrom(db, source.id, branch);
  const into = [...versions.keys(), ...[...merged, ...stuck].map(({ id }) => id)];
  const known = await requestsOf({ ...writing, ...(base && { view: { base } }) }, [
    ...from.map(({ id }) => id),
    ...into,
  ]);
  for (const request of from) {
    const at = known.get(request.id);
    if (!at) continue;
    if (to === undefined) {
      const columns = stateColumns(at.writing, at.request, "close");
      await change(at.writing, MERGE_REQUEST, at.request, { columns });
    } else {
      const planned = versions.get(request.id) ?? (await planWithin(db, request, to, base));
      if (planned) await addPushed(at, planned);
    }
  }
  const own = new Set(from.map(({ id }) => id));
  for (const [id, { facts }] of versions) {
    const at = known.get(id);
    // One from the branch itself, or one that was changed meanwhile.
    if (own.has(id) || at?.request.sha !== facts.head_sha) continue;
    const version = await renewVersion(writing, at.request, facts);
    await happened(at.writing, MERGE_REQUEST, at.request, { version });
  }
  for (const { id, sha, mergeCommit } of merged) {
    const at = known.get(id);
    if (at?.request.sha !== sha) continue;
    const columns = { ...mergeColumns(writing), merge_commit_sha: mergeCommit };
    await change(at.writing, MERGE_REQUEST, at.request, { columns });
    await closeReferred(at.writing, id);
  }
  for (const { id, sha } of stuck) {
    const at = known.get(id);
    if (at?.request.sha !== sha) continue;
    await happened(at.writing, MERGE_REQUEST, at.request, { stuck: concerned(at.request) });
  }
}

/** The author of a merge request, and whoever waits for it to be merged. */
function concerned({ author_id, auto_merge, auto_merge_user_id }: Located["request"]): number[] {
  const waiting = auto_merge === 1 ? [auto_merge_user_id] : [];
  return [...new Set([author_id, ...waiting])].filter((userId) => userId !== null);
}

/** The open ones among some merge requests, by their ids. */
async function requestsOf(writing: Writing, ids: readonly number[]): Promise<Map<number, Located>> {
  if (ids.length === 0) return new Map();
  const { db, viewer } = writing;
  const among = placeholders(ids);
  const found = await db.all<Located["request"]>(
    `select ${COLUMNS.merge_request}, 1 as visible, 0 as assigned, mr.source_project_id, mr.sha,
       mr.auto_merge, mr.auto_merge_user_id,
       case when exists (select 1 from merge_train_cars mt where mt.merge_request_id = mr.id) then 1 else 0 end as in_train
     from merge_requests mr where mr.id in (${among.sql}) and mr.state = 'opened'`,
    among.values,
  );
  const rows = await withSources(db, found, viewer);
  return new Map(
    rows.map(({ source, ...request }) => [
      request.id,
      { request, writing: { ...writing, source } },
    ]),
  );
}

/** Adds the version that a push makes, and notes it. */
async function addPushed(
  { writing, request }: Located,
  { facts, added: { count, listed } }: PlannedVersion,
): Promise<void> {
  const { source } = writing;
  const version = await renewVersion(writing, request, facts);
  if (version === undefined) return;
  if (request.auto_merge === 1) {
    const what = request.in_train === 1 ? LEFT_TRAIN : "aborted the automatic merge";
    const note = `${what} because the source branch was updated`;
    await happened(writing, MERGE_REQUEST, request, { note, aborted: concerned(request) });
  }
  const items = listed.map(({ id, title }) => `<li>${id.slice(0, 8)} - ${escaped(title)}</li>`);
  const query = `diff_id=${version}${request.sha === null ? "" : `&start_sha=${request.sha}`}`;
  const link = `/${source.fullPath}/-/merge_requests/${request.iid}/diffs?${query}`;
  const heading = `added ${count} ${count === 1 ? "commit" : "commits"}`;
  await happened(writing, MERGE_REQUEST, request, {
    oldrev: request.sha,
    version,
    ...(count > 0 && {
      note: `${heading}\n\n<ul>${items.join("")}</ul>\n\n[Compare with previous version](${link})`,
    }),
  });
  const draft = listed.find((commit) => UNFINISHED.test(commit.title));
  if (!draft || isDraft(request.title)) return;
  const title = [...`Draft: ${request.title}`].slice(0, TITLE).join("");
  const note = `marked this merge request as **draft** from ${draft.id.slice(0, 8)}`;
  await change(writing, MERGE_REQUEST, request, { columns: { title } }, { note });
}

/** Titles of commits that are to be changed before they are merged. */
const UNFINISHED = /^(fixup|squash|amend)! /;
/** Characters of a title. */
const TITLE = 255;
