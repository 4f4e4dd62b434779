import { sourcesById } from "../../core/access/source.ts";
import { escaped } from "../../core/markup.ts";
import type { CheckedChange } from "../../git/push.ts";
import { BRANCHES } from "../../git/refs.ts";
import { placeholders } from "../../store/placeholders.ts";
import { updateRow } from "../../store/update.ts";
import * as lifecycle from "../issuables/lifecycle.ts";
import { isDraft, MERGE_REQUEST } from "../issuables/merge-request.ts";
import type { Issuable } from "../issuables/queries.ts";
import type { Writing } from "../issuables/type.ts";
import * as notes from "../notes/queries.ts";
import { closeReferred, storeReferences } from "./references.ts";
import { openFrom, type PlannedVersion, planWithin, type Refresh } from "./refresh.ts";
import { renewVersion, type VersionOwner } from "./versions.ts";

/** An open merge request, and what changes it. */
interface Located {
  readonly writing: Writing;
  readonly request: Issuable & VersionOwner & { readonly sha: string | null };
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
  { versions, merged }: Refresh,
  base: string | undefined,
): Promise<void> {
  const { db, source, now } = writing;
  const branch = name.slice(BRANCHES.length);
  const from = await openFrom(db, source.id, branch);
  const into = [...versions.keys(), ...merged.map(({ id }) => id)];
  const known = await requestsOf(writing, [...from.map(({ id }) => id), ...into]);
  for (const request of from) {
    const at = known.get(request.id);
    if (!at) continue;
    if (to === undefined) await lifecycle.setState(at.writing, MERGE_REQUEST, at.request, "close");
    else {
      const planned = versions.get(request.id) ?? (await planWithin(db, request, to, base));
      if (planned) await addPushed(at, planned, base);
    }
  }
  const own = new Set(from.map(({ id }) => id));
  for (const [id, { facts }] of versions) {
    const at = known.get(id);
    // One from the branch itself, or one that was changed meanwhile.
    if (own.has(id) || at?.request.sha !== facts.head_sha) continue;
    await renewVersion(db, at.request, facts, now);
    await storeReferences(db, id, writing.viewer, base);
  }
  for (const { id, sha, mergeCommit } of merged) {
    const at = known.get(id);
    if (at?.request.sha !== sha) continue;
    await lifecycle.merge(at.writing, at.request, { merge_commit_sha: mergeCommit });
    await closeReferred(at.writing, id);
  }
}

/** The open ones among some merge requests, by their ids. */
async function requestsOf(writing: Writing, ids: readonly number[]): Promise<Map<number, Located>> {
  if (ids.length === 0) return new Map();
  const { db, viewer } = writing;
  const among = placeholders(ids);
  const found = await db.all<Located["request"]>(
    `select id, iid, project_id, source_project_id, author_id, title, description, state, sha,
       discussion_locked, milestone_id, created_at, updated_at, 1 as visible
     from merge_requests where id in (${among.sql}) and state = 'opened'`,
    among.values,
  );
  const projects = [...new Set(found.map(({ project_id }) => project_id))];
  const sources = await sourcesById(db, "project", projects, viewer);
  return new Map(
    found.flatMap((request) => {
      const source = sources.get(request.project_id);
      return source ? [[request.id, { request, writing: { ...writing, source } }]] : [];
    }),
  );
}

/** Adds the version that a push makes, and notes it. */
async function addPushed(
  { writing, request }: Located,
  { facts, added: { count, listed } }: PlannedVersion,
  base: string | undefined,
): Promise<void> {
  const { db, source, now } = writing;
  const versionId = await renewVersion(db, request, facts, now);
  if (versionId === undefined) return;
  await storeReferences(db, request.id, writing.viewer, base);
  if (count === 0) return;
  const items = listed.map(({ id, title }) => `<li>${id.slice(0, 8)} - ${escaped(title)}</li>`);
  const query = `diff_id=${versionId}${request.sha === null ? "" : `&start_sha=${request.sha}`}`;
  const link = `/${source.fullPath}/-/merge_requests/${request.iid}/diffs?${query}`;
  const heading = `added ${count} ${count === 1 ? "commit" : "commits"}`;
  await addNote(
    { writing, request },
    `${heading}\n\n<ul>${items.join("")}</ul>\n\n[Compare with previous version](${link})`,
  );
  const draft = listed.find(({ title }) => UNFINISHED.test(title));
  if (!draft || isDraft(request.title)) return;
  const title = [...`Draft: ${request.title}`].slice(0, TITLE).join("");
  await updateRow(db, "merge_requests", request.id, { title }, now);
  await addNote(
    { writing, request },
    `marked this merge request as **draft** from ${draft.id.slice(0, 8)}`,
  );
}

/** Titles of commits that are to be changed before they are merged. */
const UNFINISHED = /^(fixup|squash|amend)! /;
/** Characters of a title. */
const TITLE = 255;

/** Notes what the user has done to a merge request. */
async function addNote(
  { writing: { db, source, caller, now }, request: { id } }: Located,
  body: string,
): Promise<void> {
  const note = { project_id: source.id, id, author_id: caller.id, body, system: true };
  await notes.insert(db, MERGE_REQUEST, note, now);
}
