import { VISIBILITY_WORDS } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import type { Value } from "../../store/port.ts";
import { userSummaryFields } from "../users/json.ts";
import { furtherPathsOf, pathsIn } from "./queries.ts";

const webPath = (id: string, project: string) =>
  project === "null" ? `/-/snippets/${id}` : `/${project}/-/snippets/${id}`;

/** The branch that the files of snippets are on. */
export const BRANCH = "main";

/** The path of a snippet's file, from its id, the path of its project and its own. */
export const rawPath = ([id, project, path]: readonly Value[]): string => {
  const segments = String(path).split("/").map(encodeURIComponent).join("/");
  return `${webPath(String(id), String(project))}/raw/${BRANCH}/${segments}`;
};

/** A snippet `s` of a project `p` or, without one, of its author. */
export const snippetFields = {
  id: field.integer("s.id"),
  title: field.text("s.title"),
  file_name: field.text("s.file_name"),
  files: field.derived(
    ["s.file_name", furtherPathsOf("s.id"), "s.id", "p.full_path"],
    "array of object",
    ([first, further, id, project], { base }) =>
      [String(first), ...pathsIn(further)].map((path) => ({
        path,
        raw_url: `${base}${rawPath([id as Value, project as Value, path])}`,
      })),
  ),
  description: field.text("s.description"),
  visibility: field.word("s.visibility", VISIBILITY_WORDS),
  author: field.nested(userSummaryFields),
  updated_at: field.instant("s.updated_at"),
  created_at: field.instant("s.created_at"),
  project_id: field.integer("s.project_id"),
  web_url: field.url(["s.id", "p.full_path"], webPath),
  raw_url: field.url(["s.id", "p.full_path"], (id, project) => `${webPath(id, project)}/raw`),
};

/** A snippet. */
export const snippet = presenter(snippetFields);
