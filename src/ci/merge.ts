import { ConfigurationError, isMapping, type Mapping, type Value } from "./values.ts";

/** Maximum number of keys that are copied for one configuration. */
const MAX_COPIES = 500_000;

/** Merges mappings, and counts how much it copied, so that a short text can't cause endless work. */
export class Merger {
  #copies = 0;

  /**
   * A mapping with the keys of two. Mappings in both are merged in turn; otherwise, the second one's value counts.
   *
   * @throws ConfigurationError if too much was merged
   */
  merge(first: Mapping, second: Mapping): Mapping {
    this.#copies += first.size + second.size;
    if (this.#copies > MAX_COPIES) throw new ConfigurationError("The merged YAML is too big");
    if (first.size === 0) return second;
    const merged = new Map<string, Value>(first);
    for (const [key, value] of second) {
      const before = merged.get(key);
      merged.set(key, isMapping(before) && isMapping(value) ? this.merge(before, value) : value);
    }
    return merged;
  }
}
