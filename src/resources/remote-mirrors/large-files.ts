import { readFile } from "../../files/read.ts";
import { Client, SourceError } from "../../outgoing/client.ts";
import type { Store } from "../../store/port.ts";
import { AT_ONCE, type Elsewhere, offersOf, sendObject } from "../lfs/elsewhere.ts";
import { hasObjects, type NewObject, newObjects } from "../lfs/objects.ts";
import { type Mirror, rememberLargeFiles } from "./queries.ts";

/** How an error begins that names objects which were not sent: GitLab's words. */
export const NOT_SENT = "Error synchronizing LFS files:";

/** Where the objects of a mirror go. */
interface Sent {
  readonly store: Store;
  /** With credentials. */
  readonly url: URL;
  readonly allowLocal: boolean;
  readonly signal: AbortSignal;
}

/**
 * Sends a mirror the objects of Git LFS that its project has got since the last time. It is done before the code, which other
 * servers may refuse without them.
 *
 * @returns what was not sent; the next update begins there
 */
export async function sendLargeFiles(
  { store, url, allowLocal, signal }: Sent,
  mirror: Mirror,
): Promise<string[]> {
  const db = store.reader();
  if (!(await hasObjects(db, mirror.project_id))) return [];
  const elsewhere = { url, client: new Client({ allowLocal }, signal) };
  for (let after = mirror.large_files_until; ; ) {
    const objects = await newObjects(db, mirror.project_id, after, AT_ONCE);
    if (objects.length === 0) return [];
    const left = await sendAll(store, elsewhere, objects, signal);
    if (left.length > 0) return left;
    after = Math.max(...objects.map(({ place }) => place));
    await rememberLargeFiles(store, mirror.id, after);
  }
}

async function sendAll(
  store: Store,
  elsewhere: Elsewhere,
  objects: readonly NewObject[],
  signal: AbortSignal,
): Promise<string[]> {
  const left: string[] = [];
  const attempt = async (name: string, send: () => Promise<void>) => {
    try {
      await send();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SourceError)) throw error;
      left.push(`${name}${error.message}`);
    }
  };
  await attempt("", async () => {
    const offers = await offersOf(
      elsewhere,
      "upload",
      objects.map(({ size, sha256: oid }) => ({ oid, size })),
    );
    for (const { id, size, sha256: oid } of objects) {
      const bytes = () => readFile(store.reader(), { id, size });
      await attempt(`${oid}: `, () =>
        sendObject(elsewhere, { oid, size }, offers.get(oid) ?? {}, bytes),
      );
    }
  });
  return left;
}
