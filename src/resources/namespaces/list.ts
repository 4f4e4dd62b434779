import { BEING_DELETED, memberGroups, type Viewer } from "../../core/access/visibility.ts";
import { paginateFrom } from "../../core/lists/paginate.ts";
import { searchStart } from "../../core/lists/search-index.ts";
import type { Page, RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { findNamed, levelIn } from "./queries.ts";
import { NAMESPACE_SEARCH } from "./search.ts";

/** Namespaces with the users whose own they are. */
const NAMESPACES = "namespaces n left join users u on u.id = n.owner_id";

/** The filters of a list of namespaces. */
export interface NamespaceFilter {
  readonly search?: string | undefined;
  /** Only those that the caller owns. */
  readonly owned?: boolean | undefined;
  /** Only those that are not in another one. */
  readonly top?: boolean | undefined;
}

/** The condition under which a row `n` of namespaces is the caller's own or one of a group that they belong to. */
function ownNamespaces(viewer: Viewer, owned: boolean): Condition {
  const { caller } = viewer;
  if (caller?.admin && !owned) {
    return when(`n.visibility + 0 > ${BEING_DELETED}`) as Condition;
  }
  const groups = memberGroups(viewer, owned ? "owner" : "guest");
  return {
    sql: `n.id in (select id from namespaces where owner_id = ?
      union all select n.id from namespaces n where ${groups.sql})`,
    values: [caller?.id ?? 0, ...groups.values],
  };
}

/** The namespaces that the caller belongs to, or all of them for administrators; the oldest first. */
export async function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  { search, owned = false, top }: NamespaceFilter,
): Promise<RowPage> {
  const start = await searchStart(db, NAMESPACE_SEARCH, "n", search);
  return paginateFrom(db, presenter, page, start, {
    alias: "n",
    tables: "namespaces n",
    presented: { sql: NAMESPACES, values: [] },
    where: all([
      ownNamespaces(viewer, owned),
      top ? when("n.parent_id is null") : undefined,
      search ? contains(["n.name", "n.path"], search) : undefined,
    ]),
    order: "n.id",
  });
}

/** One of the namespaces that {@link list} has, by its id or full path, as a row of its presenter. */
export async function row(
  db: Reader,
  presenter: Presenter,
  { caller, today }: Viewer,
  idOrPath: string,
): Promise<Value[] | undefined> {
  const found = await findNamed(db, idOrPath);
  if (!found || !caller) return undefined;
  if (!caller.admin && (await levelIn(db, found.id, caller.id, today)) === 0) return undefined;
  const [row] = await db.rows(`select ${presenter.columns} from ${NAMESPACES} where n.id = ?`, [
    found.id,
  ]);
  return row;
}

/** Numbers that are tried at a time, and at most. */
const TRIED = 100;
const MOST_TRIED = 10_000;

/**
 * Whether a namespace has this path.
 *
 * @param parent the full path of the group it would be in, if it is in one
 * @returns the path with the first number that makes it free; `undefined` if it is free as it is
 */
export async function suggestion(
  db: Reader,
  path: string,
  parent: string | undefined,
): Promise<string | undefined> {
  const prefix = parent === undefined ? "" : `${parent}/`;
  const takenAmong = async (paths: readonly string[]) => {
    const among = placeholders(paths.map((one) => `${prefix}${one}`.toLowerCase()));
    const found = await db.rows(
      `select lower(full_path) from namespaces
       where lower(full_path) in (${among.sql}) and visibility > ${BEING_DELETED}`,
      among.values,
    );
    return new Set(found.map(([fullPath]) => String(fullPath).slice(prefix.length)));
  };
  if ((await takenAmong([path])).size === 0) return undefined;
  for (let first = 1; first < MOST_TRIED; first += TRIED) {
    const tried = Array.from({ length: TRIED }, (_, index) => `${path}${first + index}`);
    const taken = await takenAmong(tried);
    const free = tried.find((one) => !taken.has(one.toLowerCase()));
    if (free !== undefined) return free;
  }
  return `${path}${MOST_TRIED}`;
}
