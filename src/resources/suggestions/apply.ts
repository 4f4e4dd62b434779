import type { Caller } from "../../core/access/caller.ts";
import { hasFeature } from "../../core/access/features.ts";
import { type Source, sourcesById } from "../../core/access/source.ts";
import { inProject, type Viewer } from "../../core/access/visibility.ts";
import { ApiError, forbidden } from "../../core/errors.ts";
import { storedIn } from "../../core/kept.ts";
import type { PrepareContext } from "../../core/resource.ts";
import type { Signature } from "../../git/commits.ts";
import type { Draft } from "../../git/draft.ts";
import { isFile, type WorkTree } from "../../git/work-tree.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader } from "../../store/port.ts";
import type { Position } from "../discussions/positions.ts";
import { refsOf } from "../discussions/requests.ts";
import { Tracer } from "../discussions/tracing.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import * as issuables from "../issuables/queries.ts";
import { openCode, type RequestCode } from "../merge-requests/code.ts";
import { setResolved } from "../notes/changes.ts";
import * as notes from "../notes/queries.ts";
import { projectSettings } from "../projects/kept.ts";
import { perform } from "../repositories/actions.ts";
import { openToCommit, type StagedCommit, stageCommit } from "../repositories/commit.ts";
import { impossible } from "../repositories/rules.ts";
import { applyAll, signatureOf } from "../repositories/write.ts";
import { contentOf, linesOf, type Range } from "../suggested-lines/lines.ts";
import { messageOf } from "./message.ts";

/** A suggestion as stored, with its note and its merge request. */
interface Found {
  readonly id: number;
  readonly project_id: number;
  readonly request_id: number;
  readonly iid: number;
  readonly state: string;
  readonly source_project_id: number | null;
  readonly source_branch: string;
  readonly note_id: number;
  readonly author_id: number | null;
  readonly thread_id: number | null;
  readonly position: string;
  readonly lines_above: number;
  readonly lines_below: number;
  readonly from_content: string;
  readonly to_content: string;
  readonly applied_sha: string | null;
}

/** Suggestions whose commit is staged. */
export interface StagedSuggestions {
  readonly found: readonly Found[];
  readonly commit: StagedCommit;
}

/** The lines of a file that a suggestion replaces. */
interface Replacement extends Range {
  readonly path: string;
  readonly suggestion: Found;
}

type Preparing = PrepareContext<Caller, "parsed", undefined>;

/**
 * Stages the commit that applies suggestions to the source branch of their merge request.
 *
 * @param unknown the error if the caller can't read one of them
 * @throws ApiError 404 for suggestions that the caller can't read, 403 without the right to push, 400 if they can't be applied
 */
export async function stageSuggestions(
  preparing: Preparing,
  {
    ids,
    message,
    unknown,
  }: { ids: readonly number[]; message?: string | undefined; unknown: string },
): Promise<StagedSuggestions> {
  const { db, caller, viewer, now } = preparing;
  const readable = await readableOf(db, viewer, ids);
  if (!readable) throw new ApiError(404, { message: unknown });
  const { found, project } = readable;
  const [first] = found as [Found];
  const isSame = ({ source_project_id, source_branch }: Found) =>
    source_project_id === first.source_project_id && source_branch === first.source_branch;
  const from = first.source_project_id;
  const source =
    from === null ? undefined : (await sourcesById(db, "project", [from], viewer)).get(from);
  if (
    !source ||
    !hasFeature(project, { isReading: false, repository: true, features: ["merge_requests"] })
  ) {
    throw forbidden();
  }
  if (!found.every(isSame)) throw impossible("Suggestions must all be on the same branch.");
  const branch = first.source_branch;
  const request = { branch, commit_message: "" };
  const place = await openToCommit({ ...preparing, source }, request);
  for (const one of found) requireApplicable(one);
  if (place.start === undefined) {
    throw impossible("Can't apply as the source branch was deleted.");
  }
  const code = await openCode({ ...preparing, source: project }, first.iid);
  const replacements = await Promise.all(found.map((one) => replacementOf(code, one)));
  const byPath = new Map<string, Replacement[]>();
  for (const one of replacements) byPath.set(one.path, [...(byPath.get(one.path) ?? []), one]);
  for (const some of byPath.values()) requireApart(some);

  const people = await authorsOf(db, found, now);
  const facts = await projectFacts(db, first.project_id);
  const template = message ?? facts.template;
  const mentioned = {
    branch,
    paths: [...byPath.keys()],
    project: { name: facts.name, full_path: project.fullPath },
    caller: { name: (await signatureOf(db, caller.id, now)).name, username: caller.username },
    suggestions: found.length,
    authors: [...people].filter(([id]) => id !== caller.id).map(([, person]) => person),
  };
  const [author] = people.size === 1 ? people.values() : [];
  const commit = await stageCommit(
    place,
    {
      ...request,
      commit_message: messageOf(template, mentioned),
      author_name: author?.name,
      author_email: author?.email,
    },
    async (tree, draft) => {
      for (const [path, some] of byPath) await replace(tree, draft, path, some);
    },
  );
  return { found, commit };
}

/**
 * Makes the staged commit, after which the suggestions are applied and their threads resolved.
 *
 * @throws Unapplied if others have changed the branch since
 */
export async function applySuggestions(
  acting: { readonly db: Database; readonly caller: Caller; readonly now: number },
  { found, commit }: StagedSuggestions,
): Promise<void> {
  const { db, now } = acting;
  await applyAll(db, commit.received, now);
  for (const { id } of found) {
    await db.run("update suggestions set applied_sha = ? where id = ?", [commit.oid, id]);
  }
  const [{ project_id, request_id }] = found as [Found];
  const threads = new Set(found.flatMap(({ thread_id }) => thread_id ?? []));
  for (const thread of threads) {
    const on = { type: MERGE_REQUEST, id: request_id };
    await setResolved({ ...acting, source: { id: project_id } }, on, thread, true);
  }
}

/** The suggestions with these ids, in this order, and their project; `undefined` if the caller can't read all of them. */
async function readableOf(
  db: Reader,
  viewer: Viewer,
  ids: readonly number[],
): Promise<{ found: Found[]; project: Source } | undefined> {
  if (ids.length === 0) return undefined;
  const among = placeholders(ids);
  const rows = await db.all<Found>(
    `select s.id, mr.project_id, mr.id as request_id, mr.iid, mr.state, mr.source_project_id, mr.source_branch, s.note_id,
       nt.author_id, nt.thread_id, np.position, s.lines_above, s.lines_below, s.from_content, s.to_content, s.applied_sha
     from suggestions s join notes nt on nt.id = s.note_id join note_positions np on np.note_id = nt.id
     join merge_requests mr on mr.id = nt.merge_request_id where s.id in (${among.sql}) order by s.id`,
    among.values,
  );
  if (rows.length < new Set(ids).size) return undefined;
  const projects = await sourcesById(
    db,
    "project",
    rows.map(({ project_id }) => project_id),
    viewer,
  );
  for (const { project_id, iid, request_id, note_id } of rows) {
    const project = projects.get(project_id);
    if (!project) return undefined;
    const inside = inProject(viewer, project);
    const request = await issuables.find(db, MERGE_REQUEST, project_id, iid, inside);
    const note =
      request?.visible && (await notes.find(db, MERGE_REQUEST, request_id, note_id, inside));
    if (!note) return undefined;
  }
  return { found: rows, project: projects.get(rows[0]?.project_id ?? 0) as Source };
}

/** @throws ApiError 400 */
function requireApplicable({ state, applied_sha, from_content, to_content }: Found): void {
  if (applied_sha !== null) throw impossible("Can't apply this suggestion.");
  if (state !== "opened") {
    const how = state === "merged" ? "was merged" : "is closed";
    throw impossible(
      `This merge request ${how}. To apply this suggestion, edit this file directly.`,
    );
  }
  if (from_content === to_content) {
    throw impossible("This suggestion already matches its content.");
  }
}

const outdated = ({ lines_above, lines_below }: Found) =>
  impossible(
    `Can't apply as ${lines_above + lines_below > 0 ? "these lines were" : "this line was"} changed in a more recent version.`,
  );

/**
 * Where the lines of a suggestion are in the newest version.
 *
 * @throws ApiError 400 if they are not there
 */
async function replacementOf(
  { opened, version }: RequestCode,
  suggestion: Found,
): Promise<Replacement> {
  const then = JSON.parse(suggestion.position) as Position;
  const tracer = version && new Tracer(opened.repository, refsOf(version));
  const traced = !tracer || tracer.isThere(then) ? undefined : await tracer.trace(then);
  const now = tracer?.isThere(then)
    ? then
    : traced && (JSON.parse(String(traced.position)) as Position);
  if (!now?.new_line) throw outdated(suggestion);
  const { lines_above, lines_below } = suggestion;
  const range = { from: now.new_line - lines_above, to: now.new_line + lines_below };
  return { ...range, path: now.new_path, suggestion };
}

/** @throws ApiError 400 if two of them are about the same line */
function requireApart(some: Replacement[]): void {
  some.sort((one, other) => one.from - other.from);
  for (const [at, { from }] of some.entries()) {
    if (at > 0 && from <= (some[at - 1] as Replacement).to) {
      throw impossible("Suggestions are not applicable as their lines cannot overlap.");
    }
  }
}

/** Replaces lines of a file. @throws ApiError 400 if they are not what they were, or there is no such file */
async function replace(
  tree: WorkTree,
  draft: Draft,
  path: string,
  some: readonly Replacement[],
): Promise<void> {
  const entry = await tree.find(path);
  if (!entry || !isFile(entry)) throw impossible("A file was not found.");
  const lines = linesOf((await draft.read(entry.oid)).data.toString());
  const isEnded = lines.at(-1)?.endsWith("\n");
  for (const { from, to, suggestion } of some.toReversed()) {
    if (JSON.stringify(contentOf(lines, { from, to })) !== suggestion.from_content) {
      throw outdated(suggestion);
    }
    const content: string = JSON.parse(suggestion.to_content);
    const isLast = to === lines.length && !isEnded;
    lines.splice(from - 1, to - from + 1, isLast ? content.replace(/\r?\n$/, "") : content);
  }
  await perform({ action: "update", path, content: Buffer.from(lines.join("")) }, tree, draft);
}

/** Who has written the notes, by their ids, as commits have them; without those who are deleted. */
async function authorsOf(
  db: Reader,
  found: readonly Found[],
  now: number,
): Promise<Map<number, Signature>> {
  const ids = new Set(found.flatMap(({ author_id }) => author_id ?? []));
  const people = new Map<number, Signature>();
  for (const id of ids) people.set(id, await signatureOf(db, id, now));
  return people;
}

/** What a project says of the messages of these commits, and its name. */
async function projectFacts(
  db: Reader,
  id: number,
): Promise<{ name: string; template: string | null }> {
  const project = await db.one<{ name: string }>("select name from projects where id = ?", [id]);
  const settings = projectSettings.read(await storedIn(db, "projects", id));
  return { name: project?.name ?? "", template: settings.suggestion_commit_message };
}
