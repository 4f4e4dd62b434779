import * as field from "../../core/field.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, presenter, rowReader } from "../../core/presenter.ts";
import type { Reader } from "../../store/port.ts";
import { userFields } from "../users/json.ts";

/** A note on a commit, as a comment. */
export const comment = presenter({
  note: field.text("nt.body"),
  path: field.text("np.path"),
  line: field.integer("np.line"),
  line_type: { ...field.text("np.line_type"), type: "new, old" },
  author: field.nested(userFields("u")),
  created_at: field.instant("nt.created_at"),
});

const COMMENTS = `notes nt left join note_positions np on np.note_id = nt.id
  left join users u on u.id = nt.author_id`;

/** The comments on a commit, the oldest first. @param id by which notes know the commit */
export function list(db: Reader, presenter: Presenter, page: Page, id: number): Promise<RowPage> {
  return paginate(db, presenter, page, {
    from: `${COMMENTS} where nt.noted_commit_id = ?`,
    countFrom: "notes nt where nt.noted_commit_id = ?",
    values: [id],
    order: "nt.created_at, nt.id",
  });
}

/** One comment as a row of its presenter. */
export const row = rowReader(`${COMMENTS} where nt.id = ?`);
