import { placeholders } from "../../store/placeholders.ts";
import type { Store, Value } from "../../store/port.ts";
import { LIFETIME } from "./uploads.ts";

/** For how long what nothing needs is kept, in milliseconds. */
const KEPT = 86_400_000;
/** Rows that one transaction changes. */
const BATCH = 500;

/** What is swept, and what its rows are needed by. */
const SWEPT = [
  {
    table: "container_manifests",
    used: `(exists (select 1 from container_tags t where t.manifest_id = container_manifests.id)
      or exists (select 1 from container_manifest_children c where c.child_id = container_manifests.id)
      or exists (select 1 from container_manifests s where s.repository_id = container_manifests.repository_id
        and s.digest = container_manifests.subject))`,
  },
  {
    table: "container_repository_blobs",
    used: `exists (select 1 from container_manifest_blobs mb where mb.link_id = container_repository_blobs.id)`,
  },
] as const;

/** Does some work for the rows of a table that meet a condition, some at a time. Nobody else writes meanwhile. */
async function each(
  store: Store,
  table: string,
  condition: string,
  values: readonly Value[],
  work: string,
): Promise<void> {
  for (let last = 0; ; ) {
    const found = await store.rows(
      `select id from ${table} where id > ? and ${condition} order by id limit ${BATCH}`,
      [last, ...values],
    );
    if (found.length === 0) return;
    const ids = found.map(([id]) => id as Value);
    last = Number(ids.at(-1));
    const among = placeholders(ids);
    await store.transaction(async (db) => {
      await db.run(`${work} where id in (${among.sql}) and ${condition}`, [
        ...among.values,
        ...values,
      ]);
    });
  }
}

/**
 * Deletes manifests without tags, and blobs without manifests, that nothing has needed for a day: never those of a repository
 * to which something is being uploaded. The sweep of files then deletes the content of the blobs.
 *
 * @param now epoch milliseconds
 */
export async function sweepRegistry(store: Store, now: number): Promise<void> {
  const time = Math.floor(now);
  for (const { table, used } of SWEPT) {
    const marked = `update ${table} set unused_since =`;
    await each(store, table, `unused_since is not null and ${used}`, [], `${marked} null`);
    await each(store, table, `unused_since is null and not ${used}`, [], `${marked} ${time}`);
    const busy = `exists (select 1 from container_uploads u where u.repository_id = ${table}.repository_id
      and u.started_at > ?)`;
    await each(
      store,
      table,
      `unused_since < ? and not ${used} and not ${busy}`,
      [time - KEPT, time - LIFETIME],
      `delete from ${table}`,
    );
  }
  await each(
    store,
    "container_blobs",
    "not exists (select 1 from container_repository_blobs l where l.blob_id = container_blobs.id)",
    [],
    "delete from container_blobs",
  );
}
