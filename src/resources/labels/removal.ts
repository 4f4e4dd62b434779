import { areFew, handPart, type Part, removeLater, removePart, SMALL } from "../../jobs/removal.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Store } from "../../store/port.ts";

/** What a label has, and is deleted with it. */
export const LABEL_PARTS: readonly Part[] = [
  // First: of a hidden label nothing is counted.
  ["label_counts", "label_id", "project_id"],
  ["issue_labels", "label_id", "issue_id"],
  ["merge_request_labels", "label_id", "merge_request_id"],
  ["label_subscriptions", "label_id", "user_id"],
  ["board_labels", "label_id", "board_id"],
  ["board_lists", "label_id", "id"],
];

/** What names a label, and stays without it. */
export const LABEL_REFERENCES: readonly Part[] = [["resource_label_events", "label_id", "id"]];

/**
 * Deletes a label, and with it the board lists for it: at once if few issues and merge requests have it. Otherwise nobody
 * sees it any more, its name is free, and a worker takes it from them.
 */
export async function remove(db: Database, labelId: number, now: number): Promise<void> {
  const label = placeholders([labelId]);
  if (await areFew(db, [...LABEL_PARTS, ...LABEL_REFERENCES], label, SMALL)) {
    await db.run("delete from labels where id = ?", [labelId]);
    return;
  }
  await db.run("delete from board_labels where label_id = ?", [labelId]);
  await db.run("delete from board_lists where label_id = ?", [labelId]);
  // Names of labels have no commas.
  await db.run("update labels set removed = 1, name = ? where id = ?", [`,${labelId}`, labelId]);
  await removeLater(db, { label: labelId }, now);
}

/** Deletes a hidden label, in batches. @throws what the signal was aborted with */
export async function removeLabel(
  store: Store,
  labelId: number,
  signal?: AbortSignal,
): Promise<void> {
  const label = placeholders([labelId]);
  for (const part of LABEL_PARTS) await removePart(store, part, label, signal);
  for (const part of LABEL_REFERENCES) await handPart(store, part, [labelId], null, { signal });
  await removePart(store, ["labels", "id", "id"], label, signal);
}
