import { OidTable } from "./oid-table.ts";
import type { Pack } from "./pack.ts";

/** More names than this in a table are not copied into a larger one. */
const MOST_COPIED = 65_536;

/** The names of objects with numbers that follow each other. */
interface Part {
  readonly table: OidTable;
  /** The number of the first object. */
  readonly start: number;
  /** How many objects there are. */
  readonly count: number;
  /** The object with each name, if the numbers of the names are not theirs: some packs have the same ones. */
  readonly objects?: Uint32Array;
}

/**
 * Finds objects by name in all packs of a repository. Changes over the REST API make a small pack each: if every one were
 * searched, the thousandth change would take much longer than the first. So the names of small packs are copied into
 * tables that are at least twice as large as the next one: a thousand packs have about ten, and each name is copied about
 * ten times.
 */
export class Names {
  static readonly NONE = new Names([]);
  /** Those with the lowest numbers first. */
  readonly #parts: readonly Part[];

  private constructor(parts: readonly Part[]) {
    this.#parts = parts;
  }

  /** These and the names of another pack, whose objects follow. @param start the number of the first of them */
  with({ oids, count }: Pack, start: number): Names {
    const parts = [...this.#parts];
    let last: Part = { table: oids, start, count };
    for (let before = parts.at(-1); before; before = parts.at(-1)) {
      if (before.count >= 2 * last.count || before.count > MOST_COPIED) break;
      last = joined(before, last);
      parts.pop();
    }
    return new Names([...parts, last]);
  }

  /** Memory used besides that of the packs, in bytes. */
  get bytes(): number {
    return this.#parts.reduce(
      (sum, { table, objects }) => sum + (objects ? table.bytes + objects.byteLength : 0),
      0,
    );
  }

  /** The number of an object, in the newest pack that has it; -1 if none does. */
  find(oid: Uint8Array, at: number): number {
    for (let place = this.#parts.length - 1; place >= 0; place -= 1) {
      const part = this.#parts[place] as Part;
      const name = part.table.find(oid, at);
      if (name >= 0) return part.start + (part.objects ? (part.objects[name] as number) : name);
    }
    return -1;
  }
}

/** One table of two, the second of which follows the first. */
function joined(first: Part, second: Part): Part {
  const count = first.count + second.count;
  const table = new OidTable(count);
  const objects = new Uint32Array(count);
  for (const { table: names, start, objects: of } of [first, second]) {
    for (let name = 0; name < names.size; name += 1) {
      const object = of ? (of[name] as number) : name;
      objects[table.add(names.bytesOf(name))] = start - first.start + object;
    }
  }
  return { table, start: first.start, count, objects };
}
