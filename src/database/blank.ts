import type { Migration } from "../store/migrate.ts";
import { migrate } from "../store/migrate.ts";
import { openMemory } from "../store/open.ts";
import type { Image, MemoryStore } from "../store/sqlite.ts";
import { loadNewest } from "./schema.ts";

/** A database in memory with all tables and no rows, for those after the first. */
let blank: Promise<Image> | undefined;

/**
 * Opens a database in memory that has all tables. The first one of a process creates them; others begin with a copy, which
 * takes a tenth of the time.
 *
 * @param steps every step of the schema
 */
export async function openBlank(steps: readonly Migration[]): Promise<MemoryStore> {
  blank ??= makeBlank(steps).catch((error: unknown) => {
    blank = undefined;
    throw error;
  });
  return openMemory(await blank);
}

async function makeBlank(steps: readonly Migration[]): Promise<Image> {
  const store = await openMemory();
  try {
    await migrate(store, steps, 0, loadNewest);
    return await store.image();
  } finally {
    await store.close();
  }
}
