import * as param from "../../core/input.ts";

/** The attribute with the commit of a merge request that a note is about. */
export const commitId = param.unlessBlank(param.anyText());

/** The attribute with the place of a note in a diff, for `readPosition`. */
export const position = param.optional(
  param.json("the place in a diff (docs/git.md#comments-on-lines)"),
);
