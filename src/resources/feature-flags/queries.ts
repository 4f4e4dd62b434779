import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import { all, when } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import type { Strategy } from "./strategies.ts";

/** A feature flag, as handlers need it. */
export interface Flag {
  readonly id: number;
  readonly name: string;
  readonly description: string | null;
  readonly active: number;
  /** JSON. */
  readonly strategies: string;
  readonly next_id: number;
  readonly updated_at: number;
}

const FLAG =
  "select id, name, description, active, strategies, next_id, updated_at from feature_flags";

/** The strategies of a flag. */
export const strategiesOf = ({ strategies }: Pick<Flag, "strategies">) =>
  JSON.parse(strategies) as readonly Strategy[];

/** A flag of a project by its name, or `undefined`. */
export function find(db: Reader, projectId: number, name: string): Awaitable<Flag | undefined> {
  return db.one<Flag>(`${FLAG} where project_id = ? and name = ?`, [projectId, name]);
}

/** All flags of a project, by name. */
export function findAll(db: Reader, projectId: number): Awaitable<Flag[]> {
  return db.all<Flag>(`${FLAG} where project_id = ? order by name`, [projectId]);
}

/**
 * The flags of a project, by name.
 *
 * @param isActive only those that are active, or are not; `undefined` for both
 */
export async function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  projectId: number,
  isActive: boolean | undefined,
): Promise<RowPage> {
  const { sql, values } = all([
    when("ff.project_id = ?", projectId),
    isActive === undefined ? undefined : when("ff.active = ?", Number(isActive)),
  ]);
  const found = await paginate(db, presenter, page, {
    from: `feature_flags ff where ${sql}`,
    values,
    order: "ff.name",
  });
  await fillInLists(db, presenter, found.rows, projectId);
  return found;
}

/** A flag as a row of its presenter. */
export async function row(
  db: Reader,
  presenter: Presenter,
  projectId: number,
  id: number,
): Promise<Value[]> {
  const rows = await db.rows(`select ${presenter.columns} from feature_flags ff where ff.id = ?`, [
    id,
  ]);
  await fillInLists(db, presenter, rows, projectId);
  return rows[0] as Value[];
}

/** Replaces the ids of users' lists in the strategies of rows by the lists. */
async function fillInLists(
  db: Reader,
  presenter: Presenter,
  rows: Value[][],
  projectId: number,
): Promise<void> {
  const at = presenter.at("strategies");
  const strategies = rows.map((one) => JSON.parse(String(one[at])) as Strategy[]);
  const isNeeded = strategies.flat().some(({ user_list_id: list }) => list !== null);
  const lists = isNeeded ? await listsById(db, projectId) : new Map<number, UserList>();
  for (const [index, one] of rows.entries()) {
    const shown = (strategies[index] as Strategy[]).map(({ user_list_id: list, ...rest }) => ({
      ...rest,
      user_list: list === null ? null : (lists.get(list) ?? null),
    }));
    one[at] = JSON.stringify(shown);
  }
}

/** A list of users, as strategies show it. */
export interface UserList {
  readonly id: number;
  readonly iid: number;
  readonly name: string;
  readonly user_xids: string;
}

/** The lists of users of a project, by their ids. */
export async function listsById(db: Reader, projectId: number): Promise<Map<number, UserList>> {
  const found = await db.all<UserList>(
    "select id, iid, name, user_xids from feature_flag_user_lists where project_id = ?",
    [projectId],
  );
  return new Map(found.map((one) => [one.id, one]));
}

/** A list of users as its own routes need it, or `undefined`. */
export function findUserList(
  db: Reader,
  projectId: number,
  iid: number,
): Awaitable<(UserList & { readonly updated_at: number }) | undefined> {
  return db.one(
    "select id, iid, name, user_xids, updated_at from feature_flag_user_lists where project_id = ? and iid = ?",
    [projectId, iid],
  );
}

/** The lists of users of a project, by id. @param search what their names have */
export function userLists(
  db: Reader,
  presenter: Presenter,
  page: Page,
  projectId: number,
  search: string | undefined,
): Promise<RowPage> {
  const { sql, values } = all([
    when("fu.project_id = ?", projectId),
    search ? contains(["fu.name"], search) : undefined,
  ]);
  return paginate(db, presenter, page, {
    from: `feature_flag_user_lists fu where ${sql}`,
    values,
    order: "fu.id",
  });
}

/** A list of users as a row of its presenter. */
export const userListRow = rowReader("feature_flag_user_lists fu where fu.id = ?");

/** How many rows a table has of a project. */
export async function count(
  db: Reader,
  table: "feature_flags" | "feature_flag_user_lists",
  projectId: number,
): Promise<number> {
  const [counted] = await db.rows(`select count(*) from ${table} where project_id = ?`, [
    projectId,
  ]);
  return (counted as [number])[0];
}

/** Adds a list of users, and returns its id. */
export async function insertUserList(
  db: Database,
  projectId: number,
  list: { readonly name: string; readonly user_xids: string },
  now: number,
): Promise<number> {
  const [added] = await db.rows(
    `insert into feature_flag_user_lists (iid, project_id, name, user_xids, created_at, updated_at)
     select coalesce(max(iid), 0) + 1, ?, ?, ?, ?, ? from feature_flag_user_lists where project_id = ?
     returning id`,
    [projectId, list.name, list.user_xids, now, now, projectId],
  );
  return (added as [number])[0];
}

/** Sets the token of the programs that ask for a project's flags: the one before it ends. */
export async function setClient(db: Database, projectId: number, digest: string): Promise<void> {
  await db.run(
    `insert into feature_flag_clients (project_id, digest) values (?, ?)
     on conflict (project_id) do update set digest = excluded.digest`,
    [projectId, digest],
  );
}

/** Whether a token, by its digest, is that of the programs that ask for a project's flags. */
export async function isClient(db: Reader, projectId: number, digest: string): Promise<boolean> {
  const found = await db.rows(
    "select 1 from feature_flag_clients where project_id = ? and digest = ?",
    [projectId, digest],
  );
  return found.length > 0;
}
