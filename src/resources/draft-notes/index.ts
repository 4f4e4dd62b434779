import { badRequest, forbidden, invalid, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { commitId, position } from "../discussions/input.ts";
import { placeOnRequest } from "../discussions/requests.ts";
import { mayCreateNote } from "../issuables/abilities.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import type { Writing } from "../issuables/type.ts";
import { mayResolveNote } from "../notes/abilities.ts";
import * as changes from "../notes/changes.ts";
import * as discussions from "../notes/discussions.ts";
import { body } from "../notes/input.ts";
import { findNoteable, type Noteable } from "../notes/rules.ts";
import { type Command, MAX_COMMANDS } from "../quick-actions/parse.ts";
import { afterCommands, commandsIn } from "../quick-actions/perform.ts";
import * as drafts from "./queries.ts";
import { migrations } from "./table.ts";

/** The most drafts that a user has on a merge request: all of them are published at once. */
const MOST = 100;

const number = { merge_request_iid: param.recordId() };
const one = { ...number, draft_note_id: param.recordId() };

type In = Pick<Context, "source" | "viewer"> & {
  db: Reader;
  caller: { readonly id: number };
  input: { merge_request_iid: number };
};

/** The merge request, and whose drafts on it the caller sees: their own. */
async function place(context: In): Promise<{ request: Noteable; of: drafts.Of }> {
  const request = await findNoteable(context, MERGE_REQUEST, context.input.merge_request_iid);
  return { request, of: { merge_request_id: request.id, author_id: context.caller.id } };
}

async function find(context: In & { input: { draft_note_id: number } }) {
  const { request, of } = await place(context);
  const found = await drafts.find(context.db, of, context.input.draft_note_id);
  if (!found) throw notFound();
  return { request, of, found };
}

/**
 * Makes a draft a note, or a reply if its discussion is still there. A text of nothing but commands is no note.
 *
 * @param most how many commands are cut out of its text
 * @returns these commands, which are to be performed
 */
async function publish(
  writing: Writing,
  request: Noteable,
  { id, body: written, thread_id, resolve_discussion, path, ...draft }: drafts.Draft,
  most: number,
): Promise<readonly Command[]> {
  const { db, viewer } = writing;
  const { text: body, commands } = commandsIn(MERGE_REQUEST, written, most);
  const discussion =
    thread_id === null
      ? undefined
      : await discussions.find(db, request.type, request.id, discussions.idOf(thread_id), viewer);
  if (discussion) {
    if (body !== "") await changes.reply(writing, request, discussion, { body });
    if (mayResolveNote({ noteable: request, resolved: undefined }, writing)) {
      await changes.setResolved(writing, request, discussion.number, resolve_discussion === 1);
    }
  } else if (body !== "") {
    const { line, line_type, line_code, position, commit_id: commitId } = draft;
    const place = path === null ? undefined : { path, line, line_type, line_code, position };
    await changes.create(writing, request, { body, place, commitId }, "thread");
  }
  await drafts.remove(db, id);
  return commands;
}

/** Performs the commands of published drafts. */
const performed = (context: Writing, { id }: Noteable, commands: readonly Command[]) =>
  afterCommands(context, MERGE_REQUEST, id, commands, () => undefined);

const { del, get, list, post, put } = routes({
  source: "project",
  path: "/merge_requests/:merge_request_iid/draft_notes",
  features: ["merge_requests"],
});

/** Notes on merge requests that only their author sees until they are published. */
export const draftNoteResource: Resource = {
  name: "Draft notes",
  migrations,
  routes: [
    list("", {
      summary: "List the caller's drafts on a merge request, the oldest first",
      input: number,
      presenter: drafts.draft,
      handle: async (context) => {
        const { db, presenter, page } = context;
        return drafts.list(db, presenter, page, (await place(context)).of);
      },
    }),
    get("/:draft_note_id", {
      summary: "Get a draft of the caller",
      input: one,
      presenter: drafts.draft,
      handle: async (context) => {
        const { found } = await find(context);
        return drafts.row(context.db, context.presenter, found.id);
      },
    }),
    post("", {
      summary: "Write a draft, which only the caller sees until it is published",
      input: {
        ...number,
        note: body,
        in_reply_to_discussion_id: param.optional(param.anyText()),
        resolve_discussion: param.optional(param.boolean()),
        position,
        commit_id: commitId,
      },
      presenter: drafts.draft,
      prepare: (input, preparing) => placeOnRequest(preparing, input.merge_request_iid, input),
      handle: async (context) => {
        const { db, presenter, viewer, source, input, now } = context;
        const { request, of } = await place(context);
        if (!mayCreateNote(request, context)) throw forbidden();
        if ((await drafts.idsOf(db, of)).length >= MOST) {
          throw badRequest(`A user has at most ${MOST} drafts on a merge request`);
        }
        const { in_reply_to_discussion_id: replied, resolve_discussion = false } = input;
        const discussion = replied
          ? await discussions.find(db, request.type, request.id, replied, viewer)
          : undefined;
        if (replied && !discussion) throw invalid({ base: ["Thread to reply to cannot be found"] });
        const draft = {
          ...of,
          project_id: source.id,
          body: input.note,
          thread_id: discussion?.number ?? null,
          resolve_discussion,
          place: context.prepared,
          commit_id: input.commit_id ?? null,
        };
        return drafts.row(db, presenter, await drafts.insert(db, draft, now));
      },
    }),
    put("/:draft_note_id", {
      summary: "Change a draft",
      input: { ...one, note: param.optional(body), position },
      atLeastOne: ["note", "position"],
      presenter: drafts.draft,
      prepare: ({ merge_request_iid, position }, preparing) =>
        placeOnRequest(preparing, merge_request_iid, { position }),
      handle: async (context) => {
        const { db, presenter, input, prepared, now } = context;
        const { found } = await find(context);
        await drafts.update(db, found.id, { body: input.note, place: prepared }, now);
        return drafts.row(db, presenter, found.id);
      },
    }),
    put("/:draft_note_id/publish", {
      summary: "Make a draft a note",
      input: one,
      handle: async (context) => {
        const { request, found } = await find(context);
        return performed(context, request, await publish(context, request, found, MAX_COMMANDS));
      },
    }),
    post("/bulk_publish", {
      summary: "Make all of the caller's drafts notes",
      input: number,
      status: 204,
      handle: async (context) => {
        const { db } = context;
        const { request, of } = await place(context);
        const commands: Command[] = [];
        for (const id of await drafts.idsOf(db, of)) {
          const found = await drafts.find(db, of, id);
          const most = MAX_COMMANDS - commands.length;
          if (found) commands.push(...(await publish(context, request, found, most)));
        }
        return performed(context, request, commands);
      },
    }),
    del("/:draft_note_id", {
      summary: "Delete a draft",
      input: one,
      handle: async (context) => {
        const { found } = await find(context);
        await drafts.remove(context.db, found.id);
        return undefined;
      },
    }),
  ],
};
