import type { Awaitable } from "../store/port.ts";
import type { Pace } from "../turns/pace.ts";
import { RefusedError } from "./errors.ts";
import { OID_BYTES, OidTable } from "./oid-table.ts";
import { moved } from "./received.ts";

/** All names that the objects of a pack refer to, and a bit for each type that is expected of them. */
export class References {
  readonly #names: OidTable;
  #expected: Uint8Array;

  /** @param expected how many there may be; there is room for more */
  constructor(expected: number) {
    this.#names = new OidTable(expected);
    this.#expected = new Uint8Array(Math.max(expected, 1));
  }

  /**
   * Adds a name.
   *
   * @param at where it begins in `oid`
   * @param type that of the object that it must name
   */
  add(oid: Uint8Array, at: number, type: number): void {
    const name = this.#names.add(oid, at);
    const room = this.#expected.length;
    if (name === room) this.#expected = moved(this.#expected, new Uint8Array(2 * room));
    this.#expected[name] = (this.#expected[name] as number) | (1 << type);
  }

  /**
   * Checks that everything referred to is there. What the repository has is complete, so nothing is walked.
   *
   * @param typeOf the type of the object whose name begins at a place; `undefined` if there is none
   * @throws RefusedError if an object is missing, or of another type
   */
  async check(
    typeOf: (oids: Uint8Array, at: number) => Awaitable<number | undefined>,
    pace: Pace,
  ): Promise<void> {
    const oids = this.#names.all;
    const shown = (name: number) => this.#names.bytesOf(name).toString("hex");
    for (let name = 0; name < this.#names.size; name += 1) {
      const found = typeOf(oids, OID_BYTES * name);
      const type = typeof found === "object" ? await found : found;
      if (type === undefined) throw new RefusedError(`the object ${shown(name)} is missing`);
      if (this.#expected[name] !== 1 << type) {
        throw new RefusedError(`the object ${shown(name)} is of another type than expected`);
      }
      if (pace.isDue) await pace.pause();
    }
  }
}
