import type { Store } from "../../store/port.ts";

/** Objects that one transaction deletes. */
const BATCH = 500;

/** Deletes the objects that no project has any more. The sweep of files then deletes their content. */
export async function sweepObjects(store: Store): Promise<void> {
  for (let last = 0; ; ) {
    const found = await store.rows(
      `select id from lfs_objects where id > ?
         and not exists (select 1 from lfs_object_projects l where l.object_id = lfs_objects.id)
       order by id limit ${BATCH}`,
      [last],
    );
    const ends = found.at(-1)?.[0] as number | undefined;
    if (ends === undefined) return;
    // Alone, so that no project gets one meanwhile.
    await store.transaction(async (db) => {
      await db.run(
        `delete from lfs_objects where id > ? and id <= ?
           and not exists (select 1 from lfs_object_projects l where l.object_id = lfs_objects.id)`,
        [last, ends],
      );
    });
    last = ends;
  }
}
