// How each resource describes its part of a seed; src/seed puts the parts together.
import * as v from "valibot";
import type { Database } from "../store/port.ts";
import { optionsOf } from "./options.ts";
import type { Secrets } from "./secrets.ts";

/** A seed that can't be used; the message says what is wrong and where. */
export class SeedError extends Error {
  // A getter: classes with fields lose their own name in the CommonJS build.
  override get name() {
    return "SeedError" as const;
  }
}

/** One of some words. It accepts any string, since that is TypeScript's type for words of an imported JSON file. */
export type Word<W extends string> = W | (string & Record<never, never>);

/** An ISO 8601 instant or day, in UTC if it has no offset. Default: now. */
export type InstantSeed = string | undefined;

/** The schema of {@link Word}. */
export const oneOf = <const W extends string>(words: readonly W[]) =>
  v.picklist(words, `must be one of ${words.join(", ")}`) as unknown as v.GenericSchema<Word<W>, W>;

/** {@link oneOf} the keys of an object. */
export const keyOf = <const T extends Record<string, unknown>>(object: T) =>
  oneOf(Object.keys(object) as (keyof T & string)[]);

/** The schema of a calendar day. */
export const day = v.pipe(v.string(), v.isoDate());

/** The schema of {@link InstantSeed}; its output is epoch milliseconds. */
export const instant = v.optional(
  v.pipe(
    v.string(),
    v.transform((text) => Date.parse(/T[\d:.]+$/.test(text) ? `${text}Z` : text)),
    v.number("Invalid instant"),
  ),
);

/** A seeded user, as what belongs to the user needs it. */
export interface SeededUser {
  readonly id: number;
  readonly username: string;
}

/** A seeded group or project, as what belongs to it needs it. */
export interface SeededSource {
  readonly column: "namespace_id" | "project_id";
  readonly id: number;
  /** The group itself, or the project's namespace. */
  readonly namespaceId: number;
  readonly fullPath: string;
  /** When it was created: the default for what belongs to it. */
  readonly createdAt: number;
  /** The latest event in it so far; 0 if there is none. */
  lastEventAt: number;
  /** Whether it is the hidden project that has a group's epics. */
  readonly isHome?: true;
}

/** A seed being inserted: what its parts share. */
export class Seeding {
  /** The transaction that inserts all of it. */
  readonly db: Database;
  /** The instant of seeding, in epoch milliseconds. */
  readonly now: number;
  /** Encrypts secrets. */
  readonly secrets: Secrets;
  /** The secrets of the new tokens, in the order of the seed. */
  readonly tokens: { username: string; token: string }[] = [];
  readonly #onInserted: () => void;
  readonly #counts = new Map<string, number>();
  readonly #userIds = new Map<string, number>();
  readonly #last: (() => Promise<void>)[] = [];
  readonly #queues = new Map<WriteMany<never>, unknown[]>();

  /** @param onInserted called after each entry of a list, see {@link SeedPart.sizeOf} */
  constructor(db: Database, secrets: Secrets, now: number, onInserted: () => void) {
    this.db = db;
    this.secrets = secrets;
    this.now = now;
    this.#onInserted = onInserted;
  }

  /** Reports the progress by one entry. */
  inserted(): void {
    this.#onInserted();
  }

  /** Adds to the number of records that the seed created. */
  count(counted: string, records: number): void {
    this.#counts.set(counted, this.countOf(counted) + records);
  }

  /** The number of records of one kind that the seed created. */
  countOf(counted: string): number {
    return this.#counts.get(counted) ?? 0;
  }

  /** Makes the users known to {@link userId} that there were before. */
  async findUsers(): Promise<void> {
    for (const [id, username] of await this.db.rows("select id, username from users")) {
      this.#userIds.set(username as string, id as number);
    }
  }

  /** Makes a new user known to {@link userId}. */
  addUser({ username, id }: SeededUser): void {
    this.#userIds.set(username, id);
  }

  /** The id of a user of this seed, or of one that there was before. @throws SeedError */
  userId(username: string): number {
    const id = this.#userIds.get(username);
    if (id === undefined) throw new SeedError(`the seed has no user ${username}`);
    return id;
  }

  /** Queues a row for a function that writes many at once, which is called before the queue grows long. */
  async queue<Row>(write: WriteMany<Row>, row: Row): Promise<void> {
    const rows = (this.#queues.get(write) ?? []) as Row[];
    this.#queues.set(write, rows);
    rows.push(row);
    if (rows.length >= MAX_QUEUED) await write(this.db, rows.splice(0));
  }

  /** Does something once the whole seed is there: what refers to records that may come later in it. */
  atEnd(work: () => Promise<void>): void {
    this.#last.push(work);
  }

  /** Does what was left for the end. */
  async end(): Promise<void> {
    for (const work of this.#last.splice(0)) await work();
  }

  /** Writes all queued rows. */
  async flush(): Promise<void> {
    for (const [write, rows] of this.#queues) {
      if (rows.length > 0) await (write as WriteMany<unknown>)(this.db, rows.splice(0));
    }
  }
}

type WriteMany<Row> = (db: Database, rows: readonly Row[]) => Promise<void>;

const MAX_QUEUED = 1000;

/**
 * One attribute of a seed: its schema, and how its value is inserted.
 *
 * @typeParam Parent the record it belongs to, as `insert` needs it
 * @typeParam Given the attribute's type in seed files
 */
export interface SeedPart<Parent, Given = unknown> {
  readonly schema: v.GenericSchema<Given, unknown>;
  /** Slow work on the checked value before the transaction opens; only called for the attributes of the seed itself. */
  readonly prepare?: ((value: unknown) => Promise<unknown>) | undefined;
  /** The number of entries in lists of the checked value and all below it, for reporting progress. */
  readonly sizeOf: (value: unknown) => number;
  /** Inserts the checked value, and everything below it. */
  readonly insert: (seeding: Seeding, value: unknown, parent: Parent) => Promise<void>;
}

/** Parts by the names of their attributes, in the order of insertion. */
export type SeedParts<Parent> = Readonly<Record<string, SeedPart<Parent>>>;

/** The type of an object of parts in seed files. */
export type GivenParts<Parts> = {
  [Name in keyof Parts]?: Parts[Name] extends SeedPart<never, infer Given> ? Given : never;
};

/** A record with these attributes, as in seed files. */
type GivenRecord<Entries extends v.ObjectEntries> = v.InferInput<
  v.StrictObjectSchema<Entries, undefined>
>;

/** A checked record with these attributes. */
export type CheckedRecord<Entries extends v.ObjectEntries> = v.InferOutput<
  v.StrictObjectSchema<Entries, undefined>
>;

/** The type of a list of records in seed files, with their nested parts. */
export type GivenList<Entries extends v.ObjectEntries, Nested> =
  | (GivenRecord<Entries> & GivenParts<Nested>)[]
  | undefined;

/**
 * Describes an attribute that has no parts of its own.
 *
 * @param spec `counted`: the number in `Seeded` to which `insert` adds the number of records it returns
 */
export function seedPart<Given, Value, Parent>(spec: {
  schema: v.GenericSchema<Given, Value>;
  counted?: string;
  insert(seeding: Seeding, value: Value, parent: Parent): Promise<number>;
}): SeedPart<Parent, Given> {
  const { schema, counted } = spec;
  return {
    schema,
    sizeOf: () => 0,
    insert: async (seeding, value, parent) => {
      const records = await spec.insert(seeding, value as Value, parent);
      if (counted !== undefined) seeding.count(counted, records);
    },
  };
}

/** Inserts the nested parts of a record. */
export type InsertNested<Inner> = (inner: Inner) => Promise<void>;

interface ListSpec<
  Entries extends v.ObjectEntries,
  Parent,
  Inner,
  Nested extends SeedParts<Inner>,
> {
  /** The schemas of a record's own attributes. */
  entries: Entries;
  /** The parts inside each record. */
  nested?: Nested;
  /** The number in `Seeded` that the records add to. */
  counted?: string;
  /** Replaces what takes long to compute, before the transaction opens; only called for a list of the seed itself. */
  prepare?(records: CheckedRecord<Entries>[]): Promise<CheckedRecord<Entries>[]>;
  /** Called before the first record, for what can be done for all of them at once. */
  before?(
    seeding: Seeding,
    records: readonly CheckedRecord<Entries>[],
    parent: Parent,
  ): Promise<void>;
  /** Inserts one record; `insertNested` inserts its nested parts. */
  insert(
    seeding: Seeding,
    record: CheckedRecord<Entries>,
    parent: Parent,
    insertNested: InsertNested<Inner>,
  ): Promise<void>;
}

/** Describes an attribute that is a list of records, which may have nested parts. */
export function seedList<
  const Entries extends v.ObjectEntries,
  Parent,
  Inner = never,
  const Nested extends SeedParts<Inner> = Record<never, never>,
>(spec: ListSpec<Entries, Parent, Inner, Nested>): SeedPart<Parent, GivenList<Entries, Nested>> {
  type Entry = CheckedRecord<Entries>;
  const { entries, nested = {} as Nested, counted, prepare } = spec;
  const schema = v.optional(v.array(optionsOf({ ...entries, ...schemasOf(nested) })), []);
  return {
    schema: schema as unknown as v.GenericSchema<GivenList<Entries, Nested>, unknown>,
    prepare: prepare && ((records) => prepare(records as Entry[])),
    sizeOf: (records) =>
      (records as Entry[]).reduce((sum, record) => sum + 1 + sizeOfParts(nested, record), 0),
    insert: async (seeding, value, parent) => {
      const records = value as Entry[];
      await spec.before?.(seeding, records, parent);
      for (const record of records) {
        await spec.insert(seeding, record, parent, (inner) =>
          insertParts(seeding, nested, record, inner),
        );
        if (counted !== undefined) seeding.count(counted, 1);
        seeding.inserted();
      }
    },
  };
}

/** The schemas of parts by name. */
export function schemasOf(parts: SeedParts<never>): Record<string, v.GenericSchema> {
  return Object.fromEntries(Object.entries(parts).map(([name, { schema }]) => [name, schema]));
}

/** The sum of {@link SeedPart.sizeOf} over the attributes of a checked value. */
export function sizeOfParts(parts: SeedParts<never>, value: object): number {
  let size = 0;
  for (const name in parts) {
    size += parts[name]?.sizeOf((value as Record<string, unknown>)[name]) ?? 0;
  }
  return size;
}

/** Inserts the attributes of a checked value, in the order of the parts. */
export async function insertParts<Parent>(
  seeding: Seeding,
  parts: SeedParts<Parent>,
  value: object,
  parent: Parent,
): Promise<void> {
  for (const [name, part] of Object.entries(parts)) {
    await part.insert(seeding, (value as Record<string, unknown>)[name], parent);
  }
}
