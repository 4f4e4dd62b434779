import type { Source } from "../../core/access/source.ts";
import { invalid, refused } from "../../core/errors.ts";
import { hasTier, type Tier } from "../../core/resource.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { labelsNamed } from "../labels/rules.ts";
import * as milestones from "../milestones/queries.ts";
import * as users from "../users/queries.ts";
import * as boards from "./queries.ts";
import type { Listed } from "./subjects.ts";

/** The group or project whose boards are changed, and the tier. */
export interface Owning {
  readonly source: Source;
  readonly tier: Tier;
}

/** The tier that adding, changing and deleting the boards of a group or project needs. */
export const BOARD_TIERS = { group: "premium", project: "free" } as const satisfies Record<
  Source["kind"],
  Tier
>;

/** The attributes of a board that can be changed: its name, which lists it hides, and its scope. */
export interface BoardChange {
  name?: string | undefined;
  hide_backlog_list?: boolean | undefined;
  hide_closed_list?: boolean | undefined;
  /** 0 and unknown users clear it. */
  assignee_id?: number | null | undefined;
  /** 0 clears it; milestones of neither the board's owner nor a group above are ignored. */
  milestone_id?: number | null | undefined;
  /** Names; missing labels are created. */
  labels?: readonly string[] | null | undefined;
  weight?: number | null | undefined;
}

/**
 * Adds a board with its open and closed lists. The free tier has no scopes: they are ignored, as in GitLab.
 *
 * @returns its id
 * @throws ApiError 400 for a name that no label can have
 */
export async function createBoard(
  db: Database,
  owning: Owning,
  board: BoardChange & { name: string },
  now: number,
): Promise<number> {
  const { name } = board;
  const id = await boards.insert(
    db,
    owning.source,
    { ...(await columnsOf(db, owning, board)), name },
    now,
  );
  await setLabels(db, owning, id, board.labels, now);
  return id;
}

/**
 * Changes a board. Attributes that are `undefined` keep their values, and those of the scope do in the free tier.
 *
 * @throws ApiError 400 for a name that no label can have
 */
export async function updateBoard(
  db: Database,
  owning: Owning,
  boardId: number,
  change: BoardChange,
  now: number,
): Promise<void> {
  await updateRow(db, "boards", boardId, await columnsOf(db, owning, change), now);
  await setLabels(db, owning, boardId, change.labels, now);
}

const hasScopes = ({ tier }: Owning) => hasTier(tier, "premium");

async function columnsOf(db: Reader, owning: Owning, change: BoardChange) {
  const { name, hide_backlog_list, hide_closed_list, assignee_id, milestone_id, weight } = change;
  return {
    name,
    hide_backlog_list: hide_backlog_list === undefined ? undefined : Number(hide_backlog_list),
    hide_closed_list: hide_closed_list === undefined ? undefined : Number(hide_closed_list),
    ...(hasScopes(owning) && {
      assignee_id: assignee_id
        ? ((await users.find(db, assignee_id))?.id ?? null)
        : cleared(assignee_id),
      milestone_id: milestone_id
        ? (await milestones.findFor(db, owning.source, { id: milestone_id }))?.id
        : cleared(milestone_id),
      weight,
    }),
  };
}

const cleared = (id: number | null | undefined) => (id === 0 ? null : (id as null | undefined));

async function setLabels(
  db: Database,
  owning: Owning,
  boardId: number,
  names: readonly string[] | null | undefined,
  now: number,
): Promise<void> {
  if (names === undefined || !hasScopes(owning)) return;
  const labelIds = await labelsNamed(db, owning.source, names ?? [], now);
  await boards.replaceLabels(db, boardId, labelIds);
}

/** Deletes a board with its lists. */
export async function destroyBoard(db: Database, boardId: number): Promise<void> {
  await boards.remove(db, boardId);
}

/**
 * Adds a list to a board, behind its other lists or at a position.
 *
 * @param listed what it is of, which `requireSubject` has found
 * @returns its id
 * @throws ApiError 400 if the board has such a list
 */
export async function createList(
  db: Database,
  boardId: number,
  listed: Listed & { readonly position?: number | undefined },
  now: number,
): Promise<number> {
  const { type, position } = listed;
  if (await boards.hasListOf(db, boardId, listed)) {
    throw invalid({ [`${type}_id`]: ["has already been taken"] });
  }
  const id = await boards.insertList(db, boardId, listed, now);
  const last = await boards.lastPosition(db, boardId);
  if (position !== undefined && position >= 0 && position < last) {
    await boards.moveList(db, boardId, { id, position: last }, position, now);
  }
  return id;
}

/**
 * Moves a list to another position; those in between shift by one.
 *
 * @throws ApiError 400 for the open and the closed list, the list's own position, and positions that do not exist
 */
export async function moveList(
  db: Database,
  list: boards.BoardList,
  position: number,
  now: number,
): Promise<void> {
  const { id, board_id, position: from } = list;
  const last = await boards.lastPosition(db, board_id);
  if (from === null || position < 0 || position > last || position === from) {
    throw refused("List could not be moved!");
  }
  await boards.moveList(db, board_id, { id, position: from }, position, now);
}

/**
 * Removes a list from its board; those behind it move up.
 *
 * @throws ApiError 400 for the open and the closed list
 */
export async function destroyList(db: Database, list: boards.BoardList): Promise<void> {
  const { id, board_id, position } = list;
  if (position === null) throw refused("List could not be deleted!");
  await boards.removeList(db, board_id, { id, position });
}

/** Collapses a list for one user, or expands it. */
export async function collapseList(
  db: Database,
  listId: number,
  userId: number,
  collapsed: boolean,
): Promise<void> {
  await db.run(
    collapsed
      ? "insert into collapsed_board_lists (list_id, user_id) values (?, ?) on conflict do nothing"
      : "delete from collapsed_board_lists where list_id = ? and user_id = ?",
    [listId, userId],
  );
}
