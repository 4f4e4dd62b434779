import { placeholders } from "../../store/placeholders.ts";
import type { Reader } from "../../store/port.ts";
import * as users from "../users/queries.ts";
import { textIn } from "./rows.ts";
import { isTold, type Source, SourceError } from "./source.ts";

/** Who imports, and who they are on the other server. */
export interface Importer {
  readonly id: number;
  readonly sourceUserId: number;
  /** Whether they may speak for others: administrators. */
  readonly speaksForAll: boolean;
}

/** People whose ids are remembered. */
const MOST = 100_000;
/** Objects in objects that are looked into. */
const DEEPEST = 6;

/**
 * Finds out who people of another server are here: whoever has the token is the importer; others, if the importer may
 * speak for them, are the users of the same name, where names tell, or of the confirmed address that they show there.
 */
export class People {
  readonly #db: Reader;
  readonly #source: Source;
  readonly #importer: Importer;
  /** The ids here by the ids there; `null` for those who are nobody here. */
  readonly #known = new Map<number, number | null>();

  constructor(db: Reader, source: Source, importer: Importer) {
    this.#db = db;
    this.#source = source;
    this.#importer = importer;
  }

  /** The ids here of all people whom an answer names, by their ids there. */
  async in(told: unknown): Promise<Map<number, number>> {
    const named = new Map<number, string>();
    collect(told, named, 0);
    const found = new Map<number, number>();
    const unknown: [number, string][] = [];
    for (const [id, username] of named) {
      const known = this.#known.get(id);
      if (known === undefined) unknown.push([id, username]);
      else if (known !== null) found.set(id, known);
    }
    if (unknown.length > 0) {
      for (const [id, here] of await this.#find(unknown)) {
        if (this.#known.size < MOST) this.#known.set(id, here);
        if (here !== null) found.set(id, here);
      }
    }
    return found;
  }

  async #find(people: readonly [number, string][]): Promise<[number, number | null][]> {
    const { id: importer, sourceUserId, speaksForAll } = this.#importer;
    if (!speaksForAll) {
      return people.map(([id]) => [id, id === sourceUserId ? importer : null]);
    }
    if (!this.#source.dialect.matchesNames) return this.#byAddresses(people);
    const among = placeholders(people.map(([, username]) => username.toLowerCase()));
    const rows = await this.#db.rows(
      `select lower(username), id from users where lower(username) in (${among.sql}) and state not in ('removed', 'ghost')`,
      among.values,
    );
    const byName = new Map(rows as [string, number][]);
    const found: [number, number | null][] = [];
    for (const [id, username] of people) {
      const here =
        id === sourceUserId
          ? importer
          : (byName.get(username.toLowerCase()) ?? (await this.#byAddress(id, username)));
      found.push([id, here ?? null]);
    }
    return found;
  }

  async #byAddresses(people: readonly [number, string][]): Promise<[number, number | null][]> {
    const { id: importer, sourceUserId } = this.#importer;
    const found: [number, number | null][] = [];
    for (const [id, username] of people) {
      const here = id === sourceUserId ? importer : await this.#byAddress(id, username);
      found.push([id, here ?? null]);
    }
    return found;
  }

  /** Whoever has confirmed the address that somebody shows there. */
  async #byAddress(id: number, username: string): Promise<number | undefined> {
    try {
      const { profileOf, addressIn } = this.#source.dialect;
      const email = textIn((await this.#source.get(profileOf(id, username)))[addressIn]);
      return email ? await users.idByAddress(this.#db, email) : undefined;
    } catch (error) {
      if (error instanceof SourceError) return undefined;
      throw error;
    }
  }
}

/** The people in an answer: whatever has an id and a user name. */
function collect(told: unknown, found: Map<number, string>, depth: number): void {
  if (depth > DEEPEST) return;
  if (Array.isArray(told)) {
    for (const one of told) collect(one, found, depth + 1);
    return;
  }
  if (!isTold(told)) return;
  const { id, username } = told;
  if (Number.isSafeInteger(id) && typeof username === "string" && username.length <= 255) {
    found.set(id as number, username.replaceAll("\0", ""));
  }
  for (const value of Object.values(told)) {
    if (typeof value === "object" && value !== null) collect(value, found, depth + 1);
  }
}
