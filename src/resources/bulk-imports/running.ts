import type { Actor } from "../../audit/log.ts";
import type { Caller } from "../../core/access/caller.ts";
import type { Secrets } from "../../core/secrets.ts";
import type { Database, Store } from "../../store/port.ts";
import { ArchiveError, type Place } from "../exports/format.ts";
import type { Importer, People } from "./people.ts";
import * as imports from "./queries.ts";
import { type SourceRecord, writeRecord } from "./records.ts";
import { type Named, type Row, textIn } from "./rows.ts";
import { type Query, type Source, SourceError, type Told } from "./source.ts";

/** What is told about how far an import is. */
export interface ImportProgress {
  /** Groups and projects that are done, and all that are known so far. */
  readonly done: number;
  readonly total: number;
  /** The full path there of the group or project that is being brought. */
  readonly path: string;
  /** What of it, such as `issues`. */
  readonly relation: string;
  /** How many of these were seen so far. */
  readonly seen: number;
}

/** What an import is done with. */
export interface Running {
  readonly store: Store;
  readonly now: () => number;
  readonly secrets: Secrets;
  readonly allowLocal: boolean;
  readonly signal: AbortSignal;
  readonly source: Source;
  readonly token: string;
  readonly people: People;
  readonly importer: Importer;
  /** The importer, as the author of what is recorded, and as the caller of rules. */
  readonly by: Actor;
  readonly caller: Caller;
  readonly record: imports.BulkImport;
  /** Groups and projects that are done, and all that are known so far. */
  readonly counts: { readonly done: number; readonly total: number };
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
}

/** The import was canceled, or is gone. */
export class Canceled extends Error {}

/** Requests about one record that are sent at once. */
const AT_ONCE = 4;

/** The path of the API of a repository, on servers that have these. */
export const repositoryPath = (fullPath: string): string =>
  `repos/${fullPath.split("/").map(encodeURIComponent).join("/")}`;

/** One group or project that is being brought. */
export class Bringing {
  readonly running: Running;
  readonly entity: imports.Entity;
  readonly place: Place;
  /** What has been done, and the page that a list is at. */
  readonly #done: Set<string>;
  readonly #pages: Record<string, number>;
  readonly #stats: Record<string, imports.Count>;
  /** What was said to be missing as a whole. */
  readonly #missing = new Set<string>();

  constructor(running: Running, entity: imports.Entity, place: Place) {
    this.running = running;
    this.entity = entity;
    this.place = place;
    const { done = [], pages = {}, stats = {} } = imports.progressOf(entity.progress);
    this.#done = new Set(done);
    this.#pages = pages;
    this.#stats = stats;
  }

  /** The path of the API of what is brought. */
  get path(): string {
    const { entity_type, source_full_path } = this.entity;
    if (this.running.record.source_type !== "gitlab") {
      return repositoryPath(source_full_path);
    }
    const kind = entity_type === "group_entity" ? "groups" : "projects";
    return `${kind}/${encodeURIComponent(source_full_path)}`;
  }

  /**
   * Does one part, unless it is done. What the other server does not give is noted, and the next part follows.
   *
   * @throws SourceError if the token is refused; Canceled; what the signal was aborted with
   */
  async part(name: string, work: () => Promise<void>): Promise<void> {
    if (this.#done.has(name)) return;
    this.tell(name, 0);
    try {
      await work();
    } catch (error) {
      this.running.signal.throwIfAborted();
      if (error instanceof SourceError && error.status !== 401) await this.fail(name, error);
      else if (error instanceof ArchiveError) await this.fail(name, error);
      else throw error;
    }
    this.#done.add(name);
    await this.#save();
  }

  /** Notes what could not be brought. */
  async fail(relation: string, error: Error, about?: Told | string): Promise<void> {
    const told = typeof about === "object" ? about : undefined;
    const title = typeof about === "string" ? about : titleOf(told);
    const url = textIn(told?.["web_url"]) ?? undefined;
    const { store, now } = this.running;
    await store.transaction((db) =>
      imports.fail(db, this.entity.id, { relation, title, url, message: error.message }, now()),
    );
  }

  /** Tells how far the import is. */
  tell(relation: string, seen: number): void {
    const { counts, onProgress } = this.running;
    onProgress?.({ ...counts, path: this.entity.source_full_path, relation, seen });
  }

  async #save(): Promise<void> {
    const { store, now, record } = this.running;
    const done = [...this.#done];
    const progress = JSON.stringify({ done, pages: this.#pages, stats: this.#stats });
    const [isOver, isThere] = await store.transaction(async (db) => {
      await imports.change(db, this.entity.id, { progress }, now());
      return [await imports.isOver(db, record.id), await imports.isThere(db, this.place)];
    });
    if (isOver) throw new Canceled();
    if (!isThere) throw new ArchiveError("it was deleted here meanwhile");
  }

  /**
   * Brings the records of a list, a page at a time, and goes on at the page where it was.
   *
   * @param recordOf what is written of an entry; `undefined` for nothing
   */
  async list(
    name: string,
    path: string,
    query: Query,
    recordOf: (told: Told) => Promise<SourceRecord | undefined>,
    { keyOf = keyOfId, newestFirst = false }: ListOptions = {},
  ): Promise<void> {
    await this.part(name, async () => {
      const { store, source } = this.running;
      let seen = 0;
      const pages = newestFirst
        ? source.listFromEnd(path, query)
        : source.list(path, query, this.#pages[name] ?? 1);
      for await (const page of pages) {
        const keys = page.entries.map(keyOf);
        const known = await imports.recordsOf(store.reader(), this.place, name, keys);
        const fresh = page.entries.filter((told) => !known.has(keyOf(told)));
        for (let at = 0; at < fresh.length; at += AT_ONCE) {
          const some = fresh.slice(at, at + AT_ONCE);
          const records = await Promise.all(some.map((told) => this.#recordOf(told, recordOf)));
          for (const [index, record] of records.entries()) {
            await this.#write(name, record, some[index] as Told);
          }
          this.tell(name, seen + page.entries.length - fresh.length + at + some.length);
        }
        seen += page.entries.length;
        this.#pages[name] = page.number;
        const here = await imports.countRecords(store.reader(), this.place, name);
        const before = newestFirst
          ? 0
          : (page.number - 1) * source.dialect.pageSize + page.entries.length;
        const there = Math.max(before, seen);
        this.#stats[name] = { source: there, fetched: there, imported: here };
        await this.#save();
      }
    });
  }

  /** What there is to write of an entry, or why there is nothing. */
  async #recordOf(
    told: Told,
    recordOf: (told: Told) => Promise<SourceRecord | undefined>,
  ): Promise<SourceRecord | Error | undefined> {
    try {
      return await recordOf(told);
    } catch (error) {
      this.running.signal.throwIfAborted();
      const isTheirs = error instanceof SourceError && error.status !== 401;
      if (isTheirs || error instanceof ArchiveError) return error;
      throw error;
    }
  }

  async #write(name: string, record: SourceRecord | Error | undefined, about: Told): Promise<void> {
    if (record === undefined) return;
    if (record instanceof Error) {
      await this.fail(name, record, about);
      return;
    }
    try {
      const { left } = await this.write(record);
      if (left > 0) {
        await this.fail(name, new Error(`${left} parts of it can't be stored here`), about);
      }
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      await this.fail(name, error, about);
    }
  }

  /** Writes a record. @throws ArchiveError */
  write(record: SourceRecord): Promise<{ isNew: boolean; left: number }> {
    const { store, importer } = this.running;
    return writeRecord({ store, place: this.place, importer: importer.id }, record);
  }

  /** A record of rows, with the people whom answers name. */
  async record(
    kind: string,
    key: string,
    rows: readonly Row[],
    answers: readonly unknown[],
    more: Partial<SourceRecord> = {},
  ): Promise<SourceRecord> {
    const people = await this.running.people.in(answers);
    return { kind, key, title: null, rows, people, ...more };
  }

  /** The entries of a list about a record; none, which is noted once, where the other server has no such list. */
  async about(what: string, path: string, query: Query = {}): Promise<Told[]> {
    return this.#unlessMissing(what, [], () => this.running.source.all(path, query));
  }

  /** {@link about} with a single object. */
  async aboutOne(what: string, path: string): Promise<Told> {
    return this.#unlessMissing(what, {}, () => this.running.source.get(path));
  }

  async #unlessMissing<T>(what: string, none: T, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      const isMissing =
        error instanceof SourceError && (error.status === 403 || error.status === 404);
      if (!isMissing) throw error;
      if (!this.#missing.has(what)) {
        this.#missing.add(what);
        await this.fail(what, error);
      }
      return none;
    }
  }

  /** What labels with some names, and milestones with some ids there, are here. */
  async named(
    db: Database | Store,
    labels: readonly unknown[],
    milestones: readonly unknown[],
  ): Promise<Named & { readonly here: Readonly<Record<string, readonly number[]>> }> {
    const names = [...new Set(labels.filter((name) => typeof name === "string"))];
    const byName = await labelsOf(db, this.place, names);
    const ids = [...new Set(milestones.filter((id) => id != null).map(String))];
    const byId = await imports.recordsOf(db, this.place, "milestones", ids);
    const numbers = [...byId.values()].filter((id) => id !== null);
    return {
      label: (name) => byName.get(String(name)),
      milestone: (id) => byId.get(String(id)) ?? undefined,
      here: { labels: [...byName.values()], milestones: numbers },
    };
  }
}

/** How a list is read. */
interface ListOptions {
  /** What an entry is recognized by. Default: its id. */
  readonly keyOf?: (told: Told) => string;
  /** Whether the list can only be had with the newest first: records get their ids in the order of their age. */
  readonly newestFirst?: boolean;
}

/** The key of an entry with an id. */
const keyOfId = (told: Told): string => String(told["id"]);

/** What an entry is called, for people. */
function titleOf(told: Told | undefined): string | null {
  if (!told) return null;
  const found =
    told["title"] ?? told["name"] ?? told["tag_name"] ?? told["key"] ?? told["username"];
  return textIn(found);
}

/** The labels with some names that a project or group has, or the nearest group above it. */
async function labelsOf(
  db: Database | Store,
  { kind, id }: Place,
  names: readonly string[],
): Promise<Map<string, number>> {
  if (names.length === 0) return new Map();
  const marks = names.map(() => "?").join(", ");
  const group = kind === "group" ? "?" : "(select namespace_id from projects where id = ?)";
  const own = kind === "project" ? "l.project_id = ? or" : "";
  const rows = await db.rows(
    `select l.name, l.id, case when l.project_id is not null then -1 else (
         select a.depth from namespace_ancestors a where a.namespace_id = ${group} and a.ancestor_id = l.namespace_id) end as far
     from labels l where l.name in (${marks}) and l.removed = 0
       and (${own} l.namespace_id in (select ancestor_id from namespace_ancestors where namespace_id = ${group}))
     order by far desc`,
    [id, ...names, ...(kind === "project" ? [id] : []), id],
  );
  // The nearest one comes last.
  return new Map(rows.map(([name, label]) => [String(name), label as number]));
}
