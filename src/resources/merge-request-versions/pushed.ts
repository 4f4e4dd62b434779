import { withSources } from "../../core/access/source.ts";
import { escaped } from "../../core/markup.ts";
import type { CheckedChange } from "../../git/push.ts";
import { BRANCHES } from "../../git/refs.ts";
import { queueNotice } from "../../jobs/notices.ts";
import { placeholders } from "../../store/placeholders.ts";
import { updateRow } from "../../store/update.ts";
import * as lifecycle from "../issuables/lifecycle.ts";
import { isDraft, MERGE_REQUEST } from "../issuables/merge-request.ts";
import { type Issuable, readers } from "../issuables/queries.ts";
import * as todos from "../issuables/todos.ts";
import type { Writing } from "../issuables/type.ts";
import * as notes from "../notes/queries.ts";
import { closeReferred, storeReferences } from "./references.ts";
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
  const known = await requestsOf(writing, [...from.map(({ id }) => id), ...into]);
  for (const request of from) {
    const at = known.get(request.id);
    if (!at) continue;
    if (to === undefined) await lifecycle.setState(at.writing, MERGE_REQUEST, at.request, "close");
    else {
      const planned = versions.get(request.id) ?? (await planWithin(db, request, to, base));
      if (!planned) continue;
      await addPushed(at, planned, base);
      lifecycle.recordChange(at.writing, MERGE_REQUEST, request.id, "update", {}, at.request.sha);
    }
  }
  const own = new Set(from.map(({ id }) => id));
  for (const [id, { facts }] of versions) {
    const at = known.get(id);
    // One from the branch itself, or one that was changed meanwhile.
    if (own.has(id) || at?.request.sha !== facts.head_sha) continue;
    await renewVersion(writing, at.request, facts);
    await storeReferences(db, id, writing.viewer, base);
  }
  for (const { id, sha, mergeCommit } of merged) {
    const at = known.get(id);
    if (at?.request.sha !== sha) continue;
    await lifecycle.merge(at.writing, at.request, { merge_commit_sha: mergeCommit });
    await closeReferred(at.writing, id);
  }
  for (const { id, sha } of stuck) {
    const at = known.get(id);
    if (at?.request.sha === sha) await tellStuck(at);
  }
}

/** The author of a merge request, and whoever waits for it to be merged. */
function concerned({ author_id, auto_merge, auto_merge_user_id }: Located["request"]): number[] {
  const waiting = auto_merge === 1 ? [auto_merge_user_id] : [];
  return [...new Set([author_id, ...waiting])].filter((userId) => userId !== null);
}

/** Tells those who wait for a merge request that it has conflicts: by a todo and by mail. */
async function tellStuck({ writing, request }: Located): Promise<void> {
  const { db, viewer, now } = writing;
  const { id, project_id: projectId } = request;
  const about = concerned(request);
  for (const userId of await readers(db, MERGE_REQUEST, { id }, { ids: about }, viewer.today)) {
    await todos.add(db, MERGE_REQUEST, { projectId, id }, [userId], "unmergeable", userId, now);
  }
  await queueNotice(db, { notice: "unmergeable", request: id, by: null, at: now, about }, now);
}

/** The open ones among some merge requests, by their ids. */
async function requestsOf(writing: Writing, ids: readonly number[]): Promise<Map<number, Located>> {
  if (ids.length === 0) return new Map();
  const { db, viewer } = writing;
  const among = placeholders(ids);
  const found = await db.all<Located["request"]>(
    `select id, iid, project_id, source_project_id, author_id, title, description, state, sha, auto_merge,
       auto_merge_user_id, discussion_locked, milestone_id, created_at, updated_at, 1 as visible, 0 as assigned
     from merge_requests where id in (${among.sql}) and state = 'opened'`,
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
  base: string | undefined,
): Promise<void> {
  const { db, source, caller, now } = writing;
  const versionId = await renewVersion(writing, request, facts);
  if (versionId === undefined) return;
  await storeReferences(db, request.id, writing.viewer, base);
  todos.resolve(db, MERGE_REQUEST, request.id, caller.id, now);
  if (request.auto_merge === 1) {
    const body = "aborted the automatic merge because the source branch was updated";
    await notes.recordAction(writing, MERGE_REQUEST, request.id, body);
    const about = concerned(request);
    const notice = { request: request.id, by: caller.id, at: now, about };
    await queueNotice(db, { ...notice, notice: "auto_merge_aborted" }, now);
  }
  if (count === 0) return;
  const items = listed.map(({ id, title }) => `<li>${id.slice(0, 8)} - ${escaped(title)}</li>`);
  const query = `diff_id=${versionId}${request.sha === null ? "" : `&start_sha=${request.sha}`}`;
  const link = `/${source.fullPath}/-/merge_requests/${request.iid}/diffs?${query}`;
  const heading = `added ${count} ${count === 1 ? "commit" : "commits"}`;
  await notes.recordAction(
    writing,
    MERGE_REQUEST,
    request.id,
    `${heading}\n\n<ul>${items.join("")}</ul>\n\n[Compare with previous version](${link})`,
  );
  const draft = listed.find(({ title }) => UNFINISHED.test(title));
  if (!draft || isDraft(request.title)) return;
  const title = [...`Draft: ${request.title}`].slice(0, TITLE).join("");
  await updateRow(db, "merge_requests", request.id, { title }, now);
  await notes.recordAction(
    writing,
    MERGE_REQUEST,
    request.id,
    `marked this merge request as **draft** from ${draft.id.slice(0, 8)}`,
  );
}

/** Titles of commits that are to be changed before they are merged. */
const UNFINISHED = /^(fixup|squash|amend)! /;
/** Characters of a title. */
const TITLE = 255;
