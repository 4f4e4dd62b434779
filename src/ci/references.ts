import { STEPS, type Steps } from "../turns/pace.ts";
import {
  ConfigurationError,
  isList,
  isMapping,
  type Mapping,
  Reference,
  Sizes,
  type Value,
} from "./values.ts";

/** Maximum depth of references in each other, and of the values that contain them. */
const MAX_DEPTH = 500;

/**
 * Replaces `!reference` by what it names.
 *
 * @throws ConfigurationError if something does not exist, contains itself, or is too big
 */
export function* resolveReferences(root: Mapping): Steps<Mapping> {
  const resolver = new Resolver(root);
  const resolved = new Map<string, Value>();
  for (const [key, value] of root) {
    resolved.set(key, resolver.resolve(value));
    yield STEPS;
  }
  return resolved;
}

class Resolver {
  readonly #sizes = new Sizes();
  readonly #resolved = new Map<object, Value>();
  /** What is being resolved, from the outside to the inside. */
  readonly #open = new Set<object>();

  constructor(readonly root: Mapping) {}

  resolve(value: Value, from?: Reference): Value {
    if (typeof value !== "object" || value === null) return value;
    const known = this.#resolved.get(value);
    if (known !== undefined) return known;
    if (this.#open.has(value)) {
      throw new ConfigurationError(`${from ?? value} is part of a circular chain`);
    }
    if (this.#open.size >= MAX_DEPTH) {
      throw new ConfigurationError(`${from ?? "!reference"} is nested too deep`);
    }
    this.#open.add(value);
    const resolved = this.#parts(value);
    this.#open.delete(value);
    this.#sizes.of(resolved);
    this.#resolved.set(value, resolved);
    return resolved;
  }

  #parts(value: object & Value): Value {
    if (value instanceof Reference) return this.resolve(this.#target(value), value);
    if (isList(value)) return value.map((one) => this.resolve(one));
    return isMapping(value)
      ? new Map([...value].map(([key, one]) => [key, this.resolve(one)]))
      : value;
  }

  #target(reference: Reference): Value {
    if (reference.path.length === 0) throw new ConfigurationError(`${reference} is not valid`);
    let value: Value | undefined = this.root;
    for (const key of reference.path) value = isMapping(value) ? value.get(key) : undefined;
    if (value === undefined || value === null) {
      throw new ConfigurationError(`${reference} could not be found`);
    }
    return value;
  }
}
