import { inheritedBy, type Owner, ownedBy } from "../../core/access/owner.ts";
import type { Source } from "../../core/access/source.ts";
import { type Viewer, visibleProjects } from "../../core/access/visibility.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { BRANCHES, TAGS } from "../../git/refs.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";

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
  const found = await db.one<{ id: number }>(
    `select p.id from projects p where p.namespace_id = ? and ${visible.sql}
     order by p.created_at, p.id limit 1`,
    [source.id, ...visible.values],
  );
  return found?.id ?? 0;
}

/** The badges a group or project shows: its own and, for a project, those of the groups above it. */
function within(source: Source): Condition {
  return source.kind === "group" ? ownedBy("b", source) : inheritedBy("b", source);
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
  const where = all([within(source), when("b.name = ?", name)]);
  return paginate(db, presenter, page, {
    from: `${BADGES} where ${where.sql}`,
    values: [projectId, ...where.values],
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
export function find(db: Reader, source: Source, badgeId: number): Awaitable<Badge | undefined> {
  const scope = within(source);
  return db.one<Badge>(
    `select b.id, b.namespace_id, b.updated_at from badges b where ${scope.sql} and b.id = ?`,
    [...scope.values, badgeId],
  );
}

/** Adds a badge and returns its id. */
export function insert(
  db: Database,
  owner: Owner,
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

/** What fills in a badge's placeholders: of a project `p`, in SQL. */
export const PLACEHOLDERS = {
  project_path: "p.full_path",
  project_id: "p.id",
  project_name: "p.path",
  project_title: "p.name",
  // GitLab's projects are namespaces of their own, too.
  project_namespace: "p.full_path",
  group_name:
    "(select n.full_path from namespaces n where n.id = p.namespace_id and n.kind = 'group')",
  default_branch: "p.default_branch",
  commit_sha: `(select r.oid from git_repositories g join git_refs r on r.repository_id = g.id
    where g.project_id = p.id and g.kind = 'code' and r.name = '${BRANCHES}' || p.default_branch)`,
  // The one that was made last: annotated ones have a date of their own, others that of their commit.
  latest_tag: `(select substr(r.name, ${TAGS.length + 1}) from git_repositories g join git_refs r on r.repository_id = g.id
    where g.project_id = p.id and g.kind = 'code' and r.tagged_at is not null
    order by r.tagged_at desc, r.name desc limit 1)`,
} as const;

/** The values of a project's placeholders; none if there is no such project. */
export async function placeholderValues(db: Reader, projectId: number): Promise<readonly Value[]> {
  const columns = Object.values(PLACEHOLDERS).join(", ");
  const [found] = await db.rows(`select ${columns} from projects p where p.id = ?`, [projectId]);
  return found ?? [];
}
