import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import * as v from "valibot";
import type { Actor } from "../../audit/log.ts";
import { homeOf } from "../../core/access/source.ts";
import { VISIBILITIES, VISIBILITY_WORDS, type Visibility } from "../../core/access/visibility.ts";
import { ApiError } from "../../core/errors.ts";
import { attachmentName } from "../../core/http/attachments.ts";
import { imageTypeOf } from "../../core/http/images.ts";
import { discardFile, storeFile } from "../../files/write.ts";
import { RefusedError } from "../../git/errors.ts";
import { Packs } from "../../git/packs.ts";
import { Input } from "../../git/pkt-line.ts";
import { applyPush, checkChanges, type Outcome, type Push } from "../../git/push.ts";
import { receivePack } from "../../git/receive.ts";
import { BRANCHES } from "../../git/refs.ts";
import { create, Repository } from "../../git/repository.ts";
import { placeholders } from "../../store/placeholders.ts";
import {
  ConstraintError,
  type Database,
  type Reader,
  type Store,
  type Value,
} from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as applicationSettings from "../application-settings/queries.ts";
import { isRestricted } from "../application-settings/rules.ts";
import { MAX_AVATAR } from "../avatars/input.ts";
import * as avatars from "../avatars/queries.ts";
import { createGroup } from "../groups/changes.ts";
import { idsAbove, MAX_DEPTH } from "../hierarchy/queries.ts";
import { newPositionOf, placeLabels } from "../issuables/positions.ts";
import { addObject } from "../lfs/objects.ts";
import { ensureHome } from "../namespaces/home.ts";
import * as namespaces from "../namespaces/queries.ts";
import { findRecord, openRecord } from "../repositories/open.ts";
import * as uploads from "../uploads/queries.ts";
import { applyToWiki, receiveWiki } from "../wikis/pushes.ts";
import { MASTER } from "../wikis/record.ts";
import { ARCHIVED, type ArchivedTable, GROUP_ARCHIVED, SETTINGS } from "./archived.ts";
import { countIssues, type Settings } from "./finish.ts";
import {
  ArchiveError,
  FORMATS,
  GROUP,
  INHERITED,
  MAX_GROWTH,
  MAX_LINE,
  MAX_LINES,
  type Place,
  VERSION,
} from "./format.ts";
import { type Here, insert, Names, type Reading, readingOf } from "./rows.ts";

/** The table of the groups of an archive. */
const GROUPS = "namespaces";
/** Rows that are inserted by one transaction. */
const BATCH = 200;
/** Characters of rows that wait to be inserted. */
const MOST = 4 * 1024 * 1024;

/** Where an archive is imported to. */
export interface Target {
  readonly store: Store;
  readonly place: Place;
  /** The id of the user who imports. */
  readonly importer: number;
  /** The importer as the author of what is recorded. */
  readonly by: Actor;
  /** Whether the importer may speak for others: administrators. */
  readonly speaksForAll: boolean;
  readonly now: number;
}

/**
 * Reads an archive into a new project or group, in many transactions. Each value is checked as if it came from a client.
 *
 * @param archive its bytes, and how many they are
 * @param signal ends the work
 * @returns the project's settings, which are not applied yet; those of groups are
 * @throws ArchiveError if the archive is not valid; what was read before stays
 */
export async function readArchive(
  target: Target,
  archive: { readonly bytes: AsyncIterable<Uint8Array>; readonly size: number },
  signal: AbortSignal,
): Promise<Settings> {
  const lines = linesIn(archive.bytes, MAX_GROWTH * archive.size);
  try {
    requireFormat((await lines.next()).value, target.place);
    return await readLines(target, lines, signal);
  } finally {
    await lines.return(undefined);
  }
}

/**
 * Reads the lines of an archive after the first one, as {@link readArchive} does.
 *
 * @throws ArchiveError if the archive is not valid; what was read before stays
 */
export async function readLines(
  target: Target,
  lines: Lines,
  signal: AbortSignal,
): Promise<Settings> {
  const reader = new ArchiveReader(target);
  try {
    let line = await lines.next();
    while (!line.done) {
      signal.throwIfAborted();
      line = await reader.read(line.value, lines);
    }
    return await reader.end();
  } catch (error) {
    if (error instanceof RefusedError) throw new ArchiveError(`a repository: ${error.message}`);
    if (error instanceof ConstraintError) throw new ArchiveError("the archive contradicts itself");
    throw error;
  }
}

/** The JSON values of an archive's lines. */
export type Lines = AsyncGenerator<unknown, undefined>;
type Next = IteratorResult<unknown, undefined>;

const HEAD = v.object({ format: v.string(), version: v.literal(VERSION) });

function requireFormat(first: unknown, { kind }: Place): void {
  if (!v.is(HEAD, first) || first.format !== FORMATS[kind])
    throw new ArchiveError("the file is not an archive of this format");
}

/** The JSON values of an archive's lines. @param most bytes they may have together @throws ArchiveError */
async function* linesIn(bytes: AsyncIterable<Uint8Array>, most: number): Lines {
  const gunzip = createGunzip();
  const source = Readable.from(bytes, { objectMode: false });
  source.once("error", (error) => gunzip.destroy(error));
  let waiting: Buffer[] = [];
  let length = 0;
  let read = 0;
  try {
    for await (const chunk of source.pipe(gunzip) as AsyncIterable<Buffer>) {
      read += chunk.length;
      if (read > most)
        throw new ArchiveError(`the archive grows to more than ${MAX_GROWTH} times its size`);
      let from = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
        waiting.push(chunk.subarray(from, end));
        yield jsonIn(Buffer.concat(waiting));
        waiting = [];
        length = 0;
        from = end + 1;
      }
      waiting.push(chunk.subarray(from));
      length += chunk.length - from;
      if (length > MAX_LINE) throw new ArchiveError("the archive has too long a line");
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code?.startsWith("Z_")) throw new ArchiveError("the file is not an archive, or damaged");
    throw error;
  } finally {
    source.destroy();
    gunzip.destroy();
  }
  return undefined;
}

function jsonIn(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString());
  } catch {
    throw new ArchiveError("the archive is damaged: a line is not JSON");
  }
}

const TABLE = v.object({ table: v.string(), columns: v.array(v.string()) });
const PERSON = v.object({ person: v.tuple([v.number(), v.string()]) });
const PROJECT = v.object({ project: v.record(v.string(), v.unknown()) });
const FILE_NAME = v.pipe(
  v.string(),
  v.maxLength(255),
  v.check((name) => name.trim() !== "" && !/[/\0]/.test(name)),
);
const AVATAR = v.object({
  avatar: v.object({ file_name: FILE_NAME, namespace_id: v.optional(v.number()) }),
});
const UPLOAD = v.object({
  upload: v.object({
    secret: v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/)),
    file_name: FILE_NAME,
    created_at: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
    uploader_id: v.nullable(v.number()),
  }),
});
const LARGE_FILE = v.object({ lfs: v.string() });
const REPOSITORY = v.object({
  repository: v.picklist(["code", "wiki"]),
  refs: v.pipe(v.array(v.tuple([v.string(), v.string()])), v.maxLength(200_000)),
  head: v.nullable(v.pipe(v.string(), v.maxLength(1024))),
  namespace_id: v.optional(v.number()),
});
const BYTES = v.object({ bytes: v.string() });
const END = v.object({ end: v.literal(true) });

/** Reads the lines of one archive. */
class ArchiveReader {
  readonly #target: Target;
  readonly #names: Names;
  #reading: Reading | undefined;
  /** The issues, and where they were in their order. */
  readonly #places: [id: number, place: number | null][] = [];
  #waiting: unknown[][] = [];
  #length = 0;
  #lines = 0;
  #settings: Settings | undefined;
  /** The hidden projects that have the epics and wikis of groups, by group. */
  readonly #hidden = new Map<number, number>();
  #hasEnded = false;

  constructor(target: Target) {
    this.#target = target;
    this.#names = new Names(target.importer);
  }

  /** Reads a line and what belongs to it, and returns the next one. */
  async read(line: unknown, lines: Lines): Promise<Next> {
    this.#lines += 1;
    if (this.#lines > MAX_LINES)
      throw new ArchiveError(`the archive has more than ${MAX_LINES} lines`);
    if (this.#hasEnded) throw new ArchiveError("the archive goes on after its end");
    if (Array.isArray(line)) {
      await this.#row(line);
      return lines.next();
    }
    await this.#flush();
    if (v.is(PERSON, line)) await this.#person(line.person);
    else if (v.is(PROJECT, line)) this.#settings = settingsOf(line.project);
    else if (v.is(TABLE, line)) this.#begin(line);
    else if (v.is(UPLOAD, line)) return this.#upload(line.upload, lines);
    else if (v.is(LARGE_FILE, line)) return this.#largeFile(line.lfs, lines);
    else if (v.is(AVATAR, line)) return this.#avatar(line.avatar, lines);
    else if (v.is(REPOSITORY, line)) return this.#repository(line, lines);
    else if (v.is(END, line)) this.#hasEnded = true;
    else throw new ArchiveError("the archive has a line that is not understood");
    return lines.next();
  }

  /** Ends the reading, and returns the project's settings. */
  async end(): Promise<Settings> {
    if (!this.#hasEnded || !this.#settings) throw new ArchiveError("the archive is cut short");
    await this.#placeIssues();
    if (this.#target.place.kind === "project") await this.#forgetVersions();
    for (const hidden of this.#hidden.values()) {
      await this.#write((db) => countIssues(db, hidden));
    }
    return this.#settings;
  }

  /**
   * Writes in a transaction. Only what is written to one project can share its time with others: groups may get a hidden
   * project.
   */
  #write<T>(work: (db: Database) => Promise<T>): Promise<T> {
    const { store, place } = this.#target;
    if (place.kind === "group") return store.transaction(work);
    return store.transaction(
      (db) => {
        db.lock(place.id);
        return work(db);
      },
      { shared: true },
    );
  }

  /** The group here that one of the archive has become; `undefined` if the archive does not have it. */
  #groupOf(named: number | undefined): number | undefined {
    return named === undefined ? undefined : this.#names.idsOf(GROUPS).get(named);
  }

  /** What a row belongs to, by the group that it names; `undefined` if there is none. */
  async #home(
    db: Database,
    { home, used }: ArchivedTable,
    named: number | undefined,
  ): Promise<Here | undefined> {
    if (!this.#settings) throw new ArchiveError("the archive does not begin with its group");
    const group = this.#groupOf(named);
    if (home === "group") {
      if (group !== undefined) return { id: group, isElsewhere: false };
      return used ? { id: this.#target.place.id, isElsewhere: true } : undefined;
    }
    const id = group === undefined ? undefined : await this.#hiddenOf(db, group);
    return id === undefined ? undefined : { id, isElsewhere: false };
  }

  /** The hidden project of a group; `undefined` if the group was deleted meanwhile. */
  async #hiddenOf(db: Database, groupId: number): Promise<number | undefined> {
    const known = this.#hidden.get(groupId);
    if (known !== undefined) return known;
    const group = await namespaces.find(db, groupId);
    if (!group) return undefined;
    const place = { id: await homeOf(db, group.full_path), namespaceId: groupId };
    const fullPath = group.full_path;
    const id = await ensureHome(db, { ...place, fullPath }, this.#target.now);
    this.#hidden.set(groupId, id);
    return id;
  }

  async #person([id, username]: readonly [number, string]): Promise<void> {
    const { store, importer, speaksForAll } = this.#target;
    const [found] = await store.rows(
      "select id from users where lower(username) = lower(?) and state <> 'removed'",
      [username],
    );
    if (found && (speaksForAll || found[0] === importer))
      this.#names.people.set(id, found[0] as number);
  }

  #begin({ table: name, columns }: v.InferOutput<typeof TABLE>): void {
    const tables = this.#target.place.kind === "project" ? ARCHIVED : GROUP_ARCHIVED;
    const table = Object.hasOwn(tables, name) ? tables[name] : undefined;
    // A table of another version; and only administrators say who has which role.
    if (!table || (name === "members" && !this.#target.speaksForAll)) {
      this.#reading = undefined;
      return;
    }
    this.#reading = readingOf(name, table, columns);
  }

  async #row(row: unknown[]): Promise<void> {
    if (!this.#reading) return;
    this.#waiting.push(row);
    for (const value of row) this.#length += typeof value === "string" ? value.length : 8;
    if (this.#waiting.length >= BATCH || this.#length > MOST) await this.#flush();
  }

  /** Inserts the rows that wait. */
  async #flush(): Promise<void> {
    const rows = this.#waiting;
    const reading = this.#reading;
    this.#waiting = [];
    this.#length = 0;
    if (rows.length === 0 || !reading) return;
    await this.#write(async (db) => {
      for (const row of rows) await this.#insert(db, reading, row);
    });
  }

  async #insert(db: Database, reading: Reading, row: unknown[]): Promise<void> {
    const values = this.#names.valuesOf(reading, row);
    if (!values) return;
    const { id, [INHERITED]: isInherited, [GROUP]: named, ...columns } = values;
    const { place } = this.#target;
    const here: Here | undefined =
      place.kind === "project" || !reading.table.home || reading.table.home === "tree"
        ? { id: place.id, isElsewhere: Boolean(isInherited) }
        : await this.#home(db, reading.table, named as number | undefined);
    if (!here || (reading.name === "work_item_parents" && !(await mayBeBelow(db, columns)))) return;
    const inherited = here.isElsewhere ? await this.#inherited(db, reading, columns) : undefined;
    const newId =
      inherited ??
      (reading.table.home === "tree"
        ? await this.#group(db, columns)
        : await insert(db, here, reading, columns));
    if (newId === undefined) return;
    await this.#names.note(db, reading, row, { id: id as number, newId });
    const at = reading.columns.findIndex((column) => column?.[1].isPlace);
    if (at >= 0) this.#places.push([newId, row[at] as number | null]);
  }

  /** Makes a group, or takes the settings of the one that was made for the first one. @returns its id */
  async #group(
    db: Database,
    { parent_id, visibility, name, path, kept_settings, ...settings }: Record<string, Value>,
  ): Promise<number | undefined> {
    const { place, by, speaksForAll: admin, now } = this.#target;
    const isFirst = this.#settings === undefined;
    this.#settings = {};
    const parent = parent_id == null ? undefined : await namespaces.find(db, parent_id as number);
    if (!isFirst && !parent) return undefined;
    let id = place.id;
    if (parent) {
      const wanted = Math.min(visibility as number, parent.visibility);
      const isTooMuch = isRestricted(await applicationSettings.find(db), { admin }, wanted);
      const level = isTooMuch ? VISIBILITIES.private : wanted;
      const group = {
        ...{ name: String(name), path: String(path), parent, ownerId: undefined },
        ...{ description: undefined, lfs_enabled: undefined, request_access_enabled: undefined },
        visibility: VISIBILITY_WORDS[level] as Visibility,
      };
      try {
        id = await createGroup(db, by, group, now);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        throw new ArchiveError(`a group can't have the path ${parent.full_path}/${path}`);
      }
    }
    await updateRow(db, GROUPS, id, { ...settings, kept_settings: keptHere(kept_settings) }, now);
    return id;
  }

  /** The row of a group above the project that has the same name. */
  async #inherited(
    db: Database,
    { name, table }: Reading,
    values: Readonly<Record<string, Value>>,
  ): Promise<number | undefined> {
    if (table.same === undefined) return undefined;
    const { kind, id } = this.#target.place;
    const group = kind === "group" ? "?" : "(select namespace_id from projects where id = ?)";
    const [found] = await db.rows(
      `select r.id from ${name} r
       join namespace_ancestors a on a.ancestor_id = r.namespace_id
       where a.namespace_id = ${group} and r.${table.same} = ? and r.removed = 0 order by a.depth limit 1`,
      [id, values[table.same] ?? null],
    );
    return found?.[0] as number | undefined;
  }

  /** Removes the versions of merge requests whose commits are not in the repository: nobody could show them. */
  async #forgetVersions(): Promise<void> {
    const { store, place } = this.#target;
    const repository = await openRecord(store, (await findRecord(store.reader(), place.id)).row);
    const lacks = (sha: Value) => sha !== null && repository.findHex(sha as string) < 0;
    for (let last: Value = 0; ; ) {
      const found = await store.rows(
        `select v.id, v.head_sha, v.start_sha, v.base_sha from merge_request_versions v
         join merge_requests mr on mr.id = v.merge_request_id
         where mr.project_id = ? and v.id > ? order by v.id limit ?`,
        [place.id, last, BATCH],
      );
      if (found.length === 0) return;
      last = found.at(-1)?.[0] ?? 0;
      const ids = found.filter((row) => row.slice(1).some(lacks)).map(([id]) => id as number);
      if (ids.length === 0) continue;
      const these = placeholders(ids);
      await store.transaction(
        (db) =>
          db.run(`delete from merge_request_versions where id in (${these.sql})`, these.values),
        { shared: true },
      );
    }
  }

  /** Puts the issues into their order, and tells their labels. */
  async #placeIssues(): Promise<void> {
    const ids = this.#places.map(([id]) => id).sort((a, b) => a - b);
    const ordered = this.#places.toSorted(([a, one], [b, other]) =>
      one === other ? a - b : (one ?? Number.MAX_VALUE) - (other ?? Number.MAX_VALUE),
    );
    for (let from = 0; from < ordered.length; from += BATCH) {
      await this.#write(async (db) => {
        const moved = ordered.slice(from, from + BATCH);
        for (const [index, [id]] of moved.entries()) {
          const place = newPositionOf(ids[from + index] as number);
          await db.run("update issues set relative_position = ? where id = ?", [place, id]);
        }
        placeLabels(
          db,
          moved.map(([id]) => id),
        );
      });
    }
  }

  async #upload(
    { secret, file_name, created_at, uploader_id }: v.InferOutput<typeof UPLOAD>["upload"],
    lines: Lines,
  ): Promise<Next> {
    const { store, place, importer, now } = this.#target;
    const body = new Body(lines);
    if (place.kind === "group") return body.end();
    const file = await storeFile(store, body.chunks(), now);
    const uploader = uploader_id === null ? undefined : this.#names.people.get(uploader_id);
    const name = attachmentName(file_name);
    const upload = { secret, file_name: name, uploader_id: uploader ?? importer };
    await store.transaction((db) => uploads.insert(db, place.id, file, upload, created_at), {
      shared: true,
    });
    return body.end();
  }

  /** An object of Git LFS: its own content says what it is. */
  async #largeFile(oid: string, lines: Lines): Promise<Next> {
    const { store, place, now } = this.#target;
    const body = new Body(lines);
    if (place.kind === "group") return body.end();
    const file = await storeFile(store, body.chunks(), now);
    try {
      if (file.sha256 !== oid) throw new ArchiveError("an object of Git LFS is another one");
      await store.transaction((db) => addObject(db, place.id, file, now), { shared: true });
    } finally {
      await discardFile(store, file.id);
    }
    return body.end();
  }

  async #avatar(
    { file_name, namespace_id }: v.InferOutput<typeof AVATAR>["avatar"],
    lines: Lines,
  ): Promise<Next> {
    const { store, place, now } = this.#target;
    const body = new Body(lines);
    const id = place.kind === "project" ? place.id : this.#groupOf(namespace_id);
    if (id === undefined) return body.end();
    const name = attachmentName(file_name);
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of body.chunks()) {
      size += part.length;
      if (size > MAX_AVATAR) throw new ArchiveError("the avatar is too large");
      parts.push(part);
    }
    const head = Buffer.concat(parts);
    if (imageTypeOf(head) === undefined) throw new ArchiveError("the avatar is no image");
    const file = await storeFile(store, Readable.from(parts), now);
    const owner = { kind: place.kind, id };
    await store.transaction((db) => avatars.change(db, owner, { ...file, name, head }, now), {
      shared: true,
    });
    return body.end();
  }

  async #repository(
    { repository: kind, refs, head, namespace_id }: v.InferOutput<typeof REPOSITORY>,
    lines: Lines,
  ): Promise<Next> {
    const { store, place, now } = this.#target;
    const body = new Body(lines);
    const group = this.#groupOf(namespace_id);
    const isOfGroup = place.kind === "group";
    if (isOfGroup && (kind === "code" || group === undefined)) return body.end();
    const projectId = isOfGroup
      ? await this.#write((db) => this.#hiddenOf(db, group as number))
      : place.id;
    if (projectId === undefined) return body.end();
    const packs = Packs.of(store);
    const empty = new Repository(packs, []);
    const staged = await receivePack(new Input(body.chunks()), empty, packs, now);
    try {
      const repository = staged ? empty.with(staged.pack) : empty;
      const wanted = refs.map(([name, to]) => ({ name, from: undefined, to }));
      const changes = await checkChanges(repository, wanted, "server");
      const push = { changes, staged, repository, version: 0, isAtomic: false };
      if (kind === "wiki") await writeWiki(this.#target, projectId, push, head ?? MASTER);
      else await this.#code(projectId, push);
    } catch (error) {
      await staged?.discard();
      throw error;
    }
    return body.end();
  }

  async #code(projectId: number, push: Push): Promise<void> {
    const { store } = this.#target;
    await store.transaction(
      async (db) => {
        db.lock(projectId);
        requireAll(await applyPush(db, await create(db, projectId, "code"), push, undefined));
      },
      { shared: true },
    );
  }
}

/**
 * Applies the references of a wiki that was brought along.
 *
 * @param head its default branch
 * @throws ArchiveError if one was refused
 */
export async function writeWiki(
  { store, importer: userId, now }: Pick<Target, "store" | "importer" | "now">,
  projectId: number,
  push: Push,
  head: string,
): Promise<void> {
  const received = await receiveWiki(push, { head: BRANCHES + head, list: [] });
  await store.transaction(
    async (db) => {
      const by = { userId, now };
      const { outcomes, refusal } = await applyToWiki(db, { id: projectId }, received, by);
      if (refusal !== undefined) throw new ArchiveError(`the wiki: ${refusal}`);
      requireAll(outcomes);
    },
    { shared: true },
  );
}

/** @throws ArchiveError if a reference was refused */
function requireAll(outcomes: readonly Outcome[]): void {
  for (const { change, problem } of outcomes) {
    if (problem !== undefined) throw new ArchiveError(`the reference ${change.name}: ${problem}`);
  }
}

/** The bytes that follow a line. */
class Body {
  readonly #lines: Lines;
  #after: Next | undefined;

  constructor(lines: Lines) {
    this.#lines = lines;
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    while (!this.#after) {
      const next = await this.#lines.next();
      if (v.is(BYTES, next.value)) yield Buffer.from(next.value.bytes, "base64");
      else this.#after = next;
    }
  }

  /** Passes over what was not read, and returns the line after it. */
  async end(): Promise<Next> {
    for await (const _ of this.chunks());
    return this.#after as Next;
  }
}

/** The settings that are known here. @throws ArchiveError if one is not valid */
export function settingsOf(given: Readonly<Record<string, unknown>>): Settings {
  const known = Object.entries(SETTINGS).filter(([name]) => Object.hasOwn(given, name));
  for (const [name, { schema }] of known) {
    if (!v.is(schema, given[name])) throw new ArchiveError(`project.${name} is not valid`);
  }
  return Object.fromEntries(known.map(([name]) => [name, given[name] as Value]));
}

/** What is kept of the settings of a group: not what is about this server, or for administrators to set. */
function keptHere(kept: Value | undefined): string | null {
  if (kept == null) return null;
  const { max_artifacts_size, file_template_project_id, ...settings } = JSON.parse(String(kept));
  return JSON.stringify(settings);
}

/** Whether a work item may get a parent: it would not be below itself, nor too deep. */
async function mayBeBelow(
  db: Reader,
  { issue_id, parent_id }: Readonly<Record<string, Value>>,
): Promise<boolean> {
  if (issue_id === parent_id) return false;
  const above = await idsAbove(db, parent_id as number);
  return above.length < MAX_DEPTH && !above.includes(issue_id as number);
}
