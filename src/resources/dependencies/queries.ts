import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import type { DependencyFile, PackageManager } from "../../dependencies/types.ts";
import { all, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Value } from "../../store/port.ts";

/**
 * The dependencies of a project, ordered by name.
 *
 * @param managers only dependencies of these package managers; all if empty
 */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  projectId: number,
  managers: readonly PackageManager[],
): Promise<RowPage> {
  const wanted = managers.length > 0 ? placeholders(managers) : undefined;
  const where = all([
    when("d.project_id = ?", projectId),
    wanted && when(`d.package_manager in (${wanted.sql})`, ...wanted.values),
  ]);
  return paginate(db, presenter, page, {
    from: `dependencies d where ${where.sql}`,
    values: where.values,
    order: "d.name, d.id",
  });
}

/** Replaces the stored dependencies of one file. */
export async function replaceFile(
  db: Database,
  projectId: number,
  { path, dependencies }: DependencyFile,
): Promise<void> {
  await db.run("delete from dependencies where project_id = ? and dependency_file_path = ?", [
    projectId,
    path,
  ]);
  const rows = dependencies.map((dependency): Value[] => [
    projectId,
    dependency.name,
    dependency.version,
    dependency.package_manager,
    path,
    JSON.stringify(dependency.vulnerabilities.map(({ name, severity }) => ({ name, severity }))),
  ]);
  for (let at = 0; at < rows.length; ) {
    const some = rows.slice(at, at + insertable(rows.length - at));
    await db.run(
      `insert into dependencies
         (project_id, name, version, package_manager, dependency_file_path, vulnerabilities)
       values ${some.map(() => "(?, ?, ?, ?, ?, ?)").join(", ")}`,
      some.flat(),
    );
    at += some.length;
  }
}

/** How many of the remaining rows to insert in one statement: a power of two, so that few distinct texts are needed. */
function insertable(left: number): number {
  return 2 ** Math.min(6, Math.floor(Math.log2(left)));
}
