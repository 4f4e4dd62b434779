import type { Condition } from "../../store/conditions.ts";
import type { Database } from "../../store/port.ts";

/** Notes the paths that projects have now, before they get others: they are found there still. */
export async function keepPaths(db: Database, projects: Condition): Promise<void> {
  await db.run(
    `insert into project_redirects (path, project_id)
     select lower(full_path), id from projects where ${projects.sql}
     on conflict (path) do update set project_id = excluded.project_id`,
    projects.values,
  );
}

/** Forgets the former paths below a path that a namespace gets: they are its own from then on. */
export async function releasePaths(db: Database, fullPath: string): Promise<void> {
  const path = fullPath.toLowerCase();
  // "0" follows "/".
  await db.run("delete from project_redirects where path > ? and path < ?", [
    `${path}/`,
    `${path}0`,
  ]);
}
