import { inProject } from "../../core/access/visibility.ts";
import * as param from "../../core/input.ts";
import type { Context, Resource } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { routesBelow } from "../issuables/places.ts";
import type { NoteableType } from "../issuables/type.ts";
import { isIssuable } from "../issuables/types.ts";
import { COMMANDS_ONLY, takesCommands, writeNote } from "../quick-actions/perform.ts";
import * as changes from "./changes.ts";
import { editNote } from "./edit.ts";
import { body, target, written } from "./input.ts";
import { note } from "./json.ts";
import { NOTED_TYPES } from "./noteables.ts";
import * as notes from "./queries.ts";
import { findNote, findNoteable } from "./rules.ts";
import { migrations } from "./table.ts";

/** The commit that the source branch must be at for `/merge` to merge it. */
const headSha = param.optional(param.anyText());
const one = { ...target, note_id: param.recordId() };

type In = Pick<Context, "source" | "viewer"> & {
  db: Reader;
  input: { noteable_id: number; note_id: number };
};

async function find(context: In, type: NoteableType) {
  const noteable = await findNoteable(context, type, context.input.noteable_id);
  return { noteable, found: await findNote(context, noteable, context.input.note_id) };
}

function routesOf(type: NoteableType) {
  const { del, get, list, post, put } = routesBelow(type, `/${type.path}/:noteable_id/notes`);
  return [
    list("", {
      summary: `List the notes of ${type.one}, newest first`,
      input: {
        ...target,
        order_by: param.optional(param.choice(["created_at", "updated_at"])),
        sort: param.optional(param.choice(["asc", "desc"])),
        ...(isIssuable(type) && {
          activity_filter: param.optional(
            param.choice(["all_notes", "only_comments", "only_activity"]),
          ),
        }),
      },
      presenter: note,
      handle: async (context) => {
        const { db, presenter, page, input } = context;
        const viewer = inProject(context.viewer, context.source);
        const { id } = await findNoteable(context, type, input.noteable_id);
        const { order_by: orderBy = "created_at", sort = "desc" } = input;
        return notes.list(db, type, presenter, page, id, viewer, {
          orderBy,
          sort,
          activity: input["activity_filter"],
        });
      },
    }),
    get("/:note_id", {
      summary: "Get a note",
      input: one,
      presenter: note,
      handle: async (context) => {
        const { found } = await find(context, type);
        return notes.row(context.db, context.presenter, found.id);
      },
    }),
    post("", {
      summary: takesCommands(type)
        ? `Write a note on ${type.one}, or perform quick actions; 202 for nothing but these`
        : `Write a note on ${type.one}`,
      ...(takesCommands(type) && { alsoAnswers: COMMANDS_ONLY }),
      input: {
        ...target,
        ...written,
        ...(type === MERGE_REQUEST && { merge_request_diff_head_sha: headSha }),
      },
      presenter: note,
      handle: async (context) => {
        const { presenter, input } = context;
        const { body, internal = input.confidential } = input;
        const at = input.created_at;
        const noteable = await findNoteable(context, type, input.noteable_id);
        const head = input["merge_request_diff_head_sha"];
        return writeNote({ ...context, head }, noteable, body, async (text) => {
          const written = { body: text, internal, at };
          const id = await changes.create(context, noteable, written, "individual");
          return (reader) => notes.row(reader, presenter, id);
        });
      },
    }),
    put("/:note_id", {
      summary: takesCommands(type)
        ? "Change a note, or perform quick actions; 202 for nothing but these"
        : "Change a note",
      ...(takesCommands(type) && { alsoAnswers: COMMANDS_ONLY }),
      input: { ...one, body },
      presenter: note,
      handle: async (context) => {
        const { noteable, found } = await find(context, type);
        return editNote(context, noteable, found, context.input.body);
      },
    }),
    del("/:note_id", {
      summary: "Delete a note",
      input: one,
      handle: async (context) => {
        const { noteable, found } = await find(context, type);
        context.requireUnmodified(found.updated_at);
        await changes.remove(context, noteable, found);
        return undefined;
      },
    }),
  ];
}

/** Notes on issues, epics, merge requests and snippets. */
export const noteResource: Resource = {
  name: "Notes",
  migrations,
  routes: NOTED_TYPES.flatMap(routesOf),
};
