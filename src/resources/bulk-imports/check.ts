import type { Caller } from "../../core/access/caller.ts";
import { ApiError, invalid } from "../../core/errors.ts";
import type { Context, PrepareContext } from "../../core/resource.ts";
import { addressesOf, ForbiddenAddress, UnknownHost } from "../../outgoing/addresses.ts";
import { until } from "../../outgoing/request.ts";
import type { Reader } from "../../store/port.ts";
import { addressOf, requirePublic } from "../mirrors/address.ts";
import * as namespaces from "../namespaces/queries.ts";
import { alone, MINUTE, MOST_A_MINUTE, tooMany } from "../url-imports/check.ts";
import { mayMake } from "./abilities.ts";
import { DIALECTS } from "./dialects.ts";
import * as imports from "./queries.ts";
import { numberIn } from "./rows.ts";
import { Source, SourceError } from "./source.ts";

/** What there is to say of a server that refuses, is none of GitLab's, or does not answer: nobody looks around with it. */
const NO_ACCESS = "Unable to access the source instance with the URL and access token provided";

const refused = (message: string) => new ApiError(422, { message });

/** A server that answers, and whose token it is there. */
export interface Tried {
  readonly sourceUrl: string;
  readonly sourceUserId: number;
  readonly token: string;
}

/**
 * Reads the address of a server.
 *
 * @returns it without credentials, query and fragment
 * @throws ApiError 400
 */
export function readUrl(text: string): URL {
  const { url, credentials } = addressOf(text, {}, "configuration[url]");
  if (credentials !== undefined) {
    throw invalid({ "configuration[url]": ["must have no credentials: send the access token"] });
  }
  return new URL(url.replace(/\/+$/, ""));
}

/**
 * Asks a server whose token it is.
 *
 * @throws SourceError if it does not answer as GitLab does
 */
export async function ownerOf(source: Source): Promise<number> {
  const id = numberIn((await source.get("user"))["id"]);
  if (id === null) throw new SourceError("the answer is none of GitLab's");
  return id;
}

/** @throws ApiError 429 if a user has begun too many imports */
export async function requireFewImports(db: Reader, userId: number, now: number): Promise<void> {
  if ((await imports.countSince(db, userId, now - MINUTE)) >= MOST_A_MINUTE) throw tooMany();
}

/** @throws ForbiddenAddress if the host of a server must not be called; one that is unknown can't be reached later on */
export async function requirePublicUrl(
  url: URL,
  allowLocal: boolean,
  signal: AbortSignal,
): Promise<void> {
  try {
    await until(signal, addressesOf(url, allowLocal));
  } catch (error) {
    if (!(error instanceof UnknownHost)) throw error;
  }
}

/**
 * Tries the server that is to be imported from.
 *
 * @throws ApiError 400 for an address that is none, 422 if it can't be read, 429 if the user begins too many imports
 */
export async function tryOut(
  text: string,
  token: string,
  {
    store,
    outgoing,
    now,
    caller,
  }: Pick<PrepareContext<Caller>, "store" | "outgoing" | "now" | "caller">,
): Promise<Tried> {
  const url = readUrl(text);
  const { id: userId } = caller;
  await requireFewImports(store.reader(), userId, now);
  if (outgoing.isKept?.()) throw refused(NO_ACCESS);
  const { allowLocal } = outgoing;
  return alone(store, userId, async (signal) => {
    try {
      await requirePublic(
        { url: url.href, credentials: undefined },
        allowLocal,
        "configuration[url]",
      );
      const settings = { dialect: DIALECTS.gitlab, url, token, allowLocal, now: () => Date.now() };
      const sourceUserId = await ownerOf(new Source(settings, signal));
      return { sourceUrl: url.href.replace(/\/+$/, ""), sourceUserId, token };
    } catch (error) {
      if (error instanceof ApiError) throw refused(textOfBlocked(error));
      throw refused(error instanceof ForbiddenAddress ? error.message : NO_ACCESS);
    }
  });
}

const textOfBlocked = ({ body }: ApiError) =>
  Object.values("message" in body ? (body.message as object) : {})
    .flat()
    .join(", ");

/** A group or project as a client asks for it. */
export interface AskedFor {
  readonly source_type: imports.EntityType;
  readonly source_full_path: string;
  readonly destination_slug?: string | undefined;
  readonly destination_name?: string | undefined;
  readonly destination_namespace?: string | undefined;
  readonly migrate_projects?: boolean | undefined;
  readonly migrate_memberships?: boolean | undefined;
}

/** What is asked for, with what it is if that is left out. */
export function entityOf(asked: AskedFor): imports.NewEntity {
  const source_full_path = asked.source_full_path.replace(/^\/+|\/+$/g, "");
  const last = source_full_path.split("/").at(-1) as string;
  return {
    entity_type: asked.source_type,
    source_full_path,
    destination_slug: asked.destination_slug ?? asked.destination_name ?? last,
    destination_namespace: (asked.destination_namespace ?? "").replace(/^\/+|\/+$/g, ""),
    migrate_projects: Number(asked.migrate_projects ?? true),
    migrate_memberships: Number(asked.migrate_memberships ?? true),
  };
}

/**
 * Checks that the caller may import what is asked for.
 *
 * @returns what is to be brought
 * @throws ApiError 422 in GitLab's words
 */
export async function requireNew(
  context: Pick<Context, "now"> & { readonly db: Reader; readonly caller: Caller },
  asked: readonly AskedFor[],
): Promise<imports.NewEntity[]> {
  if (asked.length === 0) throw invalid({ entities: ["can't be empty"] });
  const { db, caller, now } = context;
  const entities = asked.map(entityOf);
  for (const entity of entities) {
    const { destination_namespace: above, entity_type } = entity;
    const parent = above === "" ? undefined : await namespaces.findByPath(db, above);
    const kind = entity_type === "group_entity" ? "group" : "project";
    const isThere = above === "" || parent !== undefined;
    const may = isThere && (await mayMake(db, { caller, now: () => now }, kind, parent));
    if (!may) {
      const named = above === "" ? entity.destination_slug : above;
      throw refused(
        `Import failed. Destination '${named}' is invalid, or you don't have permission.`,
      );
    }
  }
  return entities;
}
