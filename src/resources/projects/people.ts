import { membershipsIn } from "../../core/access/memberships.ts";
import type { Source } from "../../core/access/source.ts";
import { NOT_DELETED_USER, type Viewer, visibleLinks } from "../../core/access/visibility.ts";
import { startFrom } from "../../core/lists/index-start.ts";
import { paginateFrom } from "../../core/lists/paginate.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { all, among, when } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import * as users from "../users/queries.ts";

/**
 * A page of the users who have access to a project: as its members, as those of a group above it or of one that is
 * invited, or because it is in their namespace.
 *
 * @param filter a part of their names, and ids of those who are left out
 */
export async function withAccess(
  db: Reader,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  source: Source,
  { search, skip = [] }: { search?: string | undefined; skip?: readonly number[] | undefined },
): Promise<RowPage> {
  const { caller, today } = viewer;
  const members = membershipsIn(source, visibleLinks(viewer, source));
  const ids = {
    sql: `select m.user_id as id from (${members.sql}) as m
        where (m.expires_at is null or m.expires_at > ?)
      union select owner_id as id from namespaces where id = ? and owner_id is not null`,
    values: [...members.values, today, source.namespaceId],
  };
  const start = await startFrom(db, "u", ids);
  const skipped = skip.length > 0 ? among("u.id", skip) : undefined;
  return paginateFrom(db, presenter, page, start, {
    alias: "u",
    tables: "users u",
    presented: { sql: "users u", values: [] },
    where: all([
      when(NOT_DELETED_USER),
      { sql: `u.id in (${ids.sql})`, values: ids.values },
      search ? users.searched(search, caller) : undefined,
      skipped && { sql: `not (${skipped.sql})`, values: skipped.values },
    ]),
    order: "u.id",
  });
}

/** A page of the users who have starred a project. @param search a part of their names */
export function starrers(
  db: Reader,
  presenter: Presenter,
  page: Page,
  { caller }: Viewer,
  projectId: number,
  search: string | undefined,
): Promise<RowPage> {
  const where = all([
    when("s.project_id = ?", projectId),
    when(NOT_DELETED_USER),
    search ? users.searched(search, caller) : undefined,
  ]);
  return paginate(db, presenter, page, {
    from: `project_stars s join users u on u.id = s.user_id where ${where.sql}`,
    values: where.values,
    order: "s.user_id",
  });
}
