import type { View } from "../../core/field.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";

const BOARDS = `boards b join namespaces n on n.id = b.namespace_id
  left join milestones m on m.id = b.milestone_id left join namespaces mn on mn.id = m.namespace_id
  left join users u on u.id = b.assignee_id`;
const LISTS = "board_lists bl join labels l on l.id = bl.label_id";

/** The boards of a group, oldest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  groupId: number,
): Promise<RowPage> {
  return paginate(db, presenter, page, {
    from: `${BOARDS} where b.namespace_id = ?`,
    values: [groupId],
    order: "b.id",
  });
}

/** One board as a row of its presenter. */
export async function row(db: Reader, presenter: Presenter, boardId: number): Promise<Value[]> {
  const [found] = await db.rows(`select ${presenter.columns} from ${BOARDS} where b.id = ?`, [
    boardId,
  ]);
  return found as Value[];
}

/** A board of a group, or `undefined`. */
export function find(
  db: Reader,
  groupId: number,
  boardId: number,
): Awaitable<{ id: number; updated_at: number } | undefined> {
  return db.one<{ id: number; updated_at: number }>(
    "select id, updated_at from boards where id = ? and namespace_id = ?",
    [boardId, groupId],
  );
}

/** Adds a board and returns its id. */
export function insert(db: Database, groupId: number, name: string, now: number): Promise<number> {
  const row = { namespace_id: groupId, name, created_at: now, updated_at: now };
  return insertRow(db, "boards", row);
}

/** Replaces the labels of a board's scope. */
export async function replaceLabels(
  db: Database,
  boardId: number,
  labelIds: readonly number[],
): Promise<void> {
  await db.run("delete from board_labels where board_id = ?", [boardId]);
  for (const labelId of labelIds) {
    await db.run("insert into board_labels (board_id, label_id) values (?, ?)", [boardId, labelId]);
  }
}

/** Removes a board and its lists. */
export async function remove(db: Database, boardId: number): Promise<void> {
  await db.run("delete from boards where id = ?", [boardId]);
}

/** The labels of a board's scope, as a JSON array in the given presenter. */
export async function scopeLabels(
  db: Reader,
  presenter: Presenter,
  boardId: number,
  view: View,
): Promise<string> {
  const rows = await db.rows(
    `select ${presenter.columns} from board_labels bl join labels l on l.id = bl.label_id
     where bl.board_id = ? order by l.name, l.id`,
    [boardId],
  );
  return `[${rows.map((found) => presenter.write(found, view)).join(",")}]`;
}

/** Fills in the rows' `lists` with each board's lists as JSON, in one query for all boards. */
export async function embedLists(
  db: Reader,
  rows: Value[][],
  boards: Presenter,
  lists: Presenter,
  view: View,
): Promise<void> {
  if (rows.length === 0) return;
  const idAt = boards.at("id");
  const listsAt = boards.at("lists");
  const { sql, values } = placeholders(rows.map((board) => board[idAt] as number));
  const found = await db.rows(
    `select ${lists.columns}, bl.board_id from ${LISTS} where bl.board_id in (${sql})
     order by bl.board_id, bl.position, bl.id`,
    values,
  );
  const byBoard = new Map<Value, string>();
  for (const one of found) {
    const boardId = one.at(-1) as Value;
    const before = byBoard.get(boardId);
    const written = lists.write(one, view);
    byBoard.set(boardId, before === undefined ? written : `${before},${written}`);
  }
  for (const board of rows) board[listsAt] = `[${byBoard.get(board[idAt] as Value) ?? ""}]`;
}

/** The lists of a board in order. The open and closed lists are not stored. */
export function listLists(
  db: Reader,
  presenter: Presenter,
  page: Page,
  boardId: number,
): Promise<RowPage> {
  return paginate(db, presenter, page, {
    from: `${LISTS} where bl.board_id = ?`,
    values: [boardId],
    order: "bl.position, bl.id",
  });
}

/** One list as a row of its presenter, or `undefined` if the group has no such board or the board no such list. */
export async function listRow(
  db: Reader,
  presenter: Presenter,
  groupId: number,
  boardId: number,
  listId: number,
): Promise<Value[] | undefined> {
  const [found] = await db.rows(
    `select ${presenter.columns} from ${LISTS} join boards b on b.id = bl.board_id
     where bl.id = ? and bl.board_id = ? and b.namespace_id = ?`,
    [listId, boardId, groupId],
  );
  return found;
}

/** A list of a board, or `undefined`. */
export function findList(
  db: Reader,
  boardId: number,
  listId: number,
): Awaitable<{ id: number; position: number; updated_at: number } | undefined> {
  return db.one<{ id: number; position: number; updated_at: number }>(
    "select id, position, updated_at from board_lists where id = ? and board_id = ?",
    [listId, boardId],
  );
}

/** Whether a board has a list for this label. */
export async function hasListOf(db: Reader, boardId: number, labelId: number): Promise<boolean> {
  const found = await db.rows("select 1 from board_lists where board_id = ? and label_id = ?", [
    boardId,
    labelId,
  ]);
  return found.length > 0;
}

/** Adds a list behind the others, the first at position 0, and returns its id. */
export async function insertList(
  db: Database,
  boardId: number,
  labelId: number,
  now: number,
): Promise<number> {
  const position = (await lastPosition(db, boardId)) + 1;
  const row = { board_id: boardId, label_id: labelId, position, created_at: now, updated_at: now };
  return insertRow(db, "board_lists", row);
}

/** The highest position on a board; -1 if it has no lists. */
export async function lastPosition(db: Reader, boardId: number): Promise<number> {
  const found = await db.one<{ position: number | null }>(
    "select max(position) as position from board_lists where board_id = ?",
    [boardId],
  );
  return found?.position ?? -1;
}

/** Moves a list to another position; those in between shift by one. */
export async function moveList(
  db: Database,
  boardId: number,
  from: { id: number; position: number },
  to: number,
  now: number,
): Promise<void> {
  const [shift, low, high] =
    to > from.position ? [-1, from.position + 1, to] : [1, to, from.position - 1];
  await db.run(
    "update board_lists set position = position + ? where board_id = ? and position between ? and ?",
    [shift as number, boardId, low as number, high as number],
  );
  await db.run("update board_lists set position = ?, updated_at = ? where id = ?", [
    to,
    now,
    from.id,
  ]);
}

/** Removes a list; those behind it move up. */
export async function removeList(
  db: Database,
  boardId: number,
  from: { id: number; position: number },
): Promise<void> {
  await db.run("delete from board_lists where id = ?", [from.id]);
  await db.run(
    "update board_lists set position = position - 1 where board_id = ? and position > ?",
    [boardId, from.position],
  );
}
