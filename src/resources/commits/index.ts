import { badRequest, missing, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { unsupportedFlag } from "../../core/kept.ts";
import { MAX_READ_CHARACTERS, pageOf } from "../../core/pagination.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import { AfterCommit, Json, RawReply, type Resource, routes } from "../../core/resource.ts";
import { commitId, commitNumber, readCommit, readSignedCommit } from "../../git/commits.ts";
import { BRANCHES, isReserved, listRefs, listRefsBelow, TAGS } from "../../git/refs.ts";
import { findCommit } from "../../git/revisions.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { lastPipeline } from "../ci/heads.ts";
import { listedPipeline } from "../ci/json.ts";
import { SIGNATURE_EXAMPLES, signatureJson } from "../gpg-keys/json.ts";
import { verify } from "../gpg-keys/verify.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import * as changes from "../notes/changes.ts";
import * as notes from "../notes/queries.ts";
import { commitToNote } from "../notes/rules.ts";
import { mayPushSomewhere } from "../protected-refs/abilities.ts";
import { perform } from "../repositories/actions.ts";
import { openToCommit, type StagedCommit, stageCommit } from "../repositories/commit.ts";
import { CONTENT_BYTES, hasChanged } from "../repositories/content.ts";
import {
  changesOf,
  countFields,
  diff,
  hasChangedLine,
  readDiffs,
  statsOf,
} from "../repositories/diffs.ts";
import { commit, commitFields, commitRow, commitValues } from "../repositories/json.ts";
import { pageOfLog } from "../repositories/log.ts";
import {
  type OpenRepository,
  openRepository,
  requireCommit,
  withRefs,
} from "../repositories/open.ts";
import { impossible } from "../repositories/rules.ts";
import { applyAll, type Place } from "../repositories/write.ts";
import { readActions, type SentAction } from "./actions.ts";
import { changelogRoutes } from "./changelog.ts";
import * as comments from "./comments.ts";
import { requestsWith } from "./merge-requests.ts";
import { type Picked, stagePick } from "./picks.ts";
import { stageSubmodule, submoduleInput } from "./submodules.ts";
import { migrations } from "./table.ts";

/** Changes of files by one commit. */
const MAX_ACTIONS = 1000;

/** A commit with how many lines it changed, if that was asked for. */
const counted = {
  ...commitFields,
  stats: field.omittedIfNull(field.json("stats", "object", { fields: countFields })),
};
const listed = presenter(counted);
const listedRow = rowMaker(listed);

/** A commit alone. */
const detail = presenter({
  ...counted,
  status: field.text("status"),
  last_pipeline: field.json("last_pipeline", "object", { fields: listedPipeline.fields }),
  project_id: field.integer("project_id"),
});
const detailRow = rowMaker(detail);

const { get, list, post } = routes({
  source: "project",
  path: "/repository/commits",
  repository: true,
});

const sha = { sha: param.anyText({ max: 1024 }) };

/** A branch, tag, commit or range: not an option of Git's. */
const refName = param.checked(param.anyText({ max: 1024 }), (name) => !/^-|\s/.test(name));

/** The two ends of a range, such as `main..feature`: what the second one reaches and the first one does not. */
function endsOf(name: string): { from: string; not: string | undefined } {
  const [first = "", second] = name.split("..", 2);
  if (second === undefined) return { from: first || "HEAD", not: undefined };
  return { from: second || "HEAD", not: first || "HEAD" };
}

/** The commits that a list begins at and leaves out; `undefined` if there is one that is not found. */
async function startsOf(
  opened: OpenRepository,
  name: string,
): Promise<{ from: number[]; not: number[] | undefined } | undefined> {
  const ends = endsOf(name);
  const from = await findCommit(opened, ends.from);
  if (from === undefined) return undefined;
  if (ends.not === undefined) return { from: [from], not: undefined };
  const not = await findCommit(opened, ends.not);
  return not === undefined ? undefined : { from: [from], not: [not] };
}

const reference = presenter({
  type: { ...field.text("type"), type: "branch, tag" },
  name: field.text("name"),
});
const referenceRow = rowMaker(reference);

/** What a list of references may be limited to. */
const KINDS = { branch: BRANCHES, tag: TAGS } as const;

/** The references that reach a commit: the name of their kind, and their own. */
async function referencesTo(
  db: Reader,
  opened: OpenRepository,
  id: string,
  kinds: readonly (keyof typeof KINDS)[],
): Promise<{ type: string; name: string }[]> {
  const found: { type: string; name: string }[] = [];
  for (const type of kinds) {
    const folder = KINDS[type];
    const refs = opened.row ? await listRefsBelow(db, opened.row.id, folder) : [];
    const { repository } = await withRefs(opened, refs);
    const reached = repository.graph.descendants(commitNumber(repository, id) as number);
    for (const { name, oid, peeled } of refs) {
      const tip = commitNumber(repository, peeled ?? oid);
      if (tip !== undefined && reached[tip]) found.push({ type, name: name.slice(folder.length) });
    }
  }
  return found;
}

/** The repository with the commits of all references. */
async function allStarts(db: Reader, opened: OpenRepository) {
  const all = opened.row ? await listRefs(db, opened.row.id) : [];
  const refs = all.filter(({ name }) => !isReserved(name));
  const now = await withRefs(opened, refs);
  const { graph } = now.repository;
  const from = refs
    .map(({ oid, peeled }) => graph.commitOf(now.repository.findHex(peeled ?? oid)))
    .filter((number) => number >= 0);
  return { opened: now, starts: { from, not: undefined } };
}

/** The rows of commits, as many as are read at once. */
async function rowsOf(
  opened: OpenRepository,
  numbers: readonly number[],
  shown: { trailers?: boolean | undefined; with_stats?: boolean | undefined },
): Promise<Value[][]> {
  const rows: Value[][] = [];
  let characters = 0;
  for (const number of numbers) {
    const commit = await readCommit(opened.repository, number);
    const stats = shown.with_stats ? await statsOf(opened.repository, number, opened.budget) : null;
    rows.push(listedRow({ stats }, commitValues(opened, commit, shown)));
    characters += commit.message.length;
    if (characters > MAX_READ_CHARACTERS) break;
  }
  return rows;
}

const picking = {
  access: "anyone",
  role: "developer",
  orWho: mayPushSomewhere,
  // Nobody may push to an archived project.
  whenArchived: "allow",
  concurrency: "per project",
  presenter: commit,
  alsoAnswers: { 200: [{ dry_run: "success" }] },
} as const;
const pickInput = {
  ...sha,
  branch: param.text({ max: 1024 }),
  dry_run: param.optional(param.boolean()),
};

/** Makes a commit that was picked, and answers it. */
async function applyPick(
  db: Database,
  { place, staged }: Picked,
  now: number,
): Promise<AfterCommit | RawReply> {
  if (!staged) {
    return new RawReply(200, { "content-type": "application/json" }, '{"dry_run":"success"}');
  }
  await applyAll(db, staged.received, now);
  return new AfterCommit(async () => {
    const { repository } = staged.received.push;
    const number = commitNumber(repository, staged.oid) as number;
    return commitRow(commitValues(place, await readCommit(repository, number)));
  }, "repository");
}

/** Commits of projects' repositories. */
export const commitResource: Resource = {
  name: "Commits",
  migrations,
  routes: [
    list("", {
      summary: "List the commits of a branch, tag or range, the newest first",
      access: "anyone",
      input: {
        ref_name: param.optional(refName),
        since: param.optional(param.instant()),
        until: param.optional(param.instant()),
        path: param.optional(param.anyText({ max: 4096 })),
        author: param.optional(param.anyText()),
        all: param.optional(param.boolean()),
        first_parent: param.optional(param.boolean()),
        order: param.optional(param.choice(["default", "topo"])),
        trailers: param.optional(param.boolean()),
        with_stats: param.optional(param.boolean()),
        follow: unsupportedFlag(),
      },
      presenter: listed,
      prepare: ({ ref_name }, preparing) => {
        const { from, not } = endsOf(ref_name || "HEAD");
        return openRepository(preparing, not === undefined ? [from] : [from, not]);
      },
      handle: async ({ db, input, page, prepared }) => {
        const { ref_name, since, until, path, author, all, first_parent, order } = input;
        const { opened, starts } = all
          ? await allStarts(db, prepared)
          : { opened: prepared, starts: await startsOf(prepared, ref_name || "HEAD") };
        if (!starts) return pageOf(page, 0, async () => []);
        const query = {
          ...starts,
          path: path || undefined,
          author: author || undefined,
          isFirstParent: first_parent,
          order: order === "topo" ? ("topo" as const) : ("date" as const),
          since: since === undefined ? undefined : Math.ceil(since / 1000),
          until: until === undefined ? undefined : Math.floor(until / 1000),
        };
        return pageOfLog(opened, page, query, (at, numbers) => rowsOf(at, numbers, input));
      },
    }),
    post("", {
      summary: "Create a commit with changes of several files",
      access: "anyone",
      role: "developer",
      orWho: mayPushSomewhere,
      // Nobody may push to an archived project.
      whenArchived: "allow",
      concurrency: "per project",
      input: {
        branch: param.text({ max: 1024 }),
        commit_message: param.text({ max: param.LONG_TEXT }),
        actions: param.optional(
          param.arrayOf(param.json("changes of files (docs/git.md)"), { max: MAX_ACTIONS }),
        ),
        allow_empty: param.optional(param.boolean()),
        start_branch: param.unlessBlank(param.text({ max: 1024 })),
        start_sha: param.optional(param.anyText()),
        start_project: param.optional(param.anyText({ max: 1024 })),
        force: param.optional(param.boolean()),
        stats: param.optional(param.boolean()),
        author_name: param.optional(param.anyText()),
        author_email: param.optional(param.anyText()),
      },
      maxBodyBytes: CONTENT_BYTES,
      presenter: detail,
      prepare: async (input, preparing) => {
        const { start_branch, start_sha, allow_empty } = input;
        if (start_branch !== undefined && start_sha !== undefined) {
          throw badRequest("start_branch, start_sha are mutually exclusive");
        }
        if (!input.actions && !allow_empty) throw missing("actions");
        const actions = readActions(input.actions ?? []);
        if (actions.length === 0 && !allow_empty) {
          throw badRequest("Provide at least one action, or set allow_empty to true");
        }
        const place = await openToCommit(preparing, input);
        const staged = await stageCommit(place, input, async (tree, draft, parent) => {
          await refuseOutdated(place, parent, actions);
          for (const action of actions) await perform(action, tree, draft);
        });
        return detailed(place, staged, preparing.budget, input.stats);
      },
      handle: async ({ db, prepared: { received, row }, now }) => {
        await applyAll(db, received, now);
        return row;
      },
    }),
    get("/:sha", {
      summary: "Get a commit by its name, or the newest one of a branch or tag",
      access: "anyone",
      input: { ...sha, stats: param.optional(param.boolean()) },
      presenter: detail,
      prepare: (input, preparing) => openRepository(preparing, [input.sha]),
      handle: async ({ db, input, source, view, budget, prepared: opened }) => {
        const number = await requireCommit(opened, input.sha);
        const commit = await readCommit(opened.repository, number);
        const stats =
          input.stats === false ? null : await statsOf(opened.repository, number, budget);
        const values = commitValues(opened, commit, { trailers: true });
        const last = await lastPipeline(db, source, commit.id);
        return detailRow({
          ...values,
          stats,
          project_id: source.id,
          ...(last && {
            status: last[listedPipeline.at("status")] as Value,
            last_pipeline: listedPipeline.write(last, view),
          }),
        });
      },
    }),
    list("/:sha/diff", {
      summary: "List the files that a commit changed, with how",
      access: "anyone",
      input: { ...sha, unidiff: param.optional(param.boolean()) },
      presenter: diff,
      prepare: (input, preparing) => openRepository(preparing, [input.sha]),
      handle: async ({ input, page, budget, prepared: opened }) => {
        const { repository } = opened;
        const commit = await requireCommit(opened, input.sha);
        const changes = await changesOf(repository, commit, budget);
        return pageOf(page, changes.length, (from, to) =>
          readDiffs(repository, changes.slice(from, to), input.unidiff, budget),
        );
      },
    }),
    post("/:sha/cherry_pick", {
      summary: "Make the changes of a commit again, on a branch",
      ...picking,
      input: { ...pickInput, message: param.unlessBlank(param.text({ max: param.LONG_TEXT })) },
      prepare: (input, preparing) => stagePick(preparing, "cherry-pick", input),
      handle: ({ db, prepared, now }) => applyPick(db, prepared, now),
    }),
    post("/:sha/revert", {
      summary: "Undo the changes of a commit, on a branch",
      ...picking,
      input: pickInput,
      prepare: (input, preparing) => stagePick(preparing, "revert", input),
      handle: ({ db, prepared, now }) => applyPick(db, prepared, now),
    }),
    list("/:sha/refs", {
      summary: "List the branches and tags that contain a commit",
      access: "anyone",
      input: { ...sha, type: param.optional(param.choice(["branch", "tag", "all"])) },
      presenter: reference,
      prepare: (input, preparing) => openRepository(preparing, [input.sha]),
      handle: async ({ db, input, page, prepared: opened }) => {
        const number = await requireCommit(opened, input.sha);
        const { type = "all" } = input;
        const kinds = type === "all" ? (["branch", "tag"] as const) : ([type] as const);
        const id = commitId(opened.repository, number);
        const found = await referencesTo(db, opened, id, kinds);
        return pageOf(page, found.length, async (from, to) =>
          found.slice(from, to).map((one) => referenceRow(one)),
        );
      },
    }),
    list("/:sha/comments", {
      summary: "List the comments on a commit, the oldest first",
      access: "anyone",
      input: sha,
      presenter: comments.comment,
      prepare: (input, preparing) => openRepository(preparing, [input.sha]),
      handle: async ({ db, input, source, presenter, page, prepared: opened }) => {
        const id = commitId(opened.repository, await requireCommit(opened, input.sha));
        return comments.list(db, presenter, page, await notes.findCommit(db, source.id, id));
      },
    }),
    post("/:sha/comments", {
      summary: "Comment on a commit, or on a line of a file that it changed",
      input: {
        ...sha,
        note: param.text({ max: param.LONG_TEXT }),
        path: param.optional(param.anyText({ max: 4096 })),
        line: param.optional(param.integer()),
        line_type: param.optional(param.choice(["new", "old"])),
      },
      presenter: comments.comment,
      concurrency: "free",
      prepare: async ({ sha, path, line, line_type = "new" }, preparing) => {
        const opened = await openRepository(preparing, [sha]);
        const { repository } = opened;
        const number = await requireCommit(opened, sha);
        const id = commitId(repository, number);
        const isOnLine =
          path &&
          line &&
          (await hasChangedLine(repository, number, path, line, line_type, preparing.budget));
        return { id, place: isOnLine ? { path, line, line_type } : undefined };
      },
      handle: async (context) => {
        const { db, input, presenter, prepared } = context;
        const { note, path, line } = input;
        if (path && line === undefined) throw missing("line");
        const noteable = await commitToNote(context, prepared.id);
        const { place } = prepared;
        const kind = place ? "thread" : "individual";
        const noteId = await changes.create(context, noteable, { body: note, place }, kind);
        return comments.row(db, presenter, noteId);
      },
    }),
    list("/:sha/merge_requests", {
      summary: "List the merge requests that have a commit",
      access: "anyone",
      input: {
        ...sha,
        state: param.optional(param.choice(["opened", "closed", "locked", "merged", "all"])),
      },
      presenter: MERGE_REQUEST.listed,
      prepare: (input, preparing) => openRepository(preparing, [input.sha]),
      handle: async (context) => {
        const { input, prepared: opened } = context;
        const id = commitId(opened.repository, await requireCommit(opened, input.sha));
        const state = input.state === "all" ? undefined : input.state;
        return requestsWith(context, opened, id, state);
      },
    }),
    get("/:sha/sequence", {
      summary: "Count a commit and those before it",
      access: "anyone",
      input: { ...sha, first_parent: param.optional(param.boolean()) },
      examples: [{ count: 632 }],
      prepare: (input, preparing) => openRepository(preparing, [input.sha]),
      handle: async ({ input, prepared: opened }) => {
        const { graph } = opened.repository;
        const number = await requireCommit(opened, input.sha);
        return new Json({ count: graph.countTo(number, input.first_parent) });
      },
    }),
    get("/:sha/signature", {
      summary: "Get the signature of a commit, and by whom it is",
      access: "anyone",
      input: sha,
      examples: SIGNATURE_EXAMPLES.map((one) => ({ ...one, commit_source: "gitaly" })),
      prepare: (input, preparing) => openRepository(preparing, [input.sha]),
      handle: async ({ db, input, prepared: opened }) => {
        const number = await requireCommit(opened, input.sha);
        const signed = await readSignedCommit(opened.repository, number);
        if (!signed) throw notFound("Signature");
        return new Json({ ...signatureJson(await verify(db, signed)), commit_source: "gitaly" });
      },
    }),
    routes({ source: "project", repository: true }).put("/repository/submodules/:submodule", {
      summary: "Let a submodule be at another commit",
      access: "anyone",
      role: "developer",
      orWho: mayPushSomewhere,
      whenArchived: "allow",
      concurrency: "per project",
      input: submoduleInput,
      presenter: detail,
      prepare: async (input, preparing) => {
        const { place, staged } = await stageSubmodule(preparing, input);
        return detailed(place, staged, preparing.budget);
      },
      handle: async ({ db, prepared: { received, row }, now }) => {
        await applyAll(db, received, now);
        return row;
      },
    }),
    ...changelogRoutes,
  ],
};

/** A staged commit with its row: counting lines takes too long for the transaction. */
async function detailed(place: Place, staged: StagedCommit, budget: Budget, withStats = true) {
  const { received, oid } = staged;
  const { repository } = received.push;
  const number = commitNumber(repository, oid) as number;
  const stats = withStats ? await statsOf(repository, number, budget) : null;
  const values = commitValues(place, await readCommit(repository, number));
  return { received, row: detailRow({ ...values, stats, project_id: place.project.id }) };
}

/** Refuses changes of files that others have changed since. @throws ApiError 400 */
async function refuseOutdated(
  { repository }: OpenRepository,
  parent: number | undefined,
  actions: readonly SentAction[],
): Promise<void> {
  for (const { action, path, previousPath = path, lastCommitId } of actions) {
    if (action === "create") continue;
    if (await hasChanged(repository, parent, previousPath, lastCommitId)) {
      throw impossible(`The file has changed since you started editing it: ${path}`);
    }
  }
}
