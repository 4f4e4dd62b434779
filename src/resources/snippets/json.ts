import { VISIBILITY_WORDS } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { userSummaryFields } from "../users/json.ts";

const webPath = (id: string, project: string) =>
  project === "null" ? `/-/snippets/${id}` : `/${project}/-/snippets/${id}`;

/** A snippet `s` of a project `p` or, without one, of its author. */
export const snippetFields = {
  id: field.integer("s.id"),
  title: field.text("s.title"),
  file_name: field.text("s.file_name"),
  files: field.derived(
    ["s.file_name", "s.id", "p.full_path"],
    "array of object",
    ([path, id, project], { base }) => [
      { path, raw_url: `${base}${webPath(String(id), String(project))}/raw` },
    ],
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
