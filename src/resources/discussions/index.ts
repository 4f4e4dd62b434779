import { ApiError } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import type { Context, Resource, Route } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { routesBelow } from "../issuables/places.ts";
import type { NoteableType } from "../issuables/type.ts";
import { isIssuable } from "../issuables/types.ts";
import * as changes from "../notes/changes.ts";
import * as discussions from "../notes/discussions.ts";
import { editNote } from "../notes/edit.ts";
import { body, reply, target, written } from "../notes/input.ts";
import { note } from "../notes/json.ts";
import { NOTED_TYPES } from "../notes/noteables.ts";
import * as notes from "../notes/queries.ts";
import { findDiscussion, findNoteable, findNoteOf } from "../notes/rules.ts";
import { COMMANDS_ONLY, takesCommands, writeNote } from "../quick-actions/perform.ts";
import { commitRoutes } from "./commits.ts";
import { commitId, position } from "./input.ts";
import { placeOnRequest } from "./requests.ts";

const one = { ...target, discussion_id: param.anyText() };
const oneNote = { ...one, note_id: param.recordId() };

/** Attributes that only merge requests have: on others they are not sent. */
const ofDiffs = { position, commit_id: commitId };
const ofOthers = {} as typeof ofDiffs;

type In = Pick<Context, "source" | "viewer"> & {
  db: Reader;
  input: { noteable_id: number; discussion_id: string };
};

async function find(context: In, type: NoteableType) {
  const { noteable_id, discussion_id } = context.input;
  const noteable = await findNoteable(context, type, noteable_id);
  return { noteable, found: await findDiscussion(context, noteable, discussion_id) };
}

async function findNoteIn(context: In & { input: { note_id: number } }, type: NoteableType) {
  const noteable = await findNoteable(context, type, context.input.noteable_id);
  return { noteable, note: await findNoteOf(context, noteable, context.input) };
}

const exclusive = () =>
  new ApiError(400, { message: "400 (Bad request) body, resolved are mutually exclusive" });

function routesOf(type: NoteableType): Route[] {
  const { del, get, list, post, put } = routesBelow(type, `/${type.path}/:noteable_id/discussions`);
  return [
    list("", {
      summary: `List the discussions of ${type.one}, the oldest first`,
      isShownToVisitors: true,
      input: target,
      presenter: discussions.discussion,
      handle: async (context) => {
        const { id } = await findNoteable(context, type, context.input.noteable_id);
        return discussions.list(context, type, id);
      },
    }),
    get("/:discussion_id", {
      summary: "Get a discussion with its notes",
      input: one,
      presenter: discussions.discussion,
      handle: async (context) => {
        const { noteable, found } = await find(context, type);
        return discussions.row(context, noteable, found.number);
      },
    }),
    post("", {
      summary: `Begin a discussion on ${type.one}`,
      ...(takesCommands(type) && { alsoAnswers: COMMANDS_ONLY }),
      input: { ...target, ...written, ...(type === MERGE_REQUEST ? ofDiffs : ofOthers) },
      presenter: discussions.discussion,
      prepare: (input, preparing) => placeOnRequest(preparing, input.noteable_id, input),
      handle: async (context) => {
        const { input } = context;
        const { body, internal = input.confidential } = input;
        const at = input.created_at;
        const noteable = await findNoteable(context, type, input.noteable_id);
        const begun = { internal, place: context.prepared, commitId: input.commit_id, at };
        return writeNote(context, noteable, body, async (text) => {
          const number = await changes.create(
            context,
            noteable,
            { ...begun, body: text },
            "thread",
          );
          return (db) => discussions.row({ ...context, db }, noteable, number);
        });
      },
    }),
    ...(isIssuable(type)
      ? [
          put("/:discussion_id", {
            summary: "Resolve a discussion, or take that back",
            input: { ...one, resolved: param.boolean() },
            presenter: discussions.discussion,
            handle: async (context) => {
              const { noteable, found } = await find(context, type);
              await changes.resolveDiscussion(context, noteable, found, context.input.resolved);
              return discussions.row(context, noteable, found.number);
            },
          }),
        ]
      : []),
    list("/:discussion_id/notes", {
      summary: "List the notes of a discussion, the oldest first",
      input: one,
      presenter: note,
      handle: async (context) => {
        const { noteable, found } = await find(context, type);
        return discussions.listNotes(context, noteable, found);
      },
    }),
    post("/:discussion_id/notes", {
      summary: "Reply in a discussion; a note that stood alone then begins a thread",
      ...(takesCommands(type) && { alsoAnswers: COMMANDS_ONLY }),
      input: { ...one, ...reply },
      presenter: note,
      handle: async (context) => {
        const { presenter, input } = context;
        const at = input.created_at;
        const { noteable, found } = await find(context, type);
        return writeNote(context, noteable, input.body, async (body) => {
          const id = await changes.reply(context, noteable, found, { body, at });
          return (reader) => notes.row(reader, presenter, id);
        });
      },
    }),
    get("/:discussion_id/notes/:note_id", {
      summary: "Get a note of a discussion",
      input: oneNote,
      presenter: note,
      handle: async (context) =>
        notes.row(context.db, context.presenter, (await findNoteIn(context, type)).note.id),
    }),
    put("/:discussion_id/notes/:note_id", {
      summary: "Change the text of a note, or resolve it, or take that back",
      ...(takesCommands(type) && { alsoAnswers: COMMANDS_ONLY }),
      input: {
        ...oneNote,
        body: param.optional(body),
        resolved: param.optional(param.boolean()),
      },
      atLeastOne: ["body", "resolved"],
      presenter: note,
      handle: async (context) => {
        const { db, presenter, input } = context;
        const { body, resolved } = input;
        if (body !== undefined && resolved !== undefined) throw exclusive();
        const { noteable, note } = await findNoteIn(context, type);
        if (body !== undefined) return editNote(context, noteable, note, body);
        await changes.resolveNote(context, noteable, note, resolved === true);
        return notes.row(db, presenter, note.id);
      },
    }),
    del("/:discussion_id/notes/:note_id", {
      summary: "Delete a note; its replies stay",
      input: oneNote,
      handle: async (context) => {
        const { noteable, note } = await findNoteIn(context, type);
        context.requireUnmodified(note.updated_at);
        await changes.remove(context, noteable, note);
        return undefined;
      },
    }),
  ];
}

const WRITE = new Map(
  NOTED_TYPES.map((type) => {
    const { post } = routesBelow(type, `/${type.path}`);
    const route = post("/:noteable_id/notes", {
      summary: `Write a note on ${type.one}, or reply in one of its discussions`,
      input: { ...target, ...written, discussion_id: param.optional(param.anyText()) },
      presenter: note,
      handle: async (context) => {
        const { presenter, input } = context;
        const { internal, discussion_id } = input;
        const noteable = await findNoteable(context, type, input.noteable_id);
        const discussion =
          discussion_id === undefined
            ? undefined
            : await findDiscussion(context, noteable, discussion_id);
        return writeNote(context, noteable, input.body, async (body) => {
          const id = discussion
            ? await changes.reply(context, noteable, discussion, { body })
            : await changes.create(context, noteable, { body, internal }, "individual");
          return (reader) => notes.row(reader, presenter, id);
        });
      },
    });
    return [type, route] as const;
  }),
);

/** The route that writes a note, alone or as a reply: GraphQL has one mutation for both. */
export const writeRouteOf = (type: NoteableType): Route => WRITE.get(type) as Route;

/** Discussions on issues, epics, merge requests, snippets and commits. */
export const discussionResource: Resource = {
  name: "Discussions",
  migrations: [],
  routes: [...NOTED_TYPES.flatMap(routesOf), ...commitRoutes],
};
