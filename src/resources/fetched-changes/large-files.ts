import { discardFile, storeFile } from "../../files/write.ts";
import { type Pointer, pointerIn } from "../../git/pointers.ts";
import { Client, type Sending, SourceError, type Told } from "../../outgoing/client.ts";
import type { Store } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { AT_ONCE, actionOf, type Elsewhere, offersOf, problemOf } from "../lfs/elsewhere.ts";
import { addObject, isEnabled, OBJECT_BYTES, sizesOf } from "../lfs/objects.ts";
import { findRecord, openRecord } from "../repositories/open.ts";
import type { Fetching } from "./fetch.ts";

const MOST_OBJECTS = 1_000_000;
const MOST_REDIRECTS = 3;

/** For which project objects are brought, and from which repository on another server. */
export interface LargeFilesOf extends Elsewhere {
  readonly store: Store;
  readonly now: () => number;
  readonly projectId: number;
  readonly signal: AbortSignal;
  readonly budget: Budget;
  /** Hears of each object that could not be brought. */
  readonly onFailure: (oid: string, error: SourceError) => void | Promise<void>;
  /** Hears how many were looked at. */
  readonly onSeen?: (count: number) => void;
}

/**
 * Brings the objects of Git LFS that pointers in a project's repository stand for, and that the project does not have.
 *
 * @param after only pointers in later packs count: those before have been looked at
 * @throws SourceError if the other server does not say where they are
 */
export async function bringLargeFiles(bringing: LargeFilesOf, after = 0): Promise<void> {
  const { store, projectId } = bringing;
  const all = await pointersOf(bringing, after);
  const known = await sizesOf(store.reader(), projectId, [...all.keys()]);
  const missing = [...all.values()].filter(({ oid }) => !known.has(oid));
  for (let from = 0; from < missing.length; from += AT_ONCE) {
    const some = missing.slice(from, from + AT_ONCE);
    const offers = await offersOf(bringing, "download", some);
    for (const [at, pointer] of some.entries()) {
      await bringObject(bringing, pointer, offers.get(pointer.oid) ?? {});
      bringing.onSeen?.(from + at + 1);
    }
  }
}

/**
 * {@link bringLargeFiles} for a mirror or an import.
 *
 * @returns those that could not be brought, each with the reason; `undefined` if the project has no Git LFS
 */
export async function largeFilesLeft(fetching: Fetching, after = 0): Promise<string[] | undefined> {
  const { store, projectId, listed, signal } = fetching;
  const left: string[] = [];
  if (!(await isEnabled(store.reader(), projectId))) return undefined;
  const { url, allowLocal } = listed.remote;
  const onFailure = (oid: string, { message }: SourceError) => {
    left.push(`${oid} (${message})`);
  };
  try {
    const client = new Client({ allowLocal }, signal);
    await bringLargeFiles({ ...fetching, url, client, onFailure }, after);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    left.push(error.message);
  }
  return left;
}

/** How an error begins that names objects which were not brought. */
export const LARGE_FILES_LEFT = "Some objects of Git LFS could not be fetched:";

/** The pack that a project has got last; 0 if it has none. */
export async function newestPack(store: Store, projectId: number): Promise<number> {
  const { row } = await findRecord(store.reader(), projectId);
  if (!row) return 0;
  const { list } = await openRecord(store, row);
  return Math.max(0, ...list.map(({ id }) => id));
}

/** The pointers in the repository, each once. @throws SourceError if there are too many */
async function pointersOf(
  { store, projectId, budget }: LargeFilesOf,
  after: number,
): Promise<Map<string, Pointer>> {
  const { row } = await findRecord(store.reader(), projectId);
  const found = new Map<string, Pointer>();
  if (!row) return found;
  const repository = await openRecord(store, row);
  for (const [place, pack] of repository.list.entries()) {
    if (pack.id <= after) continue;
    const start = repository.startOf(place);
    for (let object = start; object < start + pack.count; object += 1) {
      if (budget.isDue) await budget.pause();
      const pointer = await pointerIn(repository, object);
      if (pointer) found.set(pointer.oid, pointer);
      if (found.size > MOST_OBJECTS) throw new SourceError(`there are more than ${MOST_OBJECTS}`);
    }
  }
  return found;
}

/** What asks for an object. @throws SourceError if it is not there */
function downloadOf(bringing: LargeFilesOf, offer: Told): Sending {
  const download = actionOf(bringing, offer, "download");
  if (!download) throw new SourceError(problemOf(offer) ?? "it is not there");
  return { ...download, method: "GET" };
}

async function bringObject(bringing: LargeFilesOf, pointer: Pointer, offer: Told): Promise<void> {
  const { store, now, projectId, signal, onFailure } = bringing;
  try {
    const sending = downloadOf(bringing, offer);
    const file = await storeFile(store, bytesOf(bringing.client, sending, pointer), now());
    try {
      if (file.sha256 !== pointer.oid) throw new SourceError("its content is another one");
      await store.transaction(
        (db) => {
          db.lock(projectId);
          return addObject(db, projectId, file, now());
        },
        { shared: true },
      );
    } finally {
      await discardFile(store, file.id);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SourceError)) throw error;
    await onFailure(pointer.oid, error);
  }
}

/** The content of an object, no more of it than its pointer says. */
async function* bytesOf(
  client: Client,
  first: Sending,
  { size }: Pointer,
): AsyncGenerator<Uint8Array> {
  let sending = first;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
    const answer = await client.open(sending, Math.min(size, OBJECT_BYTES));
    if ("bytes" in answer) {
      yield* answer.bytes;
      return;
    }
    // Another host does not get what this one was to be told.
    const isSame = answer.location.origin === sending.url.origin;
    sending = { ...sending, url: answer.location, headers: isSame ? sending.headers : {} };
  }
  throw new SourceError("there are too many redirects");
}
