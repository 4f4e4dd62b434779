import { discardFile, storeFile } from "../../files/write.ts";
import { type Pointer, pointerIn } from "../../git/pointers.ts";
import { Budget } from "../../turns/budget.ts";
import { ArchiveError } from "../exports/format.ts";
import { addObject, OBJECT_BYTES, sizesOf } from "../lfs/objects.ts";
import { findRecord, openRecord } from "../repositories/open.ts";
import { addressOfCode } from "./code.ts";
import { write } from "./records.ts";
import { listIn, textIn, toldIn } from "./rows.ts";
import type { Bringing } from "./running.ts";
import { type Sending, SourceError, type Told } from "./source.ts";

/** Objects that are asked for at once, as git-lfs does. */
const AT_ONCE = 100;
const MOST_OBJECTS = 1_000_000;
const MOST_REDIRECTS = 3;
const TYPE = "application/vnd.git-lfs+json";

/** Headers that are about a connection: they are not the other server's to say. */
const OWN = /^(host|connection|content-length|expect|te|transfer-encoding|upgrade)$/i;

/** Brings the objects of Git LFS that pointers in the repository stand for, and that are not here. */
export async function bringLargeFiles(bringing: Bringing): Promise<void> {
  await bringing.part("lfs_objects", async () => {
    const { running, place } = bringing;
    const all = await pointersOf(bringing);
    const known = await sizesOf(running.store.reader(), place.id, [...all.keys()]);
    const missing = [...all.values()].filter(({ oid }) => !known.has(oid));
    for (let from = 0; from < missing.length; from += AT_ONCE) {
      const some = missing.slice(from, from + AT_ONCE);
      for (const [at, offer] of (await offersOf(bringing, some)).entries()) {
        await bringObject(bringing, some, offer);
        bringing.tell("lfs_objects", from + at + 1);
      }
    }
  });
}

/** The pointers in the repository, each once. */
async function pointersOf({ running, place }: Bringing): Promise<Map<string, Pointer>> {
  const { store, signal } = running;
  const { row } = await findRecord(store.reader(), place.id);
  const found = new Map<string, Pointer>();
  if (!row) return found;
  const repository = await openRecord(store, row);
  const budget = new Budget(signal);
  for (let object = 0; object < repository.count; object += 1) {
    if (budget.isDue) await budget.pause();
    const pointer = await pointerIn(repository, object);
    if (pointer) found.set(pointer.oid, pointer);
    if (found.size > MOST_OBJECTS) throw new ArchiveError(`there are more than ${MOST_OBJECTS}`);
  }
  return found;
}

/** Where objects are, as the other server says (git-lfs, docs/api/batch.md). @throws SourceError */
async function offersOf(bringing: Bringing, objects: readonly Pointer[]): Promise<Told[]> {
  const url = addressOfCode(bringing, ".git/info/lfs/objects/batch");
  const told = await bringing.running.source.ask({
    url,
    method: "POST",
    headers: { accept: TYPE, "content-type": TYPE },
    body: JSON.stringify({ operation: "download", transfers: ["basic"], objects }),
  });
  return [...listIn(told["objects"])];
}

async function bringObject(
  bringing: Bringing,
  asked: readonly Pointer[],
  offer: Told,
): Promise<void> {
  const { running, place } = bringing;
  const { store, now } = running;
  const pointer = asked.find(({ oid }) => oid === offer["oid"]);
  if (!pointer) return;
  try {
    const download = toldIn(toldIn(offer["actions"])["download"]);
    const href = textIn(download["href"]);
    if (href === null || !URL.canParse(href)) {
      throw new SourceError(textIn(toldIn(offer["error"])["message"]) ?? "it is not there");
    }
    const headers = Object.entries(toldIn(download["header"])).filter(
      (header): header is [string, string] => typeof header[1] === "string" && !OWN.test(header[0]),
    );
    const sending = {
      ...{ url: new URL(href), method: "GET" as const },
      headers: Object.fromEntries(headers),
    };
    const file = await storeFile(store, bytesOf(bringing, sending, pointer), now());
    try {
      if (file.sha256 !== pointer.oid) throw new SourceError("its content is another one");
      await write({ store, place }, (db) => addObject(db, place.id, file, now()));
    } finally {
      await discardFile(store, file.id);
    }
  } catch (error) {
    running.signal.throwIfAborted();
    if (!(error instanceof SourceError)) throw error;
    await bringing.fail("lfs_objects", error, pointer.oid);
  }
}

/** The content of an object, no more of it than its pointer says. */
async function* bytesOf(
  { running: { source } }: Bringing,
  first: Sending,
  { size }: Pointer,
): AsyncGenerator<Uint8Array> {
  let sending = first;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
    const answer = await source.open(sending, Math.min(size, OBJECT_BYTES));
    if ("bytes" in answer) {
      yield* answer.bytes;
      return;
    }
    // Another host does not get what this one was to be told.
    const isSame = answer.location.host === sending.url.host;
    sending = { ...sending, url: answer.location, headers: isSame ? sending.headers : {} };
  }
  throw new SourceError("there are too many redirects");
}
