import { STEPS, type Steps } from "../turns/pace.ts";
import type { Merger } from "./merge.ts";
import {
  ConfigurationError,
  isList,
  isMapping,
  type Mapping,
  Sizes,
  type Value,
} from "./values.ts";

/** Maximum number of mappings that extend each other. */
const MAX_LEVELS = 11;

/**
 * Merges what `extends` names into each mapping that has it.
 *
 * @throws ConfigurationError if something does not exist, extends itself, or is too deep or too big
 */
export function* resolveExtends(root: Mapping, merger: Merger): Steps<Mapping> {
  const extension = new Extension(root, merger);
  const extended = new Map<string, Value>();
  for (const [key, value] of root) {
    extended.set(key, isMapping(value) ? extension.extended(key) : value);
    yield STEPS;
  }
  new Sizes().of(extended);
  return extended;
}

class Extension {
  readonly #done = new Map<string, { value: Mapping; levels: number }>();
  readonly #open = new Set<string>();

  constructor(
    readonly root: Mapping,
    readonly merger: Merger,
  ) {}

  extended(key: string): Mapping {
    return this.#extend(key).value;
  }

  #extend(key: string): { value: Mapping; levels: number } {
    const known = this.#done.get(key);
    if (known) return known;
    const value = this.root.get(key) as Mapping;
    const bases = basesOf(value);
    const fail = (message: string) => {
      throw new ConfigurationError(`${key}: ${message} in \`extends\``);
    };
    const unknown = bases.filter((base) => !this.root.has(base));
    if (unknown.length > 0) unknownKeys(key, "unknown keys", unknown);
    const invalid = bases.filter((base) => !isMapping(this.root.get(base)));
    if (invalid.length > 0) unknownKeys(key, "invalid base hashes", invalid);
    if (this.#open.has(key)) fail("circular dependency detected");
    if (this.#open.size > MAX_LEVELS) fail("nesting too deep");
    this.#open.add(key);
    let merged: Mapping = new Map();
    let levels = 0;
    for (const base of bases) {
      const extended = this.#extend(base);
      levels = Math.max(levels, extended.levels + 1);
      merged = this.merger.merge(merged, extended.value);
    }
    this.#open.delete(key);
    if (levels > MAX_LEVELS) fail("nesting too deep");
    const result = { value: bases.length > 0 ? this.merger.merge(merged, value) : value, levels };
    this.#done.set(key, result);
    return result;
  }
}

function unknownKeys(key: string, what: string, bases: readonly string[]): never {
  throw new ConfigurationError(`${key}: ${what} in \`extends\` (${bases.join(", ")})`);
}

function basesOf(value: Mapping): readonly string[] {
  const bases = value.get("extends") ?? [];
  return (isList(bases) ? bases : [bases])
    .filter((base) => typeof base !== "object" || base === null)
    .map(String);
}
