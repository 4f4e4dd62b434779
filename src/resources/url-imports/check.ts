import { ApiError, forbidden } from "../../core/errors.ts";
import { storedIn } from "../../core/kept.ts";
import type { PrepareContext } from "../../core/resource.ts";
import { listForFetch, type RemoteRefs } from "../../git/remote.ts";
import { ForbiddenAddress } from "../../outgoing/addresses.ts";
import type { Reader, Store } from "../../store/port.ts";
import { Budget } from "../../turns/budget.ts";
import { keptSettings } from "../application-settings/kept.ts";
import { addressOf, type MirrorAddress } from "../mirrors/address.ts";
import { reasonOf } from "../mirrors/updates.ts";
import { countSince } from "./queries.ts";

/** Milliseconds in which the other server must answer while the request waits. */
const PATIENCE = 5000;
/** Imports that a user may begin in {@link MINUTE}, as in GitLab. */
export const MOST_A_MINUTE = 6;
/** In milliseconds. */
export const MINUTE = 60_000;
/** What there is to say of a server that refuses, has no repository there, or does not answer: nobody looks around with it. */
const NO_ACCESS = "Unable to access repository with the URL and credentials provided";

/** The users whose addresses are being tried, one at a time of each. */
const trying = new WeakMap<Store, Set<number>>();

const refused = (reason: string) => new ApiError(422, { message: reason });

/** The answer to who begins too many imports. */
export const tooMany = () =>
  new ApiError(429, {
    message: { error: "This endpoint has been requested too many times. Try again later." },
  });

/** Requires that the setting `import_sources` has a source. @throws ApiError 403 */
export async function requireSource(db: Reader, source: string): Promise<void> {
  const { import_sources: sources } = keptSettings.read(
    await storedIn(db, "application_settings", 1),
  );
  if (!sources?.includes(source)) throw forbidden();
}

/**
 * Tries the address that a project is to be imported from.
 *
 * @param text the URL, perhaps with a user and a password
 * @param userId whose import it is
 * @throws ApiError 403 if the setting `import_sources` has no `git`, 422 if there is no repository that can be read, 429 if the
 *   user begins too many imports
 */
export async function checkImport(
  text: string,
  { store, outgoing, now }: Pick<PrepareContext, "store" | "outgoing" | "now">,
  userId: number,
): Promise<MirrorAddress> {
  const db = store.reader();
  await requireSource(db, "git");
  const address = readAddress(text);
  if ((await countSince(db, userId, now - MINUTE)) >= MOST_A_MINUTE) throw tooMany();
  if (outgoing.isKept?.()) throw refused(NO_ACCESS);
  const { allowLocal } = outgoing;
  await alone(store, userId, (signal) => read({ url: new URL(text), allowLocal }, signal));
  return address;
}

/**
 * Tries the server of a user, while nothing else of theirs is tried.
 *
 * @param attempt is given what ends it after {@link PATIENCE}
 * @throws ApiError 429 if something of theirs is being tried
 */
export async function alone<T>(
  store: Store,
  userId: number,
  attempt: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const users = trying.get(store) ?? new Set();
  if (users.has(userId)) throw tooMany();
  trying.set(store, users.add(userId));
  try {
    return await attempt(AbortSignal.timeout(PATIENCE));
  } finally {
    users.delete(userId);
  }
}

/** Ports of other services than the web's, which imports do not look at. @throws ApiError 422 */
function readAddress(text: string): MirrorAddress {
  const port = URL.canParse(text) ? new URL(text).port : "";
  if (port !== "" && Number(port) < 1024 && port !== "80" && port !== "443") {
    throw refused("Only allowed ports are 80, 443, and any over 1024");
  }
  try {
    return addressOf(text);
  } catch (error) {
    if (error instanceof ApiError) throw refused(NO_ACCESS);
    throw error;
  }
}

/** @throws ApiError 422 */
async function read(
  remote: Parameters<typeof listForFetch>[0],
  signal: AbortSignal,
): Promise<RemoteRefs> {
  try {
    return await listForFetch(remote, signal, new Budget(signal));
  } catch (error) {
    if (error instanceof ForbiddenAddress) throw refused(error.message);
    if (!signal.aborted) reasonOf(error);
    throw refused(NO_ACCESS);
  }
}
