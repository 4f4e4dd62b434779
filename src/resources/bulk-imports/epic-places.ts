import type { Database } from "../../store/port.ts";
import type { Place } from "../exports/format.ts";
import { newPositionOf } from "../issuables/positions.ts";

/** The id here of an epic by its id there, in the group that is brought, or one that it or the project is in. */
export async function epicHere(
  db: Database,
  { kind, id }: Place,
  there: number | null,
): Promise<number | undefined> {
  if (there === null) return undefined;
  const group = kind === "group" ? "?" : "(select namespace_id from projects where id = ?)";
  const [found] = await db.rows(
    `select r.local_id from bulk_import_records r join issues i on i.id = r.local_id
     where r.kind = 'epics' and r.source_key = ? and r.namespace_id in (
       select ancestor_id from namespace_ancestors where namespace_id = ${group})`,
    [String(there), id],
  );
  return found?.[0] as number | undefined;
}

/** Places an issue or epic below an epic that was brought. @param of its id here, and the id of its parent there */
export async function placeBelow(
  db: Database,
  place: Place,
  { id, parent }: { readonly id: number; readonly parent: number | null },
): Promise<void> {
  const parentId = await epicHere(db, place, parent);
  if (parentId === undefined || parentId === id) return;
  await db.run(
    `insert into work_item_parents (issue_id, parent_id, position) values (?, ?, ?) on conflict do nothing`,
    [id, parentId, newPositionOf(id)],
  );
}
