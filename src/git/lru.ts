/** A cache of values that never change, with a maximum size: the values that were not used longest are dropped first. */
export class Lru<Key, Value> {
  readonly #entries = new Map<Key, { value: Value; size: number }>();
  readonly #most: number;
  #size = 0;

  /** @param most maximum size of all values together, in bytes */
  constructor(most: number) {
    this.#most = most;
  }

  get(key: Key): Value | undefined {
    const found = this.#entries.get(key);
    if (!found) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, found);
    return found.value;
  }

  /** Keeps a value, unless it would displace too many others. */
  set(key: Key, value: Value, size: number): void {
    this.delete(key);
    if (size > this.#most / 4) return;
    this.#entries.set(key, { value, size });
    this.#size += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#most) break;
      this.delete(oldest);
    }
  }

  delete(key: Key): void {
    const found = this.#entries.get(key);
    if (!found) return;
    this.#entries.delete(key);
    this.#size -= found.size;
  }
}
