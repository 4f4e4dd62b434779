import { type Owner, ownedBy } from "../../core/access/owner.ts";
import type { Source } from "../../core/access/source.ts";
import { notFound } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import { type Page, pageReader, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { type Listed, SUBJECT_ID, type Subject } from "./subjects.ts";

const SCOPE = `left join milestones m on m.id = b.milestone_id
  left join namespaces mn on mn.id = m.namespace_id left join projects mp on mp.id = m.project_id
  left join users u on u.id = b.assignee_id`;
const BOARDS = {
  group: `boards b join namespaces n on n.id = b.namespace_id ${SCOPE}`,
  project: `boards b join projects p on p.id = b.project_id join namespaces n on n.id = p.namespace_id ${SCOPE}`,
};
/** Lists with what they are of, without the open and closed ones. */
const LISTS = `board_lists bl left join labels l on l.id = bl.label_id
  left join milestones m on m.id = bl.milestone_id
  left join namespaces mn on mn.id = m.namespace_id left join projects mp on mp.id = m.project_id
  left join users u on u.id = bl.assignee_id
  left join iterations it on it.id = bl.iteration_id left join namespaces itn on itn.id = it.namespace_id
  where bl.position is not null`;

/** The boards of a group or project, oldest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  source: Source,
): Promise<RowPage> {
  const owned = ownedBy("b", source);
  return paginate(db, presenter, page, {
    from: `${BOARDS[source.kind]} where ${owned.sql}`,
    values: owned.values,
    order: "b.id",
  });
}

/** One board of a group or project as a row of its presenter. */
export async function row(
  db: Reader,
  presenter: Presenter,
  kind: Source["kind"],
  boardId: number,
): Promise<Value[]> {
  const [found] = await db.rows(`select ${presenter.columns} from ${BOARDS[kind]} where b.id = ?`, [
    boardId,
  ]);
  return found as Value[];
}

/** A board as stored. */
export interface Board {
  id: number;
  updated_at: number;
}

/** A board of a group or project, or `undefined`. */
export function find(db: Reader, owner: Owner, boardId: number): Awaitable<Board | undefined> {
  return db.one<Board>(`select id, updated_at from boards where id = ? and ${owner.column} = ?`, [
    boardId,
    owner.id,
  ]);
}

/** The values of a new board. */
export interface NewBoard {
  name: string;
  hide_backlog_list?: number | undefined;
  hide_closed_list?: number | undefined;
  milestone_id?: number | null | undefined;
  assignee_id?: number | null | undefined;
  weight?: number | null | undefined;
}

/** Adds a board with its open and closed lists, and returns its id. */
export async function insert(
  db: Database,
  owner: Owner,
  board: NewBoard,
  now: number,
): Promise<number> {
  const boardId = await insertRow(db, "boards", {
    [owner.column]: owner.id,
    name: board.name,
    hide_backlog_list: board.hide_backlog_list ?? 0,
    hide_closed_list: board.hide_closed_list ?? 0,
    milestone_id: board.milestone_id ?? null,
    assignee_id: board.assignee_id ?? null,
    weight: board.weight ?? null,
    created_at: now,
    updated_at: now,
  });
  await db.run(
    `insert into board_lists (board_id, list_type, created_at, updated_at)
     values (?, 'backlog', ?, ?), (?, 'closed', ?, ?)`,
    [boardId, now, now, boardId, now, now],
  );
  return boardId;
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

/** What boards show of others: their lists, and the labels of their scope. */
const SHOWN = {
  lists: { from: LISTS, order: "bl.position, bl.id" },
  labels: {
    from: "board_labels bl join labels l on l.id = bl.label_id where 1 = 1",
    order: "l.name, l.id",
  },
};

/** Fills in the rows' lists or labels as JSON, if they are shown, in one query for all boards. */
export async function embed(
  db: Reader,
  name: keyof typeof SHOWN,
  rows: Value[][],
  boards: Presenter,
  shown: Presenter,
  view: View,
): Promise<void> {
  if (rows.length === 0 || !boards.fields[name]?.columns.length) return;
  const [idAt, shownAt] = [boards.at("id"), boards.at(name)];
  const { sql, values } = placeholders(rows.map((board) => board[idAt] as number));
  const { from, order } = SHOWN[name];
  const found = await db.rows(
    `select ${shown.columns}, bl.board_id from ${from} and bl.board_id in (${sql})
     order by bl.board_id, ${order}`,
    values,
  );
  const byBoard = new Map<Value, string>();
  for (const one of found) {
    const boardId = one.at(-1) as Value;
    const before = byBoard.get(boardId);
    const written = shown.write(one, view);
    byBoard.set(boardId, before === undefined ? written : `${before},${written}`);
  }
  for (const board of rows) board[shownAt] = `[${byBoard.get(board[idAt] as Value) ?? ""}]`;
}

/** The lists of a board in order, without the open and closed ones. */
export const listLists = pageReader({
  from: `${LISTS} and bl.board_id = ?`,
  order: "bl.position, bl.id",
});

/**
 * One list as a row of its presenter, or `undefined` if its owner has no such board or the board no such list besides the
 * open and closed ones.
 */
export async function listRow(
  db: Reader,
  presenter: Presenter,
  owner: Owner,
  boardId: number,
  listId: number,
): Promise<Value[] | undefined> {
  const owned = ownedBy("b", owner);
  const [found] = await db.rows(
    `select ${presenter.columns} from ${LISTS} and bl.id = ? and bl.board_id = ?
     and exists (select 1 from boards b where b.id = bl.board_id and ${owned.sql})`,
    [listId, boardId, ...owned.values],
  );
  return found;
}

/** A list of a board as stored. */
export interface BoardList {
  id: number;
  board_id: number;
  /** `backlog` for the list of open issues that are in no other list. */
  list_type: "backlog" | Subject | "closed";
  /** The id of what it is of. The open and the closed list have neither that nor a position. */
  subject_id: number | null;
  position: number | null;
  updated_at: number;
}

/** A list of a board, or `undefined`. */
export function findList(
  db: Reader,
  boardId: number,
  listId: number,
): Awaitable<BoardList | undefined> {
  return db.one<BoardList>(
    `select bl.id, bl.board_id, bl.list_type, ${SUBJECT_ID} as subject_id, bl.position, bl.updated_at
     from board_lists bl where bl.id = ? and bl.board_id = ?`,
    [listId, boardId],
  );
}

/** The id of a board's open or closed list. @throws ApiError 404 if there is no such board */
export async function fixedListOf(
  db: Reader,
  boardId: number,
  type: "backlog" | "closed" = "backlog",
): Promise<number> {
  const [found] = await db.rows("select id from board_lists where board_id = ? and list_type = ?", [
    boardId,
    type,
  ]);
  if (!found) throw notFound("Board");
  return found[0] as number;
}

/** Whether a board has a list of this. */
export async function hasListOf(
  db: Reader,
  boardId: number,
  { type, id }: Listed,
): Promise<boolean> {
  const found = await db.rows(`select 1 from board_lists where board_id = ? and ${type}_id = ?`, [
    boardId,
    id,
  ]);
  return found.length > 0;
}

/** Adds a list behind the others, the first at position 0, and returns its id. */
export async function insertList(
  db: Database,
  boardId: number,
  { type, id }: Listed,
  now: number,
): Promise<number> {
  return insertRow(db, "board_lists", {
    board_id: boardId,
    list_type: type,
    [`${type}_id`]: id,
    position: (await lastPosition(db, boardId)) + 1,
    created_at: now,
    updated_at: now,
  });
}

/** The highest position on a board; -1 if it has only the open and closed lists. */
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
