import type { Source } from "../../core/access/source.ts";
import { type Viewer, visibleProjects } from "../../core/access/visibility.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader, Value } from "../../store/port.ts";

/** The columns of a badge that handlers use. */
export interface Badge {
  id: number;
  namespace_id: number | null;
  updated_at: number;
}

/** The tables of a badge's row. The `?` is the id of the project that fills in the badge's placeholders. */
const BADGES = "badges b left join projects p on p.id = ?";

/**
 * The id of the project whose values fill in a badge's placeholders: the project itself, or the group's oldest project
 * that the caller may see; 0 if there is none.
 */
export async function projectFor(db: Reader, source: Source, viewer: Viewer): Promise<number> {
  if (source.kind === "project") return source.id;
  const visible = visibleProjects(viewer);
  const [found] = await db.rows(
    `select p.id from projects p where p.namespace_id = ? and ${visible.sql}
     order by p.created_at, p.id limit 1`,
    [source.id, ...visible.values],
  );
  return (found?.[0] as number | undefined) ?? 0;
}

/** The badges a group or project shows: its own and, for a project, those of the groups above it. */
function within(source: Source): { sql: string; values: Value[] } {
  if (source.kind === "group") return { sql: "b.namespace_id = ?", values: [source.id] };
  return {
    sql: `(b.project_id = ? or b.namespace_id in
      (select ancestor_id from namespace_ancestors where namespace_id = ?))`,
    values: [source.id, source.namespaceId],
  };
}

/** The badges of a group or project, oldest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  source: Source,
  projectId: number,
  name: string | undefined,
): Promise<RowPage> {
  const scope = within(source);
  return paginate(db, presenter, page, {
    from: `${BADGES} where ${scope.sql}${name === undefined ? "" : " and b.name = ?"}`,
    values: [projectId, ...scope.values, ...(name === undefined ? [] : [name])],
    order: "b.created_at, b.id",
  });
}

/** One badge as a row of its presenter, or `undefined` if the group or project does not show it. */
export async function row(
  db: Reader,
  presenter: Presenter,
  source: Source,
  projectId: number,
  badgeId: number,
): Promise<Value[] | undefined> {
  const scope = within(source);
  const [found] = await db.rows(
    `select ${presenter.columns} from ${BADGES} where ${scope.sql} and b.id = ?`,
    [projectId, ...scope.values, badgeId],
  );
  return found;
}

/** A badge a group or project shows, or `undefined`. */
export async function find(
  db: Reader,
  source: Source,
  badgeId: number,
): Promise<Badge | undefined> {
  const scope = within(source);
  const found = await db.one<Badge>(
    `select b.id, b.namespace_id, b.updated_at from badges b where ${scope.sql} and b.id = ?`,
    [...scope.values, badgeId],
  );
  return found;
}

/** Adds a badge and returns its id. */
export async function insert(
  db: Database,
  owner: Pick<Source, "column" | "id">,
  badge: { name?: string | null | undefined; link_url: string; image_url: string },
  now: number,
): Promise<number> {
  return insertRow(db, "badges", {
    [owner.column]: owner.id,
    name: badge.name ?? null,
    link_url: badge.link_url,
    image_url: badge.image_url,
    created_at: now,
    updated_at: now,
  });
}

/** Removes a badge. */
export async function remove(db: Database, badgeId: number): Promise<void> {
  await db.run("delete from badges where id = ?", [badgeId]);
}

/** The values a project supplies for a badge's placeholders. */
export interface PlaceholderValues {
  path: string;
  id: number;
  default_branch: string | null;
}

/** The placeholder values of a project, or `undefined` if there is no such project. */
export async function placeholderValues(
  db: Reader,
  projectId: number,
): Promise<PlaceholderValues | undefined> {
  const found = await db.one<PlaceholderValues>(
    "select full_path as path, id, default_branch from projects where id = ?",
    [projectId],
  );
  return found;
}
