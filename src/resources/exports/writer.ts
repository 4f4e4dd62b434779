import { readFile } from "../../files/read.ts";
import { FetchPlan } from "../../git/fetch-plan.ts";
import { isOfPipeline, listRefs } from "../../git/refs.ts";
import { open, type RepositoryRow } from "../../git/repository.ts";
import { EVERYTHING } from "../../git/select.ts";
import { writePack } from "../../git/send.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Store, Value } from "../../store/port.ts";
import { Pace } from "../../turns/pace.ts";
import * as avatars from "../avatars/queries.ts";
import { list as listTopics } from "../topics/queries.ts";
import { ARCHIVED, type ArchivedTable, SETTINGS } from "./archived.ts";
import type { ArchivedColumn } from "./columns.ts";
import { CHUNK, FORMAT, INHERITED, type Line, VERSION } from "./format.ts";

/** Rows whose records are looked up by one statement. */
const PAGE = 500;
/** Characters that are read at once. */
const MOST = 1_048_576;

/**
 * Writes the archive of a project, line by line. At most a page of rows is in memory, besides the ids of all. Others can
 * write meanwhile: what they add may be left out, but no row names one that the archive does not have.
 */
export async function* linesOf(store: Store, projectId: number, now: number): AsyncGenerator<Line> {
  yield { format: FORMAT, version: VERSION, exported_at: now };
  const writer = new Writer(store, projectId);
  yield await writer.settings();
  for (const name of Object.keys(ARCHIVED)) yield* writer.table(name);
  yield* writer.uploads();
  yield* writer.avatar();
  for (const kind of ["code", "wiki"] as const) yield* repositoryOf(store, projectId, kind);
  yield { end: true };
}

/** Writes the rows of one project. */
class Writer {
  readonly #db: Reader;
  readonly #projectId: number;
  /** The ids of the rows that were written, by table. */
  readonly #ids = new Map<string, number[]>();
  /** The ids of people whose names were written. */
  readonly #people = new Set<number>();

  constructor(db: Reader, projectId: number) {
    this.#db = db;
    this.#projectId = projectId;
  }

  async settings(): Promise<Line> {
    const names = Object.keys(SETTINGS).filter((name) => name !== "topics");
    const [values] = await this.#db.rows(`select ${names.join(", ")} from projects where id = ?`, [
      this.#projectId,
    ]);
    const topics = JSON.stringify(await listTopics(this.#db, this.#projectId));
    const settings = Object.fromEntries(names.map((name, at) => [name, values?.[at] ?? null]));
    return { project: { ...settings, topics } };
  }

  async *table(name: string): AsyncGenerator<Line> {
    const table = ARCHIVED[name] as ArchivedTable;
    const columns = Object.keys(table.columns);
    yield { table: name, columns: [...headOf(table), ...columns] };
    const written: number[] = [];
    this.#ids.set(name, written);
    const parents = table.owned
      ? [["id", await this.#own(name, table)] as const]
      : owners(table).map(([column, { of = "" }]) => [column, this.#ids.get(of) ?? []] as const);
    for (const [column, ids] of parents) {
      for (let at = 0; at < ids.length; at += PAGE) {
        for await (const row of this.#rows(name, table, column, ids.slice(at, at + PAGE))) {
          if (Array.isArray(row) && table.numbered) written.push(row[0] as number);
          yield row;
        }
      }
    }
  }

  /** The ids of the project's own rows, and of what it uses of its groups. */
  async #own(name: string, { used }: ArchivedTable): Promise<number[]> {
    const own = await this.#db.rows(
      `select id from ${name} where project_id = ?${used ? " and removed = 0" : ""} order by id`,
      [this.#projectId],
    );
    const marks = used?.split("?").slice(1) ?? [];
    const others = used
      ? await this.#db.rows(
          `select id from ${name} where project_id is null and removed = 0 and id in (${used}) order by id`,
          marks.map(() => this.#projectId),
        )
      : [];
    return [...own, ...others].map(([id]) => id as number);
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
      isNumber ? `case when project_id is null then null else ${column} end` : column,
    );
    const head = headOf(table).map((column) =>
      column === INHERITED ? "case when project_id is null then 1 else 0 end" : column,
    );
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

  async *uploads(): AsyncGenerator<Line> {
    const found = await this.#db.rows(
      `select up.secret, up.file_name, up.created_at, up.uploader_id, f.id, f.size
       from project_uploads up join stored_files f on f.id = up.file_id
       where up.project_id = ? order by up.id`,
      [this.#projectId],
    );
    for (const row of found) {
      const [secret, file_name, created_at, uploader_id, id, size] = row as [
        string,
        string,
        number,
        number | null,
        number,
        number,
      ];
      yield* this.#named([uploader_id]);
      yield { upload: { secret, file_name, created_at, uploader_id } };
      yield* inLines(readFile(this.#db, { id, size }));
    }
  }

  async *avatar(): AsyncGenerator<Line> {
    const found = await avatars.find(this.#db, { kind: "project", id: this.#projectId });
    if (!found) return;
    yield { avatar: { file_name: found.file_name } };
    yield* inLines(readFile(this.#db, found));
  }
}

/** The columns that rows of a table have before those of {@link ARCHIVED}. */
const headOf = ({ numbered, used }: ArchivedTable) => [
  ...(numbered ? ["id"] : []),
  ...(used ? [INHERITED] : []),
];

/** The columns that say to what a nested row belongs: the first, or all of the first ones of which one does. */
function owners({ columns }: ArchivedTable): [string, ArchivedColumn][] {
  const entries = Object.entries(columns);
  const first = entries[0] as [string, ArchivedColumn];
  if (first[1].isNeeded) return [first];
  const end = entries.findIndex(([, { of }]) => of === undefined);
  return entries.slice(0, end);
}

async function* repositoryOf(
  store: Store,
  projectId: number,
  kind: "code" | "wiki",
): AsyncGenerator<Line> {
  const row = await store.one<RepositoryRow & { head: string | null }>(
    "select id, version, has_garbage, refs_version, head from git_repositories where project_id = ? and kind = ?",
    [projectId, kind],
  );
  const refs = row ? await listRefs(store, row.id) : [];
  if (!row || refs.length === 0) return;
  const repository = await open(store, row);
  const list = refs.filter(({ name, oid }) => !isOfPipeline(name) && repository.findHex(oid) >= 0);
  yield { repository: kind, refs: list.map(({ name, oid }) => [name, oid]), head: row.head };
  const plan = new FetchPlan(repository, { head: "", list }, cloneOf(list.map(({ oid }) => oid)));
  const pace = new Pace();
  const selection = await plan.select([], row.has_garbage === 1 || list.length < refs.length, pace);
  yield* inLines(writePack(selection, { ofsDeltas: true, thin: false }, pace));
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
