import * as field from "../../core/field.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, presenter } from "../../core/presenter.ts";
import { PathFinder } from "../../git/history.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import type { OpenRepository } from "../repositories/open.ts";
import { userFields } from "../users/json.ts";

/** A comment on a commit. */
export const comment = presenter({
  note: field.text("cc.note"),
  path: field.text("cc.path"),
  line: field.integer("cc.line"),
  line_type: { ...field.text("cc.line_type"), type: "new, old" },
  author: field.nested(userFields("u")),
  created_at: field.instant("cc.created_at"),
});

const COMMENTS = "commit_comments cc join users u on u.id = cc.author_id";

/** The comments on a commit, the oldest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  projectId: number,
  commitId: string,
): Promise<RowPage> {
  return paginate(db, presenter, page, {
    from: `${COMMENTS} where cc.project_id = ? and cc.commit_id = ?`,
    values: [projectId, commitId],
    order: "cc.created_at, cc.id",
  });
}

/** One comment as a row of its presenter. */
export async function row(db: Reader, presenter: Presenter, id: number): Promise<Value[]> {
  const sql = `select ${presenter.columns} from ${COMMENTS} where cc.id = ?`;
  const [found] = await db.rows(sql, [id]);
  return found as Value[];
}

/** A comment to write. */
interface NewComment {
  project_id: number;
  commit_id: string;
  author_id: number;
  note: string;
  path?: string | undefined;
  line?: number | undefined;
  line_type?: "new" | "old" | undefined;
}

/** Adds a comment and returns its id. */
export function insert(db: Database, comment: NewComment, now: number): Promise<number> {
  const { path = null, line = null, line_type = null, ...rest } = comment;
  return insertRow(db, "commit_comments", { ...rest, path, line, line_type, created_at: now });
}

/** Whether a commit changed what is at a path, compared with its first parent. */
export async function isChanged(
  { repository }: OpenRepository,
  commit: number,
  path: string,
): Promise<boolean> {
  const finder = new PathFinder(repository, path);
  const [parent] = repository.graph.parentsOf(commit);
  const now = await finder.at(commit);
  return parent === undefined ? !PathFinder.isNothing(now) : (await finder.at(parent)) !== now;
}
