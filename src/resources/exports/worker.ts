import { Readable } from "node:stream";
import { createGzip } from "node:zlib";
import * as audit from "../../audit/log.ts";
import { readFile } from "../../files/read.ts";
import { type StoredFile, storeFile } from "../../files/write.ts";
import * as outbox from "../../jobs/outbox.ts";
import {
  type Outcome,
  startWorker,
  type Worker,
  type WorkerSettings,
  type Working,
  workOff,
} from "../../jobs/worker.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Store } from "../../store/port.ts";
import * as namespaces from "../namespaces/queries.ts";
import * as users from "../users/queries.ts";
import { convert } from "../wikis/conversion.ts";
import { finish, type Settings } from "./finish.ts";
import { ArchiveError, type Format, type Line, type Place } from "./format.ts";
import { type Overwriting, overwrite } from "./overwriting.ts";
import * as archives from "./queries.ts";
import type { Lines, Target } from "./reader.ts";
import * as relations from "./relations.ts";

// What reads and writes archives is loaded when there is one to read or write: no start waits for it.

const ARCHIVIST = "archivist";

/** What the worker is to do, with the id of a project or, with `of`, of a group. */
type ArchiveTask = (
  | { readonly exported: number; readonly format?: Format }
  | { readonly imported: number }
  | { readonly relationsOf: number }
) & { readonly of?: "group" };

/** What is done about one place is done in turn: two workers would write the same files. */
function idOf(task: ArchiveTask): number {
  if ("exported" in task) return task.exported;
  return "imported" in task ? task.imported : task.relationsOf;
}

/** Queues the export or import of a project or group, or the export of its relations. */
export function archiveLater(db: Database, task: ArchiveTask, now: number): Promise<void> {
  return outbox.add<ArchiveTask>(db, ARCHIVIST, [task], now, idOf);
}

/** What the worker needs. */
interface Archivist extends Working {
  /** Reads an archive of GitLab as lines of ours after the first one; `undefined` if it is none. */
  readonly foreignLines: (
    archive: { readonly open: () => AsyncIterable<Uint8Array>; readonly size: number },
    here: {
      readonly kind: Place["kind"];
      readonly now: number;
      /** Those of some user names, in small letters, for whom the importer can speak. */
      readonly namesHere: (names: readonly string[]) => Promise<ReadonlySet<string>>;
    },
  ) => Promise<Lines | undefined>;
  /** Writes the archive of a project as GitLab does, unpacked. */
  readonly foreignArchive: (
    place: Place,
    now: number,
    signal: AbortSignal,
  ) => Promise<AsyncIterable<Uint8Array>>;
}

/** How the worker does its tasks. */
function workerOf(working: Archivist): WorkerSettings {
  const { store, now, onError, foreignLines, foreignArchive } = working;
  return {
    ...working,
    name: ARCHIVIST,
    announced: false,
    interval: 500,
    lanes: 1,
    work: async ({ payload }, signal) => {
      const task = JSON.parse(payload) as ArchiveTask;
      const place = (id: number): Place => ({ kind: task.of ?? "project", id });
      if ("relationsOf" in task) {
        return writeRelations({ store, now: now(), onError }, place(task.relationsOf), signal);
      }
      return "exported" in task
        ? write({ store, now: now(), foreignArchive }, place(task.exported), task.format, signal)
        : read({ store, now: now(), onError, foreignLines }, place(task.imported), signal);
    },
  };
}

/** Starts the worker that writes and reads the archives of projects. */
export function startArchivist(settings: Archivist): Promise<Worker> {
  return startWorker(workerOf(settings));
}

/** Does what there is to do for that worker, and returns how many tasks it was. */
export function writeArchives(settings: Archivist): Promise<number> {
  return workOff(workerOf(settings));
}

async function write(
  { store, now, foreignArchive }: Pick<Archivist, "store" | "foreignArchive"> & { now: number },
  place: Place,
  format: Format = "pm-api",
  signal: AbortSignal,
): Promise<Outcome> {
  const status = await archives.exportStatusOf(store, place);
  // It was deleted meanwhile, or the archive has been written.
  if (status === "none" || status === "finished") return { done: true };
  await store.transaction((db) => archives.setExport(db, place, "started"), { shared: true });
  if (place.kind === "project") await convert(store, place.id, now);
  const { linesOf } = await import("./writer.ts");
  const foreign = format === "gitlab" ? await foreignArchive(place, now, signal) : undefined;
  try {
    const bytes = foreign ?? textOf(linesOf(store, place, now), signal);
    const file = await storePacked(store, bytes, now);
    const written = { fileId: file.id, format: foreign ? format : "pm-api" };
    return { done: true, follow: (db) => archives.setExport(db, place, "finished", written) };
  } catch (error) {
    if (signal.aborted) return "interrupted";
    if (!(error instanceof ArchiveError)) throw error;
    return { done: true, follow: (db) => archives.setExport(db, place, "failed") };
  }
}

/** Lines as text. @throws what the signal was aborted with */
async function* textOf(lines: AsyncIterable<Line>, signal: AbortSignal): AsyncGenerator<string> {
  for await (const line of lines) {
    signal.throwIfAborted();
    yield `${JSON.stringify(line)}\n`;
  }
}

/** Stores text or bytes as a file, packed. */
function storePacked(
  store: Store,
  parts: AsyncIterable<string | Uint8Array>,
  now: number,
): Promise<StoredFile> {
  const zip = createGzip();
  const text = Readable.from(parts, { objectMode: false });
  text.once("error", (error) => zip.destroy(error));
  return storeFile(store, text.pipe(zip), now);
}

/** Writes what is still to be written of the relations that were asked for. */
async function writeRelations(
  { store, now, onError }: Omit<Doing, "foreignLines">,
  place: Place,
  signal: AbortSignal,
): Promise<Outcome> {
  const { filesOf } = await import("./writer.ts");
  for (const { id, relation, batched, status } of await relations.list(store, place)) {
    if (status !== relations.STATUSES.started) continue;
    try {
      await store.transaction((db) => relations.removeFiles(db, id));
      const most = batched === 1 ? relations.BATCH : Number.POSITIVE_INFINITY;
      let total = 0;
      let number = 0;
      for await (const { objects, lines } of filesOf(store, place, relation, most, now)) {
        total += objects;
        number += 1;
        const file = await storePacked(store, textOf(lines, signal), now);
        const added = { number, objects, updated_at: now };
        await store.transaction((db) => relations.addFile(db, id, added, file));
      }
      await store.transaction((db) => relations.end(db, id, { total }, now));
    } catch (error) {
      if (signal.aborted) return "interrupted";
      onError(error);
      await store.transaction((db) => relations.end(db, id, { error: FAILED }, now));
    }
  }
  return { done: true };
}

const FAILED = "Something went wrong on the server";

/** What tasks are done with. */
interface Doing {
  readonly store: Store;
  readonly now: number;
  readonly onError: (error: unknown) => void;
  readonly foreignLines: Archivist["foreignLines"];
}

const INTERRUPTED = "The server was stopped meanwhile. Delete what was made, and import it again.";
const BROKEN = "Something went wrong on the server. Delete what was made, and import it again.";

/** Reads an archive of another program. */
async function readForeign(target: Target, lines: Lines, signal: AbortSignal): Promise<Settings> {
  const { readLines } = await import("./reader.ts");
  try {
    return await readLines(target, lines, signal);
  } finally {
    await lines.return(undefined);
  }
}

async function read(
  { store, now, onError, foreignLines }: Doing,
  place: Place,
  signal: AbortSignal,
): Promise<Outcome> {
  const found = await archives.findImport(store, place);
  const ended = (error: string | null): Outcome => ({
    done: true,
    follow: async (db) => {
      await archives.setImport(db, place, error === null ? "finished" : "failed", error);
      if (place.kind === "group") await tell(db, place.id, found, error, now);
    },
  });
  // A process has died after it began: part of the archive may have been read.
  if (found?.status === "started") return ended(INTERRUPTED);
  if (found?.status !== "scheduled") return { done: true };
  // Whoever asked for it was deleted.
  if (found.file_id === null || found.user_id === null) return ended(BROKEN);
  const { file_id: id, size, user_id: importer, username, admin } = found;
  await store.transaction((db) => archives.setImport(db, place, "started"), { shared: true });
  const by = { id: importer, name: username ?? "", ip: "" };
  const target = { store, place, importer, by, speaksForAll: admin === 1, now };
  const { readArchive } = await import("./reader.ts");
  try {
    const file = { id, size: size ?? 0 };
    const archive = { open: () => readFile(store, file), size: file.size };
    const namesHere = (names: readonly string[]) => namesAmong(target, names);
    const foreign = await foreignLines(archive, { kind: place.kind, now, namesHere });
    const settings = foreign
      ? await readForeign(target, foreign, signal)
      : await readArchive(target, { bytes: archive.open(), size: archive.size }, signal);
    if (place.kind === "project") await finish(target, settings);
    if (found.overwrites !== null) {
      const overwriting = JSON.parse(found.overwrites) as Overwriting;
      await store.transaction(async (db) => {
        await takePlace(db, target, overwriting);
        await archives.setImport(db, place, "finished");
      });
      return { done: true };
    }
    return ended(null);
  } catch (error) {
    if (error instanceof ArchiveError) return ended(error.message);
    if (signal.aborted) return ended(INTERRUPTED);
    onError(error);
    return ended(BROKEN);
  }
}

/** Those of some user names, in small letters, for whom an importer can speak. */
async function namesAmong(
  { store, importer, speaksForAll }: Target,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set();
  const among = placeholders(names);
  const found = await store.rows(
    `select id, lower(username) from users where lower(username) in (${among.sql}) and state <> 'removed'`,
    among.values,
  );
  const known = found.filter(([id]) => speaksForAll || id === importer);
  return new Set(known.map(([, name]) => String(name)));
}

/** Tells in the group's audit log how its import has ended: nothing else of the API does. */
async function tell(
  db: Database,
  id: number,
  by: archives.Import | undefined,
  error: string | null,
  now: number,
): Promise<void> {
  const group = await namespaces.find(db, id);
  // It was deleted meanwhile.
  if (!group) return;
  const source = { kind: "group", id, fullPath: group.full_path } as const;
  const author = { id: by?.user_id ?? null, name: by?.username ?? "", ip: "" };
  const about = { target: error ?? group.full_path };
  await audit.log(
    { db, now, by: author, source },
    error === null ? "group imported" : "group import failed",
    about,
  );
}

/** {@link overwrite}, for whoever has asked for the import. */
async function takePlace(
  db: Database,
  { place: { id: projectId }, importer, now }: Target,
  overwriting: Overwriting,
): Promise<void> {
  const [row] = await db.rows("select namespace_id from projects where id = ?", [projectId]);
  const namespace = row && (await namespaces.find(db, row[0] as number));
  // It was deleted meanwhile.
  if (!namespace) return;
  const by = await users.find(db, importer);
  if (by?.state !== "active") throw new ArchiveError("Its importer is blocked or gone");
  const { id, username, admin } = by;
  // Whoever owns a project sees it, external or not.
  const person = { id, username, admin: admin === 1, external: true };
  await overwrite(db, { namespace, projectId, by: person }, overwriting, now);
}
