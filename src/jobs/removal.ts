import type { Condition } from "../store/conditions.ts";
import { placeholders } from "../store/placeholders.ts";
import type { Database, Reader, Store, Value } from "../store/port.ts";
import { inBatches } from "./batches.ts";
import * as outbox from "./outbox.ts";

/** Rows that belong to something that is deleted: their table, the column with its id, and what tells them apart. */
export type Part = readonly [table: string, owner: string, key: string];

/** Rows that are deleted within the request; deleting more is continued after it. */
export const SMALL = 1000;

/** The worker that deletes what is too large for a request. */
export const REMOVER = "remover";

/** What is hidden, and has to be deleted: its kind and id; or the placeholder of an import that somebody has agreed to be. */
export type Hidden =
  | { readonly project: number }
  | { readonly group: number }
  | { readonly label: number }
  | { readonly milestone: number }
  | { readonly iteration: number }
  | { readonly user: number }
  | { readonly placeholder: number };

/** Queues the deletion of what has been hidden in this transaction. */
export function removeLater(db: Database, hidden: Hidden, now: number): Promise<void> {
  return outbox.add(db, REMOVER, [hidden], now);
}

/**
 * Whether the rows of some tables that belong to something are no more than `most` in all.
 *
 * @param owners a query for its ids, or placeholders
 */
export async function areFew(
  db: Reader,
  parts: readonly Part[],
  owners: Condition,
  most: number,
): Promise<boolean> {
  return (await roomLeft(db, parts, owners, most)) >= 0;
}

/** How many rows fewer than `most` belong to something; below zero if they are more. @see areFew */
export async function roomLeft(
  db: Reader,
  parts: readonly Part[],
  { sql, values }: Condition,
  most: number,
): Promise<number> {
  let left = most;
  for (const [table, owner] of parts) {
    if (left < 0) break;
    const [counted] = await db.rows(
      `select count(*) from (select 1 from ${table} where ${owner} in (${sql}) limit ?) as counted`,
      [...values, left + 1],
    );
    left -= (counted as [number])[0];
  }
  return left;
}

/** Deletes rows of a table that belong to something, in batches. @param owners a query for its ids, or placeholders */
export async function removePart(
  store: Store,
  [table, owner, key]: Part,
  { sql, values }: Condition,
  signal?: AbortSignal,
): Promise<void> {
  const ofOwner = `${owner} in (${sql})`;
  const batchOf = `delete from ${table}
    where ${ofOwner} and ${key} in (select ${key} from ${table} where ${ofOwner} limit ?)`;
  await inBatches(store, (db, batch) => db.run(batchOf, [...values, ...values, batch]), { signal });
}

/**
 * Hands rows of a table that belong to some owners to another one, in batches.
 *
 * @param to the other owner's id, or `null` for none
 * @param only a further condition on the rows
 */
export async function handPart(
  store: Store,
  [table, owner, key]: Part,
  owners: readonly Value[],
  to: number | null,
  { signal, only = "1 = 1" }: { signal: AbortSignal | undefined; only?: string },
): Promise<void> {
  const { sql, values } = placeholders(owners);
  const batchOf = `update ${table} set ${owner} = cast(? as bigint)
    where ${key} in (select ${key} from ${table} where ${owner} in (${sql}) and ${only} limit ?)`;
  await inBatches(store, (db, batch) => db.run(batchOf, [to, ...values, batch]), { signal });
}
