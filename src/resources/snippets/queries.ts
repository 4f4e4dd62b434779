import { firstSelective, idsOf, withoutIndex } from "../../core/lists/index-start.ts";
import { paginateFrom } from "../../core/lists/paginate.ts";
import { searchStart } from "../../core/lists/search-index.ts";
import type { Page, RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { insertMany, insertRow } from "../../store/insert.ts";
import { contains } from "../../store/patterns.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import type { SnippetFile, SnippetFiles } from "./files.ts";
import { SNIPPET_SEARCH } from "./search.ts";

const OWNED = "snippets s left join projects p on p.id = s.project_id";
const SNIPPETS = `${OWNED} join users u on u.id = s.author_id`;

/** A snippet as stored. */
export interface Snippet {
  id: number;
  author_id: number;
  updated_at: number;
}

/** The values of a new snippet. */
export interface NewSnippet {
  project_id: number | null;
  author_id: number;
  title: string;
  description?: string | null | undefined;
  visibility: number;
  files: SnippetFiles;
}

/** Changed values of a snippet; `undefined` leaves one as it is. */
interface SnippetChanges {
  title?: string | undefined;
  description?: string | null | undefined;
  visibility?: number | undefined;
  files?: SnippetFiles | undefined;
}

/** When snippets were created that a list has. */
export interface SnippetSpan {
  readonly created_after?: number | undefined;
  readonly created_before?: number | undefined;
}

/** The snippets that match a condition on `s` and their project `p`, newest first. */
export async function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  condition: Condition,
  { created_after, created_before }: SnippetSpan = {},
): Promise<RowPage> {
  const span = [
    when("s.created_at >= ?", created_after),
    when("s.created_at <= ?", created_before),
  ].filter((end) => end !== undefined);
  const starts = span.length > 0 ? [idsOf("snippets s", all(span))] : [];
  const where = all([condition, ...span]);
  return paginateFrom(db, presenter, page, await firstSelective(db, "s", starts), {
    alias: "s",
    tables: OWNED,
    presented: { sql: SNIPPETS, values: [] },
    where,
    picked: all([
      condition,
      when(`${withoutIndex("s.created_at")} >= ?`, created_after),
      when(`${withoutIndex("s.created_at")} <= ?`, created_before),
    ]),
    order: "s.id desc",
  });
}

/** The snippets that match such a condition and whose titles or file names contain a text, newest first. */
export async function search(
  db: Reader,
  presenter: Presenter,
  page: Page,
  readable: Condition,
  text: string,
): Promise<RowPage> {
  return paginateFrom(db, presenter, page, await searchStart(db, SNIPPET_SEARCH, "s", text), {
    alias: "s",
    tables: OWNED,
    presented: { sql: SNIPPETS, values: [] },
    where: all([contains(["s.title", "s.file_name"], text), readable]),
    order: "s.id desc",
  });
}

/** One snippet as a row of its presenter. */
export const row = rowReader(`${SNIPPETS} where s.id = ?`);

/** A snippet by its id, if it matches a condition on `s` and its project `p`, or `undefined`. */
export function find(
  db: Reader,
  snippetId: number,
  where: Condition,
): Awaitable<Snippet | undefined> {
  return db.one<Snippet>(
    `select s.id, s.author_id, s.updated_at from ${OWNED}
     where s.id = ? and ${where.sql}`,
    [snippetId, ...where.values],
  );
}

/** SQL of the paths of a snippet's files after the first. @param snippet SQL of its id */
export const furtherPathsOf = (snippet: string): string =>
  `(select string_agg(f.path, '//' order by f.path) from snippet_files f
    where f.snippet_id = ${snippet})`;

/** The paths that {@link furtherPathsOf} found: two slashes are in none of them. */
export const pathsIn = (found: Value | undefined): string[] =>
  found == null ? [] : String(found).split("//");

/** The files of a snippet that exists. */
export async function filesOf(db: Reader, snippetId: number): Promise<SnippetFiles> {
  const found = await db.all<SnippetFile>(
    `select file_name as path, content, 0 as place from snippets where id = ?
     union all select path, content, 1 from snippet_files where snippet_id = ?
     order by place, path`,
    [snippetId, snippetId],
  );
  return found as unknown as SnippetFiles;
}

/** The content of a snippet's file, by default the first one; `undefined` if there is none with this path. */
export async function contentOf(
  db: Reader,
  snippetId: number,
  path?: string,
): Promise<string | undefined> {
  const [found] =
    path === undefined
      ? await db.rows("select content from snippets where id = ?", [snippetId])
      : await db.rows(
          `select content from snippets where id = ? and file_name = ?
           union all select content from snippet_files where snippet_id = ? and path = ?`,
          [snippetId, path, snippetId, path],
        );
  return found?.[0] as string | undefined;
}

/** Adds a snippet and returns its id. */
export async function insert(db: Database, snippet: NewSnippet, now: number): Promise<number> {
  const [{ path, content }, ...further] = snippet.files;
  const id = await insertRow(db, "snippets", {
    project_id: snippet.project_id,
    author_id: snippet.author_id,
    title: snippet.title,
    file_name: path,
    description: snippet.description ?? null,
    content,
    visibility: snippet.visibility,
    created_at: now,
    updated_at: now,
  });
  await insertFurther(db, id, further);
  return id;
}

/** Changes a snippet. */
export async function change(
  db: Database,
  snippetId: number,
  { files, ...changes }: SnippetChanges,
  now: number,
): Promise<void> {
  const first = files && { file_name: files[0].path, content: files[0].content };
  await updateRow(db, "snippets", snippetId, { ...changes, ...first }, now);
  if (!files) return;
  await db.run("delete from snippet_files where snippet_id = ?", [snippetId]);
  await insertFurther(db, snippetId, files.slice(1));
}

function insertFurther(db: Database, snippetId: number, files: readonly SnippetFile[]) {
  const rows = files.map(({ path, content }) => [snippetId, path, content]);
  return insertMany(db, "snippet_files", ["snippet_id", "path", "content"], rows);
}

/** Removes a snippet. */
export async function remove(db: Database, snippetId: number): Promise<void> {
  await db.run("delete from snippets where id = ?", [snippetId]);
}
