import { placeholders } from "../../store/placeholders.ts";
import type { Store } from "../../store/port.ts";
import * as sourceUsers from "../placeholders/queries.ts";
import * as users from "../users/queries.ts";
import { findOrCreateGhost, GHOST_NAME } from "../users/removal.ts";
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

/** Somebody whom an answer names. */
interface Named {
  readonly id: number;
  readonly username: string;
  readonly name: string;
}

/** Where placeholders are made. */
interface Making {
  readonly store: Store;
  readonly now: () => number;
}

/**
 * Finds out who people of another server are here: whoever has the token is the importer; others, if the importer may
 * speak for them, are the users of the same name, where names tell, or of the confirmed address that they show there. Others
 * have a placeholder in the group at the top that is imported into, until it is reassigned.
 */
export class People {
  readonly #making: Making;
  readonly #source: Source;
  readonly #importer: Importer;
  readonly #origin: sourceUsers.Origin | undefined;
  /** The ids here by the ids there; `null` for those without an account here. */
  readonly #known: Map<number, number | null>;

  /**
   * @param origin where they are from, and into which group; `undefined` for a user's own namespace, which has no placeholders
   * @param known whom others of that server are known to be
   */
  constructor(
    making: Making,
    source: Source,
    importer: Importer,
    origin?: sourceUsers.Origin,
    known = new Map<number, number | null>(),
  ) {
    this.#making = making;
    this.#source = source;
    this.#importer = importer;
    this.#origin = origin;
    this.#known = known;
  }

  /** The same people, for what is imported into a group at the top or, if it is `undefined`, elsewhere. */
  into(origin: sourceUsers.Origin | undefined): People {
    return new People(this.#making, this.#source, this.#importer, origin, this.#known);
  }

  /** Whether people without an account here get a placeholder. */
  get haveStandIns(): boolean {
    return this.#origin !== undefined;
  }

  /** The ids here of all people whom an answer names, by their ids there. */
  async in(told: unknown): Promise<Map<number, number>> {
    const named = new Map<number, Named>();
    collect(told, named, 0);
    const all = [...named.values()];
    const placeholders = await this.#placeholdersOf(all.map(({ id }) => id));
    const found = new Map<number, number>();
    const others = all.filter(({ id }) => !placeholders.has(id));
    for (const [id, one] of placeholders) {
      const user = sourceUsers.userOf(one);
      if (user !== null) found.set(id, user);
    }
    const nobody = new Set<number>();
    for (const [id, here] of await this.#users(others)) {
      if (here === null) nobody.add(id);
      else found.set(id, here);
    }
    for (const one of others) {
      if (!nobody.has(one.id)) continue;
      const user = await this.#standIn(one);
      if (user !== undefined) found.set(one.id, user);
    }
    return found;
  }

  /** The id of the source user of somebody with a placeholder; `undefined` for somebody with an account here, or neither. */
  async sourceUserOf(id: number): Promise<number | undefined> {
    const one = (await this.#placeholdersOf([id])).get(id);
    return one && sourceUsers.userOf(one) === one.placeholder_user_id ? one.id : undefined;
  }

  /** Those of some people who have, or had, a placeholder. */
  async #placeholdersOf(ids: readonly number[]): Promise<Map<number, sourceUsers.SourceUser>> {
    const others = ids.filter((id) => id !== this.#importer.sourceUserId);
    if (this.#origin === undefined || others.length === 0) return new Map();
    const reader = this.#making.store.reader();
    const known = await sourceUsers.known(reader, this.#origin, others.map(String));
    return new Map([...known].map(([id, one]) => [Number(id), one]));
  }

  /** The placeholder of somebody without an account here, which is made if there is none. */
  async #standIn({ id, username, name }: Named): Promise<number | undefined> {
    const origin = this.#origin;
    if (origin === undefined) return undefined;
    const { store, now } = this.#making;
    return store.transaction(async (db) => {
      // Of people who were deleted there, nobody could agree.
      if (name === GHOST_NAME && /^ghost\d*$/.test(username)) return findOrCreateGhost(db, now());
      const made = await sourceUsers.add(
        db,
        origin,
        { identifier: String(id), username, name },
        now(),
      );
      return made && (sourceUsers.userOf(made) ?? undefined);
    });
  }

  /** The ids here of people who have no placeholder; `null` for those without an account here. */
  async #users(people: readonly Named[]): Promise<Map<number, number | null>> {
    const found = new Map<number, number | null>();
    const unknown: Named[] = [];
    for (const one of people) {
      const known = this.#known.get(one.id);
      if (known === undefined) unknown.push(one);
      else found.set(one.id, known);
    }
    if (unknown.length === 0) return found;
    for (const [id, here] of await this.#find(unknown)) {
      if (this.#known.size < MOST) this.#known.set(id, here);
      found.set(id, here);
    }
    return found;
  }

  async #find(people: readonly Named[]): Promise<[number, number | null][]> {
    const { id: importer, sourceUserId, speaksForAll } = this.#importer;
    if (!speaksForAll) {
      return people.map(({ id }) => [id, id === sourceUserId ? importer : null]);
    }
    const byName = this.#source.dialect.matchesNames ? await this.#byNames(people) : undefined;
    const found: [number, number | null][] = [];
    for (const { id, username } of people) {
      const here =
        id === sourceUserId
          ? importer
          : (byName?.get(username.toLowerCase()) ?? (await this.#byAddress(id, username)));
      found.push([id, here ?? null]);
    }
    return found;
  }

  /** The users here who have the same names. */
  async #byNames(people: readonly Named[]): Promise<Map<string, number>> {
    const among = placeholders(people.map(({ username }) => username.toLowerCase()));
    const rows = await this.#making.store.reader().rows(
      `select lower(username), id from users
       where lower(username) in (${among.sql}) and state not in ('removed', 'ghost', 'placeholder')`,
      among.values,
    );
    return new Map(rows as [string, number][]);
  }

  /** Whoever has confirmed the address that somebody shows there. */
  async #byAddress(id: number, username: string): Promise<number | undefined> {
    try {
      const { profileOf, addressIn } = this.#source.dialect;
      const email = textIn((await this.#source.get(profileOf(id, username)))[addressIn]);
      return email ? await users.idByAddress(this.#making.store.reader(), email) : undefined;
    } catch (error) {
      if (error instanceof SourceError) return undefined;
      throw error;
    }
  }
}

/** The people in an answer: whatever has an id and a user name. */
function collect(told: unknown, found: Map<number, Named>, depth: number): void {
  if (depth > DEEPEST) return;
  if (Array.isArray(told)) {
    for (const one of told) collect(one, found, depth + 1);
    return;
  }
  if (!isTold(told)) return;
  const { id, username, name } = told;
  if (Number.isSafeInteger(id) && typeof username === "string" && username.length <= 255) {
    const user = username.replaceAll("\0", "");
    const called = typeof name === "string" ? name.replaceAll("\0", "").trim() : "";
    found.set(id as number, { id: id as number, username: user, name: called || user });
  }
  for (const value of Object.values(told)) {
    if (typeof value === "object" && value !== null) collect(value, found, depth + 1);
  }
}
