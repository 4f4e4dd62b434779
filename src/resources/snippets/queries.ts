import { paginateNarrowed } from "../../core/narrowed.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { all, type Condition } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { contains } from "../../store/patterns.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { narrowing } from "../../store/search.ts";
import { SNIPPET_SEARCH } from "./search.ts";

const OWNED = "snippets s left join projects p on p.id = s.project_id";
const SNIPPETS = `${OWNED} join users u on u.id = s.author_id`;

/** A snippet as stored. */
export interface Snippet {
  id: number;
  author_id: number;
  file_name: string;
  updated_at: number;
}

/** The values of a new snippet. */
export interface NewSnippet {
  project_id: number | null;
  author_id: number;
  title: string;
  file_name: string;
  description?: string | null | undefined;
  content: string;
  visibility: number;
}

/** The snippets that match a condition on `s` and their project `p`, newest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  where: Condition,
): Promise<RowPage> {
  return paginate(db, presenter, page, {
    from: `${SNIPPETS} where ${where.sql}`,
    countFrom: `${OWNED} where ${where.sql}`,
    values: where.values,
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
  return paginateNarrowed(db, presenter, page, await narrowing(db, SNIPPET_SEARCH, "s", text), {
    alias: "s",
    tables: OWNED,
    presented: { sql: SNIPPETS, values: [] },
    where: all([contains(["s.title", "s.file_name"], text), readable]),
    order: "s.id desc",
  });
}

/** One snippet as a row of its presenter. */
export async function row(db: Reader, presenter: Presenter, snippetId: number): Promise<Value[]> {
  const [found] = await db.rows(`select ${presenter.columns} from ${SNIPPETS} where s.id = ?`, [
    snippetId,
  ]);
  return found as Value[];
}

/** A snippet by its id, if it matches a condition on `s` and its project `p`, or `undefined`. */
export function find(
  db: Reader,
  snippetId: number,
  where: Condition,
): Awaitable<Snippet | undefined> {
  return db.one<Snippet>(
    `select s.id, s.author_id, s.file_name, s.updated_at from ${OWNED}
     where s.id = ? and ${where.sql}`,
    [snippetId, ...where.values],
  );
}

/** The content of a snippet that exists. */
export async function contentOf(db: Reader, snippetId: number): Promise<string> {
  const [found] = await db.rows("select content from snippets where id = ?", [snippetId]);
  return (found as [string])[0];
}

/** Adds a snippet and returns its id. */
export function insert(db: Database, snippet: NewSnippet, now: number): Promise<number> {
  return insertRow(db, "snippets", {
    project_id: snippet.project_id,
    author_id: snippet.author_id,
    title: snippet.title,
    file_name: snippet.file_name,
    description: snippet.description ?? null,
    content: snippet.content,
    visibility: snippet.visibility,
    created_at: now,
    updated_at: now,
  });
}

/** Removes a snippet. */
export async function remove(db: Database, snippetId: number): Promise<void> {
  await db.run("delete from snippets where id = ?", [snippetId]);
}
