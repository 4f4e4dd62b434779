import { visibleProjects, visibleSnippets } from "../../core/access/visibility.ts";
import type { NoteableType } from "../issuables/type.ts";

/** Snippets of projects, as their notes and awards need them. */
export const SNIPPET: NoteableType = {
  table: "snippets",
  alias: "s",
  column: "snippet_id",
  number: "id",
  prefix: "snippet",
  className: "Snippet",
  path: "snippets",
  sigil: "$",
  name: "snippet",
  one: "a snippet",
  whenDisabled: "refuse",
  visible: visibleSnippets,
  projects: visibleProjects,
};
