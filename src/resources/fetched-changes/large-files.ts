import { discardFile, storeFile } from "../../files/write.ts";
import { type Pointer, pointerIn } from "../../git/pointers.ts";
import { Client, isTold, type Sending, SourceError, type Told } from "../../outgoing/client.ts";
import type { Store } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { addObject, isEnabled, OBJECT_BYTES, sizesOf } from "../lfs/objects.ts";
import { findRecord, openRecord } from "../repositories/open.ts";
import type { Fetching } from "./fetch.ts";

/** Objects that are asked for at once, as git-lfs does. */
const AT_ONCE = 100;
const MOST_OBJECTS = 1_000_000;
const MOST_REDIRECTS = 3;
const TYPE = "application/vnd.git-lfs+json";

/** Headers that are about a connection: they are not the other server's to say. */
const OWN = /^(host|connection|content-length|expect|te|transfer-encoding|upgrade)$/i;

/** For which project objects are brought, and from which repository on another server. */
export interface LargeFilesOf {
  readonly store: Store;
  readonly now: () => number;
  readonly projectId: number;
  /** The repository, with credentials. */
  readonly url: URL;
  readonly client: Client;
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
    const offers = new Map((await offersOf(bringing, some)).map((one) => [one["oid"], one]));
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

/** Where objects are, as the other server says (git-lfs, docs/api/batch.md). @throws SourceError */
async function offersOf(
  { client, url }: LargeFilesOf,
  objects: readonly Pointer[],
): Promise<Told[]> {
  const at = new URL(url);
  at.pathname = `${at.pathname.replace(/(\.git)?\/?$/, "")}.git/info/lfs/objects/batch`;
  const told = await client.ask({
    url: at,
    method: "POST",
    headers: { accept: TYPE, "content-type": TYPE },
    body: JSON.stringify({ operation: "download", transfers: ["basic"], objects }),
  });
  const offers = told["objects"];
  return Array.isArray(offers) ? offers.filter(isTold) : [];
}

const partOf = (told: Told, name: string): Told => {
  const part = told[name];
  return isTold(part) ? part : {};
};

/** What asks for an object. @throws SourceError if it is not there */
function downloadOf({ url }: LargeFilesOf, offer: Told): Sending {
  const download = partOf(partOf(offer, "actions"), "download");
  const { href } = download;
  if (typeof href !== "string" || !URL.canParse(href)) {
    const { message } = partOf(offer, "error");
    throw new SourceError(typeof message === "string" ? message : "it is not there");
  }
  const at = new URL(href);
  if (!/^https?:$/.test(at.protocol)) throw new SourceError("it is at an address of another kind");
  const headers = Object.entries(partOf(download, "header")).filter(
    (header): header is [string, string] => typeof header[1] === "string" && !OWN.test(header[0]),
  );
  const isTrusted = at.origin === url.origin;
  if (isTrusted && !headers.some(([name]) => name.toLowerCase() === "authorization")) {
    at.username = url.username;
    at.password = url.password;
  }
  return { url: at, method: "GET", headers: Object.fromEntries(headers) };
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
