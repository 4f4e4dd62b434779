import type { Store } from "../store/port.ts";
import { deleteFile } from "./write.ts";

/** An upload takes no longer than this, in milliseconds. */
const ABANDONED_AFTER = 86_400_000;

/**
 * Deletes files that belong to no record: of deleted records, and those of uploads that were abandoned a day ago.
 *
 * @param now epoch milliseconds
 * @returns how many
 */
export async function sweepFiles(store: Store, now: number): Promise<number> {
  const unused = await store.rows("select id from stored_files where unused_since < ?", [
    now - ABANDONED_AFTER,
  ]);
  for (const [id] of unused) await deleteFile(store, id as number);
  return unused.length;
}
