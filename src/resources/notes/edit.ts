import { forbidden } from "../../core/errors.ts";
import type { Presenter } from "../../core/presenter.ts";
import type { HandlerResult } from "../../core/resource.ts";
import type { Writing } from "../issuables/type.ts";
import { writeNote } from "../quick-actions/perform.ts";
import { mayAdminNote } from "./abilities.ts";
import { edit } from "./changes.ts";
import * as notes from "./queries.ts";
import type { Noteable } from "./rules.ts";

/**
 * Changes the text of a note, and performs the commands in the new one. With a text of nothing but commands the note
 * stays as it was, and the answer says what they changed.
 *
 * @throws ApiError 403; 400 if the discussion is full, or if there are only commands, none of which can be performed
 */
export function editNote(
  context: Writing & { readonly presenter: Presenter },
  noteable: Noteable,
  note: notes.Note,
  body: string,
): Promise<HandlerResult> {
  if (!mayAdminNote({ noteable, note }, context)) throw forbidden();
  return writeNote(context, noteable, body, async (text) => {
    await edit(context, noteable, note, text);
    return (reader) => notes.row(reader, context.presenter, note.id);
  });
}
