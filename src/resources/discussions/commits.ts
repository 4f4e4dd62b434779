import * as param from "../../core/input.ts";
import { type CodeSource, type PrepareContext, type Route, routes } from "../../core/resource.ts";
import { commitId } from "../../git/commits.ts";
import * as changes from "../notes/changes.ts";
import * as discussions from "../notes/discussions.ts";
import { body, reply } from "../notes/input.ts";
import { note } from "../notes/json.ts";
import * as notes from "../notes/queries.ts";
import { commitToNote, commitWithNotes, findDiscussion, findNoteOf } from "../notes/rules.ts";
import { openRepository, requireCommit } from "../repositories/open.ts";
import { position } from "./input.ts";
import { placeOf, readPosition } from "./positions.ts";

const target = { sha: param.anyText({ max: 1024 }) };
const one = { ...target, discussion_id: param.anyText() };
const oneNote = { ...one, note_id: param.recordId() };

type Preparing = Pick<PrepareContext, "db" | "store"> & { source: CodeSource };

/** The whole name of the commit that a request names. */
async function prepare({ sha }: { sha: string }, preparing: Preparing): Promise<string> {
  const opened = await openRepository(preparing, [sha]);
  return commitId(opened.repository, await requireCommit(opened, sha));
}

const { del, get, list, post, put } = routes({
  source: "project",
  path: "/repository/commits/:sha/discussions",
  repository: true,
});

/** Discussions on commits. */
export const commitRoutes: Route[] = [
  list("", {
    summary: "List the discussions of a commit, the oldest first",
    input: target,
    presenter: discussions.discussion,
    prepare,
    handle: async (context) => {
      const { type, id } = await commitWithNotes(context, context.prepared);
      return discussions.list(context, type, id);
    },
  }),
  get("/:discussion_id", {
    summary: "Get a discussion of a commit with its notes",
    input: one,
    presenter: discussions.discussion,
    prepare,
    handle: async (context) => {
      const commit = await commitWithNotes(context, context.prepared);
      const { number } = await findDiscussion(context, commit, context.input.discussion_id);
      return discussions.row(context, commit, number);
    },
  }),
  post("", {
    summary: "Begin a discussion on a commit",
    input: { ...target, ...reply, position },
    presenter: discussions.discussion,
    prepare: async ({ sha, position }, preparing) => {
      const opened = await openRepository(preparing, [sha]);
      const id = commitId(opened.repository, await requireCommit(opened, sha));
      if (position === undefined) return { id, place: undefined };
      return { id, place: await placeOf(opened, readPosition(position)) };
    },
    handle: async (context) => {
      const { input, prepared } = context;
      const at = input.created_at;
      const commit = await commitToNote(context, prepared.id);
      const written = { body: input.body, place: prepared.place, at };
      const number = await changes.create(context, commit, written, "thread");
      return discussions.row(context, commit, number);
    },
  }),
  post("/:discussion_id/notes", {
    summary: "Reply in a discussion of a commit",
    input: { ...one, ...reply },
    presenter: note,
    prepare,
    handle: async (context) => {
      const { db, presenter, input, prepared } = context;
      const at = input.created_at;
      const commit = await commitWithNotes(context, prepared);
      const found = await findDiscussion(context, commit, input.discussion_id);
      const id = await changes.reply(context, commit, found, { body: input.body, at });
      return notes.row(db, presenter, id);
    },
  }),
  list("/:discussion_id/notes", {
    summary: "List the notes of a discussion of a commit, the oldest first",
    input: one,
    presenter: note,
    prepare,
    handle: async (context) => {
      const commit = await commitWithNotes(context, context.prepared);
      const found = await findDiscussion(context, commit, context.input.discussion_id);
      return discussions.listNotes(context, commit, found);
    },
  }),
  get("/:discussion_id/notes/:note_id", {
    summary: "Get a note of a discussion of a commit",
    input: oneNote,
    presenter: note,
    prepare,
    handle: async (context) => {
      const { db, presenter, input, prepared } = context;
      const found = await findNoteOf(context, await commitWithNotes(context, prepared), input);
      return notes.row(db, presenter, found.id);
    },
  }),
  put("/:discussion_id/notes/:note_id", {
    summary: "Change the text of a note on a commit",
    input: { ...oneNote, body },
    presenter: note,
    prepare,
    handle: async (context) => {
      const { db, presenter, input, prepared } = context;
      const commit = await commitWithNotes(context, prepared);
      const found = await findNoteOf(context, commit, input);
      await changes.edit(context, commit, found, input.body);
      return notes.row(db, presenter, found.id);
    },
  }),
  del("/:discussion_id/notes/:note_id", {
    summary: "Delete a note on a commit; its replies stay",
    input: oneNote,
    prepare,
    handle: async (context) => {
      const commit = await commitWithNotes(context, context.prepared);
      const found = await findNoteOf(context, commit, context.input);
      context.requireUnmodified(found.updated_at);
      await changes.remove(context, commit, found);
      return undefined;
    },
  }),
];
