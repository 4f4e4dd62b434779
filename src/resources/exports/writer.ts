import { BEING_DELETED, OF_HOMES } from "../../core/access/visibility.ts";
import { readFile } from "../../files/read.ts";
import type { StoredFile } from "../../files/write.ts";
import { FetchPlan } from "../../git/fetch-plan.ts";
import { isOfPipeline, listRefs } from "../../git/refs.ts";
import { open, type RepositoryRow } from "../../git/repository.ts";
import { EVERYTHING } from "../../git/select.ts";
import { writePack } from "../../git/send.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Reader, Store, Value } from "../../store/port.ts";
import { Pace } from "../../turns/pace.ts";
import * as avatars from "../avatars/queries.ts";
import { objectsAfter } from "../lfs/objects.ts";
import { list as listTopics } from "../topics/queries.ts";
import {
  ARCHIVED,
  type ArchivedTable,
  GROUP_ARCHIVED,
  HOMES,
  type Home,
  SETTINGS,
} from "./archived.ts";
import type { ArchivedColumn } from "./columns.ts";
import { CHUNK, FORMATS, GROUP, INHERITED, type Line, type Place, VERSION } from "./format.ts";
import { RELATIONS } from "./relations.ts";

/** Rows whose records are looked up by one statement. */
const PAGE = 500;
/** Characters that are read at once. */
const MOST = 1_048_576;

/**
 * Writes an archive, line by line. At most a page of rows is in memory, besides the ids of all. Others can
 * write meanwhile: what they add may be left out, but no row names one that the archive does not have.
 */
export async function* linesOf(store: Store, place: Place, now: number): AsyncGenerator<Line> {
  yield { format: FORMATS[place.kind], version: VERSION, exported_at: now };
  yield* place.kind === "project" ? ofProject(store, place.id) : ofGroup(store, place.id);
  yield { end: true };
}

/** One relation in files: the ids of the objects of each, and its lines. */
export interface RelationFile {
  readonly objects: number;
  readonly lines: AsyncGenerator<Line>;
}

/**
 * Writes one relation of a project, or of a group without those below it, in files of so many objects; one at least. The
 * lines of a file are to be read before the next one is asked for.
 */
export async function* filesOf(
  store: Store,
  place: Place,
  relation: string,
  most: number,
  now: number,
): AsyncGenerator<RelationFile> {
  const [first, ...parts] = RELATIONS[place.kind][relation] ?? [];
  const head: Line = { format: FORMATS[place.kind], version: VERSION, exported_at: now, relation };
  if (first === undefined) {
    const lines = linesAround(head, [await settingsOf(store, place.id)]);
    yield { objects: 1, lines };
    return;
  }
  for await (const { objects, lines } of partsOf(store, place, [first, ...parts], most)) {
    yield { objects, lines: linesAround(head, lines) };
  }
}

/**
 * The rows of a table with those of other tables that are about them, of so many of the first ones at a time; one part
 * at least. The lines of a part are to be read before the next one is asked for.
 */
export async function* partsOf(
  store: Store,
  place: Place,
  [first, ...others]: readonly [string, ...string[]],
  most: number,
): AsyncGenerator<RelationFile> {
  const homes = await homesOf(store, place);
  const tables = place.kind === "project" ? ARCHIVED : GROUP_ARCHIVED;
  const writer = () => new Writer(store, tables, homes);
  const ids = await writer().objectsOf(first);
  for (let at = 0; at === 0 || at < ids.length; at += most) {
    const some = ids.slice(at, at + most);
    yield { objects: some.length, lines: writer().relation(first, others, some) };
  }
}

async function homesOf(db: Reader, { kind, id }: Place): Promise<Homes> {
  if (kind === "project") return { project: [[id]] };
  const hidden = await hiddenOf(db, [id]);
  return { tree: [[id]], group: [[id]], epics: [hidden.map(([home]) => home)] };
}

async function* linesAround(
  head: Line,
  lines: Iterable<Line> | AsyncIterable<Line>,
): AsyncGenerator<Line> {
  yield head;
  yield* lines;
  yield { end: true };
}

async function* ofProject(store: Store, id: number): AsyncGenerator<Line> {
  const writer = new Writer(store, ARCHIVED, { project: [[id]] });
  yield await settingsOf(store, id);
  for (const name of Object.keys(ARCHIVED)) yield* writer.table(name);
  yield* writer.uploads(id);
  yield* avatarOf(store, { kind: "project", id });
  yield* largeFilesOf(store, id);
  for (const kind of ["code", "wiki"] as const) yield* repositoryOf(store, id, kind);
}

async function* ofGroup(store: Store, id: number): AsyncGenerator<Line> {
  const tree = await treeOf(store, id);
  const groups = tree.flat();
  const hidden: [id: number, groupId: number][] = [];
  for (const some of chunksOf(groups)) hidden.push(...(await hiddenOf(store, some)));
  const homes = { tree, group: [groups], epics: [hidden.map(([home]) => home)] };
  const writer = new Writer(store, GROUP_ARCHIVED, homes);
  for (const name of Object.keys(GROUP_ARCHIVED)) yield* writer.table(name);
  for (const group of groups) yield* avatarOf(store, { kind: "group", id: group });
  for (const [home, group] of hidden) yield* repositoryOf(store, home, "wiki", group);
}

/** The ids of a group and of those below it, level by level, without what is being deleted or marked for it. */
async function treeOf(db: Reader, id: number): Promise<number[][]> {
  const tree = [[id]];
  for (let level = [id]; level.length > 0; ) {
    const below: number[] = [];
    for (const some of chunksOf(level)) {
      const among = placeholders(some);
      const found = await db.rows(
        `select id from namespaces where parent_id in (${among.sql})
           and visibility > ${BEING_DELETED} and marked_for_deletion_at is null order by id`,
        among.values,
      );
      below.push(...found.map(([child]) => child as number));
    }
    if (below.length > 0) tree.push(below);
    level = below;
  }
  return tree;
}

/** The hidden projects that have the epics and wikis of groups, with these groups. */
async function hiddenOf(db: Reader, groups: readonly number[]): Promise<[number, number][]> {
  const among = placeholders(groups);
  const found = await db.rows(
    `select id, namespace_id from projects where namespace_id in (${among.sql})
       and visibility = ${OF_HOMES} order by id`,
    among.values,
  );
  return found as [number, number][];
}

/** Ids in pages. */
function chunksOf(ids: readonly number[]): number[][] {
  const count = Math.ceil(ids.length / PAGE);
  return Array.from({ length: count }, (_, at) => ids.slice(at * PAGE, (at + 1) * PAGE));
}

/** The settings of a project by their columns, with its topics as JSON. */
export async function settingsIn(db: Reader, projectId: number): Promise<Record<string, Value>> {
  const names = Object.keys(SETTINGS).filter((name) => name !== "topics");
  const [values] = await db.rows(`select ${names.join(", ")} from projects where id = ?`, [
    projectId,
  ]);
  const topics = JSON.stringify(await listTopics(db, projectId));
  const settings = Object.fromEntries(names.map((name, at) => [name, values?.[at] ?? null]));
  return { ...settings, topics };
}

const settingsOf = async (db: Reader, projectId: number): Promise<Line> => ({
  project: await settingsIn(db, projectId),
});

async function* avatarOf(db: Reader, place: Place): AsyncGenerator<Line> {
  const found = await avatars.find(db, place);
  if (!found) return;
  const group = place.kind === "group" && { namespace_id: place.id };
  yield { avatar: { file_name: found.file_name, ...group } };
  yield* inLines(readFile(db, found));
}

/** The objects of Git LFS of a project. */
export async function* largeFilesIn(db: Reader, projectId: number): AsyncGenerator<StoredFile> {
  for (let last = 0; ; ) {
    const { objects, end } = await objectsAfter(db, projectId, last, PAGE);
    yield* objects;
    if (end === undefined) return;
    last = end;
  }
}

async function* largeFilesOf(db: Reader, projectId: number): AsyncGenerator<Line> {
  for await (const file of largeFilesIn(db, projectId)) {
    yield { lfs: file.sha256 };
    yield* inLines(readFile(db, file));
  }
}

/** A file that texts of a project refer to. */
interface Upload extends Pick<StoredFile, "id" | "size"> {
  readonly secret: string;
  readonly file_name: string;
  readonly created_at: number;
  readonly uploader_id: number | null;
}

/** The files that texts of a project refer to. */
export const uploadsIn = (db: Reader, projectId: number): Awaitable<Upload[]> =>
  db.all<Upload>(
    `select up.secret, up.file_name, up.created_at, up.uploader_id, f.id, f.size
     from project_uploads up join stored_files f on f.id = up.file_id
     where up.project_id = ? order by up.id`,
    [projectId],
  );

/** The ids of what rows belong to, in the order in which these rows are written. */
type Homes = Readonly<Partial<Record<Home, readonly (readonly number[])[]>>>;

/** Writes the rows of one project, or of one group and those below it. */
class Writer {
  readonly #db: Reader;
  readonly #tables: Readonly<Record<string, ArchivedTable>>;
  readonly #homes: Homes;
  /** The ids of the rows that were written, by table. */
  readonly #ids = new Map<string, number[]>();
  /** The ids of people whose names were written. */
  readonly #people = new Set<number>();

  constructor(db: Reader, tables: Readonly<Record<string, ArchivedTable>>, homes: Homes) {
    this.#db = db;
    this.#tables = tables;
    this.#homes = homes;
  }

  /** The ids of the rows of a table that has a home. */
  async objectsOf(name: string): Promise<number[]> {
    const table = this.#tables[name] as ArchivedTable;
    return (await this.#own(name, table, table.home as Home)).flat();
  }

  /** Some rows of a table, and their parts in other tables: also those that have the same home. */
  async *relation(
    name: string,
    parts: readonly string[],
    ids: readonly number[],
  ): AsyncGenerator<Line> {
    yield* this.table(name, [["id", ids]]);
    for (const part of parts) {
      const table = this.#tables[part] as ArchivedTable;
      const columns = owners(table).filter(([, { of }]) => of !== part);
      yield* this.table(
        part,
        columns.map(([column, { of = "" }]) => [column, this.#ids.get(of) ?? []]),
      );
    }
  }

  /** The rows of a table. @param among only those with these ids in a column */
  async *table(
    name: string,
    among?: readonly (readonly [column: string, ids: readonly number[]])[],
  ): AsyncGenerator<Line> {
    const table = this.#tables[name] as ArchivedTable;
    const columns = Object.keys(table.columns);
    yield { table: name, columns: [...headOf(table), ...columns] };
    const written: number[] = [];
    this.#ids.set(name, written);
    const parents =
      among ??
      (table.home
        ? (await this.#own(name, table, table.home)).map((ids) => ["id", ids] as const)
        : owners(table).map(([column, { of = "" }]) => [column, this.#ids.get(of) ?? []] as const));
    for (const [column, ids] of parents) {
      for (const some of chunksOf(ids)) {
        for await (const row of this.#rows(name, table, column, some)) {
          if (Array.isArray(row) && table.numbered) written.push(row[0] as number);
          yield row;
        }
      }
    }
  }

  /** The ids of the rows that belong to homes, and after these the ids of what they use of groups above. */
  async #own(name: string, { used }: ArchivedTable, home: Home): Promise<number[][]> {
    const { column } = HOMES[home];
    const homes = this.#homes[home] ?? [];
    const known = new Set(homes.flat());
    const others = new Set<number>();
    const own: number[][] = [];
    for (const some of homes) {
      const found: number[] = [];
      for (const chunk of chunksOf(some)) {
        const among = placeholders(chunk);
        const rows = await this.#db.rows(
          `select id from ${name} where ${column} in (${among.sql})${used ? " and removed = 0" : ""} order by id`,
          among.values,
        );
        found.push(...rows.map(([id]) => id as number));
        if (!used) continue;
        const usedRows = await this.#db.rows(
          `with homes as (select id from ${home === "project" ? "projects" : "namespaces"} where id in (${among.sql}))
           select id, ${column} from ${name} where removed = 0 and id in (${used}) order by id`,
          among.values,
        );
        for (const [id, of] of usedRows) if (!known.has(of as number)) others.add(id as number);
      }
      own.push(found);
    }
    return [...own, [...others]];
  }

  /** The rows of a table that belong to some others, with the people they name before them. */
  async *#rows(
    name: string,
    table: ArchivedTable,
    owner: string,
    ids: readonly number[],
  ): AsyncGenerator<Line> {
    const columns = Object.entries(table.columns);
    const selected = columns.map(([column, { isNumber }]) =>
      isNumber && table.home === "project"
        ? `case when project_id is null then null else ${column} end`
        : column,
    );
    const head = headOf(table).map((column) => {
      if (column === INHERITED) return "case when project_id is null then 1 else 0 end";
      return column === GROUP && table.home ? (HOMES[table.home].group as string) : column;
    });
    const key = table.numbered ? ["id"] : columns.slice(0, 2).map(([column]) => column);
    const among = placeholders(ids);
    const after = `(${key.join(", ")}) > (${key.map(() => "?").join(", ")})`;
    const people = columns
      .map(([, column], at) => (column.people ? at + head.length : -1))
      .filter((at) => at >= 0);
    let last: Value[] | undefined;
    for (let more = true; more; ) {
      const found = await this.#db.slice(
        `select ${[...head, ...selected].join(", ")} from ${name}
         where ${owner} in (${among.sql})${last ? ` and ${after}` : ""} order by ${key.join(", ")}`,
        [...among.values, ...(last ?? [])],
        MOST,
      );
      yield* this.#named(found.rows.flatMap((row) => people.map((at) => row[at] as number | null)));
      yield* found.rows;
      more = found.more;
      last = found.rows.at(-1)?.slice(0, key.length);
    }
  }

  /** Says who people are, once for each. Bots belong to one project or group, so they stay there. */
  async *#named(ids: readonly (number | null)[]): AsyncGenerator<Line> {
    const unnamed = [...new Set(ids)].filter((id) => id !== null && !this.#people.has(id));
    if (unnamed.length === 0) return;
    const among = placeholders(unnamed);
    const found = await this.#db.rows(
      `select id, username from users where id in (${among.sql})
         and not exists (select 1 from resource_bots b where b.user_id = users.id)
         and not exists (select 1 from service_accounts a where a.user_id = users.id and a.project_id is not null)`,
      among.values,
    );
    for (const [id, username] of found as [number, string][]) {
      this.#people.add(id);
      yield { person: [id, username] };
    }
  }

  async *uploads(projectId: number): AsyncGenerator<Line> {
    for (const file of await uploadsIn(this.#db, projectId)) {
      const { secret, file_name, created_at, uploader_id } = file;
      yield* this.#named([uploader_id]);
      yield { upload: { secret, file_name, created_at, uploader_id } };
      yield* inLines(readFile(this.#db, file));
    }
  }
}

/** The columns that rows of a table have before those of {@link ARCHIVED}. */
const headOf = ({ numbered, used, home }: ArchivedTable) => [
  ...(numbered ? ["id"] : []),
  ...(used && home === "project" ? [INHERITED] : []),
  ...(home && HOMES[home].group ? [GROUP] : []),
];

/** The columns that say to what a nested row belongs: the first, or all of the first ones of which one does. */
function owners({ columns }: ArchivedTable): [string, ArchivedColumn][] {
  const entries = Object.entries(columns);
  const first = entries[0] as [string, ArchivedColumn];
  if (first[1].isNeeded) return [first];
  const end = entries.findIndex(([, { of }]) => of === undefined);
  return entries.slice(0, end);
}

/** A repository: its references, the default branch of a wiki if it is not the usual one, and all objects as a pack. */
interface Packed {
  readonly refs: readonly (readonly [name: string, oid: string])[];
  readonly head: string | null;
  readonly pack: AsyncIterable<Uint8Array>;
}

/** The code of a project, or a wiki; `undefined` if it is empty. */
export async function packOf(
  store: Store,
  projectId: number,
  kind: "code" | "wiki",
): Promise<Packed | undefined> {
  const row = await store.one<RepositoryRow & { head: string | null }>(
    "select id, version, has_garbage, refs_version, head from git_repositories where project_id = ? and kind = ?",
    [projectId, kind],
  );
  const refs = row ? await listRefs(store, row.id) : [];
  if (!row || refs.length === 0) return undefined;
  const repository = await open(store, row);
  const list = refs.filter(({ name, oid }) => !isOfPipeline(name) && repository.findHex(oid) >= 0);
  const plan = new FetchPlan(repository, { head: "", list }, cloneOf(list.map(({ oid }) => oid)));
  const pace = new Pace();
  const selection = await plan.select([], row.has_garbage === 1 || list.length < refs.length, pace);
  return {
    refs: list.map(({ name, oid }) => [name, oid]),
    head: row.head,
    pack: writePack(selection, { ofsDeltas: true, thin: false }, pace),
  };
}

async function* repositoryOf(
  store: Store,
  projectId: number,
  kind: "code" | "wiki",
  groupId?: number,
): AsyncGenerator<Line> {
  const found = await packOf(store, projectId, kind);
  if (!found) return;
  const { refs, head, pack } = found;
  yield { repository: kind, refs, head, ...(groupId !== undefined && { namespace_id: groupId }) };
  yield* inLines(pack);
}

/** Asks for all that some objects consist of. */
const cloneOf = (wants: readonly string[]) => ({
  wants,
  haves: [],
  isDone: true,
  waitsForDone: false,
  thin: false,
  ofsDeltas: true,
  includeTags: true,
  progress: false,
  shallow: [],
  deepening: undefined,
  filter: EVERYTHING,
});

/** Bytes as lines. */
async function* inLines(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  for await (const part of parts) {
    for (let at = 0; at < part.length; at += CHUNK) {
      yield { bytes: Buffer.from(part.subarray(at, at + CHUNK)).toString("base64") };
    }
  }
}
