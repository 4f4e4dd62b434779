import * as param from "../../core/input.ts";

/** The path parameter with the number, or the id, of what a note is written on. */
export const target = { noteable_id: param.recordId() };

/** The text of a note. */
export const body = param.text({ max: 1_000_000 });

/** The attributes of a new note. */
export const reply = { body, created_at: param.optional(param.looseInstant()) };

/** The attributes of a note that is not a reply. `confidential` is the old name of `internal`. */
export const written = {
  ...reply,
  internal: param.optional(param.boolean()),
  confidential: param.optional(param.boolean()),
};
