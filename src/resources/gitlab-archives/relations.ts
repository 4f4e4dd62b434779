import type { Value } from "../../store/port.ts";
import type { Row } from "../bulk-imports/rows.ts";
import { isTold, type Told } from "../bulk-imports/source.ts";
import type { ArchivedTable } from "../exports/archived.ts";
import { ArchiveError, type Kind, type Line, MAX_LINE } from "../exports/format.ts";
import { personIn } from "./told.ts";

/** Records whose rows are given together. */
const SOME = 100;
/** Characters of rows that are given together. */
const MOST = 4 * 1024 * 1024;

/** Where an archive is read. */
export interface Here {
  /** What it is read into. */
  readonly kind: Kind;
  /** Epoch milliseconds, for what has no instant. */
  readonly now: number;
  /** Those of some user names, in small letters, for whom the importer can speak. */
  readonly namesHere: (names: readonly string[]) => Promise<ReadonlySet<string>>;
}

type Tables = Readonly<Record<string, ArchivedTable>>;

/** The authors who have an account here: what others have written names its author. */
export class People {
  readonly #namesHere: Here["namesHere"];
  readonly #ids = new Set<unknown>();

  constructor(namesHere: Here["namesHere"]) {
    this.#namesHere = namesHere;
  }

  /** Whether whoever has a number there is somebody here. */
  has(id: unknown): boolean {
    return this.#ids.has(id);
  }

  /** Lines that say who the members, or other people, of a relation are. */
  async *namedIn(relation: AsyncIterable<Told>): AsyncGenerator<Line> {
    let some: (readonly [id: number, username: string])[] = [];
    for await (const told of relation) {
      const person = personIn(told["user"] ?? told);
      if (!person) continue;
      some.push([person["id"] as number, String(person["username"])]);
      if (some.length < SOME) continue;
      yield* this.#known(some);
      some = [];
    }
    yield* this.#known(some);
  }

  async *#known(some: readonly (readonly [id: number, username: string])[]): AsyncGenerator<Line> {
    const names = await this.#namesHere(some.map(([, username]) => username.toLowerCase()));
    for (const person of some) {
      if (!names.has(person[1].toLowerCase()) || this.#ids.has(person[0])) continue;
      this.#ids.add(person[0]);
      yield { person };
    }
  }
}

/** The rows of records as lines, those of some records by their tables. */
export async function* rowLines<T>(
  records: AsyncIterable<T>,
  rowsOf: (record: T) => Row[],
  tables: Tables,
): AsyncGenerator<Line> {
  let waiting: Row[] = [];
  let count = 0;
  let length = 0;
  for await (const record of records) {
    for (const row of rowsOf(record)) {
      waiting.push(row);
      for (const value of Object.values(row.values)) {
        length += typeof value === "string" ? value.length : 8;
      }
    }
    count += 1;
    if (count % SOME > 0 && length < MOST) continue;
    yield* grouped(waiting, tables);
    waiting = [];
    length = 0;
  }
  yield* grouped(waiting, tables);
}

/** The JSON objects of lines. */
export async function* objectsIn(bytes: AsyncIterable<Buffer>): AsyncGenerator<Told> {
  let waiting: Buffer[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      waiting.push(chunk.subarray(from, end));
      const line = Buffer.concat(waiting);
      waiting = [];
      length = 0;
      from = end + 1;
      if (line.length > 0) yield objectIn(line);
    }
    waiting.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > MAX_LINE) throw new ArchiveError("the archive has too long a line");
  }
  if (length > 0) yield objectIn(Buffer.concat(waiting));
}

function objectIn(line: Buffer): Told {
  try {
    const told: unknown = JSON.parse(line.toString("utf8"));
    if (isTold(told)) return told;
  } catch {}
  throw new ArchiveError("the archive is damaged: a line is no JSON object");
}

/** Rows as lines: those of a table together, after those that they name. */
function* grouped(rows: readonly Row[], tables: Tables): Generator<Line> {
  const byTable = byTables(rows);
  for (const table of Object.keys(tables)) {
    const some = byTable.get(table) ?? [];
    let last = "";
    for (const { values } of some) {
      const columns = Object.keys(values);
      const shown = columns.join();
      if (shown !== last) yield { table, columns };
      last = shown;
      yield Object.values(values) as Value[];
    }
  }
}

function byTables(rows: readonly Row[]): Map<string, Row[]> {
  const found = new Map<string, Row[]>();
  for (const row of rows) {
    const some = found.get(row.table) ?? [];
    found.set(row.table, some);
    some.push(row);
  }
  return found;
}
