import type { Reader } from "../../store/port.ts";

/** The project that a line of forks begins with. */
const ROOT = `
  with recursive line (id, source_id, depth) as (
    select id, forked_from_project_id, 0 from projects where id = ?
    union all
    select p.id, p.forked_from_project_id, depth + 1 from line join projects p on p.id = line.source_id
    where depth < 1000)
  select id from line order by depth desc limit 1`;

/** Whether two projects are forks of the same one, or one of them is a fork of the other. */
export async function areRelated(db: Reader, one: number, other: number): Promise<boolean> {
  const [found] = await db.rows(`select (${ROOT}) = (${ROOT})`, [one, other]);
  return Boolean(found?.[0]);
}
